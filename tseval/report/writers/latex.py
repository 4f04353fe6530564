"""Documents as LaTeX."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import zip_longest
from math import isnan
from typing import TYPE_CHECKING

from tseval.errors import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tseval.report.document import Document, Field, Grid, Line


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
    """Return a document in LaTeX."""
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
    """Return a grid as a floating table with caption and label; of several models the best is bold."""
    inside = "\n".join(_tabular(grid, bold=sum(not field.joined for field in grid.fields[1:]) > 1))
    caption, label = rf"\caption{{{caption}}}", rf"\label{{tab:{label}}}"
    start, end = "\\begin{table}[t]\n\\centering", r"\end{table}"
    return "\n".join([PREAMBLE, start, inside, caption, label, end]) + "\n"


def _tabular(grid: Grid, bold: bool = False) -> Iterator[str]:
    """Yield a grid line by line; space before each section but the first."""
    yield rf"\begin{{tabular}}{{{''.join(field.align[0] for field in grid.fields)}}}"
    yield r"\toprule"
    yield _row([latex(field.title) for field in grid.fields])
    yield r"\midrule"
    for index, line in enumerate(grid.lines):
        if line.kind == "section" and index:
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
        return [
            label,
            *(rf"\textbf{{{text}}}" if known and value == best else text for text, value in marked),
        ]
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
