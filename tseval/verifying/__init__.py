"""Check what others claim: is it whole, does it follow, can it be, and does the model say so?"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import counted, shortened
from tseval.verifying.levels import (
    VERIFY_LEVELS,
    Check,
    CheckFailed,
    Claim,
    Recomputed,
    Verification,
    VerifyLevel,
    claim_of_run,
    recompute,
    says_what_is_shared,
)
from tseval.verifying.plausible import check_plausible

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.scoring.protocol import Model


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


def verify_run(
    path: str | Path,
    *,
    suite: str | None = None,
    model: Model | None = None,
    share: float = 0.01,
    draw: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Verify a run.

    Args:
        suite: Where its suite is; None for the name that it states.
        model: To be asked again; None asks none, so that the level `plausible` is the highest.
        share: Of the sentences that the model is asked about; 1 for all.
        draw: What decides which, as a report names it; None draws anew, so that nobody knew it before.
        progress: Called with the numbers of sentences done and of all, while the model is asked.
    """
    return _RunLadder(Path(path), suite).climb(model, share, draw, progress)


class _RunLadder(Ladder):
    """A run; its suite is found where it is said to be, or by the name that the run states."""

    def __init__(self, path: Path, suite: str | None) -> None:
        super().__init__(path)
        self._suite = suite

    def whole(self) -> str:
        self.claim = claim_of_run(self.path)
        self.what = f"{self.claim.key.model} on {self.claim.key.suite}"
        files = counted(len(self.claim.manifest.files), "file")
        if self.claim.manifest.seal is None:
            return f"manifest and {files}; without a seal, as in old runs"
        return f"manifest, seal and {files}"

    def recomputed(self) -> str:
        claim = self.claim
        self.again = recompute(claim, self._suite)
        n_verdicts = counted(self.again.verdicts.num_rows, "verdict")
        follows = f"{counted(len(claim.sentences), 'sentence')}, {n_verdicts}"
        if n_too_long := claim.manifest.counts.too_long:
            follows += f" ({n_too_long:,} recorded as too long for the model)"
        facts = claim.manifest.suite
        if not facts.complete and facts.sample is None:
            follows += f"; only {counted(facts.n_items, 'item')} of the suite"
        known = says_what_is_shared(claim, self.again.suite)
        unsaid = "" if known else "; lexical factors are not recorded, as in old runs"
        if self.again.n_unsaid:
            unsaid += f"; {counted(self.again.n_unsaid, 'half-known contrast')} compared, as in old runs"
        return f"{follows}, {counted(len(claim.tables), 'table')} from suite and evidence{unsaid}"


__all__ = ["VERIFY_LEVELS", "Verification", "VerifyLevel", "verify_run"]
