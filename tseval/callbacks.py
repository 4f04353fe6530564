"""Evaluate a model while it is being trained.

    from tseval.callbacks import TransformersCallback

    callback = TransformersCallback("marvin_linzen", "runs/gpt2", every=500, sample=100)
    Trainer(..., callbacks=[callback]).train()

or, in a loop of one's own,

    run = evaluate_during(model, suite, "runs/mine", step)

Each moment is a run of its own below the folder: `tseval table runs/gpt2 --over step`.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from torch import nn

from tseval.adapters.native import as_causal, undisturbed
from tseval.errors import ModelError, RunError, SuiteError
from tseval.evaluation import carry_out, make_plan
from tseval.items import Suite
from tseval.runs import remove_other
from tseval.suites import load_suite

if TYPE_CHECKING:
    from transformers import (
        PreTrainedModel,
        PreTrainedTokenizerBase,
        TrainerControl,
        TrainerState,
        TrainingArguments,
    )

    from tseval.formats import Json
    from tseval.runs import Run
    from tseval.scoring.protocol import Model


def evaluate_during(
    model: Model,
    suite: Suite,
    out: str | Path | None,
    step: int,
    *,
    tokens: int | None = None,
    overwrite: bool = False,
) -> Run:
    """Score a suite with a model as it is after a step of its training, into `OUT/step-000500`.

    What is there already of these very weights is read, not scored again, and what a kill left half written
    is completed. So a training that was killed and goes on has its trajectory whole.

    Args:
        model: Any model that tseval can score, such as `as_causal` makes of one of transformers; its name is
            the training's. Torch modules among its attributes are put into evaluation mode meanwhile; modes
            and random numbers are afterwards as they were.
        suite: All of it, or a sample: `tseval.load_suite("marvin_linzen", sample=100)`.
        out: Folder of the trajectory; None keeps the run in memory.
        step: Optimiser steps so far.
        tokens: Tokens learnt from so far, where that is known.
        overwrite: Whether a run of this step but of other weights gives way, as where a training was resumed
            before it and did not go the very same way again. Else it is refused.

    Raises:
        RunError: The run cannot be written, or the folder holds this step of another training.
        ModelError: The model cannot be scored.
    """
    if step < 0:
        raise RunError(f"{step} is no step of a training: steps are counted from 0.")
    held = getattr(model, "__dict__", {}).values()
    with undisturbed(*(part for part in held if isinstance(part, nn.Module))):
        plan = make_plan(model, suite)
        details: dict[str, Json] = {**plan.card.details, "step": int(step)}
        if tokens is not None:
            details["tokens"] = tokens
        plan = replace(plan, card=replace(plan.card, details=details))
        if out is None:
            return carry_out(plan, None)
        place = step_folder(Path(out), step)
        if overwrite:
            remove_other(place, plan.key)
        return carry_out(plan, place, resume=True)


def step_folder(out: Path, step: int) -> Path:
    """Name the run of a step in the folder of a trajectory."""
    return out / f"step-{step:06d}"


try:
    from transformers import TrainerCallback
except ImportError:
    raise ModelError('TransformersCallback needs transformers.\n  pip install "tseval[hf]"') from None


class TransformersCallback(TrainerCallback):  # type: ignore[misc] # transformers' types are not followed
    """Scores a suite before the first step, every so many steps, and after the last, in the training process.

    The training does not notice: its weights are bit for bit those of one without the callback. Of several
    processes the first evaluates, while the others wait. The mean accuracy, each row counted once, goes into
    the Trainer's log history as `tseval_SUITE`.

    Args:
        suite: Its name or path, or one that is loaded.
        out: Folder of the trajectory, whose name is that of the training in tables. `OUT/step-000500` is a
            run.
        every: Steps from one evaluation to the next.
        sample: So many items of each case, drawn at random, the same at every step; None for all.
        tokenizer: Of the model; not needed where the Trainer has it (`processing_class`).

    Raises:
        SuiteError: There is no such suite, `sample` is given for one that is loaded, or `every` is below 1.
    """

    def __init__(
        self,
        suite: str | Path | Suite,
        out: str | Path,
        every: int,
        *,
        sample: int | None = None,
        tokenizer: PreTrainedTokenizerBase | None = None,
    ) -> None:
        if every < 1:
            raise SuiteError(f"every must be 1 or more, not {every}: the steps between two evaluations.")
        if isinstance(suite, Suite) and sample is not None:
            raise SuiteError(
                "sample is for the name of a suite: load this one with load_suite(..., sample=N)."
            )
        self.suite = suite if isinstance(suite, Suite) else load_suite(suite, sample=sample)
        self.out, self.every, self.tokenizer = Path(out), every, tokenizer
        self._resumed = False

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: object
    ) -> None:
        """Score the model as it is before the first step, or where a resumed training goes on."""
        if args.fsdp or args.deepspeed:
            raise ModelError(
                "TransformersCallback needs the whole model in each process: not FSDP, nor DeepSpeed.\n"
                "  Leave out the callback, and score the checkpoints: tseval run --model hf:CHECKPOINT."
            )
        self._resumed = state.global_step > 0
        if state.global_step % self.every == 0:
            self._evaluate(state, **given)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **given: object
    ) -> None:
        """Score the model if it is time."""
        if state.global_step % self.every == 0 or state.global_step >= state.max_steps:
            self._evaluate(state, **given)

    def _evaluate(
        self,
        state: TrainerState,
        model: PreTrainedModel,
        processing_class: PreTrainedTokenizerBase | None = None,
        **_: object,
    ) -> None:
        if not state.is_world_process_zero:
            return
        tokenizer = self.tokenizer or processing_class
        if tokenizer is None:
            raise ModelError(
                "TransformersCallback has no tokenizer.\n"
                "  Give it one, tokenizer=..., or the Trainer: processing_class=tokenizer."
            )
        scored = as_causal(model, tokenizer, self.out.resolve().name)
        run = evaluate_during(scored, self.suite, self.out, state.global_step, overwrite=self._resumed)
        name, step = f"tseval_{self.suite.name}", state.global_step
        if not any(name in row and row["step"] == step for row in state.log_history):  # where one is resumed
            rows = run.table()
            value = rows["spearman"].iloc[-1] if run.rated else rows["accuracy"].mean()
            state.log_history.append({name: float(value), "step": step})


__all__ = ["TransformersCallback", "as_causal", "evaluate_during", "undisturbed"]

# Name to module: imported on first use, since only one of them needs transformers.
_MODULES = {
    "TransformersCallback": "tseval.callbacks",
    "as_causal": "tseval.adapters.native",
    "evaluate_during": "tseval.callbacks",
    "undisturbed": "tseval.adapters.native",
}

if not TYPE_CHECKING:  # a type checker that saw this would let every misspelt name pass

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module 'tseval.callbacks' has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)
