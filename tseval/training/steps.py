"""How a language model learns from one window: in parts where memory is short, on CUDA as one graph.

A step is thousands of small operations, and a GPU would wait for each to be sent to it. CUDA records them
once and repeats them at a word: what is recorded reads and writes the same memory every time, must not wait
for the device, and is not computed while it is recorded.
"""

from __future__ import annotations

import gc
import math
import time
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from tseval.errors import first_line
from tseval.models.cells.cell import AdditiveCell, FusedCell
from tseval.models.cells.window import Kernels
from tseval.scoring.bfloat16 import multiplies_bfloat16
from tseval.scoring.devices import empty_caches, out_of_memory
from tseval.scoring.products import HAS_ONEDNN
from tseval.training.corpus import Window
from tseval.training.cross_entropy import cross_entropy
from tseval.training.curves import watched_scalars
from tseval.training.divergence import check_finite
from tseval.training.resume import Course, random_there, snapshot, take_up
from tseval.training.settings import SGD, Adam

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from torch.optim import Optimizer

    from tseval.models.cells.cell import Cell, State
    from tseval.models.network import LanguageModel
    from tseval.training.settings import Precision, Schedule, Settings

WARM_UPS = 3  # steps before one is recorded: in the first, libraries and optimiser make what they keep
TRIAL_WORDS = 3
TRIAL_ERROR = 0.05  # of the gradient's length, to which products in bfloat16 add up differently


