"""Files of weights, read as plain data: nothing in them is executed, and damage is found.

What is refused is described, so that its owner knows what it is.
"""

from __future__ import annotations

import io
import json
import math
import pickletools
import struct
import warnings
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pickletools import genops
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from tseval.errors import ModelError, first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from torch import Tensor


MAX_INSTRUCTIONS = 100_000  # a pickled language model takes about a thousand

# Instructions that push their own argument, or something fresh, or do nothing to the stack.
_ARGUMENTS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
}
_FRESH: dict[str, Callable[[], object]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": lambda: (),
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": list,
}
_IDLE = {"PROTO", "FRAME"}
_KEYS = str | int | float | bytes | None  # of dictionaries; hashing a nested tuple can take for ever


@dataclass(frozen=True, slots=True)
class Name:
    """A class or function that a pickle names, as `module.name`; it is never looked up."""

    path: str


@dataclass(slots=True, eq=False)
class Pickled:
    """What unpickling would have made.

    Attributes:
        called: The class or function that would have been called, as `module.name`.
        arguments: What it would have been given.
        state: What the new object would have been told to become, or None.
    """

    called: str
    arguments: tuple[object, ...]
    state: object = None


@dataclass(frozen=True, slots=True)
class Inert:
    """A pickle that was read.

    Attributes:
        value: Numbers, text, lists, dictionaries and records.
        names: Every name in it besides those that were allowed to be called.
    """

    value: object
    names: frozenset[str]


def read_pickle(
    stream: io.BytesIO,
    callable_names: frozenset[str] = frozenset(),
    persistent: Callable[[tuple[object, ...]], object] | None = None,
    max_instructions: int = MAX_INSTRUCTIONS,
) -> Inert:
    """Read one pickle and leave the stream behind it.

    Args:
        stream: In memory, so that a pickle can ask for no more than there is.
        callable_names: What the pickle may call; the calls become records.
        persistent: Makes an object of a persistent id, which is always a tuple.
        max_instructions: How many it may have.

    Raises:
        ModelError: If the pickle is damaged, or asks for anything else.
    """
    machine = _Machine(callable_names, persistent, max_instructions)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python wonders at escapes in damaged text
            value = machine.run(stream)
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
        reason = first_line(error)
        raise ModelError(f"truncated or damaged pickle ({reason[:100]})") from None
    return Inert(value, frozenset(machine.names - callable_names))


def quoted(value: object) -> str:
    """Put a value from a pickle into a message: text cut short and quoted, else its type."""
    return repr(value[:100]) if isinstance(value, str) else f"a {type(value).__name__}"


