"""Adapters that do not return log-probabilities: one message, before anything is saved."""

import math

import numpy as np
import pytest
import torch
from small import make_case, make_suite

import tseval
from tseval.errors import ModelError
from tseval.scoring.protocol import ABOVE_ZERO, Encoded, ModelCard
from tseval.scoring.surprisal import surprisals

CARD = ModelCard("foreign", "test", "0" * 64, {}, {})
GOOD, BAD = "the author laughs .", "the author laugh ."
LONG = " ".join(["word"] * 9_000)


class Words:
    """A sentence model that returns a chosen result for one sentence, and -1.0 for all other words."""

    card = CARD

    def __init__(self, row=None, of=BAD, rows=lambda rows: rows):
        self.row, self.of, self.rows = row, of, rows

    def word_logprobs(self, sentences):
        return self.rows([self.row if s == self.of else [-1.0] * len(s.split()) for s in sentences])


class Totals:
    card = CARD

    def __init__(self, given):
        self.given = given

    def sentence_logprobs(self, sentences):
        return self.given


class Tokens:
    """A token model with one token for each word, which returns a chosen result."""

    card = CARD
    warnings = ()
    batch_tokens = 64

    def __init__(self, given=None, encoded=lambda encoded: encoded):
        self.given, self.encoded = given, encoded

    def encode(self, sentences):
        lengths = np.array([len(s.split()) for s in sentences.to_pylist()])
        none = np.zeros(len(lengths), dtype=np.int32)
        return self.encoded(Encoded(sentences, np.zeros(lengths.sum(), dtype=np.int64), lengths, none))

    def token_texts(self, tokens):
        return ["x"] * len(tokens)

    def token_logprobs(self, encoded, batch_tokens):
        return (np.full(8, -1.0, "f4"), 8) if self.given is None else self.given


class Recurrent(Tokens):
    row_bytes = 8

    def start(self):
        return (torch.zeros(1),)

    def advance(self, state, tokens):
        return (torch.zeros(len(tokens)),)

    def logprobs(self, state, rows, tokens):
        return self.given(len(tokens))


def refused(model, path, good=GOOD, bad=BAD):
    """Run a model on two sentences and return the message; check that no table was saved."""
    suite = make_suite(make_case("one", [(good.removesuffix(" ."), bad.removesuffix(" ."))]))
    with pytest.raises(ModelError) as error:
        tseval.evaluate(model, suite, out=path / "run")
    assert list((path / "run").rglob("*.parquet")) == []
    assert len(str(error.value)) < 500
    assert "foreign" in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            [-1.0, -1.0, 0.5, -1.0],
            "returned the log-probability 0.5 in the sentence 'the author laugh .', but a",
        ),
        (
            [-1.0, -1.0, 1e300, -1.0],
            "returned the log-probability inf for the sentence 'the author laugh .', but",
        ),
        (
            [-1.0, math.nan, -1.0, -1.0],
            "returned the log-probability nan for the sentence 'the author laugh .', but",
        ),
        ([-1.0, -math.inf, -1.0, -1.0], "log-probability -inf for the sentence 'the author laugh .', but"),
        (
            [-1.0, None, -1.0, -1.0],
            "returned None in its list of log-probabilities of the words of 'the author laugh",
        ),
        (
            [-1.0, "-1", -1.0, -1.0],
            "returned a value of type str in its list of log-probabilities of the words of '",
        ),
        (
            [-1.0, True, -1.0, -1.0],
            "returned a value of type bool in its list of log-probabilities",
        ),
        (
            [-1.0, torch.tensor(-1.0), -1.0, -1.0],
            "returned a value of type Tensor in its list of log-probabilities",
        ),
        (
            [-(10**400), -1.0, -1.0, -1.0],
            "returned a number that is too large for float64, in its list of log-probabilities",
        ),
        ([-1.0] * 3, "returned 3 log-probabilities, but there are 4 words in 'the author laugh .'"),
        (
            None,
            "returned None, but must return a list of log-probabilities of the words of 'the author laugh .'",
        ),
        (-1.0, "returned a value of type float, but must return a list of"),
        ((-1.0 for _ in range(4)), "returned a value of type generator, but must return a list of"),
        (torch.full((4,), -1.0), "returned a value of type Tensor, but must return a list of"),
        (
            np.full((4, 1), -1.0),
            "returned a value of type ndarray in its list of log-probabilities of the words of",
        ),
    ],
)
def test_what_is_no_row_of_logprobs_is_told_with_its_sentence(tmp_path, row, message):
    assert message in refused(Words(row), tmp_path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (lambda _: None, ("returned None, but must return a list of log-probabilities of the words of the "
                          "sentence 'the")),
        (iter, "returned a value of type list_iterator, but must return a list of log-probabilities"),
        (lambda rows: rows[1:], ("and 1 other, foreign returned 1 list of log-probabilities, but must return "
                                 "2, one for each sentence")),
        (torch.tensor, "returned a value of type Tensor, but must return a list of"),
    ],
)  # fmt: skip
def test_what_are_no_rows_is_told(tmp_path, rows, message):
    assert message in refused(Words([-1.0] * 4, rows=rows), tmp_path)


