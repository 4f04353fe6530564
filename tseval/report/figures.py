"""Trajectories as small panels: accuracy along a training, one panel for each row of the table."""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass, replace
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING
from unicodedata import bidirectional

from tseval.errors import plain
from tseval.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
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


MOST_TOGETHER = 7  # lines in one panel; so many colours differ in lightness too
UNKNOWN_FAMILY = "Others"
FAMILIES = {
    "Gated": ("gru", "lstm", "ablated-lstm", "onlstm"),
    "Decaying": ("eirnn", "drnn", "sdrnn", "abdrnn", "drnn-cnn"),
}
_FAMILY_OF = {arch: family for family, archs in FAMILIES.items() for arch in archs}
# As a word of the name, in which `-` parts words: `number-lstm-1`. The longest first: `drnn-cnn` is one.
_KNOWN = re.compile(
    rf"(?<![^\W_])({'|'.join(sorted(_FAMILY_OF, key=len, reverse=True))})(?![^\W\d_])", re.IGNORECASE
)


_SEED = re.compile(r"(?<=.)-seed\d+$")


def without_seed(name: str) -> str:
    """Name what models have in common that differ in their seed.

    >>> without_seed("lstm-16-seed2"), without_seed("lstm-16")
    ('lstm-16', 'lstm-16')
    """
    return _SEED.sub("", name)


def family_of(name: str) -> str:
    """Give the family of a model by the architecture in its name.

    >>> family_of("number-LSTM-2"), family_of("drnn-cnn"), family_of("gpt2")
    ('Gated', 'Decaying', 'Others')
    """
    found = _KNOWN.search(name)
    return _FAMILY_OF[found[1].lower()] if found else UNKNOWN_FAMILY


