"""Recurrent cells by name. A new cell is one file here with one class, which states its `name`."""

from __future__ import annotations

import inspect
from importlib import import_module
from pkgutil import iter_modules

from tseval.models.cells.cell import Cell

# The order of lists and tables; a cell that is not among these comes after them, by its name.
FIRST = (
    "srn", "gru", "lstm", "eirnn", "drnn", "sdrnn", "abdrnn", "drnn-cnn", "ablated-lstm", "onlstm", "urn",
)  # fmt: skip


def _find() -> dict[str, type[Cell]]:
    """Import the modules of this folder, and give the cells that they define."""
    found: dict[str, type[Cell]] = {}
    for file in iter_modules(__path__):
        module = import_module(f"{__name__}.{file.name}")
        for _, cell in inspect.getmembers(module, inspect.isclass):
            if cell.__module__ == module.__name__ and issubclass(cell, Cell) and "name" in vars(cell):
                assert cell.name not in found, f"{cell.__name__} and another cell are called {cell.name}"
                found[cell.name] = cell
    return {name: found[name] for name in sorted(found, key=_place)}


def _place(name: str) -> tuple[int, str]:
    return FIRST.index(name) if name in FIRST else len(FIRST), name


CELLS = _find()
