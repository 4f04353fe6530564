"""The loop of all trainings: learn, validate, save, and stop cleanly."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch

from tseval.errors import TrainingError
from tseval.files import write_whole
from tseval.scoring.devices import out_of_memory
from tseval.training.curves import CURVE_COLUMNS, curves_path, write_curves
from tseval.training.resume import (
    RESUME_FORMAT,
    RESUME_VERSION,
    Course,
    fitting_together,
    identify,
    load_resume,
    resume_path,
    snapshot,
    take_up,
)
from tseval.training.signals import stop_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa
    from torch.optim import Optimizer

    from tseval.formats import Json
    from tseval.models.network import LanguageModel, Network
    from tseval.models.vocabulary import Vocabulary
    from tseval.training.corpus import Stream
    from tseval.training.settings import ClassifierSettings, Settings


@contextmanager
def enough_memory(path: Path) -> Iterator[None]:
    """Turn a lack of memory into one message, which mentions the resume file at `path`."""
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


READ_EVERY = 0.5  # seconds between readings of the losses, a compromise between progress bar and GPU speed


class Probe(Protocol):
    """An additional evaluation during training, such as the accuracy on a suite."""

    @property
    def every(self) -> int | None:
        """Windows between two evaluations; None for every validation. The end is always evaluated."""

    def start(self, resumed: bool) -> None:
        """Prepare for a run that starts, or continues from an earlier session."""

    def measure(self, model: LanguageModel, step: int, tokens: int) -> None:
        """Evaluate a copy of the model, with weights as on disk, after `step` windows and `tokens` tokens."""


@dataclass(frozen=True, slots=True)
class Destination:
    """The output files of a run, and its additional evaluations; neither changes the result."""

    out: Path  # the checkpoint; resume file and learning curves are in the same folder
    origin: Mapping[str, Json]  # the checkpoint's record of the model's origin
    save_every: float = 300.0  # seconds between resume files
    resume: bool = False  # whether to continue from the resume file if there is one
    probe: Probe | None = None  # only for a language model


class Listener(Protocol):
    """A receiver of progress reports, such as a progress bar."""

    def start(self, done: int, total: int) -> None:
        """Receive the number of tokens or examples in total, and how many earlier sessions have read."""

    def read(self, step: int, done: int, loss: float) -> None:
        """Receive the number of finished windows and tokens, and the latest mean loss (nats)."""

    def noted(self, line: str) -> None:
        """Receive a note on something unusual that makes the run slower."""

    def validated(self, step: int, value: float, kept: bool) -> None:
        """Receive perplexity after a step, or accuracy after an epoch; `kept` if the checkpoint was saved."""


class Training(ABC):
    """A training run and its files; subclasses define a step and its measurements."""

    columns: Mapping[str, pa.DataType] = CURVE_COLUMNS
    model: Network
    optimiser: Optimizer
    settings: Settings | ClassifierSettings
    course: Course
    notes: list[str]  # notes for the user since the last report

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
        """Resume the run from its resume file, or start a new one.

        The file exists from the start, so a checkpoint without one is a finished run.
        """
        if self.destination.resume and self.resume.exists():
            content = load_resume(self.resume, self.identity)
            with fitting_together(self.resume):
                self.restore(content)
        else:
            self._start()
            self.save()

    def follow(self, listener: Listener) -> float:
        """Train to the end, and return the validation result of the kept checkpoint."""
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
                self._probe()  # before the state is saved, so that a kill in between does not skip it
                is_due = time.monotonic() - self._saved_at >= self.destination.save_every
                if is_due or validates or stopping():
                    self.save()
                if stopping():
                    raise KeyboardInterrupt
        best = self._best()
        write_curves(curves_path(self.out), self.course.rows, self.columns)
        self.resume.unlink()
        return best

    def save(self) -> None:
        """Write the resume file and the learning curves."""
        content = {
            "format": RESUME_FORMAT,
            "version": RESUME_VERSION,
            "identity": self.identity,
            **self.content(),
        }
        write_whole(self.resume, lambda file: torch.save(content, file))
        write_curves(curves_path(self.out), self.course.rows, self.columns)
        self._saved_at = time.monotonic()

    def _start(self) -> None:
        """Add the first point of the learning curve."""
        self.add_row()

    def _probe(self) -> None:  # noqa: B027 - nothing, of a classifier
        """Run the additional evaluation, if it is due."""

    @abstractmethod
    def advance(self) -> None:
        """Train on one more window or batch."""

    @abstractmethod
    def read_losses(self) -> float | None:
        """Return the mean loss of the latest steps, or None."""

    @abstractmethod
    def add_row(self) -> None:
        """Add a point to the learning curve."""

    def content(self) -> dict[str, object]:
        """Return everything for `restore`, as tensors and plain data."""
        return snapshot(self.model, self.optimiser, self.course)

    def restore(self, content: Mapping[str, object]) -> None:
        """Restore the state in `content`; parts that do not fit raise various errors."""
        take_up(content, self.model, self.optimiser, self.course)

    @abstractmethod
    def _progress(self) -> tuple[int, int]:
        """Return the number of tokens or examples so far, and in total."""

    @abstractmethod
    def _ended(self) -> bool: ...

    @abstractmethod
    def _validates(self) -> bool: ...

    @abstractmethod
    def _validate(self) -> tuple[int, float, bool]:
        """Validate the model, keep it if it is the best so far, and return the arguments for the listener."""

    @abstractmethod
    def _best(self) -> float: ...


def run_training(make: Callable[[], Training], out: Path, listener: Listener) -> float:
    """Create a run, and train to its end."""
    with enough_memory(resume_path(out)):
        run = make()
        run.begin()
    return run.follow(listener)
