"""Specifications of languages: what can be written, and what is said about what cannot."""

import pytest

from tseval.errors import SuiteError
from tseval.suites.formal.languages import CrossSerial, Dyck, GeneralisedDyck, parse_language


@pytest.mark.parametrize(
    ("spec", "language"),
    [
        ("dyck(k=4,m=3)", Dyck(4, 3)),
        ("dyck(4, 3)", Dyck(4, 3)),
        (" dyck ( 4 , m = 3, seed=2 ) ", Dyck(4, 3, seed=2)),
        ("generalised_dyck(pairs=5, length=20)", GeneralisedDyck()),
        ("generalised_dyck()", GeneralisedDyck()),
        ("generalised_dyck", GeneralisedDyck()),
        ("cross_serial(8)", CrossSerial(8, more=2)),
    ],
)
def test_a_specification_names_a_language(spec, language):
    assert parse_language(spec) == language


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("dick(4,3)", "no formal language 'dick'.\n  Did you mean 'dyck'?"),
        ("dyck(4)", "dyck(4): m must be given.\n  dyck(k, m, train=2000000,"),
        ("dyck", "k and m must be given"),
        ("dyck(4,3,n=1)", "no setting 'n'.\n"),
        ("dyck(4,3,trian=1)", "Did you mean 'train'?"),
        ("dyck(4,3,k=4)", "k is given twice"),
        ("dyck(k=4,3)", "'3' belongs to no setting"),
        ("cross_serial(1,2,3,4,5,6,7)", "'7' belongs to no setting"),
        ("dyck(four,3)", "k must be a whole number, not 'four'"),
        ("dyck(4,3.5)", "m must be a whole number, not '3.5'"),
        ("dyck(4,)", "m must be a whole number, not ''"),
        ("dyck(0,3)", "k=0 is out of range.\n  Choose k from 1 to 4,096."),
        ("dyck(4,3,test=0)", "test=0 is out of range"),
        ("dyck(4,3,seed=-1)", "seed=-1 is out of range"),
        ("generalised_dyck(length=7)", "length=7 is odd"),
        ("generalised_dyck(train_depth=0)", "train_depth=0 is out of range"),
        ("cross_serial(0)", "k=0 is out of range"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_reason(spec, said):
    with pytest.raises(SuiteError) as refusal:
        parse_language(spec)
    assert said in str(refusal.value)


def test_a_language_without_strings_left_for_the_test_is_refused():
    language = parse_language("generalised_dyck(pairs=2,length=4)")
    with pytest.raises(SuiteError, match=r"every string is among the 102,400 training strings"):
        list(language.draw("test"))
