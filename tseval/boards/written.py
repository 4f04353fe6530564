"""What is written into a board's folder, and never edited: `board.json` and `README.md`."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING

from tabulate import tabulate

from tseval.analysis.ranks import cut
from tseval.boards.entry import ENTRY_FOLDERS, read_entry
from tseval.files import write_text
from tseval.report import build_table, render
from tseval.report.boards import BOARD_FORMAT, Board, BoardModel, BoardRow
from tseval.report.columns import column_of
from tseval.report.formats.markdown import code, markdown
from tseval.report.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction
    from pathlib import Path

    from tseval.boards.definition import Definition
    from tseval.runs import Run

ACCURACIES, BOARD_PAGE = "board.json", "README.md"
WRITTEN = "Written by `tseval board`; do not edit."
_DECIMALS = 3
# What begins a tag of HTML, in texts that are Markdown on purpose.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def pages(board: Path, definition: Definition, runs: Sequence[Run]) -> dict[str, str]:
    """Give the texts of the files that follow from definition and entries, by name."""
    texts = {BOARD_PAGE: _page(board, definition, runs)}
    if runs:
        content = {"format": BOARD_FORMAT, **asdict(_accuracies(board, definition, runs))}
        texts[ACCURACIES] = json.dumps(content, indent=1) + "\n"
    return texts


def write_pages(board: Path, definition: Definition, runs: Sequence[Run]) -> None:
    """Write these files."""
    for name, text in pages(board, definition, runs).items():
        write_text(board / name, text)


def _accuracies(board: Path, definition: Definition, runs: Sequence[Run]) -> Board:
    """Put the accuracies of entries together, cut to three decimals."""
    columns = [column_of(run) for run in runs]
    exact = {run.name: column.exact(()) for run, column in zip(runs, columns, strict=True)}
    first = columns[0]
    rows = zip(first.keys(()), first.rows["n_items"], strict=True)
    return Board(
        name=board.resolve().name,
        title=definition.title,
        source=definition.source or definition.title,
        suite=first.suite,
        score=definition.score,
        decimals=_DECIMALS,
        models=tuple(
            BoardModel(run.name, column.perplexity, column.parameters)
            for run, column in zip(runs, columns, strict=True)
        ),
        rows=tuple(
            BoardRow(
                dependency=None if key[0] is None else str(key[0]),
                phenomenon=str(key[1]),
                construction=str(key[2]),
                contrast=str(key[3]),
                n_items=int(n_items),
                accuracy={
                    name: _printed(value) for name, of in exact.items() if (value := of.get(key)) is not None
                },
            )
            for key, n_items in rows
        ),
        notes=(),
    )


def _printed(accuracy: Fraction) -> str:
    return f"{float(cut(accuracy, _DECIMALS)):.{_DECIMALS}f}"


def _page(board: Path, definition: Definition, runs: Sequence[Run]) -> str:
    """Write what the board is over, its table, and what is known of each entry."""
    name = board.resolve().name
    parts = [f"# {markdown(definition.title)}", WRITTEN, _without_tags(definition.text)]
    parts += [
        f"Suite: {code(definition.suite)}, digest {code(definition.digest)}, score `{definition.score}`."
    ]
    if definition.source:
        parts.append(f"Source: {markdown(definition.source)}")
    if definition.rules:
        parts.append("## Rules\n\n" + "\n".join(f"- {markdown(rule)}" for rule in definition.rules))
    if runs:
        parts += ["## The table", f"    tseval table {name}", render(build_table(runs)).rstrip()]
        facts = [_facts(run, board) for run in runs]
        parts += ["## The entries", tabulate(facts, headers="keys", tablefmt="pipe", disable_numparse=True)]
    parts += [
        "## Check it",
        f"    tseval verify {name}",
        "With a model at hand, `--model MODEL` asks it again.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _facts(run: Run, board: Path) -> dict[str, str]:
    entry = read_entry(board / ENTRY_FOLDERS / run.name)
    about = entry.about
    last = entry.checks[-1] if entry.checks else None
    return {
        "model": markdown(entry.name),
        "licence": markdown(about.licence or "–"),
        "trained on": markdown(about.training_data or "–"),
        "holds the suite": about.contains_suite,
        "contact": markdown(about.contact or "–"),
        "fingerprint": markdown(entry.fingerprint[:16]),
        "checked": f"{last.level}, {markdown(last.by)}, {markdown(last.on)}" if last else "–",
    }


def _without_tags(text: str) -> str:
    """Keep the Markdown of whoever keeps the board, and nothing that a browser or a terminal would obey."""
    return "\n".join(_TAG.sub("&lt;", plain(line)) for line in text.splitlines())
