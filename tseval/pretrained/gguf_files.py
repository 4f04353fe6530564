"""GGUF files, llama.cpp's format: checks within limits before other code opens them.

The weights are dequantised and scored like any transformers model. llama.cpp also rounds activations to eight
bits, so its numbers differ.

Source: the specification of the format, github.com/ggml-org/ggml, docs/gguf.md, version 3.
"""

from __future__ import annotations

import re
import shutil
import struct
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tseval.errors import ModelError
from tseval.files import file_sha256

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAGIC = b"GGUF"
ENDING = ".gguf"
# Bytes of value types of fixed size, by type number; 8 is a string, 9 a list.
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _LIST, _DEEPEST = 8, 9, 4
MOST_ENTRIES, LONGEST_NAME, LONGEST_TEXT = 100_000, 1_024, 16_000_000
MOST_VALUES = 6_000_000  # in all lists; a tokenizer of 260,000 pieces has less than two million
# Fields with numbers of parts that are built one by one, and how many are always allowed.
COUNTS, FEW = re.compile(r"\.(block|layer|expert|leading_dense_block|head|head_count_kv)_?count"), 1_024


@dataclass(frozen=True, slots=True)
class Gguf:
    """A GGUF file that passed the checks.

    Attributes:
        path: The file.
        quantisation: Number format of most weights: `Q4_1`.
        digest: SHA-256 of its bytes.
    """

    path: Path
    quantisation: str
    digest: str


@contextmanager
def opened_gguf(where: str, rest: str) -> Iterator[Gguf | None]:
    """Open the GGUF model with a name: a file, or a folder with one file or the parts of one.

    Parts are joined in a temporary folder.

    Raises:
        ModelError: The file is damaged, the folder has several models, or the package gguf is missing.
    """
    path = Path(rest)
    parts = [path] if path.is_file() else _inside(where, path)
    if not parts or (len(parts) == 1 and not _begins(parts[0]) and not parts[0].name.endswith(ENDING)):
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        file = parts[0] if len(parts) == 1 else _joined(parts, Path(folder, f"{path.name}{ENDING}"))
        quantisation = _look_through(where, file)
        yield Gguf(file, quantisation, file_sha256(file))


def _begins(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _inside(where: str, folder: Path) -> list[Path]:
    """Return the parts of the only GGUF model in a folder, in the order of their numbers."""
    if not folder.is_dir() or (folder / "config.json").exists():
        return []
    files = [path for path in folder.iterdir() if ENDING in path.name and path.is_file()]
    files.sort(key=lambda path: [int(n) if n.isdecimal() else n for n in re.split(r"(\d+)", path.name)])
    if sum(map(_begins, files)) > 1:
        names = ", ".join(path.name for path in files[:4])
        raise ModelError(
            f"{where} holds several models ({names}).\n  Name one of the files, such as "
            f"{where}/{files[0].name}"
        )
    return files


def _joined(parts: Sequence[Path], into: Path) -> Path:
    with into.open("wb") as joined:
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, joined)
    return into


class _DamagedError(Exception):
    """A damaged file, with the reason."""


def _look_through(where: str, path: Path) -> str:
    """Check the header of a file without trusting its sizes; return the number format of most weights."""
    try:
        import gguf  # noqa: F401, PLC0415  optional
    except ImportError:
        raise ModelError(
            f"{where} is a GGUF file, which only the package gguf can read.\n  Install the package: pip "
            'install "tseval[gguf]"'
        ) from None
    with path.open("rb") as file:
        head = _Head(file, path.stat().st_size)
        try:
            if file.read(len(MAGIC)) != MAGIC:
                raise _DamagedError("the file does not begin with GGUF")
            version, n_tensors, n_entries = head.take("<IQQ")
            if version not in {2, 3}:
                raise _DamagedError(f"the GGUF version is {version}, but tseval reads only 2 and 3")
            if max(n_tensors, n_entries) > MOST_ENTRIES:
                raise _DamagedError(
                    f"the header announces {max(n_tensors, n_entries):,} entries, which is too many"
                )
            stored = _weights(head, n_tensors, _alignment(head, n_entries, max(FEW, n_tensors)))
        except _DamagedError as error:
            raise ModelError(
                f"{where} cannot be read as GGUF: {error}.\n  Download the file again."
            ) from None
    if not stored:
        raise ModelError(f"{where} holds no weights.\n  Download the file again.")
    return stored.most_common(1)[0][0]


