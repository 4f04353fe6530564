"""`SUITE:inflection`: its contexts, its verbs, the correct form, and refused suites."""

import json

import numpy as np
import pytest
from in_process import call, refused, succeeded
from small import write_file, write_lines
from supplied import BLIMP_SAMPLE

from tseval import evaluate
from tseval.errors import SuiteError
from tseval.suites import load_suite
from tseval.suites.verb_lexicon import ENGLISH, open_lexicon, read_verbs

PAIRS = [
    {"good": "the author near the guards laughs", "bad": "the author near the guards laugh"},
    {"good": "the pilots are tall", "bad": "the pilots is tall"},
    {"good": "the teacher hasn't left", "bad": "the teacher haven't left"},
]


def first_items(suite):
    return [
        (case.name, case.sentences["context"][0].as_py(), case.features["number"][0].as_py())
        for case in suite.cases
    ]


def test_contexts_are_the_words_before_the_verb_and_anaphors_are_left_out():
    suite = load_suite("marvin_linzen:inflection", limit=1)
    assert suite.name == "marvin_linzen_inflection"
    assert ("simple_agrmt", "the author", "sing") in first_items(suite)
    assert ("obj_rel_within_anim", "the author that the security guard", "sing") in first_items(suite)
    assert set(suite.left_out) >= {"simple_reflexives", "reflexives_across", "simple_npi_anim"}
    assert len(suite.cases) == 15
    assert suite.score == "inflection"
    assert suite.terminator is None


@pytest.mark.parametrize("language", ["english", "french", "german", "hebrew", "russian"])
def test_every_suite_of_clams_has_verbs_with_a_number(language, tmp_path):
    pair = {"french": "rit,rient", "german": "lacht,lachen"}.get(language, "x,y")
    lexicon = write_file(tmp_path / "verbs.csv", f"sing,plur\n{pair}\n")
    suite = load_suite(f"clams_{language}:inflection", limit=2, lexicon=lexicon)
    assert {case.phenomenon for case in suite.cases} >= {"Subject-verb agreement"}
    numbers = {value for case in suite.cases for value in case.features["number"].to_pylist()}
    assert numbers <= {"sing", "plur"}


def test_data_that_name_no_number_have_that_of_their_verb(tmp_path):
    """BLiMP's agreement paradigms have no number column."""
    path = write_lines(tmp_path / "pairs.jsonl", PAIRS)
    suite = load_suite(f"{path}:inflection")
    (case,) = suite.cases
    assert case.features["number"].to_pylist() == ["sing", "plur", "sing"]
    assert case.sentences["context"].to_pylist() == [
        "the author near the guards", "the pilots", "the teacher"
    ]  # fmt: skip


def test_forms_of_two_tenses_unknown_verbs_and_attached_marks_have_a_number(tmp_path):
    """As in BLiMP, whose sentences are not tokenised."""
    rows = [
        *PAIRS,
        *({"good": "The boys weren't here.", "bad": "The boys isn't here."},) * 4,
        {"good": "The boy zzorbs.", "bad": "The boy zzorb."},
        {"good": "The boys blick.", "bad": "The boys blicks."},
        {"good": "The boys could go.", "bad": "The boys might go."},
    ]
    suite = load_suite(f"{write_lines(tmp_path / 'pairs.jsonl', rows)}:inflection")
    (case,) = suite.cases
    # Modals do not show a number.
    assert case.features["number"].to_pylist() == ["sing", "plur", "sing", *["plur"] * 4, "sing", "plur", ""]
    assert case.features["right"].to_pylist()[7:] == ["zzorbs", "blick", "could"]
    assert any("1 item of 10 undecidable" in note for note in suite.notes)
    run = evaluate("bundled:lstm", suite)
    assert run.verdicts["undecidable"].tolist()[-1]
    assert np.isnan(run.verdicts["ew"].to_numpy()[-1])
    assert run.table()["ew"][0] == pytest.approx(run.verdicts.drop_duplicates("context")["ew"].mean())


def test_pairs_of_a_treebank_say_the_number_as_their_value(tmp_path):
    rows = [
        {"good": "die Autoren gehen", "bad": "die Autoren geht", "value": "Plur"},
        {"good": "der Autor geht", "bad": "der Autor gehen", "value": "Sing"},
    ]
    path, lexicon = write_lines(tmp_path / "pairs.jsonl", rows), write_file(tmp_path / "deu", GERMAN)
    suite = load_suite(f"{path}:inflection", lexicon=f"unimorph:{lexicon}")
    (case,) = suite.cases
    assert case.features["number"].to_pylist() == ["plur", "sing"]
    assert suite.lexicon == ("lacht lachen 0", "geht gehen 0")


