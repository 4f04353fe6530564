"""What a page shows below a row: its parts by feature, and some of its items."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.analysis.design import Design, split_by_row
from tseval.analysis.estimates import Estimate, estimate
from tseval.errors import RunError
from tseval.evidence import whole_column
from tseval.items import ENTRY, HALF_KNOWN, NOT_FEATURES, Case, Suite
from tseval.report.layout import row_labels
from tseval.report.numbers import NONE, format_interval, format_share
from tseval.suites.data.critical import differing
from tseval.writing import AS_WRITTEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.analysis.correctness import Correctness
    from tseval.report.table import Table
    from tseval.runs import CachedRun
    from tseval.writing import Writing


N_DRAWN, N_CLOSEST, N_WORST = 4, 2, 3
UNDECIDABLE, HALF_KNOWN_OUTCOME = "undecidable", "undecidable (half known)"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What one model answered, item by item, in the order of the suite, (verdicts,).

    The margin is the score of what should be better less that of what should be worse, in nats; not a number
    where nothing was compared.
    """

    case: pa.StringArray
    item: NDArray[np.int64]
    contrast: pa.StringArray
    margin: NDArray[np.float64]
    correct: NDArray[np.bool_]
    tie: NDArray[np.bool_]
    undecidable: NDArray[np.bool_]
    half_known: NDArray[np.bool_]

    @classmethod
    def of(cls, table: pa.Table) -> Verdicts:
        """Take what is needed from verdicts as `tseval.verdicts.judge` gives them."""
        better, worse = (table[name].to_numpy() for name in ("better_score", "worse_score"))
        correct, tie, undecidable = (table[name].to_numpy() for name in ("correct", "tie", "undecidable"))
        case, contrast = (whole_column(table, name) for name in ("case", "contrast"))
        nothing = np.zeros(len(table), dtype=np.bool_)
        half_known = table[HALF_KNOWN].to_numpy() if HALF_KNOWN in table.column_names else nothing
        return cls(
            case, table["item"].to_numpy(), contrast, better - worse, correct, tie, undecidable, half_known
        )

    def answer(self, place: int) -> tuple[str, float | None]:
        """Return the outcome of one, and the margin in nats, if anything was compared."""
        margin = float(self.margin[place])
        if self.undecidable[place]:
            return HALF_KNOWN_OUTCOME if self.half_known[place] else UNDECIDABLE, None
        outcome = "tie" if self.tie[place] else "right" if self.correct[place] else "wrong"
        return outcome, None if np.isnan(margin) else margin


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


def draw_items(suite_digest: str, verdicts: Verdicts, rows: NDArray[np.int64]) -> list[list[int]]:
    """Draw a few items of each row by hash, the same for every model: nobody chooses which are shown."""
    named = zip(verdicts.case.to_pylist(), verdicts.item.tolist(), verdicts.contrast.to_pylist(), strict=True)
    drawn = [sha256(f"{suite_digest} {case} {item} {contrast}".encode()).digest()[:8]
             for case, item, contrast in named]  # fmt: skip
    keys = np.frombuffer(b"".join(drawn), ">u8")
    return [own[np.argsort(keys[own], kind="stable")[:N_DRAWN]].tolist() for own in split_by_row(rows)]


def choose_items(
    drawn: Sequence[Sequence[int]], verdicts: Verdicts, rows: NDArray[np.int64]
) -> list[dict[int, tuple[str, ...]]]:
    """Choose the items of each row that are shown of one model: drawn ones, close calls, and far-off ones.

    For each row the places of verdicts, with why.
    """
    chosen = []
    for by_hash, own in zip(drawn, split_by_row(rows), strict=True):
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


