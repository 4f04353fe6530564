"""Check the path to which a command saves a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

CHECKPOINT_ENDINGS = (".pt", ".safetensors")


def check_new(checkpoint: Path) -> None:
    """Refuse a path that does not end like a checkpoint, or that exists already."""
    if checkpoint.suffix not in CHECKPOINT_ENDINGS:
        raise ModelError(
            f"{checkpoint}: a checkpoint cannot have this name. Choose a name that ends in .pt or "
            ".safetensors."
        )
    if checkpoint.exists():
        raise ModelError(
            f"{checkpoint}: this file exists already. Choose another file with -o, or remove the file."
        )