def in_families(names: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Part models into families, where they are too many for one panel.

    Args:
        names: Of all models; text from outside.

    Returns:
        The title of each family and the places of its models, at most `MOST_TOGETHER`: a larger family comes
        in parts. One family without a title where the models are few.
    """
    if len(names) <= MOST_TOGETHER:
        return [("", list(range(len(names))))]
    families: dict[str, list[int]] = {family: [] for family in (*FAMILIES, UNKNOWN_FAMILY)}
    for place, name in enumerate(names):
        families[family_of(name)].append(place)
    parts = []
    for family, places in families.items():
        n_parts = -(-len(places) // MOST_TOGETHER)
        for part in range(n_parts):
            own = places[part * len(places) // n_parts : (part + 1) * len(places) // n_parts]
            parts.append((f"{family} {part + 1}" if n_parts > 1 else family, own))
    return parts


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
        _draw_bars(axes, own, level)
        _label(axes, panel.ticks, turned)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        _explain_bars(part, own.lines, level)
    return figure


def _draw_bars(axes: Axes, panel: Panel, level: float | None) -> None:
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


def _explain_bars(part: SubFigure, lines: Sequence[LineOf], level: float | None) -> None:
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


_WIDTH = 4.6  # inches of a panel
_LINE_HEIGHT = 0.19  # inches that a word takes
_AROUND_dots = 0.85  # inches for the title of a panel and its axis
_APART = 0.5  # of a line: how far the dots of all models of a word are spread
_MIDDLE = 0.5
_LONG_DASHES_dots = (0, (4, 3))


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
            _draw_panel_dots(axes, panel, scale)
        grid.flat[len(column) - 1].set_xlabel(x_label)
        for axes in grid.flat[len(column) :]:
            axes.set_axis_off()
    _explain_dots(figure, {one.index: one.name for panel in panels for one in panel.series}, chance=shares)
    return figure


def _scale(panels: Sequence[DotPanel]) -> tuple[float, float]:
    """Find the ends of an axis that holds all intervals, and a little more."""
    ends = [end for panel in panels for one in panel.series for end in (*one.y, *one.low, *one.high)]
    low, high = (of(end for end in ends if not isnan(end)) for of in (min, max))
    around = 0.05 * (high - low) or 0.5
    return low - around, high + around


def _height(panel: DotPanel) -> float:
    return _AROUND_dots + _LINE_HEIGHT * len(panel.words)


def _columns(panels: Sequence[DotPanel]) -> list[Sequence[DotPanel]]:
    """Split panels, in their order, into two columns of about the same height."""
    splits = range(1, len(panels))
    if not splits:
        return [panels]
    heights = list(map(_height, panels))
    best = min(splits, key=lambda at: max(sum(heights[:at]), sum(heights[at:])))
    return [panels[:best], panels[best:]]


def _draw_panel_dots(axes: Axes, panel: DotPanel, scale: tuple[float, float] | None) -> None:
    for order, one in enumerate(panel.series):
        # A little above each other, so that no interval hides another.
        aside = _APART * ((order + 0.5) / len(panel.series) - 0.5)
        places = [word + aside for word in one.x]
        axes.hlines(places, one.low, one.high, color=colour(one.index), linewidth=1, alpha=0.55)
        axes.plot(one.y, places, marker(one.index), color=colour(one.index), markersize=4, clip_on=False)
    if scale is None:
        axes.axvline(_MIDDLE, color=GREY, linewidth=0.8, linestyle=_LONG_DASHES_dots)
    axes.set_xlim(scale or (0, 1))
    axes.set_ylim(-0.6, len(panel.words) - 0.4)
    axes.set_yticks(range(len(panel.words)), [plain(word)[:LONGEST] for word in panel.words])
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    # To the right, since words take room on the left.
    title = "\n".join(plain(line)[: 2 * LONGEST] for line in panel.title)
    axes.set_title(title, loc="right", parse_math=False)


def _explain_dots(figure: Figure, names: dict[int, str], *, chance: bool) -> None:
    """Say below the panels which dot is which model, and which line is chance."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an optional dependency

    dots = [
        (Line2D([], [], color=colour(i), marker=marker(i), markersize=4, linewidth=1), name)
        for i, name in names.items()
    ]
    line = Line2D([], [], color=GREY, linewidth=0.8, linestyle=_LONG_DASHES_dots)
    entries = [*dots, (line, "chance")] if chance else dots
    add_legend(figure, entries, min(len(entries), 4))


_WIDTH_scatter, _HEIGHT = 3.4, 3.2  # inches of a panel
_ACROSS = 3  # panels beside each other
_MANY = 300  # of more dots each is smaller and lets others through


@dataclass(frozen=True, slots=True)
class ScatterPanel:
    """One set of axes.

    Attributes:
        name: Of the model, above it; text from outside.
        said: What stands behind the name.
        x: Of each sentence, its score.
        y: Its rating.
        errors: The standard error of that, 0 where it is not known.
    """

    name: str
    said: str
    x: Sequence[float]
    y: Sequence[float]
    errors: Sequence[float]


def draw_scatter(panels: Sequence[ScatterPanel], x_label: str, y_label: str) -> Figure:
    """Draw one panel for each model, over one axis of ratings; standard errors as thin lines."""
    across = min(_ACROSS, len(panels))
    down = -(-len(panels) // across)
    figure = new_figure(_WIDTH_scatter * across + 0.4, _HEIGHT * down)
    grid = figure.subplots(down, across, squeeze=False, sharey=True)
    for place, axes in enumerate(grid.flat):
        if place >= len(panels):
            axes.remove()
            continue
        panel, shade = panels[place], colour(place)
        size, alpha = (14, 0.75) if len(panel.x) <= _MANY else (5, 0.4)
        if any(panel.errors):
            low, high = (
                [y + sign * e for y, e in zip(panel.y, panel.errors, strict=True)] for sign in (-1, 1)
            )
            axes.vlines(panel.x, low, high, color=shade, linewidth=0.6, alpha=0.4)
        axes.scatter(panel.x, panel.y, s=size, color=shade, alpha=alpha, linewidths=0)
        set_title(axes, f"{plain(panel.name)[:LONGEST]}{panel.said}", 2 * LONGEST)
        axes.set_xlabel(x_label)
        if place % across == 0:
            axes.set_ylabel(y_label)
    return figure


_ACROSS_trajectory_figure = 4
_WIDTH_trajectory_figure, _HEIGHT_trajectory_figure = 2.7, 1.8  # inches of a panel
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
    across = min(_ACROSS_trajectory_figure, len(panels))
    down = -(-len(panels) // across)
    figure = new_figure(_WIDTH_trajectory_figure * across + 0.5, _HEIGHT_trajectory_figure * down + 0.6)
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    for place, axes in enumerate(grid.flat):
        if place >= len(panels):
            axes.remove()
            continue
        title, lines = panels[place]
        _draw_trajectory_figure(axes, lines)
        axes.set_title("\n".join(plain(line)[: LONGEST + 5] for line in title), fontsize=7, parse_math=False)
        if place + across >= len(panels):  # nothing below it, not even in a shorter last row
            axes.set_xlabel(x_label)
            axes.tick_params(labelbottom=True)
        if place % across == 0:
            axes.set_ylabel("accuracy")
    _explain_trajectory_figure(figure, panels[0][1])
    return figure


def _draw_trajectory_figure(axes: Axes, lines: Sequence[LineOf]) -> None:
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


def _explain_trajectory_figure(figure: Figure, lines: Sequence[LineOf]) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an optional dependency

    entries = [
        (Line2D([], [], color=colour(line.index), marker=marker(line.index), markersize=4), line.name)
        for line in lines
    ]
    entries.append((Line2D([], [], color=GREY, linewidth=0.8, linestyle=_DASHES), "chance"))
    add_legend(figure, entries, min(len(entries), 4))
