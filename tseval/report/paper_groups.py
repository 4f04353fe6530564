"""Several suites in the texts for a paper."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.analysis.intervals import confidence_percent
from tseval.report.writers.latex_float import as_latex_floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.report.document import Document


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
    return as_latex_floats(grid, caption, "suites", ())
