"""Evaluation during a training with Lightning, which tseval does not depend on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tseval.callbacks.during import evaluate_during
from tseval.callbacks.moments import check_every, suite_to_score
from tseval.errors import ModelError

try:
    from pytorch_lightning import Callback
except ImportError:
    try:
        from lightning.pytorch import Callback  # type: ignore[no-redef] # the same class in another package
    except ImportError:
        raise ModelError(
            "LightningCallback needs the package pytorch-lightning, which is not installed.\n"
            "  To install it: pip install pytorch-lightning"
        ) from None

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytorch_lightning import LightningModule, Trainer

    from tseval.adapters.opening import LiveModel
    from tseval.items import Suite


class LightningCallback(Callback):
    """A Lightning callback that scores a suite before the first step, every few steps, and after the last.

    The numbers of `Run.means` go to all loggers of the Trainer (TensorBoard, CSV, W&B, MLflow). The suite is
    scored in the training process; of several processes, the first does it.

    Args:
        suite: Name or path of a suite, or a loaded suite.
        out: Folder for the runs, such as `OUT/step-000500`.
        every: Optimiser steps between evaluations.
        model: Function from the LightningModule to a model that `tseval.evaluate` takes, such as
            `lambda module: (module.net, words)`, or `lambda module: as_causal(module.gpt, tokenizer, "gpt")`.
        sample: Number of random items of each case, the same at every step; None for all.

    Raises:
        SuiteError: There is no such suite, `sample` is given for a loaded suite, or `every` is below 1.
    """

    def __init__(
        self,
        suite: str | Path | Suite,
        out: str | Path,
        every: int,
        *,
        model: Callable[[Any], LiveModel],  # a LightningModule, whose attributes only its author knows
        sample: int | None = None,
    ) -> None:
        check_every(every)
        self.suite = suite_to_score(suite, sample)
        self.out, self.every, self.model = Path(out), every, model
        self._resumed, self._last = False, -1

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Score the model before the first step, or before the first of a resumed training, if due."""
        self._resumed = trainer.global_step > 0
        if trainer.global_step % self.every == 0:
            self._evaluate(trainer, pl_module)

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: object) -> None:
        """Score the model if an evaluation is due."""
        if trainer.global_step % self.every == 0:
            self._evaluate(trainer, pl_module)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Score the model after the last step."""
        self._evaluate(trainer, pl_module)

    def _evaluate(self, trainer: Trainer, module: LightningModule) -> None:
        step = int(trainer.global_step)
        # With gradient accumulation, several batches end at one step.
        if step == self._last or not trainer.is_global_zero:
            return
        self._last = step
        scored = self.model(module)

        def log(numbers: dict[str, float], step: int) -> None:
            for logger in trainer.loggers:
                logger.log_metrics(numbers, step)

        evaluate_during(scored, self.suite, self.out, step, overwrite=self._resumed, log=log)
