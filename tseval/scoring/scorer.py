"""The base class of scorers, which score shards of sentences with one model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from tseval.errors import ModelError, quoted_text
from tseval.files import beyond
from tseval.items import first_too_long
from tseval.scoring.inflected import (
    FormWords,
    distributions,
    extends_contexts,
    forms_table,
    of_those,
    read_distributions,
    score_as_sentences,
    separate_words,
)
from tseval.scoring.protocol import (
    BoundedModel,
    ContinuationModel,
    DistributionModel,
    Encoded,
    ParticularModel,
    wrong_output,
)
from tseval.scoring.trie import (
    Memory,
    rows_of_words,
    sum_pieces,
    with_unscored,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    import pyarrow as pa

    from tseval.questions.choices import Asked, Asks
    from tseval.questions.inflection import AskedForms
    from tseval.scoring.protocol import Model, ModelCard


def check_lengths(sentences: pa.StringArray) -> None:
    """Refuse sentences that are whole texts, because scoring one takes minutes."""
    if (row := first_too_long(sentences)) >= 0:
        text = str(sentences[row])
        problem = f"a sentence of {len(text):,} characters is too long"
        raise beyond("sentence_chars", f"{text[:40]!r}...", problem)


class Scorer(ABC):
    """A scorer of shards of sentences with one model, which remembers the batch size that fits into memory.

    Attributes:
        gives_words: Whether the log-probabilities of single words are known.
        only_answers: Whether the model only answers questions, and gives no log-probabilities of sentences.
        unreadable: Description of sentences that the model cannot read, for messages.
        reads_any_length: Whether the model reads texts in windows.
        n_contexts: Prefixes computed so far; for an opaque model, words, or sentences if it has no words.
    """

    gives_words = True
    only_answers = False

    def __init__(self, model: Model, memory: Memory) -> None:
        self.card: ModelCard = model.card
        self.model = model
        self.n_contexts = 0
        self._memory = memory
        warnings = getattr(model, "warnings", None)  # optional; the list may grow
        self._noted: list[str] = warnings if isinstance(warnings, list) else []
        self._particular = model if isinstance(model, ParticularModel) else None
        self._bounded = model if isinstance(model, BoundedModel) else None
        self.reads_any_length = getattr(model, "windows", None) is not None
        self._aside: bool = getattr(model, "encodes_aside", False)
        self._ahead: dict[int, Future[Encoded]] = {}  # by the identity of the sentences
        self.unreadable: str = getattr(model, "unreadable", f"longer than {self.card.name} reads")

    @property
    def warnings(self) -> list[str]:
        """Warnings for users of the results: those of the model, then those about memory."""
        return [*self._noted, *self._memory.shortages]

    def add_warning(self, warning: str) -> None:
        """Add a warning for users of the results."""
        self._noted.append(warning)

    def check_sentences(self, sentences: pa.StringArray) -> None:
        """Refuse sentences that are too long, or that the model cannot read, before scoring starts."""
        check_lengths(sentences)
        if self._particular is not None:
            self._particular.check_sentences(sentences)

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Return which sentences are too long for the model, (sentences,) bool."""
        if self._bounded is None:
            return np.zeros(len(sentences), dtype=np.bool_)
        is_too_long = np.asarray(self._bounded.too_long(sentences))
        if is_too_long.shape != (len(sentences),) or is_too_long.dtype != np.bool_:
            raise wrong_output(
                f"the method `too_long` of {self.card.name} returned an array of type {is_too_long.dtype} "
                f"and shape {is_too_long.shape}, but must return {len(sentences)} truth values, one for "
                "each sentence"
            )
        return is_too_long

    def check_symbols(self, asks: Asks) -> None:
        """Refuse questions about symbols if the model cannot answer them, or does not know the symbols."""
        raise self._cannot_be_asked()

    def score(self, sentences: pa.StringArray) -> pa.Table:
        """Score one shard of distinct, sorted sentences.

        Returns:
            One row per sentence, in order: `sentence`, `seen` (its words as the model sees them), `logprob`
            (nats, float64, the sum over its words), `words` (nats, float32, one per word), and `n_unknown`.
            If words were corrected, `pieces` has their uncorrected values (nats, float32), and `logprob` is
            the sum of these. If the model does not score first tokens, `unscored` has the first token.
        """
        encoded, logprobs, corrections = self.score_words(sentences)
        words = sum_pieces(encoded, logprobs)
        table = rows_of_words(sentences, encoded, words, self.card.name, corrections)
        unscored = self.card.protocol.get("first_token") == "unscored" and len(encoded.tokens)
        return with_unscored(table, encoded) if unscored else table

    def score_words(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray, np.ndarray | None]:
        """Score every token like `score_tokens`, and return a correction for each word.

        Corrections are added to the sum over the tokens of each word, in nats, (words,); None if there are
        none.
        """
        return *self.score_tokens(sentences), None

    @abstractmethod
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Score every token of distinct, sorted sentences.

        Returns:
            The encoded sentences, and the log-probability of each token (of each word, if the model has no
            tokens), (tokens,) float32, in nats.
        """

    def encode_ahead(self, sentences: pa.StringArray, thread: Executor) -> None:
        """Start to encode the sentences of the next call, if the model can do this during scoring."""
        if self._aside:
            self._ahead[id(sentences)] = thread.submit(self._encode, sentences)

    def encoded(self, sentences: pa.StringArray) -> Encoded:
        """Encode sentences with the model's vocabulary."""
        future = self._ahead.pop(id(sentences), None)
        return self._encode(sentences) if future is None else future.result()

    def _encode(self, sentences: pa.StringArray) -> Encoded:
        raise ModelError(
            f"{self.card.name} gives only one log-probability for a whole sentence, so the number of its "
            "tokens is unknown.\n"
            "  Write --normalise words instead."
        )

    def token_texts(self, encoded: Encoded) -> list[str]:
        """Return the text of the tokens of encoded sentences, (tokens,): words as the model sees them."""
        return [word for sentence in encoded.seen.to_pylist() for word in str(sentence).split(" ")]

    def token_keys(self, encoded: Encoded) -> list[str]:
        """Name the tokens of encoded sentences in the form of the unigrams, (tokens,)."""
        return self.token_texts(encoded)

    def answer(self, sentences: pa.StringArray, asked: Asked) -> pa.Table:
        """Score one shard of distinct, sorted sentences, and answer the questions inside them.

        Returns:
            The columns of `score`, and for every word `right` and `wrong`: the result of `Asks.compare` for
            the question before it (nats, float64, null if there is none).
        """
        raise self._cannot_be_asked()

    def inflect(self, contexts: pa.StringArray, asked: AskedForms) -> pa.Table:
        """Score one shard of distinct, sorted contexts, and words after each of them.

        Returns:
            The columns of `score`, and for every context `forms`, the log-probability of each word after it
            (nats, float32), and `before`, the total probability of all more probable tokens. Both are null
            for unknown words; `before` also if the model does not give its whole distribution.
        """
        table = self.score(contexts)
        words = FormWords.of(self._encode, self.card, str(contexts[0]), asked.words)
        logprobs = np.full((len(contexts), len(asked.words)), np.nan)
        if not isinstance(self.model, (ContinuationModel, DistributionModel)):
            logprobs[:, words.known] = score_as_sentences(self.score, contexts, of_those(asked, words.known))
            return forms_table(table, logprobs, None, words.known)
        encoded = self._encode(contexts)
        first = next(
            (word for word, is_known in zip(asked.words, words.known, strict=True) if is_known), None
        )
        if first is not None and not extends_contexts(self._encode, contexts, encoded, first):
            raise ModelError(
                f"if a word follows a context, {self.card.name} changes the tokens of the context, so tseval "
                "cannot compare the forms of verbs. tseval checks groups of contexts. The first context of "
                f"this group is: {quoted_text(str(contexts[0]))}.\n"
                "  Use a tokenizer that begins a new token at a space."
            )
        begins: np.ndarray | None = getattr(self.model, "word_beginnings", None)
        single, is_known = words.single & words.known, words.single & words.known
        if begins is not None:
            separate = separate_words(asked, words)
            single, is_known = words.known & ~separate, words.known
            if separate.any():
                logprobs[:, separate] = score_as_sentences(self.score, contexts, of_those(asked, separate))
        self._note_forms(asked, words, is_known)
        tables = distributions(self.model, encoded, self._memory.at_once)
        before = read_distributions(tables, logprobs, single, words.ids, begins)
        self.n_contexts += len(contexts)
        return forms_table(table, logprobs, before, is_known)

    def _note_forms(self, asked: AskedForms, words: FormWords, known: np.ndarray) -> None:
        """Warn about words that are left out, or are slow to score, because they have several pieces."""
        several = int((words.known & ~words.single).sum())
        if not several:
            return
        note = f"{several:,} of {len(asked.words):,} forms have several sub-word pieces"
        note += (
            ". Each has forward passes of its own, which takes time (to compare only verbs of one piece: "
            "--model-args words=pieces)"
            if known[~words.single & words.known].any()
            else ", so their verbs are left out"
        )
        if note not in self._noted:
            self._noted.append(note)

    def _cannot_be_asked(self) -> ModelError:
        return ModelError(
            f"{self.card.name} cannot compare several words after the same prefix, but this suite needs "
            "that.\n"
            "  Use a recurrent model, such as a tseval checkpoint."
        )
