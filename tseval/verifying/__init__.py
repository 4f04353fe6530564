"""Verify runs: files intact, numbers recomputed, numbers possible, and scores confirmed by the model."""

from tseval.verifying.levels import VERIFY_LEVELS, Verification, VerifyLevel
from tseval.verifying.run import verify_run

__all__ = ["VERIFY_LEVELS", "Verification", "VerifyLevel", "verify_run"]
