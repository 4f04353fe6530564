"""Merging of peft adapters into the weights of their base models, with a check of the result.

A merged model is an ordinary model. If a base ties its input and output matrix, a change of one would affect
both, so the matrices are separated first. For every type of adapter, the merged model must make the same
predictions as peft's forward pass.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from tseval.errors import ModelError
from tseval.pretrained.lora_options import MERGE_FIX, cannot_be_merged
from tseval.scoring.noise import within_noise

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import PreTrainedModel

ROWS, LENGTH = 3, 8  # of the made-up sentences for the comparison of the two models


def merge(where: str, folder: Path, model: PreTrainedModel) -> PreTrainedModel:
    """Merge a saved adapter into the weights of its base.

    Raises:
        ModelError: The adapter does not change weights, or the merged model predicts differently.
    """
    import peft  # noqa: PLC0415  optional, and heavy

    config = peft.PeftConfig.from_pretrained(str(folder))
    kind = str(getattr(config.peft_type, "value", config.peft_type)).replace("_", " ").lower()
    if config.is_prompt_learning:
        raise cannot_be_merged(where, kind, ", because it adds trained tokens before every text")
    _make_room(model, peft.load_peft_weights(str(folder), device="cpu"), config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "Found missing adapter keys")
        changed = peft.PeftModel.from_pretrained(model, str(folder)).eval()
        expected = _predictions(changed, model)
        _untie(changed)
        try:
            merged = cast("PreTrainedModel", changed.merge_and_unload()).eval()
        except (AttributeError, NotImplementedError, ValueError) as error:
            raise cannot_be_merged(where, kind, f" (peft: {str(error).rstrip('.')})") from error
    difference = (_predictions(merged, merged) - expected).abs().cpu().numpy()
    precision = torch.bfloat16 if getattr(merged, "is_quantized", False) else merged.dtype
    if not within_noise(difference, np.zeros(1), precision):
        raise ModelError(
            f"{where}: after the merge, predictions differ from those of peft by up to "
            f"{difference.max():.2g} nats (adapter type: {kind}).\n{MERGE_FIX}"
        )
    return merged


@torch.inference_mode()
def _predictions(model: nn.Module, base: PreTrainedModel) -> Tensor:
    """Return log-probabilities of a forward pass over made-up sentences, (rows, length, words)."""
    rows = int(base.get_input_embeddings().weight.shape[0])
    ids = torch.from_numpy(np.random.default_rng(0).integers(rows, size=(ROWS, LENGTH)))
    ids = ids.to(base.device)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if getattr(base.config, "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = ids
    logits: Tensor = model(**inputs).logits
    return logits.float().log_softmax(-1)


def _make_room(model: PreTrainedModel, saved: dict[str, Tensor], config: Any) -> None:
    """Resize the embeddings to the rows of the adapter, if it added or removed tokens."""
    layers = [
        layer for layer in (model.get_input_embeddings(), model.get_output_embeddings()) if layer is not None
    ]
    names = [name for name, module in model.named_modules() if any(module is layer for layer in layers)]
    n_rows = int(layers[0].weight.shape[0])
    sizes = [rows for key, value in saved.items() if (rows := _rows_of(key, value, names)) is not None]
    trained = getattr(config, "trainable_token_indices", None) or ()
    for indices in trained.values() if isinstance(trained, dict) else (trained,):
        sizes += [n_rows, *(index + 1 for index in indices)]
    if sizes and max(sizes) != n_rows:
        with torch.random.fork_rng():  # new rows are random until the saved ones overwrite them
            torch.manual_seed(0)
            model.resize_token_embeddings(max(sizes))


def _rows_of(key: str, value: Tensor, names: list[str]) -> int | None:
    """Return the number of tokens of a saved embedding tensor; None for all other tensors."""
    for name in names:
        _, separator, parameter = f".{key}".partition(f".{name}.")
        if not separator or value.dim() != len(("tokens", "features")):
            continue
        if parameter.endswith("lora_embedding_A"):
            return int(value.shape[1])
        if parameter in {"weight", "modules_to_save.weight", "lora_B.weight"}:
            return int(value.shape[0])
    return None


def _untie(changed: nn.Module) -> None:
    """Give each changed layer its own copy of a weight that it shares with another layer."""
    holders: dict[int, list[nn.Module]] = {}
    for module in changed.modules():
        for weight in module.parameters(recurse=False):
            holders.setdefault(id(weight), []).append(module)
    wrappers: list[Any] = [wrapper for wrapper in changed.modules() if hasattr(wrapper, "get_base_layer")]
    for layer in [wrapper.get_base_layer() for wrapper in wrappers]:
        for name, weight in list(layer.named_parameters(recurse=False)):
            if len(holders[id(weight)]) > 1:
                setattr(layer, name, nn.Parameter(weight.detach().clone(), requires_grad=False))