def _alignment(head: _Head, n_entries: int, most: int) -> int:
    """Skip the metadata of a file, and return the alignment of its weights in bytes.

    `most` is the largest allowed number of layers, experts or heads.
    """
    alignment = 32
    for _ in range(n_entries):
        name, kind = head.name(), head.take("<I")[0]
        value = head.value(kind)
        if name == "general.alignment" and value:
            alignment = value
        if value and value > most and COUNTS.search(name):
            raise _DamagedError(f"{name} is {value:,}, but the file holds weights for {most:,} at most")
        if name == "split.count" and value and value > 1:
            raise _DamagedError(
                f"the file is only one of {value} parts of a model. Join the parts with llama-gguf-split "
                "--merge"
            )
    return alignment


def _weights(head: _Head, n_tensors: int, alignment: int) -> Counter[str]:
    """Count weights by number format, and check that the file is long enough for all."""
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType  # noqa: PLC0415  optional

    stored, end, total = Counter[str](), 0, 0
    for _ in range(n_tensors):
        name, n_dimensions = head.name(), head.take("<I")[0]
        if n_dimensions > _DEEPEST:
            raise _DamagedError(f"{name} has {n_dimensions} dimensions")
        size = prod(head.take(f"<{n_dimensions}Q"))
        number, offset = head.take("<IQ")
        if number not in GGML_QUANT_SIZES:
            raise _DamagedError(f"{name} has an unknown number format ({number})")
        kind = GGMLQuantizationType(number)
        block, n_bytes = GGML_QUANT_SIZES[kind]
        stored[kind.name] += size
        end = max(end, offset + size // block * n_bytes)
        total += size // block * n_bytes
    end += -(-head.file.tell() // alignment) * alignment
    if end > head.size:
        raise _DamagedError(f"the weights end at byte {end:,}, but the file ends at byte {head.size:,}")
    if total > head.size:  # tensors that share bytes would be separate in memory
        raise _DamagedError(f"the weights need {total:,} bytes, but the file has only {head.size:,}")
    return stored


class _Head:
    """A reader of a file's header, in which no number, text or list may exceed the rest of the file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file, self.size = file, size
        self._values = 0  # in all lists so far

    def take(self, layout: str) -> tuple[int, ...]:
        """Read numbers."""
        n_bytes = struct.calcsize(layout)
        content = self.file.read(n_bytes)
        if len(content) < n_bytes:
            raise _DamagedError("the file ends inside its header")
        return struct.unpack(layout, content)

    def name(self) -> str:
        """Read the name of an entry."""
        return self.text(LONGEST_NAME).decode("utf-8", "replace")

    def text(self, longest: int) -> bytes:
        """Read a text of at most `longest` bytes."""
        (length,) = self.take("<Q")
        if length > min(longest, self.size - self.file.tell()):
            raise _DamagedError(f"the header announces a text of {length:,} bytes, which is too long")
        return self.file.read(length)

    def value(self, kind: int, depth: int = 0) -> int | None:
        """Read a value; return it if it is a number of fixed size, as an integer."""
        if kind in _SIZES:
            content = self.file.read(_SIZES[kind])
            if len(content) < _SIZES[kind]:
                raise _DamagedError("the file ends inside its header")
            return int.from_bytes(content, "little")
        if kind == _STRING:
            self.text(LONGEST_TEXT)
            return None
        if kind != _LIST or depth >= _DEEPEST:
            raise _DamagedError(f"the header of the file has a value of the unknown type {kind}")
        entry_kind, length = self.take("<IQ")
        n_left = self.size - self.file.tell()
        self._values += length
        if length * _SIZES.get(entry_kind, 8) > n_left or self._values > MOST_VALUES:
            raise _DamagedError(f"the header announces a list of {length:,} values, which is too long")
        if entry_kind in _SIZES:
            self.file.seek(length * _SIZES[entry_kind], 1)
        else:
            for _ in range(length):
                self.value(entry_kind, depth + 1)
        return None
