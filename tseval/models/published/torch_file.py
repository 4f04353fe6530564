"""What `torch.save` wrote, in its old format or as a zip file: the pickle as records, tensors on demand.

The old format is four pickles (a magic number, a version, facts about the machine, the object), a fifth with
the keys of the storages, and for each storage its length (int64) and its numbers.

Source: `torch/serialization.py`.
"""

from __future__ import annotations

import io
import math
import zipfile
from dataclasses import dataclass
from functools import cache
from pickletools import genops
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tseval.errors import ModelError
from tseval.models.published.inert_pickle import Name, Pickled, quoted, read_pickle
from tseval.models.safe_file import ZIP_ERRORS, zip_damage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAGIC = 0x1950A86A20F9469CFC6C  # opens a file in the old format
LEGACY_VERSION = 1001
MAX_PICKLE = 2**22  # bytes; the numbers lie outside the pickle
PICKLE_SUFFIX = "/data.pkl"

_TYPES = {"Half": torch.float16, "BFloat16": torch.bfloat16, "Float": torch.float32, "Double": torch.float64}
STORAGES = {f"{room}.{name}Storage": _TYPES[name] for room in ("torch", "torch.cuda") for name in _TYPES}
_PARAMETERS = frozenset({"torch.nn.parameter.Parameter", "torch._utils._rebuild_parameter"})
_TENSORS = frozenset({"torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2"})
_CONTAINERS = frozenset({
    "collections.OrderedDict",
    *("builtins.set", "builtins.object", "copyreg._reconstructor"),
    *("__builtin__.set", "__builtin__.object", "copy_reg._reconstructor"),  # as Python 2 calls them
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Storage:
    """Numbers in the file, which several tensors may share."""

    key: str
    dtype: torch.dtype
    numel: int


@dataclass(frozen=True, slots=True)
class StorageView:
    """A run of the numbers of a storage: `length` of them from `start` on."""

    storage: Storage
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor that was not read yet. Two that are equal are the same numbers in the file."""

    view: StorageView
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TorchFile:
    """An object in a file.

    Attributes:
        form: `old` or `zip`.
        value: What was saved; whatever unpickling would have made by a call is a record.
        names: Classes and functions it mentions besides those that it may call.
        numbers: Gives all numbers of a storage, one-dimensional.
    """

    form: str
    value: object
    names: frozenset[str]
    numbers: Callable[[Storage], Tensor]

    def read(self, tensor: StoredTensor) -> Tensor:
        """Read a tensor as float32, on the CPU wherever it was when it was saved.

        Raises:
            ModelError: If it reaches beyond the numbers of its storage.
        """
        view, steps = tensor.view, zip(tensor.shape, tensor.stride, strict=True)
        last = tensor.offset + sum((size - 1) * step for size, step in steps)
        within = view.start >= 0 and view.start + view.length <= view.storage.numel
        if not within or max(last + 1, math.prod(tensor.shape)) > view.length:
            raise ModelError("a tensor reaches beyond its numbers in the file: it is damaged")
        numbers = self.numbers(view.storage)
        return numbers.as_strided(tensor.shape, tensor.stride, view.start + tensor.offset).float()


def find_tensor(value: object) -> StoredTensor | None:
    """Give the tensor that the record of a parameter or a tensor stands for; None if it is none.

    Raises:
        ModelError: If its description does not fit together.
    """
    while isinstance(value, Pickled) and value.called in _PARAMETERS and value.arguments:
        value = value.arguments[0]
    if not isinstance(value, Pickled) or value.called not in _TENSORS:
        return None
    match value.arguments:
        case (StorageView() as view, int(offset), tuple(shape), tuple(stride), *_) if _fit(
            offset, shape, stride
        ):
            return StoredTensor(view, offset, shape, stride)
    raise ModelError("a tensor is described in an unknown way: the file is damaged, or of another version")


def _fit(offset: int, shape: tuple[object, ...], stride: tuple[object, ...]) -> bool:
    """Tell the description of a vector or a matrix."""
    numbers = all(isinstance(size, int) and 0 <= size < 2**63 for size in (offset, *shape, *stride))
    return numbers and len(shape) == len(stride) <= 2


def holds_object(path: Path) -> bool:
    """Tell a file in torch's old format, or one whose pickle is no dictionary, by its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(64)
    try:
        if not start.startswith(b"PK"):
            return read_pickle(io.BytesIO(start)).value == MAGIC
        with zipfile.ZipFile(path) as archive, archive.open(_pickle_name(archive)) as pickled:
            names = (opcode.name for opcode, _, _ in genops(io.BytesIO(pickled.read(64))))
            return next(name for name in names if name not in ("PROTO", "FRAME")) != "EMPTY_DICT"
    except (ModelError, *ZIP_ERRORS):
        return False


def read_object(path: Path, callable_names: frozenset[str]) -> TorchFile:
    """Read the pickle in a file; of the numbers only the places are noted.

    Args:
        path: A file for which `holds_object` is true.
        callable_names: What the pickle may call besides what makes tensors; such calls become records.

    Raises:
        ModelError: If the file is damaged, or the pickle asks for anything else.
    """
    known = callable_names | STORAGES.keys() | _PARAMETERS | _TENSORS | _CONTAINERS
    with path.open("rb") as file:
        is_zip = file.read(2) == b"PK"
    return _read_zip(path, known) if is_zip else _read_old(path, known)


def _read_zip(path: Path, known: frozenset[str]) -> TorchFile:
    if damage := zip_damage(path):
        raise ModelError(damage)
    with zipfile.ZipFile(path) as archive:
        name = _pickle_name(archive)
        folder, names = name.removesuffix(PICKLE_SUFFIX), archive.namelist()
        if archive.getinfo(name).file_size > MAX_PICKLE:
            raise ModelError(f"refused: its pickle has more than {MAX_PICKLE:,} bytes")
        inert = read_pickle(io.BytesIO(archive.read(name)), known, _view)
        _check_order(f"{folder}/byteorder" not in names or archive.read(f"{folder}/byteorder") == b"little")

    @cache
    def numbers(storage: Storage) -> Tensor:
        part = f"{folder}/data/{storage.key}"
        if part not in names:
            raise ModelError(f"damaged: {part!r} is not in the file")
        with zipfile.ZipFile(path) as archive:
            return _numbers(archive.read(part), storage)

    return TorchFile("zip", inert.value, inert.names, numbers)


def _read_old(path: Path, known: frozenset[str]) -> TorchFile:
    with path.open("rb") as file:
        start = io.BytesIO(file.read(MAX_PICKLE))
    _, version, machine = (read_pickle(start).value for _ in range(3))
    if version != LEGACY_VERSION or not isinstance(machine, dict):
        raise ModelError("damaged: it begins like a file of torch but does not go on like one")
    _check_order(machine.get("little_endian") is True)
    storages: dict[str, Storage] = {}

    def view(saved: tuple[object, ...]) -> object:
        found = _view(saved)
        if isinstance(found, StorageView):
            storages[found.storage.key] = found.storage
        return found

    inert = read_pickle(start, known, view)
    places = _places(path, start, storages)

    @cache
    def numbers(storage: Storage) -> Tensor:
        with path.open("rb") as file:
            file.seek(places[storage.key])
            return _numbers(file.read(storage.numel * storage.dtype.itemsize), storage)

    return TorchFile("old", inert.value, inert.names, numbers)


def _places(path: Path, start: io.BytesIO, storages: dict[str, Storage]) -> dict[str, int]:
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
            places[key] = file.tell()
            if numel != storages[key].numel:
                raise ModelError("truncated or damaged: a storage has another length than its tensors expect")
            end = places[key] + numel * storages[key].dtype.itemsize
            if end > size:
                raise ModelError(f"truncated: {end:,} bytes are announced but it has {size:,}")
            file.seek(end)
    return places


def _view(saved: tuple[object, ...]) -> object:
    """Give what a persistent id stands for: a class, saved with its source, or numbers in the file."""
    match saved:
        case ("module", Name() as cls, *_):
            return cls
        case ("storage", Name(kind), str(), *_) if kind not in STORAGES:
            raise ModelError(f"its numbers are of a type that weights do not have, {quoted(kind)}")
        case ("storage", Name(kind), str(key), _, int(numel), *rest):
            storage = Storage(key, STORAGES[kind], numel)
            match rest:
                case [] | [None]:
                    return StorageView(storage, 0, numel)
                case [(_, int(start), int(length))]:
                    return StorageView(storage, start, length)
    raise ModelError("refused: its pickle refers to something outside that is no storage")


def _numbers(content: bytes, storage: Storage) -> Tensor:
    if storage.numel < 0 or len(content) != storage.numel * storage.dtype.itemsize:
        raise ModelError("truncated or damaged: a storage has another length than its tensors expect")
    return torch.frombuffer(bytearray(content), dtype=storage.dtype) if content else torch.empty(0)


def _check_order(little: bool) -> None:
    if not little:
        raise ModelError("it was written on a machine with another byte order, which cannot be read")


def _pickle_name(archive: zipfile.ZipFile) -> str:
    """Find the one pickle in an archive of torch."""
    (name,) = (name for name in archive.namelist() if name.endswith(PICKLE_SUFFIX))
    return name