TOTALS = [None, -1.0, "ab", [None, -1.0], [0.5, -1.0], [math.nan, -1], [[-1.0], [-1.0]]]
OF_TOKENS = [
    5, [np.zeros(8), 8, 8], ([-1.0] * 8, 8), (np.zeros(7), 7), (np.zeros((8, 1)), 8), (np.full(8, "a"), 8),
    (np.array([-1.0] * 7 + [2.0]), 8), (np.array([-1.0] * 7 + [math.nan]), 8), (torch.zeros(8), 8),
    (np.zeros(8), "8"),
]  # fmt: skip
OF_STATES = [
    lambda _: None, lambda n: [-1.0] * n, lambda n: torch.zeros(n + 1), lambda n: np.zeros(n + 1),
    lambda n: np.full(n, 2.0), lambda n: np.full(n, math.nan), lambda n: np.full(n, None),
]  # fmt: skip
ENCODED = [
    lambda _: None, lambda e: Encoded(e.seen[:1], e.tokens, e.lengths, e.n_unknown),
    lambda e: Encoded(e.seen, e.tokens[:-1], e.lengths, e.n_unknown),
    lambda e: Encoded(e.seen, e.tokens, e.lengths + 1, e.n_unknown),
    lambda e: Encoded(e.seen, e.tokens, e.lengths, e.n_unknown, np.ones(3, dtype=np.int64)),
]  # fmt: skip


NOT_ANSWERS = [*map(Totals, TOTALS), *map(Tokens, OF_TOKENS), *(Tokens(None, one) for one in ENCODED)]
NOT_ANSWERS += [Recurrent(lambda n: np.full(n, -1.0), encoded) for encoded in ENCODED]


@pytest.mark.parametrize("model", [*NOT_ANSWERS, *map(Recurrent, OF_STATES)])
def test_what_is_no_answer_is_told_with_a_sentence_unless_of_states(tmp_path, model):
    said = refused(model, tmp_path)
    assert "'the author laugh" in said or model.given in OF_STATES


@pytest.mark.parametrize(
    "row",
    [
        [-1, -1, -1, -1], (-1.0,) * 4, np.full(4, -1.0), np.full(4, -1), np.full(4, -1.0, "f2"),
        [np.float32(-1), np.float64(-1), np.int8(-1), np.array(-1.0)], [0, 0.0, ABOVE_ZERO / 2, -0.0],
    ],
    ids=repr,
)  # fmt: skip
def test_numbers_of_any_kind_are_numbers(row):
    suite = make_suite(make_case("one", [(GOOD.removesuffix(" ."), BAD.removesuffix(" ."))]))
    run = tseval.evaluate(Words(row), suite)
    assert run.verdicts["worse_score"].iloc[0] == pytest.approx(float(np.sum(np.array(row, dtype=float))))


def test_a_long_sentence_is_cut_in_the_message(tmp_path):
    assert refused(Words([2.0] * 9_001, of=f"{LONG} ."), tmp_path, bad=LONG).count("word") < 40


@pytest.mark.parametrize("value", [0.5, math.nan, -math.inf, math.inf])
@pytest.mark.parametrize("text", [BAD, "the"])
def test_surprisal_refuses_the_same(value, text):
    model = Words([value] * len(text.split()), of=text)
    with pytest.raises(ModelError, match=rf"foreign returned the log-probability .* sentence '{text}'"):
        surprisals(model, [GOOD, text, "a b"])
