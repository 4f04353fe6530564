"""Logits in float32 from output layers of narrower weights."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PreTrainedModel


# Logits of the whole vocabulary held at once where a model's own head must give them.
OWN_LOGITS = 2**26
# Of an output matrix that are widened to float32 at once.
ROWS_AT_ONCE = 8_192


@contextmanager
def wide_logits(model: PreTrainedModel) -> Iterator[list[Tensor]]:
    """Let the output layer, if it is a matrix, give float32 logits; what it was given last is listed."""
    output = model.get_output_embeddings()
    given: list[Tensor] = []

    def widen(layer: nn.Linear, inputs: tuple[Tensor], logits: Tensor) -> Tensor | None:
        given[:] = inputs
        if logits.dtype not in {torch.float16, torch.bfloat16}:
            return None
        rows = torch.split(layer.weight, ROWS_AT_ONCE)
        biases = [None] * len(rows) if layer.bias is None else torch.split(layer.bias.float(), ROWS_AT_ONCE)
        parts = zip(rows, biases, strict=True)
        return torch.cat([nn.functional.linear(inputs[0].float(), one.float(), b) for one, b in parts], -1)

    if type(output) is not nn.Linear or output.weight.is_meta:
        yield given
        return
    hook = output.register_forward_hook(widen)
    try:
        yield given
    finally:
        hook.remove()
