"""What happens when in a training run, counted in windows of text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tseval.training.settings import Settings


@dataclass(frozen=True, slots=True)
class Schedule:
    """The run as a count of steps, one step a window, the first step 1.

    Attributes:
        settings: How to train.
        time: Rows of the training text in columns; all but the first are predicted once an epoch.
    """

    settings: Settings
    time: int

    @property
    def windows(self) -> int:
        """Windows of an epoch; the last may be shorter than the others."""
        return math.ceil((self.time - 1) / self.settings.window)

    @property
    def steps(self) -> int:
        """Windows of the whole run."""
        settings = self.settings
        if settings.max_tokens is None:
            return settings.epochs * self.windows
        epochs, rest = divmod(settings.max_tokens, (self.time - 1) * settings.batch)
        return epochs * self.windows + math.ceil(rest / (settings.window * settings.batch))

    def tokens(self, step: int) -> int:
        """Training tokens read after so many steps."""
        epochs, windows = divmod(step, self.windows)
        return (epochs * (self.time - 1) + windows * self.settings.window) * self.settings.batch

    def epoch(self, step: int) -> int:
        """Epoch that a step belongs to, from 1; before the first step, 1."""
        return (max(step, 1) - 1) // self.windows + 1

    def validates(self, step: int) -> bool:
        """Tell whether the model is validated after a step: at every end of an epoch and at the very end."""
        every = self.settings.validate_every
        return step == self.steps or step % self.windows == 0 or (every is not None and step % every == 0)

    def logs(self, step: int) -> bool:
        """Tell whether the learning curve gets a point after a step."""
        return step % self.settings.log_every == 0

    def rate(self, step: int, anneals: int) -> float:
        """Learning rate of the step that follows `step` steps, the rate having been annealed so often."""
        settings = self.settings
        if settings.schedule == "cosine":
            return settings.learning_rate * (1 + math.cos(math.pi * step / self.steps)) / 2
        return settings.learning_rate / settings.anneal_factor**anneals
