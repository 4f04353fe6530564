"""Run directories: written atomically, resumed after a kill, read by everything that comes later."""

from tseval.runs.files import contexts_of, with_contexts
from tseval.runs.key import RunKey
from tseval.runs.manifest import Manifest, ModelFacts, SuiteFacts, describe_model, describe_suite
from tseval.runs.reading import Run, find_interrupted, read_run
from tseval.runs.writing import RunWriter, fresh_directory, start_run

__all__ = [
    "Manifest",
    "ModelFacts",
    "Run",
    "RunKey",
    "RunWriter",
    "SuiteFacts",
    "contexts_of",
    "describe_model",
    "describe_suite",
    "find_interrupted",
    "fresh_directory",
    "read_run",
    "start_run",
    "with_contexts",
]
