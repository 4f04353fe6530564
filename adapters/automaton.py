"""Automata as models: the state after a prefix is a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tseval.adapters.native import encode_words
from tseval.models.vocabulary import EOS, UNK
from tseval.scoring.protocol import ModelCard

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tseval.checked import Json
    from tseval.models.oracles.automaton import Automaton
    from tseval.scoring.protocol import Encoded

StackState = tuple[torch.Tensor, ...]


class AutomatonModel:
    """An automaton, ready to be advanced prefix by prefix.

    Args:
        automaton: Its tables.
    """

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        protocol: dict[str, Json] = {
            "start": EOS,
            "state": "fresh",
            "unknown": UNK,
            "lowercase": False,
            "dtype": "float32",
        }
        self.card = ModelCard(
            name=automaton.name,
            kind="automaton",
            fingerprint=automaton.fingerprint,
            protocol=protocol,
            details={
                "architecture": "automaton",
                "hidden": automaton.n_stacks,
                "vocabulary": len(automaton.vocabulary),
                "device": "cpu",
            },
        )

    def __repr__(self) -> str:
        return self.card.show(self)

    @property
    def row_bytes(self) -> int:
        """Memory that one row of a state takes."""
        return 8

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Bring sentences to the vocabulary."""
        return encode_words(self.automaton.vocabulary.ids(), sentences)

    def start(self) -> StackState:
        """Give the state before a string, one row."""
        return (torch.zeros(1, 1, dtype=torch.int64),)

    def advance(self, state: StackState, tokens: np.ndarray) -> StackState:
        """Read one more symbol in every row."""
        after = self.automaton.after[state[0][:, 0].numpy(), tokens]
        return (torch.from_numpy(after.astype("int64"))[:, None],)

    def logprobs(self, state: StackState, rows: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Give log-probabilities of next symbols, (words,) float32, in nats."""
        found: np.ndarray = self.automaton.logprobs[state[0][:, 0].numpy()[rows], tokens]
        return found
