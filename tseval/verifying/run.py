"""Verify a run, level by level."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import counted
from tseval.verifying.claim import claim_of_run
from tseval.verifying.ladder import Ladder
from tseval.verifying.recomputed import recompute, says_what_is_shared

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.scoring.protocol import Model
    from tseval.verifying.levels import Verification


def verify_run(  # noqa: PLR0913 - all that a user may say of a verification
    path: str | Path,
    *,
    suite: str | None = None,
    context: str | None = None,
    model: Model | None = None,
    share: float = 0.01,
    draw: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Verify a run.

    Args:
        suite: Name or path of its suite; None for the name in the run.
        context: Name or path of the source of its contexts; None for the name in the run.
        model: The model that scores again; with None, the level `plausible` is the highest.
        share: The share of sentences that the model scores again; 1 for all.
        draw: The random draw of these sentences, as in a report; None for a new, unpredictable draw.
        progress: Called with the number of sentences done and the number of all, while the model scores.
    """
    return _RunLadder(Path(path), suite, context).climb(model, share, draw, progress)


class _RunLadder(Ladder):
    """A run; its suite is at the given path, or has the name in the run."""

    def __init__(self, path: Path, suite: str | None, context: str | None) -> None:
        super().__init__(path)
        self._suite, self._context = suite, context

    def whole(self) -> str:
        self.claim = claim_of_run(self.path)
        self.what = f"{self.claim.key.model} on {self.claim.key.suite}"
        files = counted(len(self.claim.manifest.files), "file")
        if self.claim.manifest.seal is None:
            return f"manifest and {files}; without a seal, as in old runs"
        return f"manifest, seal and {files}"

    def recomputed(self) -> str:
        claim = self.claim
        self.again = recompute(claim, self._suite, self._context, self.path)
        n_verdicts = counted(self.again.verdicts.num_rows, "verdict")
        description = f"{counted(len(claim.sentences), 'sentence')}, {n_verdicts}"
        if n_too_long := claim.manifest.counts.too_long:
            description += f" ({n_too_long:,} recorded as too long for the model)"
        facts = claim.manifest.suite
        if not facts.complete and facts.sample is None:
            description += f"; only {counted(facts.n_items, 'item')} of the suite"
        if not self.again.are_drawn:
            description += "; contexts as the run has them (to draw them again: --context FILE)"
        records_factors = says_what_is_shared(claim, self.again.suite)
        note = "" if records_factors else "; lexical factors are not recorded, as in old runs"
        if self.again.n_unsaid:
            note += f"; {counted(self.again.n_unsaid, 'half-known contrast')} compared, as in old runs"
        return f"{description}, {counted(len(claim.tables), 'table')} from suite and evidence{note}"