class _Machine:
    """The stack and the memo of a pickle.

    Attributes:
        names: Every name that the pickle mentions.
    """

    def __init__(
        self,
        callable_names: frozenset[str],
        persistent: Callable[[tuple[object, ...]], object] | None,
        max_instructions: int,
    ) -> None:
        self.names: set[str] = set()
        self._callable, self._persistent, self._most = callable_names, persistent, max_instructions
        self._stack: list[object] = []
        self._below: list[list[object]] = []  # the stack under each mark
        self._memo: dict[object, object] = {}

    def run(self, stream: io.BytesIO) -> object:
        """Carry out instructions until the pickle ends; give what it holds."""
        for count, (instruction, argument, _) in enumerate(genops(stream)):
            name = instruction.name
            if count == self._most:
                raise ModelError(f"refused: a pickle of more than {self._most:,} instructions")
            if name == "STOP":
                break
            if name in _ARGUMENTS:
                self._stack.append(argument)
            elif name in _FRESH:
                self._stack.append(_FRESH[name]())
            elif name in _ACTIONS:
                _ACTIONS[name](self, argument)
            elif name not in _IDLE:
                raise ModelError(
                    f"refused: its pickle has an instruction {name}, which torch.save does not write"
                )
        return self._stack.pop()

    def take(self, count: int) -> list[object]:
        """Pop some values, in the order in which they were pushed."""
        if len(self._stack) < count:
            raise ValueError("nothing on the stack")
        taken = self._stack[-count:]
        del self._stack[-count:]
        return taken

    def since_mark(self) -> list[object]:
        """Pop all values down to the last mark."""
        taken, self._stack = self._stack, self._below.pop()
        return taken

    def push(self, value: object) -> None:
        self._stack.append(value)

    def mark(self) -> None:
        self._below.append(self._stack)
        self._stack = []

    def pop(self) -> None:
        self._stack.pop()

    def put(self, place: object) -> None:
        """Remember the top of the stack; a place that is not said is the next."""
        self._memo[len(self._memo) if place is None else place] = self._stack[-1]

    def get(self, place: object) -> None:
        self.push(self._memo[place])

    def extend(self, values: list[object]) -> None:
        target = self._stack[-1]
        if not isinstance(target, list):
            raise TypeError("only lists can be appended to")
        target.extend(values)

    def set_items(self, values: list[object]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict):
            raise TypeError("only dictionaries can be filled")
        _fill(target, zip(values[::2], values[1::2], strict=True))

    def dictionary(self) -> None:
        values = self.since_mark()
        self.push({})
        self.set_items(values)

    def name(self, module: object, name: object) -> None:
        if not isinstance(module, str) or not isinstance(name, str):
            raise TypeError("a name is text")
        path = f"{module}.{name}"
        self.names.add(path)
        self.push(Name(path))

    def call(self) -> None:
        """Pickled a call, of what may be called."""
        called, arguments = self.take(2)
        if not isinstance(called, Name) or not isinstance(arguments, tuple):
            raise TypeError("a call of what is no function")
        if called.path not in self._callable:
            raise ModelError(f"refused, and not run: its pickle would call {quoted(called.path)}")
        self.push(_made(called.path, arguments))

    def new(self) -> None:
        """Pickled a new object; a class of the user's own gets no arguments, but may get a state."""
        cls, arguments = self.take(2)
        if not isinstance(cls, Name) or not isinstance(arguments, tuple):
            raise TypeError("a new object of what is no class")
        if arguments and cls.path not in self._callable:
            raise ModelError(f"refused, and not run: its pickle would make {quoted(cls.path)} with arguments")
        self.push(Pickled(cls.path, arguments))

    def build(self) -> None:
        """Keep a state beside its object; there is no `__setstate__` to run.

        Dictionaries of weights have one, the versions of their modules, which nothing asks for.
        """
        (state,) = self.take(1)
        target = self._stack[-1]
        if isinstance(target, dict):
            return
        if not isinstance(target, Pickled):
            raise ModelError(f"refused: its pickle gives a state to a {type(target).__name__}")
        target.state = state

    def resolve(self) -> None:
        """Ask for what a persistent id stands for."""
        (saved,) = self.take(1)
        if not isinstance(saved, tuple) or self._persistent is None:
            raise ModelError("refused: its pickle refers to something outside that is no storage")
        self.push(self._persistent(saved))


_ACTIONS: dict[str, Callable[[_Machine, object], None]] = {
    "MARK": lambda machine, _: machine.mark(),
    "POP": lambda machine, _: machine.pop(),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.since_mark())),
    "TUPLE1": lambda machine, _: machine.push(tuple(machine.take(1))),
    "TUPLE2": lambda machine, _: machine.push(tuple(machine.take(2))),
    "TUPLE3": lambda machine, _: machine.push(tuple(machine.take(3))),
    "LIST": lambda machine, _: machine.push(machine.since_mark()),
    "DICT": lambda machine, _: machine.dictionary(),
    "APPEND": lambda machine, _: machine.extend(machine.take(1)),
    "APPENDS": lambda machine, _: machine.extend(machine.since_mark()),
    "ADDITEMS": lambda machine, _: machine.extend(machine.since_mark()),
    "SETITEM": lambda machine, _: machine.set_items(machine.take(2)),
    "SETITEMS": lambda machine, _: machine.set_items(machine.since_mark()),
    "PUT": lambda machine, place: machine.put(place),
    "BINPUT": lambda machine, place: machine.put(place),
    "LONG_BINPUT": lambda machine, place: machine.put(place),
    "MEMOIZE": lambda machine, place: machine.put(place),
    "GET": lambda machine, place: machine.get(place),
    "BINGET": lambda machine, place: machine.get(place),
    "LONG_BINGET": lambda machine, place: machine.get(place),
    "GLOBAL": lambda machine, name: machine.name(*str(name).split(" ", 1)),
    "STACK_GLOBAL": lambda machine, _: machine.name(*machine.take(2)),
    "REDUCE": lambda machine, _: machine.call(),
    "NEWOBJ": lambda machine, _: machine.new(),
    "BUILD": lambda machine, _: machine.build(),
    "BINPERSID": lambda machine, _: machine.resolve(),
}


