"""Tables of pairs whose columns have names of their own: `--columns`, and names that are known."""

import json
from pathlib import Path

import pytest
from in_process import call

from tseval.boards import read_definition, suite_of
from tseval.errors import SuiteError
from tseval.suites import load_suite
from tseval.suites.data.pairs import read_columns

# German, as a linguist might write it down.
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
    assert suite.columns == {
        "good": "Satz", "bad": "Falsch", "lang": "Sprache", "cluster": "Verb", "case": "Muster",
    }  # fmt: skip


def test_the_same_items_have_the_same_digest_under_any_names(table, tmp_path):
    names = ("good", "bad", "lang", "Verb", "case", "Seite")
    same = write(tmp_path / "saetze.tsv", header=names, separator="\t")
    assert load_suite(same).digest == load_suite(table, columns=read_columns(COLUMNS)).digest


def test_a_case_of_several_phenomena_is_one_for_each(table):
    suite = load_suite(table, columns=read_columns(COLUMNS + ",phenomenon=Sprache"))
    rows = [(case.name, case.construction, case.phenomenon) for case in suite.cases]
    assert rows == [
        ("eins_de", "eins", "de"), ("zwei_de", "zwei", "de"),
        ("eins_en", "eins", "en"), ("zwei_en", "zwei", "en"),
    ]  # fmt: skip


def test_a_run_remembers_its_columns_for_resume_verify_and_report(table, tmp_path):
    run = ["run", "--model", "bundled:lstm", "--suite", "saetze.csv", "--out", "r"]
    done = call(*run, "--columns", COLUMNS, "--by", "lang")
    assert done.returncode == 0
    assert "eins, lang de" in done.stdout
    manifest = json.loads((tmp_path / "r/manifest.json").read_text())
    assert manifest["suite"]["columns"] == dict(part.split("=") for part in COLUMNS.split(","))
    assert manifest["suite"]["clusters"] == ["Verb"]
    verified = call("verify", "r", "--suite", "saetze.csv")
    assert (verified.returncode, "8 sentences, 4 verdicts" in verified.stdout) == (0, True)
    assert call("report", "r", "--suite", "saetze.csv", "-o", "page.html").returncode == 0
    assert "der Autor" in (tmp_path / "page.html").read_text()
    assert call(*run, "--columns", COLUMNS, "--resume").returncode == 0
    turned = COLUMNS.replace("Satz", "X").replace("Falsch", "Satz").replace("X", "Falsch")
    other = call(*run, "--columns", turned, "--resume")
    assert other.returncode == 2
    assert "r holds another run and cannot be resumed with this one (suite_digest" in other.stderr
    renamed = json.dumps(manifest).replace('"Satz"', '"Seite"')
    (tmp_path / "r/manifest.json").write_text(renamed)
    assert "suite is not what was sealed" in call("verify", "r", "--suite", "saetze.csv").stdout


def test_expand_lint_export_sweep_and_boards_take_columns(table, tmp_path):
    columns = ["--columns", "good=Satz,bad=Falsch"]
    assert (
        call("expand", "saetze.csv", *columns, "--limit", "1").stdout
        == f"saetze\t{ROWS[0][0]}\t{ROWS[0][1]}\n"
    )
    assert call("lint", "saetze.csv", *columns).stderr == "No findings.\n"
    assert call("export", "lm-eval", "saetze.csv", *columns, "-o", "tasks").returncode == 0
    swept = call(
        "sweep", "--model", "bundled:lstm", "--suite", "saetze.csv", *columns, "-o", "runs", "--quiet"
    )
    assert (swept.returncode, swept.stderr) == (0, "")
    (run,) = (path.parent for path in (tmp_path / "runs").rglob("manifest.json"))
    assert call("board", "new", "b", "--suite", "../saetze.csv", *columns).returncode == 0
    added = call("board", "add", "b", run)
    assert (added.returncode, added.stdout) == (0, added.stdout), added.stderr
    assert call("verify", "b").returncode == 0
    assert suite_of(read_definition(tmp_path / "b"), tmp_path / "b").n_items == 4


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("good=Saz,bad=Falsch",
         "saetze.csv:1: there is no column 'Saz' (--columns good=Saz).\n  Did you mean 'Satz'? Columns: "),
        ("good=Satz", "saetze.csv:1: no bad sentence: there are 'Satz', 'Falsch',"),
        ("case=Verb",
         "saetze.csv:1: no pair of sentences: there are 'Satz', 'Falsch', 'Sprache', 'Verb', 'Muster', "
         "'Seite'.\n  Call the columns good and bad, or say which they are: --columns good=NAME,bad=NAME."),
        ("good=Satz,bad=Satz", "--columns: 'Satz' cannot be both good and bad."),
        ("good=Satz,good=Falsch", "--columns names good twice: 'Satz' and 'Falsch'."),
        ("goood=Satz", "--columns: there is no 'goood'.\n  Did you mean 'good'? What a column can be: bad,"),
        ("good", "--columns: 'good' is not ROLE=NAME, as in good=sen,bad=wrong_sen."),
        ("good=,bad=x", "--columns: 'good=' is not ROLE=NAME"),
        ("", "--columns: '' is not ROLE=NAME"),
    ],
)  # fmt: skip
def test_wrong_columns_are_one_message(table, columns, message):
    for command in (["expand"], ["lint"], ["run", "--model", "bundled:lstm", "--suite"]):
        result = call(*command, "saetze.csv", "--columns", columns)
        assert (result.returncode, result.stdout) == (2, "")
        assert message in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize("suite", ["marvin_linzen", "dyck(k=2,m=3)", "./t.txt"])
def test_what_has_no_columns_says_so(tmp_path, monkeypatch, suite):
    monkeypatch.chdir(tmp_path)
    Path("t.txt").write_text("True\ta b\nFalse\ta c\n")
    with pytest.raises(
        SuiteError, match=r"there are no columns to name\.\n  --columns is for pairs in \.jsonl"
    ):
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
        path.write_text(json.dumps({names[1]: "worse", names[0]: "better"}) + "\n")
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


def test_a_folder_of_csv_is_a_suite_but_csv_beside_other_data_is_not_read(tmp_path):
    for name in ("one", "two"):
        write(tmp_path / f"{name}.csv", [("a", "b")], ("sen", "wrong_sen"), ",")
    assert [case.name for case in load_suite(tmp_path).cases] == ["one", "two"]
    (tmp_path / "three.jsonl").write_text('{"good": "a", "bad": "b"}\n')
    assert [case.name for case in load_suite(tmp_path).cases] == ["three"]


def test_files_of_one_name_in_folders_are_cases_called_like_their_folders(tmp_path):
    for language in ("eng", "heb"):
        (tmp_path / "hub" / language).mkdir(parents=True)
        write(tmp_path / "hub" / language / "data.tsv", [("a", "b")], ("sen", "wrong_sen"), "\t")
    (tmp_path / "hub/.git").mkdir()
    (tmp_path / "hub/.git/x.txt").write_text("no data")
    (tmp_path / "hub/README.md").write_text("read me")
    suite = load_suite(tmp_path / "hub")
    assert (suite.name, suite.title, [case.name for case in suite.cases]) == (
        "hub",
        "MultiBLiMP",
        ["eng", "heb"],
    )
