"""Files of weights, read as plain data: nothing in them is executed, and damage is found.

torch does not verify the checksums in its zip files, so they are verified here. What is refused is
described, so that its owner knows what it is.
"""

from __future__ import annotations

import json
import pickle
import pickletools
import struct
import warnings
import zipfile
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open

from tseval.errors import ModelError, first_line

if TYPE_CHECKING:
    from pathlib import Path

ZIP_ERRORS = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, struct.error, zlib.error)
DESCRIBED_BYTES = 2**20  # enough of a foreign file to say what it is


def read_plain(path: Path) -> dict[str, object]:
    """Read a `.pt` or `.safetensors` file, recognised by its content.

    Returns:
        The dictionary in a `.pt` file; for safetensors, the JSON under `tseval` in its header, and the
        tensors under `weights`.

    Raises:
        ModelError: If the file is missing, damaged, or holds anything but plain data.
    """
    if path.is_dir():
        raise ModelError(f"{path}: is a folder, not a checkpoint")
    if not path.is_file():
        raise ModelError(f"{path}: {'not a regular file' if path.exists() else 'no such checkpoint'}")
    with path.open("rb") as file:
        start = file.read(16)
    try:
        return _read_safetensors(path) if start[8:9] == b"{" else _read_pt(path, start)
    except RecursionError:
        raise ModelError(f"{path}: damaged checkpoint: nested without end") from None


def _read_safetensors(path: Path) -> dict[str, object]:
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {}).get("tseval", "{}"))
            if not isinstance(header, dict):
                raise ModelError(f"{path}: not a tseval checkpoint (its header is a {type(header).__name__})")
            return {**header, "weights": {name: file.get_tensor(name) for name in file.keys()}}  # noqa: SIM118 - no mapping
    except (SafetensorError, ValueError) as error:
        raise ModelError(f"{path}: damaged safetensors file ({error})") from None


def _read_pt(path: Path, start: bytes) -> dict[str, object]:
    if not start.startswith(b"PK"):
        raise ModelError(
            f"{path}: {_describe(path)}. Models are read from tseval's own .pt and .safetensors files."
        )
    if damage := zip_damage(path):
        raise ModelError(f"{path}: {damage}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch wonders at pickle protocols; what matters is raised
        content = _load_weights_only(path)
    if not isinstance(content, dict):
        raise ModelError(f"{path}: not a tseval checkpoint (it holds a {type(content).__name__})")
    return content


def zip_damage(path: Path) -> str | None:
    """Read a zip file once and say what is wrong with it, or None."""
    try:
        with zipfile.ZipFile(path) as archive:
            # Also keeps out an archive whose entries overlap or expand without end.
            if sum(entry.file_size for entry in archive.infolist()) > path.stat().st_size:
                return "damaged checkpoint: its parts claim to be larger than the file"
            damaged = archive.testzip()
    except ZIP_ERRORS as error:
        return f"truncated or damaged checkpoint ({error})"
    return f"damaged checkpoint: wrong checksum in {damaged}" if damaged else None


def _load_weights_only(path: Path) -> object:
    try:
        # An open file, because torch would choose the format by the name of a path.
        with path.open("rb") as file:
            return torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        with zipfile.ZipFile(path) as archive:
            pickled = next((name for name in archive.namelist() if name.endswith("data.pkl")), None)
            called = _called(archive.read(pickled)) if pickled else []
        if called:
            raise ModelError(
                f"{path}: refused, because reading it would execute code ({', '.join(called[:5])})"
            ) from None
        raise ModelError(f"{path}: not a readable checkpoint (its pickle is damaged or unusual)") from None
    except (RuntimeError, ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError) as error:
        reason = first_line(error)
        raise ModelError(f"{path}: not a readable checkpoint ({reason})") from None


def _describe(path: Path) -> str:
    """Say what a file is that is neither a zip file nor safetensors."""
    with path.open("rb") as file:
        content = file.read(DESCRIBED_BYTES)
    if not content:
        return "an empty file"
    called = _called(content)
    if content.startswith(b"\x80") or called:
        names = f" ({', '.join(called[:5])})" if called else ""
        return f"a bare pickle, refused because reading it could execute code{names}"
    return "a text file" if content.isascii() and b"\0" not in content else "not a checkpoint"


def _called(pickled: bytes) -> list[str]:
    """Name what a pickle would import and call, by reading its instructions and running none."""
    names, texts = set(), [""]
    # A hostile file may break the listing in any way; it is refused regardless.
    with suppress(Exception):
        for instruction, argument, _ in pickletools.genops(pickled):
            if instruction.name in ("GLOBAL", "INST"):
                names.add(str(argument).replace(" ", "."))
            elif instruction.name == "STACK_GLOBAL":
                names.add(".".join(texts[-2:]))
            elif isinstance(argument, str):
                texts.append(argument)
    return sorted(name for name in names if not name.startswith(("torch.", "collections.OrderedDict")))
