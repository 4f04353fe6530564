"""Leaderboards and runs as web pages that need no network and no server."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.boards import ENTRY_FILE, ENTRY_FOLDERS, checked_entry
from tseval.boards.definition import DEFINITION, Definition, read_definition, suite_of
from tseval.boards.readme import means_over_seeds
from tseval.boards.sources import lacks_evidence, not_shipped, open_sources
from tseval.errors import BoardError, RunError, SuiteError, counted, first_line
from tseval.files import write_text
from tseval.pages.content import ModelFacts, PageTopic, entry_page, facts_of, index_page, tabulate_once
from tseval.pages.items import ItemPages
from tseval.report.boards import BUNDLED_BOARDS, Board, bundled_boards
from tseval.suites import load_suite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.report.columns import Column


GENERATOR = '<meta name="generator" content="tseval">'


def claim_site(site: Path) -> None:
    """Make sure that a page may be written into a folder."""
    index = site / "index.html"
    try:
        if site.is_dir() and any(site.iterdir()) and not (index.is_file() and _is_ours(index)):
            raise BoardError(f"{site} holds what is no page of tseval.\n  Name a new folder for the page.")
        site.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BoardError(
            f"{site} cannot be written into: {error.strerror or error}.\n  Name another folder."
        ) from None


def _is_ours(page: Path) -> bool:
    with page.open(encoding="utf-8", errors="replace") as file:
        return GENERATOR in file.read(4096)


def build_board(board: str, site: Path) -> Path:
    """Write the page of a board, and one for each entry that has evidence; give the page.

    The folder is new, empty, or that of an earlier page, which is replaced.
    """
    bundled = not Path(board).exists() and board in bundled_boards()
    folder = BUNDLED_BOARDS / board if bundled else Path(board)
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
                path = site / model.items[0]
                if path.exists() and not _is_ours(path):
                    raise BoardError(
                        f"{path} is no page of tseval.\n  Move it away, or name a new folder for the page."
                    )
                path.parent.mkdir(exist_ok=True)
                write_text(path, entry_page(about, model, pages.rows(place)))
    write_text(site / "index.html", index_page(about, table, models, means, lacking=lacking))
    written = {site / model.items[0] for model in models if model.items}
    for path in (site / ENTRY_FOLDERS).glob("*.html"):  # entries that are no longer there
        if path not in written and _is_ours(path):
            path.unlink()
    return site / "index.html"


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
    entry = None if column.published or not (folder / ENTRY_FILE).is_file() else checked_entry(folder)
    where = about.name if entry is None else f"{about.name}/{ENTRY_FOLDERS}/{column.heading}"
    return facts_of(column, entry, shlex.quote(where), on_a_board=True)


def write_report(
    names: Sequence[str], output: Path, spec: str | None = None, title: str | None = None
) -> str | None:
    """Write the page of runs, and of boards beside them.

    Args:
        spec: Where the suite of the runs is, for their items; None for the name that they state.
    """
    kept, table = tabulate_once(open_sources(names))
    what = f"{counted(len(table.columns), 'model')} on {table.columns[0].suite}"
    about = PageTopic(name="report", title=title or what, command=shlex.join(["tseval", "table", *names]))
    places = [shlex.quote(name) for name in names] if len(names) == len(table.columns) else None
    models = [
        facts_of(column, None, None if places is None else places[place], on_a_board=False)
        for place, column in enumerate(table.columns)
    ]
    sections, lacking = {}, None
    try:
        if any(kept):
            stated = next(one.run.manifest.suite for one in kept if one is not None)
            suite = load_suite(spec or stated.name, columns=stated.columns)
            if stated.complete and suite.digest != stated.digest:  # items of a part are looked for one by one
                raise SuiteError(
                    f"the suite {suite.name} here has the digest {suite.digest[:8]}, "
                    f"the runs {stated.digest[:8]}"
                )
            pages = ItemPages(table, suite, kept)
            sections = {place: pages.rows(place) for place, run in enumerate(kept) if run is not None}
    except (RunError, SuiteError) as error:
        lacking = first_line(error).removesuffix(".")
        if spec is not None:
            raise SuiteError(f"{spec}: {lacking}.\n  Name the suite that the runs are over.") from None
    models = [
        replace(model, items=("", f"m{place}-") if place in sections else None)
        for place, model in enumerate(models)
    ]
    write_text(output, index_page(about, table, models, sections=sections, lacking=lacking))
    return lacking
