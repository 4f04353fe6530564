"""The file in which a command saves a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

CHECKPOINT_ENDINGS = (".pt", ".safetensors")


def check_new(checkpoint: Path) -> None:
    """Refuse to write a checkpoint under another kind of name, or over a file."""
    if checkpoint.suffix not in CHECKPOINT_ENDINGS:
        raise ModelError(
            f"{checkpoint}: a checkpoint cannot have this name. Choose a name that ends in .pt or "
            ".safetensors."
        )
    if checkpoint.exists():
        raise ModelError(
            f"{checkpoint}: this file exists already. Choose another file with -o, or remove the file."
        )
