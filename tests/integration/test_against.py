"""`tseval table --against`, as a user runs it."""

import csv
import io
import json

import pytest
from in_process import printed, refuse
from small import make_case, make_run, make_suite

VERBS = {"laughs": "laugh", "swims": "swim", "smiles": "smile"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three models on two rows."""
    folder = tmp_path_factory.mktemp("against")
    rows = [(f"the {noun} {good}", f"the {noun} {bad}") for noun in "abcd" for good, bad in VERBS.items()]
    cases = [make_case(name, rows, construction=name) for name in ("Simple", "Coordination")]
    suite = make_suite(*cases)
    make_run(suite, {"laugh": -2.0, "swim": -2.0, "smile": -2.0}, path=folder / "good", model="good")
    make_run(suite, {"laugh": -2.0, "swims": -2.0, "smile": -2.0}, path=folder / "fair", model="fair")
    make_run(suite, {}, path=folder / "lost", model="lost", unknown=[*VERBS, *VERBS.values()])
    return folder


def table(folder, *arguments):
    return printed("table", *arguments, cwd=folder)


def test_the_table_shows_difference_interval_and_word(folder):
    printed = table(folder, "--against", "fair", "good", "fair")
    assert "**Differences from fair**" in printed
    line = next(line for line in printed.splitlines() if line.startswith("| Simple"))
    cells = [cell.strip() for cell in line.split("|")]
    assert cells[1:4] == ["Simple", "0.666", "+0.333"]
    assert cells[5] == "undecided"  # of two rows, that is too few items
    assert "| All 2 rows" in printed
    assert "items independent: the runs do not say which items share words" in printed


def test_a_model_is_named_by_its_heading_or_by_its_run(folder):
    expected = table(folder, "--against", "fair", "fair", "good", "--format", "csv")
    for names in (("good",), ("fair", "good"), ("good", "fair")):
        assert table(folder, "--against", folder / "fair", *names, "--format", "csv") == expected


def test_programs_get_every_number(folder):
    found = json.loads(table(folder, "--against", "good", "good", "fair", "--format", "json"))
    assert found["analysis"] == "against"
    rows = found["rows"]
    assert [(row["model"], row["against"], row["construction"], row["over"]) for row in rows] == [
        ("fair", "good", "Simple", None),
        ("fair", "good", "Coordination", None),
        ("fair", "good", None, "All rows"),
    ]
    assert rows[2]["difference"] == pytest.approx(-1 / 3)
    assert rows[2]["low"] < -1 / 3 < rows[2]["high"] < 0
    assert (rows[2]["outcome"], rows[2]["margin"]) == ("worse", 0.02)
    text = table(folder, "--against", "good", "good", "fair", "--format", "csv")
    of_csv = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["difference"]) for row in of_csv] == [row["difference"] for row in rows]
    assert [row["n_items"] for row in of_csv] == ["12", "12", "24"]


def test_what_cannot_be_decided_has_dashes_and_reasons(folder):
    printed = table(folder, "--against", "good", "good", "lost", "fair")
    assert "- A model that lacks a row has no mean over it." in printed
    assert "- Where no item is decidable for both models there is no difference to tell." in printed
    line = next(line for line in printed.splitlines() if line.startswith("| Simple"))
    assert [cell.strip() for cell in line.split("|")][3:6] == ["–", "–", "–"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--against", "goood", "good", "fair"],
         "a model 'goood', and no run is there.\n  Did you mean 'good'?"),
        (["--against", "good", "good"], "there is nothing to compare with good.\n  Name another run"),
        (["--against", "good", "good", "bhatt2020"], "is a published board: it has no items"),
        (["--against", "good", "good", "fair", "--margin", "1"], "between 0 and 1, and 1 is not"),
        (["good", "fair", "--margin", "0.1"], "--margin is for differences: name a model with --against"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_one_message(folder, arguments, message):
    assert message in refuse("table", *arguments, cwd=folder).stderr
