"""Float32 logits from output layers with narrower weights."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PreTrainedModel


# Logits of the whole vocabulary in memory at once, if the model's output layer computes them.
OWN_LOGITS = 2**26
# Rows of an output matrix that are converted to float32 at once.
ROWS_AT_ONCE = 8_192


@contextmanager
def wide_logits(model: PreTrainedModel) -> Iterator[list[Tensor]]:
    """Make the output layer, if it is linear, return float32 logits; yield a list with its last input."""
    output = model.get_output_embeddings()
    last_inputs: list[Tensor] = []

    def widen(layer: nn.Linear, inputs: tuple[Tensor], logits: Tensor) -> Tensor | None:
        last_inputs[:] = inputs
        if logits.dtype not in {torch.float16, torch.bfloat16}:
            return None
        rows = torch.split(layer.weight, ROWS_AT_ONCE)
        biases = [None] * len(rows) if layer.bias is None else torch.split(layer.bias.float(), ROWS_AT_ONCE)
        parts = zip(rows, biases, strict=True)
        return torch.cat(
            [nn.functional.linear(inputs[0].float(), weight.float(), b) for weight, b in parts], -1
        )

    if type(output) is not nn.Linear or output.weight.is_meta:
        yield last_inputs
        return
    hook = output.register_forward_hook(widen)
    try:
        yield last_inputs
    finally:
        hook.remove()
