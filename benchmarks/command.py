"""Run the command `tseval`, for benchmarks that print and draw its analyses."""

from __future__ import annotations

import subprocess
import sys


def tseval(*arguments: object) -> None:
    """Run a command, and show its output."""
    subprocess.run([sys.executable, "-m", "tseval", *map(str, arguments)], check=True)
