"""Download published data sets, and check them by their digests."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.downloads import DownloadError, download
from tseval.errors import SuiteError, shortened
from tseval.files import data_folder, limits
from tseval.processes import find_program
from tseval.suites.data.catalogue import CATALOGUE
from tseval.suites.data.suite import DataSuite
from tseval.suites.opened import Request, Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tseval.suites.data.catalogue import Commit, Published


_TIMES = 12  # factor on the usual deadline: the addresses are trusted and the files large
TIMEOUT = 30  # seconds without an answer


def fetch_suite(name: str, progress: Callable[[int, int], None] | None = None) -> str:
    """Download a published set (`fetch_files`), and return its digest."""

    def digest_of(folder: Path, columns: Mapping[str, str]) -> str:
        return DataSuite(Request(folder, folder, columns=columns)).load(Selection()).digest

    return fetch_files(name, CATALOGUE[name], data_folder() / name, digest_of, progress)


def fetch_files(
    name: str,
    published: Published,
    folder: Path,
    digest_of: Callable[[Path, Mapping[str, str]], str],
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """Download the files of a data set into a folder, which appears only when all are present and checked.

    `digest_of` computes the digest of the suite in a folder, given its columns; the digest is returned.
    `progress` gets the number of finished files and the number of all files.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}-") as temporary:
        # The inner folder has the name of the set, because a suite is named after its folder.
        part = Path(temporary) / name
        part.mkdir()
        try:
            if progress:
                progress(0, len(published.files) or published.n_cases)
            files, get = _sources(published, Path(temporary) / "git")
            for n_done, (file, place) in enumerate(files.items(), start=1):
                get(place, part / file)
                if progress:
                    progress(n_done, len(files))
        except _NoAnswerError as error:
            advice = _by_other_means(published, folder)
            raise SuiteError(f"tseval cannot fetch {name}: {error}.\n  Try again later. {advice}") from None
        digest = digest_of(part, published.columns)
        if published.digest not in {None, digest}:
            data_digest, expected = digest[:12], str(published.digest)[:12]
            raise SuiteError(
                f"{name}: the data from {place} are not the published set. Their digest is {data_digest}, "
                f"but the published digest is {expected}.\n"
                "  tseval deleted the data. Try again later."
            )
        if folder.exists():
            shutil.rmtree(folder)
        part.rename(folder)
    return digest


def _by_other_means(published: Published, folder: Path) -> str:
    """Return advice on how to get the files without a network."""
    files = [
        place if place.endswith(f"/{name}") else f"{place} as {name}"
        for name, place in published.files.items()
    ]
    inside = f"the content of {published.folder}" if published.folder else ""
    sources = [*filter(None, [inside, *files[:2]]), *([f"and {len(files) - 2} more"] if files[2:] else [])]
    at = f" of commit {published.source.id}" if published.source else ""
    digest = f"; its digest must be {published.digest[:12]}" if published.digest else ""
    return f"Without a network, copy into {folder}\n  {', '.join(sources)}{at}{digest}."


class _NoAnswerError(Exception):
    """A file could not be downloaded."""


def _download(address: str, path: Path) -> None:
    try:
        with path.open("wb") as file:
            download(address, file, limits().file_bytes, _TIMES * limits().download_seconds, is_ours=True)
    except (DownloadError, OSError) as error:  # no address, no answer in time, no room
        raise _NoAnswerError(f"{address} does not answer ({error})") from None


def _sources(published: Published, clone: Path) -> tuple[Mapping[str, str], Callable[[str, Path], object]]:
    """Return the files with their places, and a function that copies one to a path.

    Git identifies everything that it fetches by checksums of the content, up to the commit. So all files
    under the commit's id come from its authors.
    """
    source, folder = published.source, published.folder
    if source is None:
        return published.files, _download
    git = partial(_git, source, "--git-dir", str(clone))
    git("init", "--quiet", "--bare")
    git("remote", "add", "origin", source.repository)
    # If the server supports it, only the needed files are downloaded.
    git("fetch", "--depth=1", "--filter=blob:none", "origin", source.id)
    entries = git("ls-tree", "-rz", source.id).decode().split("\0")
    ids = {
        place: description.split()[2]
        for description, tab, place in (entry.partition("\t") for entry in entries)
        if tab
    }

    def bring(places: Iterable[str]) -> None:
        objects = git("rev-list", "--objects", "--missing=print", source.id).decode().splitlines()
        absent = {f"?{ids[place]}" for place in places} & {*objects}
        if absent:
            git("fetch", "origin", *(missing[1:] for missing in absent))

    def content(place: str) -> bytes:
        return git("cat-file", "blob", ids[place])

    if folder is not None and folder.endswith((".tar.gz", ".zip")):
        bring([folder])
        texts = _unpacked(folder, content(folder))
        return _named(published, texts), lambda place, path: path.write_bytes(texts[place])
    inside = [place for place in ids if folder is not None and place.startswith(f"{folder}/")]
    files = _named(published, inside)
    bring(files.values())
    return files, lambda place, path: path.write_bytes(content(place))


def _unpacked(name: str, packed: bytes) -> dict[str, bytes]:
    """Return the files of an archive."""
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        opened = {info.name: archive.extractfile(info) for info in archive if info.isfile()}
        return {name: file.read() for name, file in opened.items() if file is not None}


def _named(published: Published, places: Iterable[str]) -> dict[str, str]:
    """Name files as the set does, or as in their folder; leave out hidden files and folders."""
    renamed = {*published.files.values()}
    names = {place.rpartition("/")[2]: place for place in places if place not in renamed}
    others = {name: place for name, place in names.items() if name and not name.startswith(".")}
    return {**others, **published.files}


def _git(source: Commit, *arguments: str) -> bytes:
    limits = ["-c", "http.lowSpeedLimit=1", "-c", f"http.lowSpeedTime={TIMEOUT}"]
    if (program := find_program("git")) is None:
        raise _NoAnswerError(
            f"the data are in the git repository {source.repository}, but git is not installed"
        )
    try:
        result = subprocess.run(  # noqa: S603 - addresses are ours
            [program, *limits, *arguments],
            capture_output=True, check=True, env=os.environ | {"GIT_TERMINAL_PROMPT": "0"},
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        explanation = shortened(" ".join(error.stderr.decode(errors="replace").split()), 120)
        raise _NoAnswerError(
            f"tseval cannot get the commit {source.id[:12]} from {source.repository} ({explanation})"
        ) from None
    return result.stdout
