r"""Accuracies of several models as floating LaTeX tables that fit their page.

Up to three models fit one column of a page (`table`), up to eight the full width (`table*`). For more
models the table is transposed: each model is a line, in blocks of a few rows of the suite. A table that is
longer than a page becomes several tables.

Widths are estimated for Computer Modern, the widest font in common use, and for the narrowest pages: a
column of the ACL style and the full width of `article`. They are in points, for letters of 9 points (`\small`
at 10 points). The column of labels gets the rest of the width, so a table also fits a wider page.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import ceil, isnan
from typing import TYPE_CHECKING

from tseval.report.writers.latex import breakable_latex, latex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.report.document import Grid, Line

PACKAGES = r"% Needs \usepackage{booktabs,tabularx} in the preamble."
IN_A_COLUMN = 3  # models
INLINE_SPREADS = 2  # models with the spread next to the mean; for more models it is below the mean
ACROSS, ACROSS_WITH_INTERVALS = 8, 5
BLOCK, BLOCK_WITH_INTERVALS = 6, 5  # rows of the suite in a block of a transposed table
COLUMN, PAGE = 197, 320
LETTER, EM, SEPARATION = 4.6, 9.25, 6
NUMBER, INLINE, INTERVAL = 25, 48, 41  # 0.950, 0.950 ± 0.012, and 0.702--0.920 in small type
LABEL = 56  # the least width of labels
LINES, LINES_WITH_INTERVALS = 44, 40  # of a table, so that it fits a page with its caption
NAME_LINES = 6  # lines of a model's name above its column
ELLIPSIS = r"\ldots{}"
RAGGED = r">{\raggedright\arraybackslash\hspace{0pt}}"  # the space lets LaTeX hyphenate the first word
RAGGED_LEFT = r">{\raggedleft\arraybackslash\hspace{0pt}}"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the suite with its headings: for each model lines of text, first the accuracy."""

    section: str
    group: str
    label: str
    cells: Sequence[Sequence[str]]
    best: int | None


def as_latex_floats(grid: Grid, caption: str, label: str, comments: Sequence[str] = ()) -> str:
    """Return a grid as floating tables with captions and labels, after `comments`.

    The best accuracy of a row is bold unless another one prints the same digits. Intervals are below their
    accuracies in small type. With many models, the spread between seeds is there too.
    """
    rows, names = _rows(grid), [grid.fields[part[0]].title for part in grid.parts[1:]]
    has_intervals = any(field.joined for field in grid.fields[1:])
    if len(names) <= (ACROSS_WITH_INTERVALS if has_intervals else ACROSS):
        bodies = list(_upright(rows, names))
    else:
        bodies = list(_transposed(rows, names, BLOCK_WITH_INTERVALS if has_intervals else BLOCK))
    star = "" if len(names) <= IN_A_COLUMN else "*"
    floats = []
    for number, body in enumerate(bodies, 1):
        is_single = len(bodies) == 1
        part = "" if is_single else f" Part {number} of {len(bodies)}."
        tag = label if number == 1 else f"{label}-{number}"
        floats += [
            rf"\begin{{table{star}}}[t]",
            r"\centering\small\setlength{\tabcolsep}{3pt}",
            *body,
            rf"\caption{{{caption if number == 1 else caption.partition(':')[0] + '.'}{part}}}",
            rf"\label{{tab:{tag}}}",
            rf"\end{{table{star}}}",
        ]
    return "\n".join([PACKAGES, *comments, *floats]) + "\n"


def _rows(grid: Grid) -> list[Row]:
    rows, section, group = [], "", ""
    for line in grid.lines:
        if line.kind == "section":
            section, group = str(line.cells[0]), ""
        elif line.kind == "group":
            group = str(line.cells[0])
        else:
            texts = grid.texts(line)
            cells = [_cell([texts[index] for index in part]) for part in grid.parts[1:]]
            rows.append(Row(section, group, texts[0], cells, _best(grid, line, cells)))
    return rows


def _cell(texts: Sequence[str]) -> list[str]:
    """Return the lines of a cell: accuracy, spread between seeds, interval."""
    accuracy, *intervals = texts
    mean, _, spread = accuracy.partition(" ± ")
    small = [rf"$\pm$\,{latex(spread)}"] if spread else []
    small += [latex(interval.replace(" to ", "–")) for interval in intervals if interval]
    return [latex(mean), *small]


def _best(grid: Grid, line: Line, cells: Sequence[Sequence[str]]) -> int | None:
    """Return the index of the highest accuracy, if no other one prints the same digits."""
    values = [line.cells[part[0]] if part[0] < len(line.cells) else None for part in grid.parts[1:]]
    means = [value[0] if isinstance(value, tuple) else value for value in values]
    # Whole numbers are counts, such as the number of rows of a suite.
    numbers = [mean for mean in means if isinstance(mean, (float, Fraction)) and not isnan(mean)]
    if len(means) < 2 or not numbers:
        return None
    best = means.index(max(numbers))
    is_unique = Counter(cell[0] for cell in cells)[cells[best][0]] == 1
    return best if is_unique else None


