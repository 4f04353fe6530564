"""What must hold of the numbers of every model, one function for each property."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from tseval.errors import first_line
from tseval.scoring.protocol import (
    ParticularModel,
    RecurrentModel,
    ReportingModel,
    SentenceModel,
    TokenModel,
    TotalModel,
    WordModel,
)
from tseval.scoring.trie import take
from tseval.testing.scores import as_in_a_run, directly, numbers_of, whole_sentences
from tseval.testing.sentences import sample, with_other_ending
from tseval.testing.subject import fails, holds, not_applicable

if TYPE_CHECKING:
    from tseval.scoring.protocol import Model
    from tseval.testing.report import Finding
    from tseval.testing.subject import Subject

SAMPLE = 8  # sentences that are read one by one


def card(model: Model) -> Finding:
    """Check that the card says who the model is, in plain data."""
    it = model.card
    for field in ("name", "kind"):
        value = getattr(it, field, None)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            return fails(f"{field} is {value!r}: give a short text")
    if not isinstance(it.fingerprint, str) or not re.fullmatch("[0-9a-f]{64}", it.fingerprint):
        return fails(f"fingerprint is {str(it.fingerprint)[:70]!r}: give a SHA-256 as 64 hexadecimal digits")
    for field in ("protocol", "details"):
        try:
            plain = json.loads(json.dumps(dict(getattr(it, field)), allow_nan=False))
        except (TypeError, ValueError) as error:
            return fails(f"{field} cannot be written as JSON: {first_line(error)}")
        if plain != dict(getattr(it, field)):
            return fails(f"{field} reads otherwise when it was written as JSON: keys are texts, values plain")
    return holds()


def encoding(subject: Subject) -> Finding:
    """Check that what `encode` and `seen` give fits the words of the sentences."""
    model, texts = subject.model, list(subject.sentences)
    n_words = [len(text.split()) for text in texts]
    if isinstance(model, RecurrentModel | TokenModel):
        encoded = model.encode(pa.array(texts, pa.string()))
        if encoded.lengths.tolist() != n_words:
            wrong = next(i for i, n in enumerate(n_words) if encoded.lengths[i : i + 1].tolist() != [n])
            return fails(f"not one length for each word: {n_words[wrong]} words", texts[wrong])
        n_tokens = sum(n_words) if encoded.pieces is None else int(encoded.pieces.sum())
        if n_tokens != len(encoded.tokens):
            return fails(f"{len(encoded.tokens)} tokens, but the words are said to have {n_tokens}")
        if len(encoded.n_unknown) != len(texts):
            return fails(f"{len(encoded.n_unknown)} numbers of unknown words for {len(texts)} sentences")
        seen = encoded.seen.to_pylist()
    elif isinstance(model, ReportingModel):
        seen = list(model.seen(texts))
    else:
        return not_applicable("the model has neither `encode` nor `seen`")
    for text, shown in zip(texts, seen, strict=True):
        if shown is None or len(shown.split()) != len(text.split()):
            return fails(f"it is seen as {shown!r}, which has another number of words", text)
    return holds()


def at_most_zero(subject: Subject) -> Finding:
    """Check that no probability is above 1."""
    highest = [float(np.max(row)) for row in subject.numbers]
    worst = int(np.argmax(highest))
    if highest[worst] <= subject.tolerance:
        return holds()
    return fails(f"a log-probability of {highest[worst]:.4g}", subject.sentences[worst])


def sums(subject: Subject) -> Finding:
    """Check that the numbers of the words add up to the sentence's."""
    if not isinstance(subject.model, WordModel):
        return not_applicable("the model gives one number for a sentence")
    totals = [np.array([total]) for total in subject.scored["logprob"].to_pylist()]
    added = [np.array([row.sum()]) for row in subject.numbers]
    found = subject.compare(subject.sentences, added, totals)
    # A model may offer more than the protocol that it is scored by; then all must say the same.
    model, texts = subject.model, sample(subject.sentences, SAMPLE)
    ours = subject.numbers_for(texts)
    if found.verdict == "holds" and isinstance(model, TotalModel):
        added = [np.array([row.sum()]) for row in ours]
        found = subject.compare(texts, added, whole_sentences(model, texts), "`sentence_logprobs` differs")
    is_scored_otherwise = isinstance(model, RecurrentModel | TokenModel)
    if found.verdict == "holds" and isinstance(model, SentenceModel) and is_scored_otherwise:
        words = [np.array(row) for row in model.word_logprobs(texts)]
        found = subject.compare(texts, ours, words, "`word_logprobs` differs")
    return found


