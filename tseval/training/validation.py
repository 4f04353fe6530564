"""Measure a model as it will be on disk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from tseval.models.checkpoint import StoredType, stored_weights
from tseval.models.head import chosen_logits, log_normaliser
from tseval.models.language_model import LanguageModel

if TYPE_CHECKING:
    from torch import Tensor

    from tseval.models.cells.cell import State

OVERFLOW = 700.0  # nats whose exponential is too large for a float


def as_stored(model: LanguageModel, dtype: StoredType) -> LanguageModel:
    """Copy a model, weights rounded as on disk, so that what is measured is what is kept."""
    device = next(model.parameters()).device
    # The copy's own initial weights must not take random numbers away from the training.
    with torch.random.fork_rng(devices=[]):
        copy = LanguageModel(model.sizes)
    weights = stored_weights(model, dtype)
    if model.sizes.tied:
        weights["output.weight"] = weights["embedding.weight"]
    copy.load_state_dict({name: tensor.float() for name, tensor in weights.items()})
    return copy.to(device).eval()


def perplexity(loss: float) -> float:
    """Turn nats a token into a perplexity; a loss too large for a float is infinitely bad."""
    return math.exp(loss) if loss < OVERFLOW else math.inf


@torch.inference_mode()
def mean_loss(model: LanguageModel, text: Tensor, window: int, fresh_state: bool = False) -> float:
    """Mean negative log-probability of a text, in nats a token.

    Args:
        model: In evaluation mode.
        text: Word ids in columns, (time, batch); the first row is read but not predicted.
        window: Words read at once; does not change the result unless `fresh_state`.
        fresh_state: Whether every window starts from the fresh state; otherwise it is carried through.
    """
    device = next(model.parameters()).device
    output = model.output
    state: State = model.initial_state(text.shape[1])
    total = torch.zeros((), dtype=torch.float64, device=device)
    for start in range(0, len(text) - 1, window):
        words = text[start : start + window + 1].to(device)
        if fresh_state:
            state = model.initial_state(text.shape[1])
        outputs, state = model(words[:-1], state)
        hidden = outputs.flatten(0, 1)
        chosen = chosen_logits(hidden, output.weight, output.bias, words[1:].flatten())
        total += (log_normaliser(hidden, output.weight, output.bias) - chosen).sum(dtype=torch.float64)
    return total.item() / ((len(text) - 1) * text.shape[1])
