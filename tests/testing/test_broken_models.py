"""Models that are broken on purpose: the kit detects each by the property that it breaks."""

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from sound_models import UNK, WORDS, Recurrent, Sound, Tokens, Whole, number

from tseval.errors import ModelError, SuiteError
from tseval.scoring.protocol import Encoded, ModelCard
from tseval.testing import check_model
from tseval.testing.sentences import default_sentences


class Positive(Sound):
    def score(self, words):
        found = zip(words, super().score(words), strict=True)
        return [0.5 if word == "laugh" else value for word, value in found]


class NotANumber(Sound):
    def score(self, words):
        return [math.nan if word == "admire" else -1.0 for word in words]


class OneWhole(Sound):
    def score(self, words):
        return super().score(words)[1:]


class Raising(Sound):
    def word_logprobs(self, sentences):
        raise ZeroDivisionError("division by zero\nmore")


class ByLongest(Sound):
    """A padded model without a mask: the longest sentence of a batch changes all others."""

    def word_logprobs(self, sentences):
        longest = max(len(text.split()) for text in sentences)
        return [[value - longest / 10 for value in self.score(text.split())] for text in sentences]


class ByCount(Sound):
    """A model that normalises over the batch."""

    def word_logprobs(self, sentences):
        return [[value - len(sentences) / 10 for value in row] for row in super().word_logprobs(sentences)]


class ByPlace(Sound):
    """A model that carries its state from one sentence to the next."""

    def word_logprobs(self, sentences):
        return [[v - i / 10 for v in self.score(text.split())] for i, text in enumerate(sentences)]


class Peeking(Sound):
    def score(self, words):
        return [number(*words[i : i + 2]) for i in range(len(words))]


class Random(Sound):
    def score(self, words):
        return [-random.random() for _ in words]


class Silent(Sound):
    """A model that replaces unknown words without a report."""

    def score(self, words):
        return super().score([word if word in WORDS else UNK for word in words])


class Reporting(Silent):
    def seen(self, sentences):
        return [" ".join(word if word in WORDS else UNK for word in text.split()) for text in sentences]


class Uneven(Sound):
    """A model that reports unknown words but scores them as known."""

    seen = Reporting.seen


class Merging(Reporting):
    """A model that shows two words as one."""

    def seen(self, sentences):
        return [text.replace(" .", ".") for text in super().seen(sentences)]


class Torn(Sound):
    """A model whose numbers of words and of sentences differ."""

    def sentence_logprobs(self, sentences):
        return [sum(self.score(text.split())) - 1.0 for text in sentences]


class Keeping(Sound):
    """A model that keeps a megabyte for every sentence that it has read."""

    def __init__(self, megabyte=lambda: np.ones(2**17)):
        super().__init__()
        self.kept, self.megabyte = {}, megabyte

    def word_logprobs(self, sentences):
        self.kept |= {text: self.megabyte() for text in sentences}
        return super().word_logprobs(sentences)


class Bad(Sound):
    def __init__(self, **fields):
        super().__init__()
        self.card = replace(self.card, **fields)


class TooFewBytes(Recurrent):
    row_bytes = 4


class Unnormalised(Recurrent):
    def logprobs(self, state, rows, tokens):
        return super().logprobs(state, rows, tokens) - 0.5


class Uncounted(Recurrent):
    def encode(self, sentences):
        encoded = super().encode(sentences)
        return Encoded(encoded.seen, encoded.tokens, encoded.lengths, np.zeros_like(encoded.n_unknown))


class AllAtOnce(Tokens):
    def token_logprobs(self, encoded, batch_tokens):
        return super().token_logprobs(encoded, len(encoded.tokens))


class WrongPieces(Tokens):
    def encode(self, sentences):
        encoded = super().encode(sentences)
        pieces = encoded.pieces + np.arange(len(encoded.pieces)) % 2
        return Encoded(encoded.seen, encoded.tokens, encoded.lengths, encoded.n_unknown, pieces)


