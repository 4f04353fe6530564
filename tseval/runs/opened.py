"""The record of how a model was opened: `--model` and `--model-args`, without paths."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.scoring.protocol import SECRETS

if TYPE_CHECKING:
    from collections.abc import Mapping


# Secrets and private paths; none of them changes a number.
PRIVATE = SECRETS | {"cache_dir", "local_files_only"}


@dataclass(frozen=True, slots=True)
class Opened:
    """How a model was opened, so that others can open it again.

    A path is shortened to the name of its file or folder, because the path is useless on another machine.
    """

    model: str
    model_args: str = ""


def how_opened(spec: str | Path, arguments: Mapping[str, str] | None = None) -> Opened:
    """Return the record of a model that is opened by name.

    >>> how_opened("bundled:lstm", {"precision": "bfloat16", "token": "secret"})
    Opened(model='bundled:lstm', model_args='precision=bfloat16')
    """
    public_arguments = {
        name: value for name, value in (arguments or {}).items() if name.lower() not in PRIVATE
    }
    settings = ",".join(f"{name}={_without_paths(value)}" for name, value in public_arguments.items())
    return Opened(_without_path(str(spec)), settings)


def _without_paths(value: str) -> str:
    """Shorten the paths in a setting, which may be several with commas between them."""
    if _is_path(value):
        return _name_of(value)
    return ",".join(_name_of(part) if _is_path(part) else part for part in value.split(","))


def _without_path(spec: str) -> str:
    """Shorten the path in the name of a model: `hf:/home/me/gpt` to `hf:gpt`; `models.py:load` stays."""
    if _is_path(spec):
        return _name_of(spec)
    scheme, colon, rest = spec.partition(":")
    path, called_colon, called = rest.rpartition(":")
    if colon and _is_path(rest):
        return f"{scheme}:{_name_of(rest)}"
    if called_colon and _is_path(path):  # function:FILE.py:NAME
        return f"{scheme}:{_name_of(path)}:{called}"
    if colon and _is_path(scheme):  # FILE.py:NAME
        return f"{_name_of(scheme)}:{rest}"
    return spec


def _is_path(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):
        return False


def _name_of(path: str) -> str:
    """Return the name of a file or folder as the user writes it, also if it is a link."""
    return os.path.basename(os.path.abspath(path)).encode("utf-8", "replace").decode()
