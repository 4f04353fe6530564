"""Single items: some of each row of the table, with their sentences and what a model makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import RunError
from tseval.evidence import whole_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.items import Case, Suite

N_DRAWN, N_CLOSEST, N_WORST = 4, 2, 3


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What one model answered, item by item, in the order of the suite.

    Attributes:
        case: Name of the case of each item, (verdicts,).
        item: Its place in the case.
        contrast: What counts: `grammatical > ungrammatical`.
        margin: Score of what should be better less that of what should be worse, in nats; not a number where
            nothing was compared.
        correct: (verdicts,).
        tie: (verdicts,).
        undecidable: (verdicts,).
    """

    case: pa.StringArray
    item: NDArray[np.int64]
    contrast: pa.StringArray
    margin: NDArray[np.float64]
    correct: NDArray[np.bool_]
    tie: NDArray[np.bool_]
    undecidable: NDArray[np.bool_]

    @classmethod
    def of(cls, table: pa.Table) -> Verdicts:
        """Take what is needed from verdicts as `tseval.verdicts.judge` gives them."""
        better, worse = (table[name].to_numpy() for name in ("better_score", "worse_score"))
        flags = (table[name].to_numpy() for name in ("correct", "tie", "undecidable"))
        case, contrast = (whole_column(table, name) for name in ("case", "contrast"))
        return cls(case, table["item"].to_numpy(), contrast, better - worse, *flags)


@dataclass(frozen=True, slots=True)
class ShownWord:
    """A word of a sentence, whether the other sentence has another there, and its log-probability in nats."""

    text: str
    differs: bool
    logprob: float | None


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """A sentence of an item: its words, its log-probability in nats, and how the model sees it, if other."""

    label: str
    words: tuple[ShownWord, ...]
    logprob: float | None
    seen: str | None


@dataclass(frozen=True, slots=True)
class ShownItem:
    """An item as a page shows it.

    Attributes:
        name: `simple_agrmt[12]`, as messages name it.
        why: `drawn`, `close call` and `far off`: why it is shown.
        outcome: `right`, `wrong`, `tie` or `undecidable`.
        margin: In nats; None where nothing was compared.
        sentences: The better one first.
    """

    name: str
    why: tuple[str, ...]
    outcome: str
    margin: float | None
    sentences: tuple[ShownSentence, ...]


def draw_items(suite_digest: str, verdicts: Verdicts, rows: NDArray[np.int64]) -> list[list[int]]:
    """Draw a few items of each row by hash, the same for every model: nobody chooses which are shown.

    Args:
        suite_digest: Of the suite.
        verdicts: Of any model.
        rows: The row of each verdict, from 0.

    Returns:
        Places of verdicts, row by row: those with the smallest SHA-256 of digest, case, item and contrast.
    """
    named = zip(verdicts.case.to_pylist(), verdicts.item.tolist(), verdicts.contrast.to_pylist(), strict=True)
    drawn = [sha256(f"{suite_digest} {case} {item} {contrast}".encode()).digest()[:8]
             for case, item, contrast in named]  # fmt: skip
    keys = np.frombuffer(b"".join(drawn), ">u8")
    return [own[np.argsort(keys[own], kind="stable")[:N_DRAWN]].tolist() for own in _by_row(rows)]


def choose_items(
    drawn: Sequence[Sequence[int]], verdicts: Verdicts, rows: NDArray[np.int64]
) -> list[dict[int, tuple[str, ...]]]:
    """Choose the items of each row that are shown of one model: drawn ones, close calls, and far-off ones.

    Returns:
        For each row the places of verdicts, with why.
    """
    chosen = []
    for by_hash, own in zip(drawn, _by_row(rows), strict=True):
        margin = np.where(verdicts.undecidable[own], np.nan, verdicts.margin[own])
        wrong = ~verdicts.correct[own] & ~verdicts.undecidable[own]
        closest = _smallest(np.abs(margin), N_CLOSEST)
        worst = _smallest(np.where(wrong, margin, np.nan), N_WORST)
        why: dict[int, tuple[str, ...]] = {}
        told = (("drawn", by_hash), ("close call", own[closest].tolist()), ("far off", own[worst].tolist()))
        for word, places in told:
            for place in places:
                why[place] = (*why.get(place, ()), word)
        chosen.append(why)
    return chosen


