"""Scoring of sentences after context texts; each text is read once for all its sentences.

Words, pieces and start symbols are as in running text. A word-level model reads its start symbol before every
sentence, because the lines of its training text were separated by it. A subword model reads the start symbol
of a text once, and a space before every sentence. A recurrent state is reset only before the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import torch

from tseval.errors import ModelError, counted, quoted_text
from tseval.items import number_contexts
from tseval.scoring.answer_scorer import no_logprobs
from tseval.scoring.protocol import (
    AnswerModel,
    ContextModel,
    Encoded,
    RecurrentModel,
    SentenceModel,
    TokenModel,
    model_errors,
)
from tseval.scoring.scorer import Scorer
from tseval.scoring.scorers import RecurrentScorer, scorer_for
from tseval.scoring.trie import Memory, node_logprobs, refuse_empty, take
from tseval.writing import without_boundaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tseval.items import SuiteContexts
    from tseval.scoring.protocol import Model, PrefixState
    from tseval.scoring.trie import Trie
    from tseval.writing import Writing


def scorer_in_context(model: Model, contexts: SuiteContexts, rules: Writing | None, *, words: bool) -> Scorer:
    """Return the scorer of a model for sentences after texts; each sentence names its text by number.

    Args:
        model: The model.
        contexts: The texts.
        rules: How a model of natural text writes the tokens of the texts; None to read them unchanged.
        words: Whether single words matter, as for `scorer_for`.

    Raises:
        ModelError: The model cannot continue a text, or a text is too long for it.
    """
    if "task" in model.card.protocol:
        raise ModelError(
            f"--context: {model.card.name} is a classifier, which reads one sentence at a time.\n"
            "  Leave out --context, or use a language model."
        )
    if isinstance(model, RecurrentModel):
        return _RecurrentInContext(model, contexts)
    if isinstance(model, ContextModel):
        return _InContext(cast("Model", model), lambda text: model.after(text, rules), contexts, words)
    if isinstance(model, SentenceModel):
        return _InContext(model, lambda text: _SentencesAfter(model, text), contexts, words)
    if isinstance(model, AnswerModel):
        raise no_logprobs(model.card.name)
    gives = (
        "the probability of a token given the words on both sides of it"
        if isinstance(model, TokenModel)
        else ("only one log-probability for a whole sentence")
    )
    raise ModelError(
        f"--context: {model.card.name} gives {gives}, but a sentence in context needs the log-probability of "
        "each token, given the words before it.\n"
        "  Leave out --context, or use a causal model, such as hf:FOLDER or a tseval checkpoint."
    )


class _RecurrentInContext(RecurrentScorer):
    """A scorer that starts from the states after the texts, which are read once, in parallel."""

    def __init__(self, model: RecurrentModel, contexts: SuiteContexts) -> None:
        super().__init__(model)
        self._contexts = contexts
        self._states: PrefixState | None = None
        self._between = _start_symbol(model)
        self._check(contexts)

    def _check(self, contexts: SuiteContexts) -> None:
        """Refuse texts that the model cannot read, and warn about unknown words in them."""
        different = dict.fromkeys(sentence for text in contexts.texts for sentence in text)
        sentences = pa.array(different, pa.string())
        unreadable = super().too_long(sentences)
        if unreadable.any():
            first = quoted_text(sentences[int(np.argmax(unreadable))].as_py())
            raise ModelError(
                f"--context {contexts.source}: the contexts have sentences {self.unreadable}. "
                f"The first of these sentences is: {first}.\n"
                "  Choose another --context, or a model that reads these sentences."
            )
        encoded = self._model.encode(sentences)
        n_unknown, n_words = int(encoded.n_unknown.sum()), int(encoded.lengths.sum())
        if n_unknown:
            self.add_warning(
                f"{n_unknown:,} of {counted(n_words, 'word')} in the different sentences of the contexts are "
                f"unknown to {self.card.name}, which reads its symbol for unknown words instead"
            )

    @torch.inference_mode()
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Advance the model from the states after the texts."""
        refuse_empty(sentences)
        encoded = self.encoded(sentences)
        numbers, _ = number_contexts(sentences)
        states = self._after_texts()

        def words(trie: Trie, part: slice) -> np.ndarray:
            return node_logprobs(self._model, trie, take(states, np.unique(numbers[part])))

        return encoded, self._by_tries(encoded, words, numbers)

    def check_sentences(self, sentences: pa.StringArray) -> None:
        """Refuse sentences that the model cannot read."""
        super().check_sentences(number_contexts(sentences)[1])

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Return which sentences cannot be read."""
        return super().too_long(number_contexts(sentences)[1])

    def _encode(self, sentences: pa.StringArray) -> Encoded:
        return super()._encode(number_contexts(sentences)[1])

    def _after_texts(self) -> PrefixState:
        """Read all texts in parallel, word by word, and return the states after them, one row per text."""
        if self._states is not None:
            return self._states
        texts = [self._tokens(text) for text in self._contexts.texts]
        n_texts = len(texts)
        state = take(self._model.start(), np.zeros(n_texts, dtype=np.int64))
        lengths = np.array([len(text) for text in texts])
        for place in range(int(lengths.max())):
            rows = np.flatnonzero(lengths > place)
            tokens = np.array([texts[row][place] for row in rows.tolist()], dtype=np.int64)
            advanced = self._model.advance(state if len(rows) == n_texts else take(state, rows), tokens)
            if len(rows) == n_texts:
                state = advanced
                continue
            source = np.arange(n_texts)
            source[rows] = n_texts + np.arange(len(rows))
            state = take(tuple(torch.cat(parts) for parts in zip(state, advanced, strict=True)), source)
        self.n_contexts += int(lengths.sum())
        self._states = state
        return state

    def _tokens(self, text: Sequence[str]) -> list[int]:
        """Return the tokens of a text, with the start symbol after each of its sentences."""
        sentences = [self._model.encode(pa.array([sentence], pa.string())).tokens for sentence in text]
        return [token for tokens in sentences for token in (*tokens.tolist(), *self._between)]


def _start_symbol(model: RecurrentModel) -> tuple[int, ...]:
    """Return the token before every sentence, if the vocabulary has it."""
    start = model.card.protocol.get("start")
    if not isinstance(start, str) or start == "none":
        return ()
    encoded = model.encode(pa.array([start], pa.string()))
    is_known = len(encoded.tokens) == 1 and not encoded.n_unknown[0]
    return (int(encoded.tokens[0]),) if is_known else ()


class _InContext(Scorer):
    """A scorer with a model that has read a text; the texts are processed one after the other."""

    def __init__(
        self, model: Model, after: Callable[[Sequence[str]], Model], contexts: SuiteContexts, words: bool
    ) -> None:
        super().__init__(model, Memory(1, "sentences"))
        self._after, self._contexts, self._words = after, contexts, words
        self._current: tuple[int, Scorer] | None = None
        longest = max(range(len(contexts.texts)), key=lambda number: len(" ".join(contexts.texts[number])))
        with model_errors(self.card.name, pa.array(contexts.texts[longest][:1], pa.string())):
            first = self._scorer(longest)
            self.card, self.gives_words = first.card, first.gives_words

    def score(self, sentences: pa.StringArray) -> pa.Table:
        """Score one shard of distinct, sorted sentences, text by text."""
        tables = []
        for scorer, rows, texts in self._by_text(sentences):
            before = scorer.n_contexts
            tables.append(
                scorer.score(texts).set_column(0, "sentence", sentences.slice(rows.start, len(texts)))
            )
            self.n_contexts += scorer.n_contexts - before
        return pa.concat_tables(tables).combine_chunks()

    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Score every token, text by text."""
        parts = [scorer.score_tokens(texts) for scorer, _, texts in self._by_text(sentences)]
        return _joined([encoded for encoded, _ in parts]), np.concatenate([scores for _, scores in parts])

    def check_sentences(self, sentences: pa.StringArray) -> None:
        """Refuse sentences that the model cannot read."""
        super().check_sentences(number_contexts(sentences)[1])

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Return which sentences are too long for the model, together with their texts."""
        parts = [scorer.too_long(texts) for scorer, _, texts in self._by_text(sentences)]
        return np.concatenate(parts)

    def token_keys(self, encoded: Encoded) -> list[str]:
        """Name the tokens of encoded sentences in the form of the unigrams."""
        return self._scorer(0).token_keys(encoded)

    def _encode(self, sentences: pa.StringArray) -> Encoded:
        return _joined([scorer.encoded(texts) for scorer, _, texts in self._by_text(sentences)])

    def _by_text(self, sentences: pa.StringArray) -> Iterator[tuple[Scorer, slice, pa.StringArray]]:
        """Yield each text's scorer, with the adjacent sentences that follow the text."""
        numbers, texts = number_contexts(sentences)
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(numbers)], strict=True):
            yield self._scorer(int(numbers[start])), slice(start, stop), texts.slice(start, stop - start)

    def _scorer(self, number: int) -> Scorer:
        """Return the scorer for sentences after a text; only the last one stays in memory."""
        if self._current is None or self._current[0] != number:
            self._current = None
            model = self._after(self._contexts.texts[number])
            self._current = number, scorer_for(model, words=self._words)
        return self._current[1]


