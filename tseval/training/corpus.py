"""Training text as numbers, from files or formal languages, divided into windows.

A text file is converted once to numbers of its words, which are stored in the cache and memory-mapped. The
stored numbers are independent of vocabulary and lower-casing, which only map a number to an id. So all models
share them. A cache file is named by a hash of the text file and of the limits. It holds the numbers (4 bytes
each), the words, the sizes of both, and a checksum. If it is damaged, the text is read again. A checksum
detects damage, not manipulation (decision 10).
"""

from __future__ import annotations

import hashlib
import io
import mmap
import struct
import zlib
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count, islice
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Protocol, overload

import numpy as np
import torch
from torch import Tensor

from tseval.errors import TrainingError, reason
from tseval.files import (
    bounded_lines,
    cache_folder,
    file_sha256,
    limits,
    open_limited,
    open_regular,
    write_whole,
)
from tseval.models.vocabulary import EOS, SPECIAL_WORDS, UNK, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tseval.suites.formal.languages import Language, Split, Strings


NUMBERED_FORMAT = 1
_BLOCK = 1 << 16  # words per block
_SMALL = 16  # blocks; texts with fewer are quickly numbered, and stay in memory
_TAIL = struct.Struct("<QQ32s")  # count of numbers, bytes of the words, SHA-256 of everything before


@dataclass(frozen=True, slots=True)
class NumberedText:
    """A text file as the numbers of its words."""

    numbers: NDArray[np.uint32]  # of the words, line by line, (tokens,); each line with words ends in 0
    words: list[str]  # by number; number 0 is no word
    sha256: str  # of the bytes on disk


