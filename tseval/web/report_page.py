"""The page of `tseval report`: runs, and boards beside them, in one file."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.boards.sources import open_sources
from tseval.errors import RunError, SuiteError, counted, first_line
from tseval.files import write_text
from tseval.runs.suite import load_stated_suite
from tseval.web.facts import facts_of
from tseval.web.pages import AllItems, index_page
from tseval.web.row_pages import ItemPages
from tseval.web.tables import tabulate_once
from tseval.web.topic import PageTopic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.report.published import Board
    from tseval.runs import Run
    from tseval.web.row_pages import RowPage


def write_report(
    names: Sequence[str], output: Path, spec: str | None = None, title: str | None = None
) -> str | None:
    """Write the page of runs and boards; return why it has no single items, if so."""
    page, lacking = report_page(open_sources(names), names, spec, title)
    write_text(output, page)
    return lacking


def report_page(
    sources: Sequence[Run | Board], names: Sequence[str], spec: str | None = None, title: str | None = None
) -> tuple[str, str | None]:
    """Return the page of runs, and of boards beside them, and why it has no single items, if so.

    Args:
        sources: Opened runs and boards.
        names: What opens them in a command, which the page prints.
        spec: Where the suite of the runs is, for their items; None for the name that they state.
        title: Title of the page; None for what it is about.
    """
    runs, table = tabulate_once(sources)
    what = f"{counted(len(table.columns), 'model')} on {table.columns[0].suite}"
    about = PageTopic(name="report", title=title or what, command=shlex.join(["tseval", "table", *names]))
    quoted = [shlex.quote(name) for name in names] if len(names) == len(table.columns) else None
    models = [
        facts_of(column, None, None if quoted is None else quoted[index], on_a_board=False)
        for index, column in enumerate(table.columns)
    ]
    sections: dict[int, list[RowPage]] = {}
    blocks: dict[str, str] = {}
    with_words, lacking = True, None
    try:
        if any(runs):
            stated = next(cached.run.manifest.suite for cached in runs if cached is not None)
            suite = load_stated_suite(stated, spec)
            if stated.complete and suite.digest != stated.digest:  # items of a part are looked for one by one
                raise SuiteError(
                    f"the suite {suite.name} on this machine has the digest {suite.digest[:8]}, but the "
                    f"runs used the digest {stated.digest[:8]}: use the version of the runs"
                )
            pages = ItemPages(table, suite, runs)
            blocks, with_words = pages.blocks()
            sections = {
                index: pages.with_blocks(index, pages.rows(index))
                for index, run in enumerate(runs)
                if run is not None
            }
    except (RunError, SuiteError) as error:
        lacking = first_line(error).removesuffix(".")
        if spec is not None:
            raise SuiteError(
                f"--suite {spec}: {lacking}.\n  Name the suite that the runs scored with --suite."
            ) from None
    models = [
        replace(model, items=("", f"m{index}-") if index in sections else None)
        for index, model in enumerate(models)
    ]
    about = replace(about, lacking=lacking)
    items = AllItems(sections, blocks, with_words)
    return index_page(about, table, models, items=items), lacking
