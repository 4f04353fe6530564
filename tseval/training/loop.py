"""What all trainings share: the loop, resuming, learning curves; the loss and validation of language models.

A resume file is everything that a training run is between two windows, as plain data. A run that was killed
and taken up again ends, on a CPU, with the bit-identical checkpoint and the same learning curves as one that
was not; only the seconds differ.
"""

from __future__ import annotations

import hashlib
import math
import signal
import threading
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Protocol, cast

import pyarrow as pa
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from tseval.errors import ModelError, TrainingError, first_line
from tseval.files import write_whole
from tseval.models.cells.cell import Cell
from tseval.models.cells.window import column_sums
from tseval.models.checkpoint import PackedType, network_of, read_plain, stored_weights
from tseval.runs.directory import to_parquet
from tseval.scoring.numerics import (
    ONEDNN_IS_FASTER,
    chosen_logits,
    linear,
    log_normaliser,
    out_of_memory,
    widest_float,
)
from tseval.training.corpus import STREAM_BLOCK
from tseval.training.settings import ClassifierSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import FrameType

    from torch import Tensor
    from torch.autograd.function import FunctionCtx
    from torch.optim import Optimizer

    from tseval.formats import Json
    from tseval.models import Vocabulary
    from tseval.models.cells.cell import State
    from tseval.models.network import LanguageModel, Network
    from tseval.training.corpus import Stream, Window, Windows


RESUME_FORMAT = "tseval-resume"
RESUME_VERSION = 1
HASHED = ("training text", "validation text", "vocabulary list")


@dataclass(slots=True)
class Course:
    """How a run went so far; plain data, to which each trainer adds its own."""

    step: int = 0  # windows or batches learnt from
    loss: float = 0.0  # sum of their mean losses, nats
    seconds: float = 0.0  # of work, over all resumptions
    rows: list[CurveRow] = field(default_factory=list)  # points of the learning curve
    validations: list[Json] = field(default_factory=list)  # what the checkpoint records of each


def resume_path(out: Path) -> Path:
    """Name the resume file of a checkpoint that is being made."""
    return out.with_name(f"{out.name}.resume")


def identify(
    model: Network,
    vocabulary: Vocabulary,
    text: tuple[Stream, Stream],
    settings: Settings | ClassifierSettings,
) -> dict[str, object]:
    """Name everything that decides the result of a run, as a user knows it; long things by their SHA-256.

    `text` is all that is learnt from and validated on, (numbers,) each.
    """
    words = hashlib.sha256("\n".join(vocabulary.words).encode()).hexdigest()
    return {
        **model.sizes.to_mapping(),
        **asdict(settings),
        "lowercase": vocabulary.lowercase,
        **dict(zip(HASHED, (*map(_sha256, text), words), strict=True)),
    }


def _sha256(stream: Stream) -> str:
    """Hash a stream as it was read, whatever a cache may say of it."""
    digest = hashlib.sha256()
    for block in stream.split(STREAM_BLOCK):
        digest.update(block.numpy().data)
    return digest.hexdigest()


def random_there(device: torch.device) -> dict[str, Tensor]:
    """Return the state of the random numbers of a device, by its kind; a CPU's have a place of their own."""
    if device.type == "cpu":
        return {}
    return {device.type: torch.get_device_module(device.type).get_rng_state(device)}


def snapshot(model: Network, optimiser: Optimizer, course: Course) -> dict[str, object]:
    """Return what decides how a run goes on, as tensors and plain data."""
    device = next(model.parameters()).device
    return {
        "weights": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "random": torch.get_rng_state(),
        "random_there": random_there(device),
        "course": asdict(course),
    }


def take_up(content: Mapping[str, object], model: Network, optimiser: Optimizer, course: Course) -> None:
    """Become the run that a snapshot was taken of; whatever does not fit raises an error of some kind."""
    device = next(model.parameters()).device
    model.load_state_dict(cast("dict[str, Tensor]", content["weights"]))
    optimiser.load_state_dict(cast("dict[str, object]", content["optimiser"]))
    torch.set_rng_state(cast("Tensor", content["random"]))
    # A run that was on a device of another kind goes on with fresh random numbers of this one.
    there = cast("dict[str, Tensor]", content.get("random_there", {}))
    if device.type in there:
        torch.get_device_module(device.type).set_rng_state(there[device.type], device)
    earlier = cast("dict[str, object]", content["course"])
    for one in fields(course):
        setattr(course, one.name, earlier[one.name])