def _fill(target: dict[object, object], pairs: Iterable[Iterable[object]]) -> None:
    for key, value in pairs:
        if not isinstance(key, _KEYS):
            raise ModelError(f"refused: its pickle has a dictionary with keys of type {type(key).__name__}")
        target[key] = value


def _made(path: str, arguments: tuple[object, ...]) -> object:
    """Give what a permitted call makes: plain values for Python's own containers, records for the rest."""
    if path.endswith("._reconstructor"):  # how protocols 0 and 1 make an object
        cls = arguments[0]
        if not isinstance(cls, Name):
            raise TypeError("a new object of what is no class")
        return Pickled(cls.path, ())
    if path == "collections.OrderedDict":
        made: dict[object, object] = {}
        _fill(made, _only_list(arguments))
        return made
    if path.endswith(".set"):
        return _only_list(arguments)
    return Pickled(path, arguments)


def _only_list(arguments: tuple[object, ...]) -> list[list[object]]:
    """Give the one list that Python's containers are made from, empty if there is none."""
    (values,) = arguments or ([],)
    if not isinstance(values, list):
        raise TypeError("a container made of what is no list")
    return list(values)


MAX_PICKLE = 2**22  # bytes; the numbers lie outside the pickle
MAX_RANK = 8  # of a tensor
TIMES_THE_FILE = 2  # a tied matrix stands in a file once and is read for two layers

_FLOATS = {"Half": torch.float16, "BFloat16": torch.bfloat16, "Float": torch.float32, "Double": torch.float64}
_OTHERS = {
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Bool": torch.bool,
}
_PARAMETERS = frozenset({"torch.nn.parameter.Parameter", "torch._utils._rebuild_parameter"})
_TENSORS = frozenset({"torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2"})
_CONTAINERS = frozenset({
    "collections.OrderedDict",
    *("builtins.set", "builtins.object", "copyreg._reconstructor"),
    *("__builtin__.set", "__builtin__.object", "copy_reg._reconstructor"),  # as Python 2 calls them
})  # fmt: skip


def _storages(types: dict[str, torch.dtype]) -> dict[str, torch.dtype]:
    return {f"{room}.{name}Storage": types[name] for room in ("torch", "torch.cuda") for name in types}


@dataclass(frozen=True, slots=True)
class PickleLimits:
    """What a file may hold.

    Attributes:
        pickle: Bytes of its pickle.
        instructions: Of the pickle.
        storages: Types of its numbers, by the names that pickles give them.
    """

    pickle: int
    instructions: int
    storages: dict[str, torch.dtype]

    @property
    def names(self) -> frozenset[str]:
        """What the pickle may name and call to make tensors."""
        return frozenset(self.storages) | _PARAMETERS | _TENSORS | _CONTAINERS


