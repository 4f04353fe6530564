"""Score sentences: every distinct prefix is computed once, in bounded memory.

The same log-probabilities as sentence-by-sentence scoring, up to float32 rounding: what is shared
between two sentences is exactly the computation that both would have done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from tseval.errors import ModelError
from tseval.scoring.asks import ask, askable, refuse_infinite
from tseval.scoring.contexts import node_logprobs
from tseval.scoring.protocol import (
    UNK,
    Encoded,
    RecurrentModel,
    ReportingModel,
    SentenceModel,
    TokenModel,
    WordModel,
)
from tseval.scoring.trie import build_trie

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tseval.scoring.asks import Questions
    from tseval.scoring.protocol import Model, TotalModel

# Sentences scored, and saved, at a time. Sorted sentences share their prefixes with their neighbours,
# so that cutting the suite repeats only the few prefixes that straddle a cut.
SHARD = 16_384
# Memory for the states of two neighbouring levels of a trie.
STATE_BYTES = 384 * 2**20
# Sentences that an opaque model gets at a time.
BATCH = 64


def shards(sentences: pa.StringArray, size: int | None = None) -> list[pa.StringArray]:
    """Cut sorted sentences into the slices that are scored and saved one by one, by default of `SHARD`."""
    size = size or SHARD
    return [sentences.slice(start, size) for start in range(0, len(sentences), size)]


class Scorer:
    """Scores shards of sentences with one model.

    It remembers the size of batch that fitted into memory, and counts the contexts it computed.

    Attributes:
        n_contexts: Prefixes computed so far; for an opaque model, words, or sentences if it has no words.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.n_contexts = 0
        self._shortages: list[str] = []
        self._rows = BATCH
        if isinstance(model, RecurrentModel):
            self._rows = min(SHARD, max(1, STATE_BYTES // (2 * model.row_bytes)))
        elif isinstance(model, TokenModel):
            self._rows = model.batch_tokens

    @property
    def warnings(self) -> list[str]:
        """What a reader of the results should know."""
        return [*(self.model.warnings if isinstance(self.model, TokenModel) else []), *self._shortages]

    def score(self, sentences: pa.StringArray) -> pa.Table:
        """Score one shard of distinct, sorted sentences.

        Returns:
            One row per sentence, in order: `sentence`, `seen` (its words as the model sees them),
            `logprob` (nats, float64, the sum over its words), `words` (nats, float32, each word's),
            `n_unknown`.

        Raises:
            ModelError: If a log-probability is not finite, naming the sentence; or if memory does not
                suffice even for the smallest batch.
        """
        if not isinstance(self.model, WordModel):
            return self._score_totals(self.model, sentences)
        encoded, logprobs = self.score_tokens(sentences)
        return _table(sentences, encoded, _sum_pieces(encoded, logprobs))

    @torch.inference_mode()
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Score every token of distinct, sorted sentences.

        Returns:
            What the model sees, and the log-probability of each of its tokens (of each word, for a model
            without tokens of its own), (tokens,) float32, in nats.

        Raises:
            ModelError: If a sentence has no words, or memory does not suffice even for the smallest batch.
        """
        _refuse_empty(sentences)
        if isinstance(self.model, RecurrentModel):
            return self._score_recurrent(self.model, sentences)
        if isinstance(self.model, TokenModel):
            return self._score_tokens(self.model, sentences)
        if isinstance(self.model, SentenceModel):
            return self._score_opaque(self.model, sentences)
        raise ModelError(f"{self.model.card.name} gives one number for a sentence, and nothing of its words")

    @torch.inference_mode()
    def answer(
        self, sentences: pa.StringArray, questions: Questions, asked: Sequence[np.ndarray]
    ) -> pa.Table:
        """Score one shard of distinct, sorted sentences, and ask questions inside them.

        Args:
            sentences: The sentences.
            questions: What can be asked.
            asked: For each sentence, which question is asked before each word, -1 for none, (words,).

        Returns:
            What `score` gives, and for every word `right` and `wrong`, what `Questions.compare` gives for
            the question before it (nats, float64, null where none is asked).

        Raises:
            ModelError: The model cannot be asked, does not know a symbol, or gives a number that is not
                finite, naming the sentence; or memory does not suffice even for the smallest batch.
        """
        model = askable(self.model, questions.symbols)
        encoded = model.encode(sentences)
        starts = np.concatenate(([0], np.cumsum(encoded.lengths)))

        def part(start: int, stop: int) -> np.ndarray:
            trie = build_trie(encoded.tokens[starts[start] : starts[stop]], encoded.lengths[start:stop])
            self.n_contexts += trie.n_contexts
            at_nodes = np.empty(int(trie.paths.max()) + 1, dtype=np.int64)
            at_nodes[trie.paths] = np.concatenate(asked[start:stop])
            at_words: np.ndarray = np.stack(ask(model, trie, questions, at_nodes), axis=1)[trie.paths]
            return at_words

        words, right, wrong = self._in_memory(len(sentences), part).T
        numbers = _table(sentences, encoded, words.astype(np.float32))
        offsets = pa.array(starts, pa.int32())
        for name, column in (("right", right), ("wrong", wrong)):
            refuse_infinite(sentences, asked, column)
            values = pa.array(column, pa.float64(), from_pandas=True)
            numbers = numbers.append_column(name, pa.ListArray.from_arrays(offsets, values))
        return numbers

    def _score_recurrent(
        self, model: RecurrentModel, sentences: pa.StringArray
    ) -> tuple[Encoded, np.ndarray]:
        encoded = model.encode(sentences)
        starts = np.concatenate(([0], np.cumsum(encoded.lengths)))

        def part(start: int, stop: int) -> np.ndarray:
            tokens = encoded.tokens[starts[start] : starts[stop]]
            trie = build_trie(tokens, encoded.lengths[start:stop])
            self.n_contexts += trie.n_contexts
            words: np.ndarray = node_logprobs(model, trie)[trie.paths]
            return words

        return encoded, self._in_memory(len(sentences), part)

    def _score_tokens(self, model: TokenModel, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        encoded = model.encode(sentences)
        return encoded, self._in_batches(model, encoded)

    def _in_batches(self, model: TokenModel, encoded: Encoded) -> np.ndarray:
        """Let a model score tokens in batches small enough for memory; halve the batches if need be."""
        while True:
            try:
                tokens, n_contexts = model.token_logprobs(encoded, self._rows)
            except (MemoryError, RuntimeError) as error:
                if not _out_of_memory(error):
                    raise
                self._halve(self._rows, "tokens")
            else:
                self.n_contexts += n_contexts
                return tokens

    def _score_opaque(self, model: SentenceModel, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        texts = [str(text) for text in sentences.to_pylist()]
        lengths = np.array([len(text.split()) for text in texts], dtype=np.int64)
        order = np.argsort(lengths, kind="stable")

        def part(start: int, stop: int) -> np.ndarray:
            batch = [texts[i] for i in order[start:stop]]
            rows = model.word_logprobs(batch)
            for text, row in zip(batch, rows, strict=True):
                if len(row) != len(text.split()):
                    raise ModelError(
                        f"{model.card.name} gave {len(row)} log-probabilities for the "
                        f"{len(text.split())} words of {text!r}"
                    )
            return np.array([value for row in rows for value in row], dtype=np.float32)

        by_length = self._in_memory(len(texts), part)
        self.n_contexts += len(by_length)
        rows = np.split(by_length, np.cumsum(lengths[order])[:-1])
        words = np.concatenate([rows[i] for i in np.argsort(order)])
        seen, n_unknown = sentences, np.zeros(len(texts), dtype=np.int32)
        if isinstance(model, ReportingModel):
            shown = list(model.seen(texts))
            if len(shown) != len(texts):
                raise ModelError(f"{model.card.name} showed {len(shown)} sentences for {len(texts)}")
            seen = pa.array(shown, pa.string())
            n_unknown = np.array([text.split().count(UNK) for text in shown], dtype=np.int32)
        return Encoded(seen, np.empty(0), lengths, n_unknown), words

    @torch.inference_mode()
    def _score_totals(self, model: TotalModel, sentences: pa.StringArray) -> pa.Table:
        _refuse_empty(sentences)
        totals = np.array(
            model.sentence_logprobs([str(text) for text in sentences.to_pylist()]), dtype=np.float64
        )
        if len(totals) != len(sentences):
            raise ModelError(f"{model.card.name} gave {len(totals)} scores for {len(sentences)} sentences")
        lengths = pc.list_value_length(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(sentences)))
        self.n_contexts += len(sentences)
        n_words = np.asarray(lengths, dtype=np.int64)
        words = pa.nulls(int(n_words.sum()), pa.float32())
        none = np.zeros(len(sentences), dtype=np.int32)
        return _rows(sentences, Encoded(sentences, np.empty(0), n_words, none), words, totals)

    def _in_memory(self, n_sentences: int, part: Callable[[int, int], np.ndarray]) -> np.ndarray:
        """Join the words' log-probabilities of parts small enough for memory; halve the parts if need be."""
        pieces: list[np.ndarray] = []
        start = 0
        while start < n_sentences:
            stop = min(start + self._rows, n_sentences)
            try:
                pieces.append(part(start, stop))
            except (MemoryError, RuntimeError) as error:
                if not _out_of_memory(error):
                    raise
                self._halve(stop - start, "sentences")
            else:
                start = stop
        return np.concatenate(pieces)

    def _halve(self, tried: int, what: str) -> None:
        if tried == 1:
            raise ModelError("not enough memory to score even one sentence: try another --device")
        self._rows = tried // 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self._shortages.append(f"out of memory with {tried} {what} at once; went on with {self._rows}")


def _out_of_memory(error: BaseException) -> bool:
    """Tell lack of memory, on either kind of device, from other faults."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return "allocate memory" in str(error)  # torch's CPU allocator raises a plain RuntimeError


def _refuse_empty(sentences: pa.StringArray) -> None:
    if pc.min(pc.utf8_length(pc.utf8_trim_whitespace(sentences))).as_py() == 0:
        raise ModelError("a sentence without words cannot be scored")


def pieces_of(encoded: Encoded) -> np.ndarray:
    """Give the number of tokens of each word, (words,) int64."""
    if encoded.pieces is not None:
        return encoded.pieces
    return np.ones(int(encoded.lengths.sum()), dtype=np.int64)


def _sum_pieces(encoded: Encoded, logprobs: np.ndarray) -> np.ndarray:
    """Sum the log-probabilities of tokens, (tokens,), to those of words, (words,) float32."""
    if encoded.pieces is None:
        return logprobs
    word_of = np.repeat(np.arange(len(encoded.pieces)), encoded.pieces)
    return np.bincount(word_of, weights=logprobs, minlength=len(encoded.pieces)).astype(np.float32)


def _table(sentences: pa.StringArray, encoded: Encoded, words: np.ndarray) -> pa.Table:
    """Gather word log-probabilities, (words,), into one row per sentence."""
    starts = np.concatenate(([0], np.cumsum(encoded.lengths)))[:-1]
    sums = np.add.reduceat(words.astype(np.float64), starts) if len(words) else np.empty(0)
    return _rows(sentences, encoded, pa.array(words, pa.float32()), sums)


def _rows(sentences: pa.StringArray, encoded: Encoded, words: pa.FloatArray, sums: np.ndarray) -> pa.Table:
    """Lay out one row per sentence; `words`, (words,), are null where only the sums are known."""
    if not np.isfinite(sums).all():
        row = int(np.flatnonzero(~np.isfinite(sums))[0])
        raise ModelError(
            f"log-probability {sums[row]} of the sentence {sentences[row].as_py()!r}: not finite"
        )
    offsets = np.concatenate(([0], np.cumsum(encoded.lengths)))
    return pa.table(
        {
            "sentence": sentences,
            "seen": encoded.seen,
            "logprob": pa.array(sums, pa.float64()),
            "words": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), words),
            "n_unknown": pa.array(encoded.n_unknown, pa.int32()),
        }
    )
