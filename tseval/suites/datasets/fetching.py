"""Download a published data set, whole or not at all, and hold it to what it must contain."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tseval.suites.datasets.catalogue import Commit, Published

TIMEOUT = 30  # seconds without an answer
PIECE = 2**16
OTHERWISE = "Where there is no network, bring the files by other means and name their folder: --suite DIR."


def fetch_files(
    name: str,
    published: Published,
    folder: Path,
    digest_of: Callable[[Path], str],
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """Download the files of a data set into a folder of its own.

    Args:
        name: Of the data set.
        published: Where its files are, and what they must be.
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
        try:
            if progress:
                progress(0, len(published.files) or published.n_cases)
            files, get = _sources(published, Path(made) / "git")
            for done, (file, place) in enumerate(files.items(), start=1):
                get(place, part / file)
                if progress:
                    progress(done, len(files))
        except _NoAnswerError as error:
            raise SuiteError(f"{name} cannot be fetched: {error}.\n  {OTHERWISE}") from None
        digest = digest_of(part)
        if published.digest not in {None, digest}:
            raise SuiteError(
                f"{name}: what came from {place} is not the published set: its digest is {digest[:12]}, "
                f"not {str(published.digest)[:12]}.\n  Nothing was kept. Try again later."
            )
        if folder.exists():
            shutil.rmtree(folder)
        part.rename(folder)
    return digest


class _NoAnswerError(Exception):
    """A file did not come."""


def _download(address: str, path: Path) -> None:
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as answer, path.open("wb") as file:  # noqa: S310 - addresses are ours
            while piece := answer.read(PIECE):
                file.write(piece)
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise _NoAnswerError(f"{address} does not answer ({reason})") from None


def _sources(published: Published, clone: Path) -> tuple[Mapping[str, str], Callable[[str, Path], None]]:
    """Say which files there are and where, and give what puts one into its place.

    Git names all that it fetches by checksums over the content, from the files up to the commit: whatever
    is found under the commit's id is what its authors put there.
    """
    source, folder = published.source, published.folder
    if source is None:
        return published.files, _download
    _git(source, "init", "--quiet", "--bare", str(clone))
    _git(source, "--git-dir", str(clone), "fetch", "--depth=1", source.repository, source.id)

    def content(place: str) -> bytes:
        return _git(source, "--git-dir", str(clone), "cat-file", "blob", f"{source.id}:{place}")

    if folder is None:
        return published.files, lambda place, path: _write(path, content(place))
    if folder.endswith(".tar.gz"):
        with tarfile.open(fileobj=io.BytesIO(content(folder))) as archive:
            held = {info.name: archive.extractfile(info) for info in archive if info.isfile()}
            texts = {name: file.read() for name, file in held.items() if file is not None}
        return _by_name(texts), lambda place, path: _write(path, texts[place])
    listed = _git(source, "--git-dir", str(clone), "ls-tree", "-z", "--name-only", f"{source.id}:{folder}")
    names = [f"{folder}/{name}" for name in listed.decode().split("\0") if name]
    return _by_name(names), lambda place, path: _write(path, content(place))


def _by_name(places: Iterable[str]) -> dict[str, str]:
    """Name files as they are called in their folder; hidden ones are left out."""
    names = {place.rpartition("/")[2]: place for place in places}
    return {name: place for name, place in names.items() if not name.startswith(".")}


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _git(source: Commit, *arguments: str) -> bytes:
    limits = ["-c", "http.lowSpeedLimit=1", "-c", f"http.lowSpeedTime={TIMEOUT}"]
    try:
        result = subprocess.run(  # noqa: S603 - addresses are ours
            ["git", *limits, *arguments],  # noqa: S607 - the git of the user's path
            capture_output=True, check=True, env=os.environ | {"GIT_TERMINAL_PROMPT": "0"},
        )  # fmt: skip
    except FileNotFoundError:
        raise _NoAnswerError(
            f"it stands in a repository, {source.repository}, and git is not installed"
        ) from None
    except subprocess.CalledProcessError as error:
        reason = " ".join(error.stderr.decode(errors="replace").split())
        raise _NoAnswerError(
            f"{source.repository} does not give commit {source.id[:12]} ({reason})"
        ) from None
    return result.stdout
