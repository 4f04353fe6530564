"""Recurrent models: one trie for each part of a shard, each distinct prefix advanced once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from tseval.scoring.asking import ask, refuse_infinite, refuse_unknown
from tseval.scoring.contexts import node_logprobs
from tseval.scoring.given import refuse_misencoded
from tseval.scoring.memory import Memory
from tseval.scoring.rows import refuse_empty, rows_of_words
from tseval.scoring.scorers.scorer import Scorer
from tseval.scoring.trie import build_trie

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.questions.choices import Asked, Asks
    from tseval.scoring.protocol import Encoded, RecurrentModel
    from tseval.scoring.trie import Trie

# Memory for the states of two neighbouring levels of a trie.
STATE_BYTES = 384 * 2**20


class RecurrentScorer(Scorer):
    """Scores with a model whose state after a prefix can be kept."""

    def __init__(self, model: RecurrentModel) -> None:
        super().__init__(model, Memory(max(1, STATE_BYTES // (2 * model.row_bytes)), "sentences"))
        self._model = model

    @torch.inference_mode()
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Advance the model to every distinct context."""
        refuse_empty(sentences)
        encoded = self.encoded(sentences)

        def words(trie: Trie, _: slice) -> np.ndarray:
            return node_logprobs(self._model, trie)

        return encoded, self._by_tries(encoded, words)

    def check_symbols(self, asks: Asks) -> None:
        """Refuse symbols that the model does not know."""
        refuse_unknown(self._model, asks.symbols)

    @torch.inference_mode()
    def answer(self, sentences: pa.StringArray, asked: Asked) -> pa.Table:
        """Ask after contexts while they are there."""
        self.check_symbols(asked.asks)
        encoded = self.encoded(sentences)
        before = np.concatenate(asked.before)

        def words(trie: Trie, part: slice) -> np.ndarray:
            at_nodes = np.empty(int(trie.paths.max()) + 1, dtype=np.int64)
            at_nodes[trie.paths] = before[part]
            return np.stack(ask(self._model, trie, asked.asks, at_nodes), axis=1)

        logprobs, right, wrong = self._by_tries(encoded, words).T
        table = rows_of_words(sentences, encoded, logprobs.astype(np.float32), self.card.name)
        offsets = pa.array(np.concatenate(([0], np.cumsum(encoded.lengths))), pa.int32())
        for name, column in (("right", right), ("wrong", wrong)):
            refuse_infinite(sentences, asked.before, column)
            values = pa.array(column, pa.float64(), from_pandas=True)
            table = table.append_column(name, pa.ListArray.from_arrays(offsets, values))
        return table

    def encoded(self, sentences: pa.StringArray) -> Encoded:
        """Bring sentences to the model's vocabulary."""
        encoded = self._model.encode(sentences)
        refuse_misencoded(encoded, sentences, self.card.name)
        return encoded

    def _by_tries(self, encoded: Encoded, score: Callable[[Trie, slice], np.ndarray]) -> np.ndarray:
        """Score the nodes of a trie for each part that fits into memory; give what words get, (words, ...).

        Args:
            encoded: The sentences.
            score: Gives a number, or several, for each node of a trie, told which words it is made of.
        """
        starts = np.concatenate(([0], np.cumsum(encoded.lengths)))

        def part(start: int, stop: int) -> np.ndarray:
            words = slice(starts[start], starts[stop])
            trie = build_trie(encoded.tokens[words], encoded.lengths[start:stop])
            self.n_contexts += trie.n_contexts
            of_words: np.ndarray = score(trie, words)[trie.paths]
            return of_words

        return self._memory.in_parts(len(encoded.lengths), part)
