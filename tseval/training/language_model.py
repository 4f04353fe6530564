"""Train a word-level language model: truncated back-propagation through time, best checkpoint kept."""

from __future__ import annotations

import math
import platform
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

import torch

from tseval.errors import TrainingError
from tseval.models.cells.cell import FusedCell
from tseval.models.checkpoint import save_checkpoint
from tseval.models.vocabulary import EOS
from tseval.training.corpus import Columns, Lines, columns
from tseval.training.loop import (
    HASHED,
    OVERFLOW,
    TrainingState,
    as_stored,
    curves_path,
    enough_memory,
    fitting_together,
    identify,
    load_resume,
    mean_loss,
    perplexity,
    remedy,
    resume_path,
    save_resume,
    stop_signals,
    write_curves,
)
from tseval.training.settings import Schedule

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tseval.formats import Json
    from tseval.models.network import LanguageModel
    from tseval.models.vocabulary import Vocabulary
    from tseval.training.corpus import Stream, Windows
    from tseval.training.settings import ClassifierSettings, Settings

VALIDATION_COLUMNS = 32
VALIDATION_LINES = 512
READ_EVERY = 0.5  # seconds between readings of the losses: often enough for a bar, seldom enough for a GPU


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a run writes, and what it measures besides; none of it changes the result.

    Attributes:
        out: The checkpoint; the resume file and the learning curves stand beside it.
        origin: What the checkpoint records about where the model comes from.
        save_every: Seconds between resume files.
        resume: Go on from the resume file if there is one.
        probe: What else to measure along the way.
    """

    out: Path
    origin: Mapping[str, Json]
    save_every: float = 300.0
    resume: bool = False
    probe: Probe | None = None


class Probe(Protocol):
    """Measures something else along the way, such as the accuracy on a suite."""

    @property
    def every(self) -> int | None:
        """Windows between two moments; None for every validation. The very end is always one."""
        ...

    def start(self, resumed: bool) -> None:
        """Hear that the run starts, or goes on where an earlier process left it."""

    def measure(self, model: LanguageModel, step: int, tokens: int) -> None:
        """Measure a copy of the model, weights as on disk, after so many windows and training tokens."""


class Listener(Protocol):
    """Hears of the training as it goes, to draw a bar."""

    def start(self, done: int, total: int) -> None:
        """Hear how many training tokens there are, and how many an earlier process has read."""

    def read(self, step: int, done: int, loss: float) -> None:
        """Hear that so many windows and tokens are done, the newest at this mean loss (nats)."""

    def validated(self, step: int, value: float, kept: bool) -> None:
        """Hear of the perplexity after a step, or a classifier's accuracy after an epoch; `kept` if saved."""


def train_language_model(
    model: LanguageModel,
    vocabulary: Vocabulary,
    text: tuple[Stream, Stream],
    settings: Settings,
    destination: Destination,
    listener: Listener,
) -> float:
    """Train a model and keep the checkpoint with the lowest validation perplexity.

    Args:
        model: With its initial weights, on the device to train on.
        vocabulary: Its words.
        text: Training and validation streams of word ids, each (tokens,), in memory or on disk.
        settings: How to train.
        destination: Where to write, and whether to go on with an earlier run.
        listener: Hears of the training as it goes.

    Returns:
        Validation perplexity of the saved checkpoint, per token with `<eos>`, unknown words as `<unk>`.

    Raises:
        TrainingError: If the loss is no longer finite (the best checkpoint so far stays), memory runs out, or
            the resume file belongs to another run.
        KeyboardInterrupt: On Ctrl-C or SIGTERM, after a resume file was written.
    """
    with enough_memory(resume_path(destination.out)):
        run = _Run(model, vocabulary, text, settings, destination)
        run.begin()
    state, course, schedule = run.state, run.state.course, run.schedule
    listener.start(schedule.tokens(course.step), schedule.tokens(schedule.steps))
    read_at = time.monotonic()
    with enough_memory(run.resume), stop_signals() as stopping:
        while course.step < schedule.steps:
            state.advance()
            if time.monotonic() - read_at >= READ_EVERY and (loss := state.read_losses()) is not None:
                listener.read(course.step, schedule.tokens(course.step), loss)
                read_at = time.monotonic()
            if schedule.validates(course.step):
                kept = run.validate()
                listener.validated(course.step, run.newest_perplexity, kept)
            elif schedule.logs(course.step):
                state.add_row()
            run.probe()  # before the state is saved, so that a kill meanwhile does not skip it
            late = run.unsaved_seconds >= destination.save_every
            if late or stopping() or schedule.validates(course.step):
                run.save()
            if stopping():
                raise KeyboardInterrupt
    return run.finish()


