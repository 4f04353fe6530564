"""Check what others claim: is it whole, does it follow, can it be, and does the model say so?"""

from tseval.verifying.levels import VERIFY_LEVELS, Verification, VerifyLevel
from tseval.verifying.run import verify_run

__all__ = ["VERIFY_LEVELS", "Verification", "VerifyLevel", "verify_run"]
