"""Readers of old and new torch files and of safetensors, which run no code from the files.

A pickle becomes records. For tensors, only their positions are recorded, and numbers are read on demand.
torch does not verify the checksums in its zip files, so this module does, once for the whole file.

The old format has four pickles (a magic number, a version, facts about the machine, the object). A fifth has
the keys of the storages. Then follow, for each storage, its length (int64) and its numbers.

Source: `torch/_utils.py`, `torch/serialization.py`.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from tseval.errors import first_line
from tseval.models.pickles import MAX_INSTRUCTIONS, Name, Pickled, quoted, read_pickle
from tseval.models.refusals import damaged, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path


MAX_PICKLE = 2**22  # bytes; the numbers are outside the pickle
MAX_RANK = 8  # of a tensor
TIMES_THE_FILE = 2  # a tied matrix is stored once and read for two layers


_TYPES = {
    "Half": torch.float16, "BFloat16": torch.bfloat16, "Float": torch.float32, "Double": torch.float64,
    "Byte": torch.uint8, "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64,
    "Bool": torch.bool,
}  # fmt: skip
# Number types, by their names in pickles.
_STORAGES = {f"{room}.{name}Storage": _TYPES[name] for room in ("torch", "torch.cuda") for name in _TYPES}
_PARAMETERS = frozenset({"torch.nn.parameter.Parameter", "torch._utils._rebuild_parameter"})
_TENSORS = frozenset({"torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2"})
_CONTAINERS = frozenset({
    "collections.OrderedDict",
    *("builtins.set", "builtins.object", "copyreg._reconstructor"),
    *("__builtin__.set", "__builtin__.object", "copy_reg._reconstructor"),  # names in Python 2
})  # fmt: skip
# Names that a pickle may call to create tensors.
_MAKERS = frozenset(_STORAGES) | _PARAMETERS | _TENSORS | _CONTAINERS


@dataclass(frozen=True, slots=True)
class PickleLimits:
    """Limits on the pickle of a file."""

    pickle: int  # bytes of its pickle
    instructions: int  # number of its instructions


STATE_LIMITS = PickleLimits(MAX_PICKLE, MAX_INSTRUCTIONS)
# These pickles also hold words and learning curves: two instructions per word, two dozen per point.
OWN_LIMITS = PickleLimits(2**26, 2**22)


@dataclass(frozen=True, slots=True)
class Storage:
    """Numbers in the file, possibly shared by several tensors."""

    key: str
    dtype: torch.dtype
    numel: int


@dataclass(frozen=True, slots=True)
class StorageView:
    """A range of a storage: `length` numbers from `start` on."""

    storage: Storage
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor that is not yet read. Two equal ones are the same numbers in the file."""

    view: StorageView
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TorchFile:
    """An object in a file."""

    form: str  # `old`, `zip`, or `safetensors`, whose tensors are read already
    value: object  # the saved object, with records instead of objects that unpickling would create by calls
    names: frozenset[str]  # classes and functions in it, without those that it may call
    numbers: Callable[[Storage], Tensor]  # returns all numbers of a storage, one-dimensional
    size: int  # of the file, in bytes

    def check(self, tensors: Iterable[StoredTensor | Tensor]) -> None:
        """Check that the file has enough numbers for the tensors, before any is read."""
        stored = [tensor for tensor in tensors if isinstance(tensor, StoredTensor)]
        for tensor in stored:
            view, steps = tensor.view, zip(tensor.shape, tensor.stride, strict=True)
            last = tensor.offset + sum((size - 1) * step for size, step in steps)
            within = view.start >= 0 and view.start + view.length <= view.storage.numel
            if not within or max(last, tensor.offset) >= max(view.length, 1):
                raise damaged("the file is damaged: it has fewer numbers than the size of a tensor needs")
            if math.prod(tensor.shape) > view.length:
                raise refused("a tensor has a shape but no numbers")
        needed = sum(math.prod(tensor.shape) * tensor.view.storage.dtype.itemsize for tensor in stored)
        if needed > TIMES_THE_FILE * self.size:
            raise damaged(
                f"the file is damaged: its tensors need {needed:,} bytes, but the file has {self.size:,}"
            )

    def read(self, tensor: StoredTensor | Tensor) -> Tensor:
        """Read a checked tensor; it is on the CPU, wherever it was saved from."""
        if isinstance(tensor, Tensor):
            return tensor
        numbers = self.numbers(tensor.view.storage)
        return numbers.as_strided(tensor.shape, tensor.stride, tensor.view.start + tensor.offset)


