"""Import much at once, and quit with much in memory, without a search for garbage among it."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def imported_for_good() -> Iterator[None]:
    """Keep the garbage collector from what is imported: now, later, and when Python quits.

    Modules stay until the end, but the collector would look through the half a million objects of torch again
    and again, which takes as long as a third of its import.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def without_collector() -> Iterator[None]:
    """Put the search for garbage off; what has become garbage meanwhile is found afterwards."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