def test_the_paradigms_of_blimp_about_verbs_are_asked():
    suite = load_suite(f"{BLIMP_SAMPLE}:inflection")
    names = {case.name for case in suite.cases}
    assert names >= {
        "distractor_agreement_relational_noun", "distractor_agreement_relative_clause",
        "irregular_plural_subject_verb_agreement_1", "regular_plural_subject_verb_agreement_1",
    }  # fmt: skip


def test_a_feature_number_says_which_form_is_right(tmp_path):
    rows = [{**PAIRS[0], "number": "sing"}, {**PAIRS[1], "number": "plur"}]
    path = write_lines(tmp_path / "pairs.jsonl", rows)
    (case,) = load_suite(f"{path}:inflection").cases
    assert case.features["number"].to_pylist() == ["sing", "plur"]


def test_the_digest_covers_the_list_of_verbs(tmp_path):
    path = write_lines(tmp_path / "pairs.jsonl", PAIRS)
    first, second = (
        load_suite(
            f"{path}:inflection", lexicon=write_file(tmp_path / f"{n}.csv", f"sing,plur\nlaughs,laugh\n{row}")
        )
        for n, row in enumerate(("swims,swim\n", "walks,walk\n"))
    )
    assert first.digest != second.digest
    assert load_suite(f"{path}:inflection", lexicon=first.lexicon).digest == first.digest


def test_the_bundled_list_has_more_than_1500_english_verbs_in_two_forms():
    verbs = read_verbs(ENGLISH).verbs
    assert len(verbs) > 1500
    pairs = {(verb.sing, verb.plur) for verb in verbs}
    assert len(pairs) == len(verbs)
    assert {("is", "are"), ("has", "have"), ("does", "do"), ("laughs", "laugh"), ("flies", "fly")} <= pairs
    assert all(verb.sing != verb.plur and verb.count > 0 for verb in verbs)
    # A form that is correct after both numbers shows nothing: modals, and forms that are also past tenses.
    bases = {verb.plur for verb in verbs}
    assert not bases & {"can", "will", "may", "put", "set", "read", "saw", "found", "felt", "left"}


GERMAN = """\
lachen	lache	V;IND;SG;1;PRS
lachen	lacht	V;IND;SG;3;PRS
lachen	lachen	V;IND;PL;3;PRS
lachen	lachte	V;IND;SG;3;PST
lachen	lachten	V;IND;PL;3;PST
gehen	geht	V;IND;SG;3;PRS
gehen	gehen	V;IND;PL;3;PRS
gehen	ging	V;IND;SG;3;PST
gehen	gingen	V;IND;PL;3;PST
gehen	gegangen	V.PTCP;PST
"""


def forms(lexicon):
    return {(verb.sing, verb.plur) for verb in lexicon.verbs}


def test_a_list_of_unimorph_gives_the_present_of_the_third_person(tmp_path):
    path = write_file(tmp_path / "deu", GERMAN)
    assert forms(open_lexicon(f"unimorph:{path}", [])) == {("lacht", "lachen"), ("geht", "gehen")}


def test_the_verbs_of_the_suite_decide_which_forms_of_unimorph_are_meant(tmp_path):
    path = write_file(tmp_path / "deu", GERMAN)
    pairs = [
        {"good": "die Autoren gingen", "bad": "die Autoren ging", "number": "plur"},
        {"good": "der Autor ging", "bad": "der Autor gingen", "number": "sing"},
    ]
    suite = load_suite(
        f"{write_lines(tmp_path / 'pairs.jsonl', pairs)}:inflection", lexicon=f"unimorph:{path}"
    )
    assert suite.lexicon == ("lachte lachten 0", "ging gingen 0")


def test_an_english_list_of_unimorph_has_infinitives_as_plurals(tmp_path):
    for tags in ("V;PRS;NOM(3,SG)", "V;SG;3;PRS"):
        path = write_file(
            tmp_path / "eng", f"laugh\tlaughs\t{tags}\nlaugh\tlaugh\tV;NFIN\nlaugh\tlaughed\tV;PST\n"
        )
        assert forms(open_lexicon(f"unimorph:{path}", [])) == {("laughs", "laugh")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sing,plur\n", "the list of verbs is empty"),
        ("", "has no column 'sing'"),
        ("singular,plural\nlaughs,laugh\n", "has no column 'sing'"),
        ("sing,count\nlaughs,3\n", "has no column 'plur'"),
        ("sing,plur\nlaughs,laugh\nput,put\n", ":3: the verb 'put' has one form only"),
        ("sing,plur\nlaughs,\n", ":2: the cell in the column 'plur' is empty"),
        (
            "sing,plur\nlaughs loudly,laugh loudly\n",
            ":2: the form 'laughs loudly' in the column 'sing' has several",
        ),
        ("sing,plur,count\nlaughs,laugh,many\n", ":2: the column 'count' has the value 'many'"),
        ("sing,plur\nlaughs,laugh,1\n", ":2: this row has 3 columns"),
    ],
)
def test_an_unusable_list_is_refused_by_name(text, message, tmp_path):
    path = write_file(tmp_path / "verbs.csv", text)
    suite = f"{write_lines(tmp_path / 'pairs.jsonl', PAIRS)}:inflection"
    ended = refused(call("run", "--model", "bundled:lstm", "--suite", suite, "--lexicon", path, cwd=tmp_path))
    assert str(path) in ended.stderr
    assert message in " ".join(ended.stderr.split())


