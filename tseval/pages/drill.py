"""What a page shows below a row: its parts by feature, and some of its items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.pages.items import (
    Verdicts,
    choose_items,
    draw_items,
    show_items,
)
from tseval.pages.parts import break_down
from tseval.report.document import NONE, interval, share
from tseval.report.layout import row_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.analysis.design import Estimate
    from tseval.items import Suite
    from tseval.pages.items import ShownItem
    from tseval.pages.parts import Breakdown
    from tseval.report.table import Table
    from tseval.runs import Kept


@dataclass(frozen=True, slots=True)
class PartOfRow:
    """A value of a feature: of how many items, the accuracy on them and its interval, for readers."""

    value: str
    n_items: str
    accuracy: str
    interval: str


@dataclass(frozen=True, slots=True)
class RowPage:
    """A row of the table of one model, from near by.

    Attributes:
        row: Its place.
        group: Its dependency and phenomenon.
        label: Its name.
        accuracy: As the table prints it.
        n_items: Of all its items.
        n_wrong: How many are wrong.
        parts: Features and what the row is by each.
        items: Some of its items.
    """

    row: int
    group: str
    label: str
    accuracy: str
    n_items: int
    n_wrong: int
    parts: dict[str, list[PartOfRow]]
    items: list[ShownItem]


class ItemPages:
    """The rows of the models of a table from near by.

    Args:
        table: Whose columns these are.
        suite: That they are over.
        kept: For each column its run, None for published ones.

    Raises:
        RunError: The suite does not have the items of the runs.
    """

    def __init__(self, table: Table, suite: Suite, kept: Sequence[Kept | None]) -> None:
        self._table, self._suite, self._kept = table, suite, kept
        answers = {place: column.answers for place, column in enumerate(table.columns) if column.answers}
        self._places = {place: at for at, place in enumerate(answers)}
        self._rows = next(iter(answers.values())).rows
        first = next(one for one in kept if one is not None)
        # Items and their features are those of the suite, and so the same for all.
        whole = first.run.load_verdicts()
        self._parts = break_down(whole, list(answers.values()))
        self._drawn = draw_items(suite.digest, Verdicts.of(whole), self._rows)

    def rows(self, place: int) -> list[RowPage]:
        """Give the rows of one model."""
        kept, column = self._kept[place], self._table.columns[place]
        assert kept is not None
        verdicts = Verdicts.of(kept.verdicts())
        chosen = choose_items(self._drawn, verdicts, self._rows)
        items = show_items(self._suite, kept.run.load_sentences(), verdicts, chosen)
        labels = row_labels(self._table.rows)
        counts = dict(zip(column.keys(()), column.rows.to_dict("records"), strict=True))
        found = []
        for row, key in enumerate(self._table.rows.itertuples(index=False, name=None)):
            own = counts[key]
            exact = self._table.accuracy[column.heading].iloc[row]
            n_right, n_out = int(own["n_correct"]), int(own["n_undecidable"])
            found.append(
                RowPage(
                    row=row,
                    group=str(key[1]),
                    label=labels[row],
                    accuracy=NONE if exact is None else share(exact, self._table.decimals),
                    n_items=int(own["n_items"]),
                    n_wrong=int(own["n_items"]) - n_right - n_out,
                    parts={one.feature: self._told(one, place) for one in self._parts[row]},
                    items=items[row],
                )
            )
        return found

    def _told(self, breakdown: Breakdown, place: int) -> list[PartOfRow]:
        at = self._places[place]
        return [
            PartOfRow(part.value, f"{part.n_items:,}", *_accuracy(part.estimates[at], self._table.decimals))
            for part in breakdown.parts
        ]


def _accuracy(known: Estimate | None, decimals: int) -> tuple[str, str]:
    if known is None:
        return NONE, NONE
    return share(known.value, decimals), interval((known.low, known.high), decimals)
