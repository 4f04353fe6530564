"""A condition that can never hold is reported with its line and the existing values."""

# ruff: noqa: E501 - a row of a table is a case

import pytest
from in_process import call

LEXICON = """
  noun:
    p: [{sing: farmer, plur: farmers, rank: "3", gender: masc}, {sing: queen, plur: queens, rank: "5", gender: fem}]
    q: [{sing: pilot, plur: pilots, rank: "9", gender: neut}]
  verb: {v: [laughs, works]}"""
SLOTS = "{subject: noun.p, verb: verb.v, depth: [1, 2], tense: [past, present], long: [true, false]}"
AGREE = "the {{ subject }} {{ verb | agree(subject) }}"
DISAGREE = "the {{ subject }} {{ verb | disagree(subject) }}"


def lint(folder, code, *, use="{{ x }} {{ depth }} {{ tense }} {{ long_ }}", slots=SLOTS, more=""):
    text = f"---\nconstruction: C\nphenomenon: P\nlexicon:{LEXICON}\nslots: {slots}\n{more}---\n"
    text += f'{{% set long_ = "l" if long else "s" %}}\n{code}\n'
    path = folder / "case.jinja"
    path.write_text(f"{text}good: {use} {AGREE}\nbad: {use} {DISAGREE}\n", "utf-8")
    done = call("lint", path, "--quiet")
    assert done.returncode in (0, 1), done.stderr
    line = 1 + text[: text.index(code)].count("\n") if code else 0
    return [one.partition(f"case.jinja:{line}: ")[2] or one for one in done.stdout.splitlines()]


def given(condition):
    return f'{{% set x = "a" if {condition} else "b" %}}'


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ('depth == "2"', "compares a number with text, so it is never true. 'depth' has the values 1, 2. Write 2 without quotes."),
        ('"2" == depth', "compares text with a number, so it is never true. 'depth' has the values 1, 2. Write 2 without quotes."),
        ('depth + 1 == "2"', "compares a number with text, so it is never true."),
        ("subject.rank == 3", "compares text with a number, so it is never true. 'subject.rank' has the values \"3\", \"5\". Write \"3\"."),
        ("subject.rank != 3", "compares text with a number, so it is always true."),
        ('depth in ["1", "2"]', "compares a number with text, so it is never true."),
        ('long == "true"', "compares true or false with text, so it is never true. 'long' has the values true, false. Write true without quotes."),
        ("depth == subject.rank", "compares a number with text, so it is never true."),
        ('tense == "Past"', "is never true: 'tense' is never \"Past\". 'tense' has the values \"past\", \"present\". Write \"past\"."),
        ('tense != "Past"', "is always true: 'tense' is never \"Past\"."),
        ('tense in ["Past", "present"]', "has a part that is never true: 'tense' is never \"Past\"."),
        ('tense not in ["Past"]', "is always true: 'tense' is never \"Past\"."),
        ('tense is in ["Past"]', "is never true: 'tense' is never \"Past\"."),
        ("depth == 3", "is never true: 'depth' is never 3. 'depth' has the values 1, 2."),
        ('subject.number == "plural"', "is never true: 'subject.number' is never \"plural\". 'subject.number' has the values \"sing\", \"plur\". Write \"plur\"."),
        ('subject.number == "dual"', "is never true: 'subject.number' is never \"dual\"."),
        ('subject["gender"] == "m"', "is never true: 'subject[\"gender\"]' is never \"m\"."),
        ('subject == "Farmer"', "is never true: 'subject' is never \"Farmer\"."),
        ('subject.lemma == "farmerr"', "is never true: 'subject.lemma' is never \"farmerr\". "),
        ('(subject | match("sing")) == "Match"', "is never true:"),
        ('(tense | upper) == "past"', "is never true: 'tense | upper' is never \"past\"."),
        ('(verb | agree(subject)) == "laughed"', "is never true:"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("around", ["{}", "not ({})", "depth == 1 or {}", "{} and long"])
def test_a_comparison_with_a_value_that_is_never_there_is_an_error(tmp_path, condition, said, around):
    (found,) = lint(tmp_path, given(around.format(condition)))
    shown = condition.replace('is in ["Past"]', 'is in(["Past"])')
    shown = shown.removeprefix("(").replace(") ==", " ==") if condition.startswith("(") else shown
    assert found.startswith(f"error: the condition '{shown}' ")
    assert said in found


@pytest.mark.parametrize(
    "code",
    [
        '{% macro of(noun) %}{{ "a" if noun.number == "plural" else "b" }}{% endmacro %}\n{% set x = of(subject) %}',
        '{% macro of(n, t="x") %}{{ "a" if t == "Past" else n }}{% endmacro %}\n{% set x = of(depth, t=tense) %}',
        '{% set wanted = "Past" %}\n{% set x = "a" if tense == wanted else "b" %}',
        '{% macro of() %}{% if depth == 1 %}a{% elif tense == "Past" %}b{% endif %}{% endmacro %}\n{% set x = of() %}',
        '{% macro of() %}{% for t in [tense, "none"] %}{{ "a" if t == "Past" else "b" }}{% endfor %}{% endmacro %}\n{% set x = of() %}',
    ],
)
def test_values_are_followed_through_macros_sets_tables_and_loops(tmp_path, code):
    (found,) = lint(tmp_path, code)
    assert "error: the condition" in found
    assert "is never true" in found


@pytest.mark.parametrize(
    "code",
    [
        given('subject.gender == "fem" and depth == 1'),
        given('subject.gender == "neut" or depth == 1'),  # other words of the lexicon have these values
        given('subject in ["farmer", "queens"]'),
        given('subject.number ~ depth == "sing1"'),
        given("depth == 1 and long == true"),
        given("loop_free == 1").replace("loop_free", "depth"),
        '{% macro of(n) %}{{ "a" if n == "none" else n }}{% endmacro %}\n{% set x = of("none") if long else of(depth) %}',
        '{% macro of(g) %}{% if g == "masc" %}r{% elif g == "fem" %}e{% endif %}{% endmacro %}\n{% set x = of(subject.gender) %}',
        "{% macro of(k) %}{% if k > 0 %}x{{ of(k - 1) }}{% endif %}{% endmacro %}\n{% set x = of(depth) %}",
        '{% macro of() %}{% for n in range(depth) %}{{ "," if not loop.first else "" }}{{ n }}{% endfor %}{% endmacro %}\n'
        "{% set x = of() %}",
        given('"ar" in subject.sing'),  # part of a text
        '{% macro of(noun) %}{{ noun.sing if noun.number == "sing" else "" }}{% endmacro %}\n{% set x = of(subject | agree(subject)) %}',
    ],
)
def test_a_condition_that_can_hold_is_none(tmp_path, code):
    assert lint(tmp_path, code) == []


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [
        ("depth > 2", "false"), ("depth < 3", "true"), ("words(subject) == 1", "true"), ("depth is divisibleby 3", "false"),
        ('subject.gender == "neut"', "false"), ("not depth", "false"), ('{1: "low", 2: "high"}[depth] == "hihg"', "false"), ('tense ~ depth == "past3"', "false"),
    ],
)  # fmt: skip
def test_a_condition_that_is_the_same_in_all_items_is_a_warning(tmp_path, condition, outcome):
    (found,) = lint(tmp_path, given(condition))
    shown = condition.replace("divisibleby 3", "divisibleby(3)").replace('{1: "low", 2: "high"}', "{...}")
    assert found.startswith(f"warning: the condition '{shown}' is {outcome} in all items.")


