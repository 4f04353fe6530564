"""Causal models of transformers that are in memory, in training: looked at without being disturbed."""

from __future__ import annotations

import hashlib
import json
import random
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tseval.adapters.hf import CausalModel
from tseval.adapters.pretrained import Pretrained
from tseval.models.checkpoint import hash_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import nn
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_UNWRAPPED = "_original_forward"  # what accelerate calls the forward pass that it wrapped


def as_causal(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str) -> CausalModel:
    """Take a causal model in memory as a model to be scored, with the weights that it has now.

    Its fingerprint is that of these weights: after the next step of a training, take it anew. It computes as
    `hf:` does, but for activations that `hf:` fuses, which differ by rounding.

    Args:
        model: Whole, on one device; afterwards it is as it was.
        tokenizer: Its own.
        name: For tables.

    Raises:
        ModelError: It is not causal, or has no start symbol.
    """
    with undisturbed(model):
        opened = Pretrained(name, model, tokenizer, _fingerprint(model, tokenizer), {})
        return CausalModel(opened, bos="auto", leading_space=False, words="corrected")


@contextmanager
def undisturbed(*modules: nn.Module) -> Iterator[None]:
    """Put modules into evaluation mode for a while, and leave modes and random numbers as they were.

    Python's, numpy's and torch's random numbers are meant, on all devices, and whether a model of
    transformers keeps a cache. A forward pass that accelerate wrapped, to train in mixed precision, is taken
    as it was before, in the type of the weights. A training that goes on afterwards does not notice.
    """
    # Assigned to a module itself, such a pass hides the one of its class.
    wrapped = [(vars(module), module.forward) for module in modules if _UNWRAPPED in vars(module)]
    modes = [(part, part.training) for module in modules for part in module.modules()]
    configs: list[Any] = [getattr(module, "config", None) for module in modules]
    caches = [(config, config.use_cache) for config in configs if hasattr(config, "use_cache")]
    python, numpy = random.getstate(), np.random.get_state()
    used = torch.cuda.is_initialized()  # type: ignore[no-untyped-call] # it says no types
    devices = range(torch.cuda.device_count()) if used else ()
    try:
        with torch.random.fork_rng(devices):
            for own, _ in wrapped:
                own["forward"] = own[_UNWRAPPED]
            for module in modules:
                module.eval()
            for config, _ in caches:
                config.use_cache = False
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        for own, forward in wrapped:
            own["forward"] = forward
        for part, mode in modes:
            part.training = mode
        for config, cache in caches:
            config.use_cache = cache


def _fingerprint(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> str:
    """Give the SHA-256 over the vocabulary and the weights, which are in no file yet."""
    vocabulary = sorted(tokenizer.get_vocab().items())
    digest = hashlib.sha256(json.dumps([type(model).__name__, vocabulary]).encode())
    hash_weights(digest, {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()})
    return digest.hexdigest()
