"""Train a word-level language model: Adam, truncated back-propagation through time, best checkpoint kept."""

from __future__ import annotations

import math
import platform
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal, Protocol

import torch
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

from tseval.errors import TrainingError
from tseval.models.checkpoint import StoredType, save_checkpoint, stored_weights
from tseval.models.language_model import LanguageModel
from tseval.training.corpus import columns
from tseval.training.loss import cross_entropy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor

    from tseval.models.cells.cell import State
    from tseval.models.vocabulary import Vocabulary
    from tseval.scoring.protocol import Json

VALIDATION_BATCH = 32


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model is trained; the defaults are those of Bhatt et al. 2020 where the paper gives them.

    Attributes:
        epochs: Passes over the training text.
        batch: Parallel columns of text.
        window: Words that an error is propagated back through; the state is carried from window to window.
        learning_rate: Adam's.
        schedule: `constant`, or `cosine`: from the full rate down to zero over the whole run.
        clip: Largest norm of a gradient.
        seed: For initial weights and dropout.
        precision: Type of the matrix products; weights, sums and the optimiser stay in float32.
        stored: Type of the weights on disk.
    """

    epochs: int = 5
    batch: int = 128
    window: int = 35
    learning_rate: float = 1e-3
    schedule: Literal["constant", "cosine"] = "constant"
    clip: float = 0.25
    seed: int = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    stored: StoredType = "float32"


class Progress(Protocol):
    """Hears of the training as it goes, to draw a bar."""

    def step(self, tokens: int, loss: float) -> None:
        """Hear that so many more tokens were read, at this mean loss (nats)."""

    def epoch(self, number: int, perplexity: float, kept: bool) -> None:
        """Hear that an epoch ended at this validation perplexity; `kept` if its checkpoint was saved."""


def train_language_model(
    model: LanguageModel,
    vocabulary: Vocabulary,
    text: tuple[Tensor, Tensor],
    settings: Settings,
    out: tuple[Path, Mapping[str, Json]],
    progress: Progress,
) -> float:
    """Train a model and keep the checkpoint with the lowest validation perplexity.

    Args:
        model: With its initial weights, on the device to train on.
        vocabulary: Its words.
        text: Training and validation streams of word ids, each (tokens,).
        settings: How to train.
        out: Where to save, and what to record there about the origin of the model.
        progress: Hears of every window and every epoch.

    Returns:
        Validation perplexity of the saved checkpoint, per token with `<eos>`, unknown words as `<unk>`.

    Raises:
        TrainingError: If the loss is no longer finite; the best checkpoint so far stays.
    """
    train = columns(text[0], settings.batch)
    valid = columns(text[1], min(VALIDATION_BATCH, len(text[1]) // 2))
    optimiser = torch.optim.Adam(model.parameters(), lr=settings.learning_rate, fused=True)
    windows = math.ceil((len(train) - 1) / settings.window)
    course: list[Json] = []
    best = math.inf
    for epoch in range(1, settings.epochs + 1):
        started = time.monotonic()
        loss = _train_epoch(model, train, optimiser, settings, (epoch - 1, windows), progress)
        kept = _as_stored(model, settings.stored)
        perplexity = _perplexity(mean_loss(kept, valid, settings.window))
        course.append(
            {
                "epoch": epoch,
                "training_loss": loss,
                "validation_perplexity": perplexity,
                "seconds": round(time.monotonic() - started, 1),
            }
        )
        if better := perplexity < best:
            best = perplexity
            record = {**out[1], **_provenance(settings), "course": course}
            save_checkpoint(
                out[0], kept, vocabulary, training=record, validation_perplexity=best, dtype=settings.stored
            )
        progress.epoch(epoch, perplexity, better)
    if best == math.inf:
        raise TrainingError("the validation perplexity was never finite. Lower --learning-rate or --clip.")
    return best


def _train_epoch(
    model: LanguageModel,
    train: Tensor,
    optimiser: torch.optim.Adam,
    settings: Settings,
    position: tuple[int, int],
    progress: Progress,
) -> float:
    """Read the training text once; `position` is (epochs done, windows an epoch). Gives the mean loss."""
    model.train()
    device = next(model.parameters()).device
    epochs_done, windows = position
    state = model.initial_state(settings.batch)
    total, low = 0.0, getattr(torch, settings.precision)
    for window in range(windows):
        start = window * settings.window
        words = train[start : start + settings.window + 1].to(device)
        _set_rate(optimiser, settings, (epochs_done * windows + window) / (settings.epochs * windows))
        state = tuple(tensor.detach() for tensor in state)
        with torch.autocast(device.type, low, enabled=low is not torch.float32):
            outputs, state = model(words[:-1], state)
        state = tuple(tensor.float() for tensor in state)
        loss = cross_entropy(
            outputs.flatten(0, 1).float(), model.output.weight, model.output.bias, words[1:].flatten(), low
        )
        loss.backward()  # type: ignore[no-untyped-call]
        clip_grad_norm_(model.parameters(), settings.clip)
        optimiser.step()
        optimiser.zero_grad()
        value = loss.item()
        if not math.isfinite(value):
            raise TrainingError(
                f"the loss is {value} in epoch {epochs_done + 1}, window {window + 1}. "
                "Lower --learning-rate or --clip. The best checkpoint of earlier epochs, if any, stays."
            )
        total += value
        progress.step(words[1:].numel(), value)
    return total / windows


def _perplexity(loss: float) -> float:
    """Turn nats a token into a perplexity; a loss too large for a float, or NaN, is infinitely bad."""
    return math.exp(loss) if loss < 700 else math.inf


def _set_rate(optimiser: torch.optim.Adam, settings: Settings, share: float) -> None:
    """Set the learning rate for a moment `share` of the way through the run."""
    rate = settings.learning_rate
    if settings.schedule == "cosine":
        rate *= (1 + math.cos(math.pi * share)) / 2
    for group in optimiser.param_groups:
        group["lr"] = rate


def _as_stored(model: LanguageModel, dtype: StoredType) -> LanguageModel:
    """Copy a model, weights rounded as on disk, so that what is measured is what is kept."""
    device = next(model.parameters()).device
    copy = LanguageModel(model.sizes)
    weights = stored_weights(model, dtype)
    if model.sizes.tied:
        weights["output.weight"] = weights["embedding.weight"]
    copy.load_state_dict({name: tensor.float() for name, tensor in weights.items()})
    return copy.to(device).eval()


@torch.inference_mode()
def mean_loss(model: LanguageModel, text: Tensor, window: int) -> float:
    """Mean negative log-probability of a text, in nats a token, with the state carried through.

    Args:
        model: In evaluation mode.
        text: Word ids in columns, (time, batch); the first row is read but not predicted.
        window: Words read at once; does not change the result.
    """
    device = next(model.parameters()).device
    state: State = model.initial_state(text.shape[1])
    total = 0.0
    for start in range(0, len(text) - 1, window):
        words = text[start : start + window + 1].to(device)
        outputs, state = model(words[:-1], state)
        total += F.cross_entropy(
            model.logits(outputs).flatten(0, 1), words[1:].flatten(), reduction="sum"
        ).item()
    return total / ((len(text) - 1) * text.shape[1])


def _provenance(settings: Settings) -> dict[str, Json]:
    return {
        "settings": asdict(settings),
        "versions": {
            "tseval": version("tseval"),
            "torch": str(torch.__version__),
            "python": platform.python_version(),
        },
    }
