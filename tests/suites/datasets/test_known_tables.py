"""Published tables of pairs, opened as they are: equal to how their own programs read them, item by item."""

import csv
import json
import random
import unicodedata

import pandas as pd
import pytest
from supplied import RUBLIMP_SAMPLE, TURBLIMP_ORDERS_SAMPLE, TURBLIMP_SAMPLE
from wcwidth import wcswidth

from tseval.adapters import open_model
from tseval.errors import SuiteError
from tseval.evaluation import evaluate
from tseval.report import build_table, render
from tseval.report.figures import BANDS, Panel, Series, write_figure
from tseval.suites import load_suite
from tseval.suites.lint import lint_data


def opened(path):
    """Give the pairs of each case."""
    return {
        case.name: list(
            zip(case.sentences["good"].to_pylist(), case.sentences["bad"].to_pylist(), strict=True)
        )
        for case in load_suite(path).cases
    }


@pytest.mark.parametrize(("folder", "delimiter"), [(TURBLIMP_SAMPLE, ";"), (TURBLIMP_ORDERS_SAMPLE, ",")])
def test_turblimp_is_what_its_program_reads(folder, delimiter):
    # evaluation.py takes the first two columns of a csv; the files in `experimental` have commas by now.
    published = {}
    for path in folder.iterdir():
        with path.open(encoding="utf-8") as file:
            _, *rows = csv.reader(file, delimiter=delimiter)
        published[path.stem] = [tuple(row[:2]) for row in rows]
    assert opened(folder) == published


def test_turblimps_phenomena_are_one_however_their_cells_end():
    suite = load_suite(TURBLIMP_SAMPLE)
    assert suite.title == "TurBLiMP"
    assert [case.phenomenon for case in suite.cases] == [
        "anaphor_agreement", "argument_structure", "irregular_forms", "nominalization",
    ]  # fmt: skip
    assert suite.cases[0].features.column_names == ["good_cue", "bad_cue", "critical_region"]


def test_rublimp_is_what_pandas_reads_and_its_source_is_the_grammatical_one():
    tables = {path.stem: pd.read_csv(path) for path in RUBLIMP_SAMPLE.iterdir()}
    # scorer.py: "score the grammatical sentence" is said of source_sentence.
    assert opened(RUBLIMP_SAMPLE) == {
        name: list(zip(table.source_sentence, table.target_sentence, strict=True))
        for name, table in tables.items()
    }
    for case in load_suite(RUBLIMP_SAMPLE).cases:
        table = tables[case.name]
        assert {case.name} == {*table.PID}
        assert {case.phenomenon} == {*table.phenomenon}
        assert {case.dependency} == {*table.level}
        features = case.features.to_pydict()
        for name in ("id", "source_word", "target_word", "subtype", "domain", "tree_depth"):
            assert features[name] == table[name].tolist()


# Sentences of our own: neither set may be shipped.
ZHOBLIMP = [
    {"UID": "BA_mine", "phenomenon": "BA", "sentence_good": good, "sentence_bad": bad, "pairID": number}
    for number, (good, bad) in enumerate(
        [("我把书看完了。", "我书把看完了。"), ("他把门关上了。", "他门把关上了。")]
    )
]  # fmt: skip
JBLIMP = [
    {"ID": 0, "good_sentence": "猫が魚を食べた。", "bad_sentence": "猫を魚を食べた。",
     "type": "acceptability", "phenomenon": "argument structure", "phenomenon-2": None,
     "paradigm": "case"},
    {"ID": 1, "good_sentence": "先生がお話しになる。", "bad_sentence": "猫がお話しになる。",
     "type": "lexical", "phenomenon": "verbal agreement", "phenomenon-2": "morphology",
     "paradigm": "honorification"},
    {"ID": 2, "good_sentence": "犬が水を飲んだ。", "bad_sentence": "犬を水を飲んだ。",
     "type": "acceptability", "phenomenon": "argument structure", "phenomenon-2": "morphology",
     "paradigm": "case"},
]  # fmt: skip


def write_lines(path, records):
    path.write_text(
        "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8"
    )
    return path


def test_zhoblimp_has_blimps_names_and_is_no_blimp(tmp_path):
    (case,) = load_suite(write_lines(tmp_path / "BA_mine.jsonl", ZHOBLIMP)).cases
    assert (case.name, case.phenomenon, case.features.to_pydict()) == ("BA_mine", "BA", {"pairID": [0, 1]})
    assert opened(tmp_path) == {"BA_mine": [(one["sentence_good"], one["sentence_bad"]) for one in ZHOBLIMP]}


def test_jblimps_paradigms_are_cases_and_null_is_no_text(tmp_path):
    suite = load_suite(write_lines(tmp_path / "validated.jsonl", JBLIMP))
    assert [(case.name, case.phenomenon) for case in suite.cases] == [
        ("case", "argument structure"), ("honorification", "verbal agreement"),
    ]  # fmt: skip
    assert suite.cases[0].features["phenomenon-2"].to_pylist() == ["", "morphology"]
    assert suite.cases[0].sentences["good"].to_pylist() == [
        JBLIMP[0]["good_sentence"],
        JBLIMP[2]["good_sentence"],
    ]


