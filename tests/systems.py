"""What a test may need of the system it runs on; elsewhere it is skipped, and the mark says why.

The public CI runs the quick tests on Linux, macOS and Windows. No other module asks which system this is.
"""

import os
import sys
from importlib.util import find_spec

import pytest

POSIX = os.name == "posix" and find_spec("fcntl") is not None
LINUX = sys.platform == "linux" and POSIX

needs_posix = pytest.mark.skipif(
    not POSIX, reason="not a POSIX system: no pipes with names, no limits, no rights of users, no sh"
)
needs_linux = pytest.mark.skipif(
    not LINUX, reason="not Linux: no /proc, no /dev/full, no limit on memory, no file names of any bytes"
)
