"""Log-probabilities of many words after a context, with one forward pass for each context instead of word.

Words that are one entry of the model's vocabulary are read from one softmax. Words of several pieces need
separate passes. They are scored as the last words of sentences, whose common beginnings are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from tseval.questions.unknown import Unknown
from tseval.scoring.devices import on_device
from tseval.scoring.protocol import ContinuationModel, DistributionModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    from tseval.questions.inflection import AskedForms
    from tseval.scoring.protocol import Encoded, ModelCard

    Distributions = Iterator[tuple[np.ndarray, Tensor]]


# Most log-probabilities of whole vocabularies, and sentences of a context and a word, in memory at once.
AT_ONCE, SENTENCES_AT_ONCE = 2**22, 16_384
SPACE = " "


@dataclass(frozen=True, slots=True)
class FormWords:
    """How a model encodes words after a context.

    Attributes:
        known: Whether it knows the word, (words,) bool.
        single: Whether the word is one entry of the vocabulary, (words,) bool.
        ids: The number of the entry, or 0, (words,) int64.
    """

    known: np.ndarray
    single: np.ndarray
    ids: np.ndarray

    @classmethod
    def of(cls, encode: Callable[[pa.StringArray], Encoded], card: ModelCard, context: str,
           words: tuple[str, ...]) -> FormWords:  # fmt: skip
        """Encode words after a context, and describe the result."""
        encoded = encode(pa.array([f"{context}{SPACE}{word}" for word in words], pa.string()))
        unknown = Unknown.of(card.protocol)
        last_words = [str(seen).rsplit(SPACE, 1)[-1] for seen in encoded.seen.to_pylist()]
        lowercase = unknown.lowercase
        is_known = [
            not unknown.is_unknown(word.lower() if lowercase else word, seen)
            for word, seen in zip(words, last_words, strict=True)
        ]
        pieces = np.ones(int(encoded.lengths.sum()), np.int64) if encoded.pieces is None else encoded.pieces
        single = pieces[np.cumsum(encoded.lengths) - 1] == 1
        ids = np.zeros(len(words), dtype=np.int64)
        if len(encoded.tokens):  # a model of sentences has no visible vocabulary
            ids = np.where(single, encoded.tokens[np.cumsum(encoded.token_counts) - 1], 0).astype(np.int64)
        return cls(np.array(is_known), single, ids)


def extends_contexts(
    encode: Callable[[pa.StringArray], Encoded], contexts: pa.StringArray, encoded: Encoded, word: str
) -> bool:
    """Return whether the tokens of each context stay the same when a word follows."""
    longer = encode(cast("pa.StringArray", pc.binary_join_element_wise(contexts, word, SPACE)))  # type: ignore[call-overload]
    counts, longer_counts = encoded.token_counts, longer.token_counts
    n_added = longer_counts - counts
    if len(n_added) and (n_added.min() != n_added.max() or n_added.min() < 1):
        return False
    inside = np.arange(len(longer.tokens)) - np.repeat(
        np.cumsum(longer_counts) - longer_counts, longer_counts
    )
    return bool(np.array_equal(longer.tokens[inside < np.repeat(counts, longer_counts)], encoded.tokens))


def distributions(model: object, encoded: Encoded, batch_tokens: int) -> Distributions:
    """Yield the log-probabilities of the whole vocabulary after contexts, for some contexts at a time.

    Returns:
        Positions of the contexts, and (contexts, vocabulary) float32.
    """
    if isinstance(model, ContinuationModel):
        yield from model.after_contexts(encoded, batch_tokens)
        return
    assert isinstance(model, DistributionModel)
    # The model predicts each token of a text, so one more token is added after the context.
    for place, tokens in enumerate(np.split(encoded.tokens, np.cumsum(encoded.token_counts)[:-1])):
        last = None
        for rows in model.next_logprobs(np.append(tokens, 0)):
            last = rows.reshape(-1, rows.shape[-1])[-1:]
        assert last is not None
        yield np.array([place]), last


def in_tiles(rows: np.ndarray, n_words: int) -> Iterator[np.ndarray]:
    """Split rows of a table into parts of at most `AT_ONCE` numbers, but at least one row."""
    for start in range(0, len(rows), at_once := max(1, AT_ONCE // n_words)):
        yield rows[start : start + at_once]


def of_those(asked: AskedForms, chosen: np.ndarray) -> list[str]:
    """Return the words that `chosen`, (words,) bool, marks."""
    return [asked.words[place] for place in np.flatnonzero(chosen)]


def separate_words(asked: AskedForms, words: FormWords) -> np.ndarray:
    """Return which words need separate passes, (words,) bool, if words are corrected.

    A piece such as `laugh` also begins `laughs`. So if one form of a verb has several pieces, both forms need
    the probability that the word ends. Forms of one piece each are compared in one softmax.
    """
    place = {word: index for index, word in enumerate(asked.words)}
    pairs = np.array([[place[form] for form in pair] for pair in asked.pairs], dtype=np.int64)
    separate = ~words.single
    while True:  # a form may belong to several verbs
        linked = separate.copy()
        linked[pairs[separate[pairs].any(axis=1)]] = True
        if np.array_equal(linked, separate):
            result: np.ndarray = separate & words.known
            return result
        separate = linked


def join_ranges(first: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """Concatenate ranges of integers."""
    counts = stop - first
    joined: np.ndarray = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
    return joined


def read_distributions(
    tables: Distributions,
    logprobs: np.ndarray,
    single: np.ndarray,
    ids: np.ndarray,
    begins: np.ndarray | None,
) -> np.ndarray:
    """Read the probabilities of words from those of whole vocabularies.

    Args:
        tables: Log-probabilities after contexts.
        logprobs: Log-probabilities of all words, (contexts, words); this function fills in `single` words.
        single: Words that are one entry of the vocabulary, (words,) bool.
        ids: Their entries, (words,).
        begins: Entries that begin a new word, (entries,), if words are corrected. The probability of a word
            is then divided by the probability that the context ends there. None for no division.

    Returns:
        Total probability of the entries that are more probable than each word, (contexts, words).
    """
    before = np.empty(logprobs.shape)
    for contexts, distribution in tables:
        for tile in in_tiles(np.arange(len(contexts)), distribution.shape[1]):
            table, rows = distribution[on_device(tile, distribution.device)].float(), contexts[tile]
            divisor = np.zeros((len(rows), 1))
            if begins is not None:
                starts = table[:, on_device(begins, table.device)].double()
                divisor = starts.logsumexp(1, keepdim=True).cpu().numpy()
            values = table[:, on_device(ids[single], table.device)].double().cpu().numpy()
            logprobs[np.ix_(rows, single)] = values - divisor
            before[rows] = _ranked(table, logprobs[rows] + divisor)
    return before


def _ranked(table: Tensor, logprobs: np.ndarray) -> np.ndarray:
    """Sum the probabilities of the entries that are more probable than each word, (contexts, words)."""
    ordered = table.sort(dim=1, descending=True).values.double()
    total = torch.nn.functional.pad(ordered.exp().cumsum(1), (1, 0))
    words = torch.from_numpy(np.nan_to_num(logprobs, nan=-np.inf)).to(ordered.device)
    place = torch.searchsorted(-ordered, -words)
    before: np.ndarray = total.gather(1, place).clamp(max=1.0).cpu().numpy()
    return before


def score_as_sentences(
    score: Callable[[pa.StringArray], pa.Table], contexts: pa.StringArray, words: Sequence[str]
) -> np.ndarray:
    """Score words as the last words of sentences, (contexts, words) float64, some contexts at a time."""
    logprobs = np.empty((len(contexts), len(words)))
    texts = contexts.to_pylist()
    at_once = max(1, SENTENCES_AT_ONCE // max(1, len(words)))
    for start in range(0, len(texts), at_once):
        batch = texts[start : start + at_once]
        sentences = pa.array([f"{context}{SPACE}{word}" for context in batch for word in words], pa.string())
        lists: Any = score(sentences)["words"].combine_chunks()
        ends = np.cumsum(pc.list_value_length(lists).to_numpy()) - 1
        last = lists.flatten().to_numpy(zero_copy_only=False)[ends]
        logprobs[start : start + at_once] = last.astype(np.float64).reshape(len(batch), len(words))
    return logprobs


def forms_table(
    table: pa.Table, logprobs: np.ndarray, before: np.ndarray | None, known: np.ndarray
) -> pa.Table:
    """Add the columns `forms` and `before` to scored contexts: lists of float32, null for unknown words."""
    for name, values in (("forms", logprobs), ("before", before)):
        is_missing = np.broadcast_to(~known | (values is None), logprobs.shape)
        numbers = np.zeros(logprobs.shape, np.float32) if values is None else values.astype(np.float32)
        flat = pa.array(numbers.ravel(), pa.float32(), mask=is_missing.ravel())
        offsets = pa.array(np.arange(len(logprobs) + 1) * logprobs.shape[1], pa.int32())
        table = table.append_column(name, pa.ListArray.from_arrays(offsets, flat))
    return table