@contextmanager
def fitting_together(path: Path) -> Iterator[None]:
    """Say in one message that the parts of a resume file do not fit the run."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        if out_of_memory(error):
            raise
        raise TrainingError(
            f"{path}: tseval cannot continue from this resume file, because its parts do not fit together "
            f"({first_line(error)}). Remove {path} to start over."
        ) from None


@contextmanager
def enough_memory(path: Path) -> Iterator[None]:
    """Say in one message that memory ran out, and that the resume file at `path` is what is kept."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        smaller = "lower --batch or --hidden"
        advice = (
            f"{path} holds the training until the last save. Free memory or choose another --device, and "
            f"add --resume to continue.\n  If the memory never suffices, remove {path} and {smaller}."
            if path.exists()
            else f"Choose another --device, or {smaller}."
        )
        raise TrainingError(f"the memory of the device is too small for this training.\n  {advice}") from None


def load_resume(path: Path, identity: Mapping[str, object]) -> dict[str, object]:
    """Read a resume file; nothing in it is executed."""
    over = f"Remove {path} to start over."
    try:
        content = read_plain(path)
    except ModelError as error:
        raise TrainingError(f"{first_line(error).rstrip('.')}. {over}") from None
    if content.get("format") != RESUME_FORMAT or content.get("version") != RESUME_VERSION:
        raise TrainingError(f"{path}: this version of tseval cannot read this resume file. {over}")
    if not isinstance(content.get("identity"), dict):
        raise TrainingError(f"{path}: the resume file does not say which settings the training had. {over}")
    # A setting that the file does not know yet had its default. What both kinds share, each has always had.
    defaults = {**asdict(Settings()), **asdict(ClassifierSettings())}
    started = {**defaults, **cast("dict[str, object]", content["identity"])}
    for name, value in identity.items():
        if started.get(name) != value:
            difference = f"{name} {started.get(name)!r}, but you give {value!r} now"
            if name in HASHED:
                difference = f"another {name} than the one that you give now"
            raise TrainingError(
                f"{path}: tseval cannot continue this training, because it began with {difference}.\n  {over}"
            )
    return content


@contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Hear of Ctrl-C and SIGTERM without being torn out of a window; a second one acts at once.

    Gives a function that tells whether to stop. Outside the main thread, which alone hears of signals,
    it never says so.
    """
    heard: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        if heard:
            raise KeyboardInterrupt
        heard.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(heard)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


TRY = "Lower --learning-rate or --clip."


def remedy(model: Network) -> str:
    """Say what to change: about the cell, if it is known to diverge with its options, and in general."""
    advice = model.cells[0].advice
    return TRY if advice is None else f"{advice}\n  Otherwise: {TRY}"


def check_finite(model: Network, values: Sequence[float], place: str) -> None:
    """Refuse to go on with a loss or a norm of the gradient that is none."""
    for name, value in zip(("loss", "norm of the gradient"), values, strict=True):
        if not math.isfinite(value):
            advice = remedy(model)
            raise TrainingError(
                f"the {name} became {value} (not a finite number) in {place} of the training.\n"
                f"  {advice}\n  If there is an earlier checkpoint, tseval keeps it."
            )


CurveRow = dict[str, int | float | None]

# What a point holds; one column a watched scalar and layer follows (`alpha_1`, `alpha_2`).
CURVE_COLUMNS: dict[str, pa.DataType] = {
    "step": pa.int64(),  # windows read
    "epoch": pa.int64(),  # that this window belongs to, from 1
    "tokens": pa.int64(),  # training tokens read
    "learning_rate": pa.float64(),  # of the next window
    "training_loss": pa.float64(),  # nats a token, mean over the windows since the last row
    "validation_loss": pa.float64(),  # nats a token; null where the model was not validated
    "validation_perplexity": pa.float64(),
    "seconds": pa.float64(),  # of training, validation and saving included, over all resumptions
}


def curves_path(out: Path) -> Path:
    """Name the file of the learning curves of a checkpoint."""
    return out.with_name(f"{out.stem}.curves.parquet")


@torch.no_grad()
def watched_scalars(model: Network, sample: Window) -> CurveRow:
    """Read what the cells find worth a curve; layers are counted from 1.

    What depends on words is averaged over those of a sample, the same at every point. Nothing is dropped, and
    no random numbers are drawn.
    """
    row: CurveRow = {}
    x = None
    for layer, cell in enumerate(model.cells, 1):
        row |= {f"{name}_{layer}": value.item() for name, value in cell.watched.items()}
        if type(cell).watched_words is Cell.watched_words:
            continue
        projected = cell.project(model.embedding(sample.words) if x is None else x)
        for name, values in cell.watched_words(projected).items():
            row[f"{name}_{layer}"] = sample.predicting(values).mean().item()
        x, _ = cell.scan(projected, cell.initial_state(sample.words.shape[1]))
    return row


def write_curves(path: Path, rows: Sequence[CurveRow], columns: Mapping[str, pa.DataType]) -> None:
    """Write the points of a learning curve, whole or not at all; what is no column is a number."""
    names = [*columns, *(name for name in rows[-1] if name not in columns)]
    types = [columns.get(name, pa.float64()) for name in names]
    values = [
        pa.array([row.get(name) for row in rows], kind) for name, kind in zip(names, types, strict=True)
    ]
    write_whole(path, to_parquet(pa.Table.from_arrays(values, names)))


READ_EVERY = 0.5  # seconds between readings of the losses: often enough for a bar, seldom enough for a GPU


class Probe(Protocol):
    """Measures something else along the way, such as the accuracy on a suite."""

    @property
    def every(self) -> int | None:
        """Windows between two moments; None for every validation. The very end is always one."""

    def start(self, resumed: bool) -> None:
        """Hear that the run starts, or goes on where an earlier process left it."""

    def measure(self, model: LanguageModel, step: int, tokens: int) -> None:
        """Measure a copy of the model, weights as on disk, after so many windows and training tokens."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a run writes, and what it measures besides; none of it changes the result."""

    out: Path  # the checkpoint; the resume file and the learning curves stand beside it
    origin: Mapping[str, Json]  # what the checkpoint records about where the model comes from
    save_every: float = 300.0  # seconds between resume files
    resume: bool = False  # go on from the resume file if there is one
    probe: Probe | None = None  # of a language model


class Listener(Protocol):
    """Hears of the training as it goes, to draw a bar."""

    def start(self, done: int, total: int) -> None:
        """Hear how many tokens or examples there are, and how many an earlier process has read."""

    def read(self, step: int, done: int, loss: float) -> None:
        """Hear that so many windows and tokens are done, the newest at this mean loss (nats)."""

    def noted(self, line: str) -> None:
        """Hear of something unusual that makes the run slower."""

    def validated(self, step: int, value: float, kept: bool) -> None:
        """Hear of the perplexity after a step, or a classifier's accuracy after an epoch; `kept` if saved."""


