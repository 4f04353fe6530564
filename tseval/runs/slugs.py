"""Names for other tools: lower-case letters, digits and underscores."""

from __future__ import annotations

import re


def slug(name: str) -> str:
    """Return a name in lower-case letters, digits and underscores."""
    return re.sub(r"\W+", "_", name.lower()).strip("_")
