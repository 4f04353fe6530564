"""`tseval table --group` and `--against`, as users call them."""

import csv
import io
import json
from statistics import stdev

import pytest
from in_process import call, printed, refuse, succeed
from small import finished_run, make_case, make_key, make_manifest, make_run, make_suite, score

from tseval.runs import start_run

VERBS = {"laughs": "laugh", "swims": "swim", "smiles": "smile"}
ROWS = [(f"the {noun} {good}", f"the {noun} {bad}") for noun in "abcd" for good, bad in VERBS.items()]
SUITE = make_suite(make_case("one", ROWS))


def make(path, wrong, fingerprint, architecture="srn", hidden=8, **more):
    """Write a run of a model that fails on some verbs."""
    words = {bad: 0.0 if good in wrong else -2.0 for good, bad in VERBS.items()}
    key = make_key(SUITE, path.name, fingerprint * 64)
    scored = score(SUITE, words, **more)
    manifest, scored, verdicts = finished_run(SUITE, key, scored)
    details = {"architecture": architecture, "hidden": hidden, "validation_perplexity": 90.0 + len(wrong)}
    manifest = make_manifest(SUITE, key, scored, verdicts, **details)
    with start_run(path, key) as writer:
        writer.finish(manifest, scored, verdicts, {"table.md": "", "table.csv": ""})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make runs of two seeds of an SRN, one GRU, a wider SRN, and the first SRN again."""
    folder = tmp_path_factory.mktemp("group")
    make(folder / "srn", (), "a")
    make(folder / "srn-2", ("swims",), "b")
    make(folder / "gru", ("swims", "smiles"), "c", "gru")
    make(folder / "wide", (), "d", hidden=16)
    make(folder / "again", (), "a")
    make(folder / "lost", (), "e", "lost", unknown=[*VERBS, *VERBS.values()])
    make(folder / "lost-2", (), "f", "lost", unknown=[*VERBS, *VERBS.values()])
    return folder


def table(folder, *arguments):
    return printed("table", "--group", *arguments, cwd=folder)


def test_seeds_of_one_architecture_are_one_column_with_their_spread(folder):
    printed = table(folder, "srn", "srn-2", "gru", "wide")
    head = [cell.strip() for cell in printed.splitlines()[2].split("|")]
    assert head[1:-1] == ["small", "srn", "95% interval", "gru", "95% interval", "wide", "95% interval"]
    line = next(line for line in printed.splitlines() if line.startswith("| Simple"))
    spread = f"{int(stdev([1, 2 / 3]) * 1000) / 1000:.3f}"
    cells = [cell.strip() for cell in line.split("|")]
    assert (cells[2], cells[4], cells[6]) == (f"0.833 ± {spread}", "0.333", "1.000")
    assert "- Seeds: srn 2, gru 1, wide 1. Accuracies are means over seeds" in printed


def test_programs_get_seeds_spread_and_interval(folder):
    row = json.loads(table(folder, "srn", "srn-2", "--format", "json"))["rows"][0]
    assert (row["model"], row["n_seeds"], row["n_items"]) == ("srn", 2, 12)
    assert row["spread"] == pytest.approx(stdev([1, 2 / 3]))
    assert row["low"] < row["accuracy"] < row["high"]


def test_architectures_have_the_ranks_that_their_means_may_have(folder):
    printed = table(folder, "srn", "srn-2", "gru", "lost", "lost-2", "--notes")
    line = next(line for line in printed.splitlines() if line.startswith("| Rank by mean accuracy"))
    cells = [cell.strip() for cell in line.split("|")]
    assert (cells[2], cells[4], cells[6]) == ("1 [1–3]", "2 [1–3]", "–")
    assert "- No clear difference in mean accuracy: srn, gru, lost." in printed
    assert "- A row has no mean if no item is decidable for all seeds" in printed
    rows = json.loads(table(folder, "srn", "srn-2", "gru", "--format", "json"))["rows"]
    ranks = {row["model"]: (row["rank"], row["rank_low"], row["rank_high"]) for row in rows if row["over"]}
    assert ranks == {"srn": (1, 1, 2), "gru": (2, 1, 2)}
    assert "Rank by mean accuracy" not in table(folder, "srn", "srn-2")


def test_means_differ_from_those_of_an_architecture_a_model_or_a_run(folder):
    names = ("srn", "srn-2", "gru", "wide")
    printed = table(folder, *names, "--against", "srn")
    assert "**Differences from srn**" in printed
    head = [cell.strip() for cell in printed.splitlines()[2].split("|")]
    assert head[1:-1] == ["small", "srn", "gru", "95% interval", "", "wide", "95% interval", ""]
    line = next(line for line in printed.splitlines() if line.startswith("| Simple"))
    cells = [cell.strip() for cell in line.split("|")]
    assert (cells[2], cells[3], cells[6]) == ("0.833 ± 0.235", "-0.500", "+0.166")
    assert "decidable for all seeds of both" in printed
    assert "- With several seeds, intervals and tests also generalise to other seeds." in printed
    of_a_run = table(folder, "gru", "srn", "wide", "--against", "srn-2")
    lines, others = ([line for line in one.splitlines() if "|" in line] for one in (printed, of_a_run))
    assert lines[:6] == others[:6], "a model stands for its architecture"


def test_a_run_stands_for_its_own_architecture_even_if_its_model_has_the_name_of_another(folder, tmp_path):
    make(tmp_path / "gru", (), "9")  # an SRN, despite its name
    make(tmp_path / "gru-2", ("swims",), "8", "gru")
    make(tmp_path / "gru-3", ("swims",), "7", "gru")
    names = (folder / "srn-2", tmp_path / "gru-2", tmp_path / "gru-3")
    ended = succeed("table", "--group", *names, "--against", tmp_path / "gru", cwd=folder)
    assert "**Differences from srn**" in ended.stdout
    assert "warning: The group srn is a mean over models whose names differ" in ended.stderr
    assert "**Differences from gru**" in table(folder, *names, folder / "srn", "--against", "gru")


def test_programs_get_how_many_seeds_a_difference_is_of(folder):
    told = table(folder, "srn", "srn-2", "gru", "--against", "gru", "--format", "json")
    row = json.loads(told)["rows"][0]
    assert (row["model"], row["n_seeds_model"], row["against"], row["n_seeds_against"]) == (
        "srn", 2, "gru", 1,
    )  # fmt: skip
    assert row["difference"] == pytest.approx(0.5)
    assert row["df"] < 11, "that of seeds and words"
    alone = call("table", "--against", "gru", "srn", "gru", "--format", "json", cwd=folder)
    row = json.loads(alone.stdout)["rows"][0]
    assert "n_seeds_model" not in row
    assert row["df"] == 11, "that of words alone"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["srn", "gru", "wide"], "no two of these models differ only in their seed"),
        (
            ["srn", "again"],
            (
                "srn and again are two runs of the same model, not of two models with different seeds.\n  "
                "Leave out one of the two"
            ),
        ),
        (["srn", "srn-2", "--against", "srn"], "srn is the only model, so there is nothing to compare"),
        (["gru", "wide", "--against", "gru"], "no two of these models differ only in their seed"),
    ],
)
def test_what_cannot_be_averaged_is_one_message(folder, arguments, message):
    assert message in refuse("table", "--group", *arguments, cwd=folder).stderr


# Three models on two rows; one model knows no word.
@pytest.fixture(scope="module")
def three(tmp_path_factory):
    folder = tmp_path_factory.mktemp("against")
    suite = make_suite(*(make_case(name, ROWS, construction=name) for name in ("Simple", "Coordination")))
    make_run(suite, {"laugh": -2.0, "swim": -2.0, "smile": -2.0}, path=folder / "good", model="good")
    make_run(suite, {"laugh": -2.0, "swims": -2.0, "smile": -2.0}, path=folder / "fair", model="fair")
    make_run(suite, {}, path=folder / "lost", model="lost", unknown=[*VERBS, *VERBS.values()])
    return folder


def compared(folder, *arguments):
    return printed("table", *arguments, cwd=folder)


def test_the_table_shows_difference_interval_and_word(three):
    printed = compared(three, "--against", "fair", "good", "fair")
    assert "**Differences from fair**" in printed
    line = next(line for line in printed.splitlines() if line.startswith("| Simple"))
    cells = [cell.strip() for cell in line.split("|")]
    assert cells[1:4] == ["Simple", "0.666", "+0.333"]
    assert cells[5] == "undecided"  # two rows are too few
    assert "| All 2 rows" in printed
    assert "The runs name no lexical factors, so 95% intervals treat items as independent" in printed


def test_a_model_is_named_by_its_heading_or_by_its_run(three):
    expected = compared(three, "--against", "fair", "fair", "good", "--format", "csv")
    for names in (("good",), ("fair", "good"), ("good", "fair")):
        assert compared(three, "--against", three / "fair", *names, "--format", "csv") == expected


def test_programs_get_every_number(three):
    found = json.loads(compared(three, "--against", "good", "good", "fair", "--format", "json"))
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
    text = compared(three, "--against", "good", "good", "fair", "--format", "csv")
    of_csv = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["difference"]) for row in of_csv] == [row["difference"] for row in rows]
    assert [row["n_items"] for row in of_csv] == ["12", "12", "24"]


def test_what_cannot_be_decided_has_dashes_and_reasons(three):
    printed = compared(three, "--against", "good", "good", "lost", "fair")
    assert "- A model without a value in a row has no mean over this row." in printed
    assert "- A dash: no item is decidable for both models, so there is no difference." in printed
    line = next(line for line in printed.splitlines() if line.startswith("| Simple"))
    assert [cell.strip() for cell in line.split("|")][3:6] == ["–", "–", "–"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--against", "goood", "good", "fair"],
         "--against goood: no run has a model or a folder with this name.\n  Did you mean 'good'?"),
        (["--against", "good", "good"], ("good is the only model, so there is nothing to compare it "
                                         "with.\n  Name another")),
        (["--against", "good", "good", "bhatt2020"], "a leaderboard of published accuracies"),
        (["--against", "good", "good", "fair", "--margin", "1"], "above 0 and below 1.\n  Write the"),
        (["good", "fair", "--margin", "0.1"], "Add --against MODEL, or leave out --margin."),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_one_message(three, arguments, message):
    assert message in refuse("table", *arguments, cwd=three).stderr
