"""Temporary evaluation mode, which does not disturb a training."""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from tseval.scoring.precision import stated_precision

if TYPE_CHECKING:
    from collections.abc import Iterator


_UNWRAPPED = "_original_forward"  # accelerate's name for the forward pass that it wrapped


@contextmanager
def undisturbed(*modules: nn.Module) -> Iterator[None]:
    """Put modules into evaluation mode during a with block, and restore modes and random states afterwards.

    Restored are the random states of Python, numpy and torch on all devices, and the cache setting of
    transformers models. If accelerate wrapped a forward pass for mixed precision, the original one is used,
    in the type of the weights and without autocast. A training that continues afterwards is not affected.
    """
    # Such a forward pass is an attribute of the module, and hides that of its class.
    wrapped = [(vars(module), module.forward) for module in modules if _UNWRAPPED in vars(module)]
    modes = [(part, part.training) for module in modules for part in module.modules()]
    configs: list[Any] = [getattr(module, "config", None) for module in modules]
    caches = [(config, config.use_cache) for config in configs if hasattr(config, "use_cache")]
    python, numpy = random.getstate(), np.random.get_state()
    uses_gpu = torch.cuda.is_initialized()  # type: ignore[no-untyped-call] # it says no types
    devices = range(torch.cuda.device_count()) if uses_gpu else ()
    try:
        with torch.random.fork_rng(devices), stated_precision():
            for attributes, _ in wrapped:
                attributes["forward"] = attributes[_UNWRAPPED]
            for module in modules:
                module.eval()
            for config, _ in caches:
                config.use_cache = False
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        for attributes, forward in wrapped:
            attributes["forward"] = forward
        for part, mode in modes:
            part.training = mode
        for config, cache in caches:
            config.use_cache = cache
