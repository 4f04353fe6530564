"""Lint finds items that mean something else than their author intended, in grammars and in data."""

import json

import pytest
from in_process import call

HEAD = "---\nconstruction: C\nphenomenon: P\n"
NOUNS = "lexicon: {noun: {p: [farmer, pilot]}, verb: {v: [laughs, works]}}\n"
NOUNS += "slots: {subject: noun.p, verb: verb.v}\n"
AGREE = "good: the {{ subject }} {{ verb | agree(subject) }}\n"
AGREE += "bad: the {{ subject }} {{ verb | disagree(subject) }}\n"


def lint(folder, text, **files):
    for name, content in {"case.jinja": text, **files}.items():
        (folder / name).write_text(content, "utf-8")
    done = call("lint", folder if files else folder / "case.jinja", "--quiet")
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, done.stdout.replace(f"{folder}/", "")


def test_a_sentence_that_is_good_in_one_item_and_bad_in_another_is_an_error_with_the_line_to_add(tmp_path):
    lexicon = "lexicon: {noun: {p: [{sing: Lehrer, plur: Lehrer}, {sing: Pilot, plur: Piloten}]}, "
    lexicon += "verb: {v: [{sing: kam, plur: kamen}]}}\nslots: {subject: noun.p, verb: verb.v}\n"
    body = AGREE.replace("the", "hier")
    code, said = lint(tmp_path, f"{HEAD}{lexicon}---\n{body}")
    assert code == 1
    assert (
        "case.jinja:8: error: 2 of 4 pairs of 'good > bad' contradict each other: 'hier Lehrer kam' is the"
        in said
    )
    assert "add: where: subject.sing != subject.plur" in said
    # The named line fixes it.
    code, said = lint(tmp_path, f"{HEAD}{lexicon}where: subject.sing != subject.plur\n---\n{body}")
    assert (code, said) == (0, "")


@pytest.mark.parametrize(
    ("good", "bad", "named"),
    [
        ("left\u200b now", "left now", "character 16 of one sentence is U+200B (zero width space)"),
        ("left\u00a0now", "left now", "character 16 of one sentence is U+00A0 (no-break space)"),
        (
            "\u00e9t\u00e9",
            "e\u0301te\u0301",
            "character 12 is a composed letter in one sentence and a decomposed one in the other",
        ),
        ("left\u2060 now", "left now", "U+2060 (word joiner)"),
    ],
)
def test_a_difference_that_nobody_sees_is_an_error_that_names_the_character(tmp_path, good, bad, named):
    slots = "lexicon: {noun: {p: [{sing: farmer}]}}\nslots: {noun: {class: noun.p, number: sing}}\n"
    code, said = lint(
        tmp_path, f"{HEAD}{slots}---\ngood: the {{{{ noun }}}} {good}\nbad: the {{{{ noun }}}} {bad}\n"
    )
    assert code == 1
    assert "error: 1 of 1 pairs of 'good > bad' look the same" in said
    assert named in said


def test_joiners_of_persian_and_indian_scripts_are_letters(tmp_path):
    slots = "lexicon: {noun: {p: [{sing: a}]}}\nslots: {noun: {class: noun.p, number: sing}}\n"
    body = "good: {{ noun }} می\u200cرود\nbad: {{ noun }} میرود\n"
    assert "look the same" not in lint(tmp_path, f"{HEAD}{slots}---\n{body}")[1]


def test_contrasts_that_compare_nothing_are_named(tmp_path):
    body = f"{AGREE}worse: {{{{ subject }}}} the {{{{ verb | disagree(subject) }}}}\n"
    both = "contrasts: [good > bad, bad > good]\n"
    code, said = lint(tmp_path, f"{HEAD}{NOUNS}{both}---\n{body}")
    assert code == 1
    assert "case.jinja:6: error: 'bad > good' is the reverse of another contrast" in said
    _, said = lint(tmp_path, f"{HEAD}{NOUNS}contrasts: [good > bad]\n---\n{body}")
    assert "case.jinja:10: warning: no contrast compares 'worse'" in said
    suite = "title: T\ncontrasts: [good > bad, good > wrose]\n"
    _, said = lint(tmp_path, f"{HEAD}{NOUNS}---\n{body}", **{"suite.yaml": suite})
    assert (
        "suite.yaml:2: warning: 'good > wrose': no case has a sentence labelled 'wrose'. "
        "Did you mean 'worse'?" in said
    )


REGIONS = "lexicon: {noun: {p: [farmer, pilot]}}\nslots: {noun: {class: noun.p, number: sing}}\n"


