"""Recurrent cells by name. A new cell is one file here with one class, which states its `name`."""

from tseval.models.cells.registry import CELLS

__all__ = ["CELLS"]
