"""What is written into a board's folder, and never edited: `board.json` and `README.md`."""

from __future__ import annotations

import re
from shlex import quote
from typing import TYPE_CHECKING

from tabulate import tabulate

from tseval.boards.accuracies import accuracies, in_groups, means_over_seeds
from tseval.boards.entry import ENTRY_FOLDERS, About, entry_folders, entry_runs, read_entry
from tseval.boards.published import published_board, published_entry
from tseval.errors import BoardError, plain, suggest
from tseval.files import write_text
from tseval.report import build_table, render
from tseval.report.document import interval, mean_rank, rank_set, share
from tseval.report.formats import code, markdown
from tseval.report.table import BUNDLED_BOARDS, board_text, bundled_boards, column_of, read_board
from tseval.runs import keep_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.boards.definition import Definition
    from tseval.report import Table
    from tseval.report.table import Board, Column
    from tseval.runs import Run

ACCURACIES, BOARD_PAGE = "board.json", "README.md"
WRITTEN = "Written by `tseval board`; do not edit."
# What begins a tag of HTML, in texts that are Markdown on purpose.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def pages(board: Path, definition: Definition, runs: Sequence[Run]) -> dict[str, str]:
    """Give the texts of the files that follow from definition and entries, by name.

    Args:
        board: Its folder.
        definition: What it is over.
        runs: Its entries; none of a board of published accuracies.

    Raises:
        BoardError: A published entry is wrong, or the board to be shown beside is none.
    """
    runs = [one.for_table() for one in keep_runs(runs)]  # several tables read them
    columns = {run.name: column_of(run) for run in runs}
    numbers = _numbers(board, definition, columns)
    page = "\n\n".join(_page(board, definition, runs, columns, numbers)) + "\n"
    return {BOARD_PAGE: page} | ({} if numbers is None else {ACCURACIES: board_text(numbers)})


def write_pages(board: Path, definition: Definition) -> None:
    """Write these files.

    Raises:
        BoardError: An entry is wrong.
        RunError: The evidence of one is not here, or they cannot be written.
    """
    folders = [] if definition.published else entry_folders(board, definition.order)
    for name, text in pages(board, definition, entry_runs(folders)).items():
        write_text(board / name, text)


def _numbers(board: Path, definition: Definition, columns: Mapping[str, Column]) -> Board | None:
    """Give what stands in `board.json`; None while there are no entries."""
    if definition.published:
        return published_board(board, definition)
    if not columns:
        return None
    groups = in_groups(definition, columns)
    of_seeds = {heading: [columns[name] for name in names] for heading, names in groups.items()}
    return accuracies(board.resolve().name, definition, of_seeds)


def _page(
    board: Path,
    definition: Definition,
    runs: Sequence[Run],
    columns: Mapping[str, Column],
    numbers: Board | None,
) -> Iterator[str]:
    """Write what the board is over, its table, and what is known of each entry."""
    name = board.resolve().name
    yield f"# {markdown(definition.title)}"
    yield WRITTEN
    if definition.text:
        yield _without_tags(definition.text.strip())
    yield f"Suite: {code(definition.suite)}, digest {code(definition.digest)}, score `{definition.score}`."
    if definition.source:
        yield f"Source: {markdown(definition.source)}"
    if definition.rules:
        yield "## Rules\n\n" + "\n".join(f"- {markdown(rule)}" for rule in definition.rules)
    if numbers is not None:
        yield from _results(name, definition, runs, columns, numbers)
        shown = numbers.models if definition.published else runs
        told = {one.name: _about_entry(board / ENTRY_FOLDERS / one.name, definition) for one in shown}
        if facts := [{"model": markdown(name), **facts} for name, facts in told.items() if facts]:
            yield "## The entries"
            yield tabulate(facts, headers="keys", tablefmt="pipe", disable_numparse=True)
    yield "## Check it"
    yield f"    tseval verify {quote(name)}"
    if definition.published:
        yield "It says that the entries are whole: of published accuracies, nothing else can be known."
    else:
        yield "With a model at hand, `--model MODEL` asks it again."


def _results(
    name: str, definition: Definition, runs: Sequence[Run], columns: Mapping[str, Column], numbers: Board
) -> Iterator[str]:
    """Write the tables: of the entries or of means over seeds, how sure these are, and beside a paper."""
    of_seeds = means_over_seeds(definition, runs)
    shown = [numbers] if definition.published or of_seeds is not None else list(columns.values())
    table = build_table(shown)
    yield "## The table"
    yield f"    tseval table {quote(name)}"
    yield render(table).rstrip()
    if of_seeds is not None:
        yield "## Seeds"
        yield (
            "Means over seeds, ± the standard deviation between them; intervals hold for other words, and "
            "for other seeds where there are several."
        )
        yield render(of_seeds).rstrip()
    if table.ranking is not None:
        yield from _ranks(table)
    if definition.beside is not None:
        if definition.beside not in bundled_boards():
            known = suggest(definition.beside, bundled_boards(), "Boards")
            raise BoardError(f"{name}: beside: there is no board {definition.beside!r}.\n  {known}")
        paper = read_board(BUNDLED_BOARDS / definition.beside)
        yield "## Beside the paper"
        yield f"    tseval table {quote(name)} {definition.beside}"
        yield render(build_table([*shown, paper])).rstrip()


def _ranks(table: Table) -> Iterator[str]:
    """Write which ranks are known; a mean over several seeds has no verdicts to tell them by."""
    found, means = table.ranking, table.means[-1]
    assert found is not None
    rows = []
    for place, column in enumerate(table.columns):
        accuracy, rank, overall = means.accuracy[place], means.rank[place], table.overall[place]
        if accuracy is None or rank is None or overall is None:
            continue  # a model that decides nothing in some row has no mean, and no rank
        known = rank_set(overall, found.overall.low[place], found.overall.high[place])
        sure = interval((found.low[place], found.high[place]), 2)
        rows.append((column.heading, share(accuracy), known, mean_rank(rank), sure))
    headings = ("model", "mean accuracy", "rank by it", "mean arithmetic rank", "95% interval")
    yield "## Which ranks are known"
    yield (
        "In brackets stand the ranks that a model may have, all of them right together with 95% confidence: "
        "for other words of the same kind, and these very models. Another seed may change them."
    )
    yield tabulate(
        rows, headers=headings, tablefmt="pipe", colalign=("left", *["right"] * 4), disable_numparse=True
    )


def _about_entry(folder: Path, definition: Definition) -> dict[str, str]:
    """Tell what is said of an entry, and how far it was checked; nothing where nothing is said."""
    if definition.published:
        about = published_entry(folder, definition).about
        return {} if about == About() else _about(about)
    entry = read_entry(folder)
    last = entry.checks[-1] if entry.checks else None
    return {
        **_about(entry.about),
        "fingerprint": markdown(entry.fingerprint[:16]),
        "checked": f"{last.level}, {markdown(last.by)}, {markdown(last.on)}" if last else "–",
    }


def _about(about: About) -> dict[str, str]:
    return {
        "licence": markdown(about.licence or "–"),
        "trained on": markdown(about.training_data or "–"),
        "holds the suite": about.contains_suite,
        "contact": markdown(about.contact or "–"),
    }


def _without_tags(text: str) -> str:
    """Keep the Markdown of whoever keeps the board, and nothing that a browser or a terminal would obey."""
    return "\n".join(_TAG.sub("&lt;", plain(line)) for line in text.splitlines())
