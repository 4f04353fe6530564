"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PARTIAL = ".partial"


def write_whole(path: Path, content: bytes | memoryview | Callable[[IO[bytes]], object]) -> None:
    """Write a file so that a reader finds the old one or the new one, even after a power cut.

    It is written beside its place and moved there. A partial file that a kill left behind is overwritten
    by the next attempt.

    Args:
        path: Where to write.
        content: The bytes, or a function that writes them into an open file.

    Raises:
        OSError: Nothing was written, and no partial file stays; the error names `path`.
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def sync_directory(path: Path) -> None:
    """Make renames in a directory last."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
