"""Pairs in JSON lines and tab-separated values, as users write them."""

import csv
import json
import unicodedata
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from in_process import call, refuse, run_process, succeed, succeeded
from small import write_lines
from supplied import RUBLIMP_SAMPLE, TURBLIMP_ORDERS_SAMPLE, TURBLIMP_SAMPLE
from wcwidth import wcswidth

from tseval.adapters import open_model
from tseval.errors import SuiteError
from tseval.evaluation import evaluate
from tseval.report import build_table, render
from tseval.report.figures import write_figure
from tseval.report.looks import BANDS
from tseval.report.panels import Panel, Series
from tseval.suites import load_suite, stream_cases
from tseval.suites.data.roles import read_columns
from tseval.suites.lint import lint_data

RECORDS = [
    {"good": "the author  laughs .", "bad": "the author laugh .", "number": "sing", "n": 1, "share": 0.5},
    {"good": "the authors laugh .", "bad": "the authors laughs .", "number": "plur", "n": 2, "share": 1},
]


@pytest.mark.parametrize("name", ["my_pairs.jsonl", "my_pairs.jsonl.gz"])
def test_a_file_of_pairs_is_a_suite_of_one_case_with_its_features(tmp_path, name):
    suite = load_suite(write_lines(tmp_path / name, RECORDS))
    (case,) = suite.cases
    assert (suite.name, suite.terminator, suite.score) == (case.name, None, "sentence")
    assert case.name == "my_pairs"
    assert case.sentences["good"].to_pylist() == ["the author laughs .", "the authors laugh ."]
    assert case.sentences["bad"].to_pylist() == ["the author laugh .", "the authors laughs ."]
    assert case.features.to_pydict() == {"number": ["sing", "plur"], "n": [1, 2], "share": [0.5, 1.0]}
    assert [str(contrast) for contrast in case.contrasts] == ["good > bad"]


def test_columns_of_a_table_get_the_narrowest_type(tmp_path):
    header = ["sentence_good", "sentence_bad", "n", "x", "animate", "word", "code"]
    rows = [["a b", "a c", "1", "0.5", "true", "b", "1_0"], ["d e", 'd "e', "-2", "2", "False", "e", "2"]]
    (case,) = load_suite(write(tmp_path / "t.tsv", rows, header, "\t")).cases
    assert case.sentences["bad"].to_pylist() == ["a c", 'd "e']  # a quote is an ordinary character
    types = [pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.string()]
    assert [field.type for field in case.features.schema] == types
    assert case.features["animate"].to_pylist() == [True, False]


def test_rows_of_the_table_follow_from_their_columns(tmp_path):
    row = {"case": "a", "construction": "Simple", "phenomenon": "Agreement", "dependency": "long"}
    named = [RECORDS[0] | row, RECORDS[1] | {"case": "b"}]
    first, second = load_suite(write_lines(tmp_path / "mine.jsonl", named)).cases
    assert (first.construction, first.phenomenon, first.dependency) == ("Simple", "Agreement", "long")
    assert (second.construction, second.phenomenon, second.dependency) == ("b", "mine", None)


def test_limits_samples_and_cases_choose_items_and_keep_their_numbers(tmp_path):
    records = [{"good": f"a {i}", "bad": f"b {i}", "case": "xy"[i % 2], "i": i} for i in range(20)]
    path = write_lines(tmp_path / "many.jsonl", records)
    limited = load_suite(path, cases="y", limit=3)
    assert limited.cases[0].features["i"].to_pylist() == [1, 3, 5]
    assert not limited.complete
    sampled = load_suite(path, sample=4, seed=1)
    for case in sampled.cases:
        numbers = [2 * n + "xy".index(case.name) for n in case.index.to_pylist()]
        assert numbers == case.features["i"].to_pylist()
    count, blocks = stream_cases(path, limit=12)
    assert count == 12
    assert [i for case in blocks for i in case.features["i"].to_pylist()] == [*range(0, 20, 2), 1, 3]
    with pytest.raises(SuiteError, match="suite 'many' has no case with the name 'z'"):
        load_suite(path, cases=["z"])


