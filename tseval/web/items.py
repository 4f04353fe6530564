"""Items as a page shows them: sentences, what differs, and what a model makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import RunError
from tseval.suites.data.critical import differing
from tseval.web.answers import UNDECIDABLE, Verdicts
from tseval.writing import AS_WRITTEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tseval.items import Case, Suite
    from tseval.writing import Writing


@dataclass(frozen=True, slots=True)
class ShownWord:
    """A word of a sentence, as the model reads it.

    Attributes:
        text: The word as it is written, *The* for the token *the*.
        differs: Whether the other sentence has another word there.
        logprob: In nats.
        gap: What is written before it: a space, or nothing.
    """

    text: str
    differs: bool
    logprob: float | None
    gap: str = " "


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """A sentence of an item: its words, its log-probability in nats, and how the model sees it, if other."""

    label: str
    words: tuple[ShownWord, ...]
    logprob: float | None
    seen: str | None


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item as a page shows it, `simple_agrmt[12]`: why, and its sentences, the better one first."""

    name: str
    why: tuple[str, ...]
    outcome: str
    margin: float | None
    sentences: tuple[ShownSentence, ...]
    others: tuple[str, ...] = ()


def show_items(
    suite: Suite, scored: pa.Table, verdicts: Verdicts, chosen: Iterable[Mapping[int, tuple[str, ...]]],
    rules: Writing = AS_WRITTEN,
) -> list[list[ShownItem]]:  # fmt: skip
    """Look up the sentences of items, and what the model gives them; rules make the text that it read."""
    cases = {case.name: case for case in suite.cases}
    found: list[list[tuple[int, tuple[str, ...], list[tuple[str, str]]]]] = []
    for of_row in chosen:
        found.append([])
        for place, why in of_row.items():
            case, item = cases.get(str(verdicts.case[place])), int(verdicts.item[place])
            texts = None if case is None else _sentences(suite, case, item, str(verdicts.contrast[place]))
            if texts is None:
                raise RunError(
                    f"the run has an item number {item} of the case {verdicts.case[place]}, but the suite "
                    f"{suite.name} has none. Use the version of the suite that the run scored."
                )
            found[-1].append((place, why, texts))
    asked = [text for of_row in found for *_, texts in of_row for _, text in texts]
    rows = pc.index_in(pa.array(asked, pa.string()), value_set=scored["sentence"])
    taken = scored.select(["sentence", "seen", "logprob", "words"]).take(rows.drop_null())
    told = {row["sentence"]: row for row in taken.to_pylist()}
    return [[_item(told, verdicts, rules, *one) for one in of_row] for of_row in found]


def _sentences(suite: Suite, case: Case, item: int, contrast: str) -> list[tuple[str, str]] | None:
    """Return the labels and sentences that a verdict is about, as the model was given them."""
    places = np.flatnonzero(case.index.to_numpy() == item)
    if not len(places):
        return None
    labels = next(([one.better, one.worse] for one in case.contrasts if str(one) == contrast), case.labels)
    end = "" if suite.terminator is None else f" {suite.terminator}"
    return [(label, f"{case.sentences[label][int(places[0])].as_py()}{end}") for label in labels]


def _sentence(
    told: dict[str, Any] | None, label: str, text: str, differs: Sequence[bool], rules: Writing
) -> ShownSentence:
    """Show a sentence with what the model gives it; of one too long for it there is nothing."""
    read, starts = rules.write(text)
    written = [read[start:end] for start, end in pairwise([*starts, len(read)])]
    words = text.split()
    logprobs = told["words"] if told and len(told["words"]) == len(words) else [None] * len(words)
    seen = told["seen"] if told and told["seen"].split() != words else None
    gaps = [one[: len(one) - len(one.lstrip())] for one in written]
    shown = tuple(map(ShownWord, map(str.strip, written), differs, logprobs, gaps))
    return ShownSentence(label, shown, told["logprob"] if told else None, seen)


def _item(
    told: Mapping[str, dict[str, Any]],
    verdicts: Verdicts,
    rules: Writing,
    place: int,
    why: tuple[str, ...],
    texts: list[tuple[str, str]],
) -> ShownItem:
    outcome, margin = verdicts.answer(place)
    if outcome != UNDECIDABLE and not all(text in told for _, text in texts):
        raise RunError(
            f"{texts[0][1]!r} is a sentence of the suite, but the run has no score for it. "
            "Score the suite again."
        )
    differs = differing([text.split() for _, text in texts])
    pairs = zip(texts, differs, strict=True)
    sentences = tuple(
        _sentence(told.get(text), label, text, marked, rules) for (label, text), marked in pairs
    )
    name = f"{verdicts.case[place]}[{verdicts.item[place]}]"
    return ShownItem(name, why, outcome, margin, sentences)
