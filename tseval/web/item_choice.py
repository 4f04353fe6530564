"""Choose the items of a row on a page: random ones, small margins, and the worst errors."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.design import split_by_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tseval.web.answers import Verdicts


N_DRAWN, N_CLOSEST, N_WORST = 4, 2, 3


def draw_items(suite_digest: str, verdicts: Verdicts, rows: NDArray[np.int64]) -> list[list[int]]:
    """Draw a few items of each row by a hash. They are the same for every model, and nobody chooses them."""
    named = zip(verdicts.case.to_pylist(), verdicts.item.tolist(), verdicts.contrast.to_pylist(), strict=True)
    drawn = [sha256(f"{suite_digest} {case} {item} {contrast}".encode()).digest()[:8]
             for case, item, contrast in named]  # fmt: skip
    keys = np.frombuffer(b"".join(drawn), ">u8")
    return [row[np.argsort(keys[row], kind="stable")[:N_DRAWN]].tolist() for row in split_by_row(rows)]


def choose_items(
    drawn: Sequence[Sequence[int]], verdicts: Verdicts, rows: NDArray[np.int64]
) -> list[dict[int, tuple[str, ...]]]:
    """Choose the items of each row for one model: random ones, small margins, and the worst errors.

    Returns the indices of verdicts for each row, with the reason of each.
    """
    chosen = []
    for by_hash, row in zip(drawn, split_by_row(rows), strict=True):
        margin = np.where(verdicts.undecidable[row], np.nan, verdicts.margins(row))
        wrong = ~verdicts.correct[row] & ~verdicts.undecidable[row]
        closest = _smallest(np.abs(margin), N_CLOSEST)
        worst = _smallest(np.where(wrong, margin, np.nan), N_WORST)
        labels: dict[int, tuple[str, ...]] = {}
        reasons = (
            ("drawn", by_hash),
            ("close call", row[closest].tolist()),
            ("far off", row[worst].tolist()),
        )
        for word, indices in reasons:
            for index in indices:
                labels[index] = (*labels.get(index, ()), word)
        chosen.append(labels)
    return chosen


def _smallest(values: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """Return the indices of the smallest values, without NaN."""
    places = np.flatnonzero(~np.isnan(values))
    return places[np.argsort(values[places], kind="stable")[:n]]
