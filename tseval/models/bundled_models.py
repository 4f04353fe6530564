"""Look-up of the checkpoints that come with tseval."""

from __future__ import annotations

from pathlib import Path

BUNDLED_CHECKPOINTS = Path(__file__).parent / "bundled"


def bundled_checkpoints() -> dict[str, Path]:
    """Return the checkpoints that come with tseval, by name."""
    return {path.stem: path for path in sorted(BUNDLED_CHECKPOINTS.glob("*.pt"))}
