"""One panel of lines, each with its name at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.report.figures import LONGEST, colour, marker, name_lines, new_figure, set_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from tseval.report.figures import LineOf

GAP = 0.055  # least distance of two names, as a share of the axis
HEADROOM = 1.06


def draw_lines(lines: Sequence[LineOf], title: str, x_label: str, y_label: str) -> Figure:
    """Draw shares as lines from 0 upwards, intervals as bands, the names of the models at the ends."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - an optional dependency

    figure = new_figure(6.4, 3.8)
    axes = figure.subplots()
    for line in lines:
        shade, mark = colour(line.index), marker(line.index)
        axes.plot(line.x, line.y, color=shade, marker=mark, markersize=4, linewidth=1.6, clip_on=False)
        axes.fill_between(line.x, line.low, line.high, color=shade, alpha=0.13, linewidth=0)
    set_title(axes, title, 2 * LONGEST)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True))
    highest = max((value for line in lines for value in line.high), default=0.0)
    axes.set_ylim(0, HEADROOM * max(highest, 0.02))
    name_lines(
        axes, [(line.y[-1], line.name, colour(line.index)) for line in lines], GAP * axes.get_ylim()[1]
    )
    return figure
