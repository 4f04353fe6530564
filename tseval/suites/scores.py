"""Choose the score of several suites from the user's options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.questions.normalisation import LENGTHS, Normalised
from tseval.questions.regions import Regions
from tseval.suites.data.unigrams import read_unigrams

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.items import Suite
    from tseval.questions import Score


def chosen_score(
    score: Score | None, by: str, unigrams: Path | None, suites: Sequence[Suite]
) -> Score | Normalised | None:
    """Return the score for these suites from a user's options. The mean per word is the score `mean`.

    Without a score, each suite is scored by its own default. `by` names what log-probabilities are divided
    by; `none` means no division.
    """
    if by == "none":
        if unigrams is not None:
            raise SuiteError(
                "--unigrams has an effect only together with --normalise slor.\n"
                "  Add --normalise slor, or leave --unigrams out."
            )
        return score
    compared_by = {score or suite.score for suite in suites}
    if compared_by == {"regions"} and by in LENGTHS:
        for suite in suites:
            if any(
                isinstance(c.question, Regions) and not c.question.compares_continuations()
                for c in suite.cases
            ):
                raise SuiteError(
                    f"--normalise {by} works for whole sentences and for continuations of a prefix, but the "
                    f"suite {suite.name!r} compares other regions, or several words at once.\n"
                    "  Leave out --normalise."
                )
        return Normalised(by, of="regions")
    for suite in suites:
        if (compared := score or suite.score) != "sentence":
            raise SuiteError(
                f"--normalise {by} works for whole sentences, but the suite {suite.name!r} is scored by "
                f"{compared!r}.\n"
                "  Add --score sentence, or leave out --normalise. "
                "For continuations, write --normalise characters or --normalise bytes."
            )
    if by == "words" and unigrams is None:
        return "mean"
    return Normalised(by, None if unigrams is None else read_unigrams(unigrams))
