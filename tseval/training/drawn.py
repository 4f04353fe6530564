"""Training text drawn from a formal language, one string a line."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import torch

from tseval.models.vocabulary import EOS, SPECIAL_WORDS, UNK, Vocabulary
from tseval.training.corpus import TextFile

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from tseval.suites.formal.languages import Language, Split, Strings


def vocabulary_of(language: Language) -> Vocabulary:
    """Make the vocabulary of a language: `<eos>`, `<unk>`, then its alphabet in order."""
    return Vocabulary((EOS, UNK, *language.alphabet), lowercase=False)


def draw_text(language: Language, split: Split) -> Tensor:
    """Draw the strings of a language as one stream of word ids: `<eos>`, then every string and an `<eos>`.

    Returns:
        Ids in `vocabulary_of(language)`, (tokens,) int64.
    """
    start = np.zeros(1, dtype=np.int32)  # <eos> has id 0
    return torch.from_numpy(np.concatenate([start, *map(_ids, language.draw(split))]).astype(np.int64))


def _ids(strings: Strings) -> NDArray[np.int32]:
    ids = np.pad(strings.symbols + SPECIAL_WORDS, ((0, 0), (0, 1)))
    places, ends = np.arange(ids.shape[1]), strings.lengths[:, None]
    kept: NDArray[np.int32] = np.where(places < ends, ids, 0)[places <= ends].astype(np.int32)
    return kept


def describe_drawn(name: str, text: Tensor) -> TextFile:
    """Describe drawn text, for the record; the hash is that of its ids, little-endian int64."""
    digest = hashlib.sha256(text.numpy().astype("<i8").tobytes()).hexdigest()
    return TextFile(name, digest, len(text) - 1)
