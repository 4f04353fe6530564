"""Requirements of tests for the operating system. On other systems a test is skipped, with the reason.

The public CI runs the quick tests on Linux, macOS and Windows. No other module checks the system.
"""

import os
import sys

import pytest

needs_posix = pytest.mark.skipif(
    os.name != "posix", reason="not a POSIX system: no pipes with names, no limits, no rights of users, no sh"
)
needs_linux = pytest.mark.skipif(
    sys.platform != "linux",
    reason="not Linux: no /proc, no /dev/full, no limit on memory, no GNU OpenMP, no file names of any bytes",
)
