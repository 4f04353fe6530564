import csv
import io
import json
from typing import Any

import pytest
from in_process import call, refuse
from small import make_case, make_run, make_suite, with_field
from supplied import BLIMP_ACCURACIES, TABLE4

from tseval.errors import BoardError
from tseval.report import build_table, render
from tseval.report.published import BUNDLED_BOARDS, bundled_boards, read_board

BOARD: dict[str, Any] = {
    "format": 1, "name": "paper", "title": "A paper", "source": "Someone 2020.", "suite": "small",
    "score": "sentence", "decimals": 2, "notes": [],
    "models": [{"name": "GRU", "validation_perplexity": "53.78", "parameters": None}, {"name": "SRN"}],
    "rows": [{"dependency": "short", "phenomenon": "P", "construction": "C",
              "contrast": "grammatical > ungrammatical", "n_items": 140, "accuracy": {"GRU": "0.95"}}],
}  # fmt: skip


def changed(path, value):
    """Return the board with one field replaced, or removed if the value is None."""
    return with_field(BOARD, path, value)


def message(tmp_path, content):
    file = tmp_path / "board.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(BoardError) as caught:
        read_board(tmp_path)
    assert str(caught.value).startswith(f"{file}: ")
    return str(caught.value).removeprefix(f"{file}: ")


def test_a_board_reads_from_its_file_or_its_folder(tmp_path):
    (tmp_path / "board.json").write_text(json.dumps(BOARD))
    board = read_board(tmp_path)
    assert read_board(tmp_path / "board.json") == board
    assert board.rows[0].accuracy == {"GRU": "0.95"}
    assert [model.validation_perplexity for model in board.models] == ["53.78", None]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (["format"], 2, "format: the value is 2, but this version of tseval reads only format 1."),
        (["title"], 7, "title: should be a text in quotes, not 7."),
        (["title"], "half\ud800", "the file: a text contains half of a Unicode character"),
        (["decimals"], 0, "decimals: should be a number of decimals, 1 or more, but is 0."),
        (["models"], [], "models: should name at least one model, and no model twice."),
        (["models", 1, "name"], "GRU", "models: should name at least one model, and no model twice."),
        (["rows"], BOARD["rows"] * 2, "rows[1]: this row has the same case and contrast as an earlier row."),
        (
            ["rows", 0, "accuracy", "LSTM"],
            "0.5",
            "rows[0].accuracy.LSTM: this is the name of a model that is not in",
        ),
        (
            ["rows", 0, "spread"],
            {"LSTM": "0.1"},
            "rows[0].spread.LSTM: this is the name of a model that is not in",
        ),
        (["rows", 0, "spread"], {"GRU": "wide"}, "rows[0].spread.GRU: should be a fraction from 0 to 1"),
        (["models", 0, "spread"], {"All rows": "2"}, "models[0].spread.All rows: should be a fraction"),
    ],
)
def test_a_wrong_field_is_named(tmp_path, path, value, expected):
    assert message(tmp_path, changed(path, value)).startswith(expected)


@pytest.mark.parametrize("printed", ["1.01", "-0.5", "0.955", "nan", "0.95\n"])
def test_an_accuracy_is_a_fraction_of_few_decimals(tmp_path, printed):
    text = message(tmp_path, changed(["rows", 0, "accuracy", "GRU"], printed))
    assert text.startswith("rows[0].accuracy.GRU: should be a fraction from 0 to 1 with at most 2 decimals")


