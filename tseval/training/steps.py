"""Training steps of a language model: in parts if memory is short, and as one graph on CUDA.

A step has thousands of small operations, and a GPU would wait for each. CUDA can record them once and replay
them with one call. A recording reads and writes the same memory every time, must not wait for the device, and
is not executed while it is recorded.
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

WARM_UPS = 3  # steps before the recording; in the first, libraries and optimiser allocate their memory
TRIAL_WORDS = 3
TRIAL_ERROR = 0.05  # relative error of the gradient; products in bfloat16 have other rounding


class Learner:
    """A model that is trained window by window.

    Args:
        model: Model on the training device.
        optimiser: Optimiser of its parameters.
        settings: All settings of the training.
        loss: Function from a window and the state before it to the mean loss, nats, and the state after it.
        graphed: Whether to record steps as a CUDA graph.
        low: Type of the products if the loops of cells are first to be compiled; otherwise None.

    Attributes:
        carried: State after the latest window, each (batch, hidden), float32.
        notes: Notes for the user since the last report.
        graph: The recorded step for windows of the usual shape, if it exists.
        n_fused: Number of layers with compiled loops.
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
        # Lines differ in length, and the number of distinct words in a window is not known beforehand.
        varied = settings.whole_lines or any(cell.costly_projection for cell in model.cells)
        self._graphed, self._low = graphed and not varied, low
        self._parts, self._warm_ups = 1, WARM_UPS
        self._aside = torch.cuda.Stream(self.device) if self._graphed else None  # type: ignore[no-untyped-call]

    @property
    def reads_on(self) -> torch.device:
        """Device on which `learn` expects its windows: for CUDA the CPU, because the copy is asynchronous."""
        return torch.device("cpu") if self.device.type == "cuda" else self.device

    def learn(self, window: Window, rate: float) -> Tensor:
        """Train on one more window, on the device `reads_on`, with a learning rate.

        Returns mean loss and gradient norm, (2,), on the device of the model.
        """
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        before = self.model.initial_state(window.words.shape[1]) if window.fresh else self.carried
        regular = window.rows is None and window.words.shape == (self.settings.window, self.settings.batch)
        if self._aside is None or not regular or not self._graphed or self._parts > 1:
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
        # Autograd nodes and the libraries' memory belong to the stream on which they were created.
        with _on_stream(self._aside):
            return self._step(self._moved(window), before)

    def start_over(self, carried: State) -> None:
        """Discard the graph, whose memory the optimiser no longer uses, and continue from a state."""
        self.carried, self.graph, self._warm_ups = carried, None, WARM_UPS

    def _moved(self, window: Window) -> Window:
        if self.device.type != "cuda":
            return window
        words, targets, rows = (
            None if tensor is None else tensor.pin_memory().to(self.device, non_blocking=True)
            for tensor in (window.words, window.targets, window.rows)
        )
        assert words is not None
        assert targets is not None
        return Window(words, targets, rows, window.fresh)

    def _step(self, window: Window, before: State) -> Tensor:
        """Train on a window, in as few parts as memory allows."""
        random, device_states = torch.get_rng_state(), random_there(self.device)
        parts, columns = self._parts, window.words.shape[1]
        while True:
            try:
                loss, after = self._gradients(window, before, parts)
                break
            except (MemoryError, RuntimeError) as error:
                short = out_of_memory(error)
                if (parts >= columns and self.graph is None) if short else not self.n_fused:
                    raise
            # The error is deleted here, and with it the memory of the failed attempt.
            self.optimiser.zero_grad()
            torch.set_rng_state(random)
            for kind, state in device_states.items():
                torch.get_device_module(kind).set_rng_state(state, self.device)
            if not short:  # the compiled code failed, although its trial succeeded
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
        """Add the gradients of a window's parts to those of the weights; return loss and new state."""
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
        return torch.stack(losses).sum(), tuple(torch.cat(tensors) for tensors in zip(*states, strict=True))

    def _gradients_of_part(self, part: Window, before: State, share: float) -> tuple[Tensor, State]:
        """Add the gradients of one part, weighted by its share of the predictions."""
        loss, after = self._loss(part, before)
        if share != 1:
            loss = loss * share
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach(), after

    def _update(self, loss: Tensor) -> Tensor:
        """Update the weights from their gradients; return the result of `learn`."""
        norm = clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimiser.step()
        self.optimiser.zero_grad()
        return torch.stack((loss, norm))

    def _record(self, aside: torch.cuda.Stream, window: Window, before: State) -> None:
        """Record a step without executing it; if that fails, plain steps are used."""
        words, targets = (
            torch.zeros_like(source, device=self.device) for source in (window.words, window.targets)
        )
        state = tuple(torch.zeros_like(tensor) for tensor in before)
        rate = torch.zeros((), device=self.device)
        graph, random = torch.cuda.CUDAGraph(), torch.cuda.get_rng_state(self.device)
        gc.collect()  # garbage collection during a recording would disturb it
        try:
            # The outer `stream` restores the stream after a failed recording, which does not.
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
        except Exception as error:  # on any error, plain steps are used
            self._graphed = False
            _repair_random(self.device, random)
            # The error at the end of a failed recording does not name the cause.
            cause = error.__context__ if isinstance(error.__context__, RuntimeError) else error
            self.notes.append(
                f"tseval cannot record the training steps as a CUDA graph ({first_line(cause)}). It runs "
                "the operations one by one, which is slower."
            )
        self.optimiser.zero_grad()