class _SentencesAfter:
    """A sentence model that reads the text and the sentence as one sentence."""

    def __init__(self, model: SentenceModel, text: Sequence[str]) -> None:
        self.card, self._model = model.card, model
        self._text = " ".join(without_boundaries(sentence) for sentence in text)

    def word_logprobs(self, sentences: Sequence[str]) -> list[list[float]]:
        """Return the log-probabilities of the words after the text."""
        rows = self._model.word_logprobs([f"{self._text} {sentence}" for sentence in sentences])
        return [list(row)[-len(text.split()) :] for row, text in zip(rows, sentences, strict=True)]

    def seen(self, sentences: Sequence[str]) -> list[str]:
        """Return sentences as the model sees them, with unknown words replaced."""
        seen = getattr(self._model, "seen", None)
        return list(sentences if seen is None else seen(sentences))


def _joined(parts: Sequence[Encoded]) -> Encoded:
    """Join encoded sentences, in order."""
    pieces = [part.pieces for part in parts if part.pieces is not None]
    return Encoded(
        seen=pa.concat_arrays([part.seen for part in parts]),
        tokens=np.concatenate([part.tokens for part in parts]),
        lengths=np.concatenate([part.lengths for part in parts]),
        n_unknown=np.concatenate([part.n_unknown for part in parts]),
        pieces=np.concatenate(pieces) if pieces else None,
    )
