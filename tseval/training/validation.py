"""Mean loss and perplexity of a language model on a text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import torch

from tseval.models.checkpoint import PackedType, network_of, stored_weights
from tseval.scoring.devices import widest_float
from tseval.scoring.softmax import chosen_logits, log_normaliser

if TYPE_CHECKING:
    from tseval.models.cells.cell import State
    from tseval.models.network import LanguageModel
    from tseval.training.corpus import Windows


OVERFLOW = 700.0  # nats whose exponential is too large for a float


def as_stored(model: LanguageModel, dtype: PackedType) -> LanguageModel:
    """Copy a model, weights rounded as on disk, so that what is measured is what is kept."""
    copy = cast("LanguageModel", network_of(model.sizes, stored_weights(model, dtype)))
    return copy.to(next(model.parameters()).device)


def perplexity(loss: float) -> float:
    """Turn nats a token into a perplexity; a loss too large for a float is infinitely bad."""
    return math.exp(loss) if loss < OVERFLOW else math.inf


@torch.inference_mode()
def mean_loss(model: LanguageModel, text: Windows) -> float:
    """Mean negative log-probability of a text, in nats a token, for a model in evaluation mode.

    How much is read at once does not change the result where the state is carried through.
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
