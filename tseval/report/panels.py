"""Panels of lines, 0 to 1 upwards, one line a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.report.figures import (
    GREY,
    LONGEST,
    add_legend,
    colour,
    marker,
    name_lines,
    new_figure,
    set_title,
)  # fmt: skip
from tseval.report.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tseval.report.figures import LineOf

CHANCE = 0.5
DASHED = (0, (4, 3))
BESIDE = 0.03  # of the width of a panel, from one interval to the next, at most
ACROSS = 4  # panels beside each other
LEGEND_LINE, LEGEND_LETTER = 0.65, 0.09  # inches that an entry of the legend takes, and each letter of it
LABEL_HEIGHT = 0.07  # of the height of a long panel


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes.

    Attributes:
        title: Above it.
        lines: One per model.
        ticks: Words under the places of the axis, or empty for their numbers.
    """

    title: str
    lines: Sequence[LineOf]
    ticks: Sequence[str] = ()


def draw_panels(panels: Sequence[Panel], x_label: str, y_label: str) -> Figure:
    """Draw panels of lines, 0 to 1 upwards, with the level of chance.

    Long panels name each line at its end; small ones share a legend below.
    """
    wide = any(panel.ticks for panel in panels)
    across = 1 if wide else min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    figure = new_figure(8.4 if wide else 2.3 * across + 1.0, (2.9 if wide else 2.2) * down + 0.9)
    grid = figure.subplots(down, across, squeeze=False, sharey=True)
    for place, axes in enumerate(grid.flat):
        if place >= len(panels):
            axes.remove()
            continue
        _draw_panel(axes, panels[place])
        if wide:
            ends = [(line.y[-1], line.name, colour(line.index)) for line in panels[place].lines]
            name_lines(axes, [*ends, (CHANCE, "chance", GREY)], LABEL_HEIGHT)
        if place % across == 0:
            axes.set_ylabel(y_label)
        if place + across >= len(panels):
            axes.set_xlabel(x_label)
    if not wide:
        _explain(figure, {line.index: line.name for panel in panels for line in panel.lines})
    return figure


def _draw_panel(axes: Axes, panel: Panel) -> None:
    places = sorted({value for line in panel.lines for value in line.x})
    step = min(BESIDE * (places[-1] - places[0] + 1), 0.4 / len(panel.lines))
    middle = (len(panel.lines) - 1) / 2
    for place, line in enumerate(panel.lines):
        # A little to the side of each other, so that no interval hides another.
        aside = 0.0 if panel.ticks else step * (place - middle)
        x = [value + aside for value in line.x]
        if line.low:
            axes.vlines(x, line.low, line.high, color=colour(line.index), linewidth=1, alpha=0.55)
        shade, mark = colour(line.index), marker(line.index)
        axes.plot(x, line.y, color=shade, marker=mark, markersize=4, linewidth=1.5)
    axes.axhline(CHANCE, color=GREY, linewidth=0.8, linestyle=DASHED)
    axes.set_ylim(-0.03, 1.03)
    set_title(axes, panel.title, 2 * LONGEST)
    axes.set_xlim(places[0] - 0.5, places[-1] + 0.5)
    if panel.ticks:
        words = [plain(word)[:LONGEST] for word in panel.ticks]
        axes.set_xticks(range(1, len(words) + 1), words, rotation=40, ha="right")
        for label in axes.get_xticklabels():
            label.set_parse_math(False)
    else:
        axes.set_xticks(places)


def _explain(figure: Figure, names: dict[int, str]) -> None:
    """Say below the panels which line is which model."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an optional dependency

    entries = [
        (Line2D([], [], color=colour(i), marker=marker(i), markersize=4), name) for i, name in names.items()
    ]
    entries.append((Line2D([], [], color=GREY, linewidth=0.8, linestyle=DASHED), "chance"))
    width = LEGEND_LINE + LEGEND_LETTER * max(len(plain(name)[:LONGEST]) for _, name in entries)
    add_legend(figure, entries, min(len(entries), max(1, int(figure.get_figwidth() / width))))
