"""Refuse runs that cannot be verified, before a board uses their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.errors import BoardError
from tseval.verifying.run import verify_run

if TYPE_CHECKING:
    from pathlib import Path


def require_verified(path: Path, suite: str | None) -> None:
    """Refuse a run that cannot be verified from its own evidence, without its model."""
    verification = verify_run(path, suite=suite)
    if not verification.ok:
        raise BoardError(
            f"{path} cannot be verified: {verification.checks[-1].found}.\n"
            f"  For details: tseval verify {path}"
        )
