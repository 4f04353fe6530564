"""Settings of a training, the learning rate at each step, optimisers, and presets from papers.

The optimisers are torch's, without the two seconds of their first step: torch excludes their methods from
compilation, and imports its compiler for that at the first call. Nothing here compiles an optimiser, or
differentiates through one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from inspect import unwrap
from typing import TYPE_CHECKING, Annotated, Any, Literal

import torch
from torch.optim import Optimizer

from tseval.errors import TrainingError
from tseval.models.checkpoint import StoredType  # noqa: TC001 - the type of a field that becomes an option
from tseval.suites.formal.languages import Dyck

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tseval.suites.formal.languages import Language
    from tseval.training.corpus import Windows


Optimiser = Literal["adam", "sgd"]
RateSchedule = Literal["constant", "cosine", "anneal"]
Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a language-model training, all of which affect the result.

    The defaults are those of Bhatt et al. 2020, if the paper states them. Every field is an option of
    `tseval train lm`.

    Attributes:
        max_tokens: Used instead of whole epochs; rounded up to a window.
        window: Number of words through which an error is propagated back.
        fresh_state: Whether every window starts from the initial state, also in validation. Otherwise, the
            state is kept through an epoch. For cells that cannot forget, such as the URN.
        whole_lines: Whether the text is read by whole lines, `batch` at a time, each from the initial state;
            `window` and `fresh_state` are then ignored.
        optimiser: `adam`, or `sgd` without momentum.
        schedule: `constant`; `cosine`: from the full rate down to zero over the whole run; `anneal`: divided
            by `anneal_factor` whenever the validation perplexity does not improve on the best.
        anneal_factor: 4 in Gulordava et al. 2018 and Marvin & Linzen 2018.
        initial_range: 0.1 in the word language models on which the papers are based. With 1, gated cells
            under Adam learn more than the unigram distribution earlier.
        precision: Type of the matrix products; weights, sums, state and optimiser are float32. On a GPU, the
            products of torch's fused layers (SRN, GRU, LSTM) stay float32 if they are not compiled.
        validate_every: Windows between validations, in addition to the ends of epochs and of the run.
        compiled: Whether `torch.compile` compiles the loops of cells without a fused layer.
    """

    epochs: Annotated[int, "Number of passes over the training text."] = 5
    max_tokens: Annotated[
        int | None, "Number of tokens to train on. It replaces --epochs (default: train for --epochs)."
    ] = None
    batch: Annotated[
        int,
        "Batch size: number of places in the text at which the model reads in parallel. "
        "With --whole-lines: number of lines.",
    ] = 128
    window: Annotated[
        int,
        "Number of words through which the error is propagated back (truncated "
        "backpropagation through time).",
    ] = 35
    fresh_state: Annotated[
        bool,
        "Reset the hidden state to zero at the start of every window. Use it for cells that cannot "
        "forget (urn).",
    ] = False
    whole_lines: Annotated[
        bool,
        "Train on whole lines, each with a new hidden state, instead of on windows of --window "
        "words of continuous text.",
    ] = False
    optimiser: Annotated[
        Optimiser, "Optimiser that updates the weights: adam, or sgd (without momentum)."
    ] = "adam"
    learning_rate: Annotated[float, "Learning rate at the start of the training."] = 1e-3
    schedule: Annotated[
        RateSchedule,
        "Change of the learning rate. constant: no change. cosine: it falls to zero. anneal: it is "
        "divided by --anneal-factor when the validation perplexity does not improve.",
    ] = "constant"
    anneal_factor: Annotated[float, "Number by which --schedule anneal divides the learning rate."] = 4.0
    clip: Annotated[float, "Largest norm of the gradient: larger gradients are scaled down to this norm."] = (
        0.25
    )
    initial_range: Annotated[
        float,
        "Range of the initial weights of word vectors: they are drawn uniformly between minus this "
        "number and this number.",
    ] = 0.1
    seed: Annotated[int, "Random seed for the initial weights and for dropout."] = 1
    precision: Annotated[
        Precision,
        "Number format of matrix products in training: float32, or bfloat16 (faster on new GPUs, rounded).",
    ] = "float32"
    stored: Annotated[
        StoredType,
        "Number format of the weights in the checkpoint file: float32, or float16 (half the size, rounded).",
    ] = "float32"
    validate_every: Annotated[
        int | None,
        "Number of windows (training steps) between two validations (default: validate only "
        "after each epoch).",
    ] = None
    log_every: Annotated[
        int, "Number of windows (training steps) between two points of the learning curve."
    ] = 50
    compiled: Annotated[
        bool,
        "Compile the loops of the recurrent cells with torch.compile, which makes training on a GPU faster.",
    ] = False


