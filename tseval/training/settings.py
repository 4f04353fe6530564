"""How a language model or a classifier is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tseval.models.checkpoint import StoredType

Optimiser = Literal["adam", "sgd"]
RateSchedule = Literal["constant", "cosine", "anneal"]
Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model is trained: all of it decides the result.

    The defaults are those of Bhatt et al. 2020 where the paper gives them.

    Attributes:
        epochs: Passes over the training text.
        max_tokens: Stop after so many training tokens, rounded up to a window, in place of whole epochs.
        batch: Parallel columns of text, or lines.
        window: Words that an error is propagated back through.
        fresh_state: Whether every window starts from the fresh state, also in validation; otherwise the state
            is carried through an epoch. For cells that cannot forget, such as the URN.
        whole_lines: Whether the text is read by whole lines, `batch` at a time, each from the fresh state;
            `window` and `fresh_state` then have no say.
        optimiser: `adam`, or `sgd` without momentum.
        learning_rate: The optimiser's, at the start.
        schedule: `constant`; `cosine`: from the full rate down to zero over the whole run; `anneal`: divided
            by `anneal_factor` whenever the validation perplexity is no better than the best.
        anneal_factor: 4 in Gulordava et al. 2018 and Marvin & Linzen 2018.
        clip: Largest norm of a gradient.
        initial_range: Word vectors start uniform within ± this. The word language models that the papers
            build on have 0.1; gated cells under Adam leave the unigram distribution sooner with 1.
        seed: For initial weights and dropout.
        precision: Type of the matrix products, on a GPU torch's fused layers (SRN, GRU, LSTM) excepted;
            weights, sums, state and the optimiser stay in float32.
        stored: Type of the weights on disk.
        validate_every: Windows between validations, besides the ends of epochs and of the run.
        log_every: Windows between points of the learning curve.
        compiled: Whether `torch.compile` fuses the loops of cells that torch has no fused layer for.
    """

    epochs: int = 5
    max_tokens: int | None = None
    batch: int = 128
    window: int = 35
    fresh_state: bool = False
    whole_lines: bool = False
    optimiser: Optimiser = "adam"
    learning_rate: float = 1e-3
    schedule: RateSchedule = "constant"
    anneal_factor: float = 4.0
    clip: float = 0.25
    initial_range: float = 0.1
    seed: int = 1
    precision: Precision = "float32"
    stored: StoredType = "float32"
    validate_every: int | None = None
    log_every: int = 50
    compiled: bool = False


@dataclass(frozen=True, slots=True)
class ClassifierSettings:
    """How a classifier is trained, by Adam: all of it decides the result.

    Attributes:
        epochs: Passes over the training examples, at most.
        patience: Stop after so many epochs in a row that were no better than the best; None for never.
        batch: Examples learnt from at once.
        learning_rate: Adam's.
        clip: Largest norm of a gradient.
        initial_range: Word vectors start uniform within ± this.
        seed: For initial weights, the order of the examples, dropout and noise.
    """

    epochs: int = 30
    patience: int | None = 5
    batch: int = 16
    learning_rate: float = 1e-3
    clip: float = 1.0
    initial_range: float = 0.1
    seed: int = 1
