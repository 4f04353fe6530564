"""Dates in a board's files, YYYY-MM-DD."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from tseval.formats import ContentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tseval.boards.entry import Checked
    from tseval.boards.maintainer import Hidden
    from tseval.report.published import Retraction


def today() -> str:
    """Return today's date in the format of a board's files."""
    return f"{datetime.now(UTC):%Y-%m-%d}"


def is_date(text: str) -> bool:
    """Return whether a text is a date, YYYY-MM-DD."""
    try:
        return f"{date.fromisoformat(text):%Y-%m-%d}" == text
    except ValueError:
        return False


def check_dates(dated: Iterable[Checked | Retraction | Hidden], where: str) -> None:
    """Refuse records whose date does not have the form YYYY-MM-DD."""
    for record in dated:
        if not is_date(record.on):
            raise ContentError(
                f"should be a date in the form YYYY-MM-DD, but is {record.on!r:.80}", f"{where}.on"
            )
