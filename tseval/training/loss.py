"""Cross-entropy of an output layer, without ever holding (words x vocabulary) logits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tseval.scoring.numerics.device import widest_float

if TYPE_CHECKING:
    from torch.autograd.function import FunctionCtx

# Logits held at once: few enough on a CPU that a tile stays in the cache; a GPU wants many.
LOSS_TILE_LOGITS = {"cpu": 2**20}
LOSS_ON_ACCELERATOR = 2**26
LEAST_TILE_ROWS = 128


class _TiledCrossEntropy(torch.autograd.Function):
    """Forward and gradients together, one tile of rows at a time, while the tile is in the cache."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, dtype: torch.dtype
    ) -> Tensor:
        low_hidden, low_weight, low_bias = hidden.to(dtype), weight.to(dtype), bias.to(dtype)
        gradients = torch.empty_like(hidden), torch.zeros_like(weight), torch.zeros_like(bias)
        loss = hidden.new_zeros((), dtype=widest_float(hidden.device))
        tile = max(
            LEAST_TILE_ROWS, LOSS_TILE_LOGITS.get(hidden.device.type, LOSS_ON_ACCELERATOR) // len(weight)
        )
        for start in range(0, len(hidden), tile):
            rows = slice(start, start + tile)
            target = targets[rows, None]
            logits = torch.addmm(low_bias, low_hidden[rows], low_weight.t())
            logprobs = logits.log_softmax(1, dtype=weight.dtype)
            loss -= logprobs.gather(1, target).sum()
            # d loss / d logits = softmax - one-hot
            slope = logprobs.exp_()
            slope.scatter_add_(1, target, slope.new_full(target.shape, -1.0))
            low_slope = slope.to(dtype)
            gradients[0][rows] = low_slope @ low_weight
            gradients[1].add_(low_slope.t() @ low_hidden[rows])
            gradients[2].add_(low_slope.sum(0))
        ctx.save_for_backward(*(gradient / len(hidden) for gradient in gradients))
        return (loss / len(hidden)).to(hidden.dtype)

    @staticmethod
    def backward(ctx: FunctionCtx, upstream: Tensor) -> tuple[Tensor | None, ...]:
        saved: tuple[Tensor, ...] = ctx.saved_tensors  # type: ignore[attr-defined]
        return (*(gradient * upstream for gradient in saved), None, None)


def cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Mean cross-entropy of `softmax(hidden weightᵀ + bias)` against targets, in nats.

    Args:
        hidden: Outputs of the last layer, (rows, hidden), float32.
        weight: Output matrix, (vocabulary, hidden), float32.
        bias: Output bias, (vocabulary,), float32.
        targets: Word ids, (rows,).
        dtype: Type of the matrix products; all else stays in float32.
    """
    return _TiledCrossEntropy.apply(hidden, weight, bias, targets, dtype)  # type: ignore[no-any-return, no-untyped-call]