class Training(ABC):
    """A training run and its files; how one step is learnt from and measured is a trainer's own."""

    columns: Mapping[str, pa.DataType] = CURVE_COLUMNS
    model: Network
    optimiser: Optimizer
    settings: Settings | ClassifierSettings
    course: Course
    notes: list[str]  # for the user, each about something that happened since they were last taken away

    def __init__(
        self,
        model: Network,
        vocabulary: Vocabulary,
        text: tuple[Stream, Stream],
        settings: Settings | ClassifierSettings,
        destination: Destination,
    ) -> None:
        self.vocabulary, self.settings, self.destination = vocabulary, settings, destination
        self.identity = identify(model, vocabulary, text, settings)
        self.out, self.resume = destination.out, resume_path(destination.out)
        self._saved_at = self._clock = time.monotonic()

    def begin(self) -> None:
        """Take up the run where its resume file leaves it, or start one.

        The file is there from the start: a checkpoint without one is a finished run.
        """
        if self.destination.resume and self.resume.exists():
            content = load_resume(self.resume, self.identity)
            with fitting_together(self.resume):
                self.restore(content)
        else:
            self._start()
            self.save()

    def follow(self, listener: Listener) -> float:
        """Learn to the end, and give what the checkpoint that is left reached in validation."""
        listener.start(*self._progress())
        read_at = time.monotonic()
        with enough_memory(self.resume), stop_signals() as stopping:
            while not self._ended():
                self.advance()
                while self.notes:
                    listener.noted(self.notes.pop(0))
                if time.monotonic() - read_at >= READ_EVERY and (loss := self.read_losses()) is not None:
                    listener.read(self.course.step, self._progress()[0], loss)
                    read_at = time.monotonic()
                validates = self._validates()
                if validates:
                    listener.validated(*self._validate())
                elif self.settings.log_every and self.course.step % self.settings.log_every == 0:
                    self.add_row()
                self._probe()  # before the state is saved, so that a kill meanwhile does not skip it
                late = time.monotonic() - self._saved_at >= self.destination.save_every
                if late or validates or stopping():
                    self.save()
                if stopping():
                    raise KeyboardInterrupt
        best = self._best()
        write_curves(curves_path(self.out), self.course.rows, self.columns)
        self.resume.unlink()
        return best

    def save(self) -> None:
        """Write the resume file and the learning curves."""
        whole = {
            "format": RESUME_FORMAT,
            "version": RESUME_VERSION,
            "identity": self.identity,
            **self.content(),
        }
        write_whole(self.resume, lambda file: torch.save(whole, file))
        write_curves(curves_path(self.out), self.course.rows, self.columns)
        self._saved_at = time.monotonic()

    def _start(self) -> None:
        """Add the first point of the learning curve."""
        self.add_row()

    def _probe(self) -> None:  # noqa: B027 - nothing, of a classifier
        """Measure what else is to be measured at this moment, if anything."""

    @abstractmethod
    def advance(self) -> None:
        """Learn from one more window or batch."""

    @abstractmethod
    def read_losses(self) -> float | None:
        """Return the mean loss of the newest steps, if there are some."""

    @abstractmethod
    def add_row(self) -> None:
        """Add a point to the learning curve."""

    def content(self) -> dict[str, object]:
        """Return everything that `restore` needs, as tensors and plain data."""
        return snapshot(self.model, self.optimiser, self.course)

    def restore(self, content: Mapping[str, object]) -> None:
        """Become the run that `content` was taken from; parts that do not fit raise errors of many kinds."""
        take_up(content, self.model, self.optimiser, self.course)

    @abstractmethod
    def _progress(self) -> tuple[int, int]:
        """Return how many tokens or examples were learnt from, and how many there are."""

    @abstractmethod
    def _ended(self) -> bool: ...

    @abstractmethod
    def _validates(self) -> bool: ...

    @abstractmethod
    def _validate(self) -> tuple[int, float, bool]:
        """Measure the model and keep it if it is the best so far; give what a listener hears of it."""

    @abstractmethod
    def _best(self) -> float: ...


def carry_out(make: Callable[[], Training], out: Path, listener: Listener) -> float:
    """Make a run, and train to its end."""
    with enough_memory(resume_path(out)):
        run = make()
        run.begin()
    return run.follow(listener)


TINY = torch.finfo(torch.float32).tiny
# Logits computed at once: few enough on a CPU that a tile stays in the cache; a GPU wants many.
LOSS_TILE_LOGITS = {"cpu": 2**20}
LOSS_ON_ACCELERATOR = 2**26
LEAST_TILE_ROWS = 512
# Rows of logits are as long as a multiple of this: MKL makes rows of 10,797 numbers at two thirds of the
# speed of rows of 10,800.
ROW_MULTIPLE = 16
# Derivatives by logits held at once. The gradient of the matrix is as large as the matrix itself: each
# product that adds to it should be over many rows.
HELD_SLOPES = 2**26