def _upright(rows: Sequence[Row], names: Sequence[str]) -> Iterator[list[str]]:
    """Yield tables with a column for each model, each of at most one page."""
    narrow = len(names) <= IN_A_COLUMN
    has_intervals = any("--" in text for row in rows for cell in row.cells for text in cell[1:])
    has_spread = any(text.startswith(r"$\pm$") for row in rows for cell in row.cells for text in cell[1:])
    inline = has_spread and len(names) <= INLINE_SPREADS
    number = INLINE if inline else INTERVAL if has_intervals or has_spread else NUMBER
    page = COLUMN if narrow else PAGE
    widths = _name_widths(names, int(number / LETTER), page - LABEL - SEPARATION * len(names))
    used_width = sum(max(number, width * LETTER) + SEPARATION for width in widths)
    letters = max(1, int((page - used_width) / LETTER))
    headings = [
        _stacked(_wrapped(name, width)) for name, width in zip(_shortened(names, widths), widths, strict=True)
    ]
    width = r"\columnwidth" if narrow else r"\textwidth"
    most = LINES_WITH_INTERVALS if has_intervals else LINES
    for part in _pages(rows, letters, most, inline):
        body = [
            rf"\begin{{tabularx}}{{{width}}}{{@{{}}{RAGGED}X{'r' * len(names)}@{{}}}}",
            r"\toprule",
            " & ".join(["", *headings]) + r" \\",
            r"\midrule",
        ]
        section = group = ""
        for index, row in enumerate(part):
            if row.section != section:
                body += [r"\addlinespace"] if index else []
                body += [_across(len(names) + 1, rf"\textbf{{{latex(row.section)}}}", row.section, page)]
                group = ""
            if row.group and row.group != group:
                body += [_across(len(names) + 1, rf"\textit{{{latex(row.group)}}}", row.group, page)]
            section, group = row.section, row.group
            cells = [_printed(cell, row.best == place, inline) for place, cell in enumerate(row.cells)]
            body.append(" & ".join([breakable_latex(row.label), *cells]) + r" \\")
        yield [*body, r"\bottomrule", r"\end{tabularx}"]


def _pages(rows: Sequence[Row], letters: int, most: int, inline: bool) -> Iterator[list[Row]]:
    """Yield the rows of each page of at most `most` lines; a group that fits one page is not split."""
    page: list[Row] = []
    for _, group in groupby(rows, _heads):
        rows_of_group = list(group)
        fits = _page_height(rows_of_group, letters, inline) <= most
        for part in [rows_of_group] if fits else [[row] for row in rows_of_group]:
            if page and _page_height([*page, *part], letters, inline) > most:
                yield page
                page = []
            page += part
    yield page


def _page_height(rows: Sequence[Row], letters: int, inline: bool) -> float:
    """Return the number of lines of rows with their headings; a section adds half a line of space."""
    heads = {_heads(row) for row in rows}
    headings = 1.5 * len({section for section, _ in heads}) + sum(bool(group) for _, group in heads)
    return headings + sum(_height(row, letters, inline) for row in rows)


def _heads(row: Row) -> tuple[str, str]:
    return row.section, row.group


def _height(row: Row, letters: int, inline: bool) -> int:
    """Return the number of lines of a row."""
    of_cells = max((len(cell) - (inline and len(cell) > 1) for cell in row.cells), default=1)
    return max(ceil(len(row.label) / letters), of_cells)


def _transposed(rows: Sequence[Row], names: Sequence[str], most: int) -> Iterator[list[str]]:
    """Yield tables with a line for each model, in blocks of at most `most` rows of the suite; means first."""
    last = rows[-1].section
    ordered = [row for row in rows if row.section == last] + [row for row in rows if row.section != last]
    width = (PAGE - LABEL) // most
    body: list[str] = []
    used_lines = 0
    for block in _blocks(ordered, most):
        height = _block_height(block, names, width)
        if body and used_lines + height > LINES:
            yield body
            body, used_lines = [], 0
        body += [r"\bigskip", ""] if body else []
        body += _block(block, names, width)
        used_lines += height
    yield body


def _blocks(rows: Sequence[Row], most: int) -> Iterator[list[Row]]:
    """Yield blocks of rows of one section; a group is split only if it is too wide."""
    block: list[Row] = []
    for _, group in groupby(rows, _heads):
        rows_of_group = list(group)
        if block and (block[0].section != rows_of_group[0].section or len(block) + len(rows_of_group) > most):
            yield block
            block = []
        size = ceil(len(rows_of_group) / ceil(len(rows_of_group) / most))
        while len(rows_of_group) > most:
            yield rows_of_group[:size]
            rows_of_group = rows_of_group[size:]
        block += rows_of_group
    if block:
        yield block


