"""The texts for a paper about runs on several suites."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.analysis.intervals import confidence_percent
from tseval.report.analyses.seeds import seeds_table
from tseval.report.paper import Paper, write_up
from tseval.report.suite_tables import names_across_suites, summary_of_tables
from tseval.report.writers.latex_float import as_latex_floats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.report.document import Document
    from tseval.report.opened import RunSet
    from tseval.runs import Run


def write_up_suites(
    suites: Mapping[str, tuple[RunSet, Mapping[str, Sequence[str]] | None, Sequence[Run]]],
    *,
    intervals: bool = False,
) -> Paper:
    """Return the texts for a paper about runs: a paragraph and a table for each suite.

    For several suites, the first table has the mean over the rows of each suite. Each work is cited once.

    Args:
        suites: For each suite its opened runs, their groups (None for models without groups), and the runs.
    """
    papers = [write_up(opened, groups, intervals=intervals) for opened, groups, _ in suites.values()]
    if len(papers) == 1:
        return papers[0]
    blocks = {
        suite: seeds_table(opened, groups or {name: [name] for name in opened.verdicts})
        for suite, (opened, groups, _) in suites.items()
    }
    summary = summary_of_tables(
        blocks, names_across_suites({suite: runs for suite, (*_, runs) in suites.items()})
    )
    tables = [paper.table for paper in papers]
    if summary is not None:
        tables.insert(0, _table_of_suites(summary, intervals=intervals))
    return Paper(
        _joined_references([paper.references for paper in papers]),
        "\n\n".join(paper.methods.strip() for paper in papers) + "\n",
        "\n".join(tables),
    )


def _joined_references(references: Sequence[str]) -> str:
    """Join the BibTeX entries of several papers, each entry once."""
    entries = [entry for text in references for entry in re.split(r"^(?=@)", text, flags=re.MULTILINE)]
    return "\n".join(dict.fromkeys(entry.strip() for entry in entries if entry.strip())) + "\n"


def _table_of_suites(summary: Document, *, intervals: bool) -> str:
    """Return the means of all suites as a floating table."""
    grid = summary.grids[0]
    if not intervals:
        grid = grid.only([index for index, field in enumerate(grid.fields) if not field.joined])
    caption = "Mean accuracy over the rows of each suite, each row counted once."
    if intervals:
        caption += f" With {confidence_percent().replace('%', '')}\\% intervals."
    return as_latex_floats(grid, caption, "suites", ())