class _TiledCrossEntropy(torch.autograd.Function):
    """Forward and gradients together, one tile of rows at a time, while the tile is in the cache."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, dtype: torch.dtype
    ) -> Tensor:
        low_hidden, low_weight, low_bias = hidden.to(dtype), *_widened(weight.to(dtype), bias.to(dtype))
        width = len(low_weight)
        by_hidden, by_bias = torch.empty_like(hidden), low_bias.new_zeros(width, dtype=bias.dtype)
        by_weight: Tensor | None = None
        loss = hidden.new_zeros((), dtype=widest_float(hidden.device))
        tile = max(LEAST_TILE_ROWS, LOSS_TILE_LOGITS.get(hidden.device.type, LOSS_ON_ACCELERATOR) // width)
        held = max(1, HELD_SLOPES // (width * tile)) * tile
        slopes = low_hidden.new_empty((min(held, len(hidden)), width))
        for first in range(0, len(hidden), held):
            for start in range(first, min(first + held, len(hidden)), tile):
                rows = slice(start, min(start + tile, first + held, len(hidden)))
                slope = slopes[start - first : rows.stop - first]
                logits = _product(low_hidden[rows], low_weight, low_bias, room=slope)
                torch.softmax(logits, 1, out=slope)
                # Where the targets stand, as if the rows were one after the other: `scatter_` takes a copy.
                where = targets[rows] + torch.arange(len(slope), device=targets.device) * width
                chosen = slope.take(where)
                loss -= chosen.float().clamp(min=TINY).log().sum(dtype=loss.dtype)
                # d loss / d logits = softmax - one-hot
                slope.put_(where, chosen - 1)
                by_hidden[rows] = _product(slope, low_weight.t())
            part = slopes[: min(held, len(hidden) - first)]
            product = _product(part.t(), low_hidden[first : first + held].t())
            by_weight = product.to(weight.dtype) if by_weight is None else by_weight.add_(product)
            by_bias += column_sums(part)
        assert by_weight is not None, "no rows"
        words = len(weight)
        ctx.save_for_backward(by_hidden, by_weight[:words], by_bias[:words])
        return (loss / len(hidden)).to(hidden.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, upstream: Tensor) -> tuple[Tensor | None, ...]:
        saved: tuple[Tensor, ...] = ctx.saved_tensors  # type: ignore[attr-defined]
        each = upstream / len(saved[0])
        return (*(gradient.mul_(each) for gradient in saved), None, None)


def _widened(weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Add words of probability 0, up to a multiple of `ROW_MULTIPLE`."""
    more = -len(weight) % ROW_MULTIPLE
    return F.pad(weight, (0, 0, 0, more)), F.pad(bias, (0, more), value=-torch.inf)


def _product(
    inputs: Tensor, weight: Tensor, bias: Tensor | None = None, room: Tensor | None = None
) -> Tensor:
    """Return x Wᵀ + b, in `room` where that is faster: of a new tensor the system has to clear every page."""
    if inputs.device.type != "cpu" or (inputs.dtype == torch.float32 and ONEDNN_IS_FASTER):
        return linear(inputs, weight, bias)
    if bias is None:
        return F.linear(inputs, weight)
    return torch.addmm(bias, inputs, weight.t(), out=room)


def cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Mean cross-entropy of `softmax(hidden weightᵀ + bias)` against targets, in nats.

    Args:
        hidden: Outputs of the last layer, (rows, hidden), float32.
        weight: Output matrix, (vocabulary, hidden), float32.
        bias: Output bias, (vocabulary,), float32.
        targets: Word ids, (rows,).
        dtype: Type of the matrix products; all else stays in float32.
    """
    return _TiledCrossEntropy.apply(hidden, weight, bias, targets, dtype)  # type: ignore[no-any-return, no-untyped-call]


OVERFLOW = 700.0  # nats whose exponential is too large for a float


def as_stored(model: LanguageModel, dtype: PackedType) -> LanguageModel:
    """Copy a model, weights rounded as on disk, so that what is measured is what is kept."""
    copy = cast("LanguageModel", network_of(model.sizes, stored_weights(model, dtype)))
    return copy.to(next(model.parameters()).device)


def perplexity(loss: float) -> float:
    """Turn nats a token into a perplexity; a loss too large for a float is infinitely bad."""
    return math.exp(loss) if loss < OVERFLOW else math.inf


@torch.inference_mode()
def mean_loss(model: LanguageModel, text: Windows) -> float:
    """Mean negative log-probability of a text, in nats a token, for a model in evaluation mode.

    How much is read at once does not change the result where the state is carried through.
    """
    device = next(model.parameters()).device
    output = model.output
    state: State = ()
    total = torch.zeros((), dtype=widest_float(device), device=device)
    for index in range(text.n_windows):
        window = text.read(index, device)
        if window.fresh:
            state = model.initial_state(window.words.shape[1])
        outputs, state = model(window.words, state)
        hidden = window.predicting(outputs)
        chosen = chosen_logits(hidden, output.weight, output.bias, window.targets)
        total += (log_normaliser(hidden, output.weight, output.bias) - chosen).sum(dtype=total.dtype)
    return total.item() / text.tokens(text.n_windows)
