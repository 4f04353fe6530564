"""Levels of verification, each of which uses what the one before found."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from tseval.errors import shortened
from tseval.verifying.levels import Check, CheckFailed, Verification, VerifyLevel
from tseval.verifying.plausible import check_plausible

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tseval.scoring.protocol import Model
    from tseval.verifying.claim import Claim
    from tseval.verifying.recomputed import Recomputed


class Ladder(ABC):
    """What is verified, of which each level uses what the one before found.

    `whole` says what it claims to be, and gives the claim; `recomputed` gives the same computed again.
    """

    claim: Claim
    again: Recomputed

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
        """Check level by level, as for `verify_run`."""
        steps: list[tuple[VerifyLevel, Callable[[], str]]] = [
            ("whole", self.whole),
            ("recomputed", self.recomputed),
            ("plausible", lambda: check_plausible(self.claim, self.again)),
        ]
        if model is not None:
            from tseval.verifying.rescore import rescore  # noqa: PLC0415 - only where a model is asked again

            draw = draw or secrets.token_hex(8)  # nobody knows it before
            level: VerifyLevel = "rerun" if share >= 1 else "rescored"
            steps.append((level, lambda: rescore(self.claim, self.again, model, share, draw, progress)))
        checks: list[Check] = []
        for level, step in steps:
            try:
                checks.append(Check(level, True, step()))
            except CheckFailed as wrong:
                checks.append(Check(level, False, shortened(str(wrong))))
                break
        return Verification(str(self.path), shortened(self.what), tuple(checks))
