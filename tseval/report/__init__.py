"""Tables of runs and published boards, and analyses, as Markdown, CSV, JSON and LaTeX."""

from tseval.report.rendering import FORMATS, Format, render
from tseval.report.sources import document_of
from tseval.report.table import Table, build_table

__all__ = ["FORMATS", "Format", "Table", "build_table", "document_of", "render"]