def test_a_mean_over_seeds_stands_in_a_table_with_its_spread_and_no_column_where_there_is_none(tmp_path):
    board = changed(["rows", 0, "spread"], {"GRU": "0.01"})
    board["rows"][0]["accuracy"]["SRN"] = "0.5"
    board["models"][0]["spread"] = {"All rows": "0.02"}
    (tmp_path / "board.json").write_text(json.dumps(board))
    table = build_table([read_board(tmp_path)])
    lines = [[cell.strip() for cell in line.split("|")] for line in render(table).splitlines()]
    assert ["", "C", "0.95 ± 0.01", "0.5", ""] in lines
    assert ["", "The one row", "0.95 ± 0.02", "0.50", ""] in lines
    found = json.loads(render(table, "json"))
    assert [(row["model"], row["spread"]) for row in found["rows"]] == [("GRU", 0.01), ("SRN", None)]
    assert [mean["spread"] for mean in found["means"]] == [{"GRU": 0.02, "SRN": None}]
    heading, *rows = (line.split(",") for line in render(table, "csv").splitlines())
    assert [row[heading.index("spread")] for row in rows] == ["0.01", ""]
    del board["rows"][0]["spread"], board["models"][0]["spread"]
    (tmp_path / "board.json").write_text(json.dumps(board))
    assert all("spread" not in render(build_table([read_board(tmp_path)]), form) for form in ("csv", "json"))


def test_a_file_that_is_no_json_is_said_so(tmp_path):
    assert message(tmp_path, "{").startswith("not a JSON file (")
    assert message(tmp_path, "[" * 100_000 + "]" * 100_000).startswith("not a JSON file (")


@pytest.mark.parametrize("name", bundled_boards())
def test_every_bundled_board_reads_and_stands_under_its_own_name(name):
    assert read_board(BUNDLED_BOARDS / name).name == name


def test_the_bundled_table_4_is_the_papers_digit_by_digit():
    oracle, board = json.loads(TABLE4.read_text()), read_board(BUNDLED_BOARDS / "bhatt2020")
    assert [row.accuracy for row in board.rows] == [row["accuracy"] for row in oracle["rows"]]
    assert [row.n_items for row in board.rows] == [row["items"] for row in oracle["rows"]]
    for fact in ("validation_perplexity", "parameters"):
        ours = {model.name: getattr(model, fact) or "-" for model in board.models}
        assert ours == oracle[fact]


def test_the_bundled_blimp_board_is_the_published_one_and_gives_its_means():
    lines = [json.loads(line) for line in BLIMP_ACCURACIES.read_text().splitlines()]
    board = read_board(BUNDLED_BOARDS / "blimp2020")
    names = dict(zip((model.name for model in board.models), ("ngram", "lstm", "txl", "gpt2"), strict=True))
    published = {line["UID"]: line for line in lines if line["UID"] != "overall"}
    assert len(board.rows) == len(published) == 67
    for row in board.rows:
        expected = {name: published[row.construction][key] for name, key in names.items()}
        assert {name: float(value) for name, value in row.accuracy.items()} == expected
    means = {line["linguistics_term"]: line for line in lines if line["UID"] == "overall"}
    for term, mean in means.items():
        rows = [
            row for row in board.rows if term in {"overall", published[row.construction]["linguistics_term"]}
        ]
        for name, key in names.items():
            found = sum(float(row.accuracy[name]) for row in rows) / len(rows)
            assert found == pytest.approx(mean[key], abs=1e-9)


