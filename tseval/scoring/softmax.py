"""Softmax over large vocabularies, computed in tiles of the output layer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from tseval.scoring.bfloat16 import BLOCK, NarrowMatrix, rounded
from tseval.scoring.products import linear

if TYPE_CHECKING:
    from collections.abc import Iterator


# Logits in memory at once. On a CPU, a tile stays in the cache between product and exponentials (2**20 was
# the fastest of 2**17 to 2**23, with 95% of the speed of the product alone). A GPU needs large tiles.
TILE_LOGITS = {"cpu": 2**20}
LOGITS_ON_ACCELERATOR = 2**26
# With faster products, exponentials take a larger share of the time; this tile fits into the level-2 cache.
BFLOAT16_TILE = 2**18
LOG2_E = math.log2(math.e)
# Factor between all logits and the needed ones from which single dot products are faster.
DENSE = 4


def _tiles(
    hidden: Tensor, weight: Tensor | NarrowMatrix, bias: Tensor | None, width: int | None = None
) -> Iterator[tuple[int, Tensor]]:
    """Yield the logits of the vocabulary tile by tile, (rows, words), with the id of the first word.

    Tiles have `width` words, or a number that suits the device.
    """
    at_once = TILE_LOGITS.get(hidden.device.type, LOGITS_ON_ACCELERATOR)
    inputs, least = hidden, 1
    if isinstance(weight, NarrowMatrix):
        at_once = BFLOAT16_TILE if weight.is_blocked else at_once
        inputs, least = hidden.to(weight.dtype), BLOCK
    width = width or max(least, at_once // max(1, len(hidden)) // least * least)
    for first in range(0, len(weight), width):
        words = slice(first, first + width)
        part = None if bias is None else bias[words].to(hidden.dtype)
        if isinstance(weight, NarrowMatrix):
            yield first, weight.product(inputs, part, first, first + width)
        else:
            yield first, linear(hidden, weight[words].to(hidden.dtype), part)


def log_normaliser(hidden: Tensor, weight: Tensor | NarrowMatrix, bias: Tensor | None) -> Tensor:
    """Return the logarithm of the softmax's denominator, log Σ_v exp(w_v · h + b_v), for every row.

    The sum is computed in tiles of the vocabulary, each scaled by its maximum, so that nothing overflows.

    Args:
        hidden: Outputs of the last layer, (rows, hidden).
        weight: Output matrix, (vocabulary, hidden); each tile is converted to the type of `hidden`. With a
            `NarrowMatrix`, only the operands are rounded.
        bias: (vocabulary,), or None.

    Returns:
        (rows,), in the type of `hidden`.
    """
    return log_sums(hidden, weight, bias, hidden.new_empty(0, len(weight)))[0]


def log_sums(
    hidden: Tensor, weight: Tensor | NarrowMatrix, bias: Tensor | None, parts: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the same logarithm, and that of the sums over parts of the vocabulary.

    A part costs one more product with exponentials that are known already. `parts` is 1 if a word belongs to
    the part, otherwise 0, (parts, vocabulary), in the type of `hidden`.

    Returns:
        (rows,), bit-identical for all `parts`, and (rows, parts); in the type of `hidden`.
    """
    if hidden.device.type == "cuda" and not len(parts):
        return _log_sums_by_rows(hidden, weight, bias), hidden.new_empty(len(hidden), 0)
    total = hidden.new_full((len(hidden),), float("-inf"))
    shares = hidden.new_full((len(hidden), len(parts)), float("-inf"))
    scale = _quick_scale_ if isinstance(weight, NarrowMatrix) else _scale_
    for first, logits in _tiles(hidden, weight, bias):
        tile_total, tile_shares = _log_sums_of(*scale(logits), parts[:, first : first + logits.shape[1]])
        total, shares = torch.logaddexp(total, tile_total), torch.logaddexp(shares, tile_shares)
    return total, shares


# Up to this many words, CUDA computes the log-softmax of a tile in one pass, for more in three. With few
# rows, a tile has more words, up to this many logits, because otherwise launching kernels takes most of the
# time.
ONE_PASS, ONE_TILE = 1_024, 2**23


