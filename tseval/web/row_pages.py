"""The rows of a model in detail: its items, and its accuracy by feature."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.design import split_by_row
from tseval.report.items import rules_of
from tseval.report.layout import row_labels
from tseval.report.numbers import NONE, format_interval, format_share
from tseval.web.answers import Verdicts
from tseval.web.breakdown import Part, break_down
from tseval.web.item_blocks import RunScores, SuiteSentences, texts_block
from tseval.web.item_choice import choose_items, draw_items
from tseval.web.items import ShownItem, show_items
from tseval.writing import AS_WRITTEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from tseval.items import Suite
    from tseval.report.table import Table
    from tseval.runs import CachedRun
    from tseval.writing import Writing


MOST_NAMED = 6  # largest number of models whose answers to an item are listed one by one


def texts_name(at: str, rules: Writing, row: int) -> str:
    """Return the name of the block with a row's sentences. Each form of the sentences has its own block."""
    return f"{at}{'tokens' if rules == AS_WRITTEN else 'text'}-r{row}"


def answers_name(at: str, number: int, row: int) -> str:
    """Return the name of the block with a model's results on a row's items."""
    return f"{at}m{number}-r{row}-items"


@dataclass(frozen=True, slots=True)
class PartOfRow:
    """A value of a feature, with its number of items, the accuracy on them and its interval, as texts."""

    value: str
    n_items: str
    accuracy: str
    interval: str


@dataclass(frozen=True, slots=True)
class RowPage:
    """A row of one model in detail.

    `texts` and `answers` are the names of the blocks with all items (`tseval.web.item_blocks`), if any.
    """

    row: int
    group: str
    label: str
    accuracy: str
    n_items: int
    n_wrong: int
    parts: dict[str, list[PartOfRow]]
    items: list[ShownItem]
    texts: str = ""
    answers: str = ""


def _answers_of(cached: CachedRun, verdicts: pa.Table) -> Verdicts:
    return Verdicts.of(verdicts, in_context=cached.run.manifest.suite.context is not None)


