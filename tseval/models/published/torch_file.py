"""What `torch.save` wrote, in its old format or as a zip file: the pickle as records, tensors on demand.

The old format is four pickles (a magic number, a version, facts about the machine, the object), a fifth with
the keys of the storages, and for each storage its length (int64) and its numbers.

Source: `torch/serialization.py`.
"""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pickletools import genops
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tseval.errors import ModelError
from tseval.models.published.inert_pickle import quoted, read_pickle
from tseval.models.published.stored_tensors import PUBLISHED_LIMITS, PickleLimits, Storage, TorchFile, Views
from tseval.models.zip_parts import PICKLE, ZIP_ERRORS, ZipPart, pickle_part, read_zip_part, zip_parts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAGIC = 0x1950A86A20F9469CFC6C  # opens a file in the old format
LEGACY_VERSION = 1001


def holds_object(path: Path) -> bool:
    """Tell a file in torch's old format, or one whose pickle is no dictionary, by its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(64)
    try:
        if not start.startswith(b"PK"):
            return read_pickle(io.BytesIO(start)).value == MAGIC
        with zipfile.ZipFile(path) as archive:
            name = pickle_part(archive)
            if name is None or archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
                return False
            with archive.open(name) as pickled:
                names = (opcode.name for opcode, _, _ in genops(io.BytesIO(pickled.read(64))))
                return next(name for name in names if name not in ("PROTO", "FRAME")) != "EMPTY_DICT"
    except (ModelError, StopIteration, *ZIP_ERRORS):
        return False


def read_object(
    path: Path, callable_names: frozenset[str], limits: PickleLimits = PUBLISHED_LIMITS
) -> TorchFile:
    """Read the pickle in a file; of the numbers only the places are noted.

    Args:
        path: A file of torch, zip or in its old format.
        callable_names: What the pickle may call besides what makes tensors; such calls become records.
        limits: What the file may hold.

    Raises:
        ModelError: If the file is damaged, or the pickle asks for anything else.
    """
    with path.open("rb") as file:
        is_zip = file.read(2) == b"PK"
    if is_zip:
        return read_zip(path, zip_parts(path), callable_names, limits)
    return _read_old(path, callable_names, limits)


def read_zip(
    path: Path, parts: Mapping[str, ZipPart], callable_names: frozenset[str], limits: PickleLimits
) -> TorchFile:
    """Read the pickle in a zip file.

    Args:
        path: The file.
        parts: What is in it.
        callable_names: As of `read_object`.
        limits: What the file may hold.

    Raises:
        ModelError: If the file is damaged, or the pickle asks for anything else.
    """
    pickles = [name for name in parts if name.endswith(PICKLE)]
    if len(pickles) != 1:
        raise ModelError(f"no file of torch: it has {len(pickles)} parts called {PICKLE[1:]}")
    folder = pickles[0].removesuffix(PICKLE)
    if parts[pickles[0]].length > limits.pickle:
        raise ModelError(f"refused: its pickle has more than {limits.pickle:,} bytes")
    pickled = io.BytesIO(read_zip_part(path, parts[pickles[0]]))
    views = Views(limits)
    inert = read_pickle(pickled, callable_names | limits.names, views.find, limits.instructions)
    order = parts.get(f"{folder}/byteorder")
    _check_order(order is None or (order.length == 6 and read_zip_part(path, order) == b"little"))

    @cache
    def numbers(storage: Storage) -> Tensor:
        name = f"{folder}/data/{storage.key}"
        if name not in parts:
            raise ModelError(f"damaged: {quoted(name)} is not in the file")
        if storage.numel * storage.dtype.itemsize != parts[name].length:
            raise ModelError("truncated or damaged: a storage has another length than its tensors expect")
        return _numbers(read_zip_part(path, parts[name]), storage)

    return TorchFile("zip", inert.value, inert.names, numbers, path.stat().st_size)


def _read_old(path: Path, callable_names: frozenset[str], limits: PickleLimits) -> TorchFile:
    with path.open("rb") as file:
        start = io.BytesIO(file.read(limits.pickle))
    _, version, machine = (read_pickle(start).value for _ in range(3))
    if version != LEGACY_VERSION or not isinstance(machine, dict):
        raise ModelError("damaged: it begins like a file of torch but does not go on like one")
    _check_order(machine.get("little_endian") is True)
    views = Views(limits)
    inert = read_pickle(start, callable_names | limits.names, views.find, limits.instructions)
    places = _places(path, start, views.storages)

    @cache
    def numbers(storage: Storage) -> Tensor:
        return _numbers(read_zip_part(path, places[storage.key]), storage)

    return TorchFile("old", inert.value, inert.names, numbers, path.stat().st_size)


def _places(path: Path, start: io.BytesIO, storages: dict[str, Storage]) -> dict[str, ZipPart]:
    """Find where in a file of the old format the numbers of each storage begin."""
    keys = read_pickle(start).value
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise ModelError("damaged: its storages are not listed")
    if sorted(keys) != sorted(storages):
        raise ModelError("damaged: its list of storages does not fit its tensors")
    places = {}
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(start.tell())
        for key in keys:
            numel = int.from_bytes(file.read(8), "little")
            begin = file.tell()
            if numel != storages[key].numel:
                raise ModelError("truncated or damaged: a storage has another length than its tensors expect")
            places[key] = ZipPart(begin, numel * storages[key].dtype.itemsize)
            end = begin + places[key].length
            if end > size:
                raise ModelError(f"truncated: {end:,} bytes are announced but it has {size:,}")
            file.seek(end)
    return places


def _numbers(content: bytearray, storage: Storage) -> Tensor:
    if len(content) != storage.numel * storage.dtype.itemsize:
        raise ModelError("truncated or damaged: a storage has another length than its tensors expect")
    return torch.frombuffer(content, dtype=storage.dtype) if content else torch.empty(0, dtype=storage.dtype)


def _check_order(little: bool) -> None:
    if not little:
        raise ModelError("it was written on a machine with another byte order, which cannot be read")
