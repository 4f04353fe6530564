"""Training on another device against the CPU: weights, low precision, and resuming on either device."""

from functools import cache
from typing import Any

import pandas as pd
import pytest
import torch
from second_device import MACHINE, NAME
from small import make_case, make_suite
from small_training import WORDS, Quiet, interrupt, stream

from tseval.errors import TrainingError
from tseval.models import Vocabulary
from tseval.models.cells import CELLS
from tseval.models.checkpoint import load_checkpoint
from tseval.models.network import Classifier, LanguageModel, Sizes
from tseval.training.classifier import Examples, train_classifier
from tseval.training.language_model import EarlyEvaluation, accuracy_path, train_language_model, windows_of
from tseval.training.loop import Destination
from tseval.training.settings import ClassifierSettings, Schedule, Settings
from tseval.training.steps import TrainingState

NOISELESS = {"eirnn": {"sigma": 0.0}}
MANNERS: dict[str, Any] = {
    "sgd": {"optimiser": "sgd", "learning_rate": 0.5},
    "tied": {"tied": True},
    "lines": {"whole_lines": True, "batch": 8},
    "fresh": {"fresh_state": True},
    "bfloat16": {"precision": "bfloat16"},
    "annealed": {"schedule": "anneal", "validate_every": 4},
}
SENTENCES = [("author near pilots", 0), ("authors", 1), ("pilots near author", 1), ("pilot near pilot", 0)]


def train(path, device, arch="drnn", *, listener=None, resume=False, **settings):
    """Train a language model of eight words on a device; return its perplexity and its weights."""
    dropout, tied = settings.pop("dropout", 0.0), settings.pop("tied", False)
    probe, short = settings.pop("probe", None), settings.pop("short", ())
    chosen = {"epochs": 1, "batch": 4, "window": 6, "learning_rate": 0.01, "clip": 1.0, "log_every": 5}
    how = Settings(**chosen | settings)
    torch.manual_seed(how.seed)
    sizes = Sizes(arch, len(WORDS), 10, 10, 1, dropout, tied, NOISELESS.get(arch, {}))
    model = LanguageModel(sizes).to(device)
    if tied:  # layers lose shared weights on the way to the software device
        model.output.weight = model.embedding.weight
    destination = Destination(path, {}, resume=resume, probe=probe)
    text = stream(48), stream(12)
    MACHINE.shortages = [*short]  # the model alone always fits
    perplexity = train_language_model(model, WORDS, text, how, destination, listener or Quiet())
    return perplexity, load_checkpoint(path).model.state_dict()


def train_a_classifier(path, device, arch="drnn", *, listener=None, resume=False, short=()):
    """Train a number classifier on a device; return its validation accuracy and its weights."""
    words = Vocabulary(("<eos>", "<unk>", "near", "author", "authors", "pilot", "pilots"), lowercase=False)
    how = ClassifierSettings(epochs=2, patience=None, batch=8, learning_rate=0.02)
    torch.manual_seed(how.seed)
    model = Classifier(Sizes(arch, len(words), 6, 10, 1, task="number"), how.initial_range).to(device)
    examples = Examples.encode(SENTENCES * 8, words), Examples.encode(SENTENCES, words)
    destination = Destination(path, {}, resume=resume)
    MACHINE.shortages = [*short]
    accuracy = train_classifier(model, words, examples, how, destination, listener or Quiet())
    return accuracy, load_checkpoint(path).model.state_dict()


def assert_near(one, other, tolerance):
    """Check that perplexities and weights are close; steps of Adam amplify rounding errors."""
    assert one[0] == pytest.approx(other[0], rel=tolerance)
    for name, weights in one[1].items():
        torch.testing.assert_close(weights, other[1][name], atol=10 * tolerance, rtol=0, msg=name)


@pytest.fixture
def drift(device_name):
    """Return how far a short training may differ from the same training on the CPU."""
    return 1e-4 if device_name == NAME else 1e-2


@pytest.mark.slowest
@pytest.mark.parametrize("arch", CELLS)
def test_every_cell_learns_what_it_learns_on_the_cpu(tmp_path, device, drift, arch):
    expected = train(tmp_path / "cpu.pt", "cpu", arch)
    assert_near(train(tmp_path / "there.pt", device, arch), expected, drift)


