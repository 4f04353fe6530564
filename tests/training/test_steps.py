"""Recorded steps without CUDA: operations are recorded and repeated with the same memory."""

from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from small_training import WORDS, stream
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tseval.models.cells import CELLS
from tseval.models.network import LanguageModel, Sizes
from tseval.training import cross_entropy as loss_room
from tseval.training import steps
from tseval.training.language_model import windows_of
from tseval.training.settings import Schedule, Settings
from tseval.training.steps import Learner, TrainingState

WAITS = {torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default}


class Recorded(TorchDispatchMode):
    """A replacement for a CUDA graph: repeats operations with the same memory and never waits for a value."""

    def __init__(self):
        super().__init__()
        self.done, self.n_replayed = [], 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation in WAITS:
            raise RuntimeError("operation not permitted when stream is capturing")
        result = operation(*args, **(kwargs or {}))
        self.done.append((operation, args, kwargs or {}, result))
        return result

    def replay(self):
        self.n_replayed += 1
        with torch._C._AutoDispatchBelowAutograd():
            for operation, args, kwargs, before in self.done:
                after = operation(*args, **kwargs)
                for old, new in zip(tree_leaves(before), tree_leaves(after), strict=True):
                    if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                        old.copy_(new)


@pytest.fixture
def state(monkeypatch):
    """Return a function that makes a training, with or without recorded steps."""
    made = []

    @contextmanager
    def record(graph, stream):
        """Undo the computation: while CUDA records a graph, it computes nothing."""
        model, optimiser = made[-1].model, made[-1].optimiser
        held = [*model.parameters(), *tree_leaves([*optimiser.state.values()])]
        held = [one for one in held if isinstance(one, torch.Tensor)]
        before, random = [one.detach().clone() for one in held], torch.get_rng_state()
        try:
            with graph:
                yield
        finally:
            with torch.no_grad():
                for one, value in zip(held, before, strict=True):
                    one.copy_(value)
            torch.set_rng_state(random)

    aside = SimpleNamespace(wait_stream=lambda other: None, device=None)
    for name, stand_in in {
        "CUDAGraph": Recorded, "graph": record, "Stream": lambda device: aside, "stream": nullcontext,
        "current_stream": lambda device: aside, "get_rng_state": lambda device: torch.get_rng_state(),
    }.items():  # fmt: skip
        monkeypatch.setattr(torch.cuda, name, stand_in)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor)

    def make(recorded, arch="drnn", dropout=0.0, **settings):
        chosen = {"batch": 4, "window": 6, "learning_rate": 0.01, "clip": 1.0, "schedule": "cosine"}
        how = Settings(**chosen | settings)  # type: ignore[arg-type] # each of its own kind
        torch.manual_seed(how.seed)
        model = LanguageModel(Sizes(arch, len(WORDS), 10, 10, 2, dropout))
        text, _ = windows_of((stream(48), stream(12)), WORDS, how)
        one = TrainingState(model, Schedule(how, text))
        one.learner = Learner(model, one.optimiser, how, one.learner._loss, recorded, None)
        made.append(one)
        return one

    return make


def losses(state, windows):
    """Learn from a number of windows; return the loss and the norm of each."""
    for _ in range(windows):
        state.advance()
    pairs = [pair.tolist() for pair in state._unread]
    state._unread.clear()
    return pairs


MANNERS: dict[str, dict[str, Any]] = {
    "adam": {}, "sgd": {"optimiser": "sgd", "learning_rate": 0.5}, "dropped": {"dropout": 0.3},
    "fresh": {"fresh_state": True}, "bfloat16": {"precision": "bfloat16"},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arch", "manner"),
    [*((name, "adam") for name in CELLS if name != "urn"), *(("drnn", manner) for manner in MANNERS)],
)
def test_a_recorded_step_learns_what_a_plain_one_does(state, arch, manner):
    plain, recorded = (state(there, arch, **MANNERS[manner]) for there in (False, True))
    windows = 2 * plain.schedule.text.n_windows + 3  # the last window of the text is shorter
    expected, random = None, None
    for one in (plain, recorded):
        torch.manual_seed(1)
        found = losses(one, windows)
        if expected is None:
            expected, random = found, torch.get_rng_state()
    assert recorded.learner.graph is not None
    assert recorded.learner.graph.graph.n_replayed == windows - steps.WARM_UPS - 2
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5)
    assert torch.equal(torch.get_rng_state(), random)


def test_a_run_taken_up_is_recorded_anew(state):
    whole, first, second = (state(True, dropout=0.3) for _ in range(3))
    torch.manual_seed(1)
    expected = losses(whole, 16)
    torch.manual_seed(1)
    found = losses(first, 8)
    content = first.content()
    torch.manual_seed(2)
    losses(second, 6)
    assert second.learner.graph is not None
    second.restore(content)
    assert second.learner.graph is None
    found += losses(second, 8)
    assert second.learner.graph is not None
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_what_cannot_be_recorded_is_learnt_by_plain_steps(state, monkeypatch):
    plain, recorded = state(False), state(True)
    expected = losses(plain, 8)
    cross_entropy = loss_room.cross_entropy

    def waiting(*args):
        loss = cross_entropy(*args)
        assert loss.item() > 0
        return loss

    monkeypatch.setattr(steps, "cross_entropy", waiting)
    monkeypatch.setattr(steps, "_repair_random", lambda device, random: None)
    assert losses(recorded, 8) == expected
    assert recorded.learner.graph is None
    assert recorded.learner.notes == [
        "tseval cannot record the training steps as a CUDA graph (operation not permitted when stream "
        "is capturing). It runs the operations one by one, which is slower."
    ]