class Learner:
    """A model that learns from one window after the other.

    Args:
        model: On the device to train on.
        loss: Gives the mean loss of a window, nats, and the state after it, for the state before it.
        graphed: Whether steps are to be a CUDA graph.
        low: Type of the products if the loops of cells are to be compiled before, otherwise None.

    Attributes:
        carried: State after the newest window, each (batch, hidden), float32.
        notes: Lines for the user, each about something that happened since they were last taken away.
        graph: What is repeated for windows of the usual shape, once there is one.
        n_fused: Layers whose loops were compiled.
    """

    def __init__(
        self,
        model: LanguageModel,
        optimiser: Optimizer,
        settings: Settings,
        loss: Callable[[Window, State], tuple[Tensor, State]],
        graphed: bool,
        low: torch.dtype | None,
    ) -> None:
        self.model, self.optimiser, self.settings, self._loss = model, optimiser, settings, loss
        self.device = next(model.parameters()).device
        self.carried = model.initial_state(settings.batch)
        self.notes: list[str] = []
        self.graph: StepGraph | None = None
        self.n_fused = 0
        # Lines are of all lengths. How many distinct words a window has, nobody knows beforehand.
        varied = settings.whole_lines or any(cell.costly_projection for cell in model.cells)
        self._graphed, self._low = graphed and not varied, low
        self._parts, self._warm_ups = 1, WARM_UPS
        self._aside = torch.cuda.Stream(self.device) if self._graphed else None  # type: ignore[no-untyped-call]

    @property
    def reads_on(self) -> torch.device:
        """Where `learn` wants its windows: what CUDA copies by itself nobody waits for."""
        return torch.device("cpu") if self.device.type == "cuda" else self.device

    def learn(self, window: Window, rate: float) -> Tensor:
        """Learn from one more window on the device `reads_on`, at a rate.

        Gives mean loss and norm of the gradient, (2,), on the device of the model.
        """
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        before = self.model.initial_state(window.words.shape[1]) if window.fresh else self.carried
        usual = window.rows is None and window.words.shape == (self.settings.window, self.settings.batch)
        if self._aside is None or not usual or not self._graphed or self._parts > 1:
            return self._step(self._moved(window), before)
        if self._low is not None:
            self.n_fused = fuse_loops(self.model, self.settings.batch, self._low)
            self._low = None
        if self.graph is None and not self._warm_ups:
            self._record(self._aside, window, before)
        if self.graph is not None:
            result = self.graph.replay(window, before, rate)
            self.carried = self.graph.state
            return result
        self._warm_ups -= 1
        # The gradient's nodes and the libraries' memory belong to the stream on which they were made.
        with _beside(self._aside):
            return self._step(self._moved(window), before)

    def start_over(self, carried: State) -> None:
        """Forget the graph, whose memory is no longer that of the optimiser, and go on from a state."""
        self.carried, self.graph, self._warm_ups = carried, None, WARM_UPS

    def _moved(self, window: Window) -> Window:
        if self.device.type != "cuda":
            return window
        words, targets, rows = (
            None if one is None else one.pin_memory().to(self.device, non_blocking=True)
            for one in (window.words, window.targets, window.rows)
        )
        assert words is not None
        assert targets is not None
        return Window(words, targets, rows, window.fresh)

    def _step(self, window: Window, before: State) -> Tensor:
        """Learn from a window, in as few parts as memory suffices for."""
        random, there = torch.get_rng_state(), random_there(self.device)
        parts, columns = self._parts, window.words.shape[1]
        while True:
            try:
                loss, after = self._gradients(window, before, parts)
                break
            except (MemoryError, RuntimeError) as error:
                short = out_of_memory(error)
                if (parts >= columns and self.graph is None) if short else not self.n_fused:
                    raise
            # Here the error is gone, and with it what the failed attempt still held.
            self.optimiser.zero_grad()
            torch.set_rng_state(random)
            for kind, state in there.items():
                torch.get_device_module(kind).set_rng_state(state, self.device)
            if not short:  # a compiler that did well when it was tried
                self.n_fused = 0
                for cell in self.model.cells:
                    cell.kernels = None
            elif self.graph is not None:
                self.start_over(self.carried)
            else:
                parts = min(2 * parts, columns)
            empty_caches()
        result = self._update(loss)
        self.carried = after
        if parts > self._parts:
            self._parts = parts
            self.notes.append(
                f"the memory was too small, so the training now reads {-(-columns // parts)} columns of a "
                "window at a time, and sums their gradients. This is slower, with the same result."
            )
        return result

    def _gradients(self, window: Window, before: State, parts: int) -> tuple[Tensor, State]:
        """Add the gradients of a window's parts to those of the weights; give the loss and the new state."""
        if parts == 1:
            return self._gradients_of_part(window, before, 1.0)
        losses, states = [], []
        columns = window.words.shape[1]
        width = -(-columns // parts)
        for first in range(0, columns, width):
            part = window.columns(first, first + width)
            share = len(part.targets) / len(window.targets)
            beginning = tuple(tensor[first : first + width] for tensor in before)
            loss, after = self._gradients_of_part(part, beginning, share)
            losses.append(loss)
            states.append(after)
        return torch.stack(losses).sum(), tuple(torch.cat(one) for one in zip(*states, strict=True))

    def _gradients_of_part(self, part: Window, before: State, share: float) -> tuple[Tensor, State]:
        """As `_gradients`; a part counts by its share of the predictions."""
        loss, after = self._loss(part, before)
        if share != 1:
            loss = loss * share
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach(), after

    def _update(self, loss: Tensor) -> Tensor:
        """Change the weights by their gradients; give what `learn` does."""
        norm = clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimiser.step()
        self.optimiser.zero_grad()
        return torch.stack((loss, norm))

    def _record(self, aside: torch.cuda.Stream, window: Window, before: State) -> None:
        """Record a step; nothing is learnt meanwhile. What cannot be recorded stays with plain steps."""
        words, targets = (torch.zeros_like(one, device=self.device) for one in (window.words, window.targets))
        state = tuple(torch.zeros_like(tensor) for tensor in before)
        rate = torch.zeros((), device=self.device)
        graph, random = torch.cuda.CUDAGraph(), torch.cuda.get_rng_state(self.device)
        gc.collect()  # what dies in the middle of a recording would disturb it
        try:
            # The outer `stream` is for recordings that fail: they leave theirs entered.
            with (
                torch.cuda.stream(aside),
                _rate_in(self.optimiser, rate),
                torch.cuda.graph(graph, stream=aside),
            ):
                loss, after = self._gradients(Window(words, targets, None, fresh=False), state, 1)
                result = self._update(loss)
                for old, new in zip(state, after, strict=True):
                    old.copy_(new)
            self.graph = StepGraph(graph, words, targets, state, rate, result)
        except Exception as error:  # whatever it is, plain steps do without it
            self._graphed = False
            _repair_random(self.device, random)
            # What the end of a failed recording raises says nothing about the cause.
            cause = error.__context__ if isinstance(error.__context__, RuntimeError) else error
            self.notes.append(
                f"tseval cannot record the training steps as a CUDA graph ({first_line(cause)}). It runs "
                "the operations one by one, which is slower."
            )
        self.optimiser.zero_grad()


@dataclass(frozen=True, slots=True)
class StepGraph:
    """A recorded step, and the memory by which it is told what to learn from."""

    graph: torch.cuda.CUDAGraph
    words: Tensor  # ids, (time, batch)
    targets: Tensor  # the words that follow, (time * batch,)
    state: State  # before the window, and once it is learnt from, after it
    rate: Tensor  # learning rate, a scalar
    result: Tensor  # mean loss and norm of the gradient, (2,)

    def replay(self, window: Window, before: State, rate: float) -> Tensor:
        """Learn from a window, on the CPU; give a copy of the result."""
        self.words.copy_(window.words.pin_memory(), non_blocking=True)
        self.targets.copy_(window.targets.pin_memory(), non_blocking=True)
        for old, new in zip(self.state, before, strict=True):
            if old is not new:
                old.copy_(new)
        self.rate.fill_(rate)
        self.graph.replay()
        return self.result.clone()


@contextmanager
def _beside(aside: torch.cuda.Stream) -> Iterator[None]:
    """Work on another stream, after all that was begun and before all that follows."""
    main = torch.cuda.current_stream(aside.device)
    aside.wait_stream(main)
    with torch.cuda.stream(aside):
        yield
    main.wait_stream(aside)


@contextmanager
def _rate_in(optimiser: Optimizer, rate: Tensor) -> Iterator[None]:
    """Let an optimiser read its learning rate from the device."""
    held = [dict(group) for group in optimiser.param_groups]
    for group in optimiser.param_groups:
        group["lr"] = rate
        if "capturable" in group:
            group["capturable"] = True
    try:
        yield
    finally:
        for group, before in zip(optimiser.param_groups, held, strict=True):
            group.update(before)


def _repair_random(device: torch.device, state: Tensor) -> None:
    """Return a device's random numbers back, which after a failed recording wait for its end."""
    with suppress(RuntimeError):
        fresh = torch.Generator(device)
        fresh.set_state(state)
        place = torch.cuda.current_device() if device.index is None else device.index
        torch.cuda.default_generators[place].graphsafe_set_state(fresh.graphsafe_get_state())


def fuse_loops(model: LanguageModel, batch: int, low: torch.dtype) -> int:
    """Compile the loops of cells that are read word by word, if torch can; give how many layers have such.

    These are also those that torch has a layer for, where products are in bfloat16: with it, that layer would
    keep its state in bfloat16 too. A cell stays as it is where there is no compiler, or where the gradient
    becomes another. Products are of type `low`, windows of `batch` columns.
    """
    device = next(model.parameters()).device
    narrow = low is not torch.float32
    cells = [
        cell
        for cell in model.cells
        if isinstance(cell, AdditiveCell) or (narrow and isinstance(cell, FusedCell) and not cell.projection)
    ]
    with torch.random.fork_rng([device] if device.type == "cuda" else []), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a compiler has advice for whoever calls it
        for cell in cells:
            try:
                plain = _trial_gradient(cell, batch, low)
                cell.kernels = Kernels(cell)
                error = (_trial_gradient(cell, batch, low) - plain).norm() / plain.norm()
                if not error <= TRIAL_ERROR:
                    cell.kernels = None
            except Exception:  # of a compiler, or for lack of one
                cell.kernels = None
    return sum(cell.kernels is not None for cell in cells)


def _trial_gradient(cell: Cell, batch: int, low: torch.dtype) -> Tensor:
    """Return the gradient of something after a few random words, the same every time, (parameters,)."""
    device = next(cell.parameters()).device
    torch.manual_seed(0)
    x = torch.randn(TRIAL_WORDS, batch, cell.input_size, device=device)
    with torch.autocast(device.type, low, enabled=low is not torch.float32):
        outputs, after = cell(x, cell.initial_state(batch))
    total = torch.stack([tensor.float().square().sum() for tensor in (outputs, *after)]).sum()
    found = torch.autograd.grad(total, list(cell.parameters()), materialize_grads=True)
    return torch.cat([gradient.flatten() for gradient in found])


@dataclass(slots=True)
class LanguageCourse(Course):
    """How a run went so far."""

    anneals: int = 0  # how often the learning rate was divided
    best: float = math.inf  # lowest validation perplexity
    at_row: tuple[int, float] = (0, 0.0)  # `step` and `loss` at the last point of the curve
    at_validation: tuple[int, float] = (0, 0.0)  # likewise at the last validation

    def mean_loss_since(self, mark: tuple[int, float]) -> float | None:
        """Mean training loss since a point, or None if no window was read since."""
        windows = self.step - mark[0]
        return (self.loss - mark[1]) / windows if windows else None


def product_type(precision: Precision, device: torch.device) -> torch.dtype:
    """Return the type in which products are made.

    A processor without products in bfloat16 would imitate them, slower than it multiplies in float32.
    """
    imitated = device.type == "cpu" and HAS_ONEDNN and not multiplies_bfloat16()
    return torch.float32 if imitated else cast("torch.dtype", getattr(torch, precision))


def window_loss(
    model: LanguageModel, low: torch.dtype, window: Window, before: State
) -> tuple[Tensor, State]:
    """Return the mean loss of a window, nats, by products of a type, and the state after it, float32."""
    with torch.autocast(window.words.device.type, low, enabled=low is not torch.float32):
        outputs, after = model(window.words, before)
    hidden, output = window.predicting(outputs).float(), model.output
    loss = cross_entropy(hidden, output.weight, output.bias, window.targets, low)
    return loss, tuple(tensor.detach().float() for tensor in after)


LEAST_COMPILED = 300  # windows of a run whose loops are compiled, which takes half a minute


class TrainingState:
    """A language model in training, with all that decides how it goes on.

    Args:
        model: On the device to train on.
        schedule: What happens when, and the training text.
        graph: Whether a step on CUDA is recorded as a graph, its loops compiled before. None: it is, but a
            short run is not worth a compilation.
    """

    def __init__(self, model: LanguageModel, schedule: Schedule, graph: bool | None = None) -> None:
        settings = schedule.settings
        self.model, self.schedule, self.settings = model, schedule, settings
        self.device = next(model.parameters()).device
        kinds = {"adam": Adam, "sgd": SGD}
        self.optimiser = kinds[settings.optimiser](model.parameters(), lr=settings.learning_rate, fused=True)
        low = product_type(settings.precision, self.device)
        graphed = self.device.type == "cuda" and graph is not False
        long = graph or schedule.steps >= LEAST_COMPILED
        fused = low if graphed and long and not settings.compiled else None
        self.learner = Learner(
            model, self.optimiser, settings, partial(window_loss, model, low), graphed, fused
        )
        self.course = LanguageCourse()
        self._unread: list[Tensor] = []
        self._clock = time.monotonic()

    def advance(self) -> None:
        """Learn from one more window of text."""
        text, course = self.schedule.text, self.course
        window = text.read(course.step % text.n_windows, self.learner.reads_on)
        self._unread.append(self.learner.learn(window, self.rate))
        course.step += 1

    @property
    def rate(self) -> float:
        """Learning rate of the next window."""
        return self.schedule.rate(self.course.step, self.course.anneals)

    def read_losses(self) -> float | None:
        """Fetch the losses that are still on the device and give their mean; each fetch waits for it."""
        course = self.course
        first = course.step - len(self._unread) + 1
        pairs = torch.stack(self._unread).tolist() if self._unread else []
        for step, pair in enumerate(pairs, first):
            check_finite(self.model, pair, f"epoch {self.schedule.epoch(step)}, window {step}")
            course.loss += pair[0]
        self._unread.clear()
        now = time.monotonic()
        course.seconds += now - self._clock
        self._clock = now
        return sum(loss for loss, _ in pairs) / len(pairs) if pairs else None

    def add_row(self, loss: float | None = None, perplexity: float | None = None) -> None:
        """Add a point to the learning curve, with loss and perplexity if the model was validated."""
        self.read_losses()
        course = self.course
        course.rows.append(
            {
                "step": course.step,
                "epoch": self.schedule.epoch(course.step),
                "tokens": self.schedule.tokens(course.step),
                "learning_rate": self.rate,
                "training_loss": course.mean_loss_since(course.at_row),
                "validation_loss": loss,
                "validation_perplexity": perplexity,
                "seconds": round(course.seconds, 3),
                **watched_scalars(self.model, self.schedule.text.read(0, self.device)),
            }
        )
        course.at_row = course.step, course.loss

    def content(self) -> dict[str, object]:
        """Return everything that `restore` needs, as tensors and plain data."""
        self.read_losses()
        return {**snapshot(self.model, self.optimiser, self.course), "carried": list(self.learner.carried)}

    def restore(self, content: Mapping[str, object]) -> None:
        """Become the run that `content` was taken from; parts that do not fit raise errors of many kinds."""
        take_up(content, self.model, self.optimiser, self.course)
        carried = cast("list[Tensor]", content["carried"])
        self.learner.start_over(tuple(tensor.to(self.device) for tensor in carried))