def _smallest(values: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """Return the places of the smallest values; what is not a number is none."""
    known = np.flatnonzero(~np.isnan(values))
    return known[np.argsort(values[known], kind="stable")[:n]]


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


MOST_VALUES = 8
MOST_NAMED = 6  # models that are told one by one what they make of an item
# Of a value of a feature: its name, the number of its items, and how each model does on them.
Part = tuple[str, int, list["Estimate | None"]]


def break_down(verdicts: pa.Table, models: Sequence[Correctness]) -> list[dict[str, list[Part]]]:
    """Break every row down by each feature that splits it into a few parts."""
    names = [name for name in verdicts.column_names
             if name not in NOT_FEATURES and not name.endswith(ENTRY)]  # fmt: skip
    features = verdicts.select(names).to_pandas()
    found: list[dict[str, list[Part]]] = []
    for items in split_by_row(models[0].rows):
        found.append({})
        for name in names:
            column = features[name].iloc[items]
            values = sorted(column.dropna().unique())
            if 1 < len(values) <= MOST_VALUES:
                parts = ((str(value), items[(column == value).to_numpy()]) for value in values)
                found[-1][name] = [(value, len(own), _estimates(own, models)) for value, own in parts]
    return found


def _estimates(items: NDArray[np.int64], models: Sequence[Correctness]) -> list[Estimate | None]:
    designs: dict[int, Design] = {}  # models mostly share their factors
    found = []
    for one in models:
        if id(one.factors) not in designs:
            designs[id(one.factors)] = Design.of(one.factors.take(items))
        found.append(estimate(one.correct[items], one.decidable[items], designs[id(one.factors)]))
    return found


@dataclass(frozen=True, slots=True)
class PartOfRow:
    """A value of a feature: of how many items, the accuracy on them and its interval, for readers."""

    value: str
    n_items: str
    accuracy: str
    interval: str


@dataclass(frozen=True, slots=True)
class RowPage:
    """A row of the table of one model, from near by."""

    row: int
    group: str
    label: str
    accuracy: str
    n_items: int
    n_wrong: int
    parts: dict[str, list[PartOfRow]]
    items: list[ShownItem]


class ItemPages:
    """The rows of the models of a table from near by."""

    def __init__(self, table: Table, suite: Suite, kept: Sequence[CachedRun | None]) -> None:
        self._table, self._suite, self._kept = table, suite, kept
        answers = {place: column.answers for place, column in enumerate(table.columns) if column.answers}
        self._places = {place: at for at, place in enumerate(answers)}
        self._rows = next(iter(answers.values())).rows
        first = next(one for one in kept if one is not None)
        # Items and their features are those of the suite, and so the same for all.
        whole = first.run.load_verdicts()
        self._parts = break_down(whole, list(answers.values()))
        self._drawn = draw_items(suite.digest, Verdicts.of(whole), self._rows)
        self._answered = {
            place: Verdicts.of(one.verdicts()) for place, one in enumerate(kept) if one is not None
        }

    def rows(self, place: int) -> list[RowPage]:
        """Return the rows of one model."""
        kept, column = self._kept[place], self._table.columns[place]
        assert kept is not None
        verdicts = self._answered[place]
        chosen = choose_items(self._drawn, verdicts, self._rows)
        natural = kept.run.manifest.key.protocol.get("text") == "natural"
        rules = self._suite.writing if natural and self._suite.writing else AS_WRITTEN
        shown = show_items(self._suite, kept.run.load_sentences(), verdicts, chosen, rules)
        items = [
            [replace(one, others=self._across(at, place)) for one, at in zip(of_row, asked, strict=True)]
            for of_row, asked in zip(shown, chosen, strict=True)
        ]
        labels = row_labels(self._table.rows)
        counts = dict(zip(column.keys(()), column.rows.to_dict("records"), strict=True))
        found = []
        for row, key in enumerate(self._table.rows.itertuples(index=False, name=None)):
            n_items, n_right, n_out = (
                int(counts[key][name]) for name in ("n_items", "n_correct", "n_undecidable")
            )
            exact = self._table.accuracy[column.heading].iloc[row]
            found.append(
                RowPage(
                    row=row,
                    group=str(key[1]),
                    label=labels[row],
                    accuracy=NONE if exact is None else format_share(exact, self._table.decimals),
                    n_items=n_items,
                    n_wrong=n_items - n_right - n_out,
                    parts={name: self._told(parts, place) for name, parts in self._parts[row].items()},
                    items=items[row],
                )
            )
        return found

    def _across(self, at: int, place: int) -> tuple[str, ...]:
        """Tell what the other models make of an item; of many, how many make what of it."""
        others = {other: verdicts.answer(at) for other, verdicts in self._answered.items() if other != place}
        if len(others) > MOST_NAMED:
            counts = Counter(outcome for outcome, _ in others.values())
            return tuple(f"{count} {outcome}" for outcome, count in counts.most_common())
        return tuple(
            f"{self._table.columns[other].heading} {outcome}"
            + ("" if margin is None else f" by {abs(margin):.3g}")
            for other, (outcome, margin) in others.items()
        )

    def _told(self, parts: Sequence[Part], place: int) -> list[PartOfRow]:
        found, decimals = [], self._table.decimals
        for value, n_items, estimates in parts:
            known, accuracy, interval = estimates[self._places[place]], NONE, NONE
            if known is not None:
                accuracy = format_share(known.value, decimals)
                interval = format_interval((known.low, known.high), decimals)
            found.append(PartOfRow(value, f"{n_items:,}", accuracy, interval))
        return found
