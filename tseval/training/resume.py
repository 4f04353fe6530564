"""Resume files: the complete state of a training between two windows, as plain data.

On a CPU, a run that was killed and resumed ends with a bit-identical checkpoint and the same learning curves
as an uninterrupted one; only the seconds differ.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, cast

import torch

from tseval.errors import ModelError, TrainingError, first_line
from tseval.models.checkpoint import read_plain
from tseval.scoring.devices import out_of_memory
from tseval.training.corpus import STREAM_BLOCK
from tseval.training.settings import ClassifierSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

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


def resume_path(out: Path) -> Path:
    """Return the path of the resume file of an unfinished checkpoint."""
    return out.with_name(f"{out.name}.resume")


def identify(
    model: Network,
    vocabulary: Vocabulary,
    text: tuple[Stream, Stream],
    settings: Settings | ClassifierSettings,
) -> dict[str, object]:
    """Return everything that determines the result of a run, under the user's names; long data as SHA-256.

    `text` is all training and all validation data, (numbers,) each.
    """
    words = hashlib.sha256("\n".join(vocabulary.words).encode()).hexdigest()
    return {
        **model.sizes.to_mapping(),
        **asdict(settings),
        "lowercase": vocabulary.lowercase,
        **dict(zip(HASHED, (*map(_sha256, text), words), strict=True)),
    }


def _sha256(stream: Stream) -> str:
    """Hash a stream from its data, without relying on cached hashes."""
    digest = hashlib.sha256()
    for block in stream.split(STREAM_BLOCK):
        digest.update(block.numpy().data)
    return digest.hexdigest()


def random_there(device: torch.device) -> dict[str, Tensor]:
    """Return the random state of an accelerator, by its type; a CPU's state is stored separately."""
    if device.type == "cpu":
        return {}
    return {device.type: torch.get_device_module(device.type).get_rng_state(device)}


def snapshot(model: Network, optimiser: Optimizer, course: Course) -> dict[str, object]:
    """Return everything that determines how a run continues, as tensors and plain data."""
    device = next(model.parameters()).device
    return {
        "weights": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "random": torch.get_rng_state(),
        "random_there": random_there(device),
        "course": asdict(course),
    }


def take_up(content: Mapping[str, object], model: Network, optimiser: Optimizer, course: Course) -> None:
    """Restore a snapshot; parts that do not fit raise various errors."""
    device = next(model.parameters()).device
    model.load_state_dict(cast("dict[str, Tensor]", content["weights"]))
    optimiser.load_state_dict(cast("dict[str, object]", content["optimiser"]))
    torch.set_rng_state(cast("Tensor", content["random"]))
    # A run from a device of another type continues with new random numbers of this device.
    device_states = cast("dict[str, Tensor]", content.get("random_there", {}))
    if device.type in device_states:
        torch.get_device_module(device.type).set_rng_state(device_states[device.type], device)
    earlier = cast("dict[str, object]", content["course"])
    for attribute in fields(course):
        setattr(course, attribute.name, earlier[attribute.name])


@contextmanager
def fitting_together(path: Path) -> Iterator[None]:
    """Turn errors of a resume file that does not fit into one message."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        if out_of_memory(error):
            raise
        raise TrainingError(
            f"{path}: tseval cannot continue from this resume file, because its parts do not fit together "
            f"({first_line(error)}). Remove {path} to start over."
        ) from None


def load_resume(path: Path, identity: Mapping[str, object]) -> dict[str, object]:
    """Read a resume file and check its settings; no code in the file is executed."""
    fix = f"Remove {path} to start over."
    try:
        content = read_plain(path)
    except ModelError as error:
        raise TrainingError(f"{first_line(error).rstrip('.')}. {fix}") from None
    if content.get("format") != RESUME_FORMAT or content.get("version") != RESUME_VERSION:
        raise TrainingError(f"{path}: this version of tseval cannot read this resume file. {fix}")
    if not isinstance(content.get("identity"), dict):
        raise TrainingError(f"{path}: the resume file does not say which settings the training had. {fix}")
    # A setting that is missing in an old file had its default. Both kinds of training have always had the
    # rest.
    defaults = {**asdict(Settings()), **asdict(ClassifierSettings())}
    started = {**defaults, **cast("dict[str, object]", content["identity"])}
    for name, value in identity.items():
        if started.get(name) != value:
            difference = f"{name} {started.get(name)!r}, but you give {value!r} now"
            if name in HASHED:
                difference = f"another {name} than the one that you give now"
            raise TrainingError(
                f"{path}: tseval cannot continue this training, because it began with {difference}.\n  {fix}"
            )
    return content


@dataclass(slots=True)
class Course:
    """The history of a run, as plain data; subclasses add fields."""

    step: int = 0  # windows or batches so far
    loss: float = 0.0  # sum of their mean losses, nats
    seconds: float = 0.0  # of work, over all sessions
    rows: list[CurveRow] = field(default_factory=list)  # points of the learning curve
    validations: list[Json] = field(default_factory=list)  # the checkpoint's record of each validation
