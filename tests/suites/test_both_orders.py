"""Pairs as questions in both orders."""

import pytest

from tseval.errors import SuiteError
from tseval.suites import load_suite
from tseval.suites.both_orders import in_both_orders
from tseval.suites.context import suite_in_context
from tseval.verdicts import sentences_of
from tseval.writing import OR_SECOND


def test_each_pair_is_two_questions_whose_sentences_end_as_the_suite_says():
    suite = load_suite("marvin_linzen", cases=["simple_agrmt"], limit=3)
    asked = in_both_orders(suite)
    (case,) = suite.cases
    good, bad = (case.sentences[label].to_pylist() for label in case.labels)
    expected = {
        f"{a} .{OR_SECOND}{b} ." for pair in zip(good, bad, strict=True) for a, b in (pair, pair[::-1])
    }
    assert set(sentences_of(asked).to_pylist()) == expected
    assert asked.digest == suite.digest
    assert asked.n_contrasts == suite.n_contrasts


@pytest.mark.slow
@pytest.mark.parametrize("name", ["marvin_linzen:inflection", "dyck(2,4)"])
def test_what_compares_no_pairs_is_refused_by_the_name_of_the_case(name):
    with pytest.raises(SuiteError, match=r"case .* does not compare pairs of sentences"):
        in_both_orders(load_suite(name, limit=3))


@pytest.mark.slow
def test_sentences_in_context_are_refused():
    with pytest.raises(SuiteError, match="--context other"):
        in_both_orders(suite_in_context("marvin_linzen", "other", words=50))
