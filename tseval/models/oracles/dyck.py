"""Dyck-(k,m) without training: a simple RNN and an LSTM that keep the stack of open brackets in their units.

Symbols that may follow a prefix get equal probabilities, all others none: closing a bracket iff one of its
type is on top of the stack, opening any bracket iff fewer than m are open, `<eos>` iff none is.

Source: the constructions of Hewitt, Hahn, Ganguli, Liang & Manning 2020. Departures: our simple RNN has tanh
units h, not sigmoids s, and s = (h + 1) / 2 turns one into the other; our models read `<eos>` before a
string, and it empties the stack, from the zero state as from any other; `<unk>` does the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tseval.errors import ModelError, suggest
from tseval.models.checkpoint import Checkpoint, fingerprint, stored_weights
from tseval.models.language_model import LanguageModel, Sizes
from tseval.models.oracles.code import CODES, BracketCode
from tseval.models.vocabulary import EOS, UNK, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

ORACLES = {"dyck-srn": "srn", "dyck-lstm": "lstm"}
LARGEST_WEIGHTS = 2**26  # recurrent weights, 256 MiB
SYMBOL_UNITS = 3  # of a word vector, before the code: opens a bracket, closes one, empties the stack
OPENS, CLOSES, EMPTIES = range(SYMBOL_UNITS)

SATURATION = 40.0  # drives that differ by 1/2 from a threshold lie at ±20, where tanh is ±1 in float32
GATE_SATURATION = 200.0  # σ(±200) is 1 and 0 in float32
SEEN = math.tanh(1.0)  # what an open output gate lets through of a cell that holds 1
CERTAINTY = 30.0  # nats between symbols that may follow and those that may not: e^-30 is about 1e-13


@dataclass(frozen=True, slots=True)
class Oracle:
    """Which construction.

    Attributes:
        kind: `dyck-srn` or `dyck-lstm`.
        k: Types of bracket.
        m: Most brackets that are open at once.
        code: `one-hot` or `log`.
    """

    kind: str
    k: int
    m: int
    code: str = "log"

    def __post_init__(self) -> None:
        if self.kind not in ORACLES:
            raise ModelError(f"no oracle {self.kind!r}. {suggest(self.kind, ORACLES, 'Oracles')}")
        if self.code not in CODES:
            raise ModelError(f"no code {self.code!r}. {suggest(self.code, CODES, 'Codes')}")
        for name in ("k", "m"):
            if getattr(self, name) < 1:
                raise ModelError(f"{name} must be 1 or more, not {getattr(self, name)}")
        weights = (4 if self.kind == "dyck-lstm" else 1) * self.hidden**2
        if weights > LARGEST_WEIGHTS:
            raise ModelError(
                f"{self.name} has {self.hidden:,} units and {weights:,} recurrent weights: too many."
                + ("" if self.code == "log" else " The code log takes far fewer units.")
            )

    @property
    def name(self) -> str:
        """Name for files and tables."""
        return f"{self.kind}-k{self.k}-m{self.m}-{self.code}"

    @property
    def slot(self) -> int:
        """Units of a slot of the stack."""
        return self.k if self.code == "one-hot" else 3 * max(1, (self.k - 1).bit_length()) - 1

    @property
    def hidden(self) -> int:
        """Units: 2mk and mk, or 6m⌈log2 k⌉ - 2m and 3m⌈log2 k⌉ - m (where a single type counts as two)."""
        return (2 if self.kind == "dyck-srn" else 1) * self.m * self.slot


def build_oracle(oracle: Oracle, alphabet: Sequence[str]) -> Checkpoint:
    """Set the weights of a construction.

    Args:
        oracle: Which.
        alphabet: The k opening brackets, then the k closing ones in the same order.

    Returns:
        A checkpoint like any other; its vocabulary holds the alphabet.
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
    """Say of each word what it does to the stack, and how an opening bracket is spelt: (words, embedding)."""
    k = len(code.units)
    vectors = torch.zeros(2 + 2 * k, SYMBOL_UNITS + code.width)
    vectors[:2, EMPTIES] = 1
    vectors[2 : 2 + k, OPENS] = 1
    vectors[2 : 2 + k, SYMBOL_UNITS:] = code.units
    vectors[2 + k :, CLOSES] = 1
    return vectors


def _set_srn(model: LanguageModel, code: BracketCode, m: int) -> None:
    """Keep two copies of the stack, its top in slot 1: a push writes one copy, a pop the other.

    s_push = step(S_down (s_push + s_pop) + code of x in slot 1 - closes - 2 empties - 1/2)
    s_pop  = step(S_up (s_push + s_pop) - opens - 2 empties - 1/2)

    S_down and S_up shift by a slot; one of the copies is always empty.
    """
    width, half = code.width, m * code.width
    reads = torch.zeros(2 * half, 2 * half)
    drives = torch.zeros(2 * half, SYMBOL_UNITS + width)
    one = torch.eye(half - width)
    for copy in (slice(0, half), slice(half, 2 * half)):
        reads[width:half, copy][:, : half - width] = one
        reads[half : 2 * half - width, copy][:, width:] = one
    drives[:width, SYMBOL_UNITS:] = torch.eye(width)
    drives[:half, CLOSES] = -1
    drives[half:, OPENS] = -1
    drives[:, EMPTIES] = -2  # the zero state is s = 1/2 in both copies, which add up to 1
    weights = dict(model.cells[0].named_parameters())
    # s = (h + 1) / 2: half the weight on h, the other half in the bias.
    weights["layer.weight_hh_l0"].copy_(SATURATION * reads / 2)
    weights["layer.bias_ih_l0"].copy_(SATURATION * (reads.sum(1) / 2 - 1 / 2))
    weights["layer.weight_ih_l0"].copy_(SATURATION * drives)
    slots = torch.zeros(m, m)
    slots[0, 0] = 1
    weight, bias = _readout(code, top=slots[0], full=torch.eye(m)[-1])
    both = weight.repeat(1, 2)
    model.output.weight.copy_(both / 2)
    model.output.bias.copy_(bias + both.sum(1) / 2)


def _set_lstm(model: LanguageModel, code: BracketCode, m: int) -> None:
    """Keep the stack in the cells, its bottom in slot 1; the output gate shows the top slot alone.

    With a_j = 1 where slot j is the top one, as seen in h, and a_0 = 1 where the stack is empty:

    i_j = step(2 a_{j-1} + 2 opens - 3)                          the slot above the top is written
    f_j = step(3 - 2 a_j - 2 closes - 4 empties)                 the top slot is wiped
    g   = code of x
    o_j = step(4 a_{j-1} + 2 a_{j+1} + 2 closes - 8 empties - 3) the new top is shown

    Where the output gate opens above the new top, the slot is empty and shows nothing.
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
    """Give weights and biases that turn the stack into logits: 0 where allowed, else -CERTAINTY or less.

    Args:
        code: Of the slots.
        top: 1 for the slots that the top of the stack can be seen in, (m,).
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
