"""`where` and `numbers` in the front matter: which combinations are items, and more than two numbers."""

from itertools import product

import pytest
from in_process import call

from tseval.errors import GrammarError
from tseval.suites import load_suite

# A Japanese classifier, for example: every other classifier is wrong for a thing.
GRAMMAR = """---
construction: Classifiers
phenomenon: Classifiers
language: japanese
lexicon:
  noun: {{thing: [{{sing: book, cl: satsu}}, {{sing: dog, cl: hiki}}, {{sing: paper, cl: mai}}]}}
slots:
  thing: {{class: noun.thing, number: sing}}
  other: [satsu, hiki, mai]
  tense: [past, now]
{where}
expect: {{items: {items}}}
---
right: three {{{{ thing.cl }}}} {{{{ thing }}}} {{{{ tense }}}}
wrong: three {{{{ other }}}} {{{{ thing }}}} {{{{ tense }}}}
"""
OWN = {"book": "satsu", "dog": "hiki", "paper": "mai"}


def write(path, where, items=12):
    path.write_text(GRAMMAR.format(where=where, items=items), "utf-8")
    return path


def test_only_combinations_for_which_it_holds_are_items(tmp_path):
    path = write(tmp_path / "case.jinja", "where: other != thing.cl")
    (case,) = load_suite(path).cases
    pairs = list(zip(case.sentences["right"].to_pylist(), case.sentences["wrong"].to_pylist(), strict=True))
    assert pairs == [
        (f"three {OWN[thing]} {thing} {tense}", f"three {other} {thing} {tense}")
        for thing, other, tense in product(OWN, ("satsu", "hiki", "mai"), ("past", "now"))
        if other != OWN[thing]
    ]
    assert case.features["other"].to_pylist()[:4] == ["hiki", "hiki", "mai", "mai"]
    done = call("lint", path, "--quiet")
    assert (done.stdout, done.stderr) == ("", "No findings in 12 items.\n")
    (part,) = load_suite(path, limit=3).cases
    assert part.sentences["wrong"].to_pylist() == [wrong for _, wrong in pairs[:3]]


def test_without_it_lint_finds_the_equal_sentences(tmp_path):
    done = call("lint", write(tmp_path / "case.jinja", "", items=18))
    assert "6 of 18 items have two equal sentences in a contrast" in done.stdout


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("where: other == 'hon'", "'where' is true for no combination of words."),
        ("where: othr != thing.cl", "'othr'"),
        ("where: other !=", "case.jinja:11"),
        ("where: other != 1\ndraw: {items: 3}", "the grammar has both 'where' and 'draw'."),
        ("  more: {range: 1000000}\nwhere: other != thing.cl", "check 18,000,000 combinations"),
    ],
)
def test_what_it_cannot_be_is_one_message_with_its_line(tmp_path, where, said):
    with pytest.raises(GrammarError) as caught:
        load_suite(write(tmp_path / "case.jinja", where), limit=1)
    assert said in str(caught.value)
    assert "case.jinja:1" in str(caught.value)


# Slovene: the friend works, the two friends work, the friends work.
SLOVENE = """---
construction: Agreement
phenomenon: Agreement
language: slovene
{numbers}lexicon:
  noun: {{person: [{{sing: prijatelj, dual: prijatelja, plur: prijatelji}}]}}
  verb: {{main: [{{sing: dela, dual: delata, plur: delajo}}]}}
slots: {{subject: {slot}, verb: verb.main}}
---
right: {{{{ subject }}}} {{{{ verb | agree(subject) }}}}
wrong: {{{{ subject }}}} {{{{ verb | disagree({disagree}) }}}}
"""


def write_slovene(
    path, numbers="numbers: [sing, dual, plur]\n", slot="noun.person", disagree="subject, 'plur'"
):
    path.write_text(SLOVENE.format(numbers=numbers, slot=slot, disagree=disagree), "utf-8")
    return path


def test_a_noun_may_have_three_numbers_and_who_disagrees_says_how(tmp_path):
    dual = "{class: noun.person, number: dual}"
    (case,) = load_suite(write_slovene(tmp_path / "case.jinja", slot=dual)).cases
    assert case.sentences["right"].to_pylist() == ["prijatelja delata"]
    assert case.sentences["wrong"].to_pylist() == ["prijatelja delajo"]
    assert case.features["subject_number"].to_pylist() == ["dual"]
    which = "subject, 'dual' if subject.number == 'plur' else 'plur'"
    (case,) = load_suite(write_slovene(tmp_path / "case.jinja", disagree=which)).cases
    assert case.sentences["right"].to_pylist() == ["prijatelj dela", "prijatelja delata", "prijatelji delajo"]
    wrong = ["prijatelj delajo", "prijatelja delajo", "prijatelji delata"]
    assert case.sentences["wrong"].to_pylist() == wrong


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"disagree": "subject"},
            "'dela' has 2 forms that disagree with 'sing'.\n  Add the number that you mean: "
            "disagree(WORD, 'dual') or disagree(WORD, 'plur').",
        ),
        ({"disagree": "subject, 'sing'"}, "'sing' is the form that agrees"),
        (
            {"numbers": "", "slot": "{class: noun.person, number: dual}"},
            "To use other numbers, add 'numbers: [sing, dual, plur]'.",
        ),
        ({"numbers": "numbers: [plur, sing]\n"}, "[sing, dual, plur], in this order"),
        ({"numbers": "numbers: [sing]\n"}, "two or more of [sing, dual, plur]"),
    ],
)
def test_numbers_that_cannot_be_meant_are_one_message(tmp_path, options, said):
    with pytest.raises(GrammarError) as caught:
        load_suite(write_slovene(tmp_path / "case.jinja", **options))
    assert said in str(caught.value)
