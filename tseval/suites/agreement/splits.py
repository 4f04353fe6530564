"""Divide a corpus into training, validation and test parts by document."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shares:
    """Percentages of documents for training and validation; the rest is for testing."""

    train: float = 80
    valid: float = 10


def split_of(document: str, shares: Shares) -> str:
    """Return the split of a document: `train`, `valid` or `test`. It is the same on every machine.

    If the training share grows, every training document stays a training document.
    """
    digest = hashlib.sha256(document.encode()).digest()
    percent = int.from_bytes(digest[:8], "big") / 2**64 * 100
    if percent < shares.train:
        return "train"
    return "valid" if percent < shares.train + shares.valid else "test"
