"""Adapters: one module per kind of model, imported as `tseval.adapters`.

An adapter is a function `(rest, arguments, device) -> model`, registered under its scheme in the
entry-point group `tseval.adapters`; the model satisfies one of the protocols of
`tseval.scoring.protocol`. `--model SCHEME:REST` finds it; a bare path is opened by `native`.
"""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.adapters.plugins import GROUP, load_adapter, not_yet_installed
from tseval.errors import ModelError, suggest
from tseval.models.checkpoint import bundled_checkpoints
from tseval.scoring.protocol import refuse_no_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tseval.scoring.protocol import Model

# What may be the name of a model on the hub, and what is surely a file.
ON_THE_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")
CHECKPOINTS = {".pt", ".pth", ".safetensors", ".bin", ".ckpt"}

if __name__ != "tseval.adapters":
    raise ImportError("import tseval.adapters: the folder adapters/ is a part of the tseval package")


def open_model(spec: str | Path, arguments: Mapping[str, str] | None = None, device: str = "auto") -> Model:
    """Open a model by name.

    Args:
        spec: Path of a checkpoint, or `scheme:rest` (`bundled:lstm`).
        arguments: What the adapter should know besides, as in `--model-args`.
        device: `auto`, `cpu`, `cuda` or `cuda:1`.

    Raises:
        ModelError: If there is no such file, no adapter answers to the scheme, the adapter cannot be
            imported, or the model cannot be used.
    """
    entry, rest = find_adapter(str(spec))
    model = load_adapter(entry)(rest, arguments or {}, device)
    refuse_no_model(model, f"what the adapter {entry.name!r} ({entry.value}) gives")
    return model


def find_adapter(spec: str) -> tuple[EntryPoint, str]:
    """Find which adapter a name asks for; imports none.

    Returns:
        The adapter, and what it is to open.

    Raises:
        ModelError: If there is no such file, or no adapter answers to the scheme.
    """
    if not spec:
        raise ModelError("no model is named: give the path of a checkpoint, or bundled:lstm")
    scheme, colon, rest = spec.partition(":")
    if not colon or Path(spec).exists():
        scheme, rest = "native", spec
        if not Path(spec).exists():
            raise ModelError(f"{spec}: no such checkpoint{_meant(spec)}")
    known = adapters()
    if scheme not in known:
        raise ModelError(
            f"{spec}: no such checkpoint, and no adapter for {scheme!r}. {suggest(scheme, known, 'Adapters')}"
            f"{not_yet_installed(scheme)}"
        )
    return known[scheme], rest


def _meant(name: str) -> str:
    """Say what a name may stand for that is no path: a bundled checkpoint, or a model of transformers."""
    if name in bundled_checkpoints():
        return f".\n  Did you mean bundled:{name}?"
    if ON_THE_HUB.fullmatch(name) and Path(name).suffix not in CHECKPOINTS:
        return f".\n  A model of transformers is hf:{name}, or mlm:{name} if it is a masked one."
    return ""


def adapters() -> dict[str, EntryPoint]:
    """List the installed adapters by scheme."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}