# Human accuracies, next to the models of a table but never counted among them.
WORDS = {"laughs": -1.0, "laugh": -2.0, "is": -1.2, "are": -1.5}
PAIRS = [("the author laughs", "the author laugh"), ("the pilot laughs", "the pilot laugh")]
TRIPLE = [("no author is", "the author is", "most authors is")]
NPI = {
    "labels": ("grammatical", "intrusive", "ungrammatical"),
    "contrasts": [("grammatical", "intrusive"), ("intrusive", "ungrammatical")],
    "construction": "NPI",
}
ALL = "case,accuracy,n,contrast\nanim,0.9,30,\ninanim,0.6,10,\nnpi,0.8,10,grammatical > intrusive\n"
ALL += "npi,1.0,10,intrusive > ungrammatical\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("humans")
    cases = make_case("anim", PAIRS), make_case("inanim", PAIRS), make_case("npi", TRIPLE, **NPI)
    for name, likes in (("a", -1.0), ("b", -3.0)):
        make_run(make_suite(*cases), WORDS | {"laughs": likes}, path=folder / name, model=name)
    make_run(make_suite(*cases[:2], complete=False, digest="6" * 64), WORDS, path=folder / "part")
    (folder / "human.csv").write_text(ALL)
    return folder


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_people_stand_last_and_change_no_number_of_a_model(folder):
    table = ("table", "a", "b", "--format", "csv")
    alone, beside = (call(*table, *more, cwd=folder) for more in ((), ("--human", "human.csv")))
    assert (beside.returncode, beside.stderr) == (0, "")
    models = [row for row in rows_of(beside.stdout) if row["model"] != "Human"]
    assert models == rows_of(alone.stdout)
    people = {row["contrast"]: row for row in rows_of(beside.stdout) if row["model"] == "Human"}
    # Two cases share a row: (0.9 · 30 + 0.6 · 10) / 40.
    assert float(people["grammatical > ungrammatical"]["accuracy"]) == 0.825
    assert float(people["grammatical > intrusive"]["accuracy"]) == 0.8
    assert {row["rank"] for row in people.values()} == {""}


def test_beside_one_run_people_have_a_column_and_means(folder):
    done = call("table", "a", "--human", "human.csv", cwd=folder)
    cells = [line.split("|") for line in done.stdout.splitlines() if "|" in line]
    lines = {first.strip(): last.strip() for _, first, *_, last, _ in cells}
    assert lines["a on small"] == "Human"
    assert lines["Simple"] == "0.825"
    assert lines["All 3 rows"] == "0.875"
    assert "- Human: human.csv." in done.stdout
    told = json.loads(call("table", "a", "--human", "human.csv", "--format", "json", cwd=folder).stdout)
    assert [one["model"] for one in told["columns"]] == ["a"]
    assert [one["model"] for one in told["humans"]] == ["Human"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ALL + "anmi,0.5,4,\n", ("h.csv:6: the suite has no case with the name 'anmi'.\n  Did you mean "
                                 "'anim'?")),
        (ALL.replace("inanim,0.6,10,\n", ""), ("h.csv: the table has no human accuracy for the case "
                                               "'inanim'.")),
        ("case,accuracy\nanim,0.9\n", ("h.csv: the table has no human accuracy for the case 'inanim' and 2 "
                                       "more.")),
        (ALL + "anim,0.5,4,\n", "h.csv:6: this is the second line for the case 'anim'"),
        (ALL.replace("0.9", "90"), "h.csv:2: the accuracy is '90', but it must be a fraction from 0 to 1."),
        (ALL.replace("0.9", f"0.{'9' * 5000}"), "h.csv:2: the accuracy is '0.999"),
        (ALL.replace(",30,", ",0,"), "h.csv:2: the column 'n' (number of answers) has '0', but needs"),
        ("case,share\nanim,0.9\n", ("h.csv:2: the header has no column 'accuracy'; its columns are 'case', "
                                    "'share'.")),
        ("case,accuracy\nnpi,0.9\n", "h.csv:2: the case 'npi' has no contrast ''.\n  Write one of these"),
    ],
)  # fmt: skip
def test_a_wrong_table_of_people_is_refused_with_its_line(folder, text, said):
    (folder / "h.csv").write_text(text)
    done = refuse("table", "a", "--human", "h.csv", cwd=folder)
    assert said in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("bhatt2020 --human human.csv", "--human prints human accuracies next to those of a run, but"),
        ("a --human none.csv", "none.csv: tseval cannot read this file (No such file or directory)"),
        ("a --human human.csv --by item", "--human cannot be combined"),
    ],
)
def test_where_people_cannot_stand_they_are_refused(folder, arguments, said):
    done = refuse("table", *arguments.split(), cwd=folder)
    assert said in done.stderr