PUBLISHED_LIMITS = PickleLimits(MAX_PICKLE, MAX_INSTRUCTIONS, _storages(_FLOATS))
STATE_LIMITS = PickleLimits(MAX_PICKLE, MAX_INSTRUCTIONS, _storages(_FLOATS | _OTHERS))
# Words and learning curves stand in the pickle: two instructions for each word, two dozen for each point.
OWN_LIMITS = PickleLimits(2**26, 2**22, _storages(_FLOATS | _OTHERS))


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
        size: Of the file, in bytes.
    """

    form: str
    value: object
    names: frozenset[str]
    numbers: Callable[[Storage], Tensor]
    size: int

    def check(self, tensors: Collection[StoredTensor]) -> None:
        """Hold tensors to the numbers in the file before any is read.

        Raises:
            ModelError: If one reaches beyond the numbers of its storage, or all together are larger than the
                file: many views of the same numbers would take any memory when they are copied.
        """
        for tensor in tensors:
            view, steps = tensor.view, zip(tensor.shape, tensor.stride, strict=True)
            last = tensor.offset + sum((size - 1) * step for size, step in steps)
            within = view.start >= 0 and view.start + view.length <= view.storage.numel
            if not within or max(last, tensor.offset) >= max(view.length, 1):
                raise ModelError("a tensor reaches beyond its numbers in the file: it is damaged")
            if math.prod(tensor.shape) > view.length:
                raise ModelError("a tensor has no numbers of its own behind its shape: it cannot be scored")
        needed = sum(math.prod(one.shape) * one.view.storage.dtype.itemsize for one in tensors)
        if needed > TIMES_THE_FILE * self.size:
            raise ModelError(
                f"its tensors claim to hold {needed:,} bytes, but the file has {self.size:,}: it is damaged"
            )

    def read(self, tensor: StoredTensor) -> Tensor:
        """Read a tensor that was checked; on the CPU wherever it was when it was saved.

        Raises:
            ModelError: If the numbers of its storage are damaged.
        """
        numbers = self.numbers(tensor.view.storage)
        return numbers.as_strided(tensor.shape, tensor.stride, tensor.view.start + tensor.offset)


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
        case (StorageView() as view, int(offset), tuple(shape), tuple(stride), *rest) if _fit(
            offset, shape, stride
        ):
            if len(rest) > 2 and rest[2]:  # gradient, hooks, then what is still to be done to the numbers
                raise ModelError("a tensor was saved before it was negated or conjugated: it cannot be read")
            return StoredTensor(view, offset, shape, stride)
    raise ModelError("a tensor is described in an unknown way: the file is damaged, or of another version")


def _fit(offset: int, shape: tuple[object, ...], stride: tuple[object, ...]) -> bool:
    """Tell the description of a tensor; of an empty one, too, the sizes can be multiplied."""
    if not len(shape) == len(stride) <= MAX_RANK:
        return False
    numbers = [size for size in (offset, *shape, *stride) if isinstance(size, int) and 0 <= size < 2**63]
    sizes = numbers[1 : len(shape) + 1]
    return len(numbers) == 1 + 2 * len(shape) and math.prod(size or 1 for size in sizes) < 2**63


class Views:
    """The numbers that a pickle refers to.

    Attributes:
        storages: All that it named, by their keys.
    """

    def __init__(self, limits: PickleLimits) -> None:
        self.storages: dict[str, Storage] = {}
        self._types = limits.storages

    def find(self, saved: tuple[object, ...]) -> object:
        """Give what a persistent id stands for: a class, saved with its source, or numbers in the file."""
        match saved:
            case ("module", Name() as cls, *_):
                return cls
            case ("storage", Name(kind), str(), *_) if kind not in self._types:
                raise ModelError(f"its numbers are of a type that weights do not have, {quoted(kind)}")
            case ("storage", Name(kind), str(key), _, int(numel), *rest):
                storage = self._storage(Storage(key, self._types[kind], numel))
                match rest:
                    case [] | [None]:
                        return StorageView(storage, 0, numel)
                    case [(_, int(start), int(length))]:
                        return StorageView(storage, start, length)
        raise ModelError("refused: its pickle refers to something outside that is no storage")

    def _storage(self, storage: Storage) -> Storage:
        """Take numbers of one type and length for each key: in others they would be read once more."""
        if storage.numel < 0 or self.storages.setdefault(storage.key, storage) != storage:
            raise ModelError("damaged: its pickle says two things about the same numbers")
        return storage


ZIP_ERRORS = (
    *(zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, OverflowError, struct.error),
    zlib.error,
)
PICKLE = "/data.pkl"
_HEADER = 30  # bytes in front of the name of a part


@dataclass(frozen=True, slots=True)
class ZipPart:
    """Bytes of a file: `length` of them from `start` on."""

    start: int
    length: int


def zip_parts(path: Path) -> dict[str, ZipPart]:
    """Read a zip file once, hold it to its checksums, and say where its parts lie.

    Raises:
        ModelError: If it is damaged, or torch would not have written it so; does not name the file.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _check_entries(entries, path.stat().st_size)
            if damaged := archive.testzip():
                raise ModelError(f"damaged checkpoint: wrong checksum in {_plain(damaged)}")
        with path.open("rb") as file:
            starts = []
            for entry in entries:
                file.seek(entry.header_offset + _HEADER - 4)
                starts.append(file.tell() + 4 + sum(struct.unpack("<HH", file.read(4))))
    except ZIP_ERRORS as error:
        raise ModelError(f"truncated or damaged checkpoint ({_plain(first_line(error))})") from None
    return {
        entry.filename: ZipPart(start, entry.file_size) for entry, start in zip(entries, starts, strict=True)
    }