def _by_row(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    ends = np.cumsum(np.bincount(rows))
    return np.split(np.argsort(rows, kind="stable"), ends[:-1])


def _smallest(values: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """Give the places of the smallest values; what is not a number is none."""
    known = np.flatnonzero(~np.isnan(values))
    return known[np.argsort(values[known], kind="stable")[:n]]


def show_items(
    suite: Suite, scored: pa.Table, verdicts: Verdicts, chosen: Iterable[Mapping[int, tuple[str, ...]]]
) -> list[list[ShownItem]]:
    """Look up the sentences of items, and what the model gives them.

    Args:
        suite: That they are of.
        scored: The model's scored sentences.
        verdicts: Of the model.
        chosen: Row by row, places of verdicts with why they are shown.

    Raises:
        RunError: An item is not in the suite, or its sentence was not scored: it is another suite.
    """
    cases = {case.name: case for case in suite.cases}
    found: list[list[tuple[int, tuple[str, ...], list[tuple[str, str]]]]] = []
    for of_row in chosen:
        found.append([])
        for place, why in of_row.items():
            case, item = cases.get(str(verdicts.case[place])), int(verdicts.item[place])
            texts = None if case is None else _sentences(suite, case, item, str(verdicts.contrast[place]))
            if texts is None:
                raise RunError(f"the suite {suite.name} has no item {verdicts.case[place]}[{item}]")
            found[-1].append((place, why, texts))
    told = _Told(scored, [text for of_row in found for *_, texts in of_row for _, text in texts])
    return [[_item(told, verdicts, *one) for one in of_row] for of_row in found]


def _sentences(suite: Suite, case: Case, item: int, contrast: str) -> list[tuple[str, str]] | None:
    """Give the labels and sentences that a verdict is about, as the model was given them."""
    places = np.flatnonzero(case.index.to_numpy() == item)
    if not len(places):
        return None
    labels = next(([one.better, one.worse] for one in case.contrasts if str(one) == contrast), case.labels)
    end = "" if suite.terminator is None else f" {suite.terminator}"
    return [(label, f"{case.sentences[label][int(places[0])].as_py()}{end}") for label in labels]


class _Told:
    """What a model gives some sentences."""

    def __init__(self, scored: pa.Table, texts: list[str]) -> None:
        rows = pc.index_in(pa.array(texts, pa.string()), value_set=scored["sentence"])
        taken = scored.select(["sentence", "seen", "logprob", "words"]).take(rows.drop_null())
        self._told = {row["sentence"]: row for row in taken.to_pylist()}

    def sentence(self, label: str, text: str, differs: Sequence[bool]) -> ShownSentence:
        told, words = self._told.get(text), text.split()
        if told is None:  # too long for the model
            return ShownSentence(
                label, tuple(map(ShownWord, words, differs, [None] * len(words))), None, None
            )
        logprobs = told["words"] if len(told["words"]) == len(words) else [None] * len(words)
        seen = told["seen"] if told["seen"].split() != words else None
        return ShownSentence(label, tuple(map(ShownWord, words, differs, logprobs)), told["logprob"], seen)

    def knows(self, text: str) -> bool:
        return text in self._told


def _item(
    told: _Told, verdicts: Verdicts, place: int, why: tuple[str, ...], texts: list[tuple[str, str]]
) -> ShownItem:
    undecidable, margin = bool(verdicts.undecidable[place]), float(verdicts.margin[place])
    if not undecidable and not all(told.knows(text) for _, text in texts):
        raise RunError(f"{texts[0][1]!r} was not scored")
    differs = _differing([text.split() for _, text in texts])
    return ShownItem(
        name=f"{verdicts.case[place]}[{verdicts.item[place]}]",
        why=why,
        outcome="undecidable" if undecidable else "tie" if verdicts.tie[place]
        else "right" if verdicts.correct[place] else "wrong",
        margin=None if undecidable or np.isnan(margin) else margin,
        sentences=tuple(
            told.sentence(label, text, marked) for (label, text), marked in zip(texts, differs, strict=True)
        ),
    )  # fmt: skip


def _differing(sentences: Sequence[Sequence[str]]) -> list[list[bool]]:
    """Tell which words differ: of sentences of one length each word, else what their ends do not share."""
    shortest = min(map(len, sentences))
    alike = [len({one[place] for one in sentences}) == 1 for place in range(shortest)]
    if all(len(one) == shortest for one in sentences):
        return [[not same for same in alike] for _ in sentences]
    before = next((place for place, same in enumerate(alike) if not same), shortest)
    after = next((n for n in range(shortest - before) if len({one[-1 - n] for one in sentences}) > 1),
                 shortest - before)  # fmt: skip
    return [[before <= place < len(one) - after for place in range(len(one))] for one in sentences]