def test_brackets_without_regions_are_an_error_and_a_region_that_nothing_marks_a_warning(tmp_path):
    body = (
        "a: the {{ noun }} [critical laughs] [rest today]\nb: the {{ noun }} [critical laugh] [rest today]\n"
    )
    code, said = lint(tmp_path, f"{HEAD}{REGIONS}---\n{body}")
    assert code == 1
    assert (
        "case.jinja:7: error: the brackets of '[critical laughs]' are scored like words in 2 sentences"
        in said
    )
    design = "regions: [critical, rest]\npredictions: {verb: a.critical < b.critical}\n"
    _, said = lint(tmp_path, f"{HEAD}{REGIONS}{design}---\n{body.replace('[rest today]', 'today')}")
    assert "case.jinja:6: warning: no sentence marks the region 'rest'" in said


def test_a_pair_that_differs_in_two_places_is_a_warning_and_fails_nothing(tmp_path):
    lexicon = "lexicon: {verb: {v: [{finite: ruft, particle: an, whole: anruft}, "
    lexicon += "{finite: hört, particle: zu, whole: zuhört}]}, adverb: {t: [heute, morgen]}}\n"
    slots = "slots: {adverb: adverb.t, verb: verb.v}\n"
    body = "good: dass Anna {{ adverb }} {{ verb.whole }}\n"
    body += "bad: dass Anna {{ verb.finite }} {{ adverb }} {{ verb.particle }}\n"
    code, said = lint(tmp_path, f"{HEAD}{lexicon}{slots}---\n{body}")
    assert code == 0
    assert "warning: 4 of 4 items differ in more than one contiguous stretch of words" in said


@pytest.mark.parametrize("mark", ["。", "।", "؟", "።"])
def test_a_sentence_that_ends_in_a_mark_of_another_script_is_ended_twice(tmp_path, mark):
    slots = "lexicon: {noun: {p: [{sing: a}, {sing: b}]}}\nslots: {noun: {class: noun.p, number: sing}}\n"
    code, said = lint(
        tmp_path, f"{HEAD}{slots}---\ngood: x {{{{ noun }}}}{mark}\nbad: y {{{{ noun }}}}{mark}\n"
    )
    assert code == 1
    assert f"2 sentences end in {mark!r}" in said
    assert f'Write into suite.yaml: terminator: "{mark}"' in said


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("the author laughs\u200b .", "the author laughs .")], "U+200B (zero width space)"),
        ([("a .", "b ."), ("b .", "a .")], "2 of 2 pairs of 'good > bad' contradict each other: 'a .'"),
        (
            [("caf\u00e9 .", "cafe\u0301 .")],
            "character 4 is a composed letter in one sentence and a decomposed one in the other",
        ),
    ],
)
def test_data_are_held_to_the_same(tmp_path, pairs, message):
    lines = (json.dumps({"good": good, "bad": bad}, ensure_ascii=False) for good, bad in pairs)
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines), "utf-8")
    done = call("lint", tmp_path / "pairs.jsonl")
    assert done.returncode == 1
    assert message in done.stdout


def warnings_of_run(path, folder):
    done = call("run", "--model", "bundled:lstm", "--suite", path, "--out", folder / "run")
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.replace(f"{folder}/", "").splitlines() if "tseval lint" in line]


@pytest.mark.parametrize(
    ("pairs", "named"),
    [
        (
            [("the author\u200b laughs", "the author laughs"), ("the pilots laugh", "the pilots laughs")],
            "'pairs': 1 of 2 pairs of 'good > bad' look the same: "
            "character 11 of one sentence is U+200B (zero width space)",
        ),
        (
            [("the author laughs", "the author laugh"), ("the author laugh", "the author laughs")],
            "'pairs': 2 of 2 pairs of 'good > bad' contradict each other: 'the author laughs' is",
        ),
        ([("the author laughs", "the author laugh"), ("the pilots laugh", "the pilots laughs")], None),
    ],
)
def test_a_run_names_the_first_mistake_of_data_in_one_line(tmp_path, pairs, named):
    lines = (json.dumps({"good": good, "bad": bad}, ensure_ascii=False) for good, bad in pairs)
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines), "utf-8")
    found = warnings_of_run(tmp_path / "pairs.jsonl", tmp_path)
    assert [f"warning: case {named}" in line for line in found] == [True] * (named is not None)


def test_a_run_names_the_first_mistake_of_grammars_in_one_line(tmp_path):
    body = AGREE.replace("(subject) }}", "(subject) }}.")
    for name in ("one", "two"):
        (tmp_path / f"{name}.jinja").write_text(f"{HEAD}{NOUNS}---\n{body}", "utf-8")
    undecided, line = warnings_of_run(tmp_path, tmp_path)
    assert "decides none of the 16 contrasts" in undecided
    assert line.startswith("warning: case 'one': 8 sentences end in '.', for example 'the farmer laughs.'")
    assert line.endswith("(1 more case). To list all, run tseval lint")
