"""Evaluation during a training with `transformers.Trainer`, which is an optional dependency."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.adapters.live import as_causal
from tseval.callbacks.during import evaluate_during
from tseval.callbacks.moments import check_every, suite_to_score
from tseval.errors import ModelError

try:
    from transformers import Trainer, TrainerCallback
except ImportError:
    raise ModelError(
        "TransformersCallback needs the package transformers, which is not installed.\n"
        '  To install it: pip install "tseval[hf]"'
    ) from None

if TYPE_CHECKING:
    from transformers import (
        PreTrainedModel,
        PreTrainedTokenizerBase,
        TrainerControl,
        TrainerState,
        TrainingArguments,
    )

    from tseval.items import Suite
    from tseval.runs import Run


class TransformersCallback(TrainerCallback):  # type: ignore[misc] # transformers' types are not followed
    """A Trainer callback that scores a suite before the first step, every few steps, and after the last.

    The training is not affected: its weights are bit-identical to those without the callback. The suite is
    scored in the training process; of several processes, the first does it while the others wait. The numbers
    of `Run.means` go through the Trainer's log, so that every service of `report_to` gets them:
    `tseval/SUITE/mean`, and one for each phenomenon and each row.

    Args:
        suite: Name or path of a suite, or a loaded suite.
        out: Folder for the runs, such as `OUT/step-000500`. Its name is the name of the training in tables.
        every: Steps between evaluations.
        sample: Number of random items of each case, the same at every step; None for all.
        tokenizer: The model's tokenizer; not needed if the Trainer has it (`processing_class`).

    Raises:
        SuiteError: There is no such suite, `sample` is given for a loaded suite, or `every` is below 1.
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
        check_every(every)
        self.suite = suite_to_score(suite, sample)
        self.out, self.every, self.tokenizer = Path(out), every, tokenizer
        self._resumed = False

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **settings: object
    ) -> None:
        """Score the model before the first step, or before the first of a resumed training, if due."""
        if args.fsdp or args.deepspeed:
            raise ModelError(
                "TransformersCallback needs the whole model in each process, but FSDP and DeepSpeed split "
                "the model.\n"
                "  Remove the callback, and score the checkpoints after the training: tseval run --model "
                "hf:CHECKPOINT"
            )
        self._resumed = state.global_step > 0
        if state.global_step % self.every == 0:
            self._evaluate(state, **settings)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **settings: object
    ) -> None:
        """Score the model if an evaluation is due."""
        if state.global_step % self.every == 0 or state.global_step >= state.max_steps:
            self._evaluate(state, **settings)

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
                "TransformersCallback has no tokenizer, so it cannot read sentences.\n"
                "  Add tokenizer=TOKENIZER to the callback, or processing_class=TOKENIZER to the Trainer."
            )
        scored = as_causal(model, tokenizer, self.out.resolve().name)
        run = evaluate_during(scored, self.suite, self.out, state.global_step, overwrite=self._resumed)
        self._log(state, run)

    def _log(self, state: TrainerState, run: Run) -> None:
        """Log the numbers of a step like the Trainer's loss, but only once if a training is resumed."""
        numbers, step = run.means(), state.global_step
        if any(row["step"] == step and numbers.keys() <= row.keys() for row in state.log_history):
            return
        trainer = _running_trainer()
        if trainer is None:  # another program calls the callback
            state.log_history.append({**numbers, "step": step})
        else:
            # The loss of this step may still have to be logged, and every call of `log` clears this flag.
            should_log = trainer.control.should_log
            trainer.log(dict(numbers))
            trainer.control.should_log = should_log
        # The name in earlier versions, which the next version removes; it is only in the history.
        if (mean := run.mean()) is not None:
            state.log_history[-1][f"tseval_{self.suite.name}"] = mean


def _running_trainer() -> Trainer | None:
    """Return the Trainer that called the callback; transformers offers callbacks no other way to log."""
    frame = inspect.currentframe()
    while frame is not None:
        if isinstance(caller := frame.f_locals.get("self"), Trainer):
            return caller
        frame = frame.f_back
    return None
