"""Scores of sentences, both as in a run and directly from the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from tseval.scoring.protocol import RecurrentModel, SentenceModel, TokenModel, TotalModel
from tseval.scoring.scorers import scorer_for
from tseval.scoring.trie import logprobs_after, pieces_of, take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.scoring.protocol import Model


# For each sentence, the log-probabilities of its words, (words,), or of the whole sentence, (1,).
Numbers = list[np.ndarray]


def protocol_of(model: Model) -> str:
    """Return the name of the protocol by which a model is scored."""
    for protocol in (RecurrentModel, TokenModel, SentenceModel):
        if isinstance(model, protocol):
            return protocol.__name__
    return "TotalModel"


def as_in_a_run(model: Model, sentences: Sequence[str]) -> pa.Table:
    """Score distinct, sorted sentences like a run."""
    return scorer_for(model).score(pa.array(sentences, pa.string()))


def numbers_of(table: pa.Table) -> Numbers:
    """Return the numbers of scored sentences."""
    words = [np.array(row) for row in table["words"].to_pylist()]
    totals = [np.array([total]) for total in table["logprob"].to_pylist()]
    return [total if row[:1] == [None] else row for row, total in zip(words, totals, strict=True)]


@torch.inference_mode()
def directly(model: Model, sentences: Sequence[str], batch_tokens: int | None = None) -> Numbers:
    """Score sentences in the given order, with repetitions, by the methods of the model's protocol.

    They form one batch. `batch_tokens` is the number of tokens that a `TokenModel` may read at once; None
    for its own choice.
    """
    if isinstance(model, RecurrentModel):
        return _word_by_word(model, sentences)
    if isinstance(model, TokenModel):
        return _token_by_token(model, sentences, batch_tokens)
    if isinstance(model, SentenceModel):
        return [np.array(row, dtype=np.float64) for row in model.word_logprobs(list(sentences))]
    assert isinstance(model, TotalModel), "a model that only answers is refused before"
    return whole_sentences(model, sentences)


def whole_sentences(model: TotalModel, sentences: Sequence[str]) -> Numbers:
    """Return one number for each sentence."""
    return [np.array([total], dtype=np.float64) for total in model.sentence_logprobs(list(sentences))]


def _word_by_word(model: RecurrentModel, sentences: Sequence[str]) -> Numbers:
    """Score each sentence in its own row, without sharing prefixes."""
    encoded = model.encode(pa.array(sentences, pa.string()))
    starts = np.cumsum(encoded.lengths) - encoded.lengths
    numbers: Numbers = [np.empty(length, dtype=np.float64) for length in encoded.lengths]
    reading = np.arange(len(sentences))  # the sentence in each row of the state
    state = take(model.start(), np.zeros(len(sentences), dtype=np.int64))
    for place in range(int(encoded.lengths.max())):
        words = encoded.tokens[starts[reading] + place]
        values = logprobs_after(model, state, np.arange(len(reading)), words)
        for sentence, value in zip(reading, values, strict=True):
            numbers[sentence][place] = value
        unfinished = np.flatnonzero(encoded.lengths[reading] > place + 1)
        if not len(unfinished):
            break
        state = model.advance(take(state, unfinished), words[unfinished])
        reading = reading[unfinished]
    return numbers


def _token_by_token(model: TokenModel, sentences: Sequence[str], batch_tokens: int | None) -> Numbers:
    encoded = model.encode(pa.array(sentences, pa.string()))
    tokens, _ = model.token_logprobs(encoded, batch_tokens or model.batch_tokens)
    pieces = pieces_of(encoded)
    words = np.bincount(np.repeat(np.arange(len(pieces)), pieces), weights=tokens, minlength=len(pieces))
    return np.split(words, np.cumsum(encoded.lengths)[:-1])
