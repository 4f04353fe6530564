"""The deterministic automaton of Dyck-(k,m): a state for each stack, and the true probabilities of symbols.

What it costs is what the constructions of Hewitt et al. 2020 save: a second-order RNN that runs an automaton
has a unit for each of its states (Omlin & Giles 1996), and there are 1 + k + k² + ... + kᵐ stacks.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.errors import ModelError
from tseval.models.vocabulary import EOS, SPECIAL_WORDS, UNK, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MOST_CELLS = 2**26  # of a table
IMPOSSIBLE = -100.0  # nats; a log-probability has to be a number


@dataclass(frozen=True, slots=True)
class Automaton:
    """Tables of transitions and probabilities.

    Attributes:
        name: For files and tables.
        vocabulary: `<eos>`, `<unk>` and the brackets.
        after: The next state, (states, words) int32. State 0 is the empty stack. The last one is for what is
            no beginning of a string; nothing but `<eos>` leads out of it.
        logprobs: Of each next word, in nats, (states, words) float32.
    """

    name: str
    vocabulary: Vocabulary
    after: NDArray[np.int32]
    logprobs: NDArray[np.float32]

    @property
    def n_stacks(self) -> int:
        """States that stand for a stack."""
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
    """Refuse what cannot be built, before so much as the brackets are named.

    Raises:
        ModelError: k or m is below 1, or there are too many stacks.
    """
    for name, value in (("k", k), ("m", m)):
        if value < 1:
            raise ModelError(f"{name} must be 1 or more, not {value}")
    if (
        m * (k - 1).bit_length() > MOST_CELLS.bit_length()
        or count_stacks(k, m) * (SPECIAL_WORDS + 2 * k) > MOST_CELLS
    ):
        raise ModelError(f"the automaton of Dyck-({k},{m}) has too many stacks: lower k or m.")


def build_automaton(k: int, m: int, alphabet: Sequence[str]) -> Automaton:
    """Build the automaton of Dyck-(k,m), with the probabilities that its strings are drawn with.

    Args:
        k: Types of bracket.
        m: Most brackets that are open at once.
        alphabet: The k opening brackets, then the k closing ones in the same order.

    Raises:
        ModelError: k or m is below 1, or there are too many stacks.
    """
    refuse_sizes(k, m)
    n_words = SPECIAL_WORDS + 2 * k
    n_stacks = count_stacks(k, m)
    dead = n_stacks
    after = np.full((n_stacks + 1, n_words), dead, dtype=np.int32)
    chance = np.zeros((n_stacks + 1, n_words))
    after[:, 0] = 0  # <eos> empties the stack, wherever it stands
    chance[dead] = 1 / n_words
    # Breadth first: the stacks that have the same one below their top stand together, in order of type.
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
