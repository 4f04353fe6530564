"""LaTeX: tabulars, notes below them, then the signatures; needs no package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.report.formats.tabulated import tabulated
from tseval.report.text import plain

if TYPE_CHECKING:
    from tseval.report.document import Document

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    **{mark: "\\" + mark for mark in "&%$#_{}"},
}
LATEX_MARKS = {"section": r"\textbf{{{}}}", "group": r"\textit{{{}}}", "row": "{}"}


def as_latex(document: Document) -> str:
    """Write a document in LaTeX."""
    blocks = []
    for grid in document.grids:
        blocks += [rf"\par\noindent\textbf{{{latex(grid.title)}}}\par"] if grid.title else []
        blocks.append(tabulated(grid, "latex_raw", latex, LATEX_MARKS))
    notes = [*document.notes, *(f"{name}: {line}" for name, line in document.signatures)]
    blocks += [rf"\par\noindent\footnotesize {latex(note)}" for note in notes]
    return "\n".join(blocks) + "\n"


def latex(text: str) -> str:
    """Escape what LaTeX would act on."""
    return "".join(SPECIAL.get(mark, mark) for mark in plain(text))
