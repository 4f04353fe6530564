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


OVERFLOW = 700.0  # nats; a larger loss overflows in the exponential


def as_stored(model: LanguageModel, dtype: PackedType) -> LanguageModel:
    """Copy a model with weights rounded as on disk, so that the saved weights are measured."""
    copy = cast("LanguageModel", network_of(model.sizes, stored_weights(model, dtype)))
    return copy.to(next(model.parameters()).device)


def perplexity(loss: float) -> float:
    """Convert nats per token to a perplexity; a loss that would overflow becomes infinity."""
    return math.exp(loss) if loss < OVERFLOW else math.inf


@torch.inference_mode()
def mean_loss(model: LanguageModel, text: Windows) -> float:
    """Return the mean negative log-probability of a text, in nats per token, for a model in evaluation mode.

    If the state is carried from window to window, the size of a window does not affect the result.
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
        target_logits = chosen_logits(hidden, output.weight, output.bias, window.targets)
        total += (log_normaliser(hidden, output.weight, output.bias) - target_logits).sum(dtype=total.dtype)
    return total.item() / text.tokens(text.n_windows)
