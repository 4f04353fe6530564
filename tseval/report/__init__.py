"""Tables of runs and published boards, as Markdown, CSV, JSON and LaTeX."""

from tseval.boards.sources import open_sources
from tseval.report.render import FORMATS, Format, render
from tseval.report.table import Table, build_table
from tseval.report.told import told_of

__all__ = ["FORMATS", "Format", "Table", "build_table", "open_sources", "render", "told_of"]