@pytest.mark.parametrize("model", [Sound(), Reporting(), Recurrent(), Tokens(), Whole()])
def test_a_sound_model_passes(model):
    report = check_model(model)
    assert report.ok, str(report)
    report.raise_for_failures()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "broken", "seen"),
    [
        (Positive(), {"at most zero"}, "a log-probability of 0.5"),
        (NotANumber(), {"finite"}, "log-probability nan for the sentence 'the author near the surgeon that"),
        (OneWhole(), {"finite"}, "returned 3 log-probabilities, but there are 4 words"),
        (Raising(), {"finite"}, "ZeroDivisionError: division by zero"),
        (ByCount(), {"batches"}, "the sentence gets other numbers alone"),
        (
            ByLongest(),
            {"batches", "prefixes", "long sentences"},
            "the sentence gets other numbers in a batch with a long one",
        ),
        (ByPlace(), {"batches", "equal sentences"}, "gets other"),
        (Peeking(), {"prefixes"}, "the numbers of the first half change with the words of the second half"),
        (Random(), {"deterministic"}, "the model is random"),
        (Silent(), {"unknown words"}, "but the model does not report them as unknown (method `seen`)"),
        (Uneven(), {"unknown words"}, "the same as for another sentence, but gives another"),
        (Uncounted(), {"unknown words"}, "but counts no unknown word"),
        (Merging(), {"encoding"}, "which has another number of words"),
        (Torn(), {"sums"}, "`sentence_logprobs` differs"),
        (WrongPieces(), {"finite"}, ""),
        (Unnormalised(), {"distribution"}, ""),
        (TooFewBytes(), {"memory"}, "a row of a state takes 8 bytes, but `row_bytes` is 4"),
        (Keeping(), {"memory"}, "each further sentence takes"),
        (AllAtOnce(), {"memory"}, "each further sentence takes"),
        (Whole(slice(50)), {"long sentences"}, "the model cuts them off"),
        (Whole(slice(-50, None)), {"long sentences"}, "the model cuts them off"),
        (Bad(name=""), {"card"}, "name is ''"),
        (Bad(kind="two\nlines"), {"card"}, "kind is"),
        (Bad(fingerprint="best.pt"), {"card"}, "fingerprint is 'best.pt': give a SHA-256"),
        (Bad(protocol={"dtype": torch.float32}), {"card"}, "protocol cannot be written as JSON"),
        (Bad(details={"perplexity": math.nan}), {"card"}, "details cannot be written as JSON"),
        (Bad(details={1: "one"}), {"card"}, "details changes when it is written as JSON"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "card") else None,
)
def test_a_broken_model_is_caught_by_what_it_breaks(model, broken, seen):
    report = check_model(model)
    assert {result.name for result in report.failures} >= set(list(broken)[:1]), str(report)
    assert {result.name for result in report.failures} == broken, str(report)
    assert any(seen in result.finding.note for result in report.failures), str(report)
    with pytest.raises(ModelError, match=f"fails {len(broken)} of 13 checks:\n  {report.failures[0].name} "):
        report.raise_for_failures()


@pytest.mark.slow
@pytest.mark.parametrize(
    "megabyte",
    [lambda: np.ones(2**17), lambda: pa.array(np.ones(2**17, np.float32)).cast(pa.float64())],
    ids=["heap", "arrow"],
)
def test_memory_that_is_held_and_that_nothing_uses_hides_nothing(megabyte):
    np.ones(2**21)  # glibc now takes blocks up to this size from the heap
    freed = [megabyte() for _ in range(400)]
    some = freed[::50]  # the heap cannot end before the last of them
    del freed
    assert [result.name for result in check_model(Keeping(megabyte)).failures] == ["memory"]
    assert len(some) == 8  # keeps them alive until here


def test_a_difference_is_told_with_its_size_and_its_sentence():
    (found,) = (result.finding for result in check_model(ByCount()).failures)
    assert found.sentence in default_sentences()
    # The 288 sentences come in batches of 64; the last batch has 32.
    assert found.difference == pytest.approx(6.3, abs=1e-5)


def test_a_wider_tolerance_lets_small_differences_pass():
    assert not check_model(Unnormalised()).ok
    assert check_model(Unnormalised(), tolerance=0.6).ok


def test_a_masked_model_says_so_by_pll_in_its_protocol():
    model = Peeking()
    model.card = ModelCard("masked", "test", "0" * 64, {"pll": "original"}, {})
    report = check_model(model)
    assert report.ok
    assert "the protocol of its card has `pll`" in str(report)


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        (
            None,
            (
                "the object to check has the type NoneType, which is not a model. To be a SentenceModel, the "
                "class must"
            ),
        ),
        (Sound, "the object to check is the class Sound itself, but tseval needs an object of this class"),
    ],
)
def test_what_is_no_model_is_refused(candidate, message):
    with pytest.raises(ModelError) as refused:
        check_model(candidate)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([], "the list of sentences to check the model with is empty. Give at least one"),
        ([" "], "one of the sentences to check the model with is empty. Remove the empty sentence"),
        ("the authors laugh .", "the argument `sentences` is one text, but must be a list of texts. Write"),
    ],
)
def test_what_are_no_sentences_is_refused(sentences, message):
    with pytest.raises(SuiteError, match=message):
        check_model(Sound(), sentences)


def test_one_sentence_is_enough():
    report = check_model(Sound(), ["the authors  laugh . "])
    assert report.ok, str(report)
    skipped = {r.name: r.finding.note for r in report.results if r.finding.verdict == "not applicable"}
    assert skipped["prefixes"].endswith("more sentences are needed")
    assert skipped["memory"] == "1 sentences are too few: 64 are needed"


def test_a_report_is_plain_data_and_a_line():
    report = check_model(ByCount())
    data: Any = report.to_mapping()
    assert (data["model"], data["protocol"], data["ok"]) == ("sound", "SentenceModel", False)
    assert [result["name"] for result in data["results"]][:2] == ["card", "finite"]
    assert repr(report) == "<Report sound: 10 hold, 1 fail>"
    assert str(report).splitlines()[0] == "sound, checked as a SentenceModel; differences in nats"


def test_progress_is_told():
    told = []
    check_model(Sound(), progress=lambda done, total: told.append((done, total)))
    assert told == [(i, 13) for i in range(1, 14)]
