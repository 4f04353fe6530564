"""The state of a training run between two windows, and how one more window changes it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch.nn.utils import clip_grad_norm_

from tseval.errors import TrainingError
from tseval.scoring.numerics import HAS_ONEDNN, multiplies_bfloat16
from tseval.training.curves import watched_scalars
from tseval.training.loss import cross_entropy
from tseval.training.optimisers import SGD, Adam
from tseval.training.remedy import remedy
from tseval.training.resume import Course, snapshot, take_up

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from tseval.models.network import LanguageModel
    from tseval.training.schedule import Schedule
    from tseval.training.settings import Precision


@dataclass(slots=True)
class LanguageCourse(Course):
    """How a run went so far.

    Attributes:
        anneals: How often the learning rate was divided.
        best: Lowest validation perplexity.
        at_row: `step` and `loss` at the last point of the curve.
        at_validation: Likewise at the last validation.
    """

    anneals: int = 0
    best: float = math.inf
    at_row: tuple[int, float] = (0, 0.0)
    at_validation: tuple[int, float] = (0, 0.0)

    def mean_loss_since(self, mark: tuple[int, float]) -> float | None:
        """Mean training loss since a point, or None if no window was read since."""
        windows = self.step - mark[0]
        return (self.loss - mark[1]) / windows if windows else None


def product_type(precision: Precision, device: torch.device) -> torch.dtype:
    """Give the type in which products are made.

    A processor without products in bfloat16 would imitate them, slower than it multiplies in float32.
    """
    imitated = device.type == "cpu" and HAS_ONEDNN and not multiplies_bfloat16()
    return torch.float32 if imitated else cast("torch.dtype", getattr(torch, precision))


class TrainingState:
    """A model in training, with all that decides how it goes on.

    Args:
        model: On the device to train on.
        schedule: What happens when, and the training text.
    """

    def __init__(self, model: LanguageModel, schedule: Schedule) -> None:
        settings = schedule.settings
        self.model, self.schedule, self.settings = model, schedule, settings
        self.device = next(model.parameters()).device
        kinds = {"adam": Adam, "sgd": SGD}
        self.optimiser = kinds[settings.optimiser](model.parameters(), lr=settings.learning_rate, fused=True)
        self.carried = model.initial_state(settings.batch)
        self._low = product_type(settings.precision, self.device)
        self.course = LanguageCourse()
        self._unread: list[Tensor] = []
        self._clock = time.monotonic()

    def advance(self) -> None:
        """Learn from one more window of text."""
        settings, course, low = self.settings, self.course, self._low
        text = self.schedule.text
        window = text.read(course.step % text.n_windows, self.device)
        before = self.model.initial_state(window.words.shape[1]) if window.fresh else self.carried
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate
        with torch.autocast(self.device.type, low, enabled=low is not torch.float32):
            outputs, after = self.model(window.words, before)
        hidden, output = window.predicting(outputs).float(), self.model.output
        loss = cross_entropy(hidden, output.weight, output.bias, window.targets, low)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = clip_grad_norm_(self.model.parameters(), settings.clip)
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.carried = tuple(tensor.detach().float() for tensor in after)
        self._unread.append(torch.stack((loss.detach(), norm)))
        course.step += 1

    @property
    def rate(self) -> float:
        """Learning rate of the next window."""
        return self.schedule.rate(self.course.step, self.course.anneals)

    def read_losses(self) -> float | None:
        """Fetch the losses that are still on the device and give their mean; each fetch waits for it.

        Raises:
            TrainingError: If a loss or the norm of a gradient is not finite.
        """
        course = self.course
        first = course.step - len(self._unread) + 1
        pairs = torch.stack(self._unread).tolist() if self._unread else []
        for step, pair in enumerate(pairs, first):
            for name, value in zip(("loss", "norm of the gradient"), pair, strict=True):
                if not math.isfinite(value):
                    raise TrainingError(
                        f"the {name} is {value} in epoch {self.schedule.epoch(step)}, window {step} of the "
                        f"run. {remedy(self.model)} The best checkpoint before it, if any, stays."
                    )
            course.loss += pair[0]
        self._unread.clear()
        now = time.monotonic()
        course.seconds += now - self._clock
        self._clock = now
        return sum(loss for loss, _ in pairs) / len(pairs) if pairs else None

    def add_row(self, loss: float | None = None, perplexity: float | None = None) -> None:
        """Add a point to the learning curve, with loss and perplexity if the model was validated."""
        self.read_losses()
        course = self.course
        course.rows.append(
            {
                "step": course.step,
                "epoch": self.schedule.epoch(course.step),
                "tokens": self.schedule.tokens(course.step),
                "learning_rate": self.rate,
                "training_loss": course.mean_loss_since(course.at_row),
                "validation_loss": loss,
                "validation_perplexity": perplexity,
                "seconds": round(course.seconds, 3),
                **watched_scalars(self.model, self.schedule.text.read(0, self.device)),
            }
        )
        course.at_row = course.step, course.loss

    def content(self) -> dict[str, object]:
        """Give everything that `restore` needs, as tensors and plain data."""
        self.read_losses()
        return {**snapshot(self.model, self.optimiser, self.course), "carried": list(self.carried)}

    def restore(self, content: Mapping[str, object]) -> None:
        """Become the run that `content` was taken from; parts that do not fit raise errors of many kinds."""
        take_up(content, self.model, self.optimiser, self.course)
        carried = cast("list[Tensor]", content["carried"])
        self.carried = tuple(tensor.to(self.device) for tensor in carried)
