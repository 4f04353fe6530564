"""Cross-entropy and its gradients in one pass, tile by tile of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from tseval.models.cells.window import column_sums
from tseval.scoring.devices import widest_float
from tseval.scoring.products import ONEDNN_IS_FASTER, linear

if TYPE_CHECKING:
    from torch import Tensor
    from torch.autograd.function import FunctionCtx


TINY = torch.finfo(torch.float32).tiny
# Logits computed at once: on a CPU, few enough that a tile stays in the cache; on a GPU, many.
LOSS_TILE_LOGITS = {"cpu": 2**20}
LOSS_ON_ACCELERATOR = 2**26
LEAST_TILE_ROWS = 512
# The length of rows of logits is rounded up to a multiple of this: with rows of 10,797 numbers, MKL has two
# thirds of the speed of 10,800.
ROW_MULTIPLE = 16
# Derivatives by logits in memory at once. The matrix's gradient is as large as the matrix, so each product
# that is added to it should cover many rows.
HELD_SLOPES = 2**26


class _TiledCrossEntropy(torch.autograd.Function):
    """Loss and gradients together, one tile of rows at a time, while the tile is in the cache."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, dtype: torch.dtype
    ) -> Tensor:
        low_hidden, low_weight, low_bias = hidden.to(dtype), *_widened(weight.to(dtype), bias.to(dtype))
        width = len(low_weight)
        by_hidden, by_bias = torch.empty_like(hidden), low_bias.new_zeros(width, dtype=bias.dtype)
        by_weight: Tensor | None = None
        loss = hidden.new_zeros((), dtype=widest_float(hidden.device))
        tile = max(LEAST_TILE_ROWS, LOSS_TILE_LOGITS.get(hidden.device.type, LOSS_ON_ACCELERATOR) // width)
        n_held = max(1, HELD_SLOPES // (width * tile)) * tile
        slopes = low_hidden.new_empty((min(n_held, len(hidden)), width))
        for first in range(0, len(hidden), n_held):
            for start in range(first, min(first + n_held, len(hidden)), tile):
                rows = slice(start, min(start + tile, first + n_held, len(hidden)))
                slope = slopes[start - first : rows.stop - first]
                logits = _product(low_hidden[rows], low_weight, low_bias, room=slope)
                torch.softmax(logits, 1, out=slope)
                # Positions of the targets in the flattened tile, because `scatter_` would make a copy.
                where = targets[rows] + torch.arange(len(slope), device=targets.device) * width
                probabilities = slope.take(where)
                loss -= probabilities.float().clamp(min=TINY).log().sum(dtype=loss.dtype)
                # d loss / d logits = softmax - one-hot
                slope.put_(where, probabilities - 1)
                by_hidden[rows] = _product(slope, low_weight.t())
            part = slopes[: min(n_held, len(hidden) - first)]
            product = _product(part.t(), low_hidden[first : first + n_held].t())
            by_weight = product.to(weight.dtype) if by_weight is None else by_weight.add_(product)
            by_bias += column_sums(part)
        assert by_weight is not None, "no rows"
        words = len(weight)
        ctx.save_for_backward(by_hidden, by_weight[:words], by_bias[:words])
        return (loss / len(hidden)).to(hidden.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, upstream: Tensor) -> tuple[Tensor | None, ...]:
        saved: tuple[Tensor, ...] = ctx.saved_tensors  # type: ignore[attr-defined]
        each = upstream / len(saved[0])
        return (*(gradient.mul_(each) for gradient in saved), None, None)


def _widened(weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Add words of probability 0, up to a multiple of `ROW_MULTIPLE`."""
    n_added = -len(weight) % ROW_MULTIPLE
    return F.pad(weight, (0, 0, 0, n_added)), F.pad(bias, (0, n_added), value=-torch.inf)


def _product(
    inputs: Tensor, weight: Tensor, bias: Tensor | None = None, room: Tensor | None = None
) -> Tensor:
    """Return x Wᵀ + b, in `room` if that is faster: for a new tensor, the system must clear its memory."""
    if inputs.device.type != "cpu" or (inputs.dtype == torch.float32 and ONEDNN_IS_FASTER):
        return linear(inputs, weight, bias)
    if bias is None:
        return F.linear(inputs, weight)
    return torch.addmm(bias, inputs, weight.t(), out=room)


def cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Return the mean cross-entropy of `softmax(hidden weightᵀ + bias)` against targets, in nats.

    Args:
        hidden: Outputs of the last layer, (rows, hidden), float32.
        weight: Output matrix, (vocabulary, hidden), float32.
        bias: Output bias, (vocabulary,), float32.
        targets: Word ids, (rows,).
        dtype: Type of the matrix products; everything else is float32.
    """
    return _TiledCrossEntropy.apply(hidden, weight, bias, targets, dtype)  # type: ignore[no-any-return, no-untyped-call]
