"""The program of a worker: `python -m tseval.sweeps TASK NUMBER OF`, started by `tseval.sweeps.keeping`."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from threading import Thread

from tseval.checked import ContentError
from tseval.errors import TsevalError, reason
from tseval.sweeps.keeping import GAVE_UP, GRACE_SECONDS
from tseval.sweeps.task import read_task
from tseval.sweeps.worker import Worker


def main(task: str, number: str, of: str) -> int:
    """Work, and give the exit code: 0 where nothing is left to do."""
    Thread(target=_end_with_keeper, daemon=True).start()
    try:
        given = read_task(Path(task))
        os.chdir(given.cwd)
        Worker(given, int(number), int(of)).work()
    except KeyboardInterrupt:
        return 130
    except (OSError, TsevalError, ContentError) as error:
        where = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
        print(f"{where}{reason(error)}", file=sys.stderr)
        return GAVE_UP
    except Exception:
        traceback.print_exc()
        return GAVE_UP
    return 0


def _end_with_keeper() -> None:
    """Stop when the process that started us has gone: nothing else would end what nobody waits for."""
    os.read(0, 1)  # not through `sys.stdin`, whose lock would be held when Python quits
    if os.name == "posix":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(GRACE_SECONDS)
    os._exit(130)


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    gc.freeze()  # Python would look through all that is loaded for garbage once more, while it quits
    sys.exit(code)
