"""Ask a recurrent model at many prefixes whether it prefers some symbols to others, each prefix once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tseval.errors import ModelError
from tseval.scoring.contexts import CONTEXTS_AT_ONCE, logprobs_after, visit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.questions.choices import Asks
    from tseval.scoring.protocol import RecurrentModel
    from tseval.scoring.trie import Trie

# Log-probabilities of alternatives held at once.
ALTERNATIVES = 2**16


def ask(
    model: RecurrentModel, trie: Trie, asks: Asks, asked: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score every node of a trie, and find out what is asked after its contexts.

    Args:
        model: Advanced once for each context.
        trie: Of the encoded sentences.
        asks: What can be asked.
        asked: For every node, what is asked after its context, -1 for nothing, (nodes,); never two different
            things after the same context.

    Returns:
        For every node its log-probability, float32; and, as `Asks.compare` gives them, the two numbers of
        what is asked after its context, not a number where nothing is. (nodes,) each.
    """
    symbols = model.encode(pa.array(asks.symbols, pa.string())).tokens
    logprobs = np.empty(len(asked), dtype=np.float32)
    right, wrong = np.full((2, len(asked)), np.nan)
    for here in visit(model, trie, max(1, min(CONTEXTS_AT_ONCE, ALTERNATIVES // len(symbols)))):
        logprobs[here.nodes] = logprobs_after(model, here.state, here.rows, here.tokens)
        firsts = np.unique(here.rows, return_index=True)[1]
        which = np.maximum.reduceat(asked[here.nodes], firsts)
        rows = np.flatnonzero(which >= 0)
        if len(rows):
            pairs = np.repeat(rows, len(symbols)), np.tile(symbols, len(rows))
            table = logprobs_after(model, here.state, *pairs).reshape(len(rows), len(symbols))
            both = np.full((2, len(which)), np.nan)
            both[:, rows] = asks.compare(which[rows], table)
            both = np.where(asked[here.nodes] >= 0, both[:, here.rows], np.nan)
            right[here.nodes], wrong[here.nodes] = both
    return logprobs, right, wrong


def refuse_unknown(model: RecurrentModel, symbols: Sequence[str]) -> None:
    """Refuse to ask a model about symbols that it does not know.

    Raises:
        ModelError: Names them.
    """
    encoded = model.encode(pa.array(symbols, pa.string()))
    unknown = [symbol for symbol, n in zip(symbols, encoded.n_unknown, strict=True) if n]
    if unknown:
        shown = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        raise ModelError(
            f"{model.card.name} does not know the symbols {shown}, so it cannot choose among them.\n"
            "  Take a model that was trained on strings of this language."
        )


def refuse_infinite(sentences: pa.StringArray, asked: Sequence[np.ndarray], answers: np.ndarray) -> None:
    """Refuse answers that are not finite: comparing them would decide nothing.

    Args:
        sentences: The sentences.
        asked: For each sentence, what is asked before each word, -1 for nothing, (words,).
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
