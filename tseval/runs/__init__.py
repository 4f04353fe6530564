"""Run directories: written atomically, resumed after an interruption, and read by all later commands."""

from tseval.runs.board_suite import (
    DEFINITION,
    SUITE_FOLDER,
    SplitSuite,
    copied_suite,
    suite_of_board,
    suite_spec,
)
from tseval.runs.cache import CachedRun, cache_runs
from tseval.runs.directory import RunWriter, clear_begun, fresh_directory, remove_other, start_run
from tseval.runs.entry import ENTRY_FILE, EVIDENCE, entry_run, evidence_of, suite_of_entry
from tseval.runs.manifest import Manifest, RunKey
from tseval.runs.progress import CLOCKS, Clock, progress_of, training_of
from tseval.runs.reader import read_run
from tseval.runs.run import Run
from tseval.runs.search import find_interrupted, runs_below

__all__ = [
    "CLOCKS",
    "DEFINITION",
    "ENTRY_FILE",
    "EVIDENCE",
    "SUITE_FOLDER",
    "CachedRun",
    "Clock",
    "Manifest",
    "Run",
    "RunKey",
    "RunWriter",
    "SplitSuite",
    "cache_runs",
    "clear_begun",
    "copied_suite",
    "entry_run",
    "evidence_of",
    "find_interrupted",
    "fresh_directory",
    "progress_of",
    "read_run",
    "remove_other",
    "runs_below",
    "start_run",
    "suite_of_board",
    "suite_of_entry",
    "suite_spec",
    "training_of",
]
