"""Protocols of models, and checks of their output: finite numbers, and the right number of them.

Adapters are written by others. If they return anything but log-probabilities, one message names the model and
the sentence, before anything is saved.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping, Set, Sized
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np
import pyarrow.compute as pc

from tseval.errors import ModelError, TsevalError, counted, first_line, one_line, quoted_text
from tseval.formats import Json  # noqa: TC001 - manifests are read into a ModelCard
from tseval.writing import without_context

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from torch import Tensor

    from tseval.writing import Writing

    PrefixState = tuple[Tensor, ...]


UNKNOWN = "<unk>"  # mark of a `ReportingModel` for an unknown word


# Model arguments that are never recorded. Others with similar names change numbers, such as add_bos_token.
SECRETS = frozenset({"api_key", "auth_token", "hf_token", "token", "password", "header"})


@dataclass(frozen=True, slots=True)
class ModelCard:
    """Identity of a model, for the manifest of a run.

    Attributes:
        name: Short name for file names and table headings.
        kind: Adapter that opened it, for example `native`.
        fingerprint: SHA-256 over the bytes of weights and vocabulary; independent of file names.
        protocol: Every choice in the presentation of sentences that can change a number
            (start symbol, case, unknown words).
        details: Other information for users: architecture, parameters, validation perplexity.
    """

    name: str
    kind: str
    fingerprint: str
    protocol: Mapping[str, Json]
    details: Mapping[str, Json]

    def __repr__(self) -> str:
        return one_line(self, self.name, self.kind, f"fingerprint {self.fingerprint[:8]}")

    def reading(self, form: str) -> ModelCard:
        """Return the card of the same model when it reads sentences in another form than tokens."""
        return replace(self, protocol={**self.protocol, "text": form})

    def show(self, model: object) -> str:
        """Describe a model on one line by name, architecture and device, for its `__repr__`."""
        return one_line(model, self.name, str(self.details["architecture"]), str(self.details["device"]))


@dataclass(frozen=True, slots=True)
class Encoded:
    """Sentences as a model sees them.

    Attributes:
        seen: Each sentence's words joined by single spaces, unknown words replaced.
        tokens: Concatenated token ids of all sentences, (tokens,) int64.
        lengths: Number of words of each sentence, (sentences,) int64.
        n_unknown: Number of unknown words of each sentence, (sentences,) int32.
        pieces: Number of tokens of each word, (words,) int64; None if every word is one token.
        joined: Whether a word is written without a space before it, (words,) bool; None if none is.
    """

    seen: pa.StringArray
    tokens: np.ndarray
    lengths: np.ndarray
    n_unknown: np.ndarray
    pieces: np.ndarray | None = None
    joined: np.ndarray | None = None

    def __repr__(self) -> str:
        counts = counted(len(self.lengths), "sentence"), counted(len(self.tokens), "token")
        return one_line(self, "", *counts)

    @property
    def token_counts(self) -> np.ndarray:
        """Number of tokens of each sentence, (sentences,) int64."""
        if self.pieces is None:
            return self.lengths
        ends = np.concatenate(([0], np.cumsum(self.pieces)))[np.concatenate(([0], np.cumsum(self.lengths)))]
        return np.diff(ends)


@runtime_checkable
class SentenceModel(Protocol):
    """A model that gives log-probabilities of the words of a sentence, the simplest kind of adapter.

    It receives distinct sentences in batches, sorted by length.
    """

    card: ModelCard

    def word_logprobs(self, sentences: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return the natural-log probability of each word of every sentence, given the words before it.

        Sentences are tokenised: words with single spaces between them, including the final period.
        """


@runtime_checkable
class ReportingModel(SentenceModel, Protocol):
    """A sentence model with a word vocabulary, which reports the words that it does not know."""

    def seen(self, sentences: Sequence[str]) -> Sequence[str]:
        """Return sentences as the model sees them, with `<unk>` for each unknown word.

        If the two sentences of a contrast become equal, the contrast is undecidable.
        """


