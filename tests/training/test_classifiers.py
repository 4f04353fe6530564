"""Training of classifiers: the examples, their order, the saved data, and stops that change nothing."""

import math
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from small import make_case, make_suite
from small_training import Quiet, assert_same, curves, interrupt, outcome, rewrite

from tseval.errors import TrainingError
from tseval.models.checkpoint import load_checkpoint
from tseval.models.network import TASKS, Classifier, Sizes
from tseval.training.classifier import (
    Examples,
    epoch_batches,
    make_vocabulary,
    read_split,
    train_classifier,
    validate,
)
from tseval.training.loop import Destination
from tseval.training.settings import ClassifierSettings

NUMBER = TASKS["number"]
NOUNS = {"author": 0, "pilot": 0, "authors": 1, "pilots": 1}


def sentences(count, seed=0, chains=3):
    """Make nouns joined by `near`, with the number of the first noun."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        nouns = draw.choices(list(NOUNS), k=draw.randint(1, chains))
        found.append((" near ".join(nouns), NOUNS[nouns[0]]))
    return found


TRAIN, VALID = sentences(120), sentences(50, seed=1)
WORDS = make_vocabulary(TRAIN, min_count=1, lowercase=False)


@pytest.fixture
def train(tmp_path):
    """Return a function that trains a small classifier; an epoch has 15 batches."""

    def train(out="model.pt", arch="drnn", *, listener=None, resume=False, sizes=None, data=None, **settings):
        chosen = {"epochs": 3, "patience": None, "batch": 8, "learning_rate": 0.02}
        how = ClassifierSettings(**chosen | settings)
        torch.manual_seed(how.seed)
        shape = {"embedding": 6, "hidden": 10, "layers": 1, "dropout": 0.1, "task": "number"} | (sizes or {})
        model = Classifier(Sizes(arch, len(WORDS), **shape), how.initial_range)
        destination = Destination(tmp_path / out, {"command": "tseval train number"}, resume=resume)
        train, valid = (Examples.encode(split, WORDS) for split in data or (TRAIN, VALID))
        return train_classifier(model, WORDS, (train, valid), how, destination, listener or Quiet())

    return train


class Stopping(Quiet):
    """A listener that stops the training after this many batches."""

    def __init__(self, step):
        super().__init__()
        self.step = step

    def read(self, step, done, loss):
        if step >= self.step:
            interrupt()


def split_suite(**cases):
    """Make a suite with a case for each split, from sentences and their labels."""
    wrong = {"<singular>": "<plural>", "<plural>": "<singular>"}
    return make_suite(
        *(
            make_case(
                name,
                [(f"{text} {label}", f"{text} {wrong[label]}") for text, label in rows],
                labels=("right", "wrong"),
            )
            for name, rows in cases.items()
        ),
        terminator=None,
    )


ROWS = [("the author", "<singular>"), ("the authors", "<plural>")]


def test_an_example_is_what_stands_before_the_label_and_which_label_is_right():
    suite = split_suite(train=ROWS, test=[("the pilot", "<singular>")], dev=ROWS[::-1])
    assert read_split([suite], NUMBER, ("train",)) == [("the author", 0), ("the authors", 1)]
    assert read_split([suite], NUMBER, ("valid", "dev")) == [("the authors", 1), ("the author", 0)]
    assert len(read_split([suite, suite], NUMBER, ("train",))) == 4


def test_an_epoch_reads_every_example_once_neighbours_in_length_together_in_another_order_each_time():
    lengths = torch.tensor([len(text.split()) for text, _ in TRAIN])
    first, again, second = (epoch_batches(lengths, 8, 1, epoch) for epoch in (1, 1, 2))
    for batches in (first, second):
        assert sorted(torch.cat(batches).tolist()) == list(range(len(TRAIN)))
        spans = sorted((int(lengths[rows].min()), int(lengths[rows].max())) for rows in batches)
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert [rows.tolist() for rows in first] == [rows.tolist() for rows in again]
    assert [rows.tolist() for rows in first] != [rows.tolist() for rows in second]
    assert not torch.equal(torch.cat(first), torch.cat(epoch_batches(lengths, 8, 2, 1)))


@pytest.mark.parametrize("arch", ["drnn", "eirnn", "lstm"])
def test_an_interrupted_run_goes_on_to_the_same_result(tmp_path, train, arch, monkeypatch):
    monkeypatch.setattr("tseval.training.loop.READ_EVERY", 0)  # report every batch
    train("whole.pt", arch)
    for step in (7, 15, 38):  # within an epoch, at its end, and within the last epoch
        with pytest.raises(KeyboardInterrupt):
            train("parts.pt", arch, resume=True, listener=Stopping(step))
        assert torch.load(tmp_path / "parts.pt.resume", weights_only=True)["course"]["step"] == step
    train("parts.pt", arch, resume=True)
    assert_same(outcome(tmp_path, "whole"), outcome(tmp_path, "parts"))
    whole, parts = (load_checkpoint(tmp_path / name) for name in ("whole.pt", "parts.pt"))
    assert whole.training["course"] == parts.training["course"]
    assert not (tmp_path / "parts.pt.resume").exists()


@pytest.fixture
def stopped(tmp_path, train):
    """Return the resume file of a training that was stopped at the end of its first epoch."""
    with pytest.raises(KeyboardInterrupt):
        train(listener=Quiet({1: interrupt}))
    return tmp_path / "model.pt.resume"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"patience": 2}, "it began with patience None, but you give 2 now"),
        ({"sizes": {"task": "grammaticality"}}, "task 'number', but you give 'grammaticality' now"),
        ({"data": (TRAIN, [(VALID[0][0], 1 - VALID[0][1]), *VALID[1:]])}, "another validation text"),
    ],
)
def test_a_changed_setting_is_named_and_the_resume_file_stays(train, stopped, changes, message):
    content = stopped.read_bytes()
    with pytest.raises(TrainingError, match=message):
        train(resume=True, **changes)
    assert stopped.read_bytes() == content


def test_the_steps_are_plain_adam_on_the_mean_loss_of_each_batch(tmp_path, train):
    # The same epoch with torch's own modules, one example at a time.
    train(arch="srn", epochs=1, clip=1e9, sizes={"dropout": 0.0, "options": {"activation": "relu"}})
    torch.manual_seed(1)
    sizes = Sizes("srn", len(WORDS), 6, 10, 1, task="number", options={"activation": "relu"})
    model: Any = Classifier(sizes)
    plain: Any = torch.nn.RNN(6, 10, nonlinearity="relu")
    plain.load_state_dict(model.cells[0].layer.state_dict())
    modules = torch.nn.ModuleList([model.embedding, plain, model.output])
    optimiser = torch.optim.Adam(modules.parameters(), lr=0.02, fused=False, foreach=False)
    ids = WORDS.ids()
    lengths = torch.tensor([len(text.split()) for text, _ in TRAIN])
    for rows in epoch_batches(lengths, 8, 1, 1):
        losses = []
        for row in rows.tolist():
            words = torch.tensor([ids[word] for word in TRAIN[row][0].split()])
            outputs, _ = plain(model.embedding(words))
            logits = model.output(outputs[-1])
            losses.append(torch.nn.functional.cross_entropy(logits, torch.tensor(TRAIN[row][1])))
        torch.stack(losses).mean().backward()
        optimiser.step()
        optimiser.zero_grad()
    trained = load_checkpoint(tmp_path / "model.pt").model.state_dict()
    expected = {"embedding.weight": model.embedding.weight, "output.bias": model.output.bias}
    expected["layers.0.layer.weight_hh_l0"] = plain.weight_hh_l0
    for name, tensor in expected.items():
        torch.testing.assert_close(trained[name], tensor.detach(), rtol=1e-3, atol=1e-5)


def test_the_best_epoch_is_kept_and_the_curve_says_which(tmp_path, train):
    best = train(epochs=6, learning_rate=0.3)
    table = curves(tmp_path / "model.curves.parquet")
    assert table["epoch"].tolist() == list(range(7))
    assert table["step"].tolist() == [15 * epoch for epoch in range(7)]
    assert table.loc[0, "alpha_1"] == pytest.approx(0.8)
    order = table.iloc[1:].sort_values(["validation_accuracy", "validation_loss"], ascending=[False, True])
    checkpoint: Any = load_checkpoint(tmp_path / "model.pt")
    assert len(checkpoint.training["course"]) == order["epoch"].iloc[0]
    assert checkpoint.training["validation_accuracy"] == best == order["validation_accuracy"].iloc[0]
    accuracy, loss = validate(checkpoint.model, Examples.encode(VALID, WORDS))
    assert accuracy == best
    assert loss == pytest.approx(order["validation_loss"].iloc[0], rel=1e-6)


@pytest.mark.slow
def test_patience_ends_the_run_after_so_many_epochs_without_a_better_one(tmp_path, train):
    train(epochs=50, patience=2, learning_rate=0.1)
    table = curves(tmp_path / "model.curves.parquet").iloc[1:]
    keys = list(zip(table["validation_accuracy"], -table["validation_loss"], strict=True))
    best = max(range(len(keys)), key=lambda i: (keys[i], -i))
    assert len(keys) == best + 3 < 50


def test_validation_is_the_share_of_right_answers_of_each_example_alone():
    torch.manual_seed(0)
    model = Classifier(Sizes("gru", len(WORDS), 6, 10, 2, task="number"), initial_range=2.0)
    ids, right, losses = WORDS.ids(), 0, []
    model.eval()
    for text, number in VALID:
        words = torch.tensor([[ids[word]] for word in text.split()])
        logits = model.classify(words, torch.tensor([len(words)])).detach()
        right += int(logits.argmax()) == number
        losses.append(torch.nn.functional.cross_entropy(logits, torch.tensor([number])).item())
    accuracy, loss = validate(model, Examples.encode(VALID, WORDS))
    assert accuracy == right / len(VALID)
    assert loss == pytest.approx(np.mean(losses), rel=1e-5)


def test_the_curve_has_points_within_epochs_that_change_nothing_else(tmp_path, train):
    train("seldom.pt", "drnn")
    train("often.pt", "drnn", log_every=4)
    seldom, often = (curves(tmp_path / f"{name}.curves.parquet") for name in ("seldom", "often"))
    assert often["step"].tolist() == [0, 4, 8, 12, 15, 16, 20, 24, 28, 30, 32, 36, 40, 44, 45]
    assert often["epoch"].tolist() == [step / 15 for step in often["step"]]
    ends = often[often["step"] % 15 == 0].reset_index(drop=True)
    pd.testing.assert_frame_equal(ends, seldom, check_exact=True)
    within = often[often["step"] % 15 != 0]
    assert within[["training_loss", "validation_loss", "validation_accuracy"]].isna().all(axis=None)
    assert within["alpha_1"].nunique() == len(within)
    one, other = (load_checkpoint(tmp_path / name) for name in ("seldom.pt", "often.pt"))
    assert one.fingerprint == other.fingerprint
    assert one.training["course"] == other.training["course"]


def test_a_resume_file_from_before_there_were_such_points_is_taken_up(tmp_path, train, stopped):
    train("whole.pt")
    rewrite(stopped, lambda content: content["identity"].pop("log_every"))
    train(resume=True)
    whole, parts = (load_checkpoint(tmp_path / name) for name in ("whole.pt", "model.pt"))
    assert whole.fingerprint == parts.fingerprint


def test_a_loss_that_is_not_finite_says_where_and_keeps_the_best_checkpoint(tmp_path, train, stopped):
    kept = load_checkpoint(tmp_path / "model.pt").fingerprint
    rewrite(stopped, lambda content: content["weights"]["embedding.weight"].fill_(math.nan))
    with pytest.raises(
        TrainingError,
        match=r"the loss became nan .not a finite number. in epoch 2, batch 16 of the "
        r"training(?s:.*)Lower --learning",
    ):
        train(resume=True)
    assert load_checkpoint(tmp_path / "model.pt").fingerprint == kept
