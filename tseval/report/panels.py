"""What a figure shows: panels of series, over axes."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd


LONGEST = 40  # characters of a model's name


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one model in a panel.

    The index chooses colour and marker. Places are numbers, words count from 1; where `y` is not a number the
    line breaks. Without intervals `low` and `high` are empty. Points are places and values of the single
    seeds of a mean. The style goes before that of the look.
    """

    index: int
    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    style: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    points: Sequence[tuple[float, float]] = field(default=(), kw_only=True)

    @property
    def end(self) -> float | None:
        """The last value there is."""
        return next((value for value in reversed(self.y) if not isnan(value)), None)


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a panel.

    Limits are None for what the values need; an upper end alone is only the highest it may be. It is
    logarithmic from `log_from` on, 0 for all of it. At most `most` whole numbers stand at it, 0 for any
    numbers; the numbers of a logarithmic axis are powers of ten unless written in full.
    """

    label: str = ""
    limits: tuple[float | None, float | None] = (None, None)
    log_from: float | None = None
    most: int = 0
    falling: bool = False
    in_full: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes; words stand at its places, or numbers where there are none.

    Rings mark where lines end that do not run along time; lines of other models stand behind, grey and
    nameless.
    """

    title: str
    series: Sequence[Series]
    x: Axis = Axis()
    y: Axis = Axis()
    words: Sequence[str] = ()
    subtitle: str = ""
    rings: bool = False
    family: str = ""
    behind: Sequence[Series] = ()


HEADROOM = 1.06
SHARES = (-0.03, 1.03)  # a marker at either end is whole


def share_panel(title: str, series: Sequence[Series], x_label: str, y_label: str) -> Panel:
    """Return shares over whole numbers, from zero up to a little above the highest interval."""
    highest = max((value for line in series for value in line.high), default=0.0)
    return Panel(title, series, Axis(x_label, most=12), Axis(y_label, (0, HEADROOM * max(highest, 0.02))))


def lines_of(rows: pd.DataFrame, x: str, y: str, models: Iterable[object] | None = None) -> list[Series]:
    """Return a line with intervals for each model of some records, in the order of these or of all models."""
    models = list(rows["model"].unique() if models is None else models)
    return [
        Series(models.index(name), str(name), *(model_rows[of].tolist() for of in (x, y, "low", "high")))
        for name, model_rows in rows.groupby("model", sort=False)
    ]
