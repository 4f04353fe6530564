"""Trajectories as small panels: accuracy along a training, one panel for each row of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.report.figures import GREY, LONGEST, add_legend, colour, marker, new_figure
from tseval.report.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tseval.report.figures import LineOf

_ACROSS = 4
_WIDTH, _HEIGHT = 2.7, 1.8  # inches of a panel
_CHANCE = 0.5
_DASHES = (0, (4, 3))
_UNEVEN = (
    8  # half of the moments lie in this part of the training: checkpoints that were saved ever less often
)


def draw_trajectories(panels: Sequence[tuple[tuple[str, str], Sequence[LineOf]]], x_label: str) -> Figure:
    """Draw accuracy from 0 to 1 with its interval as a band, and the level of chance.

    Where most moments lie at the start, as where steps double, the axis is logarithmic but for its start.

    Args:
        panels: Two lines of title, text from outside, and a line for each training.
        x_label: What is along the axis.
    """
    across = min(_ACROSS, len(panels))
    down = -(-len(panels) // across)
    figure = new_figure(_WIDTH * across + 0.5, _HEIGHT * down + 0.6)
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for place, axes in enumerate(grid.flat):
        if place >= len(panels):
            axes.remove()
            continue
        title, lines = panels[place]
        _draw(axes, lines)
        axes.set_title("\n".join(plain(line)[: LONGEST + 5] for line in title), fontsize=7, parse_math=False)
        if place + across >= len(panels):  # nothing below it, not even in a shorter last row
            axes.set_xlabel(x_label)
            axes.tick_params(labelbottom=True)
        if place % across == 0:
            axes.set_ylabel("accuracy")
    _explain(figure, panels[0][1])
    return figure


def _draw(axes: Axes, lines: Sequence[LineOf]) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - an optional dependency

    for line in lines:
        shade = colour(line.index)
        axes.fill_between(line.x, line.low, line.high, color=shade, alpha=0.15, linewidth=0)
        axes.plot(line.x, line.y, color=shade, marker=marker(line.index), markersize=2.5, linewidth=1.3)
    axes.axhline(_CHANCE, color=GREY, linewidth=0.8, linestyle=_DASHES)
    axes.set_ylim(-0.03, 1.03)
    moments = sorted({moment for line in lines for moment in line.x})
    if _UNEVEN * moments[len(moments) // 2] < moments[-1]:
        axes.set_xscale("symlog", linthresh=next(moment for moment in moments if moment))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))


def _explain(figure: Figure, lines: Sequence[LineOf]) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an optional dependency

    entries = [
        (Line2D([], [], color=colour(line.index), marker=marker(line.index), markersize=4), line.name)
        for line in lines
    ]
    entries.append((Line2D([], [], color=GREY, linewidth=0.8, linestyle=_DASHES), "chance"))
    add_legend(figure, entries, min(len(entries), 4))
