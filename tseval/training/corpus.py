"""Training text: tokenised sentences, one a line, as one stream of word ids, in memory or on disk."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np
import torch
from torch import Tensor

from tseval.errors import TrainingError
from tseval.models.vocabulary import EOS, UNK, Vocabulary
from tseval.training.numbered import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

BLOCK = 1 << 19  # tokens of a stream in memory at once


@dataclass(frozen=True, slots=True)
class TextFile:
    """What is recorded about a file that a model was trained on.

    Attributes:
        name: File name without its folder.
        sha256: Of the bytes on disk.
        tokens: Words, with one `<eos>` a line.
    """

    name: str
    sha256: str
    tokens: int


def count_words(paths: Sequence[Path], *, lowercase: bool) -> Counter[str]:
    """Count the words of all files together.

    Raises:
        TrainingError: If a file cannot be read.
    """
    counts: Counter[str] = Counter()
    for text in map(number_text, paths):
        often = np.zeros(len(text.words), dtype=np.int64)
        for start in range(0, len(text.numbers), BLOCK):
            often += np.bincount(text.numbers[start : start + BLOCK], minlength=len(often))
        for word, times in zip(text.words[1:], often[1:].tolist(), strict=True):
            counts[word.lower() if lowercase else word] += times
    return counts


@dataclass(frozen=True, slots=True)
class EncodedText:
    """Files as one stream of word ids: `<eos>`, then every sentence closed by `<eos>`. Most of it is on disk.

    Stands in for a tensor of (tokens,) int64 where it is read in parts.

    Attributes:
        eos: The id of `<eos>`.
        parts: Of each file, the numbers of its words, and the id of each number.
    """

    eos: int
    parts: tuple[tuple[NDArray[np.uint32], NDArray[np.int64]], ...]

    def __len__(self) -> int:
        return 1 + sum(len(numbers) for numbers, _ in self.parts)

    def __getitem__(self, places: Tensor) -> Tensor:
        """Gather the ids at some places of the stream, of any shape."""
        wanted = places.numpy() - 1
        found = np.full(wanted.shape, self.eos)
        for numbers, ids in self.parts:
            here = (wanted >= 0) & (wanted < len(numbers))
            found[here] = ids[numbers[wanted[here]]]
            wanted = wanted - len(numbers)
        return torch.from_numpy(found)

    def split(self, size: int) -> Iterator[Tensor]:
        """Give all ids in order, in blocks of at most `size`."""
        yield torch.tensor([self.eos])
        for numbers, ids in self.parts:
            for start in range(0, len(numbers), size):
                yield torch.from_numpy(ids[numbers[start : start + size]])


Stream = Tensor | EncodedText


def open_text(paths: Sequence[Path], vocabulary: Vocabulary) -> EncodedText:
    """Bring text files to a vocabulary, as one stream. Blank lines are left out.

    Raises:
        TrainingError: If a file cannot be read, or has no words.
    """
    known = vocabulary.ids()
    eos, unk = known[EOS], known[UNK]
    parts = []
    for path, text in zip(paths, map(number_text, paths), strict=True):
        if not len(text.numbers):
            raise TrainingError(f"{path}: no words in the text")
        words = (word.lower() if vocabulary.lowercase else word for word in text.words)
        ids = np.fromiter((known.get(word, unk) for word in words), np.int64, len(text.words))
        ids[0] = eos
        parts.append((text.numbers, ids))
    return EncodedText(eos, tuple(parts))


def encode_text(paths: Sequence[Path], vocabulary: Vocabulary) -> Tensor:
    """Do the same in memory: word ids, (tokens,) int64."""
    return torch.cat(list(open_text(paths, vocabulary).split(BLOCK)))


def file_facts(path: Path) -> TextFile:
    """Hash a file and count its tokens, for the record."""
    text = number_text(path)
    return TextFile(path.name, text.sha256, len(text.numbers))


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A stream on disk as parallel columns; stands in for a tensor of (time, batch).

    Attributes:
        stream: What is folded.
        shape: Time and batch.
    """

    stream: EncodedText
    shape: tuple[int, int]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Tensor:
        """Read some rows."""
        time, batch = self.shape
        return self.stream[torch.arange(*rows.indices(time))[:, None] + torch.arange(batch) * time]


@overload
def columns(stream: Tensor, batch: int) -> Tensor: ...
@overload
def columns(stream: Stream, batch: int) -> Tensor | FoldedText: ...
def columns(stream: Stream, batch: int) -> Tensor | FoldedText:
    """Fold a stream into `batch` parallel columns, (time, batch); a remainder at the end is dropped.

    Raises:
        TrainingError: If the stream is too short for one step of every column.
    """
    time = len(stream) // batch
    if time < 2:
        raise TrainingError(
            f"the text has {len(stream)} tokens: too few for a batch of {batch}. Lower --batch."
        )
    if isinstance(stream, EncodedText):
        return FoldedText(stream, (time, batch))
    return stream[: time * batch].view(batch, time).t().contiguous()
