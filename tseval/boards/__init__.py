"""Leaderboards as folders: a definition, and entries with the evidence that their numbers follow from."""

from tseval.boards.dates import check_dates, is_date, today
from tseval.boards.entry import (
    ENTRY_NAME,
    LONGEST_NAME,
    About,
    Checked,
    Entry,
    EntryRow,
    PublishedEntry,
    check_about,
    read_entry,
    read_published,
    rows_of,
    write_entry,
)
from tseval.boards.entry_folders import (
    ENTRY_FOLDERS,
    entry_folders,
    entry_on_board,
    entry_runs,
    ranked_folders,
    readable_entries,
)
from tseval.boards.maintainer import CHECKS, BoardChecks, Hidden, checks_text, read_checks
from tseval.boards.published import published_board, published_entry
from tseval.report.published import Retraction

__all__ = [
    "CHECKS",
    "ENTRY_FOLDERS",
    "ENTRY_NAME",
    "LONGEST_NAME",
    "About",
    "BoardChecks",
    "Checked",
    "Entry",
    "EntryRow",
    "Hidden",
    "PublishedEntry",
    "Retraction",
    "check_about",
    "check_dates",
    "checks_text",
    "entry_folders",
    "entry_on_board",
    "entry_runs",
    "is_date",
    "published_board",
    "published_entry",
    "ranked_folders",
    "read_checks",
    "read_entry",
    "read_published",
    "readable_entries",
    "rows_of",
    "today",
    "write_entry",
]
