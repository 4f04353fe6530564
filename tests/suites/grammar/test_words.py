"""Words from several classes, lexicons in the front matter, and forms that stand for gender and case."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tseval.errors import GrammarError
from tseval.items import Case
from tseval.suites import load_suite
from tseval.suites.lint import lint

WriteGrammar = Callable[..., Path]

ONE_FILE = """\
---
construction: Article and noun
phenomenon: Gender
lexicon:
  noun:
    thing:
      - {sing: Tisch, plur: Tische, dat_plur: Tischen, gender: masc}
      - {sing: 1984, plur: null, dat_plur: no, gender: neut}
  determiner:
    any: [{masc: der, neut: das}]
slots:
  noun: noun.thing
  determiner: determiner.any
features:
  gender: noun.gender
---
right: {{ determiner[noun.gender] if noun.number == "sing" else "die" }} {{ noun }}
wrong: mit den {{ noun.dat_plur }} {{ noun }}
"""


def only_case(path: Path) -> Case:
    (case,) = load_suite(path).cases
    return case


def test_a_slot_may_take_several_classes_one_after_the_other(write_grammar: WriteGrammar) -> None:
    path = write_grammar(
        "a: {{ x }} {{ v }}\nb: {{ x }}", "{x: noun.fixed + noun.person, v: verb.past+verb.main}"
    )
    case = only_case(path)
    people = ["mouse", "mice", "author", "authors", "security guard", "security guards", "child", "children"]
    verbs = ["said", "laughs", "is tall"]
    assert case.sentences["a"].to_pylist() == [f"{noun} {verb}" for noun in people for verb in verbs]
    assert set(case.features["x"].to_pylist()) == {"mouse", "author", "security guard", "child"}
    assert case.entries.column_names == ["x", "v"]


def test_several_classes_in_one_number_or_different_from_another_slot(write_grammar: WriteGrammar) -> None:
    both = "class: noun.fixed + noun.person"
    slots = f"{{x: {{{both}, number: plur}}, y: {{{both}, differs_from: x}}}}"
    pairs = only_case(write_grammar("a: {{ x }} {{ y }}\nb: {{ y }}", slots)).features.select(["x", "y"])
    rows = [tuple(row.values()) for row in pairs.to_pylist()]
    assert len(rows) == 4 * 3 * 2
    assert all(x != y for x, y in rows)


@pytest.mark.parametrize(
    ("slots", "what"),
    [
        (
            "{x: noun.person + noun.fixd}",
            "the lexicon has no class 'noun.fixd'.\n  Did you mean 'noun.fixed'?",
        ),
        ("{x: noun.person +}", "the lexicon has no class ''."),
        ("{x: noun.person + verb.main}", "'noun.person + verb.main' mixes nouns, which have a number, with"),
    ],
)
def test_classes_that_do_not_go_together(write_grammar: WriteGrammar, slots: str, what: str) -> None:
    with pytest.raises(GrammarError) as caught:
        load_suite(write_grammar("a: {{ x }}\nb: y", slots))
    assert f"case.jinja:6: {what}" in str(caught.value)


def test_a_class_that_stands_in_a_sum_is_used(write_grammar: WriteGrammar) -> None:
    slots = "{x: noun.fixed + noun.person, v: verb.main + verb.past}"
    path = write_grammar("a: {{ x }} {{ v }}\nb: {{ x }} is {{ v }}", slots)
    unused = [finding.message for finding in lint(path.parent) if "no grammar uses" in finding.message]
    names = ("noun.odd", "verb.odd", "pronoun.reflexive", "determiner.npi")
    assert unused == [f"no grammar uses the class {name!r}." for name in names]


def test_a_lexicon_may_stand_in_the_front_matter(tmp_path: Path) -> None:
    (tmp_path / "one.jinja").write_text(ONE_FILE, encoding="utf-8")
    case = only_case(tmp_path / "one.jinja")
    # Every scalar is a word there, as in a file of its own.
    assert case.sentences["right"].to_pylist() == ["der Tisch", "die Tische", "das 1984", "die null"]
    assert case.sentences["wrong"].to_pylist()[::2] == ["mit den Tischen Tisch", "mit den no 1984"]
    assert case.features["gender"].to_pylist() == ["masc", "masc", "neut", "neut"]


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("gender: neut", "gender: [neut]", 8, "the form 'gender' must be text.\n  Write the word."),
        ("any: [{masc: der, neut: das}]", "any: []", 10, "the class 'determiner.any' lists no words."),
        ("neut: das", "fem: die", 17, "'der' has no form 'neut'.\n  Forms: fem, masc. It is defined at"),
    ],
)
def test_a_lexicon_in_the_front_matter_is_held_to_the_same(
    tmp_path: Path, old: str, new: str, line: int, what: str
) -> None:
    path = tmp_path / "one.jinja"
    path.write_text(ONE_FILE.replace(old, new), "utf-8")
    with pytest.raises(GrammarError) as caught:
        load_suite(path)
    assert f"one.jinja:{line}: {what}" in str(caught.value)
