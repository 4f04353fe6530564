"""Panels of lines, 0 to 1 upwards, one line a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tseval.report.families import in_families
from tseval.report.figures import (
    BEHIND,
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
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tseval.report.figures import LineOf

CHANCE = 0.5
DASHED = (0, (4, 3))
BESIDE = 0.03  # of the width of a panel, from one interval to the next, at most
ACROSS = 4  # panels beside each other
LEGEND_LINE, LEGEND_LETTER = 0.65, 0.09  # inches that an entry of the legend takes, and each letter of it
LONG_LABEL_HEIGHT, SMALL_LABEL_HEIGHT = 0.07, 0.1  # of the height of a long panel, and of a small one


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes.

    Attributes:
        title: Above it.
        lines: One per model.
        ticks: Words under the places of the axis, or empty for their numbers.
        family: Which models these are, or empty for all.
        behind: Lines of other models, grey and without names.
    """

    title: str
    lines: Sequence[LineOf]
    ticks: Sequence[str] = ()
    family: str = ""
    behind: Sequence[LineOf] = ()

    @property
    def full_title(self) -> str:
        """The title, after that of the family."""
        return ": ".join(part for part in (self.family, self.title) if part)


def draw_panels(panels: Sequence[Panel], x_label: str, y_label: str) -> Figure:
    """Draw panels of lines, 0 to 1 upwards, with the level of chance.

    Long panels name each line at its end. Small ones share a legend below; for many models they stand in
    rows, each family in its own, whose first row names the lines.
    """
    wide = any(panel.ticks for panel in panels)
    families = by_family(panels)
    named = wide or len(families) > 1
    across = 1 if wide else min(ACROSS, len(panels))
    rows = [own[start : start + across] for own in families for start in range(0, len(own), across)]
    width = 8.4 if wide else 2.3 * across + (2.2 if named else 1.0)
    figure = new_figure(width, (2.9 if wide else 2.2) * len(rows) + 0.9)
    grid = figure.subplots(len(rows), across, squeeze=False, sharey=True)
    for place, row in enumerate(rows):
        below = len(rows[place + 1]) if place + 1 < len(rows) else 0
        for column, axes in enumerate(grid[place]):
            if column >= len(row):
                axes.remove()
                continue
            _draw_panel(axes, row[column])
            set_title(axes, row[column].full_title if wide else row[column].title, 2 * LONGEST)
            if column >= below:
                axes.set_xlabel(x_label)
        family = "" if wide else row[0].family
        grid[place, 0].set_ylabel(f"{family}\n{y_label}" if family else y_label)
        if wide or (named and row[0].family != rows[place - 1][0].family):
            _name(grid[place, len(row) - 1], row[-1], LONG_LABEL_HEIGHT if wide else SMALL_LABEL_HEIGHT)
    if not named:
        _explain(figure, {line.index: line.name for panel in panels for line in panel.lines})
    return figure


def by_family(panels: Sequence[Panel]) -> list[list[Panel]]:
    """Draw each panel once for every family of models, the lines of the others behind.

    Few models stay together, as one family without a name.
    """
    names = dict(sorted({line.index: line.name for panel in panels for line in panel.lines}.items()))
    families = in_families(list(names.values()))
    if len(families) == 1:
        return [list(panels)]
    groups = []
    for family, places in families:
        own = {list(names)[place]: index for index, place in enumerate(places)}
        groups.append([_of_family(panel, family, own) for panel in panels])
    return [[panel for panel in group if panel.lines] for group in groups]


def _of_family(panel: Panel, family: str, own: Mapping[int, int]) -> Panel:
    """Keep some models in front, under other colours."""
    lines = [replace(line, index=own[line.index]) for line in panel.lines if line.index in own]
    behind = [line for line in panel.lines if line.index not in own]
    return replace(panel, lines=lines, family=family, behind=behind)


def _draw_panel(axes: Axes, panel: Panel) -> None:
    places = sorted({value for line in (*panel.lines, *panel.behind) for value in line.x})
    step = min(BESIDE * (places[-1] - places[0] + 1), 0.4 / len(panel.lines))
    middle = (len(panel.lines) - 1) / 2
    for line in panel.behind:
        axes.plot(line.x, line.y, color=BEHIND, linewidth=1, zorder=1)
    for place, line in enumerate(panel.lines):
        # A little to the side of each other, so that no interval hides another.
        x = [value + step * (place - middle) for value in line.x]
        if line.low:
            axes.vlines(x, line.low, line.high, color=colour(line.index), linewidth=1, alpha=0.55)
        shade, mark = colour(line.index), marker(line.index)
        axes.plot(x, line.y, color=shade, marker=mark, markersize=4, linewidth=1.5)
    axes.axhline(CHANCE, color=GREY, linewidth=0.8, linestyle=DASHED)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlim(places[0] - 0.5, places[-1] + 0.5)
    if panel.ticks:
        words = [plain(word)[:LONGEST] for word in panel.ticks]
        axes.set_xticks(range(1, len(words) + 1), words, rotation=40, ha="right")
        for label in axes.get_xticklabels():
            label.set_parse_math(False)
    else:
        axes.set_xticks(places)


def _name(axes: Axes, panel: Panel, height: float) -> None:
    """Write the names at the ends of lines, and that of the level of chance."""
    ends = [(line.end, line.name, line.index) for line in panel.lines if line.end is not None]
    name_lines(axes, [*ends, (CHANCE, "chance", None)], height)


def _explain(figure: Figure, names: dict[int, str]) -> None:
    """Say below the panels which line is which model."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an optional dependency

    entries = [
        (Line2D([], [], color=colour(i), marker=marker(i), markersize=4), name) for i, name in names.items()
    ]
    entries.append((Line2D([], [], color=GREY, linewidth=0.8, linestyle=DASHED), "chance"))
    width = LEGEND_LINE + LEGEND_LETTER * max(len(plain(name)[:LONGEST]) for _, name in entries)
    add_legend(figure, entries, min(len(entries), max(1, int(figure.get_figwidth() / width))))
