"""Training text: tokenised sentences, one a line, as one stream of word ids."""

from __future__ import annotations

import hashlib
import io
import zlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from tseval.errors import TrainingError, reason
from tseval.files import bounded_lines, open_limited, open_regular
from tseval.models.vocabulary import EOS, UNK, Vocabulary, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torch import Tensor


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


def count_words(paths: Sequence[Path], *, lowercase: bool) -> Counter[str]:
    """Count the words of all files together."""
    counts: Counter[str] = Counter()
    for path in paths:
        for line in text_lines(path):
            counts.update(words_of(line, lowercase=lowercase))
    return counts


def encode_text(paths: Sequence[Path], vocabulary: Vocabulary) -> Tensor:
    """Turn text into one stream of word ids: `<eos>`, then every sentence closed by `<eos>`.

    Blank lines are left out.

    Returns:
        Word ids, (tokens,) int64.

    Raises:
        TrainingError: If the files hold no words.
    """
    ids = vocabulary.ids()
    eos, unk = ids[EOS], ids[UNK]
    stream = [np.array([eos], dtype=np.int32)]
    for path in paths:
        block: list[int] = []
        for line in text_lines(path):
            if words := list(words_of(line, lowercase=vocabulary.lowercase)):
                block.extend(ids.get(word, unk) for word in words)
                block.append(eos)
        stream.append(np.array(block, dtype=np.int32))
    joined = np.concatenate(stream)
    if len(joined) == 1:
        raise TrainingError(f"{', '.join(map(str, paths))}: no words in the text")
    return torch.from_numpy(joined.astype(np.int64))


def file_facts(path: Path) -> TextFile:
    """Hash a file and count its tokens, for the record."""
    with open_regular(path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    tokens = sum(len(line.split()) + 1 for line in text_lines(path) if line.strip())
    return TextFile(path.name, digest, tokens)


def columns(stream: Tensor, batch: int) -> Tensor:
    """Fold a stream into `batch` parallel columns, (time, batch); a remainder at the end is dropped.

    Raises:
        TrainingError: If the stream is too short for one step of every column.
    """
    time = len(stream) // batch
    if time < 2:
        raise TrainingError(
            f"the text has {len(stream)} tokens: too few for a batch of {batch}. Lower --batch."
        )
    return stream[: time * batch].view(batch, time).t().contiguous()