@runtime_checkable
class RecurrentModel(Protocol):
    """A model whose state after a prefix can be stored and advanced by one word.

    A state is a tuple of tensors with one row per prefix in the first dimension. The engine selects rows and
    calls `advance` once for every distinct prefix of a suite.
    """

    card: ModelCard

    @property
    def row_bytes(self) -> int:
        """Bytes of memory per row of a state."""

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Encode sentences with the model's vocabulary."""

    def start(self) -> PrefixState:
        """Return the state after the start symbol, one row."""

    def advance(self, state: PrefixState, tokens: np.ndarray) -> PrefixState:
        """Read one more word in every row: `tokens`, (rows,) int64."""

    def logprobs(self, state: PrefixState, rows: np.ndarray, tokens: np.ndarray) -> np.ndarray | Tensor:
        """Return log-probabilities of next words, in nats; on a GPU, a tensor may stay there.

        Args:
            state: One row for each prefix.
            rows: Row of the prefix before each word, ascending, (words,) int64.
            tokens: Word ids, (words,) int64.

        Returns:
            (words,) float32.
        """


@runtime_checkable
class ParticularModel(Protocol):
    """A model that reads only sentences of one form, and checks this before scoring."""

    def check_sentences(self, sentences: pa.StringArray) -> None:
        """Refuse sentences of another form.

        Raises:
            ModelError: Names one of them, and the form that the model needs.
        """


@runtime_checkable
class BoundedModel(Protocol):
    """A model with a limit on length; items with a longer sentence are undecidable."""

    def too_long(self, sentences: pa.StringArray) -> np.ndarray:
        """Return which sentences are too long for the model, (sentences,) bool."""


@runtime_checkable
class WritingModel(Protocol):
    """A model that can read the sentences of a grammar as natural text.

    The attribute says which form it was trained on; this form is the default.

    Attributes:
        reads: `natural` or `tokenised`.
    """

    reads: str

    def writing(self, rules: Writing) -> Model:
        """Return the same model, which converts tokens to natural text before it reads them.

        Words are still the tokens, and pieces belong to them; the card's protocol says `text: natural`.
        """


@runtime_checkable
class ContextModel(Protocol):
    """A model that can read a text before every sentence, once for all of them.

    A recurrent model does not need this method, because its state after the text is stored.
    """

    def after(self, sentences: Sequence[str], rules: Writing | None) -> Model:
        """Return the same model, which reads sentences as continuations of a text.

        Args:
            sentences: Sentences of the text: tokens with spaces between them.
            rules: How a model of natural text writes these tokens; None if they are natural text already.

        Raises:
            ModelError: The text is too long for the model.
        """


@runtime_checkable
class ChangingModel(Protocol):
    """A model in memory whose weights may change between two evaluations, as in a training loop."""

    def with_current_weights(self) -> Model:
        """Return the same model with the fingerprint and the derived tables of its current weights."""


@runtime_checkable
class TokenModel(Protocol):
    """A model that scores the tokens of many sentences itself, with or without subword pieces.

    Attributes:
        warnings: Warnings for users of the results; the list may grow during scoring.
        batch_tokens: Tokens to read at once if memory allows.
    """

    card: ModelCard
    warnings: list[str]
    batch_tokens: int

    def encode(self, sentences: pa.StringArray) -> Encoded:
        """Encode sentences with the model's vocabulary, including the number of pieces of each word."""

    def token_texts(self, tokens: np.ndarray) -> list[str]:
        """Return the text of each token, for people."""

    def token_logprobs(self, encoded: Encoded, batch_tokens: int) -> tuple[np.ndarray, int]:
        """Score every token.

        Args:
            batch_tokens: Tokens to read at once, but at least one sentence.

        Returns:
            Natural-log probabilities, (tokens,) float32, and the number of contexts computed for them.
        """


@runtime_checkable
class DistributionModel(Protocol):
    """A model that gives the probabilities of all possible next tokens, not only of the actual one."""

    def next_logprobs(self, tokens: np.ndarray) -> Iterator[Tensor]:
        """Return the natural-log probabilities of all tokens at each position of a sentence, in order.

        Args:
            tokens: Tokens from `encode`, (tokens,) int64.

        Returns:
            Consecutive parts of the sentence, (some tokens, vocabulary) float32. If the first token has no
            context, they begin with the second.
        """

    def token_texts(self, tokens: np.ndarray) -> list[str]:
        """Return the text of each token, for people."""


