"""Formal languages on the command line: expand, run, table, train."""

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from in_process import refuse, run_process, succeed

from tseval.models import Vocabulary
from tseval.models.checkpoint import load_checkpoint, save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.suites import load_suite
from tseval.suites.formal.languages import parse_language

DYCK = "dyck(k=2,m=2,test=600,train=400)"


def save(path, alphabet, seed=0):
    torch.manual_seed(seed)
    model = LanguageModel(Sizes("lstm", len(alphabet) + 2, 8, 12, 1))
    for parameter in model.output.parameters():
        torch.nn.init.normal_(parameter)
    save_checkpoint(
        path, model, Vocabulary(("<eos>", "<unk>", *alphabet), lowercase=False), training={},
        validation_perplexity=None,
    )  # fmt: skip
    return path


def test_expand_shows_strings_with_their_features():
    command = ["tseval", "expand", "dyck(k=4,m=3,train=1000)", "--limit", "10"]
    shown = run_process(command, check=True)
    lines = [line.split("\t") for line in shown.stdout.splitlines()]
    assert len(lines) == 10
    for name, string, *features in lines:
        assert name == "dyck_k4_m3"
        depth = longest = 0
        for symbol in string.split():
            depth += 1 if symbol[0] == "(" else -1
            longest = max(longest, depth)
        assert features[:2] == [f"length={len(string.split())}", f"depth={longest}"]
        assert [feature.partition("=")[0] for feature in features[2:]] == [
            "max_distance", "max_attractors", "unseen_stacks",
        ]  # fmt: skip


def test_expand_writes_the_other_formats(tmp_path):
    succeed("expand", "cross_serial(8)", "--limit", 3, "--format", "jsonl", "-o", tmp_path / "cs.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "cs.jsonl").read_text().splitlines()]
    assert [row["item"] for row in rows] == [0, 1, 2]
    assert all(row["features"]["m"] == row["sentences"]["string"].split().count("a") for row in rows)
    succeed("expand", "cross_serial(8)", "--sample", 5, "--format", "parquet", "-o", tmp_path / "cs.parquet")
    assert len(pd.read_parquet(tmp_path / "cs.parquet")) == 5


def test_runs_of_two_models_stand_side_by_side(tmp_path):
    alphabet = parse_language(DYCK).alphabet
    for seed, name in enumerate(("one", "two")):
        model = save(tmp_path / f"{name}.pt", alphabet, seed)
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
        (("expand", "dyck(4,3"), "there is no suite 'dyck(4,3'.\n  Did you mean 'dyck'?"),
        (("expand", "dyck"), "k and m must be given.\n  dyck(k, m, train"),
        (("expand", "dyck(4,3)", "--case", "x"), "suite 'dyck_k4_m3' has no case 'x'"),
        (("expand", "dyck(4,3):number"), "is a formal language: it has no grammars"),
        (("lint", "dyck(4,3)"), "tseval run, expand and train can use it"),
        (("export", "lm-eval", DYCK, "-o", "tasks"), "by its score 'choices', for which lm-eval has no"),
        (("run", "--model", "bundled:lstm", "--suite", DYCK, "--out", "run"),
         "does not know the symbols )1, )2, so"),
        (("run", "--model", "bundled:lstm", "--suite", DYCK, "--by", "atractors"),
         "Did you mean 'attractors'?"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_one_message(tmp_path, arguments, said):
    assert said in refuse(*arguments, cwd=tmp_path).stderr
    assert list(tmp_path.iterdir()) == []


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
    # Two bracket types: better than chance, and what the finished model scores in a run of its own.
    succeed("run", "--model", "m.pt", "--suite", spec, "--out", "run", "--quiet", cwd=strings)
    final = pd.read_parquet(strings / "run" / "verdicts.parquet")["correct"]
    assert final.sum() in accuracy["n_correct"].tolist()
    # What the paper reports of this language: the largest error over attractors, from the run's own verdicts.
    best = accuracy[accuracy["n_correct"] == final.sum()]
    verdicts = pd.read_parquet(strings / "run" / "verdicts.parquet")
    errors = 1 - verdicts.groupby("attractors")["correct"].mean()
    assert errors.max() == pytest.approx(best["headline_error"].iloc[-1])
    # The loss on its strings, one string and one symbol after the other.
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
    assert "asks about the symbol )3, which the training text does not hold" in done.stderr
    assert not (strings / "m.pt").exists()
