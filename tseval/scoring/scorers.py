"""One scorer for each protocol of models; `scorer_for` chooses the scorer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, cast

import numpy as np
import pyarrow as pa
import torch

from tseval.errors import ModelError, counted, quoted_text
from tseval.scoring.answer_scorer import AnswerScorer
from tseval.scoring.protocol import (
    UNKNOWN,
    AnswerModel,
    CorrectingModel,
    Encoded,
    RecurrentModel,
    ReportingModel,
    SentenceModel,
    TokenModel,
    as_array,
    as_numbers,
    check_list,
    name_batch,
    refuse_misencoded,
    refuse_no_model,
    wrong_output,
)
from tseval.scoring.scorer import Scorer
from tseval.scoring.trie import (
    CONTEXTS_AT_ONCE,
    Memory,
    build_trie,
    logprobs_after,
    node_logprobs,
    refuse_empty,
    rows_of_sums,
    rows_of_words,
    visit,
    words_and_lengths,
)
from tseval.writing import BOUNDARY, without_boundaries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tseval.questions.choices import Asked, Asks
    from tseval.questions.inflection import AskedForms
    from tseval.scoring.protocol import TotalModel
    from tseval.scoring.trie import Trie


# Log-probabilities of alternatives in memory at once.
ALTERNATIVES = 2**16


def ask(
    model: RecurrentModel, trie: Trie, asks: Asks, asked: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Score every node of a trie, and answer the questions after its contexts.

    Args:
        model: The model.
        trie: The trie.
        asks: The questions and their symbols.
        asked: For every node, the question after its context, -1 for none, (nodes,). All nodes after the same
            context have the same question or none.

    Returns:
        For every node its log-probability, float32, and the two numbers from `Asks.compare` for the question
        after its context, NaN if there is none. (nodes,) each.
    """
    symbols = model.encode(pa.array(asks.symbols, pa.string())).tokens
    logprobs = np.empty(len(asked), dtype=np.float32)
    right, wrong = np.full((2, len(asked)), np.nan)
    for visited in visit(model, trie, max(1, min(CONTEXTS_AT_ONCE, ALTERNATIVES // len(symbols)))):
        logprobs[visited.nodes] = logprobs_after(model, visited.state, visited.rows, visited.tokens)
        firsts = np.unique(visited.rows, return_index=True)[1]
        asks_of_rows = np.maximum.reduceat(asked[visited.nodes], firsts)
        rows = np.flatnonzero(asks_of_rows >= 0)
        if len(rows):
            pairs = np.repeat(rows, len(symbols)), np.tile(symbols, len(rows))
            table = logprobs_after(model, visited.state, *pairs).reshape(len(rows), len(symbols))
            values = np.full((2, len(asks_of_rows)), np.nan)
            values[:, rows] = asks.compare(asks_of_rows[rows], table)
            values = np.where(asked[visited.nodes] >= 0, values[:, visited.rows], np.nan)
            right[visited.nodes], wrong[visited.nodes] = values
    return logprobs, right, wrong


def refuse_infinite(sentences: pa.StringArray, asked: Sequence[np.ndarray], answers: np.ndarray) -> None:
    """Refuse infinite answers, (words,), because a comparison with them would decide nothing.

    `asked` holds for each sentence the question before each word, -1 for none, (words,).
    """
    wrong = np.flatnonzero((np.concatenate(asked) >= 0) & ~np.isfinite(answers))
    if len(wrong):
        ends = np.cumsum([len(asks) for asks in asked])
        sentence = sentences[int(np.searchsorted(ends, wrong[0], side="right"))].as_py()
        raise wrong_output(
            f"the model gives the log-probability {answers[wrong[0]]} to a symbol in "
            f"{sentence!r}, but the number must be finite"
        )


def _encoded_by(model: RecurrentModel | TokenModel, sentences: pa.StringArray) -> Encoded:
    encoded = model.encode(sentences)
    refuse_misencoded(encoded, sentences, model.card.name)
    return encoded


# Memory for the states of two consecutive levels of a trie.
STATE_BYTES = 384 * 2**20


class RecurrentScorer(Scorer):
    """A scorer with a model whose state after a prefix can be stored."""

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
        encoded = self._model.encode(pa.array(asks.symbols, pa.string()))
        unknown = [symbol for symbol, n in zip(asks.symbols, encoded.n_unknown, strict=True) if n]
        if unknown:
            names = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
            raise ModelError(
                f"{self.card.name} has no word for the symbols {names} in its vocabulary, so it cannot "
                "choose among them.\n"
                "  Use a model that was trained on strings of this formal language."
            )

    @torch.inference_mode()
    def answer(self, sentences: pa.StringArray, asked: Asked) -> pa.Table:
        """Answer the questions after contexts while their states are in memory."""
        self.check_symbols(asked.asks)
        encoded = self.encoded(sentences)
        before = np.concatenate(asked.before)
        starts = np.concatenate(([0], np.cumsum(encoded.lengths)))

        def words(trie: Trie, part: slice) -> np.ndarray:
            at_nodes = np.empty(int(trie.paths.max()) + 1, dtype=np.int64)
            at_nodes[trie.paths] = before[starts[part.start] : starts[part.stop]]
            return np.stack(ask(self._model, trie, asked.asks, at_nodes), axis=1)

        logprobs, right, wrong = self._by_tries(encoded, words).T
        table = rows_of_words(sentences, encoded, logprobs.astype(np.float32), self.card.name)
        offsets = pa.array(np.concatenate(([0], np.cumsum(encoded.lengths))), pa.int32())
        for name, column in (("right", right), ("wrong", wrong)):
            refuse_infinite(sentences, asked.before, column)
            values = pa.array(column, pa.float64(), from_pandas=True)
            table = table.append_column(name, pa.ListArray.from_arrays(offsets, values))
        return table

    def _encode(self, sentences: pa.StringArray) -> Encoded:
        return _encoded_by(self._model, sentences)

    def _by_tries(
        self, encoded: Encoded, score: Callable[[Trie, slice], np.ndarray], roots: np.ndarray | None = None
    ) -> np.ndarray:
        """Score the tries of parts that fit into memory, and return the values of all words, (words, ...).

        `score` gets a trie and the range of its sentences, and returns one or several numbers per node.
        `roots` is the number of the text before each sentence, (sentences,).
        """
        starts = np.concatenate(([0], np.cumsum(encoded.lengths)))

        def part(start: int, stop: int) -> np.ndarray:
            words = slice(starts[start], starts[stop])
            root_numbers = None if roots is None else np.unique(roots[start:stop], return_inverse=True)[1]
            trie = build_trie(encoded.tokens[words], encoded.lengths[start:stop], roots=root_numbers)
            self.n_contexts += trie.n_contexts
            of_words: np.ndarray = score(trie, slice(start, stop))[trie.paths]
            return of_words

        return self._memory.in_parts(len(encoded.lengths), part)


# Sentences in one call of a model.
BATCH = 64


class SentenceScorer(Scorer):
    """A scorer with a model that gives only the log-probabilities of the words of sentences."""

    def __init__(self, model: SentenceModel) -> None:
        super().__init__(model, Memory(BATCH, "sentences"))
        self._model = model

    @torch.inference_mode()
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Pass the sentences to the model, sorted by length; the tokens are words."""
        refuse_empty(sentences)
        encoded, texts = self._encode(sentences), _texts_of(sentences)
        lengths = encoded.lengths
        order = np.argsort(lengths, kind="stable")

        def part(start: int, stop: int) -> np.ndarray:
            return self._batch([texts[i] for i in order[start:stop]])

        by_length = self._memory.in_parts(len(texts), part)
        self.n_contexts += len(by_length)
        rows = np.split(by_length, np.cumsum(lengths[order])[:-1])
        return encoded, np.concatenate([rows[i] for i in np.argsort(order)])

    def _encode(self, sentences: pa.StringArray) -> Encoded:
        texts = _texts_of(sentences)
        seen, n_unknown = self._seen(sentences, texts)
        lengths = np.array([len(text.split()) for text in texts], dtype=np.int64)
        return Encoded(seen, np.empty(0), lengths, n_unknown)

    def _batch(self, batch: list[str]) -> np.ndarray:
        name = self.card.name
        sentences = name_batch(batch[0], len(batch))
        rows = check_list(
            self._model.word_logprobs(batch), name, f"log-probabilities of the words of {sentences}"
        )
        if len(rows) != len(batch):
            raise wrong_output(
                f"for {sentences}, {name} returned {counted(len(rows), 'list')} of log-probabilities, but "
                f"must return {len(batch)}, one for each sentence"
            )
        words = [
            as_numbers(row, name, f"log-probabilities of the words of {quoted_text(text)}")
            for text, row in zip(batch, rows, strict=True)
        ]
        for text, row in zip(batch, words, strict=True):
            if len(row) != len(text.split()):
                raise wrong_output(
                    f"{name} returned {len(row)} log-probabilities, but there are {len(text.split())} words "
                    f"in {quoted_text(text)}"
                )
        with np.errstate(over="ignore"):  # overflow becomes infinite, which is reported with its sentence
            return np.concatenate(words).astype(np.float32)

    def _seen(self, sentences: pa.StringArray, texts: list[str]) -> tuple[pa.StringArray, np.ndarray]:
        """Return sentences as the model sees them, and their numbers of unknown words, if it reports them."""
        if not isinstance(self._model, ReportingModel):
            return sentences, np.zeros(len(texts), dtype=np.int32)
        content = f"sentences as it sees them, for {len(texts)}, the first {quoted_text(texts[0])}"
        results = check_list(self._model.seen(texts), self.card.name, content)
        if len(results) != len(texts):
            raise wrong_output(
                f"the method `seen` of {self.card.name} returned {len(results)} sentences, "
                f"but received {len(texts)}"
            )
        for text, result in zip(texts, results, strict=True):
            if not isinstance(result, str):
                raise wrong_output(
                    f"for the text {quoted_text(text)}, the method `seen` of {self.card.name} must return "
                    f"a string, but it returned {type(result).__name__}"
                )
        n_unknown = np.array([str(text).split().count(UNKNOWN) for text in results], dtype=np.int32)
        return pa.array(results, pa.string()), n_unknown


class TokenScorer(Scorer):
    """A scorer with a model that splits words into pieces and reads batches of tokens.

    If single `words` matter, they are corrected, provided that the model gives corrections.
    """

    def __init__(self, model: TokenModel, words: bool) -> None:
        super().__init__(model, Memory(model.batch_tokens, "tokens"))
        self._model = model
        self._correcting = model if words and isinstance(model, CorrectingModel) else None

    @torch.inference_mode()
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Let the model score a shard in batches that fit into memory."""
        encoded = self.encoded(sentences)
        result: object = self._memory.whole(lambda size: self._model.token_logprobs(encoded, size))
        match result:
            case (logprobs, int() | np.integer() as n_contexts):
                return encoded, self._checked(logprobs, encoded, int(n_contexts), sentences)
        raise self._gave_no(
            "tuple of two values (an array of log-probabilities, and the number of contexts as an `int`)",
            sentences,
        )

    @torch.inference_mode()
    def score_words(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray, np.ndarray | None]:
        """Let the model score tokens and correct words, if it can and words matter."""
        model = self._correcting
        if model is None:
            return super().score_words(sentences)
        encoded = self.encoded(sentences)
        result: object = self._memory.whole(lambda size: model.corrected_logprobs(encoded, size))
        match result:
            case (logprobs, corrections, int() | np.integer() as n_contexts):
                tokens = self._checked(logprobs, encoded, int(n_contexts), sentences)
                if corrections is not None:
                    content = f"corrections of the words of {_named(sentences)}"
                    corrections = as_array(corrections, int(encoded.lengths.sum()), self.card.name, content)
                return encoded, tokens, corrections
        raise self._gave_no(
            "tuple of three values (log-probabilities, corrections, and the number of contexts as an `int`)",
            sentences,
        )

    def _checked(
        self, logprobs: object, encoded: Encoded, n_contexts: int, sentences: pa.StringArray
    ) -> np.ndarray:
        self.n_contexts += n_contexts
        content = f"log-probabilities of the tokens of {_named(sentences)}"
        return as_array(logprobs, len(encoded.tokens), self.card.name, content)

    def _gave_no(self, content: str, sentences: pa.StringArray) -> ModelError:
        return wrong_output(
            f"{self.card.name} must return a {content}, but returned something else for {_named(sentences)}"
        )

    def _encode(self, sentences: pa.StringArray) -> Encoded:
        refuse_empty(sentences)
        return _encoded_by(self._model, sentences)

    def token_keys(self, encoded: Encoded) -> list[str]:
        """Name the pieces by their ids, because two pieces may have the same text."""
        return [str(token) for token in encoded.tokens.tolist()]

    def token_texts(self, encoded: Encoded) -> list[str]:
        """Return the text of the pieces."""
        return self._model.token_texts(encoded.tokens)


def _texts_of(sentences: pa.StringArray) -> list[str]:
    """Return sentences with a space at every word boundary, so that a model can count the words."""
    return [str(text).replace(BOUNDARY, " ") for text in sentences.to_pylist()]


def _named(sentences: pa.StringArray) -> str:
    return name_batch(str(sentences[0]), len(sentences))


class TotalScorer(Scorer):
    """A scorer with a model that gives no scores of words, and handles batches and memory itself."""

    gives_words = False

    def __init__(self, model: TotalModel) -> None:
        super().__init__(model, Memory(1, "sentences"))
        self._model = model

    @torch.inference_mode()
    def score(self, sentences: pa.StringArray) -> pa.Table:
        """Let the model score the whole shard; `words` is null."""
        refuse_empty(sentences)
        texts = [without_boundaries(str(text)) for text in sentences.to_pylist()]
        content = f"log-probabilities of {len(texts)} sentences, the first {quoted_text(texts[0])}"
        totals = as_numbers(self._model.sentence_logprobs(texts), self.card.name, content)
        if len(totals) != len(sentences):
            raise wrong_output(
                f"{self.card.name} returned {len(totals)} scores, but received {len(sentences)} sentences"
            )
        _, n_words = words_and_lengths(sentences)
        self.n_contexts += len(sentences)
        words = pa.nulls(int(n_words.sum()), pa.float32())
        zeros = np.zeros(len(sentences), dtype=np.int32)
        return rows_of_sums(
            sentences, Encoded(sentences, np.empty(0), n_words, zeros), words, totals, self.card.name
        )

    def inflect(self, contexts: pa.StringArray, asked: AskedForms) -> pa.Table:
        """Refuse: the model gives no scores of words after a context."""
        self.score_tokens(contexts)

    def score_tokens(self, sentences: pa.StringArray) -> NoReturn:
        """Refuse: the model gives no scores of tokens."""
        raise ModelError(
            f"{self.card.name} gives only one log-probability for a whole sentence, but tseval needs one "
            "for each word here.\n"
            "  Use a model that gives the log-probability of every word."
        )


def scorer_for(model: object, *, words: bool = False) -> Scorer:
    """Return the scorer for the most informative protocol that a model has.

    If single `words` matter and a model splits them into pieces, the numbers of words are probabilities,
    which costs a little more time. Otherwise they are sums over pieces, which suffice for whole sentences.
    """
    if isinstance(model, RecurrentModel):
        return RecurrentScorer(model)
    if isinstance(model, TokenModel):
        return TokenScorer(model, words)
    if isinstance(model, SentenceModel):
        return SentenceScorer(model)
    if isinstance(model, AnswerModel):
        return AnswerScorer(model)
    refuse_no_model(model, "what should be scored")
    return TotalScorer(cast("TotalModel", model))
