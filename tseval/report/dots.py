"""Panels of words, one below the other, with accuracy from left to right."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from tseval.report.figures import GREY, LONGEST, add_legend, colour, marker, new_figure
from tseval.report.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tseval.report.figures import LineOf

_WIDTH = 4.6  # inches of a panel
_LINE_HEIGHT = 0.19  # inches that a word takes
_AROUND = 0.85  # inches for the title of a panel and its axis
_APART = 0.5  # of a line: how far the dots of all models of a word are spread
_MIDDLE = 0.5
_LONG_DASHES = (0, (4, 3))


@dataclass(frozen=True, slots=True)
class DotPanel:
    """One set of axes.

    Attributes:
        title: Above it, on two lines; text from outside.
        words: From below upwards.
        series: One per model; `x` is the place of a word, counted from 0.
    """

    title: tuple[str, str]
    words: Sequence[str]
    series: Sequence[LineOf]


def draw_dots(panels: Sequence[DotPanel], x_label: str, *, shares: bool = True) -> Figure:
    """Draw a dot with its interval for each word, from left to right.

    Panels stand one below the other, in two columns where there are several.

    Args:
        panels: What to draw.
        x_label: Below the axes.
        shares: Whether values are shares, 0 to 1, with the level of chance; else all panels have one scale.
    """
    columns = _columns(panels)
    heights = [[_height(panel) for panel in column] for column in columns]
    tallest = max(map(sum, heights))
    scale = None if shares else _scale(panels)
    figure = new_figure(_WIDTH * len(columns), tallest + 0.4)
    parts = figure.subfigures(1, len(columns), squeeze=False)[0]
    for part, column, own in zip(parts, columns, heights, strict=True):
        # What a column lacks to the other's height stays empty below it.
        rest = [tallest - sum(own)] if tallest - sum(own) > 0.01 else []
        grid = part.subplots(len(column) + len(rest), 1, squeeze=False, height_ratios=[*own, *rest])
        for axes, panel in zip(grid.flat, column, strict=False):
            _draw_panel(axes, panel, scale)
        grid.flat[len(column) - 1].set_xlabel(x_label)
        for axes in grid.flat[len(column) :]:
            axes.set_axis_off()
    _explain(figure, {one.index: one.name for panel in panels for one in panel.series}, chance=shares)
    return figure


def _scale(panels: Sequence[DotPanel]) -> tuple[float, float]:
    """Find the ends of an axis that holds all intervals, and a little more."""
    ends = [end for panel in panels for one in panel.series for end in (*one.y, *one.low, *one.high)]
    low, high = (of(end for end in ends if not isnan(end)) for of in (min, max))
    around = 0.05 * (high - low) or 0.5
    return low - around, high + around


def _height(panel: DotPanel) -> float:
    return _AROUND + _LINE_HEIGHT * len(panel.words)


def _columns(panels: Sequence[DotPanel]) -> list[Sequence[DotPanel]]:
    """Split panels, in their order, into two columns of about the same height."""
    splits = range(1, len(panels))
    if not splits:
        return [panels]
    heights = list(map(_height, panels))
    best = min(splits, key=lambda at: max(sum(heights[:at]), sum(heights[at:])))
    return [panels[:best], panels[best:]]


def _draw_panel(axes: Axes, panel: DotPanel, scale: tuple[float, float] | None) -> None:
    for order, one in enumerate(panel.series):
        # A little above each other, so that no interval hides another.
        aside = _APART * ((order + 0.5) / len(panel.series) - 0.5)
        places = [word + aside for word in one.x]
        axes.hlines(places, one.low, one.high, color=colour(one.index), linewidth=1, alpha=0.55)
        axes.plot(one.y, places, marker(one.index), color=colour(one.index), markersize=4, clip_on=False)
    if scale is None:
        axes.axvline(_MIDDLE, color=GREY, linewidth=0.8, linestyle=_LONG_DASHES)
    axes.set_xlim(scale or (0, 1))
    axes.set_ylim(-0.6, len(panel.words) - 0.4)
    axes.set_yticks(range(len(panel.words)), [plain(word)[:LONGEST] for word in panel.words])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    # To the right, since words take room on the left.
    title = "\n".join(plain(line)[: 2 * LONGEST] for line in panel.title)
    axes.set_title(title, loc="right", parse_math=False)


def _explain(figure: Figure, names: dict[int, str], *, chance: bool) -> None:
    """Say below the panels which dot is which model, and which line is chance."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an optional dependency

    dots = [
        (Line2D([], [], color=colour(i), marker=marker(i), markersize=4, linewidth=1), name)
        for i, name in names.items()
    ]
    line = Line2D([], [], color=GREY, linewidth=0.8, linestyle=_LONG_DASHES)
    entries = [*dots, (line, "chance")] if chance else dots
    add_legend(figure, entries, min(len(entries), 4))
