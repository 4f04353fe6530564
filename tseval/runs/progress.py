"""How far the training of a model had come, and which training it was, by its card."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from tseval.scoring.protocol import ModelCard


Clock = Literal["step", "tokens", "epoch"]
CLOCKS: tuple[Clock, ...] = get_args(Clock)
# How names say a moment: `checkpoint-500`, `drnn_step1000`, `step143000-tokens300B`, `ckpt.5k`; `epoch3`.
_MARKS = {
    clock: re.compile(rf"(?<![^\W_])(?:{words})[-_.=]?(\d{{1,12}})(k?)(?![^\W_])", re.IGNORECASE)
    for clock, words in (
        ("step", "global[-_]?step|steps?|checkpoint|ckpt|iter(?:ation)?"),
        ("epoch", "epochs?|ep"),
    )
}
_SEPARATORS = "-_.@/ "


def progress_of(card: ModelCard, over: Clock = "step") -> int | None:
    """Say how far the training of a model had come; None where nothing says so.

    What the model itself knows comes first: the course of the training in a checkpoint of tseval's own,
    `trainer_state.json` beside one of transformers' Trainer, the moment of a callback. Else its revision,
    then its name, may say a step.

    Args:
        over: Optimiser steps (of tseval's own trainings: windows), tokens learnt from, or epochs.
    """
    known = card.details.get(over)
    if isinstance(known, int) and not isinstance(known, bool):
        return known
    for text in (card.details.get("revision"), card.name) if over in _MARKS else ():
        if isinstance(text, str) and (mark := _MARKS[over].search(text)):
            return int(mark[1]) * (1000 if mark[2] else 1)
    return None


def training_of(card: ModelCard) -> str:
    """Name the training that a model is a checkpoint of: its own name, without step and epoch.

    Where the name says nothing else, as `checkpoint-500` does, it is the folder that it lies in, or, where
    that is not known, the kind of model.
    """
    left = card.name
    for mark in filter(None, (pattern.search(left) for pattern in _MARKS.values())):
        left = f"{left[: mark.start()].rstrip(_SEPARATORS)}-{left[mark.end() :].strip(_SEPARATORS)}".strip(
            "-"
        )
    return left or str(card.details.get("folder") or card.kind)