def test_a_damaged_file_and_a_method_that_is_not_there_are_named(tmp_path):
    (tmp_path / "p.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(SuiteError, match=r"p\.jsonl\.gz: tseval cannot read this file"):
        load_suite(tmp_path / "p.jsonl.gz")
    path = write_lines(tmp_path / "q.jsonl", RECORDS)
    message = r"no method 'one_prefix'.\n.*Methods: inflection, judgement, judgement_both, number,"
    with pytest.raises(SuiteError, match=message):
        load_suite(f"{path}:one_prefix")


# Tables of pairs with other column names: `--columns`, and known names. The rows are German, as a linguist
# might write them.
ROWS = [
    ("der Autor lacht .", "der Autor lachen .", "de", "lachen", "eins", "3"),
    ("die Autoren lachen .", "die Autoren lacht .", "de", "lachen", "zwei", "3"),
    ("the author laughs .", "the author laugh .", "en", "laugh", "eins", "4"),
    ("the authors laugh .", "the authors laughs .", "en", "laugh", "zwei", "4"),
]
HEADER = ("Satz", "Falsch", "Sprache", "Verb", "Muster", "Seite")
COLUMNS = "good=Satz,bad=Falsch,lang=Sprache,cluster=Verb,case=Muster"


def write(path: Path, rows=ROWS, header=HEADER, separator=";") -> Path:
    path.write_text("".join(separator.join(row) + "\n" for row in (header, *rows)), encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write(tmp_path / "saetze.csv")


def test_columns_say_what_is_what(table):
    suite = load_suite(table, columns=read_columns(COLUMNS))
    eins, zwei = suite.cases
    assert (eins.name, eins.construction, eins.phenomenon) == ("eins", "eins", "saetze")
    assert zwei.sentences.to_pydict() == {"good": [ROWS[1][0], ROWS[3][0]], "bad": [ROWS[1][1], ROWS[3][1]]}
    assert eins.features.to_pydict() == {"lang": ["de", "en"], "Verb": ["lachen", "laugh"], "Seite": [3, 4]}
    assert eins.entries.to_pydict() == {"Verb": ["lachen", "laugh"]}
    assert suite.columns == dict(part.split("=") for part in COLUMNS.split(","))


def test_the_same_items_have_the_same_digest_under_any_names(table, tmp_path):
    names = ("good", "bad", "lang", "Verb", "case", "Seite")
    same = write(tmp_path / "saetze.tsv", header=names, separator="\t")
    assert load_suite(same).digest == load_suite(table, columns=read_columns(COLUMNS)).digest


def test_a_case_of_several_phenomena_is_one_for_each(table):
    suite = load_suite(table, columns=read_columns(COLUMNS + ",phenomenon=Sprache"))
    rows = [(case.name, case.construction, case.phenomenon) for case in suite.cases]
    assert rows == [(f"{case}_{lang}", case, lang) for lang in ("de", "en") for case in ("eins", "zwei")]


@pytest.mark.slow
def test_a_run_remembers_its_columns_for_resume_verify_and_report(table, tmp_path):
    run = ["run", "--model", "bundled:lstm", "--suite", "saetze.csv", "--out", "r"]
    assert "eins, lang de" in succeed(*run, "--columns", COLUMNS, "--by", "lang").stdout
    manifest = json.loads((tmp_path / "r/manifest.json").read_text())
    assert manifest["suite"]["columns"] == dict(part.split("=") for part in COLUMNS.split(","))
    assert manifest["suite"]["clusters"] == ["Verb"]
    verified = call("verify", "r", "--suite", "saetze.csv")
    assert (verified.returncode, "8 sentences, 4 verdicts" in verified.stdout) == (0, True)
    assert call("report", "r", "--suite", "saetze.csv", "-o", "page.html").returncode == 0
    assert "der Autor" in (tmp_path / "page.html").read_text()
    assert call(*run, "--columns", COLUMNS, "--resume").returncode == 0
    turned = COLUMNS.replace("Satz", "X").replace("Falsch", "Satz").replace("X", "Falsch")
    other = refuse(*run, "--columns", turned, "--resume")
    assert "r has a run with other settings, so --resume cannot continue it (suite_digest" in other.stderr
    renamed = json.dumps(manifest).replace('"Satz"', '"Seite"')
    (tmp_path / "r/manifest.json").write_text(renamed)
    verified = call("verify", "r", "--suite", "saetze.csv")
    assert "the value of the key `suite` is not what tseval wrote" in verified.stdout


@pytest.mark.slow
def test_expand_lint_export_sweep_and_boards_take_columns(table, tmp_path):
    columns = ["--columns", "good=Satz,bad=Falsch"]
    first = succeed("expand", "saetze.csv", *columns, "--limit", "1").stdout
    assert first == f"case\tgood\tbad\nsaetze\t{ROWS[0][0]}\t{ROWS[0][1]}\n"
    assert call("lint", "saetze.csv", *columns).stderr.startswith("No findings in ")
    assert call("export", "lm-eval", "saetze.csv", *columns, "-o", "tasks").returncode == 0
    sweep = ["tseval", "sweep", "--model", "bundled:lstm", "--suite", "saetze.csv", *columns, "-o", "runs"]
    assert succeeded(run_process([*sweep, "--quiet"])).stderr == ""
    (run,) = (path.parent for path in (tmp_path / "runs").rglob("manifest.json"))
    succeed("board", "new", "b", "--suite", "../saetze.csv", *columns)
    succeed("board", "add", "b", run)
    succeed("verify", "b")


def test_wrong_columns_are_one_message(table):
    message = (
        "saetze.csv:1: --columns good=Saz names the column 'Saz', but the table has no such column.\n"
        "  Did you mean 'Satz'? Columns: "
    )
    assert message in refuse("expand", "saetze.csv", "--columns", "good=Saz,bad=Falsch").stderr


@pytest.mark.parametrize("suite", ["marvin_linzen", "dyck(k=2,m=3)", "./t.txt"])
def test_what_has_no_columns_says_so(tmp_path, monkeypatch, suite):
    monkeypatch.chdir(tmp_path)
    Path("t.txt").write_text("True\ta b\nFalse\ta c\n")
    message = r"this suite is .* no columns\.\n  Leave --columns out: it works for tables in \.jsonl"
    with pytest.raises(SuiteError, match=message):
        load_suite(suite, columns={"good": "a", "bad": "b"})


@pytest.mark.parametrize(
    "names",
    [("good", "bad"), ("sentence_good", "sentence_bad"), ("good_sentence", "bad_sentence"),
     ("sen", "wrong_sen"), ("source_sentence", "target_sentence"), ("grammatical", "ungrammatical")],
)  # fmt: skip
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_known_names_need_no_columns(tmp_path, names, ending):
    path = tmp_path / f"t.{ending}"
    if ending == "jsonl":
        write_lines(path, [{names[1]: "worse", names[0]: "better"}])
    else:
        write(path, [("worse", "better")], names[::-1], "\t" if ending == "tsv" else ",")
    (case,) = load_suite(path).cases
    assert case.sentences.to_pydict() == {"good": ["better"], "bad": ["worse"]}


def test_a_column_that_another_one_stands_for_is_left_out(tmp_path):
    path = write(tmp_path / "t.csv", [("a", "b", "c", "d")], ("good", "bad", "case", "lang"), ",")
    (case,) = load_suite(path, columns={"case": "lang"}).cases
    assert (case.name, case.features.column_names) == ("d", [])


def test_cases_keep_names_that_look_like_numbers(tmp_path):
    path = write(tmp_path / "t.tsv", [("a", "b", "01"), ("c", "d", "0")], ("good", "bad", "case"), "\t")
    assert [case.name for case in load_suite(path).cases] == ["01", "0"]


# Published tables of pairs, read directly: equal to the reading of their own programs, item by item.
def opened(path):
    """Return the pairs of each case."""
    return {
        case.name: list(
            zip(case.sentences["good"].to_pylist(), case.sentences["bad"].to_pylist(), strict=True)
        )
        for case in load_suite(path).cases
    }


@pytest.mark.parametrize(("folder", "delimiter"), [(TURBLIMP_SAMPLE, ";"), (TURBLIMP_ORDERS_SAMPLE, ",")])
def test_turblimp_is_what_its_program_reads(folder, delimiter):
    # evaluation.py uses the first two columns of a CSV file; files in `experimental` now have commas.
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
    # scorer.py: its comment "score the grammatical sentence" is about source_sentence.
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


# Our own sentences: neither set may be redistributed.
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


def test_zhoblimp_has_blimps_names_and_is_no_blimp(tmp_path):
    (case,) = load_suite(write_lines(tmp_path / "BA_mine.jsonl", ZHOBLIMP)).cases
    assert (case.name, case.phenomenon, case.features.to_pydict()) == ("BA_mine", "BA", {"pairID": [0, 1]})
    assert opened(tmp_path) == {"BA_mine": [(one["sentence_good"], one["sentence_bad"]) for one in ZHOBLIMP]}


def test_jblimps_paradigms_are_cases_and_null_is_no_text(tmp_path):
    suite = load_suite(write_lines(tmp_path / "validated.jsonl", JBLIMP))
    rows = [(case.name, case.phenomenon) for case in suite.cases]
    assert rows == [("case", "argument structure"), ("honorification", "verbal agreement")]
    assert suite.cases[0].features["phenomenon-2"].to_pylist() == ["", "morphology"]
    good = [JBLIMP[number]["good_sentence"] for number in (0, 2)]
    assert suite.cases[0].sentences["good"].to_pylist() == good


def test_multiblimp_is_what_pandas_reads(tmp_path):
    for name, words in (("heb", ["אבג", '"דה"', "''"]), ("zho", ["中文", '"', "格助詞"])):
        rows = [(" ".join(words), " ".join(reversed(words)), "{'Case': 'A', 'Number': '\"'}", 7)]
        table = pd.DataFrame(rows, columns=["sen", "wrong_sen", "child_features", "verb_idx"])
        (tmp_path / name).mkdir()
        table.to_csv(tmp_path / name / "data.tsv", sep="\t", index=False)
    suite = load_suite(tmp_path)
    assert (suite.title, [case.name for case in suite.cases]) == ("MultiBLiMP", ["heb", "zho"])
    for case in suite.cases:
        table = pd.read_csv(tmp_path / case.name / "data.tsv", sep="\t")  # as its score.py does
        found = case.sentences.to_pydict() | case.features.to_pydict()
        names = ("good", "bad", "child_features", "verb_idx")
        assert [found[name] for name in names] == [table[name].tolist() for name in table]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_sentences_stay_composed_or_decomposed_as_they_are(tmp_path, form):
    good, bad = (unicodedata.normalize(form, text) for text in ("les élèves rient .", "les élèves rit ."))
    (tmp_path / "t.csv").write_text(f"good,bad\n{good},{bad}\n", encoding="utf-8")
    assert opened(tmp_path / "t.csv") == {"t": [(good, bad)]}


def test_a_model_of_words_says_what_to_do_where_no_spaces_stand_between_them(tmp_path):
    model = open_model("bundled:lstm")
    (warning,) = evaluate(model, load_suite(write_lines(tmp_path / "j.jsonl", JBLIMP))).manifest.warnings
    said = (
        "3 of 3 contrasts are undecidable; there are no spaces in '先生がお話し': split the text into words"
    )
    assert warning.startswith(said)


def test_a_table_of_wide_letters_is_aligned_as_a_terminal_shows_it(tmp_path):
    names = ("格助詞", "e\u0301", "abc")
    rows = [pair | {"phenomenon": name} for pair, name in zip(JBLIMP, names, strict=True)]
    suite = load_suite(write_lines(tmp_path / "t.jsonl", rows))
    table = render(build_table([evaluate(open_model("bundled:lstm"), suite)]), "md")
    widths = {wcswidth(line) for line in table.splitlines() if line.startswith("|")}
    assert len(widths) == 1
    assert any("格助詞" in line for line in table.splitlines())


@pytest.mark.parametrize(("title", "as_text"), [("格助詞", True), ("התאם", True), ("Başar ık", False)])
def test_an_svg_keeps_words_that_cannot_be_drawn_rightly_as_text(tmp_path, title, as_text):
    write_figure([Panel(title, [Series(0, "a", [1], [0.5])])], BANDS, [tmp_path / "f.svg"], SuiteError)
    assert (f">{title}</text>" in (tmp_path / "f.svg").read_text("utf-8")) == as_text


def test_lint_names_pairs_of_one_sentence():
    name = "augmented_anaphor_agreement"
    same = sum(good == bad for good, bad in opened(TURBLIMP_SAMPLE)[name])
    assert same == 2
    found = [str(finding) for finding in lint_data(TURBLIMP_SAMPLE)]
    assert any(f"error: case {name!r}: 2 of 25 items have two equal sentences in a" in one for one in found)
