"""What the scorers of all protocols have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import ModelError
from tseval.files import beyond, limits
from tseval.scoring.protocol import BoundedModel, ParticularModel
from tseval.scoring.rows import rows_of_words, sum_pieces, with_unscored

if TYPE_CHECKING:
    from tseval.questions.choices import Asked, Asks
    from tseval.scoring.memory import Memory
    from tseval.scoring.protocol import Encoded, Model, ModelCard


def check_lengths(sentences: pa.StringArray) -> None:
    """Refuse sentences that are whole texts: to score one would take minutes.

    Raises:
        LimitError: Names one of them by its beginning.
    """
    lengths = pc.utf8_length(sentences)
    place = pc.index(pc.greater(lengths, pa.scalar(limits().sentence_chars)), pa.scalar(True)).as_py()
    if place >= 0:
        found = str(sentences[place])
        what = f"a sentence of {len(found):,} characters; the limit is"
        raise beyond("sentence_chars", f"{found[:40]!r}...", what)


class Scorer(ABC):
    """Scores shards of sentences with one model; remembers how much fitted into memory.

    Args:
        model: What is scored with.
        memory: How much is scored at once.

    Attributes:
        gives_words: Whether the log-probabilities of single words are known.
        n_contexts: Prefixes computed so far; for an opaque model, words, or sentences if it has no words.
    """

    gives_words = True

    def __init__(self, model: Model, memory: Memory) -> None:
        self.card: ModelCard = model.card
        self.n_contexts = 0
        self._memory = memory
        noted = getattr(model, "warnings", None)  # any model may have some; it may grow
        self._noted: list[str] = noted if isinstance(noted, list) else []
        self._particular = model if isinstance(model, ParticularModel) else None
        self._bounded = model if isinstance(model, BoundedModel) else None

    @property
    def warnings(self) -> list[str]:
        """What a reader of the results should know: what the model has to say, then the shortages."""
        return [*self._noted, *self._memory.shortages]

    def check_sentences(self, sentences: pa.StringArray) -> None:
        """Refuse sentences that are too long, or that the model does not read, before anything is scored.

        Raises:
            LimitError: One of them has more characters than are scored.
            ModelError: Names one of them, and what to give the model instead.
        """
        check_lengths(sentences)
        if self._particular is not None:
            self._particular.check_sentences(sentences)

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Tell which sentences are longer than the model reads, (sentences,) bool.

        Raises:
            ModelError: The model says it of more or fewer sentences than there are.
        """
        if self._bounded is None:
            return np.zeros(len(sentences), dtype=np.bool_)
        found = np.asarray(self._bounded.too_long(sentences))
        if found.shape != (len(sentences),) or found.dtype != np.bool_:
            raise ModelError(
                f"{self.card.name}: too_long gave an array of type {found.dtype} and shape {found.shape} "
                f"instead of a truth value for each of {len(sentences)} sentences"
            )
        return found

    def check_symbols(self, asks: Asks) -> None:
        """Refuse to ask a model that cannot be asked about symbols, or does not know them.

        Raises:
            ModelError: Says which.
        """
        raise self._cannot_be_asked()

    def score(self, sentences: pa.StringArray) -> pa.Table:
        """Score one shard of distinct, sorted sentences.

        Returns:
            One row per sentence, in order: `sentence`, `seen` (its words as the model sees them),
            `logprob` (nats, float64, the sum over its words), `words` (nats, float32, each word's),
            `n_unknown`; where words were corrected, `pieces` too (nats, float32, what they were before), and
            `logprob` is the sum over these; and `unscored`, its first token, if the model scores none of the
            first tokens.

        Raises:
            ModelError: If the model gives something other than finite numbers, naming the sentence; or if
                memory does not suffice even for the smallest batch.
        """
        encoded, logprobs, corrections = self.score_words(sentences)
        words = sum_pieces(encoded, logprobs)
        table = rows_of_words(sentences, encoded, words, self.card.name, corrections)
        unscored = self.card.protocol.get("first_token") == "unscored" and len(encoded.tokens)
        return with_unscored(table, encoded) if unscored else table

    def score_words(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray, np.ndarray | None]:
        """Score every token, as `score_tokens` does, and say what is missing to the words' log-probabilities.

        Returns:
            What `score_tokens` gives, and what is added to the sum over the tokens of each word, in nats,
            (words,); None where nothing is.

        Raises:
            ModelError: As `score_tokens` does.
        """
        return *self.score_tokens(sentences), None

    @abstractmethod
    def score_tokens(self, sentences: pa.StringArray) -> tuple[Encoded, np.ndarray]:
        """Score every token of distinct, sorted sentences.

        Returns:
            What the model sees, and the log-probability of each of its tokens (of each word, for a model
            without tokens of its own), (tokens,) float32, in nats.

        Raises:
            ModelError: If a sentence has no words, or memory does not suffice even for the smallest batch.
        """

    def encoded(self, sentences: pa.StringArray) -> Encoded:
        """Bring sentences to the model's vocabulary.

        Raises:
            ModelError: The model says nothing of its tokens.
        """
        raise ModelError(
            f"{self.card.name} gives one number for a sentence, and says nothing of its tokens.\n"
            "  Normalise by words: --normalise words."
        )

    def token_keys(self, encoded: Encoded) -> list[str]:
        """Name the tokens of encoded sentences as unigrams do: words as the model sees them, (tokens,)."""
        return [word for sentence in encoded.seen.to_pylist() for word in str(sentence).split(" ")]

    def token_texts(self, encoded: Encoded) -> list[str]:
        """Spell the tokens of encoded sentences for people to read, (tokens,)."""
        return [word for sentence in encoded.seen.to_pylist() for word in str(sentence).split(" ")]

    def answer(self, sentences: pa.StringArray, asked: Asked) -> pa.Table:
        """Score one shard of distinct, sorted sentences, and ask what is asked inside them.

        Returns:
            What `score` gives, and for every word `right` and `wrong`, what `Asks.compare` gives for
            the ask before it (nats, float64, null where there is none).

        Raises:
            ModelError: The model cannot be asked, does not know a symbol, or gives a number that is not
                finite, naming the sentence; or memory does not suffice even for the smallest batch.
        """
        raise self._cannot_be_asked()

    def _cannot_be_asked(self) -> ModelError:
        return ModelError(
            f"{self.card.name} cannot say how probable several words are after one prefix, which this suite "
            "asks.\n  Take a recurrent model: a checkpoint of tseval's own."
        )
