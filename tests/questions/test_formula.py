"""SyntaxGym formulas: their meaning, and refused formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tseval.questions.formulas import Mark, Region, RegionPlace, parse, regions_of, values

VALUES: dict[tuple[RegionPlace, str], float] = {
    (1, "a"): 1.0,
    (1, "b"): 2.0,
    (2, "a"): 5.0,
    (2, "b"): 2.0005,
    (None, "a"): 6.0,
    (None, "b"): 4.0005,
}


def true(formula):
    return bool(values(parse(formula), lambda region, condition: np.array([VALUES[region, condition]]))[0])


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("(1;%a%) < (1;%b%)", True),
        ("(1;%b%) = (2;%b%)", True),  # equal within a thousandth
        ("(1;%a%) = 1.005", False),
        ("(*;%a%) > (*;%b%)", True),
        ("(2;%a%) - (1;%a%) > 3.9", True),
        ("(2;%a%) - (1;%a%) + (1;%b%) = 6", True),  # evaluated from left to right
        ("(2;%a%) - ((1;%a%) + (1;%b%)) = 2", True),
        ("[(1;%a%) < (1;%b%)] & [(2;%a%) < (1;%b%)]", False),
        ("(1;%a%) < (1;%b%) & (2;%a%) > (1;%b%)", True),
        ("{(1;%a%) > (1;%b%)} | {(2;%a%) > (1;%b%)}", True),
        ("(1;%a%) > (1;%b%) & (2;%a%) < 0 | (1;%a%) = 1", True),
        ("(1;%a%) = 1 | (1;%a%) = 1 & (1;%a%) = 2", False),  # (true or true) and false
        ("(1;%a%) = 2 & (1;%a%) = 2 | (1;%a%) = 1", True),  # (false and false) or true
        ("(1;%a%) = 1 | [(1;%a%) = 1 & (1;%a%) = 2]", True),
        ("(1;%a%) > 1e-1", True),
        ("(1;%a%) - .5 = 5e-1", True),
        ("(1;%a%) > -2.", True),
        ("(1;%a%) - -1 = 2", True),
        ("(1;%a%)-1 = +0", True),
        ("( ( 1 ; %a% ) ) < (1;%b%)", True),
    ],
)
def test_a_formula_is_true_or_false(formula, expected):
    assert true(formula) is expected


def test_probabilities_under_several_conditions_are_added():
    surprisals = {"a": 1.0, "b": 2.0, "c": 5.0}

    def surprisal(place, *conditions):
        return -np.log(sum(np.exp([-surprisals[one]]) for one in conditions))

    either = -np.log(np.exp(-1) + np.exp(-2))
    for bound, expected in ((either - 0.01, False), (either + 0.01, True)):
        assert bool(values(parse(f"(2; %a% , %b%) < {bound}"), surprisal)[0]) is expected
    formula = parse("(2;%a%,%b%) - (2;%c%) < 0")
    assert regions_of(formula) == {Region(2, "a"), Region(2, "b"), Region(2, "c")}


def test_names_of_conditions_are_free_and_regions_are_collected():
    formula = parse("(12;%no sub-matrix_1%) < (*;%x.y%)")
    assert regions_of(formula) == {Region(12, "no sub-matrix_1"), Region(None, "x.y")}


def test_regions_have_names_and_words_behind_them():
    formula = parse("a.critical+12 - b_2.critical < a.* + b_2.critical + 1")
    critical, behind = Region(Mark("critical"), "b_2"), Region(Mark("critical", 12), "a")
    assert regions_of(formula) == {critical, behind, Region(None, "a")}
    assert [str(region) for region in (critical, behind)] == ["b_2.critical", "a.critical+12"]
    assert regions_of(parse("a.x+1.5 < 2")) == {Region(Mark("x"), "a")}  # the number is not a region


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("", "the formula is incomplete"),
        ("(1;%a%)", "compares nothing"),
        ("(1;%a%) <", "the formula is incomplete"),
        ("(1;%a%) < (1;%b%", "tseval cannot read, at|in a place where|without a closing one"),
        ("[(1;%a%) < 2)", r"an opening bracket \[ without a closing one"),
        ("(1;%a%) < 2 3", "is complete before 3.0, so nothing can follow"),
        ("(1;%a%) < 2 < 3", "has the operator <, but not between two numbers"),
        ("(1;%a%) & (1;%b%)", "has the operator &, but not between two statements"),
        ("(1;%a%) < 1e", "has a part that tseval cannot read, at 'e'"),
        ("(1;%a%) < 1e999", "has the number 1e999, which is too large"),
        ("((1;%a%) < 2) + 1 < 3", r"has the operator \+, but not between two numbers"),
        ("__import__('os')", "has a part that tseval cannot read, at"),
        ("(" * 60 + "(1;%a%)" + ")" * 60 + " < 1", "where a region or a number must be"),
    ],
)
def test_what_is_no_formula_is_refused(formula, message):
    with pytest.raises(ValueError, match=message):
        parse(formula)


NUMBERS = st.integers(0, 20).map(str)


@given(
    st.recursive(
        NUMBERS,
        lambda inner: st.tuples(inner, st.sampled_from("+-"), inner).map("({0[0]} {0[1]} {0[2]})".format),
    )
)
def test_arithmetic_is_that_of_python(expression):
    found = values(parse(f"{expression} < 0").left, lambda *_: np.zeros(1))
    assert float(found) == eval(expression)  # noqa: S307 - written by the strategy above
