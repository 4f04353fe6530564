"""The sequence of verification levels; each level uses the results of the one before."""

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
    """The levels of a verification, in order; each uses the results of the one before.

    `whole` sets `what` and `claim`; `recomputed` sets `again`.
    """

    claim: Claim
    again: Recomputed

    def __init__(self, path: Path) -> None:
        self.path, self.what = path, "unread"

    @abstractmethod
    def whole(self) -> str:
        """Read the claim and check its parts against each other; return a line about what was read."""

    @abstractmethod
    def recomputed(self) -> str:
        """Recompute the claim from suite and evidence, and compare; return a line about the result."""

    def climb(
        self,
        model: Model | None,
        share: float,
        draw: str | None,
        progress: Callable[[int, int], None] | None,
    ) -> Verification:
        """Check level by level until one fails; arguments as in `verify_run`."""
        steps: list[tuple[VerifyLevel, Callable[[], str]]] = [
            ("whole", self.whole),
            ("recomputed", self.recomputed),
            ("plausible", lambda: check_plausible(self.claim, self.again)),
        ]
        if model is not None:
            from tseval.verifying.rescore import rescore  # noqa: PLC0415 - only where a model is asked again

            draw = draw or secrets.token_hex(8)  # cannot be predicted
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
