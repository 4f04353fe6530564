"""The page of a board: what it is over, its table, and a page from near by for each entry with evidence."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.boards import DEFINITION, ENTRY_FILE, ENTRY_FOLDERS, read_definition, read_entry, suite_of
from tseval.boards.folder import means_over_seeds
from tseval.boards.sources import lacks_evidence, not_shipped
from tseval.errors import BoardError, first_line
from tseval.files import write_text
from tseval.pages.content import PageTopic, entry_page, index_page
from tseval.pages.drill import ItemPages
from tseval.pages.facts import facts_of
from tseval.pages.kept import tabulate_once
from tseval.pages.site import claim_site, remove_former, write_entry_page
from tseval.report import open_sources
from tseval.report.table import BUNDLED_BOARDS, Board, bundled_boards

if TYPE_CHECKING:
    from tseval.boards import Definition
    from tseval.pages.facts import ModelFacts
    from tseval.report.table import Column


def build_board(board: str, site: Path) -> Path:
    """Write the page of a board, and one for each entry that has evidence.

    Args:
        board: A board's folder, or the name of one that comes with tseval.
        site: A folder: new, empty, or that of an earlier page, which is replaced.

    Returns:
        The page.

    Raises:
        BoardError: There is no board, it is wrong, or the folder holds something else.
        RunError: The evidence of an entry is damaged, or the page cannot be written.
        SuiteError: The suite of the board is not here.
    """
    folder = _folder(board)
    definition = read_definition(folder) if (folder / DEFINITION).is_file() else None
    lacking = None
    if definition is not None and not definition.published and lacks_evidence(folder):
        lacking = first_line(not_shipped(folder)).removesuffix(".")
    # Means over seeds have no items to look at, so the page is of the entries, and shows the means besides.
    of_seeds = definition is not None and bool(definition.seeds) and lacking is None
    sources = open_sources([board], items=of_seeds)
    about = _about(folder, definition, next((one for one in sources if isinstance(one, Board)), None))
    if of_seeds:
        about = replace(about, command=f"{about.command}/{ENTRY_FOLDERS}/*")
    claim_site(site)
    kept, table = tabulate_once(sources)
    models = [_facts(folder, about, column) for column in table.columns]
    means = None
    if definition is not None and (runs := [run for run in kept if run is not None]):
        means = means_over_seeds(definition, [run.for_table() for run in runs])
        pages = ItemPages(table, suite_of(definition, folder), kept)
        models = [
            replace(model, items=None if run is None else (f"{ENTRY_FOLDERS}/{model.heading}.html", ""))
            for model, run in zip(models, kept, strict=True)
        ]
        for place, model in enumerate(models):
            if model.items is not None:
                write_entry_page(site / model.items[0], entry_page(about, model, pages.rows(place)))
    write_text(site / "index.html", index_page(about, table, models, means, lacking=lacking))
    remove_former(site, {model.items[0] for model in models if model.items})
    return site / "index.html"


def _folder(board: str) -> Path:
    """Find a board, which may be one that comes with tseval."""
    return BUNDLED_BOARDS / board if not Path(board).exists() and board in bundled_boards() else Path(board)


def _about(folder: Path, definition: Definition | None, published: Board | None) -> PageTopic:
    """Say what the page is over: what the definition says, or, without one, a board of accuracies alone."""
    name = folder.resolve().name
    if definition is not None:
        return PageTopic(
            name=name,
            title=definition.title,
            command=f"tseval table {shlex.quote(name)}",
            text=definition.text,
            source=definition.source,
            rules=definition.rules,
            verify=f"tseval verify {shlex.quote(name)}",
        )
    if published is None:
        raise BoardError(
            f"{folder} is no board.\n"
            f"  For the page of runs: tseval report {shlex.quote(str(folder))} -o page.html"
        )
    return PageTopic(
        name=published.name,
        title=published.title,
        command=f"tseval table {shlex.quote(name)}",
        source=published.source,
    )


def _facts(board: Path, about: PageTopic, column: Column) -> ModelFacts:
    folder = board / ENTRY_FOLDERS / column.heading
    entry = None if column.published or not (folder / ENTRY_FILE).is_file() else read_entry(folder)
    where = about.name if entry is None else f"{about.name}/{ENTRY_FOLDERS}/{column.heading}"
    return facts_of(column, entry, shlex.quote(where), on_a_board=True)
