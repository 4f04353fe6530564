"""Documents: what readers see of tables and analyses; as Markdown, CSV, JSON, LaTeX, and on a terminal."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import zip_longest
from math import ceil, floor, isnan, trunc
from typing import TYPE_CHECKING, Literal, cast

import pandas as pd
from tabulate import tabulate
from wcwidth import wcswidth

from tseval.analysis.intervals import confidence_percent
from tseval.errors import as_html, plain

if TYPE_CHECKING:
    from tseval.formats import Json


NONE = "–"
# A run has thousands of items to a row, a paper two decimals.
RUN_DECIMALS = 3


def format_count(count: int) -> str:
    """Show a count."""
    return f"{count:,}"


def format_share(value: Fraction | float, decimals: int = RUN_DECIMALS) -> str:
    """Show a share, truncated to some decimals."""
    scale = 10**decimals
    # As a float, a share of whole numbers may lie a rounding error below its decimals: 0.29 * 1000 < 290.
    scaled = value * scale if isinstance(value, Fraction) else round(value * scale, 6)
    return f"{floor(scaled) / scale:.{decimals}f}"


def format_n_eff(n_eff: float, *, fixed: bool = False) -> str:
    """Show an effective sample size; a mark says that a factor has too few entries."""
    if isnan(n_eff):
        return NONE
    return (format_count(round(n_eff)) if n_eff >= 0.5 else "< 1") + ("†" if fixed else "")


def format_interval(ends: tuple[float, float], decimals: int = RUN_DECIMALS) -> str:
    """Show an interval, cut outwards, so that it holds the accuracy shown beside it."""
    low, high = ends
    if isnan(low):
        return NONE
    scale = 10**decimals
    return f"{floor(low * scale) / scale:.{decimals}f} to {ceil(high * scale) / scale:.{decimals}f}"


def format_rank_set(rank: Fraction, low: int, high: int) -> str:
    """Show a rank with the ranks that it may be: `2 [1–4]`."""
    return f"{int(rank)} [{low}]" if low == high else f"{int(rank)} [{low}–{high}]"


def format_difference(value: float) -> str:
    """Show a difference of shares with its sign, cut towards 0."""
    scale = 10**RUN_DECIMALS
    # As for a share, what lies a rounding error below its decimals is not cut.
    parts = trunc(round(value * scale, 6))
    return f"{parts / scale:+.{RUN_DECIMALS}f}" if parts else f"{0:.{RUN_DECIMALS}f}"


def format_correlation(value: float) -> str:
    """Show a correlation, cut towards 0."""
    return format_difference(value).removeprefix("+")


def spread_beside(mean: str, spread: str) -> str:
    """Show a mean over seeds with the spread between them.

    >>> spread_beside("0.652", "0.013")
    '0.652 ± 0.013'
    """
    return f"{mean} ± {spread}"


def format_mean_rank(value: Fraction) -> str:
    """Show a mean rank as Bhatt et al. 2020 do: cut to two decimals, no zeros at the end."""
    return format_share(value, 2).rstrip("0").rstrip(".")


def format_probability(p: float) -> str:
    """Show the outcome of a test."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


# The heading of a column of intervals; the confidence level takes the place of the braces when it is printed.
INTERVAL_HEADING = "{level} interval"


