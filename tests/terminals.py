"""Run commands on a pseudo-terminal."""

import os
import re
import select
import tempfile

from preloaded import start

PASSING = re.compile(r"[^\r\n]* \.\.\. \d+ s\r| +\r")


def on_a_terminal(*arguments, cwd, stdin=b"", width=0, said=False, **environment):
    """Run a command on a terminal with `width` columns; return what the terminal shows and the exit code.

    Progress messages, which disappear at the end, are left out unless `said`.
    """
    import pty  # noqa: PLC0415 - lacking on Windows
    import termios  # noqa: PLC0415 - likewise

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, width))
    with tempfile.TemporaryFile() as typed:
        typed.write(stdin)
        typed.seek(0)
        known = {"TERM": "xterm", "PYTHONUTF8": "1"} | environment
        process = start(
            arguments, cwd=cwd, stdin=typed, stdout=theirs, stderr=theirs, env=os.environ | known
        )  # fmt: skip
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 120)[0]:
        try:
            shown += os.read(ours, 2**16)
        except OSError:  # all writers have closed the terminal
            break
    os.close(ours)
    text = shown.decode(errors="surrogateescape").replace("\r\n", "\n")
    return text if said else PASSING.sub("", text), process.wait()