@dataclass(frozen=True, slots=True)
class ClassifierSettings:
    """The settings of a classifier training with Adam, all of which affect the result.

    Every field is an option of `tseval train number` and `grammaticality`. `patience` is the number of epochs
    without improvement on the best, None for no limit. `log_every` None means no points within an epoch.
    """

    epochs: Annotated[int, "Largest number of passes over the training examples."] = 30
    patience: Annotated[
        int | None,
        "Number of epochs without a better validation accuracy after which the training stops early.",
    ] = 5
    batch: Annotated[int, "Batch size: number of examples in each training step."] = 16
    learning_rate: Annotated[float, "Learning rate of the optimiser Adam."] = 1e-3
    clip: Annotated[float, "Largest norm of the gradient: larger gradients are scaled down to this norm."] = (
        1.0
    )
    initial_range: Annotated[
        float,
        "Range of the initial weights of word vectors: they are drawn uniformly between minus this "
        "number and this number.",
    ] = 0.1
    seed: Annotated[
        int, "Random seed for the initial weights, the order of the examples, dropout and noise."
    ] = 1
    log_every: Annotated[
        int | None,
        "Number of batches between two points of the learning curve (default: one point for each epoch).",
    ] = None


class _Bare(Optimizer):
    """An optimiser with torch's methods, without the wrappers that exclude them from compilation."""

    add_param_group: Any = unwrap(Optimizer.add_param_group)
    zero_grad: Any = unwrap(Optimizer.zero_grad)
    state_dict: Any = unwrap(Optimizer.state_dict)
    load_state_dict: Any = unwrap(Optimizer.load_state_dict)


class Adam(_Bare, torch.optim.Adam):
    """Adam (Kingma and Ba 2015)."""

    step: Any = torch.no_grad()(unwrap(torch.optim.Adam.step))


class SGD(_Bare, torch.optim.SGD):
    """Stochastic gradient descent."""

    step: Any = torch.no_grad()(unwrap(torch.optim.SGD.step))


@dataclass(frozen=True, slots=True)
class Schedule:
    """The steps of a run, one step per window, counted from 1."""

    settings: Settings
    text: Windows  # read once per epoch

    @property
    def steps(self) -> int:
        """Number of windows of the whole run."""
        settings = self.settings
        if settings.max_tokens is None:
            return settings.epochs * self.text.n_windows
        epochs, rest = divmod(settings.max_tokens, self.text.tokens(self.text.n_windows))
        return epochs * self.text.n_windows + self.text.windows_for(rest)

    def tokens(self, step: int) -> int:
        """Return the number of training tokens after `step` steps."""
        epochs, windows = divmod(step, self.text.n_windows)
        return epochs * self.text.tokens(self.text.n_windows) + self.text.tokens(windows)

    def epoch(self, step: int) -> int:
        """Return the epoch of a step, from 1; before the first step, 1."""
        return (max(step, 1) - 1) // self.text.n_windows + 1

    def validates(self, step: int) -> bool:
        """Return whether to validate after a step: at the end of epochs and of the run, and as set."""
        every, epoch = self.settings.validate_every, self.text.n_windows
        return step == self.steps or step % epoch == 0 or (every is not None and step % every == 0)

    def rate(self, step: int, anneals: int) -> float:
        """Return the learning rate of the step after `step` steps, with `anneals` divisions so far."""
        settings = self.settings
        if settings.schedule == "cosine":
            return settings.learning_rate * (1 + math.cos(math.pi * step / self.steps)) / 2
        return settings.learning_rate / settings.anneal_factor**anneals


@dataclass(frozen=True, slots=True)
class Preset:
    """Sizes and settings that replace the defaults."""

    sizes: Mapping[str, int | float]  # fields of `tseval.models.network.Sizes`
    settings: Mapping[str, int | float | str]  # fields of `Settings`, or of `ClassifierSettings`
    source: str  # publication
    # Computes further sizes from architecture, hidden size and language, if any.
    derived: Callable[[str, int, Language | None], Mapping[str, int]] | None = None


def _hewitt_sizes(arch: str, hidden: int, language: Language | None) -> dict[str, int]:
    """Return embedding 2k + 10 and hidden round(3 m log2 k) - m, at least 1."""
    if not isinstance(language, Dyck):
        raise TrainingError(
            "the preset hewitt2020 computes its sizes from a Dyck language. Add the language, such as "
            "--suite 'dyck(k=8,m=3)'"
        )
    hidden = max(1, round(3 * language.m * math.log2(language.k)) - language.m)
    return {"embedding": 2 * language.k + 10, "hidden": hidden}


