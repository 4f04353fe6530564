"""Transformers models in memory, which may be in training; each evaluation uses their current weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import torch
from torch import nn

from tseval.adapters.hf import CausalModel
from tseval.adapters.mlm import METRICS, MaskedModel
from tseval.adapters.modules import ModuleModel
from tseval.errors import ModelError
from tseval.models.checkpoint import hash_weights
from tseval.models.saved_words import VocabularyOptions, as_words, describe_words
from tseval.models.vocabulary import Vocabulary
from tseval.pretrained.evaluation_mode import undisturbed
from tseval.pretrained.opened import Pretrained
from tseval.scoring.protocol import PROTOCOL_PARTS, Encoded, recarded, refuse_no_model

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from tseval.pretrained.piece_model import OfPieces
    from tseval.scoring.protocol import Model


def as_causal(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str) -> CausalModel:
    """Wrap a causal model in memory for scoring, with the weights that it has at each evaluation.

    Each evaluation computes the fingerprint again, so one call before a training loop is enough. Scores are
    those of `hf:`, except that `hf:` fuses activations, which causes rounding differences.

    Args:
        model: A whole model on one device. It is not changed.
        tokenizer: The model's tokenizer.
        name: Name for tables.
    """
    with undisturbed(model):
        opened = Pretrained(name, model, tokenizer, fingerprint_in_memory(model, tokenizer), {})
        return LiveCausal(opened, bos="auto", leading_space=False, words="corrected")


class LiveCausal(CausalModel):
    """A causal model that may be in training. It is in evaluation mode only during scoring."""

    def token_logprobs(self, encoded: Encoded, batch_tokens: int) -> tuple[np.ndarray, int]:
        """Score every token; see `CausalModel`."""
        with undisturbed(self.model):
            return super().token_logprobs(encoded, batch_tokens)

    def corrected_logprobs(
        self, encoded: Encoded, batch_tokens: int
    ) -> tuple[np.ndarray, np.ndarray | None, int]:
        """Score every token, and correct word scores; see `CausalModel`."""
        with undisturbed(self.model):
            return super().corrected_logprobs(encoded, batch_tokens)

    def with_current_weights(self) -> Self:
        """Return the same model with its current weights; see `ChangingModel`."""

        def wrap(opened: Pretrained) -> CausalModel:
            return as_causal(opened.model, opened.tokenizer, opened.name)

        return cast("Self", refreshed(self, wrap))


def refreshed(model: OfPieces, wrap: Callable[[Pretrained], OfPieces]) -> OfPieces:
    """Wrap a transformers model again if its weights changed, because cached tables are then out of date."""
    opened = model.opened
    if fingerprint_in_memory(opened.model, opened.tokenizer) == opened.fingerprint:
        return model
    fresh = wrap(opened)
    if (rules := model.writing_rules) is not None:
        fresh = fresh.writing(rules)
    fresh.card = recarded(model.card, fresh.card)
    return fresh


def fingerprint_in_memory(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> str:
    """Return the SHA-256 over the vocabulary and the weights of a model in memory."""
    vocabulary = sorted(tokenizer.get_vocab().items())
    digest = hashlib.sha256(json.dumps([type(model).__name__, vocabulary]).encode())
    hash_weights(digest, model.state_dict())
    return digest.hexdigest()


MAY_BE = (
    "an object with the methods of a protocol (tseval.scoring.protocol),\n"
    "  a pair (transformers model, tokenizer),\n"
    "  or a pair (torch module, words); words: a list in the order of the ids, or a mapping from word to id"
)


def as_model(
    value: object, call_returns: str, name: str | None = None, device: torch.device | None = None
) -> Model:
    """Return a user's object as a model. Objects with a protocol are unchanged; pairs are wrapped.

    Args:
        value: The object or pair.
        call_returns: Start of error messages, such as `load_model received`.
        name: Name for tables; None for the name of its class, or of the folder that transformers read.
        device: Device to move it to; None leaves it where it is.
    """
    match value:
        case (nn.Module() as module, Vocabulary() | Sequence() | Mapping() as words):
            return ModuleModel(name or type(module).__name__, module.to(device), _as_vocabulary(words))
        case (nn.Module() as module, tokenizer) if hasattr(tokenizer, "convert_ids_to_tokens"):
            return _as_pretrained(cast("PreTrainedModel", module), tokenizer, call_returns, name, device)
    if isinstance(value, (type, *PROTOCOL_PARTS)) or hasattr(value, "card"):
        refuse_no_model(value, f"what {call_returns}")
        return cast("Model", value)
    type_name = type(value).__name__
    if isinstance(value, tuple):
        type_name = f"({', '.join(type(part).__name__ for part in value)})"
    raise ModelError(f"{call_returns} {type_name}, which is not a model.\n  Give {MAY_BE}.")


def _as_vocabulary(words: Vocabulary | Sequence[str] | Mapping[str, int]) -> Vocabulary:
    """Return the vocabulary for words in the order of their ids, or a map from word to id; case counts."""
    if isinstance(words, Vocabulary):
        return words
    ordered = as_words(list(words) if isinstance(words, tuple) else words)
    if ordered is None:
        raise ModelError(
            "the words of a torch module must be a list of strings in the order of their ids,\n"
            "  or a mapping from word to id, with each id from 0 to n-1 once"
        )
    return describe_words(ordered, "", VocabularyOptions()).vocabulary


def _as_pretrained(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    call_returns: str,
    name: str | None,
    device: torch.device | None,
) -> Model:
    config: Any = getattr(model, "config", None)
    if not hasattr(model, "get_output_embeddings") or hasattr(model, "peft_config"):
        raise ModelError(
            f"{call_returns} a model and a tokenizer, but the model is {type(model).__name__}, not a plain "
            "transformers model.\n"
            "  If it has a LoRA adapter, merge the adapter first: model.merge_and_unload().\n"
            "  If it is a torch module, give its list of words, not a tokenizer."
        )
    if getattr(config, "is_encoder_decoder", False):
        raise ModelError(
            f"{call_returns} {type(model).__name__}, an encoder-decoder model.\n"
            "  Give a causal or a masked language model. Or save the encoder-decoder model in a folder, "
            "and use --model seq2seq:FOLDER."
        )
    if device is not None and not hasattr(model, "hf_device_map"):
        cast("nn.Module", model).to(device)
    called = name or Path(getattr(config, "_name_or_path", "")).name or type(model).__name__
    if not any(base.__name__.endswith("ForMaskedLM") for base in type(model).__mro__):
        return as_causal(model, tokenizer, called)
    return _as_masked(model, tokenizer, called)


def _as_masked(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str) -> LiveMasked:
    with undisturbed(model):
        opened = Pretrained(name, model, tokenizer, fingerprint_in_memory(model, tokenizer), {})
        return LiveMasked(opened, METRICS[0], "single")


class LiveMasked(MaskedModel):
    """A masked model that may be in training. It is in evaluation mode only during scoring."""

    def token_logprobs(self, encoded: Encoded, batch_tokens: int) -> tuple[np.ndarray, int]:
        """Score every token; see `MaskedModel`."""
        with undisturbed(self.model):
            return super().token_logprobs(encoded, batch_tokens)

    def with_current_weights(self) -> Self:
        """Return the same model with its current weights; see `ChangingModel`."""

        def wrap(opened: Pretrained) -> LiveMasked:
            return _as_masked(opened.model, opened.tokenizer, opened.name)

        return cast("Self", refreshed(self, wrap))