@pytest.mark.slowest
@pytest.mark.parametrize("manner", MANNERS)
def test_every_manner_of_training_learns_what_it_does_on_the_cpu(tmp_path, device, drift, manner):
    expected = train(tmp_path / "cpu.pt", "cpu", **MANNERS[manner])
    # bfloat16 has 8 bits, so one product that is rounded differently is visible.
    allowed = 0.02 if manner == "bfloat16" else drift
    assert_near(train(tmp_path / "there.pt", device, **MANNERS[manner]), expected, allowed)


@pytest.mark.slowest
@pytest.mark.parametrize("back", [False, True])
def test_a_run_stopped_on_one_device_goes_on_on_the_other(tmp_path, device, drift, back):
    first, second = (device, "cpu") if back else ("cpu", device)
    expected = train(tmp_path / "whole.pt", "cpu", epochs=2)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "moved.pt", first, epochs=2, listener=Quiet({10: interrupt}))
    assert (tmp_path / "moved.pt.resume").exists()
    heard = Quiet()
    moved = train(tmp_path / "moved.pt", second, epochs=2, listener=heard, resume=True)
    assert heard.started[0] > 0, "it began anew"
    assert not (tmp_path / "moved.pt.resume").exists()
    assert_near(moved, expected, drift)


@pytest.mark.slowest
def test_a_run_stopped_and_taken_up_on_one_device_is_as_if_never_stopped(tmp_path, machine):
    expected = train(tmp_path / "whole.pt", NAME, epochs=2, dropout=0.3)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "stopped.pt", NAME, epochs=2, dropout=0.3, listener=Quiet({10: interrupt}))
    found = train(tmp_path / "stopped.pt", NAME, epochs=2, dropout=0.3, resume=True)
    assert_near(found, expected, 0.0)


def test_a_classifier_learns_what_it_learns_on_the_cpu(tmp_path, device, drift):
    expected = train_a_classifier(tmp_path / "cpu.pt", "cpu")
    assert_near(train_a_classifier(tmp_path / "there.pt", device), expected, drift)


@pytest.mark.slowest
def test_a_device_without_float64_trains_nearly_as_well(tmp_path, machine):
    expected = train(tmp_path / "cpu.pt", "cpu"), train_a_classifier(tmp_path / "own.pt", "cpu")
    machine.doubles = False
    assert_near(train(tmp_path / "there.pt", NAME), expected[0], 1e-4)
    assert_near(train_a_classifier(tmp_path / "elsewhere.pt", NAME), expected[1], 1e-4)


# Memory shortages.


@pytest.mark.slowest
def test_a_training_out_of_memory_says_so_and_goes_on_from_what_it_saved(tmp_path, machine):
    expected = train(tmp_path / "whole.pt", NAME, epochs=2, dropout=0.3)
    cut = {"validate_every": 5, "epochs": 2, "dropout": 0.3}
    whole = train(tmp_path / "validated.pt", NAME, **cut)
    assert whole[0] <= expected[0] * 1.01  # the same training, with more validations
    shortage = Quiet({10: lambda: machine.run_short(seed=0, times=99, apart=20)})
    path = tmp_path / "short.pt"
    with pytest.raises(TrainingError) as error:
        train(path, NAME, listener=shortage, **cut)
    assert str(error.value) == (
        f"the memory of the device is too small for this training.\n  {path}.resume holds the training "
        f"until the last "
        "save. Free memory or choose another --device, and add --resume to continue.\n  If the memory never "
        f"suffices, remove {path}.resume and lower --batch or --hidden."
    )
    heard, machine.shortages = Quiet(), []
    assert_near(train(path, NAME, resume=True, listener=heard, **cut), whole, 0.0)
    assert heard.started[0] > 0, "it began anew"


def steps(short, arch="drnn", dropout=0.0, parts=1, **settings):
    """Learn from three windows on the software device; the second is split or meets shortages.

    Each shortage is a number of operations after the one before. Returns loss and norm of each window, the
    weights, and the notes.
    """
    how = Settings(batch=4, window=6, learning_rate=0.01, clip=1.0, **settings)
    torch.manual_seed(how.seed)
    model = LanguageModel(Sizes(arch, len(WORDS), 10, 10, 1, dropout, False, NOISELESS.get(arch, {}))).to(
        NAME
    )
    state = TrainingState(model, Schedule(how, windows_of((stream(48), stream(12)), WORDS, how)[0]))
    found, learn = [], state.learner.learn

    def noted(*arguments):
        found.append(learn(*arguments))
        return found[-1]

    state.learner.learn = noted
    for number in range(3):
        MACHINE.shortages = [*short] if number == 1 else []
        if number == 1:
            state.learner._parts = parts
        state.advance()
    assert not MACHINE.shortages, "memory did not run out so often"
    weights = [parameter.detach().to("cpu").tolist() for parameter in model.parameters()]
    return [pair.tolist() for pair in found], weights, state.learner.notes