ALPHABETS = ["abcdé", "אבגדה", "ابتثج", "अआकिखी", "中文格助詞", "e\u0301a\u0308"]


def multiblimp(seed, n):
    """Make rows as MultiBLiMP's pipeline writes them, quotes and braces among their words."""
    draw = random.Random(seed)
    rows = []
    for i in range(n):
        words = ["".join(draw.choices(ALPHABETS[i % 6], k=3)) for _ in range(6)]
        words[draw.randrange(6)] = draw.choice(['"', '"quoted"', "'", '""', "word"])
        wrong = [*words[:-1], words[-1] + "x"]
        features = str({"Case": draw.choice("NA"), "Number": '"'})
        rows.append(
            (" ".join(words), " ".join(wrong), features, draw.choice(["SV", "VS"]), draw.randrange(9))
        )
    return pd.DataFrame(rows, columns=["sen", "wrong_sen", "child_features", "wo", "verb_idx"])


def test_multiblimp_is_what_pandas_reads_in_every_script(tmp_path):
    for name, seed in (("heb", 0), ("zho", 1)):
        (tmp_path / name).mkdir()
        multiblimp(seed, 60).to_csv(tmp_path / name / "data.tsv", sep="\t", index=False)
    suite = load_suite(tmp_path)
    assert [case.name for case in suite.cases] == ["heb", "zho"]
    for case in suite.cases:
        table = pd.read_csv(tmp_path / case.name / "data.tsv", sep="\t")  # as its score.py does
        assert case.sentences["good"].to_pylist() == table.sen.tolist()
        assert case.sentences["bad"].to_pylist() == table.wrong_sen.tolist()
        assert case.features["child_features"].to_pylist() == table.child_features.tolist()
        assert case.features["verb_idx"].to_pylist() == table.verb_idx.tolist()


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_sentences_stay_composed_or_decomposed_as_they_are(tmp_path, form):
    good, bad = (unicodedata.normalize(form, text) for text in ("les élèves rient .", "les élèves rit ."))
    (tmp_path / "t.csv").write_text(f"good,bad\n{good},{bad}\n", encoding="utf-8")
    assert opened(tmp_path / "t.csv") == {"t": [(good, bad)]}


def test_a_model_of_words_says_what_to_do_where_no_spaces_stand_between_them(tmp_path):
    model = open_model("bundled:lstm")
    (warning,) = evaluate(model, load_suite(write_lines(tmp_path / "j.jsonl", JBLIMP))).manifest.warnings
    assert warning == (
        "3 of 3 contrasts are undecidable, and there are no spaces in '先生がお話し': "
        "cut the text into words, or take a model of sub-word tokens"
    )


def test_a_table_of_wide_letters_is_aligned_as_a_terminal_shows_it(tmp_path):
    rows = [
        {**pair, "phenomenon": name} for pair, name in zip(JBLIMP, ("格助詞", "e\u0301", "abc"), strict=True)
    ]
    suite = load_suite(write_lines(tmp_path / "t.jsonl", rows))
    table = render(build_table([evaluate(open_model("bundled:lstm"), suite)]), "md")
    widths = {wcswidth(line) for line in table.splitlines() if line.startswith("|")}
    assert len(widths) == 1
    assert any("格助詞" in line for line in table.splitlines())


@pytest.mark.parametrize(("title", "as_text"), [("格助詞", True), ("התאם", True), ("Başar ık", False)])
def test_an_svg_keeps_words_that_cannot_be_drawn_rightly_as_text(tmp_path, title, as_text):
    write_figure([Panel(title, [Series(0, "a", [1], [0.5])])], BANDS, [tmp_path / "f.svg"], SuiteError)
    assert (f">{title}</text>" in (tmp_path / "f.svg").read_text("utf-8")) == as_text


def test_lint_names_pairs_of_one_sentence_and_a_run_leaves_them_out():
    name = "augmented_anaphor_agreement"
    same = sum(good == bad for good, bad in opened(TURBLIMP_SAMPLE)[name])
    assert same == 2
    found = [str(finding) for finding in lint_data(TURBLIMP_SAMPLE)]
    assert any(f"error: case {name!r}: 2 of 25 items have a contrast between equal" in one for one in found)
    suite = load_suite(TURBLIMP_SAMPLE, cases=name)
    verdicts = evaluate(open_model("bundled:lstm"), suite).load_verdicts().to_pylist()
    sentences = suite.cases[0].sentences.to_pylist()
    equal = [
        verdict for verdict, pair in zip(verdicts, sentences, strict=True) if pair["good"] == pair["bad"]
    ]
    assert [verdict["undecidable"] for verdict in equal] == [True, True]
