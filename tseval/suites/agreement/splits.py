"""Training, validation and test parts of a corpus, by document."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shares:
    """How much of the documents is for training and for validation, in percent; the rest is for testing."""

    train: float = 80
    valid: float = 10


def split_of(document: str, shares: Shares) -> str:
    """Return whether a document is for `train`, `valid` or `test`: the same on every machine and for ever.

    A larger share of training text takes in the smaller one.
    """
    digest = hashlib.sha256(document.encode()).digest()
    percent = int.from_bytes(digest[:8], "big") / 2**64 * 100
    if percent < shares.train:
        return "train"
    return "valid" if percent < shares.train + shares.valid else "test"
