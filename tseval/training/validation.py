"""Measure a model as it will be on disk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from tseval.models.checkpoint import PackedType, stored_weights
from tseval.models.network import LanguageModel
from tseval.scoring.numerics import chosen_logits, log_normaliser, widest_float

if TYPE_CHECKING:
    from tseval.models.cells.cell import State
    from tseval.training.windows import Windows

OVERFLOW = 700.0  # nats whose exponential is too large for a float


def as_stored(model: LanguageModel, dtype: PackedType) -> LanguageModel:
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
def mean_loss(model: LanguageModel, text: Windows) -> float:
    """Mean negative log-probability of a text, in nats a token.

    Args:
        model: In evaluation mode.
        text: What to read. How much at once does not change the result where the state is carried through.
    """
    device = next(model.parameters()).device
    output = model.output
    state: State = ()
    total = torch.zeros((), dtype=widest_float(device), device=device)
    for index in range(text.n_windows):
        window = text.read(index, device)
        if window.fresh:
            state = model.initial_state(window.words.shape[1])
        outputs, state = model(window.words, state)
        hidden = window.predicting(outputs)
        chosen = chosen_logits(hidden, output.weight, output.bias, window.targets)
        total += (log_normaliser(hidden, output.weight, output.bias) - chosen).sum(dtype=total.dtype)
    return total.item() / text.tokens(text.n_windows)