def number_text(path: Path) -> NumberedText:
    """Return a text file with its words as numbers, from 1 in the order of first occurrence."""
    try:
        sha256 = file_sha256(path)
    except OSError as error:
        raise _unreadable(path, error) from None
    cached = cache_folder() / f"{_key(path, sha256)[:32]}.text"
    if (text := _load(cached, sha256)) is not None:
        return text
    numbers_of_words = _fresh_numbers()
    blocks = list(islice(_numbered(path, numbers_of_words), _SMALL))
    if len(blocks) < _SMALL:
        numbers = np.concatenate([np.zeros(0, np.uint32), *blocks])
        return NumberedText(numbers, ["", *numbers_of_words], sha256)
    write = partial(_write, path, sha256)
    with suppress(OSError):
        cached.parent.mkdir(parents=True, exist_ok=True)
        write_whole(cached, write, shared=True)
        if (text := _load(cached, sha256)) is not None:
            return text
    return _without_cache(path, sha256)


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, plain or gzip-compressed."""
    try:
        with open_limited(path, "text_bytes") as file:
            yield from bounded_lines(io.TextIOWrapper(file, encoding="utf-8"), path, rows=False)
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None
    except UnicodeDecodeError as error:
        raise TrainingError(
            f"{path}: the file is not UTF-8 text ({error.reason} at byte {error.start}).\n  Save the file "
            "as UTF-8."
        ) from None


def _unreadable(path: Path, error: Exception) -> TrainingError:
    return TrainingError(
        f"{path}: tseval cannot read this file ({reason(error)}).\n  Check the path, and that you may read "
        "the file."
    )


def _key(path: Path, sha256: str) -> str:
    """Hash everything that affects the numbers, or the refusal of a text."""
    facts = NUMBERED_FORMAT, path.suffix == ".gz", sorted(asdict(limits()).items()), sha256
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _fresh_numbers() -> defaultdict[str, int]:
    return defaultdict(count(1).__next__)


def _numbered(path: Path, known: defaultdict[str, int]) -> Iterator[NDArray[np.uint32]]:
    """Yield the numbers of a text in blocks, and add new words to `known`."""
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
    numbers, checksum, tokens = _fresh_numbers(), hashlib.sha256(), 0

    def add(content: bytes) -> None:
        checksum.update(content)
        file.write(content)

    for block in _numbered(path, numbers):
        add(block.astype("<u4").tobytes())
        tokens += len(block)
    words = "\n".join(["", *numbers]).encode()
    add(words)
    checksum.update(_TAIL.pack(tokens, len(words), b""))
    file.write(_TAIL.pack(tokens, len(words), checksum.digest()))
    if file_sha256(path) != sha256:
        raise TrainingError(
            f"{path}: the file changed while tseval was reading it. Repeat the command when no program "
            "writes to the file."
        )


def _load(cached: Path, sha256: str) -> NumberedText | None:
    """Map a cached text; return None if it is missing or damaged."""
    with suppress(OSError, ValueError, struct.error), open_regular(cached) as file:
        return _map(file, sha256)
    return None


def _map(file: IO[bytes], sha256: str) -> NumberedText | None:
    """Map the numbers of a text; return None if they are damaged."""
    content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    tokens, length, checksum = _TAIL.unpack_from(content, len(content) - _TAIL.size)
    with memoryview(content) as view:
        digest = hashlib.sha256(view[: -_TAIL.size])
    digest.update(_TAIL.pack(tokens, length, b""))
    if digest.digest() != checksum or 4 * tokens + length + _TAIL.size != len(content):
        return None
    words = content[4 * tokens : 4 * tokens + length].decode().split("\n")
    numbers = np.frombuffer(content, "<u4", tokens)
    # With a new checksum, a manipulated file may still contain numbers without a word.
    return NumberedText(numbers, words, sha256) if numbers.max() < len(words) else None


def _without_cache(path: Path, sha256: str) -> NumberedText:
    """Write the numbers of a text into a temporary file, which disappears when this process ends."""
    try:
        with TemporaryFile() as file:
            _write(path, sha256, file)
            file.flush()
            text = _map(file, sha256)
    except OSError as error:
        raise TrainingError(
            f"{path}: tseval cannot store the encoded text, because the disk is full ({reason(error)}).\n"
            f"  Free space in {cache_folder()}, or set TMPDIR to another folder."
        ) from None
    assert text is not None, "what was written a moment ago is sound"
    return text


STREAM_BLOCK = 1 << 19  # tokens of a stream in memory at once


@dataclass(frozen=True, slots=True)
class TextFile:
    """The record of a training file."""

    name: str  # file name without the folder
    sha256: str  # of the bytes on disk
    tokens: int  # words, with one `<eos>` per line


def count_words(paths: Sequence[Path], *, lowercase: bool) -> Counter[str]:
    """Count the words of all files."""
    counts: Counter[str] = Counter()
    for text in map(number_text, paths):
        frequencies = np.zeros(len(text.words), dtype=np.int64)
        for start in range(0, len(text.numbers), STREAM_BLOCK):
            frequencies += np.bincount(text.numbers[start : start + STREAM_BLOCK], minlength=len(frequencies))
        for word, times in zip(text.words[1:], frequencies[1:].tolist(), strict=True):
            counts[word.lower() if lowercase else word] += times
    return counts


@dataclass(frozen=True, slots=True)
class EncodedText:
    """Files as one stream of word ids: `<eos>`, then every sentence with `<eos>` after it; mostly on disk.

    It replaces a tensor of (tokens,) int64 that is read in parts.
    """

    eos: int  # the id of `<eos>`
    # for each file, the numbers of its words, and the id of each number
    parts: tuple[tuple[NDArray[np.uint32], NDArray[np.int64]], ...]

    def __len__(self) -> int:
        return 1 + sum(len(numbers) for numbers, _ in self.parts)

    def __getitem__(self, places: Tensor) -> Tensor:
        """Return the ids at given positions of the stream, in the shape of `places`."""
        indices = places.numpy() - 1
        result = np.full(indices.shape, self.eos)
        for numbers, ids in self.parts:
            is_inside = (indices >= 0) & (indices < len(numbers))
            result[is_inside] = ids[numbers[indices[is_inside]]]
            indices = indices - len(numbers)
        return torch.from_numpy(result)

    def split(self, size: int) -> Iterator[Tensor]:
        """Yield all ids in order, in blocks of at most `size`."""
        yield torch.tensor([self.eos])
        for numbers, ids in self.parts:
            for start in range(0, len(numbers), size):
                yield torch.from_numpy(ids[numbers[start : start + size]])


Stream = Tensor | EncodedText


def map_text(paths: Sequence[Path], vocabulary: Vocabulary) -> EncodedText:
    """Encode text files with a vocabulary, as one stream without blank lines."""
    ids_of_words = vocabulary.ids()
    eos, unk = ids_of_words[EOS], ids_of_words[UNK]
    parts = []
    for path, text in zip(paths, map(number_text, paths), strict=True):
        if not len(text.numbers):
            raise TrainingError(
                f"{path}: the file has no words.\n  Give a text file with one sentence on each line."
            )
        words = (word.lower() if vocabulary.lowercase else word for word in text.words)
        ids = np.fromiter((ids_of_words.get(word, unk) for word in words), np.int64, len(text.words))
        ids[0] = eos
        parts.append((text.numbers, ids))
    return EncodedText(eos, tuple(parts))


def encode_text(paths: Sequence[Path], vocabulary: Vocabulary) -> Tensor:
    """Encode text files like `map_text`, in memory: word ids, (tokens,) int64."""
    return torch.cat(list(map_text(paths, vocabulary).split(STREAM_BLOCK)))


def file_facts(path: Path) -> TextFile:
    """Return the hash and the number of tokens of a file, for the record."""
    text = number_text(path)
    return TextFile(path.name, text.sha256, len(text.numbers))


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A stream on disk as parallel columns; it replaces a tensor of (time, batch)."""

    stream: EncodedText
    shape: tuple[int, int]  # time and batch

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Tensor:
        """Read a range of rows."""
        time, batch = self.shape
        return self.stream[torch.arange(*rows.indices(time))[:, None] + torch.arange(batch) * time]


