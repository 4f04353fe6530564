"""One module for each format that a document is written in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import pandas as pd
from tabulate import tabulate

from tseval.errors import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tseval.formats import Json
    from tseval.report.document import Document, Grid, Line


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
    """Give a value as JSON: text made plain, a frame as its rows, a fraction as a number."""
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
    blocks += [_small(f"{latex(name)}: {_breakable(line)}") for name, line in document.signatures]
    return "\n".join(blocks) + "\n"


def latex(text: str) -> str:
    """Escape what LaTeX would act on."""
    return SPECIAL.sub(lambda match: ESCAPED[match[0]], plain(text))


def _tabular(grid: Grid) -> Iterator[str]:
    """Write a grid line by line; space before each section but the first."""
    yield rf"\begin{{tabular}}{{{''.join(field.align[0] for field in grid.fields)}}}"
    yield r"\toprule"
    yield _row([latex(field.heading) for field in grid.fields])
    yield r"\midrule"
    for place, line in enumerate(grid.lines):
        if line.kind == "section" and place:
            yield r"\addlinespace"
        yield _row(_cells(grid, line))
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _cells(grid: Grid, line: Line) -> list[str]:
    """Give the cells of a line; the label of a section or a group stands across all columns."""
    label, *others = map(latex, grid.texts(line))
    if line.kind == "row":
        return [label, *others]
    font = r"\textbf" if line.kind == "section" else r"\textit"
    return [rf"\multicolumn{{{len(grid.fields)}}}{{l}}{{{font}{{{label}}}}}"]


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _small(text: str) -> str:
    """Set a paragraph in small type, and leave what follows the table as it was."""
    return rf"\par{{\footnotesize\noindent {text}\par}}"


def _breakable(signature: str) -> str:
    """Let a signature, which has no spaces, be broken between its parts."""
    return latex(signature).replace(r"\textbar{}", r"\textbar\allowbreak{}")


# Within a word `_` starts no emphasis, and `n_attractors` reads better as it is.
MARKUP = re.compile(r"[\\`*|\[\]<>&]|(?<![^\W_])_|_(?![^\W_])")
# A rank and what it may be, `2 [1–4]`, is no link unless something follows that makes it one.
RANKS = re.compile(r"\\\[(\d+(?:–\d+)?)\\\](?![(:\\])")
MARKS = {"section": "**{}**", "group": "*{}*", "row": "{}"}


def as_markdown(document: Document, width: int | None = None) -> str:
    """Write a document in Markdown.

    Args:
        document: What is told.
        width: Characters that a line of a table may have, as far as columns can be parted: a wider table is
            cut into several, each with the labels of the lines. None for tables of any width.
    """
    blocks = []
    for grid in document.grids:
        blocks += [f"**{markdown(grid.title)}**"] if grid.title else []
        blocks += [_pipes(grid)] if width is None else map(_pipes, _cut(grid, width))
    notes = [f"- {markdown(note)}" for note in document.notes]
    notes += [f"- {markdown(name)}: {code(line)}" for name, line in document.signatures]
    return "\n\n".join([*blocks, "\n".join(notes)]).rstrip() + "\n"


def markdown(text: str) -> str:
    """Escape what Markdown or HTML would act on, with a backslash before it."""
    return RANKS.sub(r"[\1]", MARKUP.sub(lambda match: "\\" + match[0], plain(text)))


def code(text: str) -> str:
    """Set a text as Markdown code, in which nothing is acted on."""
    return "`" + plain(text).replace("`", "'") + "`"


def _pipes(grid: Grid) -> str:
    """Print a grid as one table."""

    def cells(line: Line) -> list[str]:
        label, *others = map(markdown, grid.texts(line))
        return [MARKS[line.kind].format(label), *others]

    return tabulate(
        [cells(line) for line in grid.lines],
        headers=[markdown(field.heading) for field in grid.fields],
        tablefmt="pipe",
        colalign=[field.align for field in grid.fields],
        disable_numparse=True,
    )


def _cut(grid: Grid, width: int) -> Iterator[Grid]:
    """Cut a grid into as few as stand within a width; one column of values is never cut."""
    labels, *parts = grid.parts
    shown = labels
    for part in parts:
        if shown != labels and _width(grid.only([*shown, *part])) > width:
            yield grid.only(shown)
            shown = labels
        shown = [*shown, *part]
    yield grid.only(shown)


def _width(grid: Grid) -> int:
    return max(map(len, _pipes(grid).splitlines()))
