"""Which step of which training a model is: from what it knows of itself, from its revision, from its name."""

import json

import pytest

from tseval.adapters.pretrained import place_in_training
from tseval.runs import progress_of, training_of
from tseval.scoring.protocol import ModelCard


def card(name, **details):
    return ModelCard(name, "hf", "a" * 64, {}, details)


@pytest.mark.parametrize(
    ("name", "step", "training"),
    [
        ("drnn-step1000", 1000, "drnn"),
        ("drnn_step_000500", 500, "drnn"),
        ("checkpoint-500", 500, "checkpoint-500"),
        ("gpt2-checkpoint-500", 500, "gpt2"),
        ("gpt2.ckpt-20k", 20_000, "gpt2"),
        ("EleutherAI/pythia-70m@step143000", 143_000, "EleutherAI/pythia-70m"),
        ("olmo-step140000-tokens294B", 140_000, "olmo-tokens294B"),
        ("lstm-step500-seed2", 500, "lstm-seed2"),
        ("global_step12-opt", 12, "opt"),
        ("iter-0007", 7, "iter-0007"),
        ("lstm", None, "lstm"),
        ("gpt2-epoch3", None, "gpt2-epoch3"),  # no step
        ("footstep12", None, "footstep12"),
        ("step12b", None, "step12b"),
        ("stepping-500", None, "stepping-500"),
    ],
)
def test_a_name_may_say_a_step(name, step, training):
    assert (progress_of(card(name)), training_of(card(name))) == (step, training)


def test_what_the_model_knows_comes_before_its_revision_and_this_before_its_name():
    assert progress_of(card("m-step1", revision="step2", step=3)) == 3
    assert progress_of(card("m-step1", revision="step2")) == 2
    assert progress_of(card("m-step1", revision="main")) == 1
    assert progress_of(card("m", step=True)) is None
    assert progress_of(card("m-step1"), "tokens") is None
    assert progress_of(card("m-step1", tokens=70), "tokens") == 70
    assert training_of(card("checkpoint-500", folder="mine")) == "mine"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (json.dumps({"global_step": 500, "epoch": 1.5}), {"step": 500, "folder": "mine"}),
        (json.dumps({"global_step": True}), {}),
        (json.dumps({"global_step": "500"}), {}),
        ("[]", {}),
        ("{", {}),
        (None, {}),
    ],
    ids=["a step", "a truth value", "a text", "a list", "no JSON", "no file"],
)
def test_the_state_of_the_trainer_is_read_and_never_believed_blindly(tmp_path, content, found):
    folder = tmp_path / "mine/checkpoint-500"
    folder.mkdir(parents=True)
    if content is not None:
        (folder / "trainer_state.json").write_text(content)
    assert place_in_training(folder) == found
