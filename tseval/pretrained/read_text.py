"""A context text that is read once; its keys and values serve all sentences that continue it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor
    from transformers import DynamicCache

    from tseval.pretrained.opened import Pretrained


# Memory for the text's keys and values in all rows of a batch.
TEXT_BYTES = 384 * 2**20


class ReadText:
    """The tokens of a text, which a model reads at their first use."""

    def __init__(self, opened: Pretrained, tokens: Sequence[int]) -> None:
        self._opened, self._tokens = opened, list(tokens)
        self._counted = False

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self._tokens)

    @property
    def n_new(self) -> int:
        """Number of tokens read since the last call: all of them at the first call, then 0."""
        n_new, self._counted = 0 if self._counted else self.n_tokens, True
        return n_new

    @cached_property
    @torch.inference_mode()
    def _layers(self) -> list[tuple[Tensor, Tensor]]:
        """Keys and values of each layer, one row."""
        from transformers import DynamicCache  # noqa: PLC0415  optional, and heavy

        model = self._opened.model
        ids = torch.tensor([self._tokens], device=model.device)
        cache = DynamicCache()
        model.base_model(**self._opened.inputs(ids), past_key_values=cache, use_cache=True)
        layers = [(layer.keys, layer.values) for layer in cache.layers]
        if not layers or any(keys is None or keys.shape[-2] != self.n_tokens for keys, _ in layers):
            raise ValueError(
                "the model's cache (past_key_values) does not have one key for each token of a text"
            )
        return layers

    def cache_for(self, n_rows: int) -> DynamicCache:
        """Return the text's keys and values for `n_rows` rows that continue it."""
        from transformers import DynamicCache  # noqa: PLC0415  optional, and heavy

        cache = DynamicCache()
        for number, (keys, values) in enumerate(self._layers):
            cache.update(keys.expand(n_rows, -1, -1, -1), values.expand(n_rows, -1, -1, -1), number)
        return cache

    def before(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs of rows that continue the text: all positions of a row attend to all of it."""
        ids = inputs["input_ids"]
        arguments = {**inputs, "past_key_values": self.cache_for(len(ids)), "use_cache": True}
        if "position_ids" in inputs:
            arguments["position_ids"] = inputs["position_ids"] + self.n_tokens
        if (mask := inputs.get("attention_mask")) is not None:
            # A mask of four dimensions is added to attention scores; other masks are 1 where attention is
            # allowed.
            arguments["attention_mask"] = nn.functional.pad(
                mask, (self.n_tokens, 0), value=int(mask.dim() == 2)
            )
        return arguments

    def batch_tokens(self, wanted: int, width: int) -> int:
        """Return how many tokens to read at once in rows of `width`, within `TEXT_BYTES`."""
        row_bytes = sum(keys.nbytes + values.nbytes for keys, values in self._layers)
        return max(width, min(wanted, width * (TEXT_BYTES // max(1, row_bytes))))
