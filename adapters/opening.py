"""The function that opens a model by name, or wraps one in memory."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tseval.adapters.packages import load_adapter
from tseval.adapters.schemes import find_adapter
from tseval.errors import ModelError
from tseval.scoring.protocol import PROTOCOL_PARTS, current, refuse_no_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from torch import nn
    from transformers import PreTrainedTokenizerBase

    from tseval.models.vocabulary import Vocabulary
    from tseval.scoring.protocol import Model

    # Models in memory: tseval's, a torch module with its words, a transformers model with its tokenizer.
    Words = Vocabulary | Sequence[str] | Mapping[str, int]
    LiveModel = Model | tuple[nn.Module, Words] | tuple[nn.Module, PreTrainedTokenizerBase]


def open_model(
    spec: str | Path | LiveModel, arguments: Mapping[str, str] | None = None, device: str = "auto"
) -> Model:
    """Open a model by name, or wrap one in memory with its current weights, on its device.

    Args:
        spec: Path of a checkpoint, `scheme:rest` (`bundled:lstm`), or `PATH.py:FUNCTION`. Or an object with
            the methods of a protocol, a pair (transformers model, tokenizer), or a pair (torch module,
            words). The words are a list in the order of the ids, or a mapping from word to id.
        arguments: Arguments for the adapter, as in `--model-args`.
        device: `auto`, `cpu`, `cuda` or `cuda:1`.

    Raises:
        ModelError: The file does not exist, no adapter has this scheme, the adapter cannot be imported, or
            the model cannot be used.
    """
    with _stated_precision():
        return _opened(spec, arguments, device)


def _stated_precision() -> AbstractContextManager[None]:
    """Disable torch settings of the caller that would change numbers; do nothing if torch is not loaded."""
    if "torch" not in sys.modules:
        return nullcontext()
    return cast("AbstractContextManager[None]", import_module("tseval.scoring.precision").stated_precision())


def _opened(spec: str | Path | LiveModel, arguments: Mapping[str, str] | None, device: str) -> Model:
    if not isinstance(spec, str | Path):
        if arguments or device != "auto":
            raise ModelError(
                "a model that is already in memory stays on its device and takes no arguments.\n"
                "  Leave out `arguments` and `device`: load_model(MODEL)."
            )
        if isinstance(spec, tuple(PROTOCOL_PARTS)):
            return current(cast("Model", spec))
        live = import_module(f"{__package__}.live")  # imports torch
        return cast("Model", live.as_model(spec, "load_model received"))
    entry, rest = find_adapter(str(spec))
    model = load_adapter(entry)(rest, arguments or {}, device)
    refuse_no_model(model, f"what the adapter {entry.name!r} ({entry.value}) returns")
    return model
