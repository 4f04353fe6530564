"""What people get right, beside the models of a table, and never among them."""

import csv
import io
import json
import re

import pytest
from in_process import call
from small import make_case, make_run, make_suite

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
    alone, beside = (
        call("table", "a", "b", *more, "--format", "csv", cwd=folder)
        for more in ((), ("--human", "human.csv"))
    )
    assert (beside.returncode, beside.stderr) == (0, "")
    models = [row for row in rows_of(beside.stdout) if row["model"] != "Human"]
    assert models == rows_of(alone.stdout)
    people = {row["contrast"]: row for row in rows_of(beside.stdout) if row["model"] == "Human"}
    # Two cases share a row: (0.9 · 30 + 0.6 · 10) / 40.
    assert float(people["grammatical > ungrammatical"]["accuracy"]) == 0.825
    assert float(people["grammatical > intrusive"]["accuracy"]) == 0.8
    assert {row["rank"] for row in people.values()} == {""}


def test_without_numbers_of_answers_every_case_counts_once(folder):
    text = re.sub(r",\d+,", ",", ALL.replace("accuracy,n,", "accuracy,"))
    (folder / "plain.csv").write_text(text)
    done = call("table", "a", "--human", "plain.csv", "--format", "csv", cwd=folder)
    (row,) = (
        row for row in rows_of(done.stdout) if row["model"] == "Human" and row["construction"] == "Simple"
    )
    assert float(row["accuracy"]) == 0.75


def test_beside_one_run_people_have_a_column_and_means(folder):
    done = call("table", "a", "--human", "human.csv", cwd=folder)
    lines = {
        line.split("|")[1].strip(): line.split("|")[-2].strip()
        for line in done.stdout.splitlines()
        if "|" in line
    }
    assert lines["a on small"] == "Human"
    assert lines["Simple"] == "0.825"
    assert lines["All 3 rows"] == "0.875"
    assert "- Human: human.csv." in done.stdout
    told = json.loads(call("table", "a", "--human", "human.csv", "--format", "json", cwd=folder).stdout)
    assert [one["model"] for one in told["columns"]] == ["a"]
    assert [one["model"] for one in told["humans"]] == ["Human"]


def test_a_part_of_a_suite_takes_the_cases_that_it_has(folder):
    done = call("table", "part", "--human", "human.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "0.825" in done.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ALL + "anmi,0.5,4,\n", "h.csv:6: the suite has no case 'anmi'.\n  Did you mean 'anim'?"),
        (ALL.replace("inanim,0.6,10,\n", ""), "h.csv: there is no accuracy of the case 'inanim'."),
        ("case,accuracy\nanim,0.9\n", "h.csv: there is no accuracy of the case 'inanim' and 2 more."),
        (ALL + "anim,0.5,4,\n", "h.csv:6: the case 'anim' stands twice"),
        (ALL.replace("0.9", "90"), "h.csv:2: accuracy is '90', which is no fraction from 0 to 1.\n  Write"),
        (ALL.replace("0.9", "nan"), "h.csv:2: accuracy is 'nan', which is no fraction"),
        (ALL.replace("0.9", f"0.{'9' * 5000}"), "h.csv:2: accuracy is '0.999"),
        (ALL.replace("0.9", "1/2"), "h.csv:2: accuracy is '1/2', which is no fraction"),
        (ALL.replace(",30,", ",0,"), "h.csv:2: n is '0': a number of answers is 1, 2, ..."),
        ("case,share\nanim,0.9\n", "h.csv:2: there is no column 'accuracy', but 'case', 'share'."),
        ("case,accuracy\nnpi,0.9\n", "h.csv:2: the case 'npi' has no contrast ''.\n  Say which in a column"),
    ],
)  # fmt: skip
def test_a_wrong_table_of_people_is_refused_with_its_line(folder, text, said):
    (folder / "h.csv").write_text(text)
    done = call("table", "a", "--human", "h.csv", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("bhatt2020 --human human.csv", "people stand beside the accuracies of a run, and there is none."),
        ("a --human none.csv", "none.csv: cannot be read (No such file or directory)"),
        ("a --human human.csv --by item", "--human stands alone"),
    ],
)
def test_where_people_cannot_stand_they_are_refused(folder, arguments, said):
    done = call("table", *arguments.split(), cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
