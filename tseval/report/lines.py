"""One panel of lines, each with its name at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.report.figures import BEHIND, LONGEST, colour, marker, name_lines, new_figure, set_title
from tseval.report.panels import Panel, by_family

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tseval.report.figures import LineOf

GAP = 0.055  # least distance of two names, as a share of the axis
HEADROOM = 1.06


def draw_lines(lines: Sequence[LineOf], title: str, x_label: str, y_label: str) -> Figure:
    """Draw shares as lines from 0 upwards, intervals as bands, the names of the models at the ends.

    Many models stand in panels below each other, a family each.
    """
    panels = [panel for (panel,) in by_family([Panel(title, lines)])]
    figure = new_figure(6.4, 3.8 if len(panels) == 1 else 3.0 * len(panels))
    highest = max((value for line in lines for value in line.high), default=0.0)
    for panel, axes in zip(panels, figure.subplots(len(panels), squeeze=False)[:, 0], strict=True):
        _draw(axes, panel)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_ylim(0, HEADROOM * max(highest, 0.02))
        ends = [(line.end, line.name, line.index) for line in panel.lines if line.end is not None]
        name_lines(axes, ends, GAP)
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - an optional dependency

    for line in panel.behind:
        axes.plot(line.x, line.y, color=BEHIND, linewidth=1, zorder=1)
    for line in panel.lines:
        shade, mark = colour(line.index), marker(line.index)
        axes.plot(line.x, line.y, color=shade, marker=mark, markersize=4, linewidth=1.6, clip_on=False)
        axes.fill_between(line.x, line.low, line.high, color=shade, alpha=0.13, linewidth=0)
    set_title(axes, panel.full_title, 2 * LONGEST)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True))
