"""Runs on formal languages with hand-made models, whose answers are all known."""

from math import log

import numpy as np
import pytest
import torch
from pyarrow import compute as pc

from tseval.errors import SuiteError
from tseval.evaluation import evaluate
from tseval.scoring.protocol import Encoded, ModelCard
from tseval.suites import load_suite
from tseval.suites.formal.languages import parse_language


class ByHand:
    """A recurrent model whose state is the prefix; a function gives its probabilities."""

    row_bytes = 8 * 400

    def __init__(self, alphabet, probabilities):
        self.words = [*alphabet, "<eos>"]
        self.probabilities = probabilities
        self.card = ModelCard("by hand", "test", "0" * 64, {}, {})

    def encode(self, sentences):
        split = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(sentences))
        lengths = pc.list_value_length(split).to_numpy().astype(np.int64)
        tokens = np.array([self.words.index(word) for word in split.flatten().to_pylist()], dtype=np.int64)
        return Encoded(sentences, tokens, lengths, np.zeros(len(sentences), dtype=np.int32))

    def start(self):
        return (torch.full((1, 400), -1),)

    def advance(self, state, tokens):
        longer = state[0].clone()
        longer[torch.arange(len(tokens)), (longer >= 0).sum(1)] = torch.from_numpy(tokens)
        return (longer,)

    def logprobs(self, state, rows, tokens):
        known = {}
        for row in set(rows.tolist()):
            prefix = [self.words[word] for word in state[0][row].tolist() if word >= 0]
            known[row] = self.probabilities(prefix)
        pairs = zip(rows.tolist(), tokens.tolist(), strict=True)
        values = [log(known[row].get(self.words[token], 1e-9)) for row, token in pairs]
        return np.array(values, dtype=np.float32)


def stack_of(prefix):
    stack = []
    for symbol in prefix:
        if symbol[0] == "(":
            stack.append(symbol)
        else:
            stack.pop()
    return stack


def attractors_of(prefix):
    """Count the brackets of another type that were opened after the innermost open bracket."""
    for n in range(len(prefix) - 1, -1, -1):
        if prefix[n][0] == "(" and len(stack_of(prefix[:n])) == len(stack_of(prefix)) - 1:
            return sum(symbol[0] == "(" and symbol != prefix[n] for symbol in prefix[n + 1 :])
    return 0


def closing(share):
    """Give the matching one of two closing brackets a share that depends on the prefix."""

    def probabilities(prefix):
        stack = stack_of(prefix)
        match = f"){stack[-1][1:]}" if stack else ")1"
        other = {")1": ")2", ")2": ")1"}[match]
        mine = share(prefix)
        return {match: 0.5 * mine, other: 0.5 * (1 - mine), "(1": 0.25, "(2": 0.25, "<eos>": 1e-6}

    return probabilities


DYCK = "dyck(2,2,test=900,train=500)"


@pytest.mark.parametrize(("share", "accuracy"), [(0.79, 0), (0.81, 1)])
def test_a_dyck_choice_is_right_if_the_match_has_more_than_four_fifths_of_the_closing_mass(share, accuracy):
    suite = load_suite(DYCK)
    run = evaluate(ByHand(parse_language(DYCK).alphabet, closing(lambda _: share)), suite)
    assert run.verdicts["correct"].mean() == accuracy
    assert np.exp(run.verdicts["better_score"].to_numpy()) == pytest.approx(share, abs=1e-6)
    assert np.exp(run.verdicts["worse_score"].to_numpy()) == pytest.approx(0.8)
    assert run.manifest.counts.contrasts == len(run.verdicts) == suite.n_contrasts


def test_a_model_that_fails_from_some_attractors_on_has_that_error_by_attractors():
    spec = "generalised_dyck(pairs=2,length=16,train=500,test=150)"

    def share(prefix):
        return 0.4 if attractors_of(prefix) >= 2 else 0.6

    run = evaluate(ByHand(parse_language(spec).alphabet, closing(share)), load_suite(spec))
    accuracy = run.table("attractors").set_index("attractors")["accuracy"]
    assert accuracy[[0, 1]].tolist() == [1, 1]
    assert len(accuracy) > 4
    assert (accuracy[accuracy.index >= 2] == 0).all()


def cross_serial_model(language, wrong_after=None, wrong=0.9):
    """Make a model that knows the language, except after one prefix, where an impossible symbol is likely.

    If `wrong` is None, that symbol is as likely as each allowed one.
    """

    def probabilities(prefix):
        allowed = language.allowed(prefix)
        impossible = sorted({*language.alphabet, "<eos>"} - allowed)
        known = dict.fromkeys(allowed, 0.8 / len(allowed))
        return known | (
            {impossible[0]: wrong or 0.8 / len(allowed)} if "".join(prefix) == wrong_after else {}
        )

    return ByHand(language.alphabet, probabilities)


@pytest.mark.parametrize("wrong", [0.9, None])
def test_one_wrong_prediction_or_a_tie_spoils_exactly_the_strings_that_pass_through_it(wrong):
    spec = "cross_serial(8,test=400)"
    run = evaluate(cross_serial_model(parse_language(spec), "aaab", wrong), load_suite(spec))
    wrong_ones = run.verdicts[~run.verdicts["correct"].astype(bool)]
    assert len(wrong_ones) > 5
    passes = (run.verdicts["m"] == 3) & (run.verdicts["n"] >= 1)
    assert (~run.verdicts["correct"].astype(bool)).equals(passes.astype(bool))
    assert run.verdicts["tie"].sum() == (0 if wrong else len(wrong_ones))


def test_the_stop_symbol_counts_like_any_other():
    spec = "cross_serial(8,test=400)"
    run = evaluate(cross_serial_model(parse_language(spec), wrong_after="aabccd"), load_suite(spec))
    wrong = run.verdicts[~run.verdicts["correct"].astype(bool)]
    assert set(zip(wrong["m"], wrong["n"], strict=True)) == {(2, 1)}


@pytest.mark.parametrize(
    ("suite", "score", "said"),
    [
        (DYCK, "mean", "asks the model to choose symbols inside sentences, so --score mean is not possible"),
        (
            "marvin_linzen",
            "choices",
            "has no choices between symbols, so --score choices is not possible. Choose another --score",
        ),
    ],
)
def test_choices_are_the_score_of_formal_languages_and_of_nothing_else(suite, score, said):
    with pytest.raises(SuiteError, match=said):
        evaluate(ByHand(["a"], lambda _: {}), load_suite(suite, limit=1), score=score)
