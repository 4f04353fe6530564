"""The program of a worker: `python -m tseval.sweeps TASK NUMBER OF`, started by `tseval.sweeps.engines`."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from pathlib import Path

from tseval.errors import TsevalError, reason
from tseval.formats import ContentError, checked, read_json
from tseval.sweeps.engines import GAVE_UP, end_in_order
from tseval.sweeps.units import WorkerTask
from tseval.sweeps.worker import Worker


def run_worker(task: str, number: str, of: str) -> int:
    """Work, and give the exit code: 0 where nothing is left to do."""
    end_in_order()
    try:
        work = checked(read_json(Path(task)), WorkerTask)
        os.chdir(work.cwd)
        Worker(work, int(number), int(of)).work()
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


if __name__ == "__main__":
    _code = run_worker(*sys.argv[1:])
    gc.freeze()  # Python would look through all that is loaded for garbage once more, while it quits
    sys.exit(_code)
