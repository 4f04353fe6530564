"""The engine with models that score tokens themselves, against a closed form."""

import numpy as np
import pyarrow as pa
import pytest
import torch
from small import make_case, make_suite

import tseval
from tseval.errors import ModelError
from tseval.scoring.engine import score_all
from tseval.scoring.protocol import CorrectingModel, Encoded, ModelCard, TokenModel
from tseval.scoring.scorers import scorer_for


class Letters:
    """Every letter is a piece; letter number k of a sentence has log-probability -k."""

    def __init__(self, fits=10**9):
        self.card = ModelCard("letters", "test", "0", {}, {})
        self.warnings = []
        self.batch_tokens = 64
        self.fits = fits
        self.tried = []

    def token_texts(self, tokens):
        return [chr(token) for token in tokens]

    def encode(self, sentences):
        words = [word for text in sentences.to_pylist() for word in text.split()]
        return Encoded(
            seen=sentences,
            tokens=np.array([ord(letter) for word in words for letter in word]),
            lengths=np.array([len(text.split()) for text in sentences.to_pylist()]),
            n_unknown=np.zeros(len(sentences), dtype=np.int32),
            pieces=np.array([len(word) for word in words]),
        )

    def token_logprobs(self, encoded, batch_tokens):
        self.tried.append(batch_tokens)
        if batch_tokens > self.fits:
            raise torch.OutOfMemoryError("CUDA out of memory")
        tokens = np.concatenate([-np.arange(1, n + 1) for n in encoded.token_counts])
        return tokens.astype(np.float32), 7


def test_a_word_scores_the_sum_of_its_pieces():
    model = Letters()
    assert isinstance(model, TokenModel)
    rows = scorer_for(model).score(pa.array(["ab", "ab c def", "b a"])).to_pylist()
    assert [row["words"] for row in rows] == [[-3.0], [-3.0, -3.0, -15.0], [-1.0, -2.0]]
    assert [row["logprob"] for row in rows] == [-3.0, -21.0, -3.0]


def test_out_of_memory_halves_the_tokens_and_keeps_what_the_model_says():
    model = Letters(fits=20)
    model.warnings.append("read backwards")
    scorer = scorer_for(model)
    for _ in range(2):
        scorer.score(pa.array(["ab c", "b a"]))
    assert model.tried == [64, 32, 16, 16]
    assert scorer.n_contexts == 14
    assert scorer.warnings == [
        "read backwards",
        "out of memory with 64 tokens at once; went on with 32",
        "out of memory with 32 tokens at once; went on with 16",
    ]


def test_no_memory_for_one_token_is_a_clear_error():
    with pytest.raises(ModelError, match="not enough memory to score even one sentence"):
        scorer_for(Letters(fits=0)).score(pa.array(["a b"]))


def test_other_errors_of_a_model_are_not_taken_for_lack_of_memory():
    model = Letters()
    model.token_logprobs = lambda encoded, batch_tokens: torch.ones(2) @ torch.ones(3)
    with pytest.raises(RuntimeError, match="inconsistent"):
        scorer_for(model).score(pa.array(["a b"]))


class Closed(Letters):
    """Adds 0.5 to every word, but for what a test puts in its place."""

    given = None

    def corrected_logprobs(self, encoded, batch_tokens):
        logprobs, n_contexts = self.token_logprobs(encoded, batch_tokens)
        return self.given or (logprobs, np.full(len(encoded.pieces), 0.5), n_contexts)


def test_words_are_corrected_where_they_matter_and_sentences_never():
    assert isinstance(Closed(), CorrectingModel)
    assert not isinstance(Letters(), CorrectingModel)
    texts = pa.array(["ab c def"])
    (plain,), (words,) = (scorer_for(Closed(), words=w).score(texts).to_pylist() for w in (False, True))
    assert plain == scorer_for(Letters(), words=True).score(texts).to_pylist()[0]
    assert words["words"] == [-2.5, -2.5, -14.5]
    assert words["logprob"] == plain["logprob"] == -21.0


def test_scores_that_compare_words_ask_for_corrected_ones():
    suite = make_suite(make_case("one", [("a bb", "a b")]), terminator=None)
    compared = tseval.evaluate(Closed(), suite, score="critical").verdicts
    assert compared["better_score"].tolist() == [-4.5]
    whole = tseval.evaluate(Closed(), suite, score="sentence").verdicts
    assert whole["better_score"].tolist() == [-6.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((np.zeros(2), 3), r"letters gave no log-probabilities, corrections and number of contexts for the "
         r"sentence 'a b' and 0 others"),
        ((np.zeros(2), np.zeros(3), 3), r"letters gave an array .* shape \(3,\) instead of 2 corrections of "
         r"the words of the sentence 'a b'"),
        ((np.zeros(2), np.array([0, -np.inf]), 3), r"log-probability -inf of the sentence 'a b': not finite"),
        ((np.zeros(2), np.array([0, 2.0]), 3), r"log-probability 2 in the sentence 'a b': above 0"),
    ],
)  # fmt: skip
def test_what_is_no_correction_is_one_message(given, message):
    model = Closed()
    model.given = given
    with pytest.raises(ModelError, match=message):
        score_all(scorer_for(model, words=True), pa.array(["a b"]))
