"""Runs on several suites: a block for each suite, below the means of all suites."""

import csv
import io
import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from in_process import call, printed, refuse, succeed
from small import make_case, make_run, make_suite

VERBS = {"laughs": "laugh", "swims": "swim", "smiles": "smile"}
ROWS = [(f"the {noun} {good}", f"the {noun} {bad}") for noun in "abcd" for good, bad in VERBS.items()]
SHORT = make_suite(make_case("one", ROWS), make_case("two", ROWS[:5], construction="Other"), name="short")
LONG = make_suite(make_case("one", ROWS[:7], dependency="long"), name="long", digest="6" * 64)
WORDS = {"good": {"laugh": -2.0, "swim": -2.0, "smile": -2.0}, "fair": {"laugh": -2.0, "swims": -2.0}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run two models on two suites, and a third on one of them."""
    folder = tmp_path_factory.mktemp("suites")
    for name, words in WORDS.items():
        for suite in (SHORT, LONG):
            make_run(suite, words, path=folder / "both" / f"{name}-{suite.name}", model=name)
    make_run(SHORT, {"laugh": -2.0}, path=folder / "third", model="third")
    make_run(SHORT, {}, path=folder / "lost", model="lost", unknown=[*VERBS, *VERBS.values()])
    fewer = make_suite(make_case("one", ROWS[:3], dependency="long"), name="long", digest="7" * 64)
    make_run(fewer, {}, path=folder / "fewer", model="fewer")
    return folder


def mean_of(run):
    """Return the mean accuracy over the rows of a run, by numpy from its verdicts; no item is undecidable."""
    verdicts = pq.read_table(run / "verdicts.parquet").to_pandas()
    return np.mean([rows["correct"].astype(float).mean() for _, rows in verdicts.groupby("construction")])


def test_the_means_of_all_suites_come_first_and_then_a_block_for_each(folder):
    text = printed("table", "both", cwd=folder)
    assert re.findall(r"^## (\w+)$", text, re.MULTILINE) == ["long", "short"]
    first = text.split("## ")[0]
    for suite in ("short", "long"):
        cells = [cell.strip() for cell in re.search(rf"^\| {suite} .*$", first, re.MULTILINE)[0].split("|")]
        for model, cell in (("fair", cells[3]), ("good", cells[5])):
            expected = mean_of(folder / "both" / f"{model}-{suite}")
            assert cell == f"{np.floor(expected * 1000 + 1e-9) / 1000:.3f}"
    assert "low" not in first
    assert first.index("fair") < first.index("good"), "models stand in the order of their runs"


def test_json_has_the_table_of_each_suite_as_it_is_alone(folder):
    found = json.loads(printed("table", "both", "--format", "json", cwd=folder))
    assert [table["suite"] for table in found["tables"]] == ["long", "short"]
    for table in found["tables"]:
        runs = [f"both/{model}-{table['suite']}" for model in ("fair", "good")]
        alone = json.loads(printed("table", *runs, "--format", "json", cwd=folder))
        assert {"format": found["format"], **table} == {**alone, "suite": table["suite"]}
    summary = {(row["suite"], row["model"]): row for row in found["summary"]["rows"]}
    assert len(summary) == 4
    for table in found["tables"]:
        mean = table["means"][-1]
        for model in ("fair", "good"):
            row = summary[table["suite"], model]
            assert row["accuracy"] == pytest.approx(mean_of(folder / "both" / f"{model}-{table['suite']}"))
            assert (row["low"], row["high"]) == (mean["low"][model], mean["high"][model])


def test_csv_has_the_rows_of_all_suites_with_their_suite(folder):
    rows = list(csv.DictReader(io.StringIO(printed("table", "both", "--format", "csv", cwd=folder))))
    assert list(rows[0])[:2] == ["suite", "model"]
    assert [(row["suite"], row["model"], row["n_items"]) for row in rows] == [
        ("long", "fair", "7"), ("long", "good", "7"), ("short", "fair", "12"), ("short", "fair", "5"),
        ("short", "good", "12"), ("short", "good", "5"),
    ]  # fmt: skip


def test_latex_has_a_heading_for_each_suite(folder):
    text = printed("table", "both", "--format", "latex", cwd=folder)
    assert re.findall(r"\\section\*\{(\w+)\}", text) == ["long", "short"]
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 3


def test_a_model_without_a_run_on_a_suite_has_an_empty_cell_and_a_note(folder):
    first = printed("table", "both", "third", cwd=folder).split("## ")[0]
    (line,) = re.findall(r"^\| long .*$", first, re.MULTILINE)
    assert [cell.strip() for cell in line.split("|")][-3:-1] == ["", ""]
    assert "- An empty cell: there are no accuracies of third on long." in first


def test_runs_of_one_suite_with_other_items_are_refused_as_before(folder):
    message = refuse("table", "both", "fewer", cwd=folder).stderr
    assert "have different items, so one table cannot compare them." in message
    assert "fewer (long@77777777)" in message


def test_differences_are_printed_for_each_suite_that_has_both_models(folder):
    text = printed("table", "both", "--against", "both/fair-short", cwd=folder)
    assert text.count("**Differences from fair**") == 2
    (cell,) = re.findall(r"^\| long +\| +1 \| +([-+.\d]+)", text, re.MULTILINE)
    runs = [mean_of(folder / "both" / f"{model}-long") for model in ("good", "fair")]
    assert float(cell) == pytest.approx(runs[0] - runs[1], abs=0.001)
    ended = succeed("table", "both", "third", "--against", "third", cwd=folder)
    assert "warning: long: tseval compares nothing on this suite" in ended.stderr
    assert ended.stdout.count("**Differences from third**") == 1


def test_two_runs_of_one_model_are_told_apart_by_their_folders_on_all_suites(folder, tmp_path):
    for name in ("a", "b"):
        for suite in (SHORT, LONG):
            make_run(suite, WORDS["good"], path=tmp_path / f"{name}-{suite.name}", model="lstm")
    found = json.loads(printed("table", tmp_path, "--format", "json"))
    models = {row["suite"]: [] for row in found["summary"]["rows"]}
    for row in found["summary"]["rows"]:
        models[row["suite"]].append(row["model"])
    assert models == {"long": ["lstm (a)", "lstm (b)"], "short": ["lstm (a)", "lstm (b)"]}


def test_analyses_have_a_block_for_each_suite(folder, tmp_path):
    text = printed("analyze", "pairwise", "both", cwd=folder)
    assert re.findall(r"^## (\w+)$", text, re.MULTILINE) == ["long", "short"]
    assert "All suites" not in text, "pairs have no means over rows"
    files = tmp_path / "rows.svg", tmp_path / "rows.csv"
    succeed("analyze", "rows", "both", "--figure", files[0], "--format", "csv", "-o", files[1], cwd=folder)
    assert files[0].read_bytes().startswith(b"<?xml")
    rows = csv.DictReader(io.StringIO(files[1].read_text("utf-8")))
    assert {row["suite"] for row in rows} == {"long", "short"}


def test_the_page_has_the_means_first_and_a_part_for_each_suite_with_names_of_its_own(folder, tmp_path):
    call("report", "both", "-o", tmp_path / "page.html", cwd=folder)
    page = (tmp_path / "page.html").read_text("utf-8")
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert page.index('id="summary"') < page.index('id="s0-board"') < page.index('id="s1-board"')
    targets = set(re.findall(r'href="#([^"]+)"', page))
    assert targets <= set(ids), "every link leads to a part of the page"


def test_the_share_of_decided_items_can_be_required(folder):
    ended = call("table", "both", "third", "--require-coverage", "0.9", cwd=folder)
    assert (ended.returncode, ended.stderr) == (0, "")
    ended = call("table", "third", "lost", "--require-coverage", "0.9", cwd=folder)
    assert ended.returncode == 1
    assert ended.stderr == (
        "tseval: lost decides 0 of the 17 contrasts of short (0.0%), less than --require-coverage 0.9\n"
    )
    assert "| Simple" in ended.stdout, "the table is printed anyway"