@runtime_checkable
class ContinuationModel(Protocol):
    """A model that gives the probabilities of its whole vocabulary after many contexts at once."""

    def after_contexts(self, encoded: Encoded, batch_tokens: int) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Yield the log-probabilities of all tokens after contexts, for some contexts at a time.

        Args:
            encoded: Contexts from `encode`.
            batch_tokens: Tokens to read at once, but at least one context.

        Returns:
            Positions of the contexts in `encoded`, and (contexts, vocabulary) float32.
        """


@runtime_checkable
class CorrectingModel(TokenModel, Protocol):
    """A token model in which a word's log-probability is not the sum over the word's tokens."""

    def corrected_logprobs(
        self, encoded: Encoded, batch_tokens: int
    ) -> tuple[np.ndarray, np.ndarray | None, int]:
        """Score every token like `token_logprobs`, and return a correction for each word.

        Returns:
            The results of `token_logprobs`, and between them the corrections, in nats, (words,). A correction
            is added to the sum over the tokens of its word. None if there are none.
        """


@runtime_checkable
class TotalModel(Protocol):
    """An opaque model: it gives one number for a sentence, and none for its words.

    It receives a whole shard of sentences at once, and handles batches and memory itself. Tasks that need
    single words, such as `--score critical`, are not available.
    """

    card: ModelCard

    def sentence_logprobs(self, sentences: Sequence[str]) -> Sequence[float]:
        """Return the natural-log probability of each sentence, the sum over its words."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to the question which of two sentences is better.

    Attributes:
        text: The answer; `tseval.questions.answers` interprets it.
        logprobs: Log-probabilities of the answers 1 and 2, in nats; None if the model does not give them.
        model: Name of the model, as its server gives it; None for a local model.
        date: Day of a server's answer, `2026-11-29` (UTC); None for a local model.
    """

    text: str
    logprobs: tuple[float | None, float | None] | None = None
    model: str | None = None
    date: str | None = None


@runtime_checkable
class AnswerModel(Protocol):
    """A model that only answers which of two sentences is better, and gives no probabilities.

    It receives every pair of a suite twice, in both orders.
    """

    card: ModelCard

    def answers(self, questions: Sequence[tuple[str, str]]) -> Iterator[tuple[int, Answer]]:
        """Yield the position of each question and its answer, in any order, as soon as it is known.

        Args:
            questions: The first and the second sentence of each question.
        """


# Models that score single words, and all models.
WordModel = SentenceModel | RecurrentModel | TokenModel
Model = WordModel | TotalModel | AnswerModel

# Required attributes of each protocol; if some are missing, the error names the most similar protocol.
PROTOCOL_PARTS = {
    SentenceModel: ("card", "word_logprobs"),
    TotalModel: ("card", "sentence_logprobs"),
    AnswerModel: ("card", "answers"),
    TokenModel: ("card", "warnings", "batch_tokens", "encode", "token_texts", "token_logprobs"),
    RecurrentModel: ("card", "row_bytes", "encode", "start", "advance", "logprobs"),
}


def current(model: Model) -> Model:
    """Return a model with its current weights; every evaluation and call of `surprisals` begins with this."""
    return model.with_current_weights() if isinstance(model, ChangingModel) else model


def recarded(card: ModelCard, now: ModelCard) -> ModelCard:
    """Return the card of a model after its weights changed; what its owner wrote on the card stays."""
    protocol = {**card.protocol, **now.protocol}
    return replace(card, fingerprint=now.fingerprint, protocol=protocol, details=now.details)


def refuse_no_model(candidate: object, what: str) -> None:
    """Refuse an object without a protocol, and list what it lacks of the most similar one."""
    if isinstance(candidate, type):
        raise ModelError(
            f"{what} is the class {candidate.__name__} itself, but tseval needs an object of this class.\n"
            f"  Create an object: {candidate.__name__}(...)"
        )
    if isinstance(candidate, tuple(PROTOCOL_PARTS)):
        return
    missing_methods = {
        protocol.__name__: [name for name in names if not hasattr(candidate, name)]
        for protocol, names in PROTOCOL_PARTS.items()
    }
    nearest = min(missing_methods, key=lambda name: len(missing_methods[name]))
    missing = ", ".join(missing_methods[nearest])
    raise ModelError(
        f"{what} has the type {type(candidate).__name__}, which is not a model. To be a {nearest}, the "
        f"class must also have: {missing}.\n"
        f"  Add {missing} to the class. docs/adapters.md describes the kinds of models."
    )


# Log-probabilities above 0 by rounding are accepted up to this, in nats; `tseval check-model` does the same.
ABOVE_ZERO = 1e-3
NO_LISTS = (str, bytes, bytearray, memoryview, Mapping, Set)  # not lists, although they have a length
USUAL = frozenset({float, int, np.float32, np.float64})


def wrong_output(problem: str) -> ModelError:
    """Make the error for a wrong return value of a model's code."""
    return ModelError(
        f"{problem}.\n  Correct the code of the model. To find all such mistakes: tseval check-model MODEL"
    )


