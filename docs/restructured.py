"""Text as reStructuredText, which pages that are written at the time of the build are made of."""

from __future__ import annotations

import re

CODE = re.compile(r"(`+[^`]+`+)")
# What reStructuredText would take for markup: h_ (a link), *x (emphasis), |x| (a substitution).
MARKUP = re.compile(r"(?<=\w)_(?!\w)|\*|\|")


def heading(text: str, line: str) -> str:
    """Underline a heading."""
    return f"{text}\n{line * len(text)}\n"


def as_rst(text: str) -> str:
    """Turn Markdown's code into reStructuredText's, and take from all else what would be markup."""
    parts = CODE.split(text)
    parts[::2] = [MARKUP.sub(r"\\\g<0>", plain) for plain in parts[::2]]
    parts[1::2] = [f"``{code.strip('`')}``" for code in parts[1::2]]
    return "".join(parts)
