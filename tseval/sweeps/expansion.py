"""Names that stand for many: braces as in a shell, and patterns of files, in natural order."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)(?:\.\.(\d+))?")
_WILD = re.compile(r"[*?\[]")
MOST = 100_000  # names that one range gives


def expand_braces(text: str) -> list[str]:
    """Write out braces, in order: a list, or a range of whole numbers with its step.

    >>> expand_braces("step{1,2,10}.{a,b}")
    ['step1.a', 'step1.b', 'step2.a', 'step2.b', 'step10.a', 'step10.b']
    >>> expand_braces("step{0..3000..1000}")
    ['step0', 'step1000', 'step2000', 'step3000']

    Raises:
        ValueError: A range has no step, or no end.
    """
    pieces = _BRACES.split(text)  # what stands outside and inside braces, in turn
    choices = [_choices(piece) if i % 2 else [piece] for i, piece in enumerate(pieces)]
    return ["".join(chosen) for chosen in product(*choices)]


def _choices(inside: str) -> list[str]:
    """List what a pair of braces stands for; a single word stands for itself, with its braces."""
    if bounds := _RANGE.fullmatch(inside):
        first, last, step = (int(number) for number in bounds.groups(default="1"))
        if not step or last < first or (last - first) // step >= MOST:
            raise ValueError(f"{{{inside}}} should be {{FIRST..LAST..STEP}}, and go up")
        return [str(number) for number in range(first, last + 1, step)]
    return inside.split(",") if "," in inside else [f"{{{inside}}}"]


def natural_order(text: str) -> list[tuple[int, str]]:
    """Give what to sort by so that numbers come in their order.

    >>> sorted(["step10.pt", "step2.pt"], key=natural_order)
    ['step2.pt', 'step10.pt']
    """
    parts = re.split(r"(\d+)", text)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def matching_files(pattern: str) -> list[tuple[Path, tuple[str, ...]]] | None:
    """Find the files and folders that a pattern stands for, in natural order.

    Args:
        pattern: A path, with wildcards or without; one that exists stands for itself.

    Returns:
        Each path, with its parts from the first wildcard on, which tell it from the others; None where there
        is no wildcard.
    """
    if not _WILD.search(pattern) or Path(pattern).exists():
        return None
    parts = Path(pattern).parts
    wild = next(i for i, part in enumerate(parts) if _WILD.search(part))
    base = Path(*parts[:wild])
    found = sorted(base.glob("/".join(parts[wild:])), key=lambda path: natural_order(str(path)))
    return [(path, path.relative_to(base).parts) for path in found]
