"""Networks that know a language exactly, with weights from a published construction instead of training.

The language is Dyck-(k,m). A simple RNN and an LSTM store the stack of open brackets in their units, with a
slot for each bracket. A slot encodes the type by one unit per type, or by binary digits. Symbols that may
follow a prefix have equal probabilities, and all others none. A closing bracket may follow iff its type is on
top of the stack. An opening bracket may follow iff fewer than m are open, and `<eos>` iff none is.

Source: the constructions of Hewitt, Hahn, Ganguli, Liang & Manning 2020. Departures: our simple RNN has tanh
units h instead of sigmoids s, where s = (h + 1) / 2. Our models read `<eos>` before a string, which empties
the stack from any state, including the zero state; `<unk>` does the same.

There is also the deterministic automaton, with a state for each stack and the true probabilities of symbols.
It shows what the constructions save. A second-order RNN that simulates an automaton has a unit for each state
(Omlin & Giles 1996), and there are 1 + k + k² + ... + kᵐ stacks.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from tseval.errors import ModelError, suggest
from tseval.models.checkpoint import Checkpoint, fingerprint, stored_weights
from tseval.models.network import LanguageModel, Sizes
from tseval.models.vocabulary import EOS, SPECIAL_WORDS, UNK, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from tseval.models.cells.cell import State
    from tseval.models.network import Network


MOST_CELLS = 2**26  # cells of a table
IMPOSSIBLE = -100.0  # nats; used instead of minus infinity, because log-probabilities must be finite


@dataclass(frozen=True, slots=True)
class Automaton:
    """Tables of transitions and probabilities."""

    name: str  # for files and tables
    vocabulary: Vocabulary  # `<eos>`, `<unk>` and the brackets
    # Next state, (states, words). State 0 is the empty stack. The last state means that the prefix is not in
    # the language; only `<eos>` leads out of it.
    after: NDArray[np.int32]
    logprobs: NDArray[np.float32]  # of each next word, in nats, (states, words)

    @property
    def n_stacks(self) -> int:
        """Number of states that are stacks."""
        return len(self.after) - 1

    @property
    def fingerprint(self) -> str:
        """SHA-256 of both tables."""
        digest = hashlib.sha256(" ".join(self.vocabulary.words).encode())
        for table in (self.after.astype("<i4"), self.logprobs.astype("<f4")):
            digest.update(table.tobytes())
        return digest.hexdigest()


def count_stacks(k: int, m: int) -> int:
    """Count the stacks of up to m open brackets of k types.

    >>> count_stacks(2, 3), count_stacks(8, 3)
    (15, 585)
    """
    return sum(k**depth for depth in range(m + 1))


def refuse_sizes(k: int, m: int) -> None:
    """Refuse sizes that are too large, before anything is computed."""
    for name, value in (("k", k), ("m", m)):
        if value < 1:
            raise ModelError(f"{name} must be 1 or more, not {value}")
    if (
        m * (k - 1).bit_length() > MOST_CELLS.bit_length()
        or count_stacks(k, m) * (SPECIAL_WORDS + 2 * k) > MOST_CELLS
    ):
        raise ModelError(
            f"the automaton of the language Dyck-({k},{m}) has too many states, one for each possible stack. "
            "Lower k or m."
        )


def build_automaton(k: int, m: int, alphabet: Sequence[str]) -> Automaton:
    """Build the automaton of Dyck-(k,m), with the probabilities from which its strings are sampled.

    The alphabet is the k opening brackets, then the k closing ones in the same order. At most m are open.
    """
    refuse_sizes(k, m)
    n_words = SPECIAL_WORDS + 2 * k
    n_stacks = count_stacks(k, m)
    dead = n_stacks
    after = np.full((n_stacks + 1, n_words), dead, dtype=np.int32)
    chance = np.zeros((n_stacks + 1, n_words))
    after[:, 0] = 0  # <eos> empties the stack in any state
    chance[dead] = 1 / n_words
    # Breadth first: stacks that are equal below their top are adjacent, in the order of their top's type.
    opening, closing = SPECIAL_WORDS + np.arange(k), SPECIAL_WORDS + k + np.arange(k)
    for state in range(n_stacks):
        top, below = (state - 1) % k, (state - 1) // k
        full = state * k + 1 >= n_stacks
        if not full:
            after[state, opening] = state * k + 1 + np.arange(k)
            chance[state, opening] = 1 / (2 * k)
        if state:
            after[state, closing[top]] = below
            chance[state, closing[top]] = 1.0 if full else 0.5
        else:
            chance[state, 0] = 0.5
    with np.errstate(divide="ignore"):
        logprobs = np.maximum(np.log(chance), IMPOSSIBLE).astype(np.float32)
    vocabulary = Vocabulary((EOS, UNK, *alphabet), lowercase=False)
    return Automaton(f"dyck-automaton-k{k}-m{m}", vocabulary, after, logprobs)


@dataclass(frozen=True, slots=True)
class BracketCode:
    """A code of k types with units that are 0 or 1; in an empty slot, all units are 0."""

    units: Tensor  # the units of each type, (k, width)
    # 1 for a type's units, at most 0 for those of any other type and for an empty slot, (k, width)
    readout: Tensor
    occupied: Tensor  # 1 for the units of any type and 0 for an empty slot, (width,)

    @property
    def width(self) -> int:
        """Number of units of a slot."""
        return self.units.shape[1]


def one_hot(k: int) -> BracketCode:
    """Return the code that gives each of k types one unit: k units."""
    return BracketCode(torch.eye(k), torch.eye(k), torch.ones(k))


def binary(k: int) -> BracketCode:
    """Return the code of k types with L = ⌈log2 k⌉ binary digits: 3L - 1 units; a single type has one digit.

    The units are the digits, their complements, and L - 1 units that are 1 in every occupied slot. The
    readout counts equal digits and subtracts L - 1, so that it is 1 only if all digits are equal.
    """
    length = max(1, (k - 1).bit_length())
    digits = (torch.arange(k)[:, None] >> torch.arange(length) & 1).float()
    constants = torch.ones(k, length - 1)
    occupied = torch.zeros(3 * length - 1)
    occupied[[0, length]] = 1  # a digit or its complement
    return BracketCode(
        torch.cat([digits, 1 - digits, constants], 1),
        torch.cat([digits, 1 - digits, -constants], 1),
        occupied,
    )


CODES = {"one-hot": one_hot, "log": binary}


ORACLES = {"dyck-srn": "srn", "dyck-lstm": "lstm"}
LARGEST_WEIGHTS = 2**26  # recurrent weights, 256 MiB
SYMBOL_UNITS = 3  # of a word vector, before the code: opens a bracket, closes one, empties the stack
OPENS, CLOSES, EMPTIES = range(SYMBOL_UNITS)

SATURATION = 40.0  # drives at 1/2 from a threshold become ±20, where tanh is ±1 in float32
GATE_SATURATION = 200.0  # σ(±200) is 1 and 0 in float32
SEEN = math.tanh(1.0)  # output of a cell that holds 1, with an open output gate
CERTAINTY = 30.0  # nats between possible and impossible symbols: e^-30 is about 1e-13


@dataclass(frozen=True, slots=True)
class Oracle:
    """A choice of construction and sizes."""

    kind: str  # `dyck-srn` or `dyck-lstm`
    k: int  # types of bracket
    m: int  # most open brackets
    code: str = "log"  # `one-hot` or `log`

    def __post_init__(self) -> None:
        if self.kind not in ORACLES:
            raise ModelError(
                f"no oracle has the name {self.kind!r}. {suggest(self.kind, ORACLES, 'Oracles')}"
            )
        if self.code not in CODES:
            raise ModelError(f"no code has the name {self.code!r}. {suggest(self.code, CODES, 'Codes')}")
        for name in ("k", "m"):
            if getattr(self, name) < 1:
                raise ModelError(f"{name} must be 1 or more, not {getattr(self, name)}")
        weights = (4 if self.kind == "dyck-lstm" else 1) * self.hidden**2
        if weights > LARGEST_WEIGHTS:
            hint = "Choose a smaller k or m" + ("." if self.code == "log" else ", or the code log.")
            raise ModelError(
                f"{self.name} has {self.hidden:,} units and {weights:,} recurrent weights, but at most "
                f"{LARGEST_WEIGHTS:,} weights are allowed.\n  {hint}"
            )

    @property
    def name(self) -> str:
        """Name for files and tables."""
        return f"{self.kind}-k{self.k}-m{self.m}-{self.code}"

    @property
    def slot(self) -> int:
        """Number of units of a slot of the stack."""
        return self.k if self.code == "one-hot" else 3 * max(1, (self.k - 1).bit_length()) - 1

    @property
    def hidden(self) -> int:
        """Units: 2mk and mk, or 6m⌈log2 k⌉ - 2m and 3m⌈log2 k⌉ - m (a single type counts as two)."""
        return (2 if self.kind == "dyck-srn" else 1) * self.m * self.slot


def build_oracle(oracle: Oracle, alphabet: Sequence[str]) -> Checkpoint:
    """Set the weights of a construction, and return an ordinary checkpoint whose vocabulary has the alphabet.

    The alphabet is the k opening brackets, then the k closing ones in the same order.
    """
    assert len(alphabet) == 2 * oracle.k
    code = CODES[oracle.code](oracle.k)
    vocabulary = Vocabulary((EOS, UNK, *alphabet), lowercase=False)
    sizes = Sizes(
        ORACLES[oracle.kind], len(vocabulary), SYMBOL_UNITS + code.width, oracle.hidden, 1, dropout=0.0
    )
    model = LanguageModel(sizes).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.embedding.weight.copy_(_word_vectors(code))
        (_set_srn if oracle.kind == "dyck-srn" else _set_lstm)(model, code, oracle.m)
    return Checkpoint(
        model=model,
        vocabulary=vocabulary,
        fingerprint=fingerprint(sizes.to_mapping(), vocabulary, stored_weights(model, "float32")),
        training={"oracle": oracle.kind, "k": oracle.k, "m": oracle.m, "code": oracle.code},
        validation_perplexity=None,
    )


def _word_vectors(code: BracketCode) -> Tensor:
    """Return word vectors, (words, embedding): the effect on the stack, and the code of opening brackets."""
    k = len(code.units)
    vectors = torch.zeros(2 + 2 * k, SYMBOL_UNITS + code.width)
    vectors[:2, EMPTIES] = 1
    vectors[2 : 2 + k, OPENS] = 1
    vectors[2 : 2 + k, SYMBOL_UNITS:] = code.units
    vectors[2 + k :, CLOSES] = 1
    return vectors


def _set_srn(model: LanguageModel, code: BracketCode, m: int) -> None:
    """Store two copies of the stack, the top in slot 1: a push writes one copy, a pop the other.

    s_push = step(S_down (s_push + s_pop) + code of x in slot 1 - closes - 2 empties - 1/2)
    s_pop  = step(S_up (s_push + s_pop) - opens - 2 empties - 1/2)

    S_down and S_up shift by one slot. One of the copies is always empty.
    """
    width, half = code.width, m * code.width
    reads = torch.zeros(2 * half, 2 * half)
    drives = torch.zeros(2 * half, SYMBOL_UNITS + width)
    identity = torch.eye(half - width)
    for copy in (slice(0, half), slice(half, 2 * half)):
        reads[width:half, copy][:, : half - width] = identity
        reads[half : 2 * half - width, copy][:, width:] = identity
    drives[:width, SYMBOL_UNITS:] = torch.eye(width)
    drives[:half, CLOSES] = -1
    drives[half:, OPENS] = -1
    drives[:, EMPTIES] = -2  # in the zero state, s = 1/2 in both copies, so their sum is 1
    weights = dict(model.cells[0].named_parameters())
    # s = (h + 1) / 2, so half of each weight applies to h, and half is added to the bias.
    weights["layer.weight_hh_l0"].copy_(SATURATION * reads / 2)
    weights["layer.bias_ih_l0"].copy_(SATURATION * (reads.sum(1) / 2 - 1 / 2))
    weights["layer.weight_ih_l0"].copy_(SATURATION * drives)
    slots = torch.zeros(m, m)
    slots[0, 0] = 1
    weight, bias = _readout(code, top=slots[0], full=torch.eye(m)[-1])
    doubled = weight.repeat(1, 2)
    model.output.weight.copy_(doubled / 2)
    model.output.bias.copy_(bias + doubled.sum(1) / 2)


def _set_lstm(model: LanguageModel, code: BracketCode, m: int) -> None:
    """Store the stack in the cells, the bottom in slot 1; the output gate shows only the top slot.

    a_j = 1 if slot j is the top one, as seen in h, and a_0 = 1 if the stack is empty:

    i_j = step(2 a_{j-1} + 2 opens - 3)                          the slot above the top is written
    f_j = step(3 - 2 a_j - 2 closes - 4 empties)                 the top slot is wiped
    g   = code of x
    o_j = step(4 a_{j-1} + 2 a_{j+1} + 2 closes - 8 empties - 3) the new top is shown

    If the output gate also opens above the new top, the slot there is empty and shows nothing.
    """
    width, hidden = code.width, m * code.width
    top = torch.kron(torch.eye(m), code.occupied) / SEEN  # a_1 .. a_m from h, (m, hidden)
    bottom = torch.zeros(m)
    bottom[0] = 1
    above, below = torch.zeros(m, hidden), torch.zeros(m, hidden)
    above[1:], below[:-1] = top[:-1], top[1:]
    above[0] = -top.sum(0)  # a_0 = 1 - Σ a_j
    reads = torch.stack([2 * above, -2 * top, 0 * top, 4 * above + 2 * below])
    drives = torch.zeros(4, SYMBOL_UNITS)
    drives[0, OPENS], drives[1, CLOSES], drives[3, CLOSES] = 2, -2, 2
    drives[1, EMPTIES], drives[3, EMPTIES] = -4, -8
    biases = torch.stack([2 * bottom - 3, 3 + 0 * bottom, 0 * bottom, 4 * bottom - 3])
    units = drives[:, None].repeat(1, hidden, 1)
    inputs = torch.cat([units, torch.zeros(4, hidden, width)], 2)
    inputs[2, :, SYMBOL_UNITS:] = torch.eye(width).repeat(m, 1)
    weights = dict(model.cells[0].named_parameters())
    gates = {
        "layer.weight_hh_l0": reads.repeat_interleave(width, 1).flatten(0, 1),
        "layer.bias_ih_l0": biases.repeat_interleave(width, 1).flatten(),
        "layer.weight_ih_l0": inputs.flatten(0, 1),
    }
    for name, values in gates.items():
        weights[name].copy_(GATE_SATURATION * values)
    weight, bias = _readout(code, top=torch.ones(m), full=torch.eye(m)[-1])
    model.output.weight.copy_(weight / SEEN)
    model.output.bias.copy_(bias)


def _readout(code: BracketCode, top: Tensor, full: Tensor) -> tuple[Tensor, Tensor]:
    """Return weights and biases from the stack to logits: 0 for possible symbols, else at most -CERTAINTY.

    Args:
        code: The code of the types.
        top: 1 for the slots in which the top of the stack can be seen, (m,).
        full: 1 for the slot that is occupied iff m brackets are open, (m,).

    Returns:
        (words, m * width) and (words,).
    """
    k, width, m = len(code.units), code.width, len(top)
    weight, bias = torch.zeros(2 + 2 * k, m, width), torch.zeros(2 + 2 * k)
    weight[0] = -top[:, None] * code.occupied
    bias[1] = -2.0
    weight[2 : 2 + k] = -full[:, None] * code.occupied
    weight[2 + k :] = top[:, None] * code.readout[:, None]
    bias[2 + k :] = -1.0
    return CERTAINTY * weight.flatten(1), CERTAINTY * bias


POSSIBLE = 1e-6  # symbols with a higher probability count as possible


@dataclass(frozen=True, slots=True)
class Step:
    """The state of an oracle after a symbol."""

    symbol: str  # `<eos>` at the start
    stack: tuple[str, ...]  # the open brackets, the oldest first, as read from the units
    # causes of the change, by name: the gates of each slot, or the copy that holds the stack
    units: dict[str, str]
    follows: dict[str, float]  # probability of each possible next symbol


@torch.inference_mode()
def walk(oracle: Oracle, checkpoint: Checkpoint, symbols: Sequence[str]) -> Iterator[Step]:
    """Read `<eos>` and the symbols, and yield the state after each."""
    model, words = checkpoint.model, checkpoint.vocabulary.words
    ids = checkpoint.vocabulary.ids()
    state = model.initial_state(1)
    follows = {EOS: 1.0}
    for number, symbol in enumerate((EOS, *symbols)):
        if symbol not in ids:
            choices = _brief(words[2:])
            raise ModelError(
                f"symbol {number}, {symbol!r}, is not a symbol of the language. Symbols: {choices}"
            )
        if symbol not in follows:
            choices = _brief(follows) + (" (<eos> ends the string)" if EOS in follows else "")
            raise ModelError(
                f"symbol {number}, {symbol!r}, cannot follow the symbols before it. Symbols that can follow: "
                f"{choices}"
            )
        projected = model.project(torch.tensor([ids[symbol]]))
        gates = _gates(oracle, model, projected, state)
        state = model.step(projected, state)
        mass = model.logits(model.top(state))[0].softmax(0)
        follows = {words[i]: mass[i].item() for i in (mass > POSSIBLE).nonzero().flatten().tolist()}
        stack = tuple(words[2 + kind] for kind in read_stack(oracle, state))
        yield Step(symbol, stack, gates or {"copy": _copy(oracle, state)}, follows)


def read_stack(oracle: Oracle, state: State) -> list[int]:
    """Read the types of the open brackets from a state of one row, the oldest first."""
    code = CODES[oracle.code](oracle.k)
    slots = _slots(oracle, state)
    depth = int((slots @ code.occupied).sum())
    return (slots[:depth] @ code.readout.t()).argmax(1).tolist()


def _slots(oracle: Oracle, state: State) -> Tensor:
    """Return the slots of the stack from its bottom, (m, width), with the empty ones last."""
    if oracle.kind == "dyck-lstm":
        return state[1].view(oracle.m, oracle.slot)
    slots = _copies(oracle, state).sum(0)
    occupied = slots.any(1)
    return torch.cat([slots[occupied].flip(0), slots[~occupied]])


def _copies(oracle: Oracle, state: State) -> Tensor:
    """Return both copies of a simple RNN's stack, the top first, with units of 0 and 1: (2, m, width)."""
    return (state[0].view(2, oracle.m, oracle.slot) + 1) / 2


def _copy(oracle: Oracle, state: State) -> str:
    pushed, popped = (bool(copy.any()) for copy in _copies(oracle, state))
    return "push" if pushed else "pop" if popped else "none"


def _gates(oracle: Oracle, model: Network, projected: Tensor, state: State) -> dict[str, str]:
    """Return an LSTM's gates for one symbol, for each slot from slot 1: `100` is open, shut, shut."""
    if oracle.kind == "dyck-srn":
        return {}
    recurrent = dict(model.cells[0].named_parameters())["layer.weight_hh_l0"]
    drives = (projected + state[0] @ recurrent.t()).view(4, oracle.m, oracle.slot)
    open_gates = (drives[..., 0] > 0).int().tolist()
    return {
        name: "".join(map(str, open_gates[gate]))
        for name, gate in (("input", 0), ("forget", 1), ("output", 3))
    }


def _brief(names: Iterable[str]) -> str:
    few = list(names)
    return ", ".join(few if len(few) <= 8 else [*few[:4], "…", *few[-3:]])
