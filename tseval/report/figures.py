"""Figures: one look for all of them, their legends and names, written as SVG or PNG.

matplotlib, an optional dependency, is imported by what draws alone, and only when it draws.
"""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING
from unicodedata import bidirectional

from tseval.files import write_whole
from tseval.report.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    from tseval.errors import TsevalError

FIGURE_ENDINGS = (".svg", ".png")
LONGEST = 40  # characters of a model's name
# Paul Tol's "muted" colours, told apart with any colour vision, black and grey. The first seven, as many
# as stand in one panel, differ in lightness too, for whoever prints without colours.
COLOURS = (
    "#332288", "#CC6677", "#117733", "#88CCEE", "#882255", "#000000", "#44AA99", "#999933", "#AA4499",
    "#DDCC77", "#777777",
)  # fmt: skip
GREY = "#555555"
BEHIND = "#dedede"  # of the models of other families
INK = "#222222"
MARKERS = "osD^vP*X<>p"
STYLE = {
    "svg.hashsalt": "tseval",  # names inside an SVG are random otherwise
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "grid.color": "#e5e5e5",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.solid_capstyle": "round",
}


@dataclass(frozen=True, slots=True)
class LineOf:
    """The values of one model in a panel.

    Attributes:
        index: Which model; chooses colour and marker.
        name: Its name; text from outside.
        x: Places along the axis.
        y: Values, 0 to 1; not a number where there is none, and the line breaks.
        low: Lower ends of their intervals, or empty.
        high: Upper ends, or empty.
    """

    index: int
    name: str
    x: Sequence[int]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()

    @property
    def end(self) -> float | None:
        """The last value there is."""
        return next((value for value in reversed(self.y) if not isnan(value)), None)


def check_figure_names(paths: Sequence[Path], error: type[TsevalError]) -> None:
    """Refuse figures of other kinds, before anything is computed.

    Raises:
        TsevalError: Of the given kind, if a file has another ending.
    """
    for path in paths:
        if path.suffix.lower() not in FIGURE_ENDINGS:
            raise error(f"{path}: the name of a figure ends in {' or '.join(FIGURE_ENDINGS)}")


