"""Check data sets: what can be told from their sentences alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.suites.datasets.loading import read_data
from tseval.suites.designs import check_predictions
from tseval.suites.findings import LintFinding, check_sentences_of, missing_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


def lint_data(
    path: Path, knows: Callable[[str], bool] | None = None, columns: Mapping[str, str] | None = None
) -> list[LintFinding]:
    """Check a file of data or a folder of such files.

    Args:
        path: As `read_data` takes it.
        knows: Tells whether a model knows a word, where that is to be checked.
        columns: As `read_data` takes them.

    Returns:
        What was found, case by case; empty when all is well.

    Raises:
        SuiteError: The files are of no known kind, or malformed.
    """
    cases = read_data(path, columns=columns).cases
    findings: list[LintFinding] = []
    words: dict[str, None] = {}
    for case in cases:
        where = f"case {case.name!r}: " if len(cases) > 1 else ""
        for found in check_sentences_of(case, None, knows):
            findings.append(LintFinding(found.severity, path, None, where + found.message))
        for prediction, message in check_predictions(case):
            findings.append(LintFinding("warning", path, None, f"{where}{prediction!r}: {message}."))
        for label in case.labels:
            texts = case.sentences[label].unique().to_pylist()
            words |= dict.fromkeys(word for text in texts for word in str(text).split())
    return [*findings, *missing_words(list(words), path, knows)]