class _Run:
    """A training run and its files."""

    def __init__(
        self,
        model: LanguageModel,
        vocabulary: Vocabulary,
        text: tuple[Stream, Stream],
        settings: Settings,
        destination: Destination,
    ) -> None:
        train, self.valid = windows_of(text, vocabulary, settings)
        self.vocabulary, self.settings, self.destination = vocabulary, settings, destination
        self.schedule = Schedule(settings, train)
        self.state = TrainingState(model, self.schedule)
        self.identity = identify(model, vocabulary, text, settings)
        self.out, self.resume = destination.out, resume_path(destination.out)
        self._saved_at = time.monotonic()

    def begin(self) -> None:
        """Take up the run where its resume file leaves it, or start one.

        The file is there from the start: a checkpoint without one is a finished run.
        """
        resumed = self.destination.resume and self.resume.exists()
        if self.destination.probe:
            self.destination.probe.start(resumed)
        if resumed:
            content = load_resume(self.resume, self.identity)
            with fitting_together(self.resume):
                self.state.restore(content)
        else:
            self.state.add_row()
            self.save()
        if self.settings.compiled:
            compile_loops(self.state.model)

    def validate(self) -> bool:
        """Measure the model, keep it if it is the best so far, and say whether it is.

        Raises:
            TrainingError: If the loss is not finite.
        """
        self.state.read_losses()
        course = self.state.course
        model = as_stored(self.state.model, self.settings.stored)
        loss = mean_loss(model, self.valid)
        if not math.isfinite(loss):
            raise TrainingError(
                f"the validation loss is {loss} after window {course.step} of the run. {remedy(model)} "
                "The best checkpoint before it, if any, stays."
            )
        self.newest_perplexity = perplexity(loss)
        better = self.newest_perplexity < course.best
        course.best = min(self.newest_perplexity, course.best)
        course.validations.append(
            {
                "step": course.step,
                "epoch": self.schedule.epoch(course.step),
                "tokens": self.schedule.tokens(course.step),
                "training_loss": course.mean_loss_since(course.at_validation),
                "validation_perplexity": self.newest_perplexity if loss < OVERFLOW else None,
                "seconds": round(course.seconds, 1),
            }
        )
        course.at_validation = course.step, course.loss
        if better:
            self._keep(model)
        elif self.settings.schedule == "anneal":
            course.anneals += 1
        self.state.add_row(loss, self.newest_perplexity)
        return better

    def _keep(self, model: LanguageModel) -> None:
        course = self.state.course
        record: dict[str, Json] = {
            **self.destination.origin,
            "digests": {name: str(self.identity[name]) for name in HASHED},
            **provenance(self.settings),
            "course": list(course.validations),
        }
        save_checkpoint(
            self.out, model, self.vocabulary,
            training=record, validation_perplexity=course.best, dtype=self.settings.stored,
        )  # fmt: skip

    def probe(self) -> None:
        """Measure what else is to be measured at this moment, if anything."""
        probe, step = self.destination.probe, self.state.course.step
        if probe is None:
            return
        due = step % probe.every == 0 if probe.every else self.schedule.validates(step)
        if due or step == self.schedule.steps:
            model = as_stored(self.state.model, self.settings.stored)
            probe.measure(model, step, self.schedule.tokens(step))

    @property
    def unsaved_seconds(self) -> float:
        """Seconds of work that a kill would lose."""
        return time.monotonic() - self._saved_at

    def save(self) -> None:
        """Write the resume file and the learning curves."""
        save_resume(self.resume, self.identity, self.state.content())
        write_curves(curves_path(self.out), self.state.course.rows)
        self._saved_at = time.monotonic()

    def finish(self) -> float:
        """Leave the finished checkpoint and its curves; give its perplexity."""
        if self.state.course.best == math.inf:
            raise TrainingError(f"the validation perplexity was never finite. {remedy(self.state.model)}")
        write_curves(curves_path(self.out), self.state.course.rows)
        self.resume.unlink()
        return self.state.course.best


def windows_of(
    text: tuple[Stream, Stream], vocabulary: Vocabulary, settings: Settings
) -> tuple[Windows, Windows]:
    """Cut training and validation streams into what is read at once.

    Raises:
        TrainingError: If the training text is too short for a batch.
    """
    train, valid = text
    if settings.whole_lines:
        eos = vocabulary.ids()[EOS]
        return Lines(train, eos, settings.batch), Lines(valid, eos, VALIDATION_LINES)
    narrow = columns(valid, min(VALIDATION_COLUMNS, len(valid) // 2))
    return (
        Columns(columns(train, settings.batch), settings.window, settings.fresh_state),
        Columns(narrow, settings.window, settings.fresh_state),
    )


def compile_loops(model: LanguageModel) -> None:
    """Let torch fuse the loops over words of those cells that torch has no fused layer for."""
    for cell in model.cells:
        if not isinstance(cell, FusedCell):
            cell.scan = torch.compile(cell.scan)  # type: ignore[method-assign]


def provenance(settings: Settings | ClassifierSettings) -> dict[str, Json]:
    """Say what a checkpoint records of how it was trained, and with what."""
    return {
        "settings": asdict(settings),
        "versions": {
            "tseval": version("tseval"),
            "torch": str(torch.__version__),
            "python": platform.python_version(),
        },
    }
