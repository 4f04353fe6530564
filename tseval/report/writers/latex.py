"""Documents as LaTeX."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.errors import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tseval.report.document import Document, Grid, Line


PREAMBLE = r"% Needs \usepackage{booktabs} in the preamble."
ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",  # \textquotedbl would need another font encoding
    "–": "--",
    "-": "-{}",  # before another hyphen, because two would become a dash
    "[": "{[}",  # after the end of a row, it would begin an option
    "*": "{*}",  # so would an asterisk
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
    for name, line in document.signatures:  # a signature has no spaces, so line breaks go between its parts
        breakable = latex(line).replace(r"\textbar{}", r"\textbar\allowbreak{}")
        blocks.append(_small(f"{latex(name)}: {breakable}"))
    return "\n".join(blocks) + "\n"


def latex(text: str) -> str:
    """Escape the special characters of LaTeX."""
    return SPECIAL.sub(lambda match: ESCAPED[match[0]], plain(text))


def breakable_latex(text: str) -> str:
    """Escape a text, and allow LaTeX to break it after marks that join words, and within words."""
    return re.sub(r"(\\_|/|:|\.(?=\w))", r"\1\\hspace{0pt}", latex(text))


def _tabular(grid: Grid) -> Iterator[str]:
    """Yield the lines of a grid, with space before each section but the first."""
    yield rf"\begin{{tabular}}{{{''.join(field.align[0] for field in grid.fields)}}}"
    yield r"\toprule"
    yield _row([latex(field.title) for field in grid.fields])
    yield r"\midrule"
    for index, line in enumerate(grid.lines):
        if line.kind == "section" and index:
            yield r"\addlinespace"
        yield _row(_cells(grid, line))
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _cells(grid: Grid, line: Line) -> list[str]:
    """Return the cells of a line; the label of a section or a group spans all columns."""
    label, *rest = map(latex, grid.texts(line))
    if line.kind == "row":
        return [label, *rest]
    font = r"\textbf" if line.kind == "section" else r"\textit"
    return [rf"\multicolumn{{{len(grid.fields)}}}{{l}}{{{font}{{{label}}}}}"]


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _small(text: str) -> str:
    """Return a paragraph in small type; text after it is not affected."""
    return rf"\par{{\footnotesize\noindent {text}\par}}"
