"""Oracles: networks constructed to know a formal language, such as `oracle:dyck-lstm` with k=4,m=3.

They are a positive control of tseval itself: on the suite for their language they are always right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tseval.adapters.native import NativeModel
from tseval.errors import ModelError, suggest
from tseval.models.encoding import OfWords
from tseval.models.oracles import ORACLES, Oracle, build_automaton, build_oracle, refuse_sizes
from tseval.scoring.devices import pick_device
from tseval.scoring.protocol import ModelCard
from tseval.suites.formal.languages import brackets

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from tseval.models.oracles import Automaton

SCHEMES = {"oracle": "open_oracle"}


StackState = tuple[torch.Tensor, ...]
STEEPNESS = 40.0  # H: σ(±20) is 1 and 2e-9 in float32


class AutomatonModel(OfWords):
    """An automaton, which reads prefixes symbol by symbol."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton, self.vocabulary = automaton, automaton.vocabulary
        self._ids = self.vocabulary.ids()
        self.card = self._card("automaton", automaton.name, automaton.n_stacks)

    def _card(self, architecture: str, name: str, hidden: int) -> ModelCard:
        return ModelCard(
            name=name,
            kind=architecture,
            fingerprint=self.automaton.fingerprint,
            protocol=self.protocol_of_words(),
            details={
                "architecture": architecture,
                "hidden": hidden,
                "vocabulary": len(self.vocabulary),
                "device": "cpu",
            },
        )

    @property
    def row_bytes(self) -> int:
        """Bytes of memory per row of a state."""
        return 8

    def start(self) -> StackState:
        """Return the state before a string, one row."""
        return (torch.zeros(1, 1, dtype=torch.int64),)

    def advance(self, state: StackState, tokens: np.ndarray) -> StackState:
        """Read one more symbol in every row."""
        after = self.automaton.after[state[0][:, 0].numpy(), tokens]
        return (torch.from_numpy(after.astype("int64"))[:, None],)

    def logprobs(self, state: StackState, rows: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Return the log-probabilities of next symbols, (words,) float32, in nats."""
        logprobs: np.ndarray = self.automaton.logprobs[state[0][:, 0].numpy()[rows], tokens]
        return logprobs


class SecondOrderModel(AutomatonModel):
    """A second-order RNN that simulates an automaton, and reads prefixes symbol by symbol.

    After word x, its units are σ(H Σ_j W_ijx h_j − H/2). W_ijx is 1 if x leads from state j to state i, and
    otherwise 0. So the unit of the automaton's state is on, and all others are off. The weights of the output
    layer are the automaton's log-probabilities. Source: Omlin & Giles 1996. Departure: their
    additional weights of -H, which stabilise a network in training, are left out.
    """

    def __init__(self, automaton: Automaton) -> None:
        super().__init__(automaton)
        name = automaton.name.replace("automaton", "second-order")
        self.card = self._card("second-order", name, len(automaton.after))
        # A word's matrix has a single 1 in each column, so only its position is stored.
        self._after = torch.from_numpy(automaton.after.astype("int64").T.copy())
        self._output = torch.from_numpy(automaton.logprobs)

    @property
    def row_bytes(self) -> int:
        """Bytes of memory per row of a state."""
        return 4 * len(self.automaton.after)

    def start(self) -> StackState:
        """Return the state before a string, one row: only the unit of the empty stack is on."""
        units = torch.zeros(1, len(self.automaton.after))
        units[:, 0] = 1
        return (units,)

    def advance(self, state: StackState, tokens: np.ndarray) -> StackState:
        """Read one more symbol in every row."""
        (units,) = state
        drives = torch.zeros_like(units).scatter_add(1, self._after[torch.from_numpy(tokens).long()], units)
        return (torch.sigmoid(STEEPNESS * (drives - 1 / 2)),)

    def logprobs(self, state: StackState, rows: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        """Return the log-probabilities of next symbols, (words,) float32, in nats."""
        logprobs: np.ndarray = (state[0] @ self._output).log_softmax(1).numpy()[rows, tokens]
        return logprobs


AUTOMATA = {"dyck-automaton": AutomatonModel, "dyck-second-order": SecondOrderModel}
SIZES_FIX = "Add --model-args k=4,m=3, or other whole numbers."


def open_oracle(rest: str, arguments: Mapping[str, str], device: str) -> NativeModel | AutomatonModel:
    """Open `--model oracle:dyck-lstm` or another oracle of a Dyck language."""
    if rest not in (*ORACLES, *AUTOMATA):
        raise ModelError(
            f"no oracle has the name {rest!r}. {suggest(rest, (*ORACLES, *AUTOMATA), 'Oracles')}"
        )
    names = ("k", "m") if rest in AUTOMATA else ("k", "m", "code")
    if unknown := sorted(arguments.keys() - {*names}):
        hint = suggest(unknown[0], names, "Arguments")
        raise ModelError(f"--model-args {unknown[0]}: oracle:{rest} has no argument with this name. {hint}")
    if rest in AUTOMATA:
        k, m = _number("k", arguments), _number("m", arguments)
        refuse_sizes(k, m)
        return AUTOMATA[rest](build_automaton(k, m, brackets(k)))
    oracle = Oracle(rest, _number("k", arguments), _number("m", arguments), arguments.get("code", "log"))
    checkpoint = build_oracle(oracle, brackets(oracle.k))
    return NativeModel(oracle.name, checkpoint, pick_device(device))


def _number(name: str, arguments: Mapping[str, str]) -> int:
    if name not in arguments:
        raise ModelError(f"the size {name} of the Dyck language is missing. {SIZES_FIX}")
    try:
        return int(arguments[name])
    except ValueError:
        raise ModelError(f"{name} must be a whole number, not {arguments[name]!r}. {SIZES_FIX}") from None
