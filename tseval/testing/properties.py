"""What must hold of any model's numbers, property by property."""

from __future__ import annotations

import ctypes
import gc
import json
import random
import re
import tracemalloc
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import torch

from tseval.errors import ModelError, SuiteError, first_line, one_line
from tseval.scoring.numerics import accelerator
from tseval.scoring.protocol import (
    ParticularModel,
    RecurrentModel,
    ReportingModel,
    SentenceModel,
    TokenModel,
    TotalModel,
    WordModel,
)
from tseval.scoring.scorers import scorer_for
from tseval.scoring.trie import logprobs_after, pieces_of, take

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from tseval.scoring.protocol import Model

    ScoredRow = Mapping[str, object]  # of scored sentences

Verdict = Literal["holds", "fails", "not applicable"]
# Of each sentence the log-probabilities of its words, (words,), or the one number that there is, (1,).
Numbers = list[np.ndarray]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was seen of one property.

    Attributes:
        verdict: Whether it holds, fails, or says nothing about this model.
        note: What was seen, or why it is not applicable; empty where there is nothing to add.
        difference: The worst one between numbers that should be equal, in nats; None where none was measured.
        sentence: Where it was seen, or None.
    """

    verdict: Verdict
    note: str = ""
    difference: float | None = None
    sentence: str | None = None

    def __repr__(self) -> str:
        return one_line(self, self.verdict, *((self.note,) if self.note else ()))


def protocol_of(model: Model) -> str:
    """Name the protocol that a model is scored by."""
    for protocol in (RecurrentModel, TokenModel, SentenceModel):
        if isinstance(model, protocol):
            return protocol.__name__
    return "TotalModel"


def as_in_a_run(model: Model, sentences: Sequence[str]) -> pa.Table:
    """Score distinct, sorted sentences as a run does."""
    return scorer_for(model).score(pa.array(sentences, pa.string()))


def numbers_of(table: pa.Table) -> Numbers:
    """Take the numbers out of scored sentences."""
    words = [np.array(row) for row in table["words"].to_pylist()]
    totals = [np.array([total]) for total in table["logprob"].to_pylist()]
    return [total if row[:1] == [None] else row for row, total in zip(words, totals, strict=True)]


@torch.inference_mode()
def directly(model: Model, sentences: Sequence[str], batch_tokens: int | None = None) -> Numbers:
    """Score sentences in the order given, repetitions and all, by the methods of the model's protocol.

    They are one batch; `batch_tokens` is how many tokens a `TokenModel` may read at once, None for as many as
    it likes.
    """
    if isinstance(model, RecurrentModel):
        return _word_by_word(model, sentences)
    if isinstance(model, TokenModel):
        return _token_by_token(model, sentences, batch_tokens)
    if isinstance(model, SentenceModel):
        return [np.array(row, dtype=np.float64) for row in model.word_logprobs(list(sentences))]
    return whole_sentences(model, sentences)


def whole_sentences(model: TotalModel, sentences: Sequence[str]) -> Numbers:
    """Ask for one number for each sentence."""
    return [np.array([total], dtype=np.float64) for total in model.sentence_logprobs(list(sentences))]


def _word_by_word(model: RecurrentModel, sentences: Sequence[str]) -> Numbers:
    """Advance one row for each sentence; nothing is shared."""
    encoded = model.encode(pa.array(sentences, pa.string()))
    starts = np.cumsum(encoded.lengths) - encoded.lengths
    found: Numbers = [np.empty(length, dtype=np.float64) for length in encoded.lengths]
    reading = np.arange(len(sentences))  # which sentence each row of the state belongs to
    state = take(model.start(), np.zeros(len(sentences), dtype=np.int64))
    for place in range(int(encoded.lengths.max())):
        words = encoded.tokens[starts[reading] + place]
        values = logprobs_after(model, state, np.arange(len(reading)), words)
        for sentence, value in zip(reading, values, strict=True):
            found[sentence][place] = value
        going_on = np.flatnonzero(encoded.lengths[reading] > place + 1)
        if not len(going_on):
            break
        state = model.advance(take(state, going_on), words[going_on])
        reading = reading[going_on]
    return found


def _token_by_token(model: TokenModel, sentences: Sequence[str], batch_tokens: int | None) -> Numbers:
    encoded = model.encode(pa.array(sentences, pa.string()))
    tokens, _ = model.token_logprobs(encoded, batch_tokens or model.batch_tokens)
    pieces = pieces_of(encoded)
    words = np.bincount(np.repeat(np.arange(len(pieces)), pieces), weights=tokens, minlength=len(pieces))
    return np.split(words, np.cumsum(encoded.lengths)[:-1])


NOUNS = ("author", "authors", "guard", "guards", "pilot", "pilots", "surgeon", "surgeons")
BEHIND_NOUNS = ("", " near the guard", " near the guards", " near the surgeon that the pilots admire",
                " that the author likes", " that the authors like", " that likes the pilot",
                " that like the pilots", " that the guard near the authors likes")  # fmt: skip
VERBS = ("laughs", "laugh", "has laughed", "have laughed")
# Words that no text holds, so that a model with a vocabulary of words does not know them.
NONSENSE = ("blicketwug", "daxfepzorp", "zuvlimquot")


def default_sentences() -> list[str]:
    """Return 288 English sentences of 4 to 10 words, of words that small vocabularies have."""
    parts = product(NOUNS, BEHIND_NOUNS, VERBS)
    return [f"the {noun}{behind} {verb} ." for noun, behind, verb in parts]


def tidied(sentences: Sequence[str]) -> tuple[str, ...]:
    """Tidy sentences as a run does: single spaces, each once, in order."""
    if isinstance(sentences, str):
        raise SuiteError(
            "the argument `sentences` is one text, but must be a list of texts. Write [SENTENCE, SENTENCE]"
        )
    tidy = {" ".join(sentence.split()) for sentence in sentences}
    if not tidy:
        raise SuiteError(
            "the list of sentences to check the model with is empty. Give at least one sentence."
        )
    if "" in tidy:
        raise SuiteError("one of the sentences to check the model with is empty. Remove the empty sentence.")
    return tuple(sorted(tidy))


def sample(sentences: Sequence[str], size: int) -> list[str]:
    """Choose some sentences of all lengths."""
    by_length = sorted(sentences, key=lambda text: len(text.split()))
    step = max(1, len(by_length) // size)
    return by_length[::step][:size]


def with_other_ending(sentence: str, others: Sequence[str]) -> tuple[str, int] | None:
    """Keep the first half of a sentence and let another one's end follow; say how many words are kept.

    None where no other has an end that begins differently.
    """
    words = sentence.split()
    kept = len(words) // 2
    for other in others:
        ending = other.split()[kept:]
        if kept and ending and ending[0] != words[kept]:
            return " ".join([*words[:kept], *ending]), kept
    return None


def with_word(sentence: str, word: str) -> str | None:
    """Put a word into the middle of a sentence, where it is not the last; None where it would be."""
    words = sentence.split()
    if len(words) < 2:
        return None
    words[(len(words) - 1) // 2] = word
    return " ".join(words)


def lengthened(sentence: str, length: int) -> str | None:
    """Repeat all words but the last until a sentence is long; None where it has no other words."""
    *words, last = sentence.split()
    return " ".join([*(words * (length // len(words) + 1)), last]) if words else None


@dataclass(frozen=True, slots=True)
class Subject:
    """A model under test."""

    model: Model
    sentences: tuple[str, ...]  # distinct, in order
    tolerance: float  # largest difference between numbers that should be equal, in nats
    scored: pa.Table  # the sentences as a run scores them, one row each
    numbers: Numbers  # of each of them

    def numbers_for(self, sentences: Sequence[str]) -> Numbers:
        """Return the numbers of some of the sentences."""
        place = {sentence: i for i, sentence in enumerate(self.sentences)}
        return [self.numbers[place[sentence]] for sentence in sentences]

    def compare(self, sentences: Sequence[str], ours: Numbers, theirs: Numbers, note: str = "") -> Finding:
        """Hold numbers of the same sentences against each other."""
        worst, where = 0.0, None
        for sentence, one, other in zip(sentences, ours, theirs, strict=True):
            if len(one) != len(other):
                return fails(f"{len(one)} numbers, and {len(other)}", sentence)
            difference = float(np.max(np.abs(one - other), initial=0.0))
            if not difference <= worst:  # a difference that is no number is the worst of all
                worst, where = difference, sentence
        if worst <= self.tolerance:
            return Finding("holds", difference=worst)
        return Finding("fails", note, worst if np.isfinite(worst) else None, where)


def holds(note: str = "") -> Finding:
    """Say that a property holds."""
    return Finding("holds", note)


def fails(note: str, sentence: str | None = None) -> Finding:
    """Say that a property fails."""
    return Finding("fails", note, None, sentence)


def not_applicable(note: str) -> Finding:
    """Say why a property means nothing for a model."""
    return Finding("not applicable", note)


LONG = 200  # words of a long sentence
FRAMES = 3  # sentences that an unknown word is put into


def unknown_words(subject: Subject) -> Finding:
    """Check that words the model does not know are reported, and that one is as good as another."""
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
    if _tells_words_apart(subject) and all(len({row["logprob"] for row in group}) == 1 for group in rows):
        note = f"all unknown words such as {NONSENSE[0]!r} score the same, but `seen` does not show <unk>"
        return fails(note, texts[0])
    return holds("the model knows all words")


def _reported(subject: Subject, groups: Sequence[Sequence[ScoredRow]]) -> Finding:
    """Hold sentences that look alike to their count of unknown words, and to each other."""
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


def _tells_words_apart(subject: Subject) -> bool:
    """Return whether some sentences of as many words get different numbers."""
    totals: dict[int, set[float]] = {}
    for text, row in zip(subject.sentences, subject.numbers, strict=True):
        totals.setdefault(len(text.split()), set()).add(float(row.sum()))
    return any(len(values) > 1 for values in totals.values())


def long_sentences(subject: Subject) -> Finding:
    """Check that a long sentence is scored to its ends or refused, and leaves its neighbours alone."""
    short, other = (sample(subject.sentences, 2) * 2)[:2]
    long = lengthened(subject.sentences[-1], LONG)
    if long is None:
        return not_applicable("every sentence has only one word: longer sentences are needed")
    try:
        beside, found = directly(subject.model, [short, long])
    except ModelError as error:
        return holds(f"the model refuses {len(long.split())} words: {first_line(error)}")
    if wrong := _wrong_with(subject, long, found):
        return fails(f"a sentence of {len(long.split())} words: {wrong}")
    expected = directly(subject.model, [short, other])[:1]
    return subject.compare(
        [short], expected, [beside], "the sentence gets other numbers in a batch with a long one"
    )


def _wrong_with(subject: Subject, long: str, found: np.ndarray) -> str | None:
    """Say what is wrong with the numbers of a long sentence."""
    whole = not isinstance(subject.model, WordModel)
    if not whole and len(found) != len(long.split()):
        return f"only {len(found)} words get a number"
    if not (np.isfinite(found).all() and found.max() <= subject.tolerance):
        return "not every word gets a finite number of at most 0"
    if whole and _cuts(subject, long):
        return "the words at one end make no difference: the model cuts them off"
    return None


def _cuts(subject: Subject, long: str) -> bool:
    """Return whether the first or the last words of a long sentence are lost to a sentence model."""
    words = long.split()
    # Eight words turned round are the same words, so that a model of single words need not mind.
    at_start = words[:8][::-1] + words[8:]
    at_end = words[:-8] + words[-8:][::-1]
    texts = [" ".join(one) for one in (words, at_start, at_end, words[:8], words[:8][::-1])]
    try:
        numbers = [float(row[0]) for row in directly(subject.model, texts)]
    except ModelError:
        return False  # the model reads sentences of one form only
    whole, first, last, ahead, back = numbers
    return ahead != back and whole in (first, last)


# What one more sentence may take: its numbers and what belongs to them, not the states of a network.
KEPT = 64 * 2**10
FEWEST = 64  # sentences, below which nothing can be seen
BATCHES = 4  # that a quarter of the sentences make: a model may hold two of them for a moment
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def memory(model: Model, sentences: Sequence[str]) -> Finding:
    """Memory keeps within what was said: that of a row for a state, else that of a batch."""
    if isinstance(model, RecurrentModel):
        return _rows(model, sentences)
    if len(sentences) < FEWEST:
        return not_applicable(f"{len(sentences)} sentences are too few: {FEWEST} are needed")
    by_length = sorted(sentences, key=lambda text: len(text.split()))
    some, all_of_them = sorted(by_length[::4]), sorted(by_length)
    # First the few: what is made once, on first use, is made then.
    before, after = _highest(_scoring(model, some, some)), _highest(_scoring(model, all_of_them, some))
    growth = max(mine - its for mine, its in zip(after, before, strict=True))
    kept = growth / (len(all_of_them) - len(some))
    if kept <= KEPT:
        return holds()
    return fails(
        f"each further sentence takes {kept / 2**20:.2f} MiB (batches of one size); "
        f"at most {KEPT / 2**20:.2f} are allowed"
    )


@torch.inference_mode()
def _rows(model: RecurrentModel, sentences: Sequence[str]) -> Finding:
    """Hold `row_bytes` to the tensors of a state."""
    encoded = model.encode(pa.array(sentences[:1], pa.string()))
    state, rows = model.start(), 1
    for n_rows, token in zip((1, 3, 7), [None, *encoded.tokens.tolist()], strict=False):
        if token is not None:
            state = model.advance(take(state, np.zeros(n_rows, dtype=np.int64)), np.full(n_rows, token))
            rows = n_rows
        if any(tensor.shape[0] != rows for tensor in state):
            return fails(f"a state of {rows} rows has tensors of {[tensor.shape[0] for tensor in state]}")
        taken = sum(tensor.nbytes for tensor in state) // rows
        if taken > model.row_bytes:
            return fails(f"a row of a state takes {taken} bytes, but `row_bytes` is {model.row_bytes}")
    return holds()


def _scoring(model: Model, sentences: Sequence[str], few: Sequence[str]) -> Callable[[], object]:
    """Return an action that scores sentences in small batches, of a size that `few` fill several times."""
    if isinstance(model, TokenModel):
        n_tokens = len(model.encode(pa.array(few, pa.string())).tokens)
        return lambda: directly(model, sentences, batch_tokens=max(1, n_tokens // BATCHES))
    size = len(few) // BATCHES
    return lambda: [
        directly(model, sentences[start : start + size]) for start in range(0, len(sentences), size)
    ]


def _highest(action: Callable[[], object]) -> tuple[int, int]:
    """Do something and give the highest memory meanwhile, in bytes: of the process, and of the GPUs.

    Where the system does not tell a process about itself (Linux does), what Python and numpy asked for.
    """
    gc.collect()
    gpu, devices = _gpus_in_use()
    for device in devices:
        gpu.reset_peak_memory_stats(device)
    tracing = not (RESET.exists() and not tracemalloc.is_tracing())
    if tracing:
        tracemalloc.start()
        action()
        _, host = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    else:
        _give_back()
        RESET.write_text("5", "ascii")  # begin again with what is there now
        action()
        found = re.search(r"VmHWM:\s*(\d+) kB", STATUS.read_text("utf-8", "replace"))
        host = 0 if found is None else int(found[1]) * 2**10
    return host, sum(gpu.max_memory_allocated(device) for device in devices)


def _give_back() -> None:
    """Return the system what arrow and the heap hold unused: what a model puts there could not be seen."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; others keep less
    if trim is not None:
        trim(0)


