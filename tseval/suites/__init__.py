"""Find, load and cache suites: grammars, data sets and formal languages, by name or path.

`lookup` finds a suite, `loading` loads it, `cache` keeps expanded suites on disk. Each kind of suite has a
folder: `grammar/`, `data/`, `formal/`. `agreement/` makes data from treebanks and running text.
"""

from tseval.suites.cache import load_cached, save_suite, suite_key, without_cache
from tseval.suites.data.fetching import fetch_suite
from tseval.suites.data.reading import what_was_read
from tseval.suites.loading import load_suite, stream_cases
from tseval.suites.lookup import (
    TEMPLATES,
    available_suites,
    bundled_sizes,
    check_suite_spec,
    find_suite,
    locate_suite,
    taken_before,
)
from tseval.suites.writing_rules import terminator_of, writing_of

__all__ = [
    "TEMPLATES",
    "available_suites",
    "bundled_sizes",
    "check_suite_spec",
    "fetch_suite",
    "find_suite",
    "load_cached",
    "load_suite",
    "locate_suite",
    "save_suite",
    "stream_cases",
    "suite_key",
    "taken_before",
    "terminator_of",
    "what_was_read",
    "without_cache",
    "writing_of",
]