def find_tensor(value: object) -> StoredTensor | None:
    """Return the tensor in a record of a parameter or a tensor; None if the record is something else."""
    while isinstance(value, Pickled) and value.called in _PARAMETERS and value.arguments:
        value = value.arguments[0]
    if not isinstance(value, Pickled) or value.called not in _TENSORS:
        return None
    match value.arguments:
        case (StorageView() as view, int(offset), tuple(shape), tuple(stride), *rest) if _fit(
            offset, shape, stride
        ):
            if len(rest) > 2 and rest[2]:  # gradient, hooks, then pending operations (negation, conjugation)
                raise refused("a tensor is stored as negated or conjugated, which tseval cannot read")
            return StoredTensor(view, offset, shape, stride)
    raise damaged(
        "a tensor has an unknown description: the file is damaged, or from another version of torch"
    )


def _fit(offset: int, shape: tuple[object, ...], stride: tuple[object, ...]) -> bool:
    """Check the description of a tensor; even for an empty one, the product of its sizes must be small."""
    if not len(shape) == len(stride) <= MAX_RANK:
        return False
    numbers = [size for size in (offset, *shape, *stride) if isinstance(size, int) and 0 <= size < 2**63]
    sizes = numbers[1 : len(shape) + 1]
    return len(numbers) == 1 + 2 * len(shape) and math.prod(size or 1 for size in sizes) < 2**63


class Views:
    """The storages to which a pickle refers."""

    def __init__(self) -> None:
        self.storages: dict[str, Storage] = {}  # all named storages, by their keys

    def find(self, saved: tuple[object, ...]) -> object:
        """Return the object with a persistent id: a class, saved with its source, or numbers in the file."""
        match saved:
            case ("module", Name() as cls, *_):
                return cls
            case ("storage", Name(kind), str(), *_) if kind not in _STORAGES:
                raise refused(f"the type of the numbers is {quoted(kind)}, which is not a type of weights")
            case ("storage", Name(kind), str(key), _, int(numel), *rest):
                storage = self._storage(Storage(key, _STORAGES[kind], numel))
                match rest:
                    case [] | [None]:
                        return StorageView(storage, 0, numel)
                    case [(_, int(start), int(length))]:
                        return StorageView(storage, start, length)
        raise refused(
            "tseval refuses this file: its Python pickle refers to data outside the pickle, but not to "
            "the numbers of a tensor"
        )

    def _storage(self, storage: Storage) -> Storage:
        """Register a storage; each key must have one type and length, so that it is read once."""
        if storage.numel < 0 or self.storages.setdefault(storage.key, storage) != storage:
            raise damaged("the file is damaged: its Python pickle describes the same numbers in two ways")
        return storage


ZIP_ERRORS = (
    *(zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, OverflowError, struct.error),
    zlib.error,
)
PICKLE = "/data.pkl"
_HEADER = 30  # bytes before the name of a part


@dataclass(frozen=True, slots=True)
class ZipPart:
    """A range of bytes of a file: `length` bytes from `start` on."""

    start: int
    length: int


def zip_parts(path: Path) -> dict[str, ZipPart]:
    """Read a zip file once, verify its checksums, and return the positions of its parts."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _check_entries(entries, path.stat().st_size)
            if changed := archive.testzip():
                raise damaged(f"damaged checkpoint: wrong checksum in {_plain(changed)}")
        with path.open("rb") as file:
            starts = []
            for entry in entries:
                file.seek(entry.header_offset + _HEADER - 4)
                starts.append(file.tell() + 4 + sum(struct.unpack("<HH", file.read(4))))
    except ZIP_ERRORS as error:
        raise damaged(f"truncated or damaged checkpoint ({_plain(first_line(error))})") from None
    return {
        entry.filename: ZipPart(start, entry.file_size) for entry, start in zip(entries, starts, strict=True)
    }


def start_of_pickle(path: Path, size: int) -> bytes:
    """Return the first bytes of the only pickle in a torch zip file; b"" if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith(PICKLE)]
            return archive.open(names[0]).read(size) if len(names) == 1 else b""
    except ZIP_ERRORS:
        return b""


def read_zip_part(path: Path, part: ZipPart) -> bytearray:
    """Read the bytes of a part; fewer if the file ends before."""
    content = bytearray(part.length)
    with path.open("rb") as file:
        file.seek(part.start)
        del content[file.readinto(content) :]
    return content