def check_list(given: object, who: str, what: str) -> list[object]:
    """Convert a list, a tuple or an array of at least one dimension to a list; refuse anything else."""
    # A tensor may be on a device or part of a graph, so its owner must convert it.
    is_tensor = type(given).__module__.partition(".")[0] == "torch"
    is_list = isinstance(given, Sized) and isinstance(given, Iterable) and not isinstance(given, NO_LISTS)
    if not is_list or is_tensor or (isinstance(given, np.ndarray) and given.ndim == 0):
        hint = " (call its method tolist())" if is_tensor else ""
        raise wrong_output(f"{who} returned {_kind(given)}, but must return a list of {what}{hint}")
    return list(cast("Iterable[object]", given))


def as_numbers(given: object, who: str, what: str) -> np.ndarray:
    """Convert a list of numbers of any numeric type to an array, (n,) float64; refuse anything else."""
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind in "iuf":
        return given.astype(np.float64)
    values = check_list(given, who, what)
    if not USUAL.issuperset(map(type, values)):
        for value in values:
            if not _is_number(value):
                raise wrong_output(
                    f"{who} returned {_kind(value)} in its list of {what}, but the list "
                    "must have only numbers"
                )
    try:
        return np.array(values, dtype=np.float64).reshape(len(values))
    except (OverflowError, TypeError, ValueError):
        raise wrong_output(
            f"{who} returned a number that is too large for float64, in its list of {what}"
        ) from None


def as_array(given: object, n: int, who: str, what: str) -> np.ndarray:
    """Check that a value is an array of n numbers, one for each word or token."""
    if not isinstance(given, np.ndarray):
        raise wrong_output(f"{who} returned {_kind(given)}, but must return a NumPy array of {what}")
    if given.dtype.kind not in "iuf" or given.shape != (n,):
        shape = f"of type {given.dtype} and shape {given.shape}"
        raise wrong_output(
            f"{who} returned an array {shape}, but must return an array of {n} numbers: {what}"
        )
    return given


def name_batch(first: str, n_sentences: int, room: int = 100) -> str:
    """Return the name of a batch in a message: its first sentence, shortened, and the number of others.

    >>> name_batch("the author laughs .", 1), name_batch("the author laughs .", 10)
    ("the sentence 'the author laughs .'", "the sentence 'the author laughs .' and 9 others")
    """
    others = f" and {counted(n_sentences - 1, 'other')}" if n_sentences > 1 else ""
    return f"the sentence {quoted_text(first, room)}{others}"


