"""How the products of a model of transformers are made."""

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
    """How the products of a model are made: by the quicker library, and in its own type but for the logits.

    A model in bfloat16 would round its logits to eight binary digits, and probable words would tie. On a CPU
    its output matrix is kept once more, in the order in which the processor multiplies.
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
        """The output matrix, if its numbers are narrow and a product of them gives float32 here."""
        if self._matrix is None and self._output is not None:
            self._matrix = NarrowMatrix(self._output)
        return self._matrix

    def rerouted(self, whole: bool) -> AbstractContextManager[object]:
        """Let all products inside be made so, whatever modules the model consists of.

        The `whole` model is meant with its output layer; of all other products a GPU makes what it would
        anyway.
        """
        if self._output is None or (self._device.type == "cuda" and not whole):
            return fast_products(self._device)
        return Rerouted(self._linear)

    def _linear(self, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        if self._output is None or weight.data_ptr() != self._output.data_ptr() or self.output is None:
            return linear(inputs, weight, bias)
        logits = self.output.product(inputs.flatten(0, -2), None if bias is None else bias.float())
        return logits.view(*inputs.shape[:-1], len(self.output))
