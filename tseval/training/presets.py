"""The settings of the papers, by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import TrainingError
from tseval.suites.formal.languages import Dyck

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tseval.suites.formal.languages import Language


@dataclass(frozen=True, slots=True)
class Preset:
    """Sizes and settings that stand in for the defaults.

    Attributes:
        sizes: Fields of `tseval.models.network.Sizes`.
        settings: Fields of `tseval.training.loop.Settings`.
        source: Where they are published.
        derived: Gives further sizes from architecture, hidden size and language, if any.
    """

    sizes: Mapping[str, int | float]
    settings: Mapping[str, int | float | str]
    source: str
    derived: Callable[[str, int, Language | None], Mapping[str, int]] | None = None


def _hewitt_sizes(arch: str, hidden: int, language: Language | None) -> dict[str, int]:
    """Embedding 2k + 10, hidden round(3 m log2 k) - m, where that is a size at all."""
    if not isinstance(language, Dyck):
        raise TrainingError(
            "the preset hewitt2020 takes its sizes from k and m: add --suite 'dyck(k=8,m=3)' or another"
        )
    hidden = max(1, round(3 * language.m * math.log2(language.k)) - language.m)
    return {"embedding": 2 * language.k + 10, "hidden": hidden}


# None of the papers on formal languages clips gradients.
UNCLIPPED = 1e9


def _bernardy(task: str, *, learning_rate: float, embedding: int) -> Preset:
    """Give every symbol of a URN the angles of its rotation, and of any other cell so many numbers."""
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
    # It drops units between layers alone, fills lines up on the left, and stops after five halvings.
    "bansal2020": Preset(
        sizes={"embedding": 200, "hidden": 650, "layers": 2, "dropout": 0.2},
        settings={
            "epochs": 100, "batch": 128, "whole_lines": True, "clip": 5.0,
            "optimiser": "adam", "learning_rate": 1e-3, "schedule": "anneal", "anneal_factor": 2.0,
        },
        source="Bansal, Bhatt & Agarwal 2020 (arXiv:2010.04976), the program's language models",
    ),
    # Embedding as in the published model; the rerun of Marvin & Linzen 2018 leaves it at the program's
    # default, 200. Window and clip are that program's defaults.
    "gulordava2018": Preset(
        sizes={"embedding": 650, "hidden": 650, "layers": 2, "dropout": 0.2},
        settings={
            "epochs": 40, "batch": 128, "window": 35, "clip": 0.25,
            "optimiser": "sgd", "learning_rate": 20.0, "schedule": "anneal", "anneal_factor": 4.0,
        },
        source="Gulordava et al. 2018, the English LSTM, and its program's defaults",
    ),
    # Word vectors as wide as torch's and Keras's default, of which the two papers say nothing.
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
    # Epochs and dropout are not given for this task, and taken from the other.
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
    # Defaults of the same program, which neither clips nor stops early; it also halves the rate when the
    # validation loss gets no better, which ours does not.
    "bansal2020": Preset(
        sizes={"embedding": 50, "hidden": 50, "layers": 1, "dropout": 0.0},
        settings={"epochs": 20, "patience": 20, "batch": 64, "learning_rate": 0.005, "clip": UNCLIPPED},
        source="Bansal, Bhatt & Agarwal 2020 (arXiv:2010.04976), the program's classifiers",
    ),
}
"""For number prediction and grammaticality judgement. ReLU is the default of both commands."""
