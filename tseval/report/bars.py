"""Bars beside each other: one group for each label, one bar a model, with its interval and its marker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.report.figures import GREY, LONGEST, add_legend, colour, marker, new_figure, set_title
from tseval.report.panels import Panel, by_family
from tseval.report.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from tseval.report.figures import LineOf

_GROUP = 0.8  # of the room of a label that its bars take
_BAR, _AROUND = 0.13, 0.2  # inches of a bar, and between two groups
_NARROWEST, _WIDEST = 5.0, 14.0  # inches
_UPRIGHT, _TURNED = 2.9, 4.2  # inches of a panel with its labels
_SHORT, _LONGEST_LABEL = 9, 46  # characters of a label that needs not be turned, and of any
_LONG_DASHES = (0, (4, 3))


def draw_bars(panel: Panel, x_label: str, y_label: str, level: float | None = None) -> Figure:
    """Draw groups of bars, a group for each tick of a panel; many models in panels by family.

    Args:
        panel: `x` of its lines is the number of a tick, from 1; a line may lack some.
        x_label: Below each axis.
        y_label: Beside each axis.
        level: Who guesses is here, of shares from 0 to 1; None for counts, on a logarithmic axis.
    """
    panels = [own for (own,) in by_family([panel])]
    most = max(len(own.lines) for own in panels)
    width = min(max(0.9 + len(panel.ticks) * (_AROUND + _BAR * most), _NARROWEST), _WIDEST)
    turned = any(len(tick) > _SHORT for tick in panel.ticks)
    figure = new_figure(width, (_TURNED if turned else _UPRIGHT) * len(panels))
    for own, part in zip(panels, figure.subfigures(len(panels), squeeze=False)[:, 0], strict=True):
        axes = part.subplots()
        _draw(axes, own, level)
        _label(axes, panel.ticks, turned)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        _explain(part, own.lines, level)
    return figure


def _draw(axes: Axes, panel: Panel, level: float | None) -> None:
    wide = _GROUP / len(panel.lines)
    for order, line in enumerate(panel.lines):
        places = [x + wide * (order + 0.5) - _GROUP / 2 for x in line.x]
        shade, mark = colour(line.index), marker(line.index)
        axes.bar(places, line.y, width=0.86 * wide, color=shade, alpha=0.55, linewidth=0)
        if line.low:
            axes.vlines(places, line.low, line.high, color=GREY, linewidth=1)
        axes.plot(places, line.y, mark, color=shade, markersize=3.5, clip_on=False)
    if level is None:
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.8)  # a single one stands above the axis
    else:
        axes.axhline(level, color=GREY, linewidth=0.8, linestyle=_LONG_DASHES)
        axes.set_ylim(0, 1)
    axes.set_xlim(0.5, len(panel.ticks) + 0.5)
    axes.grid(visible=False, axis="x")
    set_title(axes, panel.full_title, 2 * LONGEST)


def _label(axes: Axes, ticks: Sequence[str], turned: bool) -> None:
    words = [plain(tick)[:_LONGEST_LABEL] for tick in ticks]
    axes.set_xticks(range(1, len(words) + 1), words)
    if turned:
        axes.tick_params(axis="x", labelrotation=38)
    for label in axes.get_xticklabels():
        label.set_parse_math(False)
        if turned:
            label.set(ha="right", rotation_mode="anchor")


def _explain(part: SubFigure, lines: Sequence[LineOf], level: float | None) -> None:
    """Say below a panel which bar is which model."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an optional dependency

    entries = [
        (Line2D([], [], color=colour(one.index), marker=marker(one.index), markersize=4), one.name)
        for one in lines
    ]
    if level is not None:
        entries.append((Line2D([], [], color=GREY, linewidth=0.8, linestyle=_LONG_DASHES), "chance"))
    room = part.bbox.width / part.figure.dpi / (0.65 + 0.09 * max(len(name) for _, name in entries))
    add_legend(part, entries, max(1, min(len(entries), int(room))))