@dataclass(frozen=True, slots=True)
class StepGraph:
    """A recorded step, with the memory for its inputs and its result."""

    graph: torch.cuda.CUDAGraph
    words: Tensor  # ids, (time, batch)
    targets: Tensor  # the words to predict, (time * batch,)
    state: State  # before the window; after the step, the state after it
    rate: Tensor  # learning rate, a scalar
    result: Tensor  # mean loss and gradient norm, (2,)

    def replay(self, window: Window, before: State, rate: float) -> Tensor:
        """Train on a window, which is on the CPU; return a copy of the result."""
        self.words.copy_(window.words.pin_memory(), non_blocking=True)
        self.targets.copy_(window.targets.pin_memory(), non_blocking=True)
        for old, new in zip(self.state, before, strict=True):
            if old is not new:
                old.copy_(new)
        self.rate.fill_(rate)
        self.graph.replay()
        return self.result.clone()


@contextmanager
def _on_stream(aside: torch.cuda.Stream) -> Iterator[None]:
    """Use another stream, after all earlier and before all later work on the main stream."""
    main = torch.cuda.current_stream(aside.device)
    aside.wait_stream(main)
    with torch.cuda.stream(aside):
        yield
    main.wait_stream(aside)


@contextmanager
def _rate_in(optimiser: Optimizer, rate: Tensor) -> Iterator[None]:
    """Make an optimiser read its learning rate from the device."""
    saved_groups = [dict(group) for group in optimiser.param_groups]
    for group in optimiser.param_groups:
        group["lr"] = rate
        if "capturable" in group:
            group["capturable"] = True
    try:
        yield
    finally:
        for group, before in zip(optimiser.param_groups, saved_groups, strict=True):
            group.update(before)


def _repair_random(device: torch.device, state: Tensor) -> None:
    """Restore a device's random numbers, which would wait for the end of a failed recording."""
    with suppress(RuntimeError):
        fresh = torch.Generator(device)
        fresh.set_state(state)
        place = torch.cuda.current_device() if device.index is None else device.index
        torch.cuda.default_generators[place].graphsafe_set_state(fresh.graphsafe_get_state())


def fuse_loops(model: LanguageModel, batch: int, low: torch.dtype) -> int:
    """Compile the loops of cells that are read word by word, if possible; return the number of such layers.

    For bfloat16 products, these include cells with a layer in torch, because that layer would keep its state
    in bfloat16 too. A cell is left unchanged if there is no compiler, or if its gradient would change.
    Products have the type `low`, and windows have `batch` columns.
    """
    device = next(model.parameters()).device
    narrow = low is not torch.float32
    cells = [
        cell
        for cell in model.cells
        if isinstance(cell, AdditiveCell) or (narrow and isinstance(cell, FusedCell) and not cell.projection)
    ]
    with torch.random.fork_rng([device] if device.type == "cuda" else []), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # compiler warnings are meant for its direct callers
        for cell in cells:
            try:
                plain = _trial_gradient(cell, batch, low)
                cell.kernels = Kernels(cell)
                error = (_trial_gradient(cell, batch, low) - plain).norm() / plain.norm()
                if not error <= TRIAL_ERROR:
                    cell.kernels = None
            except Exception:  # from a compiler, or because there is none
                cell.kernels = None
    return sum(cell.kernels is not None for cell in cells)


