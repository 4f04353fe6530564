"""Checks of the properties that the numbers of every model must have."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch

from tseval.errors import ModelError, first_line
from tseval.scoring.protocol import (
    ParticularModel,
    RecurrentModel,
    ReportingModel,
    SentenceModel,
    TokenModel,
    TotalModel,
    WordModel,
)
from tseval.scoring.trie import logprobs_after, take
from tseval.testing.findings import Finding, fails, holds, not_applicable
from tseval.testing.scores import Numbers, as_in_a_run, directly, numbers_of, whole_sentences
from tseval.testing.sentences import NONSENSE, lengthened, sample, with_other_ending, with_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.scoring.protocol import Model

    ScoredRow = Mapping[str, object]  # row of a table of scored sentences


@dataclass(frozen=True, slots=True)
class Subject:
    """A model under test."""

    model: Model
    sentences: tuple[str, ...]  # distinct and sorted
    tolerance: float  # largest difference between numbers that should be equal, in nats
    scored: pa.Table  # the sentences as scored in a run, one row each
    numbers: Numbers  # of each sentence

    def numbers_for(self, sentences: Sequence[str]) -> Numbers:
        """Return the numbers of some sentences."""
        rows = {sentence: i for i, sentence in enumerate(self.sentences)}
        return [self.numbers[rows[sentence]] for sentence in sentences]

    def compare(self, sentences: Sequence[str], ours: Numbers, theirs: Numbers, note: str = "") -> Finding:
        """Compare two lists of numbers for the same sentences."""
        worst, where = 0.0, None
        for sentence, first, second in zip(sentences, ours, theirs, strict=True):
            if len(first) != len(second):
                return fails(f"{len(first)} numbers, and {len(second)}", sentence)
            difference = float(np.max(np.abs(first - second), initial=0.0))
            if not difference <= worst:  # NaN counts as the largest difference
                worst, where = difference, sentence
        if worst <= self.tolerance:
            return Finding("holds", difference=worst)
        return Finding("fails", note, worst if np.isfinite(worst) else None, where)


LONG = 200  # words of a long sentence
FRAMES = 3  # sentences in which a word is replaced by an unknown one


def unknown_words(subject: Subject) -> Finding:
    """Check that the model reports unknown words, and that all score the same."""
    if not isinstance(subject.model, WordModel):
        return not_applicable("the model gives one number for a sentence")
    groups = [
        [text for word in NONSENSE if (text := with_word(frame, word)) is not None]
        for frame in sample(subject.sentences, FRAMES)
    ]
    texts = sorted({text for group in groups for text in group})
    if not texts:
        return not_applicable("every sentence has only one word: longer sentences are needed")
    try:
        directly(subject.model, texts)
    except ModelError as error:
        return holds(f"the model refuses them: {first_line(error)}")
    scored = {row["sentence"]: row for row in as_in_a_run(subject.model, texts).to_pylist()}
    rows = [[scored[text] for text in group] for group in groups if group]
    alike = [group for group in rows if len({row["seen"] for row in group}) == 1]
    if alike:
        return _reported(subject, alike)
    if _distinguishes_words(subject) and all(len({row["logprob"] for row in group}) == 1 for group in rows):
        note = f"all unknown words such as {NONSENSE[0]!r} score the same, but the model does not report them"
        return fails(f"{note} as unknown (method `seen`)", texts[0])
    return holds("the model knows all words")


def _reported(subject: Subject, groups: Sequence[Sequence[ScoredRow]]) -> Finding:
    """Check that sentences that look equal to the model have unknown words, and score the same."""
    for group in groups:
        if not group[0]["n_unknown"]:
            note = f"the model sees {group[0]['seen']!r}, as for other sentences, but counts no unknown word"
            return fails(note, str(group[0]["sentence"]))
    totals = [[np.array([row["logprob"]], dtype=np.float64) for row in group] for group in groups]
    return subject.compare(
        [str(row["sentence"]) for group in groups for row in group],
        [total for group in totals for total in group],
        [group[0] for group in totals for _ in group],
        "the model sees the same as for another sentence, but gives another number",
    )


def _distinguishes_words(subject: Subject) -> bool:
    """Return whether some sentences of equal length have different scores."""
    totals: dict[int, set[float]] = {}
    for text, row in zip(subject.sentences, subject.numbers, strict=True):
        totals.setdefault(len(text.split()), set()).add(float(row.sum()))
    return any(len(values) > 1 for values in totals.values())


def long_sentences(subject: Subject) -> Finding:
    """Check that a long sentence is scored whole or refused, and does not affect its neighbours."""
    short, other = (sample(subject.sentences, 2) * 2)[:2]
    long = lengthened(subject.sentences[-1], LONG)
    if long is None:
        return not_applicable("every sentence has only one word: longer sentences are needed")
    try:
        of_short, of_long = directly(subject.model, [short, long])
    except ModelError as error:
        return holds(f"the model refuses {len(long.split())} words: {first_line(error)}")
    if wrong := _wrong_with(subject, long, of_long):
        return fails(f"a sentence of {len(long.split())} words: {wrong}")
    expected = directly(subject.model, [short, other])[:1]
    return subject.compare(
        [short], expected, [of_short], "the sentence gets other numbers in a batch with a long one"
    )


def _wrong_with(subject: Subject, long: str, numbers: np.ndarray) -> str | None:
    """Describe what is wrong with the numbers of a long sentence, or return None."""
    by_sentence = not isinstance(subject.model, WordModel)
    if not by_sentence and len(numbers) != len(long.split()):
        return f"only {len(numbers)} words get a number"
    if not (np.isfinite(numbers).all() and numbers.max() <= subject.tolerance):
        return "not every word gets a finite number of at most 0"
    if by_sentence and _cuts(subject, long):
        return "the words at one end make no difference: the model cuts them off"
    return None


def _cuts(subject: Subject, long: str) -> bool:
    """Return whether a sentence model ignores the first or last words of a long sentence."""
    words = long.split()
    # Eight reversed words are the same words, so a bag-of-words model may score them the same.
    at_start = words[:8][::-1] + words[8:]
    at_end = words[:-8] + words[-8:][::-1]
    texts = [" ".join(reordered) for reordered in (words, at_start, at_end, words[:8], words[:8][::-1])]
    try:
        numbers = [float(row[0]) for row in directly(subject.model, texts)]
    except ModelError:
        return False  # the model reads sentences of one form only
    original, first, last, forward, backward = numbers
    return forward != backward and original in (first, last)


SAMPLE = 8  # number of sentences that are read one by one


def card(model: Model) -> Finding:
    """Check that the card identifies the model, in plain data."""
    model_card = model.card
    for field in ("name", "kind"):
        value = getattr(model_card, field, None)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            return fails(f"{field} is {value!r}: give a short text")
    if not isinstance(model_card.fingerprint, str) or not re.fullmatch(
        "[0-9a-f]{64}", model_card.fingerprint
    ):
        return fails(
            f"fingerprint is {str(model_card.fingerprint)[:70]!r}: give a SHA-256 as 64 hexadecimal digits"
        )
    for field in ("protocol", "details"):
        try:
            plain = json.loads(json.dumps(dict(getattr(model_card, field)), allow_nan=False))
        except (TypeError, ValueError) as error:
            return fails(f"{field} cannot be written as JSON: {first_line(error)}")
        if plain != dict(getattr(model_card, field)):
            return fails(f"{field} changes when it is written as JSON: use texts as keys, and plain values")
    return holds()


def encoding(subject: Subject) -> Finding:
    """Check that the results of `encode` and `seen` match the words of the sentences."""
    model, texts = subject.model, list(subject.sentences)
    n_words = [len(text.split()) for text in texts]
    if isinstance(model, RecurrentModel | TokenModel):
        encoded = model.encode(pa.array(texts, pa.string()))
        if encoded.lengths.tolist() != n_words:
            wrong = next(i for i, n in enumerate(n_words) if encoded.lengths[i : i + 1].tolist() != [n])
            return fails(f"`lengths` is wrong: the sentence has {n_words[wrong]} words", texts[wrong])
        n_tokens = sum(n_words) if encoded.pieces is None else int(encoded.pieces.sum())
        if n_tokens != len(encoded.tokens):
            return fails(f"there are {len(encoded.tokens)} tokens, but `pieces` adds up to {n_tokens}")
        if len(encoded.n_unknown) != len(texts):
            return fails(f"`n_unknown` has {len(encoded.n_unknown)} numbers for {len(texts)} sentences")
        seen = encoded.seen.to_pylist()
    elif isinstance(model, ReportingModel):
        seen = list(model.seen(texts))
    else:
        return not_applicable("the model has neither `encode` nor `seen`")
    for text, text_read in zip(texts, seen, strict=True):
        if text_read is None or len(text_read.split()) != len(text.split()):
            return fails(f"the model sees {text_read!r}, which has another number of words", text)
    return holds()


def at_most_zero(subject: Subject) -> Finding:
    """Check that no probability is above 1."""
    highest = [float(np.max(row)) for row in subject.numbers]
    worst = int(np.argmax(highest))
    if highest[worst] <= subject.tolerance:
        return holds()
    return fails(f"a log-probability of {highest[worst]:.4g}", subject.sentences[worst])


def sums(subject: Subject) -> Finding:
    """Check that the numbers of the words sum to the number of the sentence."""
    if not isinstance(subject.model, WordModel):
        return not_applicable("the model gives one number for a sentence")
    totals = [np.array([total]) for total in subject.scored["logprob"].to_pylist()]
    added = [np.array([row.sum()]) for row in subject.numbers]
    finding = subject.compare(subject.sentences, added, totals)
    # A model may have more protocols than the one used for scoring; all must agree.
    model, texts = subject.model, sample(subject.sentences, SAMPLE)
    numbers = subject.numbers_for(texts)
    if finding.verdict == "holds" and isinstance(model, TotalModel):
        added = [np.array([row.sum()]) for row in numbers]
        finding = subject.compare(texts, added, whole_sentences(model, texts), "`sentence_logprobs` differs")
    is_scored_otherwise = isinstance(model, RecurrentModel | TokenModel)
    if finding.verdict == "holds" and isinstance(model, SentenceModel) and is_scored_otherwise:
        words = [np.array(row) for row in model.word_logprobs(texts)]
        finding = subject.compare(texts, numbers, words, "`word_logprobs` differs")
    return finding


def deterministic(subject: Subject) -> Finding:
    """Check that the same sentences get the same numbers again."""
    second_numbers = numbers_of(as_in_a_run(subject.model, subject.sentences))
    note = "the model is random; is it in training mode?"
    return subject.compare(subject.sentences, subject.numbers, second_numbers, note)


def batches(subject: Subject) -> Finding:
    """Check that a sentence gets the same numbers alone, among others, and in any order."""
    texts = sample(subject.sentences, SAMPLE)
    numbers = subject.numbers_for(texts)
    single = [directly(subject.model, [text])[0] for text in texts]
    finding = subject.compare(texts, numbers, single, "the sentence gets other numbers alone")
    if finding.verdict == "fails":
        return finding
    order = list(subject.sentences)
    random.Random(0).shuffle(order)  # noqa: S311 - any order will do
    reordered = directly(subject.model, order)
    mixed = subject.compare(
        order, subject.numbers_for(order), reordered, "the sentence gets other numbers in another order"
    )
    if mixed.verdict == "fails" or not isinstance(subject.model, TokenModel):
        return max(finding, mixed, key=lambda result: result.difference or 0.0)
    few = directly(subject.model, order, batch_tokens=1)
    return subject.compare(
        order, subject.numbers_for(order), few, "the sentence gets other numbers with `batch_tokens` 1"
    )


def equal_sentences(subject: Subject) -> Finding:
    """Check that two equal sentences of a batch get equal numbers."""
    texts = sample(subject.sentences, SAMPLE)
    numbers = directly(subject.model, [*texts, *reversed(texts)])
    return subject.compare(texts, numbers[: len(texts)], numbers[: len(texts) - 1 : -1])


def prefixes(subject: Subject) -> Finding:
    """Check that a word's number does not depend on the words after it."""
    if not isinstance(subject.model, WordModel):
        return not_applicable("the model gives one number for a sentence")
    if isinstance(subject.model, ParticularModel):
        return not_applicable("the model reads sentences of one form only")
    if "pll" in subject.model.card.protocol:
        return not_applicable("the model is a masked one: the protocol of its card has `pll`")
    texts, prefix_numbers, other_numbers = [], [], []
    for text in sample(subject.sentences, SAMPLE):
        if changed := with_other_ending(text, subject.sentences):
            other, n_words = changed
            texts.append(text)
            prefix_numbers.append(directly(subject.model, [text])[0][:n_words])
            other_numbers.append(directly(subject.model, [other])[0][:n_words])
    if not texts:
        return not_applicable("no two sentences can exchange their ends: more sentences are needed")
    return subject.compare(
        texts,
        prefix_numbers,
        other_numbers,
        "the numbers of the first half change with the words of the second half",
    )


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
        return not_applicable("the details of the card have no number of words (`vocabulary`)")
    encoded = model.encode(pa.array(subject.sentences[:1], pa.string()))
    words = np.arange(size, dtype=np.int64)
    state = take(model.start(), np.zeros(2, dtype=np.int64))
    totals = []
    for token in encoded.tokens[:4]:
        after = np.repeat([0, 1], size), np.tile(words, 2)
        values = logprobs_after(model, state, *after).astype(np.float64)
        totals += [np.array([np.log(np.exp(row).sum())]) for row in values.reshape(2, size)]
        state = model.advance(state, np.full(2, token))
    return subject.compare([subject.sentences[0]] * len(totals), totals, [np.zeros(1)] * len(totals))
