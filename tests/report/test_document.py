"""A document before any format: exact values, and how readers see them."""

from fractions import Fraction

import pandas as pd
import pytest

from tseval.report.document import (
    Field,
    Grid,
    Line,
    interval,
    mean_rank,
    probability,
    share,
    side_by_side,
    whole,
)

NAN = float("nan")


def test_a_field_takes_one_value_per_row_and_a_tuple_from_several_columns():
    frame = pd.DataFrame({"n": [1, 2], "low": [0.25, NAN], "high": [0.5, NAN]})
    assert Field("Items", ("n",)).values(frame) == [1, 2]
    first, _ = Field("95% interval", ("low", "high")).values(frame)
    assert first == (0.25, 0.5)


@pytest.mark.parametrize("missing", [None, NAN, pd.NA])
def test_what_is_missing_is_a_dash_whatever_the_column(missing):
    grid = Grid([Field("label"), Field("n", show=whole), Field("share", show=share)], [])
    assert grid.texts(Line(("a", missing, missing))) == ["a", "–", "–"]
    assert interval((NAN, NAN)) == "–"


def test_text_stays_as_it_was_printed_beside_numbers_that_are_cut():
    grid = Grid([Field("label"), Field("A", show=share), Field("B", show=share)], [])
    assert grid.texts(Line(("a", "0.5", Fraction(2, 3)))) == ["a", "0.5", "0.666"]


def test_a_line_may_be_shown_otherwise_than_its_column():
    grid = Grid([Field("label"), Field("A", show=share)], [])
    assert grid.texts(Line(("mean rank", Fraction(3, 2)), show=mean_rank)) == ["mean rank", "1.5"]


def test_a_section_has_a_cell_under_every_heading():
    grid = Grid([Field("label"), Field("A"), Field("B")], [])
    assert grid.texts(Line(("Short",), "section")) == ["Short", "", ""]


def test_models_stand_beside_each_other_after_what_their_rows_share():
    frames = {
        "srn": pd.DataFrame({"k": [0, 1], "accuracy": [0.5, 1.0], "worth": [7, 8]}),
        "gru": pd.DataFrame({"k": [0, 1], "accuracy": [0.25, NAN], "worth": [9, 0]}),
    }
    measures = [Field("", ("accuracy",), share), Field("Worth", ("worth",), whole)]
    fields, lines = side_by_side([Field("Attractors", ("k",), align="left")], frames, measures)
    assert [field.heading for field in fields] == ["Attractors", "srn", "Worth", "gru", "Worth"]
    assert [Grid(fields, lines).texts(line) for line in lines] == [
        ["0", "0.500", "7", "0.250", "9"], ["1", "1.000", "8", "–", "0"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (share(Fraction(9_999_999_999, 10_000_000_000)), "0.999"),  # an exact share is never rounded up
        (share(0.29, 2), "0.29"),  # 0.29 * 100 is 28.999999999999996
        (share(Fraction(979, 1000), 2), "0.97"),
        (interval((0.1239, 0.4561)), "0.123 to 0.457"),
        (mean_rank(Fraction(10)), "10"),
        (mean_rank(Fraction(25, 8)), "3.12"),
        (whole(22400), "22,400"),
        (probability(0.00099), "< 0.001"),
        (probability(0.0312), "0.031"),
    ],
)
def test_numbers_are_cut_and_not_rounded(shown, text):
    assert shown == text
