"""Files of plain data and tensors, held to that: what a checkpoint of tseval may hold."""

from __future__ import annotations

import json
import pickletools
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING

from safetensors import SafetensorError, safe_open

from tseval.errors import ModelError, first_line
from tseval.models.pickles import Pickled, quoted
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
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor


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
