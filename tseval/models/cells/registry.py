"""Recurrent cells by name: every class with a name in the modules of this folder."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from tseval.models.cells.cell import Cell

# The order in lists and tables; other cells follow in alphabetical order.
FIRST = (
    "srn", "gru", "lstm", "eirnn", "drnn", "sdrnn", "abdrnn", "drnn-cnn", "ablated-lstm", "onlstm", "urn",
)  # fmt: skip


def _find_cells() -> dict[str, type[Cell]]:
    """Import the modules of this folder, and return their cells."""
    cells: dict[str, type[Cell]] = {}
    for file in iter_modules([str(Path(__file__).parent)]):
        module = import_module(f"{__package__}.{file.name}")
        for _, cell in inspect.getmembers(module, inspect.isclass):
            if cell.__module__ == module.__name__ and issubclass(cell, Cell) and "name" in vars(cell):
                assert cell.name not in cells, f"{cell.__name__} and another cell are called {cell.name}"
                cells[cell.name] = cell
    return {name: cells[name] for name in sorted(cells, key=_position)}


def _position(name: str) -> tuple[int, str]:
    return FIRST.index(name) if name in FIRST else len(FIRST), name


CELLS = _find_cells()
