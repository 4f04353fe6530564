"""Run directories: written atomically, resumed after a kill, read by everything that comes later."""

from tseval.runs.key import RunKey
from tseval.runs.leftovers import clear_begun
from tseval.runs.manifest import Manifest
from tseval.runs.reading import Run, find_interrupted, read_run, runs_below
from tseval.runs.writing import RunWriter, fresh_directory, remove_other, start_run

__all__ = [
    "Manifest",
    "Run",
    "RunKey",
    "RunWriter",
    "clear_begun",
    "find_interrupted",
    "fresh_directory",
    "read_run",
    "remove_other",
    "runs_below",
    "start_run",
]
