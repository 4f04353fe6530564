"""The engine with models that score tokens themselves, against a closed form."""

import numpy as np
import pyarrow as pa
import pytest
import torch

from tseval.errors import ModelError
from tseval.scoring.protocol import Encoded, ModelCard, TokenModel
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
