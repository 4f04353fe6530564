"""The levels of verification, climbed one after the other up to the first that is wrong."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING

from tseval.errors import shortened
from tseval.verifying.plausible import check_plausible
from tseval.verifying.report import Check, Verification, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tseval.scoring.protocol import Model
    from tseval.verifying.claim import Claim
    from tseval.verifying.recompute import Again
    from tseval.verifying.report import VerifyLevel


def new_draw() -> str:
    """Draw what decides which sentences a model is asked about: nobody knows it before."""
    return secrets.token_hex(8)


class Ladder(ABC):
    """What is verified, of which each level uses what the one before found.

    Args:
        path: Where it is.

    Attributes:
        what: What it claims to be, once that is read.
        claim: What it claims, after `whole`.
        again: The same computed again, after `recomputed`.
    """

    claim: Claim
    again: Again

    def __init__(self, path: Path) -> None:
        self.path, self.what = path, "unread"

    @abstractmethod
    def whole(self) -> str:
        """Read the claim, and hold its parts to each other; say what was read."""

    @abstractmethod
    def recomputed(self) -> str:
        """Compute it again from suite and evidence, and compare; say what follows."""

    def climb(
        self,
        model: Model | None,
        share: float,
        draw: str | None,
        progress: Callable[[int, int], None] | None,
    ) -> Verification:
        """Check level by level.

        Args:
            model: To be asked again; None asks none, so that `plausible` is the highest level.
            share: Of the sentences that the model is asked about; 1 for all.
            draw: What decides which, as a report names it; None draws anew.
            progress: Called with the numbers of sentences done and of all, while the model is asked.
        """
        steps: list[tuple[VerifyLevel, Callable[[], str]]] = [
            ("whole", self.whole),
            ("recomputed", self.recomputed),
            ("plausible", lambda: check_plausible(self.claim, self.again)),
        ]
        if model is not None:
            asked = partial(self._asked, model, share, draw or new_draw(), progress)
            steps.append(("rerun" if share >= 1 else "rescored", asked))
        checks: list[Check] = []
        for level, step in steps:
            try:
                checks.append(Check(level, True, step()))
            except Wrong as wrong:
                checks.append(Check(level, False, shortened(str(wrong))))
                break
        return Verification(str(self.path), shortened(self.what), tuple(checks))

    def _asked(
        self, model: Model, share: float, draw: str, progress: Callable[[int, int], None] | None
    ) -> str:
        from tseval.verifying.rescore import rescore  # noqa: PLC0415 - brings torch along

        return rescore(self.claim, self.again, model, share, draw, progress)
