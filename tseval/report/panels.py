"""The content of a figure: panels of series, with axes."""

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

    `index` selects colour and marker. `x` has numbers, or positions of words from 1. The line has a gap where
    `y` is NaN. Without intervals, `low` and `high` are empty. `points` are single values that make up a mean,
    such as those of seeds: position and value. `style` overrides the style of the look.
    """

    index: int
    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    points: Sequence[tuple[float, float]] = field(default=(), kw_only=True)
    style: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    @property
    def end(self) -> float | None:
        """The last value that is not NaN."""
        return next((value for value in reversed(self.y) if not isnan(value)), None)


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a panel.

    Limits of None depend on the values; if only the upper limit is given, it is a maximum. The axis is
    logarithmic from `log_from` on, or everywhere if this is 0. It has at most `most` whole numbers as ticks;
    0 allows any ticks. `falling` reverses it. The ticks of a logarithmic axis are powers of ten, unless
    `in_full`.
    """

    label: str = ""
    limits: tuple[float | None, float | None] = (None, None)
    log_from: float | None = None
    most: int = 0
    falling: bool = False
    in_full: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes, with words or numbers as ticks.

    `rings` mark the ends of lines that do not run along time. `behind` has lines of other models, drawn in
    grey without names.
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
SHARES = (-0.03, 1.03)  # leaves space for complete markers at both ends


def share_panel(title: str, series: Sequence[Series], x_label: str, y_label: str) -> Panel:
    """Return a panel of shares over whole numbers, from zero to slightly above the highest interval."""
    highest = max((value for line in series for value in line.high), default=0.0)
    return Panel(title, series, Axis(x_label, most=12), Axis(y_label, (0, HEADROOM * max(highest, 0.02))))


def lines_of(rows: pd.DataFrame, x: str, y: str, models: Iterable[object] | None = None) -> list[Series]:
    """Return a line with intervals for each model of some records; `models` gives the order of colours."""
    models = list(rows["model"].unique() if models is None else models)
    return [
        Series(models.index(name), str(name), *(model_rows[key].tolist() for key in (x, y, "low", "high")))
        for name, model_rows in rows.groupby("model", sort=False)
    ]
