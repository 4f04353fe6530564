"""Which training a model is a checkpoint of, and how far it had come."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from tseval.scoring.protocol import ModelCard

Clock = Literal["step", "tokens"]
CLOCKS: tuple[Clock, ...] = get_args(Clock)

# How names say a step: `checkpoint-500`, `drnn_step1000`, `step143000-tokens300B`, `ckpt.5k`. An epoch is
# none.
_MARK = re.compile(
    r"(?<![^\W_])(?:global[-_]?step|steps?|checkpoint|ckpt|iter(?:ation)?)[-_.=]?(\d{1,12})(k?)(?![^\W_])",
    re.IGNORECASE,
)
_SEPARATORS = "-_.@/ "


def progress_of(card: ModelCard, over: Clock = "step") -> int | None:
    """Say how far the training of a model had come; None where nothing says so.

    What the model itself knows comes first: the course of the training in a checkpoint of tseval's own,
    `trainer_state.json` beside one of transformers' Trainer, the moment of a callback. Else its revision,
    then its name, may say a step.

    Args:
        card: Of the model, as in the manifest of a run.
        over: Optimiser steps (of tseval's own trainings: windows), or tokens learnt from.
    """
    known = card.details.get(over)
    if isinstance(known, int) and not isinstance(known, bool):
        return known
    if over == "step":
        for text in (card.details.get("revision"), card.name):
            if isinstance(text, str) and (mark := _MARK.search(text)):
                return int(mark[1]) * (1000 if mark[2] else 1)
    return None


def training_of(card: ModelCard) -> str:
    """Name the training that a model is a checkpoint of: its own name, without the step.

    Where the name says a step and nothing else, as `checkpoint-500` does, it is the folder that it lies in.
    """
    mark = _MARK.search(card.name)
    if mark is None:
        return card.name
    before, after = card.name[: mark.start()].rstrip(_SEPARATORS), card.name[mark.end() :].strip(_SEPARATORS)
    return "-".join(part for part in (before, after) if part) or str(card.details.get("folder") or card.name)
