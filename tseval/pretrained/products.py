"""Choice of matrix products for transformers models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from tseval.scoring.bfloat16 import NarrowMatrix
from tseval.scoring.products import Rerouted, fast_products, linear

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from transformers import PreTrainedModel


class ModelProducts:
    """The products of a model: by the faster library, in the model's type, but with float32 logits.

    A bfloat16 model would round its logits to eight binary digits, and probable words would tie. On a CPU, a
    second copy of the output matrix is stored in the order that the processor needs.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self._device = model.device
        output = model.get_output_embeddings()
        narrow = {"cpu": (torch.bfloat16,), "cuda": (torch.bfloat16, torch.float16)}
        is_plain = type(output) is nn.Linear and output.weight.dtype in narrow.get(
            output.weight.device.type, ()
        )
        self._output = output.weight if is_plain else None
        self._matrix: NarrowMatrix | None = None

    @property
    def output(self) -> NarrowMatrix | None:
        """The output matrix, if it has a narrow type and its product has float32 results on this device."""
        if self._matrix is None and self._output is not None:
            self._matrix = NarrowMatrix(self._output)
        return self._matrix

    def rerouted(self, whole: bool) -> AbstractContextManager[object]:
        """Compute all products in a with block in this way, for all kinds of modules.

        `whole` means that the model runs with its output layer. A GPU computes other products as usual.
        """
        if self._output is None or (self._device.type == "cuda" and not whole):
            return fast_products(self._device)
        return Rerouted(self._linear)

    def _linear(self, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        if self._output is None or weight.data_ptr() != self._output.data_ptr() or self.output is None:
            return linear(inputs, weight, bias)
        logits = self.output.product(inputs.flatten(0, -2), None if bias is None else bias.float())
        return logits.view(*inputs.shape[:-1], len(self.output))
