"""Recurrent cells by name. A new cell is one file with one class and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.models.cells.drnn import DecayRNN
from tseval.models.cells.gru import GRU
from tseval.models.cells.lstm import LSTM
from tseval.models.cells.srn import SRN

if TYPE_CHECKING:
    from tseval.models.cells.cell import Cell

CELLS: dict[str, type[Cell]] = {"srn": SRN, "gru": GRU, "lstm": LSTM, "drnn": DecayRNN}