@pytest.mark.parametrize(
    "code",
    [
        given('subject.gender in ["masc", "common"]'),
        '{% macro of(noun) %}{% if noun.gender == "masc" %}r{% elif noun.gender == "common" %}s{% else %}e{% endif %}'
        "{% endmacro %}\n{% set x = of(subject) %}",
    ],
)
def test_code_for_all_genders_of_a_language_is_no_error_where_the_words_have_some_of_them(tmp_path, code):
    (found,) = lint(tmp_path, code)
    assert "warning: the condition" in found
    assert 'is never "common"' in found
    typo = lint(tmp_path, code.replace("common", "Masc"))[0]
    assert "error: the condition" in typo


def test_a_number_that_a_slot_does_not_take_is_no_error(tmp_path):
    slots = SLOTS.replace("subject: noun.p", "subject: {class: noun.p, number: sing}")
    (found,) = lint(tmp_path, given('subject.number == "plur"'), slots=slots)
    assert "warning: the condition 'subject.number == \"plur\"' is false in all items." in found


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ('where: tense == "Past"\n', "error: 'where' is true for no combination of words. The condition 'tense == \"Past\"' is never true"),
        ('where: tense == "Past" or depth == 1\n', "error: the condition 'tense == \"Past\"' is never true"),
        ('draw: {items: 4, where: depth == "1"}\n', "error: 'where' is true for no combination of words. The condition 'depth == \"1\"' compares"),
        ("where: depth < 5\n", "warning: the condition 'depth < 5' is true in all items."),
        ("where: depth == 1\n", ""),
    ],
)  # fmt: skip
def test_where_is_held_to_the_same(tmp_path, where, said):
    found = lint(tmp_path, "", use="{{ depth }} {{ tense }} {{ long_ }}", more=where)
    assert [said in one and ":10: " in one for one in found] == [True] * bool(said)


def test_an_order_of_text_and_numbers_is_refused_with_both_kinds(tmp_path):
    found = lint(tmp_path, given("subject.rank > 3"))
    assert any("compares text with a number, which has no order" in one for one in found)
    (found,) = lint(tmp_path, "", use="{{ depth }} {{ tense }} {{ long_ }}", more='where: depth < "2"\n')
    assert (
        ":10: error: '<' compares a number with text, which has no order. Write numbers without quotes"
        in found
    )


def test_a_run_names_the_first_condition_that_is_never_true_and_so_does_the_next_one(tmp_path):
    lint(tmp_path, f"{given(_PAST)}\n{given(_PAST).replace('x', 'y').replace('Past', 'PAST')}")
    for name in ("first", "second"):  # the second time, the suite is cached
        done = call(
            "run", "--model", "bundled:lstm", "--suite", tmp_path / "case.jinja", "--out", tmp_path / name
        )
        (line,) = [one for one in done.stderr.splitlines() if "is never true" in one]
        assert line.startswith("warning: case.jinja:12: the condition 'tense == \"Past\"' is never true")
        assert line.endswith("(1 more). To see all problems: tseval lint")


_PAST = 'tense == "Past"'
