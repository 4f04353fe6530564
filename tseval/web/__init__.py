"""Leaderboards and runs as web pages that need no network and no server."""

from tseval.web.board_site import build_board
from tseval.web.report_page import write_report

__all__ = ["build_board", "write_report"]
