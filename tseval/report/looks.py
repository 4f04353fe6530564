"""Drawing styles for the panels of a figure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Look:
    """A drawing style of panels.

    Attributes:
        mark: `line`: lines over few positions, with intervals as strokes next to each other; `band`: lines
            with bands; `bar`: groups of bars; `dot`: dots on horizontal lines with labels; `scatter`: a
            scatter plot.
        size: Width and height of a panel in inches; bars and dots compute it from their labels.
        shared: Axes that all panels share: "xy", "y" or "".
        edges: Axes whose labels are only at the edge of the figure, in the same notation.
        legend: The place of names: below the figure, below each panel, at the ends of lines, or nowhere. If
            panels by family have no space for a legend, names are at the ends of lines in the first row.
        columns: Columns of the legend; 0 for as many as fit.
        keys: Other entries of the legend: a matplotlib style and its meaning.
        gap: Least distance between two names at the ends of lines, as a share of the axis.
        clip: Whether lines are clipped at the edge of the axes, for limits that exclude values.
        letters: Letters per line of a label of dots; 0 for labels without line breaks.
        tallest: Inches up to which panels of dots are in one column; higher ones are in two.
        text_size: Font size in points.
    """

    mark: Literal["line", "band", "bar", "dot", "scatter"]
    size: tuple[float, float] = (0, 0)
    margin: tuple[float, float] = (0, 0)
    across: int = 1
    shared: str = ""
    edges: str = ""
    families: bool = True
    legend: Literal["below", "each", "ends", ""] = "below"
    columns: int = 0
    keys: Sequence[tuple[Mapping[str, Any], str]] = ()
    gap: float = 0.1
    chance: bool = False
    marker: float = 4
    stroke: float = 1.5
    clip: bool = True
    title_size: float = 10
    letters: int = 0
    tallest: float = 0
    text_size: float = 9


SMALL_LINES = Look("line", (2.3, 2.2), (1.0, 0.9), across=4, shared="y", edges="xy", chance=True)
LONG_LINES = Look("line", (8.4, 2.9), (0, 0.9), shared="y", edges="xy", legend="ends", gap=0.07, chance=True)
BANDS = Look("band", (6.4, 3.0), (0, 0.8), legend="ends", gap=0.055, stroke=1.6, clip=False)
TRAJECTORIES = Look(
    "band", (2.7, 1.8), (0.5, 0.6), across=4, shared="xy", edges="xy", families=False, columns=4, chance=True,
    marker=2.5, stroke=1.3, title_size=7,
)  # fmt: skip
MASSES = Look(
    "band", (2.3, 2.2), (1.0, 0.9), across=4, shared="y", edges="y", chance=True, marker=3, stroke=1.3,
    title_size=9,
)  # fmt: skip
BARS = Look("bar", legend="each", chance=True, marker=3.5)
COUNT_BARS = replace(BARS, chance=False)
ACCURACY_DOTS = Look("dot", margin=(0, 0.4), families=False, edges="x", columns=4, chance=True)
DOTS = replace(ACCURACY_DOTS, chance=False)
# As wide as one column of a paper; two columns of panels are as wide as a page.
ROW_DOTS = replace(
    ACCURACY_DOTS, size=(3.3, 0), margin=(0, 0.75), shared="x", columns=2, title_size=8, letters=26,
    tallest=8, text_size=8,
)  # fmt: skip
SCATTER = Look("scatter", (3.4, 3.2), (0.4, 0), across=3, shared="y", edges="y", families=False, legend="")
