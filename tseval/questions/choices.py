"""Choices inside sentences: what is asked of the model at each word, and the verdicts that come of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tseval.suites.items import Case, Choices, Suite


def choices_of(suite: Suite) -> Choices | None:
    """Give the choices that a suite consists of, or None for a suite of contrasts."""
    if all(case.choices is None for case in suite.cases):
        return None
    (case,) = suite.cases  # a suite of choices has one case
    return case.choices


def questions_of(
    choices: Choices, texts: pa.StringArray, sentences: pa.StringArray
) -> list[NDArray[np.int32]]:
    """Say what is asked before each word of each sentence.

    Args:
        choices: The choices.
        texts: The sentence of each item, (items,).
        sentences: The distinct ones, as the model will be given them, (sentences,).

    Returns:
        For every sentence the numbers of the questions, -1 where none is asked, (words,).
    """
    # The sentences of equal items are equal, and so are the questions about them: the first will do.
    first = pc.index_in(sentences, value_set=texts).to_numpy()
    starts, stops = (np.searchsorted(choices.item, first, side) for side in ("left", "right"))
    words = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(sentences))
    asked = [np.full(length, -1, dtype=np.int32) for length in pc.list_value_length(words).to_numpy()]
    for here, start, stop in zip(asked, starts, stops, strict=True):
        here[choices.position[start:stop]] = choices.question[start:stop]
    return asked


def decide(
    case: Case, scored: pa.Table, rows: NDArray[np.int64]
) -> tuple[Case, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Score the choices of a case.

    Args:
        case: The case.
        scored: One row per sentence, with `right` and `wrong`: what the right and the wrong symbols have
            before each of its words, in nats.
        rows: Row of each item's sentence, (items,).

    Returns:
        The case with one item for each verdict, and the two scores of each: what the right symbols have,
        and what they must exceed. Of a sentence that is judged as one, these are those of its weakest
        choice, where the first exceeds the second least, the first of such.
    """
    choices = case.choices
    assert choices is not None
    lengths = pc.list_value_length(scored["words"]).to_numpy()
    words = (np.cumsum(lengths) - lengths)[rows[choices.item]] + choices.position
    right, wrong = (pc.list_flatten(scored[name]).to_numpy()[words] for name in ("right", "wrong"))
    if choices.whole:
        order = np.lexsort((choices.position, right - wrong, choices.item))
        weakest = order[np.unique(choices.item[order], return_index=True)[1]]
        return case, (right[weakest], wrong[weakest])
    place = pa.array(choices.item, pa.int64())
    features = case.features.take(place)
    for name in choices.features.column_names:
        features = features.append_column(name, choices.features[name])
    return replace(case, index=case.index.take(place), features=features), (right, wrong)
