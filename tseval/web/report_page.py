"""The page of `tseval report`: runs, and boards beside them, in one file."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from tseval.boards.sources import open_sources
from tseval.errors import RunError, SuiteError, counted, first_line
from tseval.files import write_text
from tseval.suites import load_suite
from tseval.web.facts import facts_of
from tseval.web.pages import index_page
from tseval.web.row_pages import ItemPages
from tseval.web.tables import tabulate_once
from tseval.web.topic import PageTopic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


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
                    f"the suite {suite.name} on this machine has the digest {suite.digest[:8]}, but the "
                    f"runs used the digest {stated.digest[:8]}: use the version of the runs"
                )
            pages = ItemPages(table, suite, kept)
            sections = {place: pages.rows(place) for place, run in enumerate(kept) if run is not None}
    except (RunError, SuiteError) as error:
        lacking = first_line(error).removesuffix(".")
        if spec is not None:
            raise SuiteError(
                f"--suite {spec}: {lacking}.\n  Name the suite that the runs scored with --suite."
            ) from None
    models = [
        replace(model, items=("", f"m{place}-") if place in sections else None)
        for place, model in enumerate(models)
    ]
    about = replace(about, lacking=lacking)
    write_text(output, index_page(about, table, models, sections=sections))
    return lacking
