"""The error, with advice, for a loss or gradient that is not finite."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tseval.errors import TrainingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.models.network import Network


TRY = "Lower --learning-rate or --clip."


def remedy(model: Network) -> str:
    """Return advice after a divergence: the advice of the cell, if any, and general advice."""
    advice = model.cells[0].advice
    return TRY if advice is None else f"{advice}\n  Otherwise: {TRY}"


def check_finite(model: Network, values: Sequence[float], place: str) -> None:
    """Stop a training whose loss or gradient norm is not finite."""
    for name, value in zip(("loss", "norm of the gradient"), values, strict=True):
        if not math.isfinite(value):
            advice = remedy(model)
            raise TrainingError(
                f"the {name} became {value} (not a finite number) in {place} of the training.\n"
                f"  {advice}\n  If there is an earlier checkpoint, tseval keeps it."
            )
