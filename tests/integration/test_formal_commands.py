"""Formal languages on the command line: expand, run, table, analyze, train."""

import io
import json

import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from forged import model_of_symbols
from in_process import call, refuse, run_process, succeed

from tseval.models.checkpoint import load_checkpoint
from tseval.suites import load_suite
from tseval.suites.formal.languages import parse_language

DYCK = "dyck(k=2,m=2,test=600,train=400)"


def test_expand_shows_strings_with_their_features():
    shown = run_process(["tseval", "expand", "dyck(k=4,m=3,train=1000)", "--limit", "10"], check=True).stdout
    header, *lines = shown.splitlines()
    named = ["depth", "max_distance", "max_attractors", "unseen_stacks"]
    assert header.split("\t") == ["case", "string", "length", *named]
    for line in lines:
        name, string, *features = line.split("\t")
        assert (name, features[0]) == ("dyck_k4_m3", f"length={len(string.split())}")
        assert [feature.partition("=")[0] for feature in features[1:]] == named
    assert len(lines) == 10


@pytest.mark.slow
def test_runs_of_two_models_stand_side_by_side(tmp_path):
    for seed, name in enumerate(("one", "two")):
        model = tmp_path / f"{name}.pt"
        model_of_symbols(model, DYCK, "lstm", seed)
        run = succeed("run", "--model", model, "--suite", DYCK, "--by", "distance", "--out", tmp_path / name)
        assert "| Dyck-(2,2), distance 0 " in run.stdout
        assert "|score:choices|" in run.stderr
    table = succeed(
        "table", "one", "two", "--by", "distance", "--by", "unseen_stack", "--format", "csv", cwd=tmp_path
    )
    (tmp_path / "table.csv").write_text(table.stdout)
    rows = pd.read_csv(tmp_path / "table.csv")
    verdicts = pq.read_table(tmp_path / "one" / "verdicts.parquet").to_pandas()
    assert rows.groupby("model")["n_items"].sum().tolist() == [len(verdicts)] * 2
    counted = verdicts.groupby(["distance", "unseen_stack"])["correct"].sum().reset_index()
    own = rows[rows["model"] == "one"].sort_values(["distance", "unseen_stack"])
    assert own["n_correct"].tolist() == counted["correct"].tolist()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("expand", "dick(4,3)"), "no formal language 'dick'.\n  Did you mean 'dyck'?"),
        (("expand", "dyck"), "the language needs a value for k and m.\n  Write dyck(k, m, train"),
        (("expand", "dyck(4,3):number"), "is a formal language, so it has no grammars"),
        (("lint", "dyck(4,3)"), "Use formal languages with tseval run"),
        (("export", "lm-eval", DYCK, "-o", "tasks"), ("--score choices, which a task of lm-eval cannot "
                                                      "express")),
        (("run", "--model", "bundled:lstm", "--suite", DYCK, "--out", "run"),
         "has no word for the symbols )1, )2 in its vocabulary, so"),
        (("run", "--model", "bundled:lstm", "--suite", DYCK, "--by", "atractors"),
         "Did you mean 'attractors'?"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_one_message(tmp_path, arguments, said):
    assert said in refuse(*arguments, cwd=tmp_path).stderr
    assert list(tmp_path.iterdir()) == []


SUITES = {
    "dyck": ("dyck(2,2,test=900,train=400)", "distance"),
    "generalised": ("generalised_dyck(pairs=2,length=10,train=400,test=200)", "attractors"),
    "cross": ("cross_serial(3,test=300)", "m_plus_n"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Run two models on each language, each in its own directory."""
    folder = tmp_path_factory.mktemp("formal")
    for name, (spec, _) in SUITES.items():
        for seed in (0, 1):
            model_of_symbols(folder / f"{name}$_{seed}.pt", spec, "lstm", seed)
            path = folder / f"{name}$_{seed}.pt"
            succeed("run", "--model", path, "--suite", spec, "--out", folder / f"{name}{seed}", "--quiet")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_every_number_is_that_of_the_verdicts(runs, name):
    feature = SUITES[name][1]
    done = succeed("analyze", "formal", f"{name}0", f"{name}1", "--format", "csv", cwd=runs)
    rows = pd.read_csv(io.StringIO(done.stdout))
    for seed in (0, 1):
        own = rows[rows["model"] == f"{name}$_{seed}"]
        wrong = 1 - pd.read_parquet(runs / f"{name}{seed}" / "verdicts.parquet").set_index(feature)["correct"]
        error = wrong.groupby(level=0).mean()
        value = 1 - error if name == "dyck" else error
        summary = {"dyck": value.mean(), "generalised": value.max(), "cross": wrong.mean()}[name]
        assert own["at"].tolist()[:-1] == error.index.tolist()
        assert own["value"].tolist() == pytest.approx([*value, summary])
        assert own["n_items"].tolist()[-1] == len(wrong)


@pytest.mark.parametrize("name", SUITES)
def test_seeds_give_means_with_the_spread_between_them(runs, name):
    arguments = ("analyze", "formal", f"{name}0", f"{name}1")
    done = succeed(*arguments, "--group", "--format", "csv", "--figure", "g.svg", cwd=runs)
    assert (runs / "g.svg").read_text().rstrip().endswith("</svg>")
    means = pd.read_csv(io.StringIO(done.stdout))
    rows = pd.read_csv(io.StringIO(call(*arguments, "--format", "csv", cwd=runs).stdout))
    of_seeds = [own.reset_index(drop=True) for _, own in rows.groupby("model", sort=False)]
    values = pd.concat([own["value"] for own in of_seeds], axis=1)
    assert means["model"].unique().tolist() == ["lstm"]
    assert means["at"].tolist()[:-1] == of_seeds[0]["at"].tolist()[:-1]
    assert means["value"].tolist() == pytest.approx(values.mean(axis=1).tolist())
    assert means["spread"].tolist() == pytest.approx(values.std(axis=1).tolist())
    inside = means["low"].le(means["value"] + 1e-9) & means["high"].ge(means["value"] - 1e-9)
    assert inside.tolist() == [True] * (len(means) - 1) + [False]  # the headline has no interval
    printed = call(*arguments, "--group", cwd=runs).stdout
    assert "- Seeds: lstm 2. Means over seeds, ± the standard deviation between seeds" in printed


def test_readers_get_a_table_and_programs_all_digits(runs):
    table = call("analyze", "formal", "generalised0", "generalised1", cwd=runs).stdout
    assert table.startswith("**Error on generalised_dyck_2_10**")
    assert "| Largest " in table
    assert "- Source: Bernardy" in table
    *rows, last = json.loads(call("analyze", "formal", "generalised0", "--format", "json", cwd=runs).stdout)[
        "rows"
    ]
    assert (last["by"], last["at"], last["value"]) == ("largest", None, max(row["value"] for row in rows))


@pytest.fixture
def strings(tmp_path):
    language = parse_language("generalised_dyck(pairs=2,length=8,train=600,valid=100,test=100)")
    for split in ("train", "valid"):
        lines = [text + "\n" for block in language.draw(split) for text in block.texts(language.alphabet)]
        (tmp_path / f"{split}.txt").write_text("".join(lines))
    return tmp_path


COMMAND = (
    "train lm --arch lstm --train train.txt --valid valid.txt --embedding 8 --hidden 12 --layers 1 --epochs 3"
)
TRAIN = [*f"{COMMAND} --batch 8 --window 9 --quiet --no-figure --learning-rate 0.01".split(), "--out", "m.pt"]


@pytest.mark.slow
def test_error_is_recorded_along_a_training_beside_the_loss(strings):
    spec = "generalised_dyck(pairs=2,length=8,train=600,valid=100,test=100)"
    succeed(*TRAIN, "--eval-suite", spec, cwd=strings)
    accuracy = pd.read_parquet(strings / "m.accuracy.parquet")
    curves = pd.read_parquet(strings / "m.curves.parquet")
    assert set(accuracy["suite"]) == {"generalised_dyck_2_8"}
    losses = curves.dropna(subset="validation_loss").set_index("step")["validation_loss"]
    assert len(losses.loc[accuracy["step"]]) == len(accuracy) >= 3
    # Two bracket types: better than chance, and equal to a separate run of the finished model.
    succeed("run", "--model", "m.pt", "--suite", spec, "--out", "run", "--quiet", cwd=strings)
    final = pd.read_parquet(strings / "run" / "verdicts.parquet")["correct"]
    assert final.sum() in accuracy["n_correct"].tolist()
    # The paper's number for this language: the largest error over attractors, from the run's own verdicts.
    best = accuracy[accuracy["n_correct"] == final.sum()]
    verdicts = pd.read_parquet(strings / "run" / "verdicts.parquet")
    errors = 1 - verdicts.groupby("attractors")["correct"].mean()
    assert errors.max() == pytest.approx(best["headline_error"].iloc[-1])
    # The loss on its strings, one string and one symbol at a time.
    model, vocabulary = (checkpoint := load_checkpoint(strings / "m.pt")).model, checkpoint.vocabulary
    ids, nats = vocabulary.ids(), []
    for item in load_suite(spec).cases[0].items():
        symbols = [0, *(ids[symbol] for symbol in next(iter(item.sentences.values())).split()), 0]
        outputs, _ = model(torch.tensor(symbols[:-1])[:, None], model.initial_state(1))
        logs = model.output(outputs[:, 0]).log_softmax(1)
        nats += [-logs[place, symbol].item() for place, symbol in enumerate(symbols[1:])]
    assert best["string_loss"].iloc[-1] == pytest.approx(sum(nats) / len(nats), abs=1e-5)
    assert final.mean() > 0.5


def test_a_training_text_of_another_language_is_refused_before_training(strings):
    done = refuse(*TRAIN, "--eval-suite", "generalised_dyck(pairs=3,length=8)", cwd=strings)
    assert "this suite needs the symbol )3, but the training text does not have it" in done.stderr
    assert not (strings / "m.pt").exists()
