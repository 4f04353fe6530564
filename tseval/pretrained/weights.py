"""Loading of weights, with a check that none is missing or left over."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tseval.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from transformers import PreTrainedModel

# Prefixes from wrappers: torch.compile, DistributedDataParallel, FSDP, checkpointed activations.
WRAPPED = re.compile(r"^module\.|_orig_mod\.|_fsdp_wrapped_module\.|_checkpoint_wrapped_module\.")
DEPTH = 6  # most wrappers in one name
# Weights that a model may ignore: heads, buffers in old files, parts that do not read text.
ELSEWHERE = re.compile(
    r"pooler|inv_freq|position_ids$|relative_position_index|(attn|attention)\.(bias|masked_bias)$"
    r"|vision|visual|image|audio|speech|(^|\.)mtp"
)


def load_weights(
    head: Any, source: str, keywords: Mapping[str, object]
) -> tuple[PreTrainedModel, dict[str, set[str]]]:
    """Load weights; if training wrapped the model, remove the wrappers' prefixes from the names."""
    model, info = head.from_pretrained(source, **keywords, output_loading_info=True)
    if info["missing_keys"] and any(WRAPPED.search(name) for name in info["unexpected_keys"]):
        # Each entry removes one prefix; additional empty groups make the entries different.
        mapping = {f"{WRAPPED.pattern}{'(?:)' * depth}": "" for depth in range(DEPTH)}
        model, info = head.from_pretrained(source, **keywords, key_mapping=mapping, output_loading_info=True)
    return model, info


def refuse_lacking(
    where: str, model: PreTrainedModel, missing: set[str], unexpected: Collection[str] = ()
) -> None:
    """Refuse a model with missing weights; `unexpected` are the names in its files instead."""
    if not missing:
        return
    advice = "Save the model with its language-model head."
    body = f"{model.base_model_prefix}."
    if unexpected and any(name.startswith(body) for name in missing):
        advice = (
            f"The weight files have other names instead ({min(unexpected)}; {len(unexpected)} in all).\n"
            "  Save the model itself with save_pretrained(), not the object that wraps the model."
        )
    raise ModelError(
        f"{where} has no values for weights of {type(model).__name__} ({min(missing)}; {len(missing)} in "
        f"all). Their values would be random.\n  {advice}"
    )


def refuse_left_over(where: str, model: PreTrainedModel, unexpected: set[str]) -> None:
    """Refuse a model if its files have unused weights of its body, because it would be another model."""
    prefix, parts = f"{model.base_model_prefix}.", dict(model.base_model.named_children())
    parts |= {"encoder": model, "decoder": model}
    unused = [
        name
        for name in sorted(unexpected)
        if (name.startswith(prefix) or name.partition(".")[0] in parts) and not ELSEWHERE.search(name)
    ]
    if unused and not getattr(model, "is_quantized", False):
        has_encoder = any(name.removeprefix(prefix).startswith("encoder.") for name in unused)
        advice = (
            "The model has an encoder and a decoder: open it with --model seq2seq:FOLDER"
            if has_encoder and hasattr(model.base_model, "decoder")
            else "Restore the config.json that the model was saved with."
        )
        raise ModelError(
            f"{where} holds weights that {type(model).__name__} does not use ({unused[0]}; {len(unused)} in "
            f"all). Without these weights the results are those of another model.\n  {advice}"
        )
