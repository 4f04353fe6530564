"""Verify a run, level by level, up to the first that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tseval.shown import counted
from tseval.verifying.claim import claim_of_run
from tseval.verifying.recompute import check_plausible, knows_factors, recompute
from tseval.verifying.report import Check, Verification, VerifyLevel, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.scoring.protocol import Model


def verify_run(
    path: str | Path,
    *,
    suite: str | None = None,
    model: Model | None = None,
    share: float = 0.01,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Verify a run.

    Args:
        path: Its directory.
        suite: Where its suite is; None for the name that it states.
        model: To be asked again; None asks none, so that the level `plausible` is the highest.
        share: Of the sentences that the model is asked about, chosen by hash; 1 for all.
        progress: Called with the numbers of sentences done and of all, while the model is asked.

    Raises:
        RunError: There is no run.
        SuiteError: Its suite is not here.
        ModelError: The model cannot be asked.
    """
    path = Path(path)
    what = "unread"
    level: VerifyLevel = "whole"
    checks: list[Check] = []

    def holds(found: str) -> None:
        checks.append(Check(level, True, found))

    try:
        claim = claim_of_run(path)
        what = f"{claim.key.model} on {claim.key.suite}"
        holds(f"manifest, seal and {counted(len(claim.manifest.files), 'file')}")
        level = "recomputed"
        again = recompute(claim, suite)
        follows = (
            f"{counted(len(claim.sentences), 'sentence')}, {counted(again.verdicts.num_rows, 'verdict')}"
        )
        if n_too_long := claim.manifest.counts.too_long:
            follows += f" ({n_too_long:,} said to be too long for the model)"
        unsaid = "" if knows_factors(claim) else "; what items share is not said, as in old runs"
        holds(f"{follows}, {counted(len(claim.tables), 'table')} from suite and evidence{unsaid}")
        level = "plausible"
        holds(check_plausible(claim, again))
        if model is not None:
            from tseval.verifying.rescore import rescore  # noqa: PLC0415 - brings torch along

            level = "rerun" if share >= 1 else "rescored"
            holds(rescore(claim, again, model, share, progress))
    except Wrong as wrong:
        checks.append(Check(level, False, str(wrong)))
    return Verification(str(path), what, tuple(checks))
