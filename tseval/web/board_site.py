"""The pages of `tseval board build`: the table of a board, and a page for each entry."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.analysis.estimate_cache import estimates_kept
from tseval.analysis.intervals import confidence_level, confidence_percent
from tseval.boards import (
    ENTRY_FOLDERS,
    entry_folders,
    entry_on_board,
    ranked_folders,
    read_checks,
    readable_entries,
)
from tseval.boards.definition import Definition, read_definition
from tseval.boards.entry_folders import split_suite_of, suites_shared
from tseval.boards.flags import flags_of
from tseval.boards.readme import chosen_among, means_over_seeds
from tseval.boards.sources import boards_below, lacks_evidence, not_shipped, open_sources
from tseval.errors import BoardError, first_line, plain
from tseval.files import read_bytes, write_text, write_whole
from tseval.report import render
from tseval.report.numbers import format_interval, format_rank_set, format_rounded_difference, format_share
from tseval.report.published import BUNDLED_BOARDS, Board, bundled_boards
from tseval.report.table import of_board
from tseval.runs import DEFINITION, ENTRY_FILE
from tseval.web.citation import bibtex
from tseval.web.facts import ModelFacts, facts_of
from tseval.web.feed import feed_files
from tseval.web.pages import entry_page, index_page, moved_page, pair_pages, write_list
from tseval.web.row_pages import ItemPages
from tseval.web.tables import tabulate_once
from tseval.web.topic import PageTopic, topic_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.report.columns import Column
    from tseval.report.table import Table


GENERATOR = '<meta name="generator" content="tseval">'


def claim_site(site: Path) -> None:
    """Check that tseval may write a page into a folder, and create the folder."""
    index = site / "index.html"
    try:
        if site.is_dir() and any(site.iterdir()) and not (index.is_file() and _is_ours(index)):
            raise BoardError(
                f"{site} contains files that are not pages of tseval, and tseval does not mix its pages "
                "with them.\n"
                "  Name a new folder for the pages."
            )
        site.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BoardError(
            f"{site}: tseval cannot write into this folder ({error.strerror or error}).\n"
            "  Name another folder for the pages."
        ) from None


def _is_ours(page: Path) -> bool:
    with page.open(encoding="utf-8", errors="replace") as file:
        return GENERATOR in file.read(4096)


@suites_shared()
def build_board(board: str, site: Path) -> Path:
    """Write the page of a board and a page for each entry with evidence, and return the board's page.

    The folder must be new or empty, or contain an earlier page, which is replaced.
    """
    bundled = not Path(board).exists() and board in bundled_boards()
    folder = BUNDLED_BOARDS / board if bundled else Path(board)
    with estimates_kept(f"{folder.resolve()} pages {confidence_level()}"):
        return _build(board, folder, site)


def _build(board: str, folder: Path, site: Path) -> Path:
    boards = [] if (folder / DEFINITION).is_file() else boards_below(folder)
    if boards:
        return _build_boards(folder, boards, site)
    definition = read_definition(folder) if (folder / DEFINITION).is_file() else None
    reason = None
    if definition is not None and not definition.published and lacks_evidence(folder):
        reason = first_line(not_shipped(folder)).removesuffix(".")
    # Means over seeds have no items, so the page shows the entries, and the means in an extra table.
    of_seeds = definition is not None and bool(definition.seeds) and reason is None
    sources = open_sources([board], items=of_seeds)
    topic = topic_of(
        folder, definition, next((source for source in sources if isinstance(source, Board)), None)
    )
    if of_seeds:
        topic = replace(topic, command=f"{topic.command}/{ENTRY_FOLDERS}/*")
    claim_site(site)
    runs_of_columns, table = tabulate_once(sources)
    table = of_board(table)
    models = [_facts(folder, topic, column, definition) for column in table.columns]
    means = None
    if definition is not None and (runs := [run for run in runs_of_columns if run is not None]):
        means = means_over_seeds(definition, [run.for_table() for run in runs])
        pages = ItemPages(table, split_suite_of(folder, definition).suite, runs_of_columns)
        models = [
            replace(model, items=None if run is None else (f"{ENTRY_FOLDERS}/{model.heading}.html", ""))
            for model, run in zip(models, runs_of_columns, strict=True)
        ]
    if definition is not None and any(runs_of_columns):
        split = split_suite_of(folder, definition)
        flags = flags_of(ranked_folders(folder, definition), split)
        models = [replace(model, flags=tuple(map(plain, flags.get(model.heading, ())))) for model in models]
    texts: dict[str, str] = {}
    for index, model in enumerate(models):
        if model.items is not None:
            facts = _with_standing(model, table, index, topic)
            texts[model.items[0]] = entry_page(topic, facts, pages.rows(index))
    if len(models) > MOST_INLINE:
        topic = replace(topic, files={"table.csv": "Table as csv", "table.tex": "as LaTeX"})
        texts |= {"table.csv": render(table, "csv"), "table.tex": render(table, "latex")}
        compared = pair_pages(topic, table, models, with_tests=len(models) <= MOST_PAIRED)
        texts |= {f"{PAIRS}/{name}.html": page for name, page in compared}
    if definition is not None and not definition.published:
        texts |= _moved_pages(folder, topic) | feed_files(folder, topic)
    texts["index.html"] = index_page(replace(topic, lacking=reason), table, models, means)
    _write_site(site, texts)
    for picture in folder.glob("*.svg") if definition is not None else ():  # that its text shows
        write_whole(site / picture.name, read_bytes(picture, "document_bytes"))
    return site / "index.html"


MOST_INLINE = 8  # largest number of models whose data are all on one page
MOST_PAIRED = 50  # with more models, the page has the command that tests a pair
PAIRS = "pairs"


def _write_site(site: Path, texts: Mapping[str, str]) -> None:
    """Write the files of a site, the main page last, and remove pages of entries that no longer exist."""
    for name in texts:
        path = site / name
        if path.suffix == ".html" and path.exists() and not _is_ours(path):
            raise BoardError(
                f"{path} exists already and is not a page of tseval, so tseval does not overwrite it.\n"
                "  Move the file to another place, or name a new folder for the pages."
            )
    for name, text in texts.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(site / name, text)
    written = {site / name for name in texts}
    for folder in (ENTRY_FOLDERS, PAIRS):
        for path in (site / folder).glob("*.html"):
            if path not in written and _is_ours(path):
                path.unlink()


def _moved_pages(folder: Path, about: PageTopic) -> dict[str, str]:
    """Return the pages at old addresses of renamed and retracted entries."""
    pages = {}
    for entry in readable_entries(entry_folders(folder)):
        retracted = about.retracted.get(entry.name)
        address = f"{entry.name}.html" if retracted is None else "../index.html"
        for name in (*entry.aliases, *([] if retracted is None else [entry.name])):
            pages[f"{ENTRY_FOLDERS}/{name}.html"] = moved_page(about, address, entry.name, retracted)
    return pages


def _build_boards(folder: Path, boards: Sequence[Path], site: Path) -> Path:
    """Write the pages of several boards, and a page with links to them."""
    claim_site(site)
    listed = []
    for board in boards:
        name = board.relative_to(folder).as_posix()
        definition = read_definition(board)
        models = ranked_folders(board, definition)
        listed.append((name, topic_of(board, definition, None), len(models)))
        if models:
            build_board(str(board), site / name)
    write_text(site / "index.html", write_list(folder.resolve().name, listed))
    return site / "index.html"


def _with_standing(model: ModelFacts, table: Table, index: int, about: PageTopic) -> ModelFacts:
    """Return a model with the facts on its own page: its rank and its citation."""
    mean, facts = table.means[-1], {}
    if (estimate := mean.estimates[index]) is not None:
        ends = format_interval((estimate.low, estimate.high))
        facts["Mean over rows"] = f"{format_share(estimate.value)}, {confidence_percent()} interval {ends}"
    overall = table.overall[index]
    if table.ranking is not None and overall is not None:
        sets = table.ranking.overall
        rank = format_rank_set(overall, sets.low[index], sets.high[index])
        facts["Rank"] = f"{rank} of {len(table.columns)}"
    if (hidden := model.hidden) is not None:
        ends = format_interval(hidden.difference_interval)
        suffix = ", worse" if hidden.worse else ""
        facts["Hidden words"] = (
            f"{format_share(hidden.mean)}, {format_rounded_difference(hidden.difference)}, "
            f"95% interval {ends}{suffix}"
        )
    title = f"{model.label or model.heading} on {about.title}"
    cited = {**about.cited, "author": model.facts.get("Submitted by") or about.cited.get("author")}
    citation = bibtex(f"{about.name}-{model.heading}", title, None, model.signature or about.command, cited)
    return replace(model, facts={**facts, **model.facts}, citation=citation)


def _facts(board: Path, about: PageTopic, column: Column, definition: Definition | None) -> ModelFacts:
    folder = board / ENTRY_FOLDERS / column.heading
    if definition is None or column.published or not (folder / ENTRY_FILE).is_file():
        return facts_of(column, None, shlex.quote(about.name), on_a_board=True)
    checks = read_checks(board)
    entry = entry_on_board(folder, definition, checks)
    path = shlex.quote(f"{about.name}/{ENTRY_FOLDERS}/{column.heading}")
    facts = facts_of(column, entry, path, on_a_board=True, seeds=chosen_among(entry, definition))
    return replace(facts, hidden=checks.hidden.get(entry.name))
