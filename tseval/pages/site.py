"""The folder that the page of a board stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.boards import ENTRY_FOLDERS
from tseval.errors import BoardError
from tseval.files import write_text

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

GENERATOR = '<meta name="generator" content="tseval">'


def claim_site(site: Path) -> None:
    """Make sure that a page may be written into a folder.

    Raises:
        BoardError: It holds something that is no page of ours, or cannot be made.
    """
    index = site / "index.html"
    try:
        if site.is_dir() and any(site.iterdir()) and not (index.is_file() and _is_ours(index)):
            raise BoardError(f"{site} holds what is no page of tseval.\n  Name a new folder for the page.")
        site.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BoardError(
            f"{site} cannot be written into: {error.strerror or error}.\n  Name another folder."
        ) from None


def write_entry_page(path: Path, text: str) -> None:
    """Write the page of an entry, but over no file of others.

    Raises:
        BoardError: There is one.
        RunError: It cannot be written.
    """
    if path.exists() and not _is_ours(path):
        raise BoardError(f"{path} is no page of tseval.\n  Move it away, or name a new folder for the page.")
    path.parent.mkdir(exist_ok=True)
    write_text(path, text)


def remove_former(site: Path, files: Collection[str]) -> None:
    """Remove pages of entries that are no longer there."""
    for path in (site / ENTRY_FOLDERS).glob("*.html"):
        if f"{ENTRY_FOLDERS}/{path.name}" not in files and _is_ours(path):
            path.unlink()


def _is_ours(page: Path) -> bool:
    with page.open(encoding="utf-8", errors="replace") as file:
        return GENERATOR in file.read(4096)
