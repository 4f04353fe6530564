"""`tseval table --over step` and `tseval analyze trajectory`, on checkpoints of a real training."""

import json
import re
from typing import Any

import pandas as pd
import pytest
from in_process import printed, refuse, succeed
from small import make_case, make_run, make_suite

from tseval.models.checkpoint import load_checkpoint
from tseval.runs import read_run

WORDS = (
    "author", "pilot", "guard", "chef", "boy", "king", "queen", "girl", "doctor", "teacher", "singer",
    "writer",
)  # fmt: skip
GRAMMAR = """---
construction: {}
phenomenon: Agreement
lexicon: lexicon.yaml
slots: {{subject: noun.a, verb: verb.main}}
features:
  number: subject.number
---
grammatical: the {{{{ subject }}}} {{{{ verb | agree(subject) }}}}{}
ungrammatical: the {{{{ subject }}}} {{{{ verb | disagree(subject) }}}}{}
"""
TRAIN = (
    "train", "lm", "--arch", "srn", "--train", "train.txt", "--valid", "train.txt", "--embedding", 8,
    "--hidden", 8, "--layers", 1, "--batch", 4, "--window", 8, "--epochs", 8, "--learning-rate", 0.03,
    "--seed", 3,    "--eval-suite", "./mine", "--eval-every", 150, "--quiet", "--no-figure",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Train a model with tseval, and keep a run of every evaluation."""
    folder = tmp_path_factory.mktemp("trajectory")
    lines = [
        f"the {noun}{ending} {verb} {end}"
        for noun in WORDS
        for ending, verb in (("", "laughs"), ("s", "laugh"), ("", "works"), ("s", "work"))
        for end in (".", "now .")
    ]
    (folder / "train.txt").write_text("\n".join(lines * 4))
    (folder / "mine").mkdir()
    (folder / "mine/lexicon.yaml").write_text(
        f"noun: {{a: [{', '.join(WORDS)}]}}\nverb: {{main: [laughs, works]}}\n"
    )
    (folder / "mine/one.jinja").write_text(GRAMMAR.format("One", "", ""))
    (folder / "mine/two.jinja").write_text(GRAMMAR.format("Two", " now", " now"))
    succeed(*TRAIN, "--eval-sample", 40, "--eval-runs", "kept", "--out", "srn.pt", cwd=folder)
    return folder


@pytest.mark.slow
def test_the_runs_of_a_training_are_those_of_its_own_early_evaluation(folder):
    rows = pd.read_parquet(folder / "srn.accuracy.parquet")
    runs = {
        run.manifest.model.details["step"]: run for run in map(read_run, sorted((folder / "kept").iterdir()))
    }
    assert [*runs] == sorted(set(rows["step"])) != []
    for step, run in runs.items():
        own = rows[rows["step"] == step]
        assert run.table()["n_correct"].tolist() == own["n_correct"].tolist()
        assert run.manifest.model.details["tokens"] == own["tokens"].iloc[0]
        assert run.manifest.suite.sample == "40 of each case, seed 0"
        assert run.manifest.model.name == "kept"


def test_programs_get_the_intervals_of_the_single_tables(folder):
    found = json.loads(printed("table", "kept", "--over", "step", "--format", "json", cwd=folder))
    for path in (folder / "kept").iterdir():
        table = json.loads(printed("table", path, "--format", "json", cwd=folder))
        step = int(path.name.removeprefix("step-"))
        mine = [row for row in found["rows"] if row["step"] == step]
        for row in table["rows"]:
            (same,) = (one for one in mine if one["construction"] == row["construction"])
            assert {
                name: same[name] for name in ("n_items", "accuracy", "low", "high")
            }.items() <= row.items()
        (mean,) = (one for one in mine if one["over"] == "All rows")
        (own,) = (one for one in table["means"] if one["over"] == "All rows")
        assert [mean[name] for name in ("accuracy", "low", "high")] == [
            own[name]["kept"] for name in ("accuracy", "low", "high")
        ]


def test_the_order_of_the_runs_does_not_matter(folder):
    paths = sorted((folder / "kept").iterdir())
    table = printed("table", "kept", "--over", "step", cwd=folder)
    assert printed("table", *paths[::-1], "--over", "step", cwd=folder) == table
    (heads,) = [line.split("|")[2:-1] for line in table.splitlines() if line.startswith("| kept on mine")]
    assert [f"step-{int(head.replace(',', '')):06d}" for head in heads] == [path.name for path in paths]


def test_a_trajectory_says_when_rows_rise_and_draws_them(folder):
    text = printed("analyze", "trajectory", "kept", "--figure", "a.svg", cwd=folder)
    words = " ".join(text.split())
    assert (
        "First above chance | Accuracy then | 95% interval | Always above chance from | At the end |" in words
    )
    assert "nan" not in words
    found = json.loads(printed("analyze", "trajectory", "kept", "--format", "json", cwd=folder))
    steps = sorted({row["step"] for row in found["rows"]})
    for rise in found["rises"]:
        own = [
            row for row in found["rows"] if all(row[name] == rise[name] for name in ("construction", "over"))
        ]
        above = [row["step"] for row in own if row["above"]]
        assert rise["first"] == min(above, default=None)
        assert above == [row["step"] for row in own if row["accuracy"] > 0.5 and row["p_holm"] < 0.05]
        (then,) = (row for row in own if row["step"] == rise["first"])
        assert (rise["accuracy"], rise["low"]) == (then["accuracy"], then["low"])
        assert rise["before"] == max((step for step in steps if step < rise["first"]), default=None)
    # The model learns this small language.
    assert {rise["settled"] is not None for rise in found["rises"]} == {True}
    drawn = (folder / "a.svg").read_text()
    assert [drawn.count(f"<!-- {title} -->") for title in ("One", "Two", "All 2 rows", "kept")] == [1] * 4


def test_items_and_measures_can_be_chosen(folder):
    text = printed("analyze", "trajectory", "kept", "--case", "one", "--over", "tokens", cwd=folder)
    assert "Items with case one." in text
    assert "One, number sing" in printed("table", "kept", "--over", "step", "--by", "number", cwd=folder)


def test_a_checkpoint_of_tseval_knows_its_step(folder):
    arguments = "--suite", "./mine", "--sample", 40, "--out", "best", "--quiet"
    printed("run", "--model", "srn.pt", *arguments, cwd=folder)
    known = read_run(folder / "best").manifest.model.details
    # The kept checkpoint is that with the best validation, which may not be the last.
    course: Any = load_checkpoint(folder / "srn.pt").training["course"]
    best = min(course, key=lambda moment: moment["validation_perplexity"])
    assert (known["step"], known["tokens"]) == (best["step"], best["tokens"])
    both = succeed("table", "best", "kept", "--over", "step", cwd=folder).stdout
    assert "**srn by step**" in both
    assert f"|   {best['step']} |" in both
    assert "**kept by step**" in both


def test_a_new_training_refuses_the_runs_of_another(folder):
    said = refuse(*TRAIN, "--eval-sample", 40, "--eval-runs", "kept", "--out", "new.pt", cwd=folder).stderr
    assert re.search(
        r"already holds runs of an earlier training, such as .*kept/step-.*\n  Name another folder with "
        r"--eval-runs",
        said,
    )


SUITE = make_suite(make_case("a", [("the author laughs", "the author laugh")] * 3))


@pytest.fixture
def runs(tmp_path):
    for name, details in (("m-step5", {}), ("m_step5", {}), ("m", {}), ("other", {"step": 7})):
        make_run(SUITE, {"laugh": -2.0}, path=tmp_path / "runs" / name, model=name, **details)
    return tmp_path / "runs"


def test_a_row_above_chance_before_the_first_step_is_named(tmp_path):
    """An untrained model that by chance prefers a word is correct wherever that word decides."""
    nouns = [f"noun{n}" for n in range(40)]
    suite = make_suite(make_case("a", [(f"the {noun} laughs", f"the {noun} laugh") for noun in nouns]))
    for step, worse in ((0, -2.0), (10, 0.0)):
        make_run(suite, {"laugh": worse}, path=tmp_path / f"{step}", model="m", step=step)
    text = printed("analyze", "trajectory", "0", "10", cwd=tmp_path)
    assert (
        "- m: above chance at 0, before any training, because of the words in which all pairs differ: S"
        in text
    )
    assert "above chance at 0" not in printed("analyze", "trajectory", "10", cwd=tmp_path)


def test_a_run_without_a_step_is_left_out_and_named(runs):
    done = succeed("table", "m-step5", "m", "other", "--over", "step", cwd=runs)
    assert done.stderr.splitlines()[0] == (
        "m: tseval leaves this run out, because it does not state the training step of its checkpoint"
    )
    assert "**m by step**" in done.stdout
    assert "**other by step**" in done.stdout


def test_runs_of_which_no_step_is_known_are_refused(runs):
    for command, what in (("table m --over step", "step"), ("table other --over tokens", "tokens")):
        said = refuse(*command.split(), cwd=runs).stderr
        assert f"no run states the training {what} of its checkpoint" in said


@pytest.mark.parametrize(
    ("names", "over"),
    [
        (("step100", "step200", "step300"), "step"),
        (("checkpoint-100", "checkpoint-200", "checkpoint-300"), "step"),
        (("epoch100", "epoch200", "epoch300"), "epoch"),
    ],
)
def test_checkpoints_that_are_called_by_their_number_alone_are_one_training(tmp_path, names, over):
    for number, name in enumerate(names):
        make_run(SUITE, {"laugh": -1.0 - number}, path=tmp_path / f"run{number}", model=name)
    arguments = ["run0", "run1", "run2", "--over", over]
    found = json.loads(printed("table", *arguments, "--json", cwd=tmp_path))
    assert sorted({(row["training"], row[over]) for row in found["rows"]}) == [
        ("native", 100), ("native", 200), ("native", 300),
    ]  # fmt: skip
    assert printed("analyze", "trajectory", *arguments, cwd=tmp_path).count("First above chance |") == 1
    if over == "epoch":
        said = refuse("table", *arguments[:3], "--over", "step", cwd=tmp_path).stderr
        assert said.endswith("\n  Some runs state the training epoch instead: to use it, add --over epoch.\n")


def test_a_run_that_joins_no_other_is_named_with_what_joins(tmp_path):
    for place, step, hidden in (("a", 1, 8), ("b", 2, 9)):
        make_run(SUITE, {"laugh": -2.0}, path=tmp_path / place, model="m", step=step, parameters=hidden)
    assert succeed("analyze", "trajectory", "a", "b", cwd=tmp_path).stderr == (
        "each of these trainings has only one run: m #1, m #2 (tseval joins runs whose models differ only in "
        "the number in their name)\n"
    )


def test_two_runs_of_one_step_are_refused_and_both_named(runs):
    done = refuse("table", "m-step5", "m_step5", "--over", "step", cwd=runs)
    assert (
        "m-step5 and m_step5 are two runs of the training m at the same step, 5.\n  Leave out one run"
        in done.stderr
    )


def test_trainings_of_one_name_but_other_models_stay_apart(tmp_path):
    for place, step, hidden in (("a", 1, 8), ("b", 2, 8), ("c", 2, 9)):
        make_run(SUITE, {"laugh": -2.0}, path=tmp_path / place, model="m", step=step, parameters=hidden)
    done = succeed("table", "a", "b", "c", "--over", "step", "--format", "json", cwd=tmp_path)
    assert done.stderr.startswith("each of these trainings has only one run: m #2 (")
    found = json.loads(done.stdout)
    steps = {(row["training"], row["step"]) for row in found["rows"]}
    assert steps == {("m #1", 1), ("m #1", 2), ("m #2", 2)}


def test_over_stands_alone_and_knows_its_features(runs):
    for more, said in (
        (["--group"], "--over cannot be combined"),
        (["--against", "m"], "--over cannot be combined"),
        (["--by", "colour"], "have no feature with the name 'colour'"),
    ):
        assert said in refuse("table", "m-step5", "--over", "step", *more, cwd=runs).stderr


@pytest.mark.slow
def test_a_sample_is_the_same_at_any_time_and_a_table_says_how_it_was_drawn(tmp_path):
    arguments = "run", "--model", "bundled:lstm", "--case", "simple_agrmt", "--quiet"
    outputs = [
        printed(*arguments, "--sample", 10, "--out", f"run{n}", *more, cwd=tmp_path)
        for n, more in enumerate(([], [], ["--seed", 1]))
    ]
    items = [read_run(tmp_path / f"run{n}").verdicts["item"].tolist() for n in range(3)]
    assert items[0] == items[1] != items[2]
    assert items[0] != list(range(10))
    assert "- The items are a random sample: 10 of each case, seed 0." in outputs[0]
    assert "seed 1." in outputs[2]
    assert outputs[0] == outputs[1]
    assert printed("verify", "run0", cwd=tmp_path)
