"""The command `tseval`, called by the benchmarks that print and draw what it analyses."""

from __future__ import annotations

import subprocess
import sys


def tseval(*arguments: object) -> None:
    """Run a command; what it prints is shown."""
    subprocess.run([sys.executable, "-m", "tseval", *map(str, arguments)], check=True)
