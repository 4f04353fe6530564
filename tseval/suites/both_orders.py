"""Prompts for a model that answers questions: each pair of sentences is presented in both orders."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError
from tseval.questions.forced_choice import ForcedChoice, question_label
from tseval.writing import OR_SECOND

if TYPE_CHECKING:
    from tseval.items import Case, Suite


def in_both_orders(suite: Suite) -> Suite:
    """Return a suite in which each text is a question: two sentences in one order, with a mark between.

    The digest is still the digest of the items.

    Raises:
        SuiteError: A case does not compare pairs of sentences, or compares sentences in context.
    """
    if suite.context is not None:
        raise SuiteError(
            f"--context {suite.context.source}: a prompt model reads both sentences in one question, "
            "without a context.\n  Leave out --context, or use a model that gives log-probabilities."
        )
    return replace(suite, cases=tuple(_asked(case, suite.terminator) for case in suite.cases), score="prompt")


def _asked(case: Case, terminator: str | None) -> Case:
    if not case.contrasts:
        raise SuiteError(
            f"case {case.name!r} does not compare pairs of sentences, but a prompt model can only compare "
            "pairs.\n  Choose other cases with --case, or another suite."
        )
    texts: dict[str, Any] = {label: case.sentences[label] for label in case.labels}
    ended = case.ended(terminator)  # the second sentence of a question ends like all texts of the suite
    firsts: dict[str, Any] = {label: ended.sentences[label] for label in case.labels}
    questions = {
        question_label(first, second): pc.binary_join_element_wise(firsts[first], texts[second], OR_SECOND)
        for contrast in case.contrasts
        for first, second in ((contrast.better, contrast.worse), (contrast.worse, contrast.better))
    }
    return replace(case, question=ForcedChoice(case.contrasts), sentences=pa.table(questions))
