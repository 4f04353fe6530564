"""Documents as CSV, safe for spreadsheets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pandas as pd

from tseval.errors import plain

if TYPE_CHECKING:
    from tseval.report.document import Document

FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def as_csv(document: Document) -> str:
    """Return the records of a document as CSV lines."""
    rows = document.records.astype(object)
    for name in rows.columns:
        cells = [cell(value) if isinstance(value, str) else value for value in rows[name]]
        # Otherwise, pandas would turn whole numbers next to a missing value into floats.
        rows[name] = pd.Series(cells, rows.index, dtype=object)
    return rows.rename(columns=cell).to_csv(index=False, lineterminator="\n")


def cell(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula.

    Source: OWASP, "CSV Injection".
    """
    text = plain(text)
    return f"'{text}" if FORMULA.match(text) else text