def refuse_misencoded(encoded: object, sentences: pa.StringArray, who: str) -> None:
    """Refuse encoded sentences whose parts do not match the sentences or each other."""
    batch = name_batch(str(sentences[0]), len(sentences))
    if not isinstance(encoded, Encoded):
        raise wrong_output(
            f"for {batch}, the method `encode` of {who} returned {_kind(encoded)}, but must return an "
            "`Encoded`"
        )
    counts = [len(encoded.seen), len(encoded.lengths), len(encoded.n_unknown)]
    if counts != [len(sentences)] * 3:
        raise wrong_output(
            f"for {batch}, the method `encode` of {who} returned parts with {min(counts)} to {max(counts)} "
            f"entries, but each part must have {len(sentences)}, one for each sentence"
        )
    n_words = int(encoded.lengths.sum())
    if encoded.pieces is not None and len(encoded.pieces) != n_words:
        raise wrong_output(
            f"for {batch}, the method `encode` of {who} counted the pieces of {len(encoded.pieces)} words, "
            f"but these sentences have {n_words} words"
        )
    n_tokens = n_words if encoded.pieces is None else int(encoded.pieces.sum())
    if len(encoded.tokens) != n_tokens:
        part = "lengths" if encoded.pieces is None else "pieces"
        raise wrong_output(
            f"for {batch}, the method `encode` of {who} returned {len(encoded.tokens)} tokens, but the sum "
            f"of its `{part}` is {n_tokens}"
        )


def refuse_above_zero(scored: pa.Table, who: str) -> None:
    """Refuse scored sentences with a probability above 1."""
    words: Any = scored["words"].combine_chunks()
    values = words.flatten()
    logprobs = values if values.null_count < len(values) else scored["logprob"]
    highest = pc.max(logprobs).as_py()
    if highest is None or highest <= ABOVE_ZERO:
        return
    place = pc.index(logprobs, pc.max(logprobs)).as_py()
    row = place if logprobs is not values else int(pc.list_parent_indices(words)[place].as_py())
    raise _above_zero(highest, scored["sentence"][row].as_py(), who)


def refuse_no_logprobs(logprobs: np.ndarray, counts: np.ndarray, sentences: pa.StringArray, who: str) -> None:
    """Refuse log-probabilities of tokens, (tokens,), that are not finite, or above 0.

    `counts` is the number of tokens of each sentence.
    """
    wrong = np.flatnonzero(~((logprobs <= ABOVE_ZERO) & np.isfinite(logprobs)))
    if not len(wrong):
        return
    row = int(np.searchsorted(np.cumsum(counts), wrong[0], side="right"))
    value, sentence = float(logprobs[wrong[0]]), sentences[row].as_py()
    raise _above_zero(value, sentence, who) if np.isfinite(value) else not_finite(value, sentence, who)


@contextmanager
def model_errors(who: str, sentences: pa.StringArray) -> Iterator[None]:
    """Turn an error in a model's code into one message: the error, its place, and the sentences."""
    try:
        yield
    except (TsevalError, MemoryError):
        raise
    except Exception as error:  # a model may raise anything
        frame = traceback.extract_tb(error.__traceback__)[-1]
        batch = name_batch(without_context(str(sentences[0])), len(sentences), 40)
        raise ModelError(
            f"{who} raised a Python error while tseval scored {batch}:\n"
            f"  {type(error).__name__}: {first_line(error)} ({frame.filename}:{frame.lineno}).\n"
            "  Correct the code of the model. To check it: tseval check-model MODEL"
        ) from error


def not_finite(value: float, sentence: str, who: str) -> ModelError:
    """Make the error for a log-probability that is infinite or not a number."""
    return wrong_output(
        f"{who} returned the log-probability {value} for the sentence "
        f"{quoted_text(without_context(sentence))}, but the "
        "number must be finite"
    )


def _above_zero(value: float, sentence: str, who: str) -> ModelError:
    return ModelError(
        f"{who} returned the log-probability {value:.4g} in the sentence "
        f"{quoted_text(without_context(sentence))}, but a "
        "log-probability above 0 means a probability above 1.\n"
        "  Return natural logarithms of probabilities, not logits, surprisals or probabilities.\n"
        "  To check the model: tseval check-model MODEL"
    )


def _is_number(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iuf"
    return isinstance(value, Real) and not isinstance(value, bool)


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
