"""Common functions of the callbacks: check of the interval, and loading of the suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.items import Suite
from tseval.suites import load_suite

if TYPE_CHECKING:
    from pathlib import Path


def check_every(every: int) -> None:
    """Check the number of steps between two evaluations."""
    if every < 1:
        raise SuiteError(
            f"the argument `every` (number of steps between two evaluations) is {every}, but must be 1 "
            "or more"
        )


def suite_to_score(suite: str | Path | Suite, sample: int | None) -> Suite:
    """Return a suite, loaded or sampled if it is named."""
    if isinstance(suite, Suite) and sample is not None:
        raise SuiteError(
            "the argument `sample` draws items of a suite that the callback loads by its name, but "
            "the suite is already loaded.\n"
            "  Load only a sample: load_suite(NAME, sample=N)."
        )
    return suite if isinstance(suite, Suite) else load_suite(suite, sample=sample)
