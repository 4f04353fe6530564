"""Leaderboards and runs as web pages that need no network and no server."""

from tseval.pages.board_site import build_board
from tseval.pages.report_page import write_report

__all__ = ["build_board", "write_report"]
