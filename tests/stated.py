"""Collect constants of test files, such as the equation of a cell or the model of an adapter."""

import re
import runpy
from pathlib import Path


def stated(folder, name):
    """Merge the dictionaries with this name in the test files of a folder; run only files that have one."""
    found = {}
    for path in sorted((Path(__file__).parent / folder).glob("test_*.py")):
        if re.search(rf"^{name} = ", path.read_text("utf-8"), re.MULTILINE):
            found |= runpy.run_path(str(path))[name]
    return found