@cache
def undisturbed(arch, *settings):
    """Return the result without shortages; cached for all shortages."""
    return steps([], arch, **dict(settings))


@pytest.mark.slowest
@pytest.mark.parametrize("settings", [{}, {"whole_lines": True}, {"optimiser": "sgd"}])
@pytest.mark.parametrize("arch", ["drnn", "lstm", "urn"])
@pytest.mark.parametrize(("short", "columns"), [([20], 2), ([10, 20], 1)])
def test_a_window_out_of_memory_is_learnt_from_in_parts(machine, settings, arch, short, columns):
    expected, found = undisturbed(arch, *settings.items()), steps(short, arch, **settings)
    assert expected[2] == []
    assert found[2] == [
        f"the memory was too small, so the training now reads {columns} columns of a window at a time, and "
        "sums their gradients. This is slower, with the same result."
    ]
    torch.testing.assert_close(found[0], expected[0], rtol=1e-5, atol=0)
    torch.testing.assert_close(found[1], expected[1], rtol=0, atol=1e-4)


def test_an_attempt_that_failed_takes_no_random_numbers(machine):
    expected, found = steps([], dropout=0.3, parts=2), steps([20], dropout=0.3)
    assert found[:2] == expected[:2]


def test_a_single_column_that_does_not_fit_is_out_of_memory(machine):
    with pytest.raises(torch.OutOfMemoryError):
        steps([20, 20, 20])


@pytest.mark.parametrize("apart", [1, 30, 200])
def test_a_classifier_out_of_memory_says_so_and_loses_no_resume_file(tmp_path, machine, apart):
    expected = train_a_classifier(tmp_path / "whole.pt", NAME)
    with pytest.raises(KeyboardInterrupt):
        train_a_classifier(tmp_path / "short.pt", NAME, listener=Quiet({1: interrupt}))
    resume = tmp_path / "short.pt.resume"
    before = resume.read_bytes()
    # The shortage is during loading or one batch later; the message is never that the file does not match.
    with pytest.raises(
        TrainingError, match=r"is too small for this training\.\n  .*add --resume to continue"
    ):
        train_a_classifier(tmp_path / "short.pt", NAME, resume=True, short=[apart])
    assert resume.read_bytes() == before
    assert_near(train_a_classifier(tmp_path / "short.pt", NAME, resume=True), expected, 0.0)


def test_a_training_that_never_fits_says_what_to_lower(tmp_path, machine):
    with pytest.raises(
        TrainingError, match=r"is too small for this training\.\n  Choose another --device, or lower --batch"
    ):
        train(tmp_path / "large.pt", NAME, short=[1])
    assert list(tmp_path.iterdir()) == []


# Other parts of a training on a device


PAIRS = [("the author laughs", "the author laugh"), ("the authors laugh", "the authors laughs")]


class ShortOfMemory(EarlyEvaluation):
    """An evaluation during training in which memory runs out each time."""

    def measure(self, model, step, tokens):
        MACHINE.shortages = [40, 20]  # while sentences are scored
        super().measure(model, step, tokens)
        assert not MACHINE.shortages, "memory did not run out"


@pytest.mark.slowest
@pytest.mark.parametrize("kind", [EarlyEvaluation, ShortOfMemory])
def test_a_suite_is_scored_along_a_training_as_on_the_cpu(tmp_path, device, device_name, kind):
    if kind is ShortOfMemory and device_name != NAME:
        pytest.skip("the memory of a real device does not run out when it is told to")
    found = []
    for where, evaluation in (("cpu", EarlyEvaluation), (device, kind)):
        out = tmp_path / f"{evaluation.__name__} on {torch.device(where).type}.pt"
        probe = evaluation(accuracy_path(out), [make_suite(make_case("a", PAIRS))], WORDS, every=4)
        train(out, where, probe=probe)
        found.append(pd.read_parquet(accuracy_path(out)))
    assert found[0]["step"].nunique() > 2
    pd.testing.assert_frame_equal(found[0], found[1])


def test_compiled_loops_learn_what_plain_ones_do(tmp_path, device, device_name, drift):
    if device_name == NAME:
        pytest.skip("torch.compile does nothing in a dispatch mode, which the device in software is")
    expected = train(tmp_path / "plain.pt", device)
    assert_near(train(tmp_path / "compiled.pt", device, compiled=True), expected, drift)
