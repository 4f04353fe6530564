"""The page of one's own runs: one file that holds everything."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.errors import RunError, SuiteError, counted, first_line
from tseval.files import write_text
from tseval.pages.content import PageTopic, index_page
from tseval.pages.drill import ItemPages
from tseval.pages.facts import facts_of
from tseval.pages.kept import tabulate_once
from tseval.report import open_sources
from tseval.suites import load_suite

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.items import Suite
    from tseval.runs import Kept


def write_report(
    names: Sequence[str], output: Path, spec: str | None = None, title: str | None = None
) -> str | None:
    """Write the page of runs, and of boards beside them.

    Args:
        names: As `tseval.report.open_sources` takes them.
        output: The file.
        spec: Where the suite of the runs is, for their items; None for the name that they state.
        title: Of the page; None for what it is over.

    Returns:
        Why runs have no items on the page; None where they have.

    Raises:
        RunError: A run cannot be read, they are over different items, or the file cannot be written.
        BoardError: A board cannot be read.
        SuiteError: There is no suite where one was said to be, or it is another one.
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
            pages = ItemPages(table, _suite_of(kept, spec), kept)
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


def _suite_of(kept: Sequence[Kept | None], spec: str | None) -> Suite:
    """Find the suite of runs.

    Raises:
        SuiteError: There is none, or it is another one.
    """
    stated = next(one.run.manifest.suite for one in kept if one is not None)
    suite = load_suite(spec or stated.name, columns=stated.columns)
    if stated.complete and suite.digest != stated.digest:  # items of a part are looked for one by one
        raise SuiteError(
            f"the suite {suite.name} here has the digest {suite.digest[:8]}, the runs {stated.digest[:8]}"
        )
    return suite
