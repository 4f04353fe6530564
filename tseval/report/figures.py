"""Figures: panels of lines, bands, bars, dots or scatter; one function draws them all, given a look."""

from __future__ import annotations

import io
import warnings
from statistics import fmean
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import bidirectional

from tseval.errors import TsevalError, plain
from tseval.files import write_whole
from tseval.report.families import by_family
from tseval.report.panels import LONGEST, Axis, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.text import Text

    from tseval.report.looks import Look


FIGURE_ENDINGS = (".svg", ".pdf", ".png")
LONGEST_WORD = 46  # characters of an axis label
# Paul Tol's "muted" colours, which colour-blind people can distinguish, black and grey. The first seven, the
# most in one panel, also differ in lightness, for prints without colours.
COLOURS = (
    "#332288", "#CC6677", "#117733", "#88CCEE", "#882255", "#000000", "#44AA99", "#999933", "#AA4499",
    "#DDCC77", "#777777",
)  # fmt: skip
GREY = "#555555"
BEHIND = "#dedede"  # the lines of models of other families
INK = "#222222"
MARKERS = "osD^vP*X<>p"
CHANCE = 0.5
_CHANCE_LINE: dict[str, Any] = {"color": GREY, "linewidth": 0.8, "linestyle": (0, (4, 3))}
STYLE = {
    "svg.hashsalt": "tseval",  # otherwise, identifiers in an SVG are random
    "font.size": 9,
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


def check_figure_names(paths: Sequence[Path], error: type[TsevalError]) -> None:
    """Raise an error for file names of other formats, before anything is computed."""
    for path in paths:
        if path.suffix.lower() not in FIGURE_ENDINGS:
            raise error(
                f"{path}: a file with a figure cannot have this name. Choose a name that ends in "
                f"{' or '.join(FIGURE_ENDINGS)}"
            )


def write_figure(
    panels: Sequence[Panel], look: Look, paths: Sequence[Path], error: type[TsevalError]
) -> None:
    """Draw panels into SVG, PDF or PNG files, by their endings. The same panels give the same file."""
    check_figure_names(paths, error)
    try:
        from matplotlib import rcParams, style  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise error(
            "to draw figures, tseval needs the package matplotlib, which is not installed. To "
            'install it: pip install "tseval[plots]"'
        ) from None
    with style.context(["default", {**STYLE, "font.size": look.text_size}]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about characters that are missing in the font
        figure = draw(panels, look)
        rcParams["svg.fonttype"] = "path" if _is_drawable(figure) else "none"
        for path in paths:
            buffer, kind = io.BytesIO(), path.suffix.lower()[1:]
            undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
            figure.savefig(buffer, format=kind, dpi=160, metadata=undated)
            write_whole(path, buffer.getbuffer())


def _is_drawable(figure: Figure) -> bool:
    """Return whether all text can be drawn as paths; otherwise the viewer of an SVG must render it.

    The font has no Chinese characters, for example, and matplotlib before 3.11 reverses Hebrew and Arabic.
    """
    from matplotlib.font_manager import FontProperties, findfont, get_font  # noqa: PLC0415 - an optional dependency
    from matplotlib.text import Text  # noqa: PLC0415 - an optional dependency

    font = get_font(findfont(FontProperties()))
    letters = {letter for text in figure.findobj(Text) for letter in text.get_text()} - {"\n"}
    return all(
        font.get_char_index(ord(character)) and bidirectional(character) not in {"R", "AL"}
        for character in letters
    )


def _sign(index: int) -> dict[str, Any]:
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}


NAMES = 1.2  # inches for names next to panels, instead of a legend
BAR_GROUP, BAR, BETWEEN_GROUPS = 0.8, 0.13, 0.2  # share of its space that a group fills; inches
NARROWEST, WIDEST = 5.0, 14.0  # inches, for a panel of bars
UPRIGHT, TURNED = 2.9, 4.2  # inches of a panel of bars with its words
SHORT = 9  # characters of a label that is not rotated
DOT_WIDTH, DOT_LINE, DOT_TITLE = 4.6, 0.19, 0.85  # inches of a panel, of a label, of title and axis together
SHORT_DOT_TITLE = 0.3  # inches of a title if there is no axis below the panel
DOT_STEP, LETTER_LINE = 0.07, 0.16  # inches per model in a line of dots, and per line of letters
DOT_SPREAD = 0.5  # of a line's height, for all models together
LINE_STEP, LINE_SPREAD = 0.03, 0.4  # offset between models, as a share of the panel's width; its maximum
LEGEND_LINE, LEGEND_LETTER = 0.65, 0.09  # inches per legend entry, and per letter of it
STROKES: Mapping[str, Any] = {  # of intervals
    "line": {"linewidth": 1, "alpha": 0.55},
    "dot": {"linewidth": 1, "alpha": 0.55},
    "bar": {"linewidth": 1, "color": GREY},
    "scatter": {"linewidth": 0.6, "alpha": 0.4},
}
SEED_POINTS: Mapping[str, Any] = {
    "linestyle": "", "markersize": 3, "markerfacecolor": "none", "markeredgewidth": 0.6, "alpha": 0.8,
    "clip_on": False,
}  # fmt: skip
MANY_DOTS = 300  # above this number, dots are smaller and more transparent


def draw(panels: Sequence[Panel], look: Look) -> Figure:
    """Draw panels; many models are split by family, with the lines of other families in grey."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional dependency

    groups = by_family(panels) if look.families else [list(panels)]
    in_rows = look.legend == "below" and len(groups) > 1  # separate rows for each family, without a legend
    blocks = _blocks(groups, look)
    sizes = [[_size(row[0], look) for row in rows] for rows in blocks]
    heights = [[height for _, height in row_heights] for row_heights in sizes]
    height = max(map(sum, heights)) if look.mark == "dot" else sum(map(sum, heights))
    n_across = len(blocks) if look.mark == "dot" else max(map(len, blocks[0]))
    width = (
        n_across * max(width for row_heights in sizes for width, _ in row_heights)
        + look.margin[0]
        + NAMES * in_rows
    )
    figure = Figure((width, height + look.margin[1]), layout="constrained")
    parts: Sequence[Figure | SubFigure] = [figure]
    if look.mark in ("bar", "dot"):
        n_rows, n_columns = (len(blocks), 1) if look.mark == "bar" else (1, len(blocks))
        parts = figure.subfigures(n_rows, n_columns, squeeze=False).flatten().tolist()
    for part, rows, row_heights in zip(parts, blocks, heights, strict=True):
        if look.mark == "dot" and height - sum(row_heights) > 0.01:
            rows.append([])  # an empty row fills the shorter column
            row_heights.append(height - sum(row_heights))
        grid = part.subplots(
            len(rows), max(map(len, rows)), squeeze=False,
            height_ratios=row_heights if look.mark == "dot" else None,
            sharex="x" in look.shared, sharey="y" in look.shared,
        )  # fmt: skip
        for index, (row, line) in enumerate(zip(rows, grid, strict=True)):
            n_below = len(rows[index + 1]) if index + 1 < len(rows) else 0
            for axes in line[len(row) :]:
                axes.remove()
            for column, (panel, axes) in enumerate(zip(row, line, strict=False)):
                _draw_panel(axes, panel, look)
                horizontal, vertical = _sides(panel, look)
                if column >= n_below or "x" not in look.edges:
                    axes.set_xlabel(horizontal.label)
                    axes.tick_params(labelbottom=True)
                if column == 0 or "y" not in look.edges:
                    axes.set_ylabel(f"{panel.family}\n{vertical.label}" if in_rows else vertical.label)
                first = index == 0 or rows[index - 1][0].family != panel.family
                if look.legend == "ends" or (in_rows and first and panel is row[-1]):
                    _name_ends(axes, panel, look)
        if look.legend == "each":
            _explain(part, rows[0], look)
    if look.legend != "each" and not in_rows:
        _explain(figure, panels if look.legend == "below" else [], look)
    return figure


def _blocks(groups: Sequence[Sequence[Panel]], look: Look) -> list[list[Sequence[Panel]]]:
    """Arrange panels in rows; each family of bars, and each of two columns of dots, is a separate block."""
    if look.mark == "bar":
        return [[group] for group in groups]
    rows = [group[i : i + look.across] for group in groups for i in range(0, len(group), look.across)]
    if look.mark != "dot" or len(rows) == 1:
        return [rows]
    heights = [_size(row[0], look)[1] for row in rows]
    if sum(heights) <= look.tallest:
        return [rows]
    i = min(range(1, len(rows)), key=lambda i: max(sum(heights[:i]), sum(heights[i:])))
    return [rows[:i], rows[i:]]


def _size(panel: Panel, look: Look) -> tuple[float, float]:
    if look.mark == "dot":
        title = SHORT_DOT_TITLE if "x" in look.shared else DOT_TITLE  # shared: no numbers below each panel
        n_lines = max((len(_broken(word, look)) for word in panel.words), default=1)
        step = DOT_STEP * len(panel.series) if look.letters else 0
        line = max(DOT_LINE, step, LETTER_LINE * n_lines if n_lines > 1 else 0)
        return look.size[0] or DOT_WIDTH, title + line * len(panel.words)
    if look.mark == "bar":
        group = BETWEEN_GROUPS + BAR * len(panel.series)
        width = min(max(0.9 + len(panel.words) * group, NARROWEST), WIDEST)
        return width, TURNED if _is_turned(panel, look) else UPRIGHT
    return look.size


def _draw_panel(axes: Axes, panel: Panel, look: Look) -> None:
    for curve in panel.behind if look.mark in ("line", "band") else ():
        axes.plot(curve.x, curve.y, color=BEHIND, linewidth=1, zorder=1)
    positions = sorted({position for curve in (*panel.series, *panel.behind) for position in curve.x})
    spread = {"bar": BAR_GROUP, "dot": DOT_SPREAD}.get(look.mark, 0.0)
    if look.mark == "line":
        spread = min(LINE_STEP * (positions[-1] - positions[0] + 1) * len(panel.series), LINE_SPREAD)
    for order, curve in enumerate(panel.series):
        # Small offsets, so that intervals do not hide each other.
        offset = spread * ((order + 0.5) / len(panel.series) - 0.5)
        if look.mark == "dot":  # dots are placed from the bottom, and the first model is at the top
            offset = -offset
        _draw_series(axes, curve, [position + offset for position in curve.x], panel, look)
    if look.chance:
        (axes.axvline if look.mark == "dot" else axes.axhline)(CHANCE, **_CHANCE_LINE)
    horizontal, vertical = _sides(panel, look)
    _set_scale(axes, "x", horizontal)
    _set_scale(axes, "y", vertical)
    if panel.words:
        _write_words(axes, panel, look)
    elif look.mark == "line":
        axes.set_xticks(positions)
    if look.mark == "line":
        axes.set_xlim(positions[0] - 0.5, positions[-1] + 0.5)
    family = "" if look.legend == "below" else panel.family  # otherwise the row shows it
    title = ": ".join(part for part in (family, panel.title) if part)
    lines = [plain(line)[: 2 * LONGEST] for line in (title, panel.subtitle) if line]
    # The title of dots is at the right, because labels need space on the left.
    side: Literal["right"] | None = "right" if look.mark == "dot" else None
    axes.set_title("\n".join(lines), loc=side, fontsize=look.title_size, parse_math=False)


def _sides(panel: Panel, look: Look) -> tuple[Axis, Axis]:
    """Return the horizontal and the vertical axis of a panel; dots have their labels on the vertical axis."""
    return (panel.y, panel.x) if look.mark == "dot" else (panel.x, panel.y)


def _draw_series(axes: Axes, values: Series, positions: Sequence[float], panel: Panel, look: Look) -> None:
    sign, low, high = _sign(values.index), values.low, values.high
    shade = sign["color"]
    if look.mark == "bar":
        width = 0.86 * BAR_GROUP / len(panel.series)
        axes.bar(positions, values.y, width=width, color=shade, alpha=0.55, linewidth=0)
    if values.low and look.mark == "band":
        axes.fill_between(positions, low, high, color=shade, alpha=0.13, linewidth=0)
    elif values.low:
        strokes = axes.hlines if look.mark == "dot" else axes.vlines
        strokes(positions, low, high, **{"color": shade} | STROKES[look.mark])
    if look.mark == "scatter":
        size, alpha = (14, 0.75) if len(positions) <= MANY_DOTS else (5, 0.4)
        axes.scatter(positions, values.y, s=size, color=shade, alpha=alpha, linewidths=0)
        return
    line: dict[str, Any] = {"linewidth": look.stroke, "clip_on": look.clip}
    if look.mark in ("bar", "dot"):
        line = {"linestyle": "", "clip_on": False}
    x, y = (values.y, positions) if look.mark == "dot" else (positions, values.y)
    axes.plot(x, y, **sign | {"markersize": look.marker} | line | dict(values.style))
    if values.points:
        offset = positions[0] - values.x[0] if positions else 0.0
        places, seeds = zip(*values.points, strict=True)
        heights = [place + offset for place in places]
        x, y = (seeds, heights) if look.mark == "dot" else (heights, seeds)
        axes.plot(x, y, **{**sign, **SEED_POINTS})
    if panel.rings:
        axes.plot(x[-1:], y[-1:], "o", markersize=9, fillstyle="none", color=shade)


def _set_scale(axes: Axes, side: Literal["x", "y"], axis: Axis) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, ScalarFormatter  # noqa: PLC0415 - an optional dependency

    of_side = axes.xaxis if side == "x" else axes.yaxis
    if axis.log_from is not None:
        settings = {"value": "symlog", "linthresh": axis.log_from} if axis.log_from else {"value": "log"}
        getattr(axes, f"set_{side}scale")(**settings)
    elif axis.most:
        of_side.set_major_locator(MaxNLocator(nbins=axis.most, integer=True))
    low, high = axis.limits
    if low is None and high is not None:
        high = min(high, of_side.get_view_interval()[1])
    if axis.limits != (None, None):  # otherwise, later panels could not widen a shared axis
        axes.set(**{f"{side}lim": (low, high)})
    if axis.falling:
        of_side.set_inverted(True)
    if axis.in_full:
        low, high = of_side.get_view_interval()
        of_side.set_major_locator(LogLocator(subs=(1, 2, 5) if high > 20 * low else (1, 1.5, 2, 3, 5, 7)))
        of_side.set_major_formatter(ScalarFormatter())
        of_side.set_minor_formatter(NullFormatter())


def _write_words(axes: Axes, panel: Panel, look: Look) -> None:
    words = ["\n".join(_broken(word, look)) for word in panel.words]
    positions = range(1, len(words) + 1)
    if look.mark == "dot":
        axes.set_yticks(positions, words)
        axes.set_ylim(0.4, len(words) + 0.6)
    else:
        axes.set_xticks(positions, words)
    if look.mark == "bar":
        axes.set_xlim(0.5, len(words) + 0.5)
        axes.grid(visible=False, axis="x")
    rotation = {"rotation": 38, "ha": "right", "rotation_mode": "anchor"} if _is_turned(panel, look) else {}
    for label in axes.get_yticklabels() if look.mark == "dot" else axes.get_xticklabels():
        label.set(parse_math=False, **rotation)


def _broken(word: str, look: Look) -> list[str]:
    """Return the lines of an axis label, broken at spaces and underscores."""
    if not look.letters:
        return [plain(word)[:LONGEST_WORD]]
    lines = wrap(plain(word).replace("_", "_ "), look.letters)
    return [line.replace("_ ", "_") for line in lines] or [""]


def _is_turned(panel: Panel, look: Look) -> bool:
    return look.mark == "line" or (look.mark == "bar" and any(len(word) > SHORT for word in panel.words))


def _explain(part: Figure | SubFigure, panels: Sequence[Panel], look: Look) -> None:
    """Draw a legend of models and other keys below panels."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an optional dependency

    names = {line.index: line.name for panel in panels for line in panel.series if line.name}
    entries: list[tuple[Mapping[str, Any], str]] = [
        (_sign(index) | {"markersize": 4}, name) for index, name in sorted(names.items())
    ]
    entries += look.keys
    if any(line.points for panel in panels for line in panel.series):
        entries.append(({**SEED_POINTS, "color": GREY, "marker": "o"}, "one seed"))
    if look.chance and panels:
        entries.append((_CHANCE_LINE, "chance"))
    if not entries:
        return
    room = part.bbox.width / part.figure.dpi
    entry = LEGEND_LINE + LEGEND_LETTER * max(len(plain(name)[:LONGEST]) for _, name in entries)
    legend = part.legend(
        [Line2D([], [], **style) for style, _ in entries], ["" for _ in entries], loc="outside lower center",
        ncols=min(len(entries), look.columns or max(1, int(room / entry))),
        handlelength=2.6 if look.keys else 2,  # long enough to show dashes
    )  # fmt: skip
    for text, (_, name) in zip(legend.get_texts(), entries, strict=True):
        _write(text, name)


def _name_ends(axes: Axes, panel: Panel, look: Look) -> None:
    """Write names to the right of axes whose limits are set, each at the end of its line, without overlaps.

    The marker of a line precedes its name, so that lines can be distinguished without colours.
    """
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415 - an optional dependency

    lines = [(line.end, line.name, line.index) for line in panel.series if line.name and line.end is not None]
    ends: list[tuple[float, str, int | None]] = [*lines, *[(CHANCE, "chance", None)] * look.chance]
    transform = axes.get_yaxis_transform() + ScaledTranslation(8 / 72, 0, axes.figure.dpi_scale_trans)
    scale = axes.yaxis.get_transform()
    low, high = (float(end) for end in scale.transform(axes.get_ylim()))
    ends.sort(key=lambda end: end[:2])
    heights = [min(max(float(scale.transform(end[0])), low), high) for end in ends]
    for height, (_, name, index) in zip(_spaced(heights, look.gap, (low, high)), ends, strict=True):
        y = float(scale.inverted().transform(height))
        if index is not None:
            axes.scatter([1.0], [y], s=18, transform=transform, clip_on=False, zorder=3, **_sign(index))
        text = axes.annotate(
            "", (1.0, y), xycoords=("axes fraction", "data"), xytext=(6 if index is None else 14, 0),
            textcoords="offset points", va="center", color=INK, annotation_clip=False,
        )  # fmt: skip
        _write(text, name)


def _write(text: Text, name: str) -> None:
    # Set afterwards: a legend ignores labels that begin with `_`. `$` would start a formula.
    text.set_parse_math(False)
    text.set_text(plain(name)[:LONGEST])


def _spaced(heights: Sequence[float], gap: float, limits: tuple[float, float]) -> list[float]:
    """Move ascending heights apart by at least `gap`, around their common middle, within the limits."""
    low, high = limits
    gaps = [index * gap * (high - low) for index in range(len(heights))]
    groups: list[list[float]] = []
    for height, space in zip(heights, gaps, strict=True):
        group = [height - space]
        while groups and fmean(groups[-1]) > fmean(group):
            group = [*groups.pop(), *group]
        groups.append(group)
    moves = [fmean(group) - member for group in groups for member in group]
    spaced = [
        max(height + move, low + space) for height, move, space in zip(heights, moves, gaps, strict=True)
    ]
    return [min(height, high - space) for height, space in zip(spaced, reversed(gaps), strict=True)]
