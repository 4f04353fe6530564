"""`evaluate_during` in a user's own training loop, with any model: it leaves everything unchanged."""

import importlib
import random
import sys

import numpy as np
import pytest
import torch
from in_process import run_process
from small import make_case, make_suite
from torch import nn

from tseval.callbacks import evaluate_during, undisturbed
from tseval.errors import RunError
from tseval.runs import read_run
from tseval.scoring.protocol import ModelCard

WORDS = ["the", "author", "pilots", "laughs", "laugh", "."]
SUITE = make_suite(
    make_case("a", [("the author laughs", "the author laugh"), ("the pilots laugh", "the pilots laughs")])
)


class Bigrams:
    """A user's model: a module in training with the minimal methods of a sentence model."""

    def __init__(self, net, fingerprint):
        self.net, self.modes, self.calls = net, [], 0
        self.card = ModelCard("bigrams", "own", fingerprint, {"dtype": "float32"}, {"architecture": "bigram"})

    def word_logprobs(self, sentences):
        self.modes.append(self.net.training)
        self.calls += len(sentences)
        random.random(), np.random.rand(), torch.rand(1)  # an evaluation may draw random numbers
        found = []
        for sentence in sentences:
            ids = torch.tensor([5, *map(WORDS.index, sentence.split())])
            with torch.no_grad():
                table = self.net(ids[:-1]).log_softmax(-1)
            found.append(table[torch.arange(len(ids) - 1), ids[1:]].tolist())
        return found


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(6, 8), nn.Dropout(0.5), nn.Linear(8, 6)).train()


def numbers():
    return random.random(), np.random.rand(), torch.rand(1).item()


def seeded():
    random.seed(3), np.random.seed(3), torch.manual_seed(3)


def test_modes_and_random_numbers_are_as_they_were(tmp_path):
    model = Bigrams(net(), "a" * 64)
    model.net[2].eval()  # the user keeps one part in evaluation mode
    seeded()
    expected = numbers()
    seeded()
    evaluate_during(model, SUITE, tmp_path / "run", 5)
    assert numbers() == expected
    assert set(model.modes) == {False}
    assert [part.training for part in model.net] == [True, True, False]


def test_they_are_as_they_were_after_an_error_too():
    network = net()
    seeded()
    expected = numbers()
    seeded()

    def fail():
        with undisturbed(network):
            raise ZeroDivisionError(numbers())

    with pytest.raises(ZeroDivisionError):
        fail()
    assert numbers() == expected
    assert network.training


def test_a_step_is_a_run_that_is_not_scored_twice(tmp_path):
    model = Bigrams(net(), "a" * 64)
    run = evaluate_during(model, SUITE, tmp_path, 5, tokens=70)
    asked = model.calls
    again = evaluate_during(model, SUITE, tmp_path, 5, tokens=70)
    assert model.calls == asked > 0
    assert again.verdicts.equals(run.verdicts)
    details = read_run(tmp_path / "step-000005").manifest.model.details
    assert details == {"architecture": "bigram", "step": 5, "tokens": 70}
    assert "step" not in run.manifest.signature


def test_other_weights_are_refused_or_take_the_place(tmp_path):
    evaluate_during(Bigrams(net(), "a" * 64), SUITE, tmp_path, 5)
    other = Bigrams(net(), "b" * 64)
    with pytest.raises(RunError, match="step-000005 has a run with other settings"):
        evaluate_during(other, SUITE, tmp_path, 5)
    assert read_run(tmp_path / "step-000005").manifest.model.fingerprint == "a" * 64
    evaluate_during(other, SUITE, tmp_path, 5, overwrite=True)
    assert read_run(tmp_path / "step-000005").manifest.model.fingerprint == "b" * 64
    asked = other.calls
    evaluate_during(other, SUITE, tmp_path, 5, overwrite=True)  # the same weights are not scored again
    assert other.calls == asked


def test_a_folder_that_is_no_run_is_never_overwritten(tmp_path):
    (tmp_path / "step-000005").mkdir()
    (tmp_path / "step-000005/mine.txt").write_text("keep")
    with pytest.raises(
        RunError, match=r"is a folder with other files, such as 'mine.txt', so tseval does not"
    ):
        evaluate_during(Bigrams(net(), "a" * 64), SUITE, tmp_path, 5, overwrite=True)
    assert (tmp_path / "step-000005/mine.txt").read_text() == "keep"


def test_steps_are_counted_from_0(tmp_path):
    with pytest.raises(RunError, match="step=-1: a training step cannot be negative"):
        evaluate_during(Bigrams(net(), "a" * 64), SUITE, tmp_path, -1)


@pytest.mark.slow
def test_the_room_is_there_without_transformers_and_says_what_is_missing(tmp_path):
    (tmp_path / "transformers.py").write_text("raise ImportError")
    program = """if True:
        import tseval.callbacks, sys
        assert "torch" not in sys.modules
        tseval.callbacks.evaluate_during
        assert "TransformersCallback" in tseval.callbacks.__all__
        tseval.callbacks.TransformersCallback
    """
    done = run_process(
        [sys.executable, "-c", program], env={"PYTHONPATH": f"{tmp_path}:{':'.join(sys.path)}"}
    )
    assert done.stderr.endswith(
        "ModelError: TransformersCallback needs the package transformers, which is not installed.\n"
        '  To install it: pip install "tseval[hf]"\n'
    )
    with pytest.raises(AttributeError, match="has no attribute 'Callback'"):
        importlib.import_module("tseval.callbacks").Callback  # noqa: B018 - it raises
