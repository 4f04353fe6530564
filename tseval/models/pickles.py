"""A safe reader of pickles: it builds records from their instructions, and imports or calls nothing.

`pickletools` decodes the instructions without running them. This module executes only the instructions that
`torch.save` writes for a module, with limits on memory and time.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pickletools import genops
from typing import TYPE_CHECKING

from tseval.errors import first_line
from tseval.models.refusals import damaged, refused

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterable


MOST_UNFOLDED = 50_000_000  # containers, each counted once per reference
MAX_INSTRUCTIONS = 100_000  # a pickled language model takes about a thousand

# Instructions that push their argument or a new object, or do not change the stack.
_ARGUMENTS = {
    *("INT", "BININT", "BININT1", "BININT2", "FLOAT", "BINFLOAT"),
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
_KEYS = str | int | float | bytes | None  # of dictionaries; hashing a nested tuple may never end
_LARGEST_KEY = 2**61 - 1  # numbers that differ by this have one hash, so a dictionary is very slow
_LARGEST_NUMBER = 2**4096  # Python refuses to print numbers of more than some thousand digits


@dataclass(frozen=True, slots=True)
class Name:
    """A class or function named in a pickle, as `module.name`; it is never looked up."""

    path: str


@dataclass(slots=True, eq=False)
class Pickled:
    """A record of an object that unpickling would create."""

    called: str  # the class or function to call, as `module.name`
    arguments: tuple[object, ...]  # the arguments of the call
    state: object = None  # the state to set on the new object, or None


@dataclass(frozen=True, slots=True)
class Inert:
    """The content of a pickle."""

    value: object  # numbers, text, lists, dictionaries and records
    names: frozenset[str]  # all names in it, without those that were allowed to be called


def read_pickle(
    stream: io.BytesIO,
    callable_names: frozenset[str] = frozenset(),
    persistent: Callable[[tuple[object, ...]], object] | None = None,
    max_instructions: int = MAX_INSTRUCTIONS,
) -> Inert:
    """Read one pickle, and leave the stream at its end.

    Args:
        stream: A stream in memory, so that a pickle cannot request more bytes than there are.
        callable_names: Names that the pickle may call; the calls become records.
        persistent: Converts a persistent id, which is always a tuple, into an object.
        max_instructions: Limit on the number of instructions.
    """
    machine = _Machine(callable_names, persistent, max_instructions)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about escapes in damaged text
            value = machine.run(stream)
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
        raise damaged(f"truncated or damaged pickle ({first_line(error)[:100]})") from None
    refuse_unfolding(value)
    return Inert(value, frozenset(machine.names - callable_names))


def refuse_unfolding(value: object) -> None:
    """Refuse data that shares parts so often that a walk through all references would take too long.

    A part that contains itself is not counted inside itself.
    """
    sizes: dict[int, int] = {}  # of containers with their whole content; 0 during the count
    pending: list[tuple[object, list[object] | None]] = [(value, None)]
    while pending:
        container, entries = pending.pop()
        if entries is not None:
            size = 1 + len(entries) + sum(sizes.get(id(entry), 0) for entry in entries)
            if size > MOST_UNFOLDED:
                raise refused(
                    "tseval refuses this file: the Python pickle in it uses the same parts again and again, "
                    f"which makes more than {MOST_UNFOLDED:,} objects"
                )
            sizes[id(container)] = size
        elif id(container) not in sizes:
            sizes[id(container)] = 0
            entries = _entries_of(container)
            pending.append((container, entries))
            pending += [(entry, None) for entry in entries if id(entry) not in sizes]


def _entries_of(container: object) -> list[object]:
    """Return the containers in a container."""
    if isinstance(container, dict):
        entries: Iterable[object] = container.values()
    elif isinstance(container, list | tuple):
        entries = container
    elif isinstance(container, Pickled):
        entries = (container.arguments, container.state)
    else:
        return []
    return [entry for entry in entries if type(entry) in _CONTAINERS]


_CONTAINERS = {dict, list, tuple, Pickled}


def quoted(value: object) -> str:
    """Quote a value from a pickle in a message: short text in quotes, otherwise its type."""
    return repr(value[:100]) if isinstance(value, str) else f"a {type(value).__name__}"


class _Machine:
    """The stack and the memo of a pickle."""

    def __init__(
        self,
        callable_names: frozenset[str],
        persistent: Callable[[tuple[object, ...]], object] | None,
        max_instructions: int,
    ) -> None:
        self.names: set[str] = set()  # names in the pickle
        self._callable, self._persistent, self._most = callable_names, persistent, max_instructions
        self._copied = 0  # copied container entries; one container may be copied many times
        self._stack: list[object] = []
        self._below: list[list[object]] = []  # the stack under each mark
        self._memo: dict[object, object] = {}

    def run(self, stream: io.BytesIO) -> object:
        """Execute instructions until the pickle ends, and return its value."""
        for count, (instruction, argument, _) in enumerate(genops(stream)):
            name = instruction.name
            if count == self._most:
                raise refused(
                    f"tseval refuses this file: its Python pickle has more than {self._most:,} instructions"
                )
            if name == "STOP":
                break
            if name in _ARGUMENTS:
                self._stack.append(argument)
            elif name in _FRESH:
                self._stack.append(_FRESH[name]())
            elif name in _ACTIONS:
                _ACTIONS[name](self, argument)
            elif name not in _IDLE:
                raise refused(
                    f"tseval refuses this file: its Python pickle has an instruction {name}, which "
                    "torch.save does not write"
                )
        return self._stack.pop()

    def take(self, count: int) -> list[object]:
        """Pop `count` values, in the order in which they were pushed."""
        if len(self._stack) < count:
            raise ValueError("the stack is empty")
        values = self._stack[-count:]
        del self._stack[-count:]
        return values

    def since_mark(self) -> list[object]:
        """Pop all values above the last mark."""
        values, self._stack = self._stack, self._below.pop()
        return values

    def push(self, value: object) -> None:
        self._stack.append(value)

    def number(self, value: object) -> None:
        """Push a value; refuse integers that are too long."""
        if isinstance(value, int) and abs(value) > _LARGEST_NUMBER:
            raise refused(
                "tseval refuses this file: its Python pickle has an integer of more than 4,096 bits"
            )
        self.push(value)

    def mark(self) -> None:
        self._below.append(self._stack)
        self._stack = []

    def put(self, index: object) -> None:
        """Store the top of the stack in the memo, at the next index if none is given."""
        self._memo[len(self._memo) if index is None else index] = self._stack[-1]

    def pop(self) -> None:
        self._stack.pop()

    def get(self, index: object) -> None:
        self.push(self._memo[index])

    def copy(self, container: object) -> None:
        """Count the entries of a copied container, and refuse too many."""
        self._copied += len(container) if isinstance(container, list | dict) else 0
        if self._copied > self._most:
            raise refused(
                "tseval refuses this file: to read its Python pickle, tseval must copy more than "
                f"{self._most:,} entries of lists and dictionaries"
            )

    def extend(self, values: list[object]) -> None:
        target = self._stack[-1]
        if not isinstance(target, list):
            raise TypeError("its Python pickle appends to an object that is not a list")
        target.extend(values)

    def set_items(self, values: list[object]) -> None:
        target = self._stack[-1]
        if isinstance(target, Pickled):  # a subclass of dict
            target.state = {} if target.state is None else target.state
            target = target.state
        if not isinstance(target, dict):
            raise TypeError("the pickle sets items of an object that is not a dictionary")
        _fill(target, zip(values[::2], values[1::2], strict=True))

    def dictionary(self) -> None:
        values = self.since_mark()
        self.push({})
        self.set_items(values)

    def name(self, module: object, name: object) -> None:
        if not isinstance(module, str) or not isinstance(name, str):
            raise TypeError("its Python pickle has a name that is not text")
        path = f"{module}.{name}"
        self.names.add(path)
        self.push(Name(path))

    def call(self) -> None:
        """Record a call, if it is allowed."""
        called, arguments = self.take(2)
        if not isinstance(called, Name) or not isinstance(arguments, tuple):
            raise TypeError("its Python pickle calls an object that is not a function")
        if called.path not in self._callable:
            raise refused(
                "tseval refuses this file and ran none of its code: its Python pickle would call "
                f"{quoted(called.path)}"
            )
        for argument in arguments[:1]:
            self.copy(argument)
        self.push(_made(called.path, arguments))

    def new(self) -> None:
        """Record a new object. User-defined classes get no arguments, but may get a state."""
        cls, arguments = self.take(2)
        if not isinstance(cls, Name) or not isinstance(arguments, tuple):
            raise TypeError("its Python pickle creates an object of something that is not a class")
        if arguments and cls.path not in self._callable:
            raise refused(
                "tseval refuses this file and ran none of its code: its Python pickle would call the "
                f"class {quoted(cls.path)} with arguments"
            )
        self.push(Pickled(cls.path, arguments))

    def build(self) -> None:
        """Store the state of an object; `__setstate__` is never run.

        The state of a dictionary of weights holds only module versions, and is ignored.
        """
        (state,) = self.take(1)
        target = self._stack[-1]
        if isinstance(target, dict):
            return
        if not isinstance(target, Pickled):
            raise refused(
                f"tseval refuses this file: its Python pickle sets the state of a {type(target).__name__}"
            )
        if isinstance(target.state, dict) and isinstance(state, dict):
            self.copy(state)
            target.state.update(state)  # in addition to the entries of a dictionary
        else:
            target.state = state

    def resolve(self) -> None:
        """Replace a persistent id by the object that it names."""
        (saved,) = self.take(1)
        if not isinstance(saved, tuple) or self._persistent is None:
            raise refused(
                "tseval refuses this file: its Python pickle refers to data outside the pickle, but not to "
                "the numbers of a tensor"
            )
        self.push(self._persistent(saved))


_ACTIONS: dict[str, Callable[[_Machine, object], None]] = {
    **dict.fromkeys(("LONG", "LONG1", "LONG4"), _Machine.number),
    "MARK": lambda machine, _: machine.mark(),
    "POP": lambda machine, _: machine.pop(),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.since_mark())),
    "TUPLE1": lambda machine, _: machine.push(tuple(machine.take(1))),
    "TUPLE2": lambda machine, _: machine.push(tuple(machine.take(2))),
    "TUPLE3": lambda machine, _: machine.push(tuple(machine.take(3))),
    "LIST": lambda machine, _: machine.push(machine.since_mark()),
    "DICT": lambda machine, _: machine.dictionary(),
    "APPEND": lambda machine, _: machine.extend(machine.take(1)),
    **dict.fromkeys(("APPENDS", "ADDITEMS"), lambda machine, _: machine.extend(machine.since_mark())),
    "SETITEM": lambda machine, _: machine.set_items(machine.take(2)),
    "SETITEMS": lambda machine, _: machine.set_items(machine.since_mark()),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), _Machine.put),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _Machine.get),
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
            raise refused(
                "tseval refuses this file: its Python pickle has a dictionary with keys of type "
                f"{type(key).__name__}"
            )
        if type(key) is int and not -_LARGEST_KEY < key < _LARGEST_KEY:
            raise refused(
                "tseval refuses this file: its Python pickle has a dictionary with an integer of 61 bits "
                "as a key"
            )
        target[key] = value


def _made(path: str, arguments: tuple[object, ...]) -> object:
    """Return the result of an allowed call: plain values for Python's containers, records for all others."""
    if path.endswith("._reconstructor"):  # protocols 0 and 1 create objects in this way
        cls = arguments[0]
        if not isinstance(cls, Name):
            raise TypeError("its Python pickle creates an object of something that is not a class")
        return Pickled(cls.path, ())
    if path == "collections.OrderedDict":
        mapping: dict[object, object] = {}
        _fill(mapping, _only_list(arguments))
        return mapping
    if path == "collections.defaultdict" and len(arguments) <= 1:  # the factory of default values is ignored
        return {}
    if path == "collections.Counter" and len(arguments) == 1 and isinstance(arguments[0], dict):
        return dict(arguments[0])
    if path.endswith(".set"):
        return _only_list(arguments)
    return Pickled(path, arguments)


def _only_list(arguments: tuple[object, ...]) -> list[list[object]]:
    """Return the list from which a Python container is made; empty if there are no arguments."""
    (values,) = arguments or ([],)
    if not isinstance(values, list):
        raise TypeError("its Python pickle makes a container from an object that is not a list")
    return list(values)
