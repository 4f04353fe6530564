"""Plain data and tensors out of a file of torch: what checkpoints and resume files of our own are made of.

`torch.load` is not asked: whatever its reader would do with a pickle, here nothing happens but what stands in
`inert_pickle`, and memory is taken only for numbers that are in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.errors import ModelError
from tseval.models.published.inert_pickle import Pickled, quoted
from tseval.models.published.stored_tensors import OWN_LIMITS, StoredTensor, find_tensor
from tseval.models.published.torch_file import read_zip

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor

    from tseval.models.zip_parts import ZipPart

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