@pytest.mark.parametrize(
    ("lexicon", "message"),
    [
        ("missing.csv", "missing.csv: this list of verbs does not exist"),
        ("", "names no file"),
        ("unimorph:", "names no file"),
        ("unimorph:missing", "missing: this list of verbs does not exist"),
    ],
)
def test_a_list_that_is_not_there_is_refused(lexicon, message, tmp_path):
    ended = refused(
        call(
            "run",
            "--model",
            "bundled:lstm",
            "--suite",
            "agreement:inflection",
            "--lexicon",
            lexicon,
            cwd=tmp_path,
        )
    )
    assert message in " ".join(ended.stderr.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lachen\tlacht\n", ":1: a line of a UniMorph list has three cells"),
        ("Haus\tHaus\tN;SG\nHaus\tHäuser\tN;PL\n", "no verb with a singular and a plural form"),
        (
            "lachen\tlacht\tV;IND;SG;3;PRS\nlachen\tlacht\tV;IND;PL;3;PRS\n",
            "no verb with a singular and a plural",
        ),
    ],
)
def test_an_unusable_list_of_unimorph_is_refused_by_name(text, message, tmp_path):
    path = write_file(tmp_path / "deu", text)
    with pytest.raises(SuiteError) as error:
        open_lexicon(f"unimorph:{path}", [])
    assert str(path) in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize("suite", ["determiner_noun", "inversion", "filler_gap"])
def test_a_suite_without_the_number_of_a_verb_is_refused_by_name(suite, tmp_path):
    ended = refused(call("run", "--model", "bundled:lstm", "--suite", f"{suite}:inflection", cwd=tmp_path))
    assert f"the suite '{suite}'" in " ".join(ended.stderr.split()) or f"suite {suite!r}" in ended.stderr


def test_a_case_without_number_is_refused_by_name(tmp_path):
    ended = refused(
        call(
            "run", "--model", "bundled:lstm", "--suite", "marvin_linzen:inflection",
            "--case", "simple_npi_anim",
            cwd=tmp_path,
        )
    )  # fmt: skip
    assert "simple_npi_anim" in ended.stderr


def test_a_list_needs_a_suite_that_compares_verbs(tmp_path):
    path = write_file(tmp_path / "verbs.csv", "sing,plur\nlaughs,laugh\n")
    ended = refused(
        call("run", "--model", "bundled:lstm", "--suite", "agreement", "--lexicon", path, cwd=tmp_path)
    )
    assert "Write agreement:inflection" in ended.stderr


def test_a_mass_needs_a_suite_that_compares_verbs(tmp_path):
    ended = refused(
        call("run", "--model", "bundled:lstm", "--suite", "agreement", "--mass", "0.5", cwd=tmp_path)
    )
    assert "Add :inflection to the suite" in " ".join(ended.stderr.split())


def test_other_scores_are_refused(tmp_path):
    for suite, score in (("agreement:inflection", "sentence"), ("agreement", "inflection")):
        ended = refused(
            call("run", "--model", "bundled:lstm", "--suite", suite, "--score", score, cwd=tmp_path)
        )
        assert f"--score {score} is not possible" in " ".join(ended.stderr.split())


@pytest.mark.slow
def test_a_model_that_knows_no_verb_of_the_list_has_no_ew(tmp_path):
    path = write_file(tmp_path / "verbs.csv", "sing,plur\nzzorbs,zzorb\n")
    out = tmp_path / "r"
    succeeded(
        call(
            "run", "--model", "bundled:lstm", "--suite", "agreement:inflection", "--lexicon", path,
            "--sample", 3,
            "--out", out, "--quiet",
        )
    )  # fmt: skip
    rows = json.loads(succeeded(call("table", out, "--format", "json")).stdout)["rows"]
    assert {row["n_lemmas"] for row in rows} == {0}
    assert all(row["ew"] is None and row["mw"] is None and row["accuracy"] is not None for row in rows)
