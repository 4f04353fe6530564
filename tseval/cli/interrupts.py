"""Handle the signals that stop a command, and print how to continue."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from tseval.errors import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def ended_in_order(out: Path) -> Iterator[None]:
    """Treat SIGTERM and a closed terminal like Ctrl-C, and print how to continue."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Under nohup, SIGHUP must stay ignored.
    handlers = {n: signal.signal(n, interrupt) for n in numbers if signal.getsignal(n) is not signal.SIG_IGN}
    try:
        yield
    except KeyboardInterrupt:
        click.echo(
            shortened(f"\ntseval saved the finished runs in {out}. To continue, repeat the same command."),
            err=True,
        )
        raise
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
