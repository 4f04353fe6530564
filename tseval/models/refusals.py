"""Errors about files that are damaged or hostile; each ends with what the user can do."""

from __future__ import annotations

from tseval.errors import ModelError


def damaged(problem: str) -> ModelError:
    """Return the error about a file whose bytes changed."""
    return ModelError(f"{problem}.\n  Copy or download the file again.")


def refused(problem: str) -> ModelError:
    """Return the error about a file that tseval does not read because reading it is not safe."""
    return ModelError(
        f"{problem}.\n"
        "  Save the weights alone: torch.save(model.state_dict(), FILE). Or download the file again."
    )
