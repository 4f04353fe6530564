"""Groups of runs, and several suites, in the texts for a paper."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.analysis.intervals import confidence_percent
from tseval.report.writers.latex import as_latex_float

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.report.document import Document


def named_groups(groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names of groups, each with the number of its runs if there are several.

    >>> named_groups({"drop": ["drop-s1", "drop-s2"], "srn": ["srn"]})
    ['drop (2 seeds)', 'srn']
    """
    return [f"{name} ({len(runs)} seeds)" if len(runs) > 1 else name for name, runs in groups.items()]


def seeds_in_caption(groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the sentence of a caption that explains means over seeds; none without groups."""
    several = any(len(runs) > 1 for runs in groups.values())
    return [r"Means over seeds $\pm$ the standard deviation between seeds."] if several else []


def joined_references(references: Sequence[str]) -> str:
    """Return the BibTeX entries of several papers, each entry once."""
    entries = [entry for text in references for entry in re.split(r"^(?=@)", text, flags=re.MULTILINE)]
    return "\n".join(dict.fromkeys(entry.strip() for entry in entries if entry.strip())) + "\n"


def table_of_suites(summary: Document, *, intervals: bool) -> str:
    """Return the means of all suites as a floating table."""
    grid = summary.grids[0]
    if not intervals:
        grid = grid.only([index for index, field in enumerate(grid.fields) if not field.joined])
    caption = "Mean accuracy over the rows of each suite, each row counted once."
    if intervals:
        caption += f" With {confidence_percent().replace('%', '')}\\% intervals."
    return as_latex_float(grid, caption, "suites")
