"""Asks: what a model is asked at places inside sentences, and what is made of its answer."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Asks:
    """What can be asked after a prefix: are the right symbols more probable than the wrong ones?

    Attributes:
        symbols: What is compared, single words; the stop symbol of the text may be one.
        signs: For each ask, which symbols are right (1), which wrong (-1), and which are not compared (0),
            (asks, symbols) int8.
        share: The right symbols must have more than this share of the probability of all that are compared;
            None: the best right symbol must beat the best wrong one.
    """

    symbols: tuple[str, ...]
    signs: NDArray[np.int8]
    share: float | None = None

    def compare(
        self, which: NDArray[np.int64], logprobs: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Reduce the log-probabilities of all symbols to what the right ones have, and what they must exceed.

        Args:
            which: What is asked, (prefixes,).
            logprobs: After each prefix, in nats, (prefixes, symbols).

        Returns:
            Two numbers for each prefix, in nats, (prefixes,) float64 each. With `share` the first is the
            logarithm of the right symbols' share, the second that of the least share.
        """
        signs = self.signs[which]
        values = logprobs.astype(np.float64)
        right = np.where(signs > 0, values, -np.inf)
        if self.share is None:
            return right.max(1), np.where(signs < 0, values, -np.inf).max(1)
        total = np.logaddexp.reduce(np.where(signs != 0, values, -np.inf), axis=1)
        return np.logaddexp.reduce(right, axis=1) - total, np.full(len(which), log(self.share))


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked in the sentences of a suite.

    Attributes:
        asks: What can be asked.
        before: For every sentence which ask stands before each word, -1 for none, (words,) each.
    """

    asks: Asks
    before: Sequence[NDArray[np.int32]]