def pickle_part(archive: zipfile.ZipFile) -> str | None:
    """Name the one pickle in an archive of torch, or None where there is another number of them."""
    names = [name for name in archive.namelist() if name.endswith(PICKLE)]
    return names[0] if len(names) == 1 else None


def read_zip_part(path: Path, part: ZipPart) -> bytearray:
    """Read the bytes of a part, or fewer where the file ends."""
    content = bytearray(part.length)
    with path.open("rb") as file:
        file.seek(part.start)
        del content[file.readinto(content) :]
    return content


def _check_entries(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Keep out what overlaps, expands or hides behind another part's name."""
    if sum(entry.file_size for entry in entries) > size:
        raise ModelError("damaged checkpoint: its parts claim to be larger than the file")
    if len({entry.filename for entry in entries}) < len(entries):
        raise ModelError("damaged checkpoint: two of its parts have one name")
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            name = _plain(entry.filename)
            raise ModelError(f"refused: its part {name} is compressed, which torch.save does not do")


def _plain(text: str) -> str:
    """Give a text from a file as one that a terminal can show, cut short."""
    return repr(text[:100])[1:-1]


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


MAX_DEPTH = 100
MAX_BITS = 2**12  # of a whole number; Python does not write out many more
# A value that is referred to many times is written out many times, as it is in JSON; keys of rows are.
TIMES_THE_PICKLE = 64
_META = "torch._utils._rebuild_meta_tensor_no_storage"
_ATOMS = (int, float, bool, type(None))


def read_plain_object(path: Path, parts: Mapping[str, ZipPart]) -> object:
    """Read a zip file of torch that holds plain data and tensors.

    Args:
        path: The file.
        parts: What is in it.

    Returns:
        Lists, tuples, dictionaries, text, numbers, and tensors on the CPU.

    Raises:
        ModelError: If the file is damaged, or its pickle asks for anything else; does not name it.
    """
    file = read_zip(path, parts, frozenset({_META}), OWN_LIMITS)
    tree = _Tree(TIMES_THE_PICKLE * min(file.size, OWN_LIMITS.pickle))
    tree.measure(file.value, MAX_DEPTH)
    file.check(tree.tensors)
    made = {tensor: file.read(tensor) for tensor in tree.tensors}
    return _written_out(file.value, made)


class _Tree:
    """The size of a value, with everything in it.

    Args:
        budget: Values and characters that it may have.

    Attributes:
        tensors: That are in it, each as often as it is.
    """

    def __init__(self, budget: int) -> None:
        self.tensors: list[StoredTensor] = []
        self._left = budget

    def measure(self, value: object, depth: int) -> None:
        """Go through a value; `depth` is how far it may still be nested."""
        self._left -= 1
        if self._left < 0 or depth < 0:
            raise ModelError("damaged checkpoint: nested without end")
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise ModelError("refused: its pickle holds a number without end")
        if isinstance(value, str | bytes | bytearray):
            self._left -= len(value)
        elif isinstance(value, dict):
            for key, entry in value.items():
                self.measure(key, depth - 1)
                self.measure(entry, depth - 1)
        elif isinstance(value, list | tuple):
            for entry in value:
                self.measure(entry, depth - 1)
        elif not isinstance(value, _ATOMS):
            self.tensors.append(_stored(value))


def _stored(value: object) -> StoredTensor:
    tensor = find_tensor(value)
    if tensor is not None:
        return tensor
    if isinstance(value, Pickled) and value.called == _META:
        raise ModelError("a tensor has no numbers of its own behind its shape: it cannot be scored")
    what = quoted(value.called) if isinstance(value, Pickled) else quoted(value)
    raise ModelError(f"refused: its pickle holds {what}, which is no plain data")


def _written_out(value: object, made: dict[StoredTensor, Tensor]) -> object:
    """Give a value of its own to every place, with tensors for what stands for them."""
    if isinstance(value, dict):
        return {key: _written_out(entry, made) for key, entry in value.items()}
    if isinstance(value, list):
        return [_written_out(entry, made) for entry in value]
    if isinstance(value, tuple):
        return tuple(_written_out(entry, made) for entry in value)
    return made[_stored(value)] if isinstance(value, Pickled) else value


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
    except MemoryError:
        raise ModelError(f"{path}: there is not enough memory to read it") from None


def _read_safetensors(path: Path) -> dict[str, object]:
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {}).get("tseval", "{}"))
            if not isinstance(header, dict):
                raise ModelError(f"{path}: not a tseval checkpoint (its header is a {type(header).__name__})")
            return {**header, "weights": {name: file.get_tensor(name) for name in file.keys()}}  # noqa: SIM118 - no mapping
    except (SafetensorError, ValueError) as error:
        raise ModelError(f"{path}: damaged safetensors file ({first_line(error)[:200]})") from None