def _block_height(rows: Sequence[Row], names: Sequence[str], width: int) -> int:
    """Return the number of lines of a block."""
    letters = int((width - SEPARATION) / LETTER)
    groups = Counter(row.group for row in rows)
    headings = 1 + max(ceil(len(row.label) / letters) for row in rows)
    headings += max(ceil(len(group) / (n_rows * letters)) for group, n_rows in groups.items())
    of_names = int((PAGE - width * len(rows)) / LETTER)
    stacked = max(len(cell) for row in rows for cell in row.cells)
    return 3 + headings + sum(max(ceil(len(name) / of_names), stacked) for name in names)


def _block(rows: Sequence[Row], names: Sequence[str], width: int) -> list[str]:
    """Return the tabular of a block: headings of groups and rows, then a line for each model."""
    columns = rf"*{{{len(rows)}}}{{{RAGGED_LEFT}p{{{(width - SEPARATION) / EM:.2f}em}}}}"
    body = [
        rf"\begin{{tabularx}}{{\textwidth}}{{@{{}}{RAGGED}X{columns}@{{}}}}",
        r"\toprule",
    ]
    if section := rows[0].section:
        body.append(_across(len(rows) + 1, rf"\textbf{{{latex(section)}}}", section, PAGE))
    groups = Counter(row.group for row in rows)
    if any(groups):
        spans, rules, start = [""], [], 2
        for group, n_rows in groups.items():
            column = f"{RAGGED_LEFT}p{{{(n_rows * width - SEPARATION) / EM:.2f}em}}"
            spans.append(rf"\multicolumn{{{n_rows}}}{{{column}}}{{\textit{{{breakable_latex(group)}}}}}")
            rules.append(rf"\cmidrule(lr){{{start}-{start + n_rows - 1}}}")
            start += n_rows
        body += [" & ".join(spans) + r" \\", "".join(rules)]
    headings = (rf"\footnotesize {breakable_latex(row.label)}" for row in rows)
    body += [" & ".join(["", *headings]) + r" \\", r"\midrule"]
    for place, name in enumerate(names):
        cells = [_printed(row.cells[place], row.best == place, inline=False) for row in rows]
        body.append(" & ".join([breakable_latex(name), *cells]) + r" \\")
    return [*body, r"\bottomrule", r"\end{tabularx}"]


def _printed(cell: Sequence[str], best: bool, inline: bool) -> str:
    mean, *small = cell
    mean = rf"\textbf{{{mean}}}" if best else mean
    if inline and small and small[0].startswith(r"$\pm$"):
        mean, small = rf"{mean}{{\scriptsize{small[0]}}}", small[1:]
    return _stacked([mean, *(rf"{{\scriptsize {text}}}" for text in small)], top=True)


def _stacked(lines: Sequence[str], *, top: bool = False) -> str:
    """Stack lines in a cell, aligned at their first or their last line."""
    if len(lines) == 1:
        return lines[0]
    body = r" \\ ".join(lines)
    return rf"\begin{{tabular}}[{'t' if top else 'b'}]{{@{{}}r@{{}}}}{body}\end{{tabular}}"


def _across(n_fields: int, text: str, bare: str, page: int) -> str:
    """Return a heading across all columns, with line breaks if it is wider than the page."""
    if len(bare) * 1.15 * LETTER < page:
        return rf"\multicolumn{{{n_fields}}}{{@{{}}l@{{}}}}{{{text}}} \\"
    width = r".98\columnwidth" if page == COLUMN else r".98\textwidth"
    return rf"\multicolumn{{{n_fields}}}{{@{{}}p{{{width}}}@{{}}}}{{\raggedright\hspace{{0pt}}{text}}} \\"


def _name_widths(names: Sequence[str], least: int, room: float) -> list[int]:
    """Return the line width of each name in letters: its longest part, if there is space."""
    widths = [max(least, *map(len, _parts(name))) for name in names]
    while max(widths) > least and sum(widths) * LETTER > room:
        widths[widths.index(max(widths))] -= 1
    return widths


def _parts(name: str) -> list[str]:
    """Split a name after the marks that usually join its words."""
    return re.findall(r"[^-_./: ]*[-_./: ]?", name)[:-1] or [name]


def _shortened(names: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Cut out the middle of names with too many lines, unless two names would become equal."""
    short = []
    for name, width in zip(names, widths, strict=True):
        n_kept = (NAME_LINES - 1) * width // 2
        short.append(name if len(_lines(name, width)) <= NAME_LINES else f"{name[:n_kept]}…{name[-n_kept:]}")
    return short if len(set(short)) == len(set(names)) else list(names)


def _wrapped(name: str, width: int) -> list[str]:
    return [latex(line).replace("…", ELLIPSIS) for line in _lines(name, width)]


def _lines(name: str, width: int) -> list[str]:
    """Break a name into lines, after marks if possible."""
    lines = [""]
    for part in _parts(name):
        pieces = [part[start : start + width] for start in range(0, len(part), width)]
        for piece in pieces:
            if lines[-1] and len(lines[-1]) + len(piece) > width:
                lines.append("")
            lines[-1] += piece
    return [line.strip() for line in lines if line.strip()] or [name]
