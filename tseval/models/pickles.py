"""Files of weights, read as plain data: nothing in them is executed, and damage is found.

What is refused is described, so that its owner knows what it is.
"""

from __future__ import annotations

import json
import pickletools
import warnings
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pickletools import genops
from typing import TYPE_CHECKING

from safetensors import SafetensorError, safe_open
from torch import Tensor

from tseval.errors import ModelError, first_line
from tseval.models.torch_files import (
    OWN_LIMITS,
    ZIP_ERRORS,
    StoredTensor,
    ZipPart,
    find_tensor,
    pickle_part,
    read_zip,
    zip_parts,
)

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterable, Mapping
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
