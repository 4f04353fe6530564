"""Recurrent cells by name. A new cell is one file with one class and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.models.cells.decay import EIRNN, AblatedDecayRNN, DecayRNN, SlackedDecayRNN
from tseval.models.cells.drnn_cnn import ConvolutionalDecayRNN
from tseval.models.cells.gru import GRU
from tseval.models.cells.lstm import LSTM, AblatedLSTM
from tseval.models.cells.onlstm import ONLSTM
from tseval.models.cells.srn import SRN
from tseval.models.cells.urn import URN

if TYPE_CHECKING:
    from tseval.models.cells.cell import Cell

CELLS: dict[str, type[Cell]] = {
    "srn": SRN,
    "gru": GRU,
    "lstm": LSTM,
    "eirnn": EIRNN,
    "drnn": DecayRNN,
    "sdrnn": SlackedDecayRNN,
    "abdrnn": AblatedDecayRNN,
    "drnn-cnn": ConvolutionalDecayRNN,
    "ablated-lstm": AblatedLSTM,
    "onlstm": ONLSTM,
    "urn": URN,
}
