"""What test files state beside their tests: of a cell its equation, of an adapter a model to try."""

import re
import runpy
from pathlib import Path


def stated(folder, name):
    """Join the dictionaries of this name in the test files of a folder; of other files nothing is run."""
    found = {}
    for path in sorted((Path(__file__).parent / folder).glob("test_*.py")):
        if re.search(rf"^{name} = ", path.read_text("utf-8"), re.MULTILINE):
            found |= runpy.run_path(str(path))[name]
    return found