# None of the papers on formal languages clips gradients.
UNCLIPPED = 1e9


def _bernardy(task: str, *, learning_rate: float, embedding: int) -> Preset:
    """Make a preset. A URN's word vectors are its rotation angles; for other cells, `embedding` is used."""
    return Preset(
        sizes={"hidden": 32, "layers": 1, "dropout": 0.05},
        settings={
            "epochs": 100, "batch": 512, "whole_lines": True, "clip": UNCLIPPED, "initial_range": 0.05,
            "optimiser": "adam", "learning_rate": learning_rate, "schedule": "constant",
        },
        source=f"Bernardy & Lappin 2022, {task}",
        derived=lambda arch, hidden, _: {
            "embedding": hidden * (hidden - 1) // 2 if arch == "urn" else embedding
        },
    )  # fmt: skip


PRESETS: dict[str, Preset] = {
    "bhatt2020": Preset(
        sizes={"embedding": 200, "hidden": 650, "layers": 2, "dropout": 0.2},
        settings={"batch": 128, "optimiser": "adam", "learning_rate": 1e-3, "schedule": "constant"},
        source="Bhatt et al. 2020, appendix A.4: the language models of Table 4",
    ),
    # From the command in the readme of the program (github.com/Hritikbansal/RNNs_SVA_OOD) and its defaults.
    # The program has dropout only between layers, pads lines on the left, and stops after five halvings.
    "bansal2020": Preset(
        sizes={"embedding": 200, "hidden": 650, "layers": 2, "dropout": 0.2},
        settings={
            "epochs": 100, "batch": 128, "whole_lines": True, "clip": 5.0,
            "optimiser": "adam", "learning_rate": 1e-3, "schedule": "anneal", "anneal_factor": 2.0,
        },
        source="Bansal, Bhatt & Agarwal 2020 (arXiv:2010.04976), the program's language models",
    ),
    # Embedding size of the published model; Marvin & Linzen 2018 used the program's default, 200. Window and
    # clip are that program's defaults.
    "gulordava2018": Preset(
        sizes={"embedding": 650, "hidden": 650, "layers": 2, "dropout": 0.2},
        settings={
            "epochs": 40, "batch": 128, "window": 35, "clip": 0.25,
            "optimiser": "sgd", "learning_rate": 20.0, "schedule": "anneal", "anneal_factor": 4.0,
        },
        source="Gulordava et al. 2018, the English LSTM, and its program's defaults",
    ),
    # The two papers do not state the range of word vectors, so these are the defaults of torch and Keras.
    "hewitt2020": Preset(
        sizes={"layers": 1, "dropout": 0.0},
        settings={
            "epochs": 100, "batch": 10, "whole_lines": True, "clip": UNCLIPPED, "initial_range": 1.0,
            "optimiser": "adam", "learning_rate": 1e-2, "schedule": "anneal", "anneal_factor": 2.0,
        },
        source="Hewitt et al. 2020, the learned LSTMs; at most 100 epochs",
        derived=_hewitt_sizes,
    ),
    "bernardy2022-dyck": _bernardy(
        "generalised Dyck; hidden 8, 16 and 32", learning_rate=1e-2, embedding=12
    ),
    # Epochs and dropout are not stated for this task, and taken from the other one.
    "bernardy2022-cross-serial": _bernardy(
        "cross-serial dependencies; hidden 8, 16 and 32", learning_rate=1e-3, embedding=20
    ),
}  # fmt: skip

CLASSIFIER_PRESETS = {
    "bhatt2020": Preset(
        sizes={"embedding": 50, "hidden": 50, "layers": 1, "dropout": 0.0},
        settings={"batch": 1, "learning_rate": 1e-3},
        source="Bhatt et al. 2020, appendix A.4: the classifiers of Table 1",
    ),
    # Defaults of the same program, which neither clips nor stops early. It also halves the rate when the
    # validation loss does not improve; tseval does not.
    "bansal2020": Preset(
        sizes={"embedding": 50, "hidden": 50, "layers": 1, "dropout": 0.0},
        settings={"epochs": 20, "patience": 20, "batch": 64, "learning_rate": 0.005, "clip": UNCLIPPED},
        source="Bansal, Bhatt & Agarwal 2020 (arXiv:2010.04976), the program's classifiers",
    ),
}
"""For number prediction and grammaticality judgement. ReLU is the default of both commands."""
