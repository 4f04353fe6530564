"""Decide which sentences of a table are the better ones, by labels, conditions or marks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, suggest
from tseval.suites.data.roles import OPPOSITES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.suites.data.roles import Header
    from tseval.suites.data.sentences import Sentence


GOOD_LABELS = {good for good, _ in OPPOSITES}
BAD_LABELS = {bad for _, bad in OPPOSITES}
# The meaning of labels: the words that conditions may have, and further ones such as 1 and true.
_LABELS = {
    **dict.fromkeys((*GOOD_LABELS, "1", "true", "yes", "ok", "g"), True),
    **dict.fromkeys((*BAD_LABELS, "0", "false", "no", "*", "u"), False),
}


def better_ones(sentences: Sequence[Sentence], columns: Header) -> list[bool] | None:
    """Return which sentences are better, by labels, names of conditions, or marks; None if unknown."""
    if (better := columns.options.get("better")) and "predict" in columns.options:
        raise SuiteError(
            "--columns: the settings better= and predict= cannot be used together.\n  Leave one of them out."
        )
    if better:
        chosen = [
            better in (sentence.label, sentence.condition, *levels_of(sentence.condition))
            for sentence in sentences
        ]
        if not any(chosen):
            hint = suggest(
                better,
                {sentence.label or sentence.condition for sentence in sentences},
                "Labels or conditions",
            )
            raise SuiteError(
                f"--columns better={better}: no sentence has the label or condition {better!r}.\n  {hint}"
            )
        return chosen
    if any(sentence.label for sentence in sentences):
        judged = [_LABELS.get(sentence.label.lower()) for sentence in sentences]
        if None in judged or len({*judged}) == 1:
            example = sentences[judged.index(None)] if None in judged else sentences[0]
            column = columns.of("label")
            if None not in judged:
                raise SuiteError(
                    f"{example.place}: all rows have the value {example.label!r} in the column {column!r}, "
                    "so it does not separate grammatical from ungrammatical sentences.\n"
                    "  Name another column with judgements: --columns label=COLUMN."
                )
            raise SuiteError(
                f"{example.place}: the column {column!r} has the value {example.label!r}, and tseval does "
                "not know whether this value means grammatical or ungrammatical.\n"
                "  Name the value of grammatical sentences: --columns better=VALUE. If the values are "
                f"ratings, add --columns rating={column}."
            )
        return [bool(judgement) for judgement in judged]
    levels = [[level.lower() for level in levels_of(sentence.condition)] for sentence in sentences]
    if "predict" in columns.options and levels and all(levels):
        return None  # the formula compares conditions, even those with names such as good and bad
    if levels and len({len(words) for words in levels}) == 1:
        for index in range(len(levels[0])):
            level_words = {words[index] for words in levels}
            if (
                level_words & GOOD_LABELS
                and level_words & BAD_LABELS
                and level_words <= GOOD_LABELS | BAD_LABELS
            ):
                return [words[index] in GOOD_LABELS for words in levels]
    marked = [sentence.text.lstrip()[:1] in {"*", "?", "#", "%"} for sentence in sentences]
    return [not mark for mark in marked] if any(marked) and not all(marked) and not levels[0] else None


def levels_of(condition: str) -> list[str]:
    """Return the words of a condition: `plural_match` has two."""
    return [part for part in re.split(r"[\W_]+", condition) if part]