def _trial_gradient(cell: Cell, batch: int, low: torch.dtype) -> Tensor:
    """Return the gradient of a test loss after a few random words, the same every time, (parameters,)."""
    device = next(cell.parameters()).device
    torch.manual_seed(0)
    x = torch.randn(TRIAL_WORDS, batch, cell.input_size, device=device)
    with torch.autocast(device.type, low, enabled=low is not torch.float32):
        outputs, after = cell(x, cell.initial_state(batch))
    total = torch.stack([tensor.float().square().sum() for tensor in (outputs, *after)]).sum()
    gradients = torch.autograd.grad(total, list(cell.parameters()), materialize_grads=True)
    return torch.cat([gradient.flatten() for gradient in gradients])


@dataclass(slots=True)
class LanguageCourse(Course):
    """The history of a language-model run."""

    anneals: int = 0  # number of divisions of the learning rate
    best: float = math.inf  # lowest validation perplexity
    at_row: tuple[int, float] = (0, 0.0)  # `step` and `loss` at the last point of the curve
    at_validation: tuple[int, float] = (0, 0.0)  # the same at the last validation

    def mean_loss_since(self, mark: tuple[int, float]) -> float | None:
        """Return the mean training loss since a point, or None if no window was read since."""
        windows = self.step - mark[0]
        return (self.loss - mark[1]) / windows if windows else None


def product_type(precision: Precision, device: torch.device) -> torch.dtype:
    """Return the type of the matrix products.

    Without bfloat16 instructions, a processor would emulate such products more slowly than float32.
    """
    imitated = device.type == "cpu" and HAS_ONEDNN and not multiplies_bfloat16()
    return torch.float32 if imitated else cast("torch.dtype", getattr(torch, precision))


def window_loss(
    model: LanguageModel, low: torch.dtype, window: Window, before: State
) -> tuple[Tensor, State]:
    """Return the mean loss of a window, nats, with products of type `low`, and the next state, float32."""
    with torch.autocast(window.words.device.type, low, enabled=low is not torch.float32):
        outputs, after = model(window.words, before)
    hidden, output = window.predicting(outputs).float(), model.output
    loss = cross_entropy(hidden, output.weight, output.bias, window.targets, low)
    return loss, tuple(tensor.detach().float() for tensor in after)


LEAST_COMPILED = 300  # windows of a run from which compiling, which takes half a minute, is worthwhile


class TrainingState:
    """A language model in training, with everything that determines how it continues.

    Args:
        model: Model on the training device.
        schedule: The steps, their settings and the training text.
        graph: Whether steps on CUDA are compiled and recorded as a graph. None: yes, but a short run is not
            compiled.
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
        """Train on one more window of text."""
        text, course = self.schedule.text, self.course
        window = text.read(course.step % text.n_windows, self.learner.reads_on)
        self._unread.append(self.learner.learn(window, self.rate))
        course.step += 1

    @property
    def rate(self) -> float:
        """Learning rate of the next window."""
        return self.schedule.rate(self.course.step, self.course.anneals)

    def read_losses(self) -> float | None:
        """Copy the outstanding losses from the device, which waits for it, and return their mean."""
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
        """Return everything for `restore`, as tensors and plain data."""
        self.read_losses()
        return {**snapshot(self.model, self.optimiser, self.course), "carried": list(self.learner.carried)}

    def restore(self, content: Mapping[str, object]) -> None:
        """Restore the state in `content`; parts that do not fit raise various errors."""
        take_up(content, self.model, self.optimiser, self.course)
        carried = cast("list[Tensor]", content["carried"])
        self.learner.start_over(tuple(tensor.to(self.device) for tensor in carried))