def write_figure(draw: Callable[[], Figure], paths: Sequence[Path], error: type[TsevalError]) -> None:
    """Draw a figure into files, SVG or PNG by their names. The same figure gives the same SVG.

    Raises:
        TsevalError: Of the given kind, if matplotlib is not installed, or a file has another ending.
        OSError: If a file cannot be written.
    """
    check_figure_names(paths, error)
    try:
        from matplotlib import rcParams, style  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise error('drawing needs matplotlib: pip install "tseval[plots]"') from None
    with style.context(["default", STYLE]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about letters that the font lacks
        figure = draw()
        rcParams["svg.fonttype"] = "path" if _is_drawable(figure) else "none"
        for path in paths:
            buffer, kind = io.BytesIO(), path.suffix.lower()[1:]
            figure.savefig(buffer, format=kind, dpi=160, metadata={"Date": None} if kind == "svg" else {})
            write_whole(path, buffer.getbuffer())


def _is_drawable(figure: Figure) -> bool:
    """Whether all that is written in a figure can be drawn; what cannot is left to whoever shows an SVG.

    The font lacks letters, of Chinese for one, and matplotlib before 3.11 turns Hebrew and Arabic round.
    """
    from matplotlib.font_manager import FontProperties, findfont, get_font  # noqa: PLC0415 - an optional dependency
    from matplotlib.text import Text  # noqa: PLC0415 - an optional dependency

    font = get_font(findfont(FontProperties()))
    letters = {letter for text in figure.findobj(Text) for letter in text.get_text()} - {"\n"}
    return all(font.get_char_index(ord(one)) and bidirectional(one) not in {"R", "AL"} for one in letters)


def colour(index: int) -> str:
    """Give the colour of the so-manieth model."""
    return COLOURS[index % len(COLOURS)]


def marker(index: int) -> str:
    """Give the marker of the so-manieth model."""
    return MARKERS[index % len(MARKERS)]


def new_figure(width: float, height: float) -> Figure:
    """Begin a figure, in inches."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional dependency

    return Figure(figsize=(width, height), layout="constrained")


def ceiling(curves: Iterable[Sequence[float]], times: float) -> float:
    """Give the height up to which falling curves are worth showing.

    A model may explode at the start and recover; that must not flatten all that follows, here or of others.

    Args:
        curves: Values of each model, at least one each.
        times: So many times the lowest value of a curve is shown of it.
    """
    return max(min(max(values), times * min(values)) for values in curves)


def set_title(axes: Axes, title: str, longest: int = LONGEST) -> None:
    """Write a title that is text from outside."""
    axes.set_title(plain(title)[:longest], parse_math=False)


def add_legend(
    figure: Figure | SubFigure, entries: Sequence[tuple[Line2D, str]], columns: int, stroke: float = 2
) -> None:
    """Say below the panels which line is what; `stroke` is the length of its sample, in letters."""
    lines = [line for line, _ in entries]
    blank = ["" for _ in lines]
    legend = figure.legend(lines, blank, loc="outside lower center", ncols=columns, handlelength=stroke)
    for text, (_, name) in zip(legend.get_texts(), entries, strict=True):
        _write(text, name)


def name_lines(axes: Axes, ends: Sequence[tuple[float, str, int | None]], gap: float) -> None:
    """Write names to the right of the axes, each at the end of its line; none over another.

    Before a name stands the marker of its line, so that lines are told apart without colours too.

    Args:
        axes: Their limits are set.
        ends: Height at which a line ends, its name and which model it is of; None for what is no model's.
        gap: Least distance of two names, as a share of the axis.
    """
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415 - an optional dependency

    beside = axes.get_yaxis_transform() + ScaledTranslation(8 / 72, 0, axes.figure.dpi_scale_trans)
    scale = axes.yaxis.get_transform()
    low, high = (float(end) for end in scale.transform(axes.get_ylim()))
    ends = sorted(ends, key=lambda end: end[:2])
    heights = [min(max(float(scale.transform(end[0])), low), high) for end in ends]
    for height, (_, name, index) in zip(_apart(heights, gap, (low, high)), ends, strict=True):
        place = float(scale.inverted().transform(height))
        if index is not None:
            axes.scatter(
                [1.0], [place], s=18, color=colour(index), marker=marker(index), transform=beside,
                clip_on=False, zorder=3,
            )  # fmt: skip
        text = axes.annotate(
            "", (1.0, place), xycoords=("axes fraction", "data"), xytext=(6 if index is None else 14, 0),
            textcoords="offset points", va="center", color=INK, annotation_clip=False,
        )  # fmt: skip
        _write(text, name)


def _write(text: Text, name: str) -> None:
    # Set afterwards: in a legend a label that begins with `_` would be left out, and `$` starts a formula.
    text.set_parse_math(False)
    text.set_text(plain(name)[:LONGEST])


def _apart(heights: Sequence[float], gap: float, limits: tuple[float, float]) -> list[float]:
    """Move ascending heights apart, those that would meet around their middle; all within the limits."""
    low, high = limits
    gaps = [place * gap * (high - low) for place in range(len(heights))]
    groups: list[list[float]] = []
    for height, space in zip(heights, gaps, strict=True):
        group = [height - space]
        while groups and fmean(groups[-1]) > fmean(group):
            group = [*groups.pop(), *group]
        groups.append(group)
    moves = [fmean(group) - own for group in groups for own in group]
    apart = [
        max(height + move, low + space) for height, move, space in zip(heights, moves, gaps, strict=True)
    ]
    return [min(height, high - space) for height, space in zip(apart, reversed(gaps), strict=True)]
