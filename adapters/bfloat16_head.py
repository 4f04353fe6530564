"""Transformers models in bfloat16 on a CPU: their products, and logits that are not rounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from tseval.errors import ModelError
from tseval.scoring.numerics import (
    NOTHING_GAINED,
    Bfloat16Matrix,
    Rerouted,
    fast_products,
    has_fast_products,
    linear,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from transformers import PreTrainedModel


class ModelProducts:
    """How the products of a model are made: by the quicker library, and in its own type but for the logits.

    A model in bfloat16 would round its logits to eight binary digits, and probable words would tie. Its
    output matrix is kept once more, in the order in which the processor multiplies.

    Args:
        model: On its device.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self._device = model.device
        output = model.get_output_embeddings()
        is_plain = type(output) is nn.Linear and output.weight.device.type == "cpu"
        self._output = output.weight if is_plain and output.weight.dtype == torch.bfloat16 else None
        self._matrix: Bfloat16Matrix | None = None

    @property
    def output(self) -> Bfloat16Matrix | None:
        """The output matrix, if its numbers are bfloat16 and lie on the CPU."""
        if self._matrix is None and self._output is not None:
            self._matrix = Bfloat16Matrix(self._output)
        return self._matrix

    def rerouted(self) -> AbstractContextManager[object]:
        """Let all products inside be made so, whatever modules the model consists of."""
        return fast_products(self._device) if self._output is None else Rerouted(self._linear)

    def _linear(self, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        if self._output is None or weight.data_ptr() != self._output.data_ptr() or self.output is None:
            return linear(inputs, weight, bias)
        logits = self.output.product(inputs.flatten(0, -2), None if bias is None else bias.float())
        return logits.view(*inputs.shape[:-1], len(self.output))


def refuse_precision(scheme: str, arguments: Mapping[str, str]) -> None:
    """Say how a model of transformers is asked for another precision.

    Raises:
        ModelError: It is asked for as for a checkpoint of tseval's own.
    """
    if "precision" in arguments:
        raise ModelError(
            f"{scheme}: a model of transformers computes in the type of its weights: leave --precision out, "
            f"and give --model-args dtype={arguments['precision']}"
        )


def no_gain(arguments: Mapping[str, str], device: torch.device) -> list[str]:
    """Warn where bfloat16 was asked for, on a processor that multiplies it no faster."""
    asked = arguments.get("dtype", "").removeprefix("torch.") == "bfloat16"
    return [NOTHING_GAINED] if asked and device.type == "cpu" and not has_fast_products(device) else []
