"""Ask a recurrent model at many prefixes whether it prefers some symbols to others, each prefix once."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tseval.errors import ModelError
from tseval.scoring.contexts import BLOCK, visit
from tseval.scoring.protocol import RecurrentModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.scoring.protocol import Model
    from tseval.scoring.trie import Trie

# Log-probabilities of alternatives held at once.
ALTERNATIVES = 2**16


@dataclass(frozen=True, slots=True)
class Questions:
    """What can be asked after a prefix.

    Attributes:
        symbols: What is compared, single words.
        signs: For each question, which symbols are right (1), which wrong (-1), and which are not compared
            (0), (questions, symbols) int8.
        share: The right symbols must have more than this share of the probability of all that are compared;
            None: the best right symbol must beat the best wrong one.
    """

    symbols: Sequence[str]
    signs: np.ndarray
    share: float | None

    def compare(self, question: np.ndarray, logprobs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Reduce the log-probabilities of all symbols to what the right ones have, and what they must exceed.

        Args:
            question: What is asked, (prefixes,).
            logprobs: After each prefix, in nats, (prefixes, symbols).

        Returns:
            Two numbers for each prefix, in nats, (prefixes,) float64 each. With `share` the first is the
            logarithm of the right symbols' share, the second that of the least share.
        """
        signs = self.signs[question]
        values = logprobs.astype(np.float64)
        right = np.where(signs > 0, values, -np.inf)
        if self.share is None:
            return right.max(1), np.where(signs < 0, values, -np.inf).max(1)
        total = np.logaddexp.reduce(np.where(signs != 0, values, -np.inf), axis=1)
        return np.logaddexp.reduce(right, axis=1) - total, np.full(len(question), log(self.share))


def ask(
    model: RecurrentModel, trie: Trie, questions: Questions, asked: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score every node of a trie, and answer the questions that are asked after its contexts.

    Args:
        model: Advanced once for each context.
        trie: Of the encoded sentences.
        questions: What can be asked.
        asked: For every node, which question is asked after its context, -1 for none, (nodes,). No two
            different ones are asked after the same context.

    Returns:
        For every node its log-probability, float32; and, as `Questions.compare` gives them, the two numbers
        of the question asked after its context, not a number where none is asked. (nodes,) each.
    """
    symbols = model.encode(pa.array(questions.symbols, pa.string())).tokens
    logprobs = np.empty(len(asked), dtype=np.float32)
    right, wrong = np.full((2, len(asked)), np.nan)
    for here in visit(model, trie, max(1, min(BLOCK, ALTERNATIVES // len(symbols)))):
        logprobs[here.nodes] = model.logprobs(here.state, here.rows, here.tokens)
        firsts = np.unique(here.rows, return_index=True)[1]
        question = np.maximum.reduceat(asked[here.nodes], firsts)
        rows = np.flatnonzero(question >= 0)
        if len(rows):
            pairs = np.repeat(rows, len(symbols)), np.tile(symbols, len(rows))
            table = model.logprobs(here.state, *pairs).reshape(len(rows), len(symbols))
            both = np.full((2, len(question)), np.nan)
            both[:, rows] = questions.compare(question[rows], table)
            both = np.where(asked[here.nodes] >= 0, both[:, here.rows], np.nan)
            right[here.nodes], wrong[here.nodes] = both
    return logprobs, right, wrong


def askable(model: Model, symbols: Sequence[str]) -> RecurrentModel:
    """Give a model that can be asked about symbols.

    Raises:
        ModelError: It cannot be asked, or does not know one of them.
    """
    if not isinstance(model, RecurrentModel):
        raise ModelError(
            f"{model.card.name} cannot say how probable several words are after one prefix, which this suite "
            "asks.\n  Take a recurrent model: a checkpoint of tseval's own."
        )
    encoded = model.encode(pa.array(symbols, pa.string()))
    unknown = [symbol for symbol, n in zip(symbols, encoded.n_unknown, strict=True) if n]
    if unknown:
        shown = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        raise ModelError(
            f"{model.card.name} does not know the symbols {shown}, so it cannot choose among them.\n"
            "  Take a model that was trained on strings of this language."
        )
    return model


def refuse_infinite(sentences: pa.StringArray, asked: Sequence[np.ndarray], answers: np.ndarray) -> None:
    """Refuse answers that are not finite: comparing them would decide nothing.

    Args:
        sentences: The sentences.
        asked: For each sentence, which question is asked before each word, -1 for none, (words,).
        answers: A number for every word of every sentence, (words,).

    Raises:
        ModelError: Names the first sentence with such an answer.
    """
    wrong = np.flatnonzero((np.concatenate(asked) >= 0) & ~np.isfinite(answers))
    if len(wrong):
        ends = np.cumsum([len(one) for one in asked])
        sentence = sentences[int(np.searchsorted(ends, wrong[0], side="right"))].as_py()
        raise ModelError(
            f"the model gives {answers[wrong[0]]} to what it should choose within {sentence!r}: not finite"
        )
