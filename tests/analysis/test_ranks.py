import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from supplied import TABLE4

from tseval.analysis import cut, mean, means, rank_rows
from tseval.report.boards import BUNDLED_BOARDS, read_board

SETS = {
    "Short-range dependency": "short_range",
    "Long-range dependency": "long_range",
    "Subject-verb agreement": "sv_agreement",
    "Reflexive anaphora": "reflexive_anaphora",
    "Negative polarity items": "negative_polarity_items",
}


def frame(rows):
    return pd.DataFrame([[None if v is None else Fraction(v) for v in row] for row in rows], dtype=object)


@pytest.fixture
def oracle():
    """The published table as transcribed apart from the board."""
    return json.loads(TABLE4.read_text())


@pytest.fixture
def published():
    """Rows and accuracies of the bundled board."""
    board = read_board(BUNDLED_BOARDS / "bhatt2020")
    rows = pd.DataFrame([(row.dependency, row.phenomenon) for row in board.rows])
    rows.columns = ["dependency", "phenomenon"]
    names = [model.name for model in board.models]
    accuracy = frame([[row.accuracy[name] for name in names] for row in board.rows])
    return rows, accuracy.set_axis(names, axis="columns")


def test_the_mean_ranks_of_table_4_are_exact(published, oracle):
    last = means(*published)[-1]
    assert last.n_rows == 19
    exact = [Fraction(value) for value in oracle["mean_exact"].values()]
    assert list(last.rank) == exact


def test_the_mean_ranks_of_table_4_cut_to_two_decimals_are_the_printed_ones(published):
    printed = ["5.94", "3", "3.31", "3.52", "3.68", "4.73", "2.94"]  # Bhatt et al. 2020, Table 4
    assert [cut(rank, 2) for rank in means(*published)[-1].rank] == [Fraction(text) for text in printed]


def test_mean_ranks_per_section_and_phenomenon_agree_with_the_second_transcription(published, oracle):
    found = {SETS[m.over]: m.rank for m in means(*published)[:-1]}
    expected = oracle["subset_mean_ranks"]
    assert found.keys() == expected.keys()
    for name, ranks in found.items():
        assert [float(rank) for rank in ranks] == list(expected[name].values())


def test_the_misprint_named_in_the_boards_note_moves_the_mean_ranks_as_it_says(published):
    rows, accuracy = published
    assert accuracy.loc[18, "DRNN"] == Fraction("0.1")
    accuracy.loc[18, "DRNN"] = cut(Fraction(2159, 10560), 2)
    corrected = ["6", "3", "3.31", "3.36", "3.68", "4.78", "3"]
    assert [cut(rank, 2) for rank in means(rows, accuracy)[-1].rank] == [Fraction(v) for v in corrected]


def test_equal_values_share_the_smallest_rank_and_skip_the_next():
    assert rank_rows(frame([["0.9", "0.5", "0.5", "0.1"]])).to_numpy().tolist() == [[1, 2, 2, 4]]


@given(
    st.lists(st.lists(st.fractions(0, 1, max_denominator=8), min_size=4, max_size=4), min_size=1, max_size=6)
)
def test_ranks_are_scipys_minimum_ranks_of_the_negated_values(rows):
    ranks = rank_rows(frame(rows)).astype(int).to_numpy()
    expected = [rankdata([-float(value) for value in row], method="min") for row in rows]
    assert np.array_equal(ranks, np.array(expected, dtype=int))


@given(st.permutations(range(5)), st.lists(st.fractions(0, 1, max_denominator=6), min_size=5, max_size=5))
def test_the_order_of_the_models_does_not_change_their_ranks(order, values):
    straight = rank_rows(frame([values])).iloc[0].tolist()
    shuffled = rank_rows(frame([[values[i] for i in order]])).iloc[0].tolist()
    assert shuffled == [straight[i] for i in order]


def test_counts_that_differ_beyond_a_floats_digits_still_rank_apart():
    n = 10**17
    assert rank_rows(frame([[Fraction(n - 2, n), Fraction(n - 1, n)]])).to_numpy().tolist() == [[2, 1]]


def test_a_model_without_a_value_has_no_rank_and_worsens_no_other():
    assert rank_rows(frame([["0.5", None, "0.4"]])).iloc[0].tolist() == [1, None, 2]


def test_a_model_that_lacks_a_row_has_no_mean_and_takes_the_row_from_no_other():
    rows = pd.DataFrame({"dependency": ["short"] * 3, "phenomenon": ["P"] * 3})
    accuracy = frame([["0.5", "0.25", "0.4"], ["0.9", None, "1"], ["0.1", "0.75", "0"]])
    (overall,) = means(rows, accuracy)
    assert (overall.over, overall.n_rows) == ("All rows", 3)
    assert overall.accuracy == (Fraction("0.5"), None, Fraction(7, 15))
    assert overall.rank == (Fraction(5, 3), None, Fraction(2))  # 1, 2, 2 and 2, 1, 3


def test_a_model_with_no_row_leaves_the_mean_of_another_as_it_is():
    rows = pd.DataFrame({"dependency": ["short"], "phenomenon": ["P"]})
    (overall,) = means(rows, frame([[None, "0.5"]]))
    assert overall.n_rows == 1
    assert overall.accuracy == (None, Fraction(1, 2))
    assert overall.rank == (None, Fraction(1))


def test_without_rows_there_is_no_mean():
    rows = pd.DataFrame({"dependency": [], "phenomenon": []})
    (overall,) = means(rows, pd.DataFrame({"a": [], "b": []}, dtype=object))
    assert (overall.n_rows, overall.accuracy, overall.rank) == (0, (None, None), (None, None))


def test_a_mean_counts_each_row_once_whatever_its_size():
    assert mean(frame([["1"], ["0"], ["0"]])) == [Fraction(1, 3)]


@given(st.fractions(0, 1, max_denominator=30000), st.integers(1, 4))
def test_a_cut_value_is_the_decimal_expansion_broken_off(value, decimals):
    digits = value.numerator * 10**12 // value.denominator  # twelve digits, by whole numbers
    text = f"{digits:013d}"
    assert cut(value, decimals) == Fraction(f"{text[0]}.{text[1 : 1 + decimals]}")


def test_29_of_100_is_not_cut_to_28():
    assert int(0.29 * 100) == 28  # what floating point would print
    assert cut(Fraction(29, 100), 2) == Fraction("0.29")