def _gpus_in_use() -> tuple[ModuleType, range]:
    """Return torch's module for the accelerators whose highest memory it tells, and their numbers.

    Apple's does not tell; one that nothing was put on has none.
    """
    module: ModuleType = torch.get_device_module(accelerator() or torch.device("cpu"))
    in_use = hasattr(module, "max_memory_allocated") and module.is_initialized()
    return module, range(module.device_count() if in_use else 0)


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
            return fails(f"{field} changes when it is written as JSON: use texts as keys, and plain values")
    return holds()


def encoding(subject: Subject) -> Finding:
    """Check that what `encode` and `seen` give fits the words of the sentences."""
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
    note = "the model is random; is it in training mode?"
    return subject.compare(subject.sentences, subject.numbers, again, note)


def batches(subject: Subject) -> Finding:
    """Check that a sentence gets the same numbers alone, among others, and in any order."""
    texts = sample(subject.sentences, SAMPLE)
    ours = subject.numbers_for(texts)
    alone = [directly(subject.model, [text])[0] for text in texts]
    found = subject.compare(texts, ours, alone, "the sentence gets other numbers alone")
    if found.verdict == "fails":
        return found
    order = list(subject.sentences)
    random.Random(0).shuffle(order)  # noqa: S311 - any order will do
    together = directly(subject.model, order)
    mixed = subject.compare(
        order, subject.numbers_for(order), together, "the sentence gets other numbers in another order"
    )
    if mixed.verdict == "fails" or not isinstance(subject.model, TokenModel):
        return max(found, mixed, key=lambda one: one.difference or 0.0)
    few = directly(subject.model, order, batch_tokens=1)
    return subject.compare(
        order, subject.numbers_for(order), few, "the sentence gets other numbers with `batch_tokens` 1"
    )


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
        return not_applicable("the model is a masked one: the protocol of its card has `pll`")
    texts, ours, theirs = [], [], []
    for text in sample(subject.sentences, SAMPLE):
        if changed := with_other_ending(text, subject.sentences):
            other, kept = changed
            texts.append(text)
            ours.append(directly(subject.model, [text])[0][:kept])
            theirs.append(directly(subject.model, [other])[0][:kept])
    if not texts:
        return not_applicable("no two sentences can exchange their ends: more sentences are needed")
    return subject.compare(
        texts, ours, theirs, "the numbers of the first half change with the words of the second half"
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