def _read_pt(path: Path, start: bytes) -> dict[str, object]:
    if not start.startswith(b"PK"):
        raise ModelError(
            f"{path}: {_describe(path)}. Models are read from tseval's own .pt and .safetensors files."
        )
    try:
        parts = zip_parts(path)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    try:
        content = read_plain_object(path, parts)
    except ModelError as error:
        raise ModelError(f"{path}: {_refusal(path, error)}") from None
    if not isinstance(content, dict):
        raise ModelError(f"{path}: not a tseval checkpoint (it holds a {type(content).__name__})")
    return content


def _refusal(path: Path, error: ModelError) -> str:
    """Say why a zip file is refused; if its pickle would import or call something, name that."""
    try:
        with zipfile.ZipFile(path) as archive:
            pickled = pickle_part(archive)
            content = archive.open(pickled).read(DESCRIBED_BYTES) if pickled else b""
    except ZIP_ERRORS:
        content = b""
    if called := _called(content):
        return f"refused, because reading it would execute code ({_names(called)})"
    return f"not a readable checkpoint ({error})"


def _describe(path: Path) -> str:
    """Say what a file is that is neither a zip file nor safetensors."""
    with path.open("rb") as file:
        content = file.read(DESCRIBED_BYTES)
    if not content:
        return "an empty file"
    called = _called(content)
    if content.startswith(b"\x93NUMPY"):
        return "an array of NumPy"
    if content.startswith(b"\x80") or called:
        names = f" ({_names(called)})" if called else ""
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


def _names(called: list[str]) -> str:
    """List some names, as far as a message has room and a terminal can show them."""
    return ", ".join(repr(name[:60])[1:-1] for name in called[:5])