@overload
def columns(stream: Tensor, batch: int) -> Tensor: ...
@overload
def columns(stream: Stream, batch: int) -> Tensor | FoldedText: ...
def columns(stream: Stream, batch: int) -> Tensor | FoldedText:
    """Divide a stream into `batch` parallel columns, (time, batch); the remainder is dropped."""
    time = len(stream) // batch
    if time < 2:
        raise TrainingError(
            f"the text has only {len(stream)} tokens, which is too few for --batch {batch}. Lower --batch."
        )
    if isinstance(stream, EncodedText):
        return FoldedText(stream, (time, batch))
    return stream[: time * batch].view(batch, time).t().contiguous()


@dataclass(frozen=True, slots=True)
class Window:
    """The words of one training step."""

    words: Tensor  # word ids, (time, batch)
    targets: Tensor  # the words to predict, (predictions,)
    rows: Tensor | None  # which of the time * batch outputs are predictions; None for all
    fresh: bool  # whether it starts from the initial state, not from the state after the last window

    def predicting(self, outputs: Tensor) -> Tensor:
        """Select the outputs that are predictions: (time, batch, hidden) to (predictions, hidden)."""
        flat = outputs.flatten(0, 1)
        return flat if self.rows is None else flat[self.rows]

    def columns(self, first: int, stop: int) -> Window:
        """Return a window of only the columns from `first` up to, but without, `stop`."""
        batch = self.words.shape[1]
        words = self.words[:, first:stop]
        if self.rows is None:
            targets = self.targets.view(-1, batch)[:, first:stop].flatten()
            return Window(words, targets, None, self.fresh)
        column = self.rows % batch
        inside = (first <= column) & (column < stop)
        column, rows = column[inside], self.rows[inside]
        where = (rows - column) // batch * words.shape[1] + column - first
        return Window(words, self.targets[inside], where, self.fresh)


class Windows(Protocol):
    """A text as a sequence of windows."""

    @property
    def n_windows(self) -> int:
        """Number of windows of the whole text."""

    def tokens(self, windows: int) -> int:
        """Count the predicted words in the first `windows` windows."""

    def windows_for(self, tokens: int) -> int:
        """Count the first windows that together have at least `tokens` predicted words."""

    def read(self, window: int, device: torch.device) -> Window:
        """Return one window, counted from 0."""