def interval_heading() -> str:
    """Return the heading of a column of intervals, such as `95% interval`."""
    return INTERVAL_HEADING.format(level=confidence_percent())


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a grid: its heading, the columns of a frame that it shows (of several, as a tuple), how.

    A field that is joined says more of what the field before it says, and is not parted from it.
    """

    heading: str
    names: tuple[str, ...] = ()
    show: Callable[..., str] = str
    align: Literal["left", "right"] = "right"
    joined: bool = False

    @property
    def title(self) -> str:
        """The heading as it is printed, with the confidence level of today."""
        return interval_heading() if self.heading == INTERVAL_HEADING else self.heading

    def values(self, frame: pd.DataFrame) -> list[object]:
        """Take the exact values, one per row of the frame."""
        columns = [frame[name].astype(object) for name in self.names]
        return list(columns[0]) if len(columns) == 1 else list(zip(*columns, strict=True))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a grid: a value for each field; of a section, or a group of rows, the label alone."""

    cells: tuple[object, ...]
    kind: Literal["section", "group", "row"] = "row"
    show: Callable[..., str] | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """A table for readers; `title` is empty where it needs none."""

    fields: Sequence[Field]
    lines: Sequence[Line]
    title: str = ""

    @classmethod
    def of(cls, fields: Sequence[Field], rows: pd.DataFrame, title: str = "") -> Grid:
        """Show a line for each row of a frame."""
        columns = (field.values(rows) for field in fields)
        return cls(fields, [Line(cells) for cells in zip(*columns, strict=True)], title)

    def texts(self, line: Line) -> list[str]:
        """Show every value of a line: text as it is, what is missing as a dash."""
        cells = [*line.cells, *[""] * (len(self.fields) - len(line.cells))]
        return [
            _text(value, line.show or field.show) for value, field in zip(cells, self.fields, strict=True)
        ]

    @property
    def parts(self) -> list[list[int]]:
        """Places of the fields that stand together; the first part labels the lines."""
        starts = [place for place, field in enumerate(self.fields) if not (place and field.joined)]
        ends = [*starts[1:], len(self.fields)]
        return [list(range(start, end)) for start, end in zip(starts, ends, strict=True)]

    def only(self, places: Sequence[int]) -> Grid:
        """Keep some fields."""
        lines = [
            replace(line, cells=tuple(line.cells[place] for place in places if place < len(line.cells)))
            for line in self.lines
        ]
        return replace(self, fields=[self.fields[place] for place in places], lines=lines)


@dataclass(frozen=True, slots=True)
class Document:
    """What is told about runs and boards. All text in it may come from outside; each format escapes it.

    `records` have one row per model and number, full precision: what csv holds; `content` is what json holds.
    """

    grids: Sequence[Grid]
    records: pd.DataFrame
    content: Mapping[str, object]
    notes: Sequence[str]
    signatures: Sequence[tuple[str, str]]

    def _repr_html_(self) -> str:
        tables = [
            as_html(grid.title, [field.title for field in grid.fields], map(grid.texts, grid.lines))
            for grid in self.grids
        ]
        notes = (*self.notes, *(f"{name}: {line}" for name, line in self.signatures))
        return "".join(tables) + as_html("", ("Notes",), ((note,) for note in notes))


def side_by_side(
    keys: Sequence[Field], frames: Mapping[str, pd.DataFrame], measures: Sequence[Field]
) -> tuple[list[Field], list[Line]]:
    """Put models beside each other: what their rows share, then what was measured of each.

    A measure without a heading stands under the model's name, and those with one beside it.
    """
    first = next(iter(frames.values()))
    fields = [replace(key, joined=place > 0) for place, key in enumerate(keys)]
    columns = [key.values(first) for key in keys]
    for name, frame in frames.items():
        fields += [
            replace(measure, heading=measure.heading or name, joined=bool(measure.heading))
            for measure in measures
        ]
        columns += [measure.values(frame) for measure in measures]
    return fields, [Line(cells) for cells in zip(*columns, strict=True)]


def _text(value: object, show: Callable[..., str]) -> str:
    if isinstance(value, str):
        return value
    missing = not isinstance(value, tuple) and pd.isna(value)  # type: ignore[call-overload]
    return NONE if missing else show(value)


def with_spread(cell: tuple[float, float]) -> str:
    """Show a mean over seeds beside the standard deviation between them, if there are several."""
    mean, spread = cell
    if pd.isna(mean) or pd.isna(spread):
        return "–" if pd.isna(mean) else format_share(mean)
    return spread_beside(format_share(mean), format_share(spread))


FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def as_csv(document: Document) -> str:
    """Write the records of a document, one line each."""
    rows = document.records.astype(object)
    for name in rows.columns:
        cells = [cell(value) if isinstance(value, str) else value for value in rows[name]]
        # Left to itself, pandas makes fractions of whole numbers beside a missing one.
        rows[name] = pd.Series(cells, rows.index, dtype=object)
    return rows.rename(columns=cell).to_csv(index=False, lineterminator="\n")


