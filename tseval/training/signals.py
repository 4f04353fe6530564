"""Clean stop of a training at Ctrl-C or SIGTERM."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType


@contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Handle Ctrl-C and SIGTERM after the current window; a second signal acts at once.

    Yields a function that returns whether to stop. Outside the main thread, which alone receives signals, it
    always returns False.
    """
    received: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
