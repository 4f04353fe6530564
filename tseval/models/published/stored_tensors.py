"""Tensors as the pickles of torch describe them, before any of their numbers are read.

Source: `torch/_utils.py`, `torch/serialization.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from tseval.errors import ModelError
from tseval.models.published.inert_pickle import MAX_INSTRUCTIONS, Name, Pickled, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from torch import Tensor

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
