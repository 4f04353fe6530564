"""How the panels of a figure are drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Look:
    """How panels are drawn.

    Attributes:
        mark: Lines over few places, side by side with their intervals as strokes; lines with bands; groups of
            bars; dots on lines of words, from left to right; or a scatter.
        size: Width and height of a panel in inches; bars and dots take what their words need.
        shared: Axes that all panels have in common: "xy", "y" or "".
        edges: Axes whose labels stand only at the edge of the figure, likewise.
        legend: Where names stand: below the figure; below each panel; at the ends of lines; or nowhere.
            Where panels by family have no room for a legend, names stand at the ends in their first row.
        columns: Of the legend; 0 for as many as there is room for.
        keys: What the legend says besides: a style in matplotlib's terms, and what it means.
        gap: Least distance of two names at the ends of lines, as a share of the axis.
        clip: Whether lines are cut at the edge of the axes, as where a limit leaves values out.
        letters: Letters of a word of dots in one line; 0 for words that are never broken.
        tallest: Inches up to which panels of dots stand in one column; higher ones stand in two.
        text_size: Size of letters in points.
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
