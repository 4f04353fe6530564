"""Errors about damaged or hostile files; each message ends with advice."""

from __future__ import annotations

from tseval.errors import ModelError


def damaged(problem: str) -> ModelError:
    """Return the error for a damaged file."""
    return ModelError(f"{problem}.\n  Copy or download the file again.")


def refused(problem: str) -> ModelError:
    """Return the error for a file that is not safe to read."""
    return ModelError(
        f"{problem}.\n"
        "  Save the weights alone: torch.save(model.state_dict(), FILE). Or download the file again."
    )