@dataclass(frozen=True, slots=True)
class Columns:
    """A text in columns that are read in parallel; every word but the first row is predicted."""

    text: Tensor | FoldedText  # word ids, (time, batch), in memory or on disk
    length: int  # number of rows predicted at once
    fresh_state: bool = False  # whether every window starts from the initial state, not only the first

    @property
    def n_windows(self) -> int:
        """See `Windows`; the last window may be shorter."""
        return -(-(len(self.text) - 1) // self.length)

    def tokens(self, windows: int) -> int:
        """See `Windows`."""
        return min(windows * self.length, len(self.text) - 1) * self.text.shape[1]

    def windows_for(self, tokens: int) -> int:
        """See `Windows`."""
        return -(-tokens // (self.length * self.text.shape[1]))

    def read(self, window: int, device: torch.device) -> Window:
        """See `Windows`."""
        start = window * self.length
        words = self.text[start : start + self.length + 1].to(device)
        return Window(words[:-1], words[1:].flatten(), None, self.fresh_state or window == 0)


class Lines:
    """A text as whole lines, each from the initial state and the `<eos>` before it to the `<eos>` at its end.

    A batch holds consecutive lines of the text; the last may be smaller. Shorter lines are padded with
    `<eos>` without predictions. The stream has `<eos>` at its start and end, and between lines.
    """

    def __init__(self, stream: Stream, eos: int, batch: int) -> None:
        ends = _places_of(eos, stream)
        self.stream, self.eos, self.batch = stream, eos, batch
        self.starts, self.lengths = ends[:-1], ends.diff()
        # Number of predicted words up to the end of each batch.
        self._tokens = torch.cat([self.starts[::batch], ends[-1:]]) - ends[0]

    @property
    def n_windows(self) -> int:
        """See `Windows`."""
        return len(self._tokens) - 1

    def tokens(self, windows: int) -> int:
        """See `Windows`."""
        return int(self._tokens[windows])

    def windows_for(self, tokens: int) -> int:
        """See `Windows`."""
        return int(torch.searchsorted(self._tokens, tokens))

    def read(self, window: int, device: torch.device) -> Window:
        """See `Windows`."""
        lines = slice(window * self.batch, (window + 1) * self.batch)
        starts, lengths = self.starts[lines], self.lengths[lines]
        steps = torch.arange(int(lengths.max()))[:, None]
        inside = steps < lengths
        where = torch.where(inside, starts + steps, starts)
        rows = None if inside.all() else inside.flatten().nonzero().flatten()
        targets = self.stream[where[inside] + 1]
        words = self.stream[where]
        return Window(
            words.to(device), targets.to(device), None if rows is None else rows.to(device), fresh=True
        )


def _places_of(word: int, stream: Stream) -> Tensor:
    places, start = [], 0
    for block in stream.split(STREAM_BLOCK):
        places.append((block == word).nonzero().flatten() + start)
        start += len(block)
    return torch.cat(places)


def vocabulary_of(language: Language) -> Vocabulary:
    """Make the vocabulary of a language: `<eos>`, `<unk>`, then its alphabet in order."""
    return Vocabulary((EOS, UNK, *language.alphabet), lowercase=False)


def draw_text(language: Language, split: Split) -> Tensor:
    """Sample the strings of a language as one stream of word ids: `<eos>`, then every string and an `<eos>`.

    The ids are those of `vocabulary_of(language)`, (tokens,) int64.
    """
    start = np.zeros(1, dtype=np.int32)  # <eos> has id 0
    return torch.from_numpy(np.concatenate([start, *map(_ids, language.draw(split))]).astype(np.int64))


def _ids(strings: Strings) -> NDArray[np.int32]:
    ids = np.pad(strings.symbols + SPECIAL_WORDS, ((0, 0), (0, 1)))
    places, ends = np.arange(ids.shape[1]), strings.lengths[:, None]
    ids_in_strings: NDArray[np.int32] = np.where(places < ends, ids, 0)[places <= ends].astype(np.int32)
    return ids_in_strings


def describe_drawn(name: str, text: Tensor) -> TextFile:
    """Describe sampled text, for the record; the hash is that of its ids, little-endian int64."""
    digest = hashlib.sha256(text.numpy().astype("<i8").tobytes()).hexdigest()
    return TextFile(name, digest, len(text) - 1)
