"""`tseval analyze robustness` and `tseval export glmm` on new runs, as users call them."""

import json
from pathlib import Path

import pandas as pd
import pytest
from in_process import call, printed, refuse, succeed

from tseval.runs import read_run

CASES = ["--case", "simple_agrmt", "--case", "vp_coord"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run the bundled model on two rows, in two runs, and on pairs without a known shared factor."""
    folder = tmp_path_factory.mktemp("words")
    pairs = '{"good": "the author laughs", "bad": "the author laugh", "verb": "laugh"}\n'
    (folder / "pairs.jsonl").write_text(pairs + pairs.replace("author", "pilot"))
    for name, chosen in (
        ("a", CASES),
        ("b", [*CASES, "--score", "critical"]),
        ("pairs", ["--suite", "pairs.jsonl"]),
    ):
        succeed("run", "--model", "bundled:lstm", *chosen, "--out", name, cwd=folder)
    return folder


def robustness(*arguments, cwd):
    return printed("analyze", "robustness", *arguments, cwd=cwd)


@pytest.mark.slow
def test_it_prints_what_limits_a_row_and_what_its_words_do(folder):
    printed = robustness("a", cwd=folder)
    assert "| verb (7 entries), 91% " in printed.replace("|  verb", "| verb")
    assert "0.700 swims" in printed
    assert "lstm: words limit the intervals of 2 of 2 rows" in printed
    assert "(fixed)" not in printed
    chosen = ["--case", "simple_npi_anim", "--quiet", "--out", "npi"]
    succeed("run", "--model", "bundled:lstm", *chosen, cwd=folder)
    printed = robustness("npi", cwd=folder)
    assert "| determiner (fixed) " in printed
    assert "| subject " in printed


@pytest.mark.slow
def test_json_holds_entries_factors_and_limits_and_csv_the_entries(folder):
    found = json.loads(robustness("a", "b", "--format", "json", cwd=folder))
    assert found["analysis"] == "robustness"
    assert {row["model"] for row in found["rows"]} == {"lstm (a)", "lstm (b)"}
    assert len(found["limits"]) == 4
    assert {row["factor"] for row in found["factors"]} == {"subject", "verb", "first_verb"}
    verdicts = read_run(folder / "a").verdicts
    assert robustness("a", "--format", "csv", "-o", "a.csv", cwd=folder) == ""
    for row in pd.read_csv(folder / "a.csv").to_dict("records"):
        own = verdicts[verdicts["construction"] == row["construction"]]
        has = own[f"{row['factor']}.entry"] == row["entry"]
        assert row["accuracy"] == own.loc[has, "correct"].mean()


@pytest.mark.slow
def test_one_row_can_be_chosen_and_its_words_are_drawn(folder, tmp_path):
    robustness("a", "b", "--case", "simple_agrmt", "--figure", tmp_path / "words.svg", cwd=folder)
    drawn = (tmp_path / "words.svg").read_text()
    # Both factors of the row; every word and both models are named.
    for text in ("by subject", "by verb", "laughs", "is tall", "author", "lstm (a)", "lstm (b)", "chance"):
        assert f"{text} -->" in drawn
    robustness("a", "--figure", tmp_path / "all.svg", cwd=folder)
    both = (tmp_path / "all.svg").read_text()
    assert "Short VP coordination" in both
    assert "by subject" not in both  # for several rows, the factor whose entries differ most


def test_accuracy_is_set_against_how_often_words_occur(folder, tmp_path):
    (tmp_path / "text").write_text("he laughs and swims .\nhe swims and is short and young and young .\n")
    (tmp_path / "more").write_text("she laughs .\n")
    named = ("--counts-from", tmp_path / "text", "--counts-from", tmp_path / "more")
    found = json.loads(robustness("a", *named, "--format", "json", cwd=folder))
    count = {row["entry"]: row["frequency"] for row in found["rows"] if row["factor"] == "verb"}
    assert (count["laughs"], count["swims"], count["is short"], count["is tall"]) == (2, 2, 1, 0)
    assert "| Frequency " in robustness("a", *named, cwd=folder).replace("|   F", "| F")
    assert "Frequency" not in robustness("a", cwd=folder)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["analyze", "robustness", "pairs"],
            "these runs do not state which words their items share, so tseval cannot analyse single words.\n"
            "  Score the suite again. For a data set, name the columns with such words: tseval run --cluster "
            "COLUMN\n",
        ),
        (["analyze", "robustness", "a", "--counts-from", "nowhere.txt"], "nowhere.txt"),
        (["export", "glmm", "a"], "Missing option '-o'"),
    ],
)
def test_bad_input_is_told_in_one_message(folder, arguments, said):
    assert said in refuse(*arguments, cwd=folder).stderr


def test_runs_are_written_for_lme4_with_the_formula(folder):
    done = succeed("export", "glmm", "a", "b", "-o", "both.csv", cwd=folder)
    assert done.stdout.startswith('library(lme4)\nverdicts <- read.csv("both.csv", ')
    assert "If the fit does not converge, write (1 | verb.entry) for (1 + model | verb.entry)." in done.stderr
    table = pd.read_csv(folder / "both.csv")
    for name in "ab":
        own, verdicts = table[table["model"] == f"lstm ({name})"], read_run(folder / name).verdicts
        assert own["correct"].tolist() == verdicts["correct"].astype(int).tolist()
        assert own["verb.entry"].tolist() == verdicts["verb.entry"].tolist()
    quiet = call("export", "glmm", "a", "-o", "one.csv", "--quiet", cwd=folder)
    assert quiet.stderr == ""


@pytest.mark.slowest
def test_the_page_has_the_figures_of_the_bundled_model(tmp_path):
    cases = ("simple_agrmt", "prep_anim", "prep_inanim")
    chosen = [word for case in cases for word in ("--case", case)]
    succeed("run", "--model", "bundled:lstm", *chosen, "--quiet", "--out", "run", cwd=tmp_path)
    printed = robustness("run", cwd=tmp_path)
    rows = {line.split("|")[1].strip(): line for line in printed.splitlines() if line.startswith("| ")}
    page = (Path(__file__).parents[2] / "docs/statistics.md").read_text("utf-8")
    told = {cells[1].strip(): cells for line in page.splitlines() if len(cells := line.split("|")) == 9}
    for name in ("Simple", "Across a PP"):
        _, _, items, accuracy, _, interval, worth, limit, _ = (cell.strip() for cell in told[name])
        shown = rows[name].replace("0.", ".")
        for cell in (items, accuracy, interval, worth):
            assert f" {cell} " in shown
        assert f" {limit}, " in shown
    verbs = [line for line in printed.splitlines() if line.startswith("| verb ")]
    across = next(line for line in verbs if "interests people" in line)
    assert "0.577 interests people" in across
    assert "0.980 is short" in across
    assert [line.split("|")[6].strip() for line in verbs] == ["–", "–"]
