import gc
import os
import signal
import sys
from collections import Counter

from hypothesis import settings

# Tests run tiny models, side by side: threads would only wait for one another. Set before torch is imported,
# and inherited by the commands the tests start.
os.environ["OMP_NUM_THREADS"] = "1"

# Tests start commands by the hundred, and each would compile tseval anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Tests load models from folders they made; a library that would ask a hub for more must fail instead.
os.environ["HF_HUB_OFFLINE"] = "1"

# Tests stop commands as Ctrl-C does. Where the tests run in the background of a script, it is ignored, and
# what they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: a busy machine takes any time for an example, and what must be fast has tests that measure it.
# The same examples in every run: a change fails by what it changed, and not by another draw.
settings.register_profile("tseval", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("tseval")


def pytest_collection_finish():
    """Look for garbage seldom, and not in what stays: that took 8% of what tests of boards cost."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_collection_modifyitems(items):
    """Begin with the files that have most slow tests, so that no worker ends long after the others."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])
