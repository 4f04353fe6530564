"""Text files as numbers of their own words: read once, kept in the cache, and mapped from there.

What is kept knows no vocabulary and no lower-casing: these only say what a number stands for
(`tseval.training.corpus`), so that all models share it. It is named by the SHA-256 of the file, and holds the
numbers, 4 bytes each, the words, how much there is of both, and a checksum. Whatever is wrong with it, the
text is read again. A checksum finds damage, not intent (decision 10).
"""

from __future__ import annotations

import hashlib
import io
import mmap
import struct
import zlib
from collections import defaultdict
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count, islice
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

import numpy as np

from tseval.errors import TrainingError, reason
from tseval.files import bounded_lines, cache_folder, limits, open_limited, open_regular, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

NUMBERED_FORMAT = 1
_BLOCK = 1 << 16  # words numbered at once
_SMALL = 16  # blocks: texts with fewer are numbered in a blink, and held in memory
_TAIL = struct.Struct("<QQ32s")  # numbers, bytes of the words, SHA-256 of all before it


@dataclass(frozen=True, slots=True)
class NumberedText:
    """A text file, every word of it as a number.

    Attributes:
        numbers: Of the words, line by line, (tokens,) uint32; each line that has words ends in 0.
        words: By number; what 0 stands for is no word.
        sha256: Of the bytes on disk.
    """

    numbers: NDArray[np.uint32]
    words: list[str]
    sha256: str


def number_text(path: Path) -> NumberedText:
    """Give every word of a text file a number, from 1, as they come.

    Raises:
        TrainingError: If the file is missing, damaged or not UTF-8, or there is no room to keep a large one.
    """
    try:
        sha256 = file_sha256(path)
    except OSError as error:
        raise TrainingError(f"{path}: cannot be read ({reason(error)})") from None
    kept = cache_folder() / f"{_key(path, sha256)[:32]}.text"
    if (found := _load(kept, sha256)) is not None:
        return found
    known = _fresh_numbers()
    blocks = list(islice(_numbered(path, known), _SMALL))
    if len(blocks) < _SMALL:
        numbers = np.concatenate([np.zeros(0, np.uint32), *blocks])
        return NumberedText(numbers, ["", *known], sha256)
    write = partial(_write, path, sha256)
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, write, shared=True)
        if (found := _load(kept, sha256)) is not None:
            return found
    return _without_cache(path, sha256)


def text_lines(path: Path) -> Iterator[str]:
    """Give the lines of a text file, plain or gzip-compressed.

    Raises:
        TrainingError: If the file is missing, damaged or not UTF-8.
    """
    try:
        with open_limited(path, "text_bytes") as file:
            yield from bounded_lines(io.TextIOWrapper(file, encoding="utf-8"), path, rows=False)
    except (OSError, EOFError, zlib.error) as error:
        raise TrainingError(f"{path}: cannot be read ({reason(error)})") from None
    except UnicodeDecodeError as error:
        raise TrainingError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None


def file_sha256(path: Path) -> str:
    """Hash the bytes of a file.

    Raises:
        OSError: If it cannot be read.
    """
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _key(path: Path, sha256: str) -> str:
    """Hash everything that the numbers, or a refusal to read the text, follow from."""
    facts = NUMBERED_FORMAT, path.suffix == ".gz", sorted(asdict(limits()).items()), sha256
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _fresh_numbers() -> defaultdict[str, int]:
    return defaultdict(count(1).__next__)


def _numbered(path: Path, known: defaultdict[str, int]) -> Iterator[NDArray[np.uint32]]:
    """Give the numbers of a text in blocks; `known` learns the words."""
    number, block = known.__getitem__, list[int]()
    for line in text_lines(path):
        if words := line.split():
            block += map(number, words)
            block.append(0)
        if len(block) >= _BLOCK:
            yield np.array(block, dtype=np.uint32)
            block = []
    yield np.array(block, dtype=np.uint32)


def _write(path: Path, sha256: str, file: IO[bytes]) -> None:
    """Write the numbers of a text."""
    known, checksum, tokens = _fresh_numbers(), hashlib.sha256(), 0

    def put(content: bytes) -> None:
        checksum.update(content)
        file.write(content)

    for block in _numbered(path, known):
        put(block.astype("<u4").tobytes())
        tokens += len(block)
    words = "\n".join(["", *known]).encode()
    put(words)
    checksum.update(_TAIL.pack(tokens, len(words), b""))
    file.write(_TAIL.pack(tokens, len(words), checksum.digest()))
    if file_sha256(path) != sha256:
        raise TrainingError(f"{path}: changed while it was read. Start again when it is complete.")


def _load(kept: Path, sha256: str) -> NumberedText | None:
    """Map what is kept, or None where it is absent or damaged."""
    with suppress(OSError, ValueError, struct.error), open_regular(kept) as file:
        return _map(file, sha256)
    return None


def _map(file: IO[bytes], sha256: str) -> NumberedText | None:
    """Map the numbers of a text, or give None where they are damaged.

    Raises:
        OSError, ValueError, struct.error: Likewise.
    """
    content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    tokens, length, checksum = _TAIL.unpack_from(content, len(content) - _TAIL.size)
    with memoryview(content) as view:
        found = hashlib.sha256(view[: -_TAIL.size])
    found.update(_TAIL.pack(tokens, length, b""))
    if found.digest() != checksum or 4 * tokens + length + _TAIL.size != len(content):
        return None
    words = content[4 * tokens : 4 * tokens + length].decode().split("\n")
    numbers = np.frombuffer(content, "<u4", tokens)
    # Whoever computes the checksum anew may still have written numbers of no word.
    return NumberedText(numbers, words, sha256) if numbers.max() < len(words) else None


def _without_cache(path: Path, sha256: str) -> NumberedText:
    """Write the numbers of a text into a file that has no name, and goes with this process."""
    try:
        with TemporaryFile() as file:
            _write(path, sha256, file)
            file.flush()
            found = _map(file, sha256)
    except OSError as error:
        raise TrainingError(
            f"{path}: there is no room for its numbered words ({reason(error)}).\n"
            f"  Make some in {cache_folder()}, or name another folder with TMPDIR."
        ) from None
    assert found is not None, "what was written a moment ago is sound"
    return found
