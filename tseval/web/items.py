"""Items on a page: their sentences, the words that differ, and a model's log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import RunError
from tseval.report.items import UNDECIDABLE, labels_of
from tseval.suites.data.critical import differing
from tseval.writing import AS_WRITTEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tseval.items import Case, Suite
    from tseval.web.answers import Verdicts
    from tseval.writing import Writing


@dataclass(frozen=True, slots=True)
class ShownWord:
    """A word of a sentence on a page.

    Attributes:
        text: The word in natural text, *The* for the token *the*.
        differs: Whether the other sentence has another word there.
        logprob: Its log-probability in nats.
        gap: The text before it: a space, or nothing.
    """

    text: str
    differs: bool
    logprob: float | None
    gap: str = " "


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """A sentence of an item: its words, its log-probability (nats), and the model's form of it, if different.

    For a prompt model, `chosen` says how often it chose the sentence.
    """

    label: str
    words: tuple[ShownWord, ...]
    logprob: float | None
    seen: str | None
    chosen: int | None = None


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item on a page, such as `simple_agrmt[12]`: why it is shown, and its sentences (the better first).

    `place` is its index among the items of its row.
    """

    name: str
    why: tuple[str, ...]
    outcome: str
    margin: float | None
    sentences: tuple[ShownSentence, ...]
    others: tuple[str, ...] = ()
    place: int = 0


def show_items(
    suite: Suite, scored: pa.Table, verdicts: Verdicts, chosen: Iterable[Mapping[int, tuple[str, ...]]],
    rules: Writing = AS_WRITTEN,
) -> list[list[ShownItem]]:  # fmt: skip
    """Return the sentences of items with the model's log-probabilities; rules make the text that it read."""
    cases = {case.name: case for case in suite.cases}
    items_of_rows: list[list[tuple[int, tuple[str, ...], list[tuple[str, str]]]]] = []
    for of_row in chosen:
        items_of_rows.append([])
        for index, labels in of_row.items():
            case, item = cases.get(str(verdicts.case[index])), int(verdicts.item[index])
            texts = None if case is None else _sentences(suite, case, item, str(verdicts.contrast[index]))
            if texts is None:
                raise RunError(
                    f"the run has an item number {item} of the case {verdicts.case[index]}, but the suite "
                    f"{suite.name} has none. Use the version of the suite that the run scored."
                )
            items_of_rows[-1].append((index, labels, texts))
    sentences = [
        verdicts.scored_text(index, text)
        for of_row in items_of_rows
        for index, _, texts in of_row
        for _, text in texts
    ]
    rows = pc.index_in(pa.array(sentences, pa.string()), value_set=scored["sentence"])
    selected = scored.select(["sentence", "seen", "logprob", "words"]).take(rows.drop_null())
    scored_of = {row["sentence"]: row for row in selected.to_pylist()}
    return [
        [_item(scored_of, verdicts, rules, *chosen_item) for chosen_item in of_row]
        for of_row in items_of_rows
    ]


def _sentences(suite: Suite, case: Case, item: int, contrast: str) -> list[tuple[str, str]] | None:
    """Return the labels and sentences of a verdict, in the form that the model read."""
    positions = np.flatnonzero(case.index.to_numpy() == item)
    if not len(positions):
        return None
    end = "" if suite.terminator is None else f" {suite.terminator}"
    return [
        (label, f"{case.sentences[label][int(positions[0])].as_py()}{end}")
        for label in labels_of(case, contrast)
    ]


def _sentence(
    scored: dict[str, Any] | None, label: str, text: str, differs: Sequence[bool], rules: Writing
) -> ShownSentence:
    """Return a sentence with the model's log-probabilities; without any if the sentence is too long."""
    read, starts = rules.write(text)
    written = [read[start:end] for start, end in pairwise([*starts, len(read)])]
    words = text.split()
    logprobs = scored["words"] if scored and len(scored["words"]) == len(words) else [None] * len(words)
    text_read = scored["seen"] if scored and scored["seen"].split() != words else None
    gaps = [token_text[: len(token_text) - len(token_text.lstrip())] for token_text in written]
    shown_words = tuple(map(ShownWord, map(str.strip, written), differs, logprobs, gaps))
    return ShownSentence(label, shown_words, scored["logprob"] if scored else None, text_read)


def _item(
    scored_of: Mapping[str, dict[str, Any]],
    verdicts: Verdicts,
    rules: Writing,
    index: int,
    why: tuple[str, ...],
    texts: list[tuple[str, str]],
) -> ShownItem:
    outcome, margin = verdicts.answer(index)
    scored = [scored_of.get(verdicts.scored_text(index, text)) for _, text in texts]
    if outcome != UNDECIDABLE and not all(scored) and verdicts.chosen is None:
        raise RunError(
            f"{texts[0][1]!r} is a sentence of the suite, but the run has no score for it. "
            "Score the suite again."
        )
    differs = differing([text.split() for _, text in texts])
    sentences = tuple(
        _sentence(of_text, label, text, marked, rules)
        for of_text, (label, text), marked in zip(scored, texts, differs, strict=True)
    )
    if verdicts.chosen is not None:
        counts = verdicts.chosen[index].tolist()
        sentences = tuple(
            replace(sentence, chosen=count) for sentence, count in zip(sentences, counts, strict=True)
        )
    name = f"{verdicts.case[index]}[{verdicts.item[index]}]"
    return ShownItem(name, why, outcome, margin, sentences)