def _check_entries(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse parts that overlap, are compressed, or have the same name as another part."""
    if sum(entry.file_size for entry in entries) > size:
        raise damaged("damaged checkpoint: its parts are larger than the file")
    if len({entry.filename for entry in entries}) < len(entries):
        raise damaged("damaged checkpoint: two of its parts have the same name")
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            name = _plain(entry.filename)
            raise refused(
                f"tseval refuses this file: its part {name} is compressed, which torch.save does not do"
            )


def _plain(text: str) -> str:
    """Make a short printable text from a text in a file."""
    return repr(text[:100])[1:-1]


MAGIC = 0x1950A86A20F9469CFC6C  # the first number of a file in the old format
LEGACY_VERSION = 1001


def form_of(path: Path) -> str:
    """Return the format of a file from its first bytes: `zip`, `safetensors`, or `other`."""
    with path.open("rb") as file:
        start = file.read(16)
    return "zip" if start.startswith(b"PK") else "safetensors" if start[8:9] == b"{" else "other"


def read_safetensors(path: Path) -> tuple[Mapping[str, str], dict[str, Tensor]]:
    """Read the texts in the header of a safetensors file, and its tensors by name."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
            return file.metadata() or {}, tensors
    except (SafetensorError, ValueError) as error:
        raise damaged(f"damaged safetensors file ({first_line(error)[:200]})") from None


def read_object(path: Path, callable_names: frozenset[str], limits: PickleLimits) -> TorchFile:
    """Read the pickle in a torch file, zip or old format; only the positions of numbers are recorded.

    The calls in `callable_names` become records.
    """
    return (_read_zip if form_of(path) == "zip" else _read_old)(path, callable_names, limits)


def _read_zip(path: Path, callable_names: frozenset[str], limits: PickleLimits) -> TorchFile:
    parts = zip_parts(path)
    pickles = [name for name in parts if name.endswith(PICKLE)]
    if len(pickles) != 1:
        raise refused(f"this is not a torch file: it has {len(pickles)} parts with the name {PICKLE[1:]}")
    folder = pickles[0].removesuffix(PICKLE)
    if parts[pickles[0]].length > limits.pickle:
        raise refused(f"tseval refuses this file: its Python pickle has more than {limits.pickle:,} bytes")
    pickled = io.BytesIO(read_zip_part(path, parts[pickles[0]]))
    views = Views()
    inert = read_pickle(pickled, callable_names | _MAKERS, views.find, limits.instructions)
    order = parts.get(f"{folder}/byteorder")
    _check_order(order is None or (order.length == 6 and read_zip_part(path, order) == b"little"))

    @cache
    def numbers(storage: Storage) -> Tensor:
        name = f"{folder}/data/{storage.key}"
        if name not in parts:
            raise damaged(f"the file is damaged: it has no part {quoted(name)}")
        return _numbers(read_zip_part(path, parts[name]), storage)

    return TorchFile("zip", inert.value, inert.names, numbers, path.stat().st_size)


def _read_old(path: Path, callable_names: frozenset[str], limits: PickleLimits) -> TorchFile:
    with path.open("rb") as file:
        start = io.BytesIO(file.read(limits.pickle))
    _, version, machine = (read_pickle(start).value for _ in range(3))
    if version != LEGACY_VERSION or not isinstance(machine, dict):
        raise damaged("the file is damaged: it begins like a torch file, but the rest is different")
    _check_order(machine.get("little_endian") is True)
    views = Views()
    inert = read_pickle(start, callable_names | _MAKERS, views.find, limits.instructions)
    parts = _find_parts(path, start, views.storages)

    @cache
    def numbers(storage: Storage) -> Tensor:
        return _numbers(read_zip_part(path, parts[storage.key]), storage)

    return TorchFile("old", inert.value, inert.names, numbers, path.stat().st_size)


def _find_parts(path: Path, start: io.BytesIO, storages: dict[str, Storage]) -> dict[str, ZipPart]:
    """Find the positions of the numbers of each storage in a file of the old format."""
    keys = read_pickle(start).value
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise damaged("the file is damaged: it has no list of its storages")
    if sorted(keys) != sorted(storages):
        raise damaged("the file is damaged: its list of storages does not fit the tensors")
    parts = {}
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(start.tell())
        for key in keys:
            numel = int.from_bytes(file.read(8), "little")
            begin = file.tell()
            if numel != storages[key].numel:
                raise damaged(
                    "the file is truncated or damaged: a storage has another length than its tensors need"
                )
            parts[key] = ZipPart(begin, numel * storages[key].dtype.itemsize)
            end = begin + parts[key].length
            if end > size:
                raise damaged(f"the file is truncated: it should have {end:,} bytes, but has {size:,}")
            file.seek(end)
    return parts


def _numbers(content: bytearray, storage: Storage) -> Tensor:
    if len(content) != storage.numel * storage.dtype.itemsize:
        raise damaged("the file is truncated or damaged: a storage has another length than its tensors need")
    return torch.frombuffer(content, dtype=storage.dtype) if content else torch.empty(0, dtype=storage.dtype)


def _check_order(little: bool) -> None:
    if not little:
        raise refused("the file has the byte order of another machine (big-endian), which tseval cannot read")