def cell(text: str) -> str:
    """Keep a spreadsheet from running a text as a formula: an apostrophe goes before it.

    Source: OWASP, "CSV Injection".
    """
    text = plain(text)
    return f"'{text}" if FORMULA.match(text) else text


LAYOUT = 1


def as_json(document: Document) -> str:
    """Write the content of a document."""
    content = _tidy({"format": LAYOUT, **document.content})
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _tidy(value: object) -> Json:
    """Return a value as JSON: text made plain, a frame as its rows, a fraction as a number."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, pd.DataFrame):
        return [_tidy(row) for row in value.astype(object).to_dict("records")]
    if isinstance(value, Mapping):
        return {plain(str(name)): _tidy(one) for name, one in value.items()}
    if isinstance(value, Sequence):
        return [_tidy(one) for one in value]
    if isinstance(value, Fraction):
        return float(value)
    return None if pd.isna(value) else cast("Json", value)  # type: ignore[call-overload]


PREAMBLE = r"% Needs \usepackage{booktabs} in the preamble."
ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",  # \textquotedbl would need another encoding of fonts
    "–": "--",
    "-": "-{}",  # before another one, which would make a dash of both
    "[": "{[}",  # after the end of a row it would begin an option
    "*": "{*}",  # likewise
    **{mark: "\\" + mark for mark in "&%$#_{}"},
}
SPECIAL = re.compile(r"-(?=-)|[\\~^<>|\"–\[*&%$#_{}]")


def as_latex(document: Document) -> str:
    """Write a document in LaTeX."""
    blocks = [PREAMBLE]
    for grid in document.grids:
        blocks += [rf"\par\noindent\textbf{{{latex(grid.title)}}}\par"] if grid.title else []
        blocks += _tabular(grid)
    blocks += [_small(latex(note)) for note in document.notes]
    for name, line in document.signatures:  # which has no spaces, and is broken between its parts
        breakable = latex(line).replace(r"\textbar{}", r"\textbar\allowbreak{}")
        blocks.append(_small(f"{latex(name)}: {breakable}"))
    return "\n".join(blocks) + "\n"


def latex(text: str) -> str:
    """Escape what LaTeX would act on."""
    return SPECIAL.sub(lambda match: ESCAPED[match[0]], plain(text))


def as_latex_float(grid: Grid, caption: str, label: str) -> str:
    """Write a grid as a floating table with caption and label; of several models the best is bold."""
    inside = "\n".join(_tabular(grid, bold=sum(not field.joined for field in grid.fields[1:]) > 1))
    caption, label = rf"\caption{{{caption}}}", rf"\label{{tab:{label}}}"
    start, end = "\\begin{table}[t]\n\\centering", r"\end{table}"
    return "\n".join([PREAMBLE, start, inside, caption, label, end]) + "\n"


def _tabular(grid: Grid, bold: bool = False) -> Iterator[str]:
    """Write a grid line by line; space before each section but the first."""
    yield rf"\begin{{tabular}}{{{''.join(field.align[0] for field in grid.fields)}}}"
    yield r"\toprule"
    yield _row([latex(field.title) for field in grid.fields])
    yield r"\midrule"
    for place, line in enumerate(grid.lines):
        if line.kind == "section" and place:
            yield r"\addlinespace"
        yield _row(_cells(grid, line, bold))
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _cells(grid: Grid, line: Line, bold: bool) -> list[str]:
    """Return the cells of a line; the label of a section or a group stands across all columns."""
    label, *others = map(latex, grid.texts(line))
    if line.kind == "row":
        values = [_measured(*pair) for pair in zip(grid.fields[1:], line.cells[1:], strict=False)]
        known = [value for value in values if value is not None] if bold else []
        best = max(known, default=None)
        marked = zip_longest(others, values)
        return [label, *(rf"\textbf{{{one}}}" if known and value == best else one for one, value in marked)]
    font = r"\textbf" if line.kind == "section" else r"\textit"
    return [rf"\multicolumn{{{len(grid.fields)}}}{{l}}{{{font}{{{label}}}}}"]


def _measured(field: Field, cell: object) -> Fraction | float | None:
    """Return what was measured, a mean before its spread; nothing for what says more of another field."""
    value = cell[0] if isinstance(cell, tuple) else cell
    if field.joined or not isinstance(value, (int, float, Fraction)):
        return None
    return None if isnan(value) else value


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _small(text: str) -> str:
    """Set a paragraph in small type, and leave what follows the table as it was."""
    return rf"\par{{\footnotesize\noindent {text}\par}}"


# Within a word `_` starts no emphasis, and `n_attractors` reads better as it is.
MARKUP = re.compile(r"[\\`*|\[\]<>&]|(?<![^\W_])_|_(?![^\W_])")
# A rank and what it may be, `2 [1–4]`, is no link unless something follows that makes it one.
RANKS = re.compile(r"\\\[(\d+(?:–\d+)?)\\\](?![(:\\])")
MARKS = {"section": "**{}**", "group": "*{}*", "row": "{}"}


def as_markdown(document: Document) -> str:
    """Write a document in Markdown."""
    blocks = []
    for grid in document.grids:
        blocks += [f"**{markdown(grid.title)}**"] if grid.title else []
        blocks += [_pipes(grid)]
    notes = [f"- {markdown(note)}" for note in document.notes]
    notes += [f"- {markdown(name)}: {code(line)}" for name, line in document.signatures]
    return "\n\n".join([*blocks, "\n".join(notes)]).rstrip() + "\n"


def markdown(text: str) -> str:
    """Escape what Markdown or HTML would act on, with a backslash before it."""
    return RANKS.sub(r"[\1]", MARKUP.sub(lambda match: "\\" + match[0], plain(text)))


def markdown_link(address: str | None) -> str:
    """Set an address as a link of Markdown; of what is none that a browser may be led to, the text alone."""
    if address is None:
        return ""
    leads = address.startswith(("https://", "http://")) and not set(address) & set(" <>|`\\")
    return f"<{plain(address)}>" if leads else markdown(address)


def code(text: str) -> str:
    """Set a text as Markdown code, in which nothing is acted on."""
    return "`" + plain(text).replace("`", "'") + "`"


def _pipes(grid: Grid) -> str:
    def cells(line: Line) -> list[str]:
        label, *others = map(markdown, grid.texts(line))
        return [MARKS[line.kind].format(label), *others]

    return tabulate(
        [cells(line) for line in grid.lines],
        headers=[markdown(field.title) for field in grid.fields],
        tablefmt="pipe",
        colalign=[field.align for field in grid.fields],
        disable_numparse=True,
    )


@dataclass(frozen=True, slots=True)
class Screen:
    """A terminal that a document is shown on.

    Attributes:
        whole: Whether signatures are shown to their end.
    """

    width: int
    styled: bool = False
    whole: bool = False

    def style(self, kind: str, text: str) -> str:
        """Set the label of a section in bold, that of a group in italic."""
        return f"\x1b[{STYLES[kind]}m{text}\x1b[0m" if self.styled and kind in STYLES and text else text


STYLES = {"section": 1, "group": 3}
MOST_NOTES = 5  # that are printed; files have all
MORE_NOTES = "More notes: {}. To print them, add --notes."
NARROWEST = 16  # characters that a column of text keeps, however little room there is
LEFT_OUT = "Not shown, because 0 in every row: {}."


def with_first_notes(document: Document) -> Document:
    """Keep the most important notes, which are the first, and count the others."""
    n_more = len(document.notes) - MOST_NOTES
    if n_more <= 1:  # a line that counts one note is as long as the note
        return document
    return replace(document, notes=[*document.notes[:MOST_NOTES], MORE_NOTES.format(n_more)])


def as_screen(document: Document, screen: Screen) -> str:
    """Write a document for a terminal: columns as wide as there is room, none of zeros, short signatures."""
    blocks, notes = [], list(document.notes)
    for grid in document.grids:
        shown, zeros = _without_zeros(grid)
        blocks += [screen.style("section", plain(grid.title))] if grid.title else []
        blocks += [_on_screen(part, screen) for part in _cut(shown, screen.width)]
        notes += [LEFT_OUT.format(", ".join(zeros))] if zeros else []
    for name, signature in document.signatures:
        parts = signature.split("|")
        notes.append(f"{name}: {signature if screen.whole else '|'.join(parts[:2])}")
    if document.signatures and not screen.whole:
        notes[-1] += " (complete: -v)"
    fill = partial(textwrap.fill, width=screen.width, initial_indent="- ", subsequent_indent="  ")
    return "\n\n".join([*blocks, "\n".join(fill(plain(note)) for note in notes)]).rstrip() + "\n"


def _without_zeros(grid: Grid) -> tuple[Grid, list[str]]:
    """Leave out the counts that are 0 in every row, and name them."""
    cells = [line.cells for line in grid.lines if line.kind == "row"]
    zeros = []
    for place, field in enumerate(grid.fields):
        column = [line[place] for line in cells if len(line) > place]
        if place and field.show is format_count and column and all(value in (0, "") for value in column):
            zeros.append(place)
    kept = grid.only([place for place in range(len(grid.fields)) if place not in zeros])
    return kept, [grid.fields[place].title for place in zeros]


def _on_screen(grid: Grid, screen: Screen) -> str:
    rows = []
    for line in grid.lines:
        label, *others = map(plain, grid.texts(line))
        rows.append([screen.style(line.kind, label), *others])
    headings = [plain(field.title) for field in grid.fields]
    return fitted(rows, headings, [field.align for field in grid.fields], screen.width)


def fitted(
    rows: Sequence[Sequence[str]], headings: Sequence[str], align: Sequence[str], width: int | None
) -> str:
    """Draw a table without rules between its columns; where it is too wide, its text is broken into lines.

    Headings are broken between words; numbers and addresses never.
    """
    if width is None:
        return tabulate(rows, headings, tablefmt="simple", colalign=align, disable_numparse=True)
    room, least = [], []
    for side, heading, *column in zip(align, headings, *rows, strict=True):
        needed = _widest(column)
        room.append(max(_shown_width(heading), needed))
        whole = [*heading.split(), *(word for text in column for word in text.split() if "://" in word)]
        least.append(max(_widest(whole), needed if side == "right" else min(NARROWEST, needed)))
    while sum(room) + 2 * (len(room) - 1) > width:
        place = max(range(len(room)), key=lambda place: (room[place] > least[place], room[place]))
        if room[place] <= least[place]:
            break
        room[place] -= 1
    # tabulate would break texts itself, but takes 1,680 for a number that it then cannot read; and would give
    # headings two columns more than they need.
    cut = [[_broken(text, own) for text, own in zip(row, room, strict=True)] for row in (headings, *rows)]
    rule = ["-" * _widest("\n".join(column).split("\n")) for column in zip(*cut, strict=True)]
    lines = [cut[0], rule, *cut[1:]]
    return tabulate(lines, tablefmt="plain", colalign=align, disable_numparse=True)


def _widest(texts: Sequence[str]) -> int:
    return max(map(_shown_width, texts), default=0)


def _broken(text: str, width: int) -> str:
    """Break a text into lines, each in its style."""
    style, bare, end = re.fullmatch(r"(\x1b\[\d+m)?(.*?)(\x1b\[0m)?", text, re.DOTALL).groups("")  # type: ignore[union-attr]
    if (shown := _shown_width(bare)) <= width:
        return text
    letters = max(1, width * len(bare) // shown)  # wide ones take two columns
    return "\n".join(f"{style}{line}{end}" for line in textwrap.wrap(bare, letters))


def _shown_width(text: str) -> int:
    return max(0, wcswidth(UNSTYLED.sub("", text)))


UNSTYLED = re.compile("\x1b\\[[0-9]*m")


def _cut(grid: Grid, width: int) -> Iterator[Grid]:
    """Cut a grid into as few as stand within a width, each with the labels; no column of values is cut."""
    labels, *parts = grid.parts
    shown = labels
    for part in parts:
        drawn = _on_screen(grid.only([*shown, *part]), Screen(width))
        if shown != labels and _widest(drawn.splitlines()) > width:
            yield grid.only(shown)
            shown = labels
        shown = [*shown, *part]
    yield grid.only(shown)
