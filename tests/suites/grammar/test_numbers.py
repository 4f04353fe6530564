"""Nouns of three numbers: lint reports a number without items, and agreement with the wrong number."""

import pytest
from in_process import call

HEAD = """---
construction: Dual
phenomenon: Agreement
language: slovenian
lexicon:
  noun: {p: [{sing: konj, dual: konja, plur: konji}, {sing: volk, dual: volka, plur: volkovi}]}
  verb: {v: [{sing: spi, dual: spita, plur: spijo}, {sing: je, dual: jesta, plur: jejo}]}
"""


def lint(folder, front, good, bad):
    path = folder / "case.jinja"
    path.write_text(f"{HEAD}{front}---\ngood: {good}\nbad: {bad}\n", "utf-8")
    return call("lint", path, "--quiet").stdout.replace(f"{folder}/", "").splitlines()


WRONG = '{{ verb | disagree(subject, "plur" if subject.number != "plur" else "sing") }}'


def test_a_number_that_all_nouns_have_and_no_item_is_named_with_the_line_to_add(tmp_path):
    slots = "slots: {subject: noun.p, verb: verb.v}\n"
    found = lint(tmp_path, slots, "{{ subject }} {{ verb | agree(subject) }}", f"{{{{ subject }}}} {WRONG}")
    said = "case.jinja:8: warning: the nouns of 'subject' have a form 'dual', but no item uses this number. "
    assert f"{said}Add: numbers: [sing, dual, plur]" in found
    more = f"numbers: [sing, dual, plur]\n{slots}"
    good = "{{ subject }} {{ verb | agree(subject) }}"
    assert lint(tmp_path, more, good, f"{{{{ subject }}}} {WRONG}") == []


@pytest.mark.parametrize(
    ("slots", "good"),
    [
        ("{subject: {class: noun.p, number: sing}, verb: verb.v}", "{{ subject }} {{ verb.sing }}"),
        ("{subject: noun.p, verb: verb.v}", "{{ subject.dual }} {{ verb.dual }} {{ subject }}"),
    ],
)
def test_a_number_that_is_left_out_on_purpose_is_none(tmp_path, slots, good):
    found = lint(tmp_path, f"slots: {slots}\n", good, f"{good} ne")
    assert not [one for one in found if "dual" in one]


PRINTED = "slots: {subject: {class: noun.p, number: sing}, number: [sing, dual, plur], verb: verb.v}\n"


@pytest.mark.parametrize(
    ("noun", "agreeing", "wrong"),
    [
        ("{{ subject[number] }}", "agree(subject)", True),
        ("{{ subject[number] }}", "agree(number)", False),
        ("{{ subject[number] }} {{ subject }}", "agree(subject)", False),  # it agrees with the second noun
        ("ena {{ subject.plur }} {{ number }}", "agree(subject)", False),  # 'one of the'
    ],
)
def test_agreement_with_a_number_that_is_not_printed_is_an_error(tmp_path, noun, agreeing, wrong):
    bad = f'{noun} {{{{ verb | disagree(number, "plur" if number != "plur" else "sing") }}}}'
    found = lint(tmp_path, PRINTED, f"{noun} {{{{ verb | {agreeing} }}}}", bad)
    said = "case.jinja:10: error: 'verb | agree(subject)' takes the number of 'subject' (sing), but "
    said += "'subject[number]' prints sing, dual, plur. Write 'agree(number)'."
    assert (said in found) == wrong
