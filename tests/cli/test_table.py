import csv
import io
import json
from pathlib import Path

import pytest
from in_process import call, installed
from small import make_case, make_run, make_suite

from tseval.report.published import BUNDLED_BOARDS

SUITE = make_suite(
    make_case("a", [(f"right{i}", f"wrong{i}") for i in range(8)], features={"number": ["sing", "plur"] * 4})
)
WORDS = {f"right{i}": -0.5 for i in range(6)} | {"right6": -2.0}


def tseval(*arguments, code=0, cwd=".", by=call):
    """Run a command; return its standard output, or its standard error if it fails."""
    done = by(*arguments, cwd=cwd)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if code else done.stdout


def cells(text, label):
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {label} ")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


@pytest.fixture
def run(tmp_path):
    make_run(SUITE, WORDS, path=tmp_path / "run")
    return tmp_path / "run"


def test_the_published_board_prints_the_mean_ranks_of_the_paper():
    text = tseval("table", "bhatt2020")
    assert cells(text, "marvin_linzen") == ["SRN", "GRU", "LSTM", "DRNN", "SDRNN", "Ab-DRNN", "ON-LSTM"]
    assert cells(text, "Mean arithmetic rank") == ["5.94", "3", "3.31", "3.52", "3.68", "4.73", "2.94"]
    assert cells(text, "Parameters") == ["1.4M", "4.2M", "5.6M", "1.4M", "1.4M", "0.55M", "–"]


@pytest.mark.slow
def test_a_board_is_found_by_name_and_by_path():
    by_path = tseval("table", BUNDLED_BOARDS / "bhatt2020", by=installed)
    assert by_path == tseval("table", "bhatt2020", cwd="/", by=installed)


def test_the_boards_readme_holds_the_table_that_the_tool_prints():
    readme = (BUNDLED_BOARDS / "bhatt2020" / "README.md").read_text()
    assert tseval("table", "bhatt2020") in readme


@pytest.mark.slow
def test_a_run_prints_its_counts(run):
    text = tseval("table", run, by=installed)
    assert cells(text, "Simple") == ["8", "0.750", "0.409 to 0.929", "1", "0"]
    assert text == (run / "table.md").read_text()


def test_the_unsplit_row_stays_above_its_parts(run):
    text = tseval("table", run, "--by", "number")
    parts = ["Simple", "Simple, number plur", "Simple, number sing"]
    assert [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| Simple")] == parts
    assert cells(text, "Simple") == cells(tseval("table", run), "Simple")
    assert cells(text, "Simple, number plur")[:2] == ["4", "0.750"]
    assert "Means and ranks count each part of a row, not whole rows." in text
    assert cells(text, "All 2 rows")[1] == "0.750"


def test_a_row_of_one_part_is_not_printed_twice(tmp_path):
    suite = make_suite(
        make_case("a", [("a", "b"), ("c", "d")], features={"n": [1, 2]}),
        make_case("b", [("a", "b")], features={"n": [1]}, construction="Other"),
    )
    make_run(suite, {}, path=tmp_path / "run")
    text = tseval("table", tmp_path / "run", "--by", "n")
    labels = [line.split("|")[1].strip() for line in text.splitlines() if ", n " in line or "Other" in line]
    assert labels == ["Simple, n 1", "Simple, n 2", "Other, n 1"]


def test_a_row_without_the_feature_stands_once_with_a_dash(tmp_path):
    suite = make_suite(
        make_case("a", [("a", "b"), ("c", "d")], features={"n": ["one", "two"]}),
        make_case("b", [("a", "b")], construction="Other"),
    )
    for model, words in {"srn": {}, "gru": {"a": -0.5}}.items():
        make_run(suite, words, path=tmp_path / model, model=model)
    text = tseval("table", tmp_path / "srn", tmp_path / "gru", "--by", "n")
    labels = [line.split("|")[1].strip() for line in text.splitlines() if "Simple" in line or "Other" in line]
    assert labels == ["Simple", "Simple, n one", "Simple, n two", "Other, n –"]
    assert cells(text, "Other, n –") == ["0.000", "1.000"]


def test_features_may_stand_in_one_list(run, tmp_path):
    features = {"number": ["sing", "plur"] * 4, "half": [1] * 4 + [2] * 4}
    suite = make_suite(make_case("a", [(f"right{i}", f"wrong{i}") for i in range(8)], features=features))
    make_run(suite, WORDS, path=tmp_path / "two")
    text = tseval("table", tmp_path / "two", "--by", "number,half")
    assert cells(text, "Simple, number sing, half 2")[:2] == ["2", "0.500"]
    assert text == tseval("table", tmp_path / "two", "--by", "number", "--by", "half")
    assert "--by hal: the items of the suite have no feature with this name" in tseval(
        "table", run, "--by", "number,hal", code=2
    )


def test_a_table_is_written_to_a_file(run, tmp_path):
    out = tmp_path / "out.json"
    assert tseval("table", run, "--format", "json", "--by", "number", "-o", out) == ""
    assert [(row["number"], row["n_items"]) for row in json.loads(out.read_text())["rows"]] == [
        ("plur", 4), ("sing", 4)
    ]  # fmt: skip
    (row,) = csv.DictReader(io.StringIO(tseval("table", run, "--format", "csv")))
    assert row["n_correct"] == "6"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["bhat2020"], "'bhat2020' is not the folder of a run or a leaderboard.\n  Name the folder"),
        ([Path(__file__).parent], ("cli is not the folder of a run, because the file manifest.json "
                                   "is missing in it.\n  Name the folder")),
        (["RUN", "--by", "numbr"], "feature with this name.\n  Did you mean 'number'?"),
        (["bhatt2020", "-o", "/proc/none/x.md"], "directory.\n  Make the folder /proc/none first."),
        ([], "Missing argument 'RUN_OR_BOARD...'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_message_and_exit_code_2(run, arguments, expected):
    arguments = [run if argument == "RUN" else argument for argument in arguments]
    assert expected in tseval("table", *arguments, code=2)


def test_a_run_or_board_named_twice_is_refused_under_whatever_name(run, tmp_path):
    (tmp_path / "link").symlink_to(run)
    again = f"{str(run)!r} is named twice.\n  Name each run and each leaderboard only once."
    assert again in tseval("table", run, run, code=2)
    linked = tseval("table", run, "link", code=2, cwd=tmp_path, by=installed)
    assert f"'link' is the same run or leaderboard as {str(run)!r}." in linked
    board = BUNDLED_BOARDS / "bhatt2020"
    assert f"{str(board)!r} is the same run or leaderboard as 'bhatt2020'." in tseval(
        "table", "bhatt2020", board, code=2
    )
