"""Files of a board for programs: its accuracies, and a feed of its entries."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from tseval.boards import ENTRY_FOLDERS
from tseval.boards.readme import ACCURACIES
from tseval.files import read_bytes
from tseval.report.published import read_board

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.web.topic import PageTopic

FEED = "feed.xml"


def feed_files(folder: Path, about: PageTopic) -> dict[str, str]:
    """Return a board's files for programs: its accuracies, and the feed of its entries (newest first)."""
    if not (folder / ACCURACIES).is_file():
        return {}
    text = read_bytes(folder / ACCURACIES, "document_bytes").decode()
    address = (about.cited.get("url") or "").rstrip("/")
    entries = sorted(read_board(folder).entries, key=lambda entry: (entry.date or "", entry.id), reverse=True)
    items = []
    for entry in entries[:100]:
        link = f"{address}/{ENTRY_FOLDERS}/{entry.id}.html" if address else f"{ENTRY_FOLDERS}/{entry.id}.html"
        description = f"retracted: {entry.retracted.reason}" if entry.retracted else entry.signature
        date = "" if entry.date is None else f"<pubDate>{_as_in_mail(entry.date)}</pubDate>"
        items.append(
            f"<item><title>{escape(entry.name)}</title><link>{escape(link)}</link>"
            f'<guid isPermaLink="false">{escape(f"{about.name}/{entry.id}")}</guid>{date}'
            f"<description>{escape(description)}</description></item>"
        )
    head = f"<title>{escape(about.title)}</title><link>{escape(address or 'index.html')}</link>"
    feed = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>\n'
        f"{head}<description>New entries</description>\n" + "\n".join(items) + "\n</channel></rss>\n"
    )
    return {ACCURACIES: text, FEED: feed}


def _as_in_mail(date: str) -> str:
    """Return a date in the format of feeds (RFC 822)."""
    return format_datetime(datetime.fromisoformat(date).replace(tzinfo=UTC))
