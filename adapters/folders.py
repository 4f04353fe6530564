"""Folders of transformers, looked at before anything in them is opened."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from tseval.errors import LimitError, ModelError
from tseval.formats import ContentError, read_json
from tseval.models.pickles import STATE_LIMITS, read_object

if TYPE_CHECKING:
    from pathlib import Path

PICKLED_WEIGHTS = "*_model*.bin"  # of a model, or of an adapter to one
TOKENIZER = ("tokenizer*", "vocab*", "*.model", "*.tiktoken", "*.vocab", "merges.txt")


def refuse_hostile(where: str, folder: Path) -> None:
    """Refuse a folder that holds pipes or devices before transformers waits for them, or hostile pickles.

    Torch's own reader executes nothing in a pickle of weights, but takes any memory that it asks for.

    Args:
        where: What to call it in messages.
        folder: The folder; if it is none, nothing is refused.

    Raises:
        ModelError: Names the file.
    """
    with suppress(OSError):  # what cannot be looked at is told by transformers
        for path in folder.iterdir():
            if path.exists() and not path.is_file() and not path.is_dir():
                raise ModelError(f"{where}: holds {path.name!r}, which is not a regular file")
            if path.is_file() and path.match(PICKLED_WEIGHTS):
                try:
                    read_object(path, frozenset(), STATE_LIMITS)
                except ModelError as error:
                    raise ModelError(f"{where}: {path.name}: {error}") from None


def check_saved(where: str, folder: Path, tokenizer: Path) -> None:
    """Refuse folders that lack a model or its tokenizer; of what is no folder, the hub knows more.

    Raises:
        ModelError: Says what is missing.
    """
    if folder.is_dir() and not (folder / "config.json").exists():
        raise ModelError(
            f"{where} holds no config.json: it is no saved model.\n"
            "  Save one there with save_pretrained(), or give the folder that holds it."
        )
    if tokenizer.is_dir() and not holds_tokenizer(tokenizer):
        raise ModelError(
            f"{where} holds no tokenizer, neither tokenizer.json nor a vocabulary.\n"
            "  Save it beside the model: AutoTokenizer.from_pretrained(BASE).save_pretrained(FOLDER)."
        )


def place_in_training(folder: Path) -> dict[str, str | int]:
    """Say of a checkpoint that the Trainer of transformers saved how far the training had come.

    Returns:
        `step`, and `folder`, the name of the one that the checkpoint lies in; nothing of another folder.
    """
    try:
        state = read_json(folder / "trainer_state.json")
    except (OSError, LimitError, ContentError):
        return {}
    step = state.get("global_step") if isinstance(state, dict) else None
    if not isinstance(step, int) or isinstance(step, bool):
        return {}
    return {"step": step, "folder": folder.resolve().parent.name}


def holds_tokenizer(folder: Path) -> bool:
    """Tell whether a folder holds files of a tokenizer."""
    return any(next(folder.glob(pattern), None) for pattern in TOKENIZER)