def _log_sums_by_rows(hidden: Tensor, weight: Tensor | NarrowMatrix, bias: Tensor | None) -> Tensor:
    """Return the logarithm of sums of exponentials on CUDA, (rows,).

    For a tile, it is the difference between any logit and its log-probability within the tile. So one pass
    over the logits replaces four: on an H200, 2.4 ms instead of 5.1 for 8,192 rows of 50,257 words.
    """
    width = max(ONE_PASS, ONE_TILE // max(1, len(hidden)) // BLOCK * BLOCK)
    tiles = (logits for _, logits in _tiles(hidden, weight, bias, width))
    sums = [logits[:, 0] - torch.log_softmax(logits, 1)[:, 0] for logits in tiles]
    return torch.logsumexp(torch.stack(sums, 1), 1)


def log_sum_exp_(logits: Tensor) -> Tensor:
    """Return log Σ_v exp(logit_v), (rows, words) to (rows,), without overflow; the logits are overwritten.

    Allocating more memory of this size takes longer than filling it.
    """
    return log_sums_exp_(logits, logits.new_empty(0, logits.shape[1]))[0]


def log_sums_exp_(logits: Tensor, parts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the same for all words, (rows,), and for `parts`, (parts, words), as (rows, parts)."""
    return _log_sums_of(*_scale_(logits), parts)


def _log_sums_of(scaled: Tensor, top: Tensor, parts: Tensor) -> tuple[Tensor, Tensor]:
    """Sum exponentials that were scaled by the maximum of their row, in total and by parts."""
    return scaled.sum(1).log_().add_(top), (scaled @ parts.t()).log_().add_(top[:, None])


def _scale_(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Overwrite the logits with exp(logit - maximum), and return these and the maximum of each row."""
    top = logits.amax(1)
    return logits.sub_(top[:, None]).exp_(), top


def _quick_scale_(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Compute `_scale_` with powers of 2, which takes PyTorch a quarter of the time.

    The last digits differ.
    """
    top = logits.amax(1)
    return logits.sub_(top[:, None]).mul_(LOG2_E).exp2_(), top


def of_length(parts: Tensor, n_words: int) -> Tensor:
    """Cut or extend parts of a vocabulary, (parts, words), to `n_words`; new words belong to no part."""
    return nn.functional.pad(parts, (0, n_words - parts.shape[1]))


def log_shares(chosen: Tensor, rows: Tensor, total: Tensor, sums: Tensor) -> Tensor:
    """Return log-probabilities of words, followed by those of parts of the vocabulary at their positions.

    Args:
        chosen: Logits of the words, (words,).
        rows: Row before each word, (words,).
        total: Logarithm of the softmax's denominator, (rows,).
        sums: The same over each part, (rows, parts).

    Returns:
        (words, 1 + parts).
    """
    return torch.cat(((chosen - total[rows])[:, None], (sums - total[:, None])[rows]), dim=1)


def best_words(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return the most probable word for every row, the first of equals: (rows, hidden) to ids (rows,)."""
    top = hidden.new_full((len(hidden),), float("-inf"))
    best = torch.zeros(len(hidden), dtype=torch.int64, device=hidden.device)
    for first, logits in _tiles(hidden, weight, bias):
        value, word = logits.max(1)
        best = torch.where(value > top, first + word, best)
        top = torch.maximum(top, value)
    return best


def pair_logits(hidden: Tensor, weight: Tensor, bias: Tensor | None, rows: Tensor, words: Tensor) -> Tensor:
    """Return logits of words after rows: (rows, hidden), row numbers and word ids (pairs,) to (pairs,).

    If many of all logits are needed, one matrix product is faster than a dot product for each pair.
    """
    if len(hidden) * len(weight) > DENSE * len(rows):
        return chosen_logits(hidden[rows], weight, bias, words)
    logits = hidden @ weight.to(hidden.dtype).t()
    pairs = logits[rows, words]
    return pairs if bias is None else pairs + bias[words]


def chosen_logits(hidden: Tensor, weight: Tensor, bias: Tensor | None, words: Tensor) -> Tensor:
    """Return the logit of one word for every row: (rows, hidden), word ids (rows,) to (rows,)."""
    logits = (hidden * weight[words]).sum(1)
    return logits if bias is None else logits + bias[words]


def bfloat16_logprobs(
    hidden: Tensor, layer: nn.Linear, low: NarrowMatrix, rows: Tensor, words: Tensor
) -> Tensor:
    """Return log-probabilities of words after rows, with the normaliser's products in bfloat16.

    The logit of the word itself is exact. In the normaliser, its rounded logit is replaced by the exact one.
    So no words tie by rounding, the rounding of a probable word cancels, and no probability exceeds 1.

    Args:
        hidden: Outputs of the last layer, (rows, hidden), float32.
        layer: The output layer, (vocabulary, hidden), float32.
        low: Its matrix in bfloat16.
        rows: Row numbers, (pairs,).
        words: Word ids, (pairs,).

    Returns:
        (pairs,), float32, in nats.
    """
    shift = layer.bias[words] - log_normaliser(hidden, low, layer.bias)[rows]
    before, after = hidden[rows], layer.weight[words]
    exact = (before * after).sum(1) + shift
    nearby = (rounded(before) * rounded(after)).sum(1) + shift
    others = torch.expm1(nearby).neg_().clamp_min_(0).log_()
    return exact - torch.logaddexp(others, exact)
