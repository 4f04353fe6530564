"""The checkpoint of a training: it is locked during the training, and never overwritten."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, cast

from tseval.cli.checkpoint_files import CHECKPOINT_ENDINGS
from tseval.errors import TrainingError
from tseval.files import locked
from tseval.models.checkpoint import load_checkpoint
from tseval.training.resume import resume_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tseval.formats import Json
    from tseval.models.network import Sizes
    from tseval.training.settings import ClassifierSettings, Settings


@contextmanager
def reserved(out: Path, resume: bool) -> Iterator[None]:
    """Lock the file of a checkpoint, so that only one training writes it."""
    _check_out(out, resume)
    error = TrainingError(
        f"{out} is locked, because another tseval command is training this model.\n"
        "  Wait until that command ends, or choose another file with --out."
    )
    with locked(out.with_name(f"{out.name}.lock"), error):
        _check_out(out, resume)  # another training may have ended before we had the lock
        yield


def _check_out(out: Path, resume: bool) -> None:
    """Refuse a path that cannot be written or must not be overwritten, before hours of training."""
    unfinished = resume_path(out)
    if unfinished.exists() and not resume:
        raise TrainingError(
            f"{unfinished}: this file is the state of an interrupted training. To continue the training, "
            f"add --resume. To start over, remove {f'the file and {out}' if out.exists() else 'the file'}."
        )
    if out.exists() and not resume:
        raise TrainingError(
            f"{out}: this file exists already. Choose another file with --out, or remove the file."
        )
    if out.suffix not in CHECKPOINT_ENDINGS:
        raise TrainingError(
            f"{out}: a checkpoint cannot have this name. Choose a name that ends in .pt or .safetensors."
        )
    if not out.parent.is_dir():
        raise TrainingError(
            f"{out}: the folder {out.parent} does not exist. Create the folder, or choose another file "
            "with --out."
        )
    if not os.access(out.parent, os.W_OK):
        raise TrainingError(
            f"{out}: you have no permission to write into the folder {out.parent}. Choose "
            "another file with --out."
        )


def finished(out: Path, resume: bool, sizes: Sizes, settings: Settings | ClassifierSettings) -> str | None:
    """Return a message if the training with these settings is finished; None if it is not."""
    if not (resume and out.exists() and not resume_path(out).exists()):
        return None
    checkpoint = load_checkpoint(out)
    words = checkpoint.model.sizes.vocabulary
    trained = {**asdict(checkpoint.model.sizes), **cast("dict[str, Json]", checkpoint.training["settings"])}
    wanted = {**asdict(replace(sizes, vocabulary=words)), **asdict(settings)}
    for setting, value in wanted.items():
        saved = trained.get(setting, value)
        if saved != value:
            raise TrainingError(
                f"{out}: this model was trained with {setting} {saved!r}, but the command says {value!r}.\n"
                "  Choose another file with --out, or remove the file."
            )
    return (
        f"{out}: the training is already finished; the model has the fingerprint "
        f"{checkpoint.fingerprint[:12]}"
    )
