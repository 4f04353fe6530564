"""Resume files: everything that a training run is between two windows, as plain data.

A run that was killed and taken up again ends, on a CPU, with the bit-identical checkpoint and the same
learning curves as one that was not; only the seconds differ.
"""

from __future__ import annotations

import hashlib
import signal
import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, cast

import torch

from tseval.errors import ModelError, TrainingError, first_line
from tseval.files import write_whole
from tseval.models.pickles import read_plain
from tseval.scoring.numerics import out_of_memory
from tseval.training.corpus import STREAM_BLOCK
from tseval.training.settings import ClassifierSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from types import FrameType

    from torch import Tensor
    from torch.optim import Optimizer

    from tseval.formats import Json
    from tseval.models.network import Network
    from tseval.models.vocabulary import Vocabulary
    from tseval.training.corpus import Stream
    from tseval.training.curves import CurveRow

RESUME_FORMAT = "tseval-resume"
RESUME_VERSION = 1
HASHED = ("training text", "validation text", "vocabulary list")


@dataclass(slots=True)
class Course:
    """How a run went so far; plain data, to which each trainer adds its own.

    Attributes:
        step: Windows or batches learnt from.
        loss: Sum of their mean losses, nats.
        seconds: Of work, over all resumptions.
        rows: Points of the learning curve.
        validations: What the checkpoint records of each validation.
    """

    step: int = 0
    loss: float = 0.0
    seconds: float = 0.0
    rows: list[CurveRow] = field(default_factory=list)
    validations: list[Json] = field(default_factory=list)


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

    Args:
        model: On the device to train on.
        vocabulary: Its words.
        text: All that is learnt from and validated on, (numbers,) each.
        settings: How to train.
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


def snapshot(model: Network, optimiser: Optimizer, course: Course) -> dict[str, object]:
    """Give what decides how a run goes on, as tensors and plain data.

    Args:
        model: On the device to train on.
        optimiser: Of its weights.
        course: How the run went so far.
    """
    device = next(model.parameters()).device
    return {
        "weights": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "random": torch.get_rng_state(),
        "random_there": _random_there(device),
        "course": asdict(course),
    }


def _random_there(device: torch.device) -> dict[str, Tensor]:
    """Give the state of the random numbers of a device, by its kind; a CPU's have a place of their own."""
    if device.type == "cpu":
        return {}
    return {device.type: torch.get_device_module(device.type).get_rng_state(device)}


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
    """Say in one message that the parts of a resume file do not fit the run.

    Raises:
        TrainingError: For any error that such a part may cause; but lack of memory is none of the file's.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        if out_of_memory(error):
            raise
        raise TrainingError(
            f"{path}: does not fit together ({first_line(error)}). Remove {path} to start over."
        ) from None


@contextmanager
def enough_memory(path: Path) -> Iterator[None]:
    """Say in one message that memory ran out, and what is kept.

    Args:
        path: The resume file, which nothing touches between two savings.

    Raises:
        TrainingError: For lack of memory on any device.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        smaller = "lower --batch or --hidden"
        step = (
            f"{path} holds what was learnt until it was saved last: with more memory free, or on another "
            f"--device, add --resume to go on. If it never fits, remove it and {smaller}."
            if path.exists()
            else f"Choose another --device, or {smaller}."
        )
        raise TrainingError(f"the training ran out of memory.\n  {step}") from None


def save_resume(path: Path, identity: Mapping[str, object], content: Mapping[str, object]) -> None:
    """Write a resume file, whole or not at all.

    Args:
        path: Where.
        identity: All that must be equal for the run to be taken up again, by the name a user knows it by.
        content: Tensors and plain data.

    Raises:
        OSError: If the file cannot be written; an older one stays.
    """
    whole = {"format": RESUME_FORMAT, "version": RESUME_VERSION, "identity": dict(identity), **content}
    write_whole(path, lambda file: torch.save(whole, file))


def load_resume(path: Path, identity: Mapping[str, object]) -> dict[str, object]:
    """Read a resume file; nothing in it is executed.

    Raises:
        TrainingError: If it is damaged, something else, or belongs to a run with other settings or data.
    """
    over = f"Remove {path} to start over."
    try:
        content = read_plain(path)
    except ModelError as error:
        raise TrainingError(f"{error}. {over}") from None
    if content.get("format") != RESUME_FORMAT or content.get("version") != RESUME_VERSION:
        raise TrainingError(f"{path}: no resume file that this tseval can read. {over}")
    if not isinstance(content.get("identity"), dict):
        raise TrainingError(f"{path}: a resume file without its settings. {over}")
    # A setting that the file does not know yet had its default. What both kinds share, each has always had.
    defaults = {**asdict(Settings()), **asdict(ClassifierSettings())}
    started = {**defaults, **cast("dict[str, object]", content["identity"])}
    for name, value in identity.items():
        if started.get(name) != value:
            raise TrainingError(f"{path}: {_difference(name, started.get(name), value)}\n  {over}")
    return content


def _difference(name: str, started: object, value: object) -> str:
    if name in HASHED:
        return f"the run was started with another {name}, and cannot go on with this one."
    return f"the run was started with {name} {started!r}, and cannot go on with {value!r}."


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