def deterministic(subject: Subject) -> Finding:
    """Check that the same sentences get the same numbers again."""
    again = numbers_of(as_in_a_run(subject.model, subject.sentences))
    note = "the model draws at random; is it in training mode?"
    return subject.compare(subject.sentences, subject.numbers, again, note)


def batches(subject: Subject) -> Finding:
    """Check that a sentence gets the same numbers alone, among others, and in any order."""
    texts = sample(subject.sentences, SAMPLE)
    ours = subject.numbers_for(texts)
    alone = [directly(subject.model, [text])[0] for text in texts]
    found = subject.compare(texts, ours, alone, "alone it gets other numbers")
    if found.verdict == "fails":
        return found
    order = list(subject.sentences)
    random.Random(0).shuffle(order)  # noqa: S311 - any order will do
    together = directly(subject.model, order)
    mixed = subject.compare(order, subject.numbers_for(order), together, "in another order it gets others")
    if mixed.verdict == "fails" or not isinstance(subject.model, TokenModel):
        return max(found, mixed, key=lambda one: one.difference or 0.0)
    few = directly(subject.model, order, batch_tokens=1)
    return subject.compare(order, subject.numbers_for(order), few, "with `batch_tokens` 1 it gets others")


def equal_sentences(subject: Subject) -> Finding:
    """Check that two equal sentences of a batch get equal numbers."""
    texts = sample(subject.sentences, SAMPLE)
    found = directly(subject.model, [*texts, *reversed(texts)])
    return subject.compare(texts, found[: len(texts)], found[: len(texts) - 1 : -1])


def prefixes(subject: Subject) -> Finding:
    """Check that a word's number does not depend on the words after it."""
    if not isinstance(subject.model, WordModel):
        return not_applicable("the model gives one number for a sentence")
    if isinstance(subject.model, ParticularModel):
        return not_applicable("the model reads sentences of one form only")
    if "pll" in subject.model.card.protocol:
        return not_applicable("the model is masked: `pll` stands in the protocol of its card")
    texts, ours, theirs = [], [], []
    for text in sample(subject.sentences, SAMPLE):
        if changed := with_other_ending(text, subject.sentences):
            other, kept = changed
            texts.append(text)
            ours.append(directly(subject.model, [text])[0][:kept])
            theirs.append(directly(subject.model, [other])[0][:kept])
    if not texts:
        return not_applicable("no two of the sentences can exchange their ends: give more")
    return subject.compare(texts, ours, theirs, "its first half changes when its second does")


@torch.inference_mode()
def distribution(subject: Subject) -> Finding:
    """Check that after a prefix the probabilities of all words add up to 1."""
    model = subject.model
    if not isinstance(model, RecurrentModel):
        return not_applicable("the model gives no distribution")
    if isinstance(model, ParticularModel):
        return not_applicable("the model reads sentences of one form only")
    size = model.card.details.get("vocabulary")
    if not isinstance(size, int) or size < 1:
        return not_applicable("the card's details do not say how many words there are, as `vocabulary`")
    encoded = model.encode(pa.array(subject.sentences[:1], pa.string()))
    words = np.arange(size, dtype=np.int64)
    state = take(model.start(), np.zeros(2, dtype=np.int64))
    totals = []
    for token in encoded.tokens[:4]:
        values = model.logprobs(state, np.repeat([0, 1], size), np.tile(words, 2)).astype(np.float64)
        totals += [np.array([np.log(np.exp(row).sum())]) for row in values.reshape(2, size)]
        state = model.advance(state, np.full(2, token))
    return subject.compare([subject.sentences[0]] * len(totals), totals, [np.zeros(1)] * len(totals))
