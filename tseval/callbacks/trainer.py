"""Evaluation during a training by `transformers.Trainer`; transformers is an extra."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tseval.adapters.live import as_causal
from tseval.callbacks.during import evaluate_during
from tseval.errors import ModelError, SuiteError
from tseval.items import Suite
from tseval.suites import load_suite

try:
    from transformers import TrainerCallback
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
            raise SuiteError(
                f"the argument `every` (number of steps between two evaluations) is {every}, but must be 1 "
                "or more"
            )
        if isinstance(suite, Suite) and sample is not None:
            raise SuiteError(
                "the argument `sample` draws items of a suite that the callback loads by its name, but "
                "the suite is already loaded.\n"
                "  Load only a sample: load_suite(NAME, sample=N)."
            )
        self.suite = suite if isinstance(suite, Suite) else load_suite(suite, sample=sample)
        self.out, self.every, self.tokenizer = Path(out), every, tokenizer
        self._resumed = False

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **settings: object
    ) -> None:
        """Score the model as it is before the first step, or where a resumed training goes on."""
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
        """Score the model if it is time."""
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
        name, step = f"tseval_{self.suite.name}", state.global_step
        if not any(name in row and row["step"] == step for row in state.log_history):  # where one is resumed
            rows = run.table()
            value = rows["spearman"].iloc[-1] if run.rated else rows["accuracy"].mean()
            state.log_history.append({name: float(value), "step": step})
