"""Training progress and training name of a model, from its card."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from tseval.scoring.protocol import ModelCard


Clock = Literal["step", "tokens", "epoch"]
CLOCKS: tuple[Clock, ...] = get_args(Clock)
# How names contain a step or an epoch: `checkpoint-500`, `step143000-tokens300B`, `ckpt.5k`; `epoch3`.
_MARKS = {
    clock: re.compile(rf"(?<![^\W_])(?:{words})[-_.=]?(\d{{1,12}})(k?)(?![^\W_])", re.IGNORECASE)
    for clock, words in (
        ("step", "global[-_]?step|steps?|checkpoint|ckpt|iter(?:ation)?"),
        ("epoch", "epochs?|ep"),
    )
}
_SEPARATORS = "-_.@/ "


def progress_of(card: ModelCard, over: Clock = "step") -> int | None:
    """Return the training progress of a model; None if it is unknown.

    The details of the card come first: from the training log in a tseval checkpoint, from
    `trainer_state.json` of transformers' Trainer, or from a callback. Otherwise the revision and then the
    name may contain a step or an epoch.

    Args:
        over: Optimiser steps (for tseval's trainings: windows), training tokens, or epochs.
    """
    progress = card.details.get(over)
    if isinstance(progress, int) and not isinstance(progress, bool):
        return progress
    for text in (card.details.get("revision"), card.name) if over in _MARKS else ():
        if isinstance(text, str) and (mark := _MARKS[over].search(text)):
            return int(mark[1]) * (1000 if mark[2] else 1)
    return None


def training_of(card: ModelCard) -> str:
    """Return the name of the training of a checkpoint: the model's name without step and epoch.

    If nothing else is left, as for `checkpoint-500`, it is the name of the model's folder or, if that is
    unknown, the kind of model.
    """
    name = card.name
    for mark in filter(None, (pattern.search(name) for pattern in _MARKS.values())):
        name = f"{name[: mark.start()].rstrip(_SEPARATORS)}-{name[mark.end() :].strip(_SEPARATORS)}".strip(
            "-"
        )
    return name or str(card.details.get("folder") or card.kind)
