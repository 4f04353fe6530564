"""Recurrent cells by name. A new cell is one file in this folder with one class that has a `name`."""

from tseval.models.cells.registry import CELLS

__all__ = ["CELLS"]
