"""Download a published data set, whole or not at all, and hold it to what it must contain."""

from __future__ import annotations

import shutil
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.datasets.catalogue import Published

TIMEOUT = 30.0  # seconds without an answer
PIECE = 2**16


def fetch(
    name: str,
    published: Published,
    folder: Path,
    digest_of: Callable[[Path], str],
    progress: Callable[[int, int], None],
) -> str:
    """Download the files of a data set into a folder of its own.

    Args:
        name: Of the data set.
        published: Where its files are, and the digest of the suite they make up.
        folder: Where to put them; it appears once all are there and checked.
        digest_of: Gives the digest of the suite in a folder.
        progress: Called with the numbers of files done and of all files.

    Returns:
        The digest of the suite.

    Raises:
        SuiteError: An address does not answer, or what came is not the published set; nothing is left behind.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}-") as made:
        # A folder of the set's name inside, since the name of a suite is that of its folder.
        part = Path(made) / name
        part.mkdir()
        for done, (file, address) in enumerate(published.files.items()):
            progress(done, len(published.files))
            _download(name, address, part / file)
        progress(len(published.files), len(published.files))
        digest = digest_of(part)
        if published.digest not in {None, digest}:
            raise SuiteError(
                f"{name}: what came from {address} is not the published set: its digest is {digest[:12]}, "
                f"not {str(published.digest)[:12]}.\n  Nothing was kept. Try again later."
            )
        if folder.exists():
            shutil.rmtree(folder)
        part.rename(folder)
    return digest


def _download(name: str, address: str, path: Path) -> None:
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as answer, path.open("wb") as file:  # noqa: S310 - addresses are ours
            while piece := answer.read(PIECE):
                file.write(piece)
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise SuiteError(
            f"{name} cannot be fetched: {address} does not answer ({reason}).\n"
            "  Where there is no network, bring the files by other means and name their folder: --suite DIR."
        ) from None
