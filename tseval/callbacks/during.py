"""Evaluation of a model in memory after a step of its training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import RunError
from tseval.runs import remove_other

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.adapters.opening import LiveModel
    from tseval.formats import Json
    from tseval.items import Suite
    from tseval.runs import Run


def evaluate_during(  # noqa: PLR0913 - what is scored, where it is kept, and who gets the numbers
    model: LiveModel,
    suite: Suite,
    out: str | Path | None,
    step: int,
    *,
    tokens: int | None = None,
    overwrite: bool = False,
    log: Callable[[dict[str, float], int], object] | None = None,
) -> Run:
    """Score a suite with a model after a step of its training, into `OUT/step-000500`.

    An existing run with the same weights is read instead of scored again, and a partial run is completed. So
    a training that was killed and resumed has all its evaluations.

    Args:
        model: Any model in memory that `evaluate` takes. tseval reads its weights at each call, so wrap it
            only once. `as_causal` names a transformers model after the training. Torch modules among its
            attributes are in evaluation mode during scoring; modes and random states are restored.
        suite: A suite or a sample of it: `tseval.load_suite("marvin_linzen", sample=100)`.
        out: Folder for the runs of all steps; None keeps the run in memory.
        step: Optimiser steps so far.
        tokens: Training tokens so far, if known.
        overwrite: Whether to replace an existing run of this step with other weights; otherwise it is an
            error. Such runs exist if a training was resumed from before this step and went differently.
        log: Function that gets the numbers of `Run.means` and the step, such as `wandb.log`.

    Raises:
        RunError: The run cannot be written, or the folder has a run of this step from another training.
        ModelError: The model cannot be scored.
    """
    from torch import nn  # noqa: PLC0415 - the room is there without it

    from tseval.adapters import open_model  # noqa: PLC0415 - as those below
    from tseval.evaluation import as_read, make_plan, run_plan  # noqa: PLC0415 - brings torch along
    from tseval.pretrained.evaluation_mode import undisturbed  # noqa: PLC0415 - brings torch along

    if step < 0:
        raise RunError(f"step={step}: a training step cannot be negative. Write a step of 0 or more")
    model = open_model(model)
    attributes = getattr(model, "__dict__", {}).values()
    with undisturbed(*(part for part in attributes if isinstance(part, nn.Module))):
        plan = make_plan(as_read(model, suite, "auto"), suite)
        details: dict[str, Json] = {**plan.card.details, "step": int(step)}
        if tokens is not None:
            details["tokens"] = tokens
        plan = replace(plan, card=replace(plan.card, details=details))
        if out is None:
            run = run_plan(plan, None)
        else:
            folder = step_folder(Path(out), step)
            if overwrite:
                remove_other(folder, plan.key)
            run = run_plan(plan, folder, resume=True)
    if log is not None:
        log(run.means(), int(step))
    return run


def step_folder(out: Path, step: int) -> Path:
    """Return the folder for the run of a step."""
    return out / f"step-{step:06d}"
