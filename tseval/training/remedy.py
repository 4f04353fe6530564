"""What to change when a loss or a gradient is no longer finite."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tseval.models.network import Network

TRY = "Lower --learning-rate or --clip."


def remedy(model: Network) -> str:
    """Say what to change: about the cell, if it is known to diverge with its options, and in general."""
    advice = model.cells[0].advice
    return TRY if advice is None else f"{advice} Otherwise: {TRY}"
