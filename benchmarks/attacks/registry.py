"""The attacks by name, in the order of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    # Makes one attack, drawn at random, in a folder of its own that holds all that `prepared` made.
    # Returns what went wrong; None if tseval survived.
    Make = Callable[[random.Random, Path], str | None]

CHEAP = 10  # times as many of the attacks that are one short command


class NotHereError(Exception):
    """Says why the system does not allow an attack."""


@dataclass(frozen=True)
class Attack:
    """A kind of attack.

    Attributes:
        make: Makes one.
        times: How many for each one of `--size`.
        needs_zoo: Whether its folder must hold a zoo, which takes half a minute to make.
    """

    make: Make
    times: int
    needs_zoo: bool


ATTACKS: dict[str, Attack] = {}


def attack(name: str, cheap: bool = False, needs_zoo: bool = False) -> Callable[[Make], Make]:
    """Put an attack into the table."""

    def register(make: Make) -> Make:
        assert name not in ATTACKS, name
        ATTACKS[name] = Attack(make, CHEAP if cheap else 1, needs_zoo)
        return make

    return register
