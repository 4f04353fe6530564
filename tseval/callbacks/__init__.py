"""Evaluation of a model during its training.

    from tseval.callbacks import TransformersCallback

    callback = TransformersCallback("marvin_linzen", "runs/gpt2", every=500, sample=100)
    Trainer(..., callbacks=[callback]).train()

or, in your own training loop,

    run = evaluate_during(model, suite, "runs/mine", step, log=wandb.log)

Each evaluation is a separate run in the folder: `tseval table runs/gpt2 --over step`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tseval.callbacks.during import evaluate_during

if TYPE_CHECKING:
    from tseval.adapters.live import as_causal
    from tseval.callbacks.lightning import LightningCallback
    from tseval.callbacks.trainer import TransformersCallback
    from tseval.pretrained.evaluation_mode import undisturbed

__all__ = ["LightningCallback", "TransformersCallback", "as_causal", "evaluate_during", "undisturbed"]

if not TYPE_CHECKING:  # a type checker that sees this accepts every misspelt name

    def __getattr__(name: str) -> object:
        # The callbacks need other packages, and the others import torch.
        modules = {
            "LightningCallback": "tseval.callbacks.lightning",
            "TransformersCallback": "tseval.callbacks.trainer",
            "as_causal": "tseval.adapters.live",
            "undisturbed": "tseval.pretrained.evaluation_mode",
        }
        if name not in modules:
            raise AttributeError(f"module 'tseval.callbacks' has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)
