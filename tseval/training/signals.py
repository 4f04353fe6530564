"""Stop a training in order at Ctrl-C or SIGTERM."""

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
    """Hear of Ctrl-C and SIGTERM without being torn out of a window; a second one acts at once.

    Gives a function that tells whether to stop. Outside the main thread, which alone hears of signals,
    it never says so.
    """
    heard: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        if heard:
            raise KeyboardInterrupt
        heard.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(heard)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