class ItemPages:
    """The rows of a table's models in detail. `at` is the prefix of their blocks' names."""

    def __init__(self, table: Table, suite: Suite, runs: Sequence[CachedRun | None], at: str = "") -> None:
        self._table, self._suite, self._runs, self._at = table, suite, runs, at
        answers = {number: column.answers for number, column in enumerate(table.columns) if column.answers}
        self._index_of = {number: index for index, number in enumerate(answers)}
        self._rows = next(iter(answers.values())).rows
        first = next(cached for cached in runs if cached is not None)
        # Items and their features come from the suite, so they are the same for all models.
        first_verdicts = first.run.load_verdicts()
        self._places = split_by_row(self._rows)
        self._parts = break_down(first_verdicts, list(answers.values()))
        self._drawn = draw_items(suite.digest, Verdicts.of(first_verdicts), self._rows)
        self._answered = {
            number: _answers_of(cached, cached.verdicts())
            for number, cached in enumerate(runs)
            if cached is not None
        }
        # Answers of all models by item, because most models show the same items.
        self._by_all: dict[int, dict[int, tuple[str, float | None]]] = {}

    def rows(self, number: int) -> list[RowPage]:
        """Return the rows of one model."""
        cached, column = self._runs[number], self._table.columns[number]
        assert cached is not None
        verdicts = self._with_scores(number)
        chosen = choose_items(self._drawn, verdicts, self._rows)
        rules = rules_of(cached.run, self._suite)
        shown_items = show_items(self._suite, cached.run.load_sentences(), verdicts, chosen, rules)
        items = [
            [
                replace(item, others=self._by_others(i, number), place=int(np.searchsorted(places, i)))
                for item, i in zip(of_row, choices, strict=True)
            ]
            for of_row, choices, places in zip(shown_items, chosen, self._places, strict=True)
        ]
        labels = row_labels(self._table.rows)
        counts = dict(zip(column.keys(()), column.rows.to_dict("records"), strict=True))
        row_pages = []
        for row, key in enumerate(self._table.rows.itertuples(index=False, name=None)):
            n_items, n_right, n_out = (
                int(counts[key][name]) for name in ("n_items", "n_correct", "n_undecidable")
            )
            exact = self._table.accuracy[column.heading].iloc[row]
            row_pages.append(
                RowPage(
                    row=row,
                    group=str(key[1]),
                    label=labels[row],
                    accuracy=NONE if exact is None else format_share(exact, self._table.decimals),
                    n_items=n_items,
                    n_wrong=n_items - n_right - n_out,
                    parts={
                        name: self._parts_for_readers(parts, number)
                        for name, parts in self._parts[row].items()
                    },
                    items=items[row],
                )
            )
        return row_pages

    def blocks(self, most: int) -> tuple[dict[str, str], bool]:
        """Return all items of all rows as blocks by name, and whether the blocks have surprisals of words.

        Surprisals of words are left out of all blocks if these would have more than `most` characters.
        """
        suite_sentences = SuiteSentences(self._suite, next(iter(self._answered.values())))
        models = [(number, cached) for number, cached in enumerate(self._runs) if cached is not None]
        texts: dict[str, str] = {}
        for number, cached in models:
            rules = rules_of(cached.run, self._suite)
            for row, places in enumerate(self._places):
                name = texts_name(self._at, rules, row)
                if name not in texts:
                    texts[name] = texts_block(suite_sentences, self._answered[number], places, rules)
        for with_words in (True, False):
            blocks = dict(texts)
            for number, cached in models:
                scored, verdicts = RunScores(cached.run.load_sentences()), self._with_scores(number)
                for row, places in enumerate(self._places):
                    blocks[answers_name(self._at, number, row)] = scored.answers_block(
                        suite_sentences, verdicts, places, with_words=with_words
                    )
                if with_words and sum(map(len, blocks.values())) > most:
                    break
            else:
                return blocks, with_words
        return blocks, False

    def _with_scores(self, number: int) -> Verdicts:
        """Return the verdicts on one model with scores. Scores that are not in memory are read again."""
        cached = self._runs[number]
        assert cached is not None
        return (
            self._answered[number] if cached.with_scores else _answers_of(cached, cached.run.load_verdicts())
        )

    def with_blocks(self, number: int, rows: Sequence[RowPage]) -> list[RowPage]:
        """Add the names of blocks to the rows of one model."""
        cached = self._runs[number]
        assert cached is not None
        rules = rules_of(cached.run, self._suite)
        return [
            replace(
                row,
                texts=texts_name(self._at, rules, row.row),
                answers=answers_name(self._at, number, row.row),
            )
            for row in rows
        ]

    def _by_others(self, index: int, number: int) -> tuple[str, ...]:
        """Return the other models' outcomes on an item; for many models, the number of each outcome."""
        if index not in self._by_all:
            self._by_all[index] = {
                model: verdicts.answer(index) for model, verdicts in self._answered.items()
            }
        other_answers = {model: answer for model, answer in self._by_all[index].items() if model != number}
        if len(other_answers) > MOST_NAMED:
            counts = Counter(outcome for outcome, _ in other_answers.values())
            return tuple(f"{count} {outcome}" for outcome, count in counts.most_common())
        return tuple(
            f"{self._table.columns[model].heading} {outcome}"
            + ("" if margin is None else f" by {abs(margin):.3g}")
            for model, (outcome, margin) in other_answers.items()
        )

    def _parts_for_readers(self, parts: Sequence[Part], number: int) -> list[PartOfRow]:
        row_parts, decimals = [], self._table.decimals
        for value, n_items, estimates in parts:
            estimate, accuracy, interval = estimates[self._index_of[number]], NONE, NONE
            if estimate is not None:
                accuracy = format_share(estimate.value, decimals)
                interval = format_interval((estimate.low, estimate.high), decimals)
            row_parts.append(PartOfRow(value, f"{n_items:,}", accuracy, interval))
        return row_parts
