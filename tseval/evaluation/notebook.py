"""A progress bar below the cell of a notebook."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import TYPE_CHECKING

from tseval.errors import plain

if TYPE_CHECKING:
    from collections.abc import Callable


EVERY = 0.2  # seconds between two updates of a bar


def progress_in_notebook(title: str) -> Callable[[int, int], None] | None:
    """Return a function that shows a progress bar below the cell; None outside a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not shell.has_trait("kernel"):
        return None
    from IPython.display import HTML, display  # noqa: PLC0415 - there in a notebook alone

    handle = display(HTML(""), display_id=True)
    last = 0.0

    def show(done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last > EVERY:
            last = time.monotonic()
            text = f"{escape(plain(title))}: {done:,} of {total:,} sentences"
            handle.update(HTML(f'<progress value="{done}" max="{total}"></progress> {text}'))

    return show
