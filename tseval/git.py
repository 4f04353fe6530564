"""Queries to git about an untrusted folder, without running anything that the folder contains.

A repository can name programs that git runs: in its configuration (`core.fsmonitor`, `gpg.program`, filters,
included configurations) and as hooks. So git never opens it directly. Instead, tseval makes a temporary
repository that copies the references and the index, and shares the objects.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import BoardError, plain, shortened
from tseval.files import limits, open_regular, read_bytes
from tseval.processes import find_program

if TYPE_CHECKING:
    from collections.abc import Iterator


SECONDS = 40  # for one answer; a repository may hold a pipe, on which git would wait
_MOST_REFERENCES = 100_000
_REFERENCE_BYTES = 4_096
# The only configuration that is taken over: the hash algorithm, which names no program.
_FORMS = re.compile(rb"^\s*(objectformat)\s*=\s*(sha1|sha256)\s*$", re.IGNORECASE | re.MULTILINE)
_OTHER_REFERENCES = re.compile(rb"^\s*refstorage\s*=\s*(?!files)", re.IGNORECASE | re.MULTILINE)
_OURS = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_ALLOW_PROTOCOL": "",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_PAGER": "cat", "LC_ALL": "C",
}  # fmt: skip
# Repeated as options, because these have precedence over every configuration.
_SETTINGS = ("core.fsmonitor=false", "core.hooksPath=" + os.devnull, "core.untrackedCache=false",
             "log.showSignature=false", "diff.ignoreSubmodules=all", "safe.bareRepository=explicit",
             "submodule.recurse=false", "protocol.allow=never",
             f"core.fileMode={'true' if os.name == 'posix' else 'false'}")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository that answers queries; `root` is the folder with its files."""

    root: Path
    _folder: Path
    _objects: Path
    _program: str

    def ask(self, *words: str, may_fail: bool = False) -> str:
        """Run a git command and return its output; if it fails and `may_fail` is set, return "".

        Raises:
            BoardError: The command took too long, or it failed.
        """
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        command = [self._program, f"--git-dir={self._folder}", f"--work-tree={self.root}", *settings, *words]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= _OURS | {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(self._objects)}
        try:
            result = subprocess.run(  # noqa: S603 - git itself, found on the path; words are ours or behind --
                command, cwd=self.root, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                check=False, timeout=SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise BoardError(
                f"{self.root}: git gave no answer within {SECONDS} seconds.\n"
                "  If the folder or its .git has pipes or very large files, remove them."
            ) from None
        if result.returncode and not may_fail:
            message = shortened(plain(" ".join(result.stderr.decode(errors="replace").split())), 200)
            raise BoardError(
                f"{self.root}: the command git {words[0]} failed in this repository "
                f"({message}).\n"
                "  Make a new clone of the repository, in another folder."
            )
        return result.stdout.decode(errors="surrogateescape") if result.returncode == 0 else ""


@contextmanager
def opened_repository(folder: Path) -> Iterator[Repository | None]:
    """Open the repository that contains a folder; None if there is none, or git is not installed.

    Raises:
        BoardError: Its references cannot be read, or have a format that tseval does not support.
    """
    program, places = find_program("git"), _find_repository(folder.resolve())
    if program is None or places is None:
        yield None
        return
    root, git_folder, common = places
    with tempfile.TemporaryDirectory(prefix="tseval-git-") as name:
        copy_folder = Path(name) / "git"
        try:
            _copied(git_folder, common, copy_folder)
        except OSError as error:
            raise BoardError(
                f"{git_folder}: tseval cannot read this file of git ({error.strerror or error}).\n"
                "  Make a new clone of the repository, in another folder."
            ) from None
        yield Repository(root, copy_folder, common / "objects", program)


def has_git() -> bool:
    """Return whether git is installed."""
    return find_program("git") is not None


def _find_repository(folder: Path) -> tuple[Path, Path, Path] | None:
    """Find the root of a repository, its git directory, and the directory shared with other worktrees.

    Only a `.git` counts: a folder that itself looks like a bare repository is data.
    """
    for root in (folder, *folder.parents):
        git_folder = root / ".git"
        if git_folder.is_file():  # of a worktree or a submodule
            with suppress(OSError, ValueError):
                text = read_bytes(git_folder, "grammar_bytes")[:_REFERENCE_BYTES].decode()
                git_folder = (
                    root / text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else git_folder
                )
        if not (git_folder / "HEAD").is_file():
            continue
        common = git_folder
        with suppress(OSError, ValueError):
            common = (
                git_folder
                / read_bytes(git_folder / "commondir", "grammar_bytes")[:_REFERENCE_BYTES].decode().strip()
            )
        return root, git_folder, common
    return None


def _copied(own: Path, common: Path, ours: Path) -> None:
    """Make a repository with the references and the index of another one."""
    config = b""
    with suppress(OSError):
        config = read_bytes(common / "config", "grammar_bytes")
    if _OTHER_REFERENCES.search(config):
        raise BoardError(
            f"{common}: this repository stores its branches and tags in a format that tseval cannot read.\n"
            "  Clone the repository again in the usual format: git clone --ref-format=files ADDRESS"
        )
    form = _FORMS.search(config)
    extension = b"\trepositoryformatversion = 1\n[extensions]\n\t%b = %b\n" % form.groups() if form else b""
    for name in ("objects", "refs", "info"):
        (ours / name).mkdir(parents=True)
    (ours / "config").write_bytes(
        b"[core]\n\tbare = false\n" + (extension or b"\trepositoryformatversion = 0\n")
    )
    _copy(own / "HEAD", ours / "HEAD", _REFERENCE_BYTES)
    for place, name in (
        (own, "index"),
        (common, "packed-refs"),
        (common, "shallow"),
        (common, "info/exclude"),
    ):
        with suppress(FileNotFoundError, NotADirectoryError):
            _copy(place / name, ours / name, limits().document_bytes)
    for part in own.glob("sharedindex.*"):
        _copy(part, ours / part.name, limits().document_bytes)
    for place in dict.fromkeys((common, own)):
        _copy_references(place / "refs", ours / "refs")


def _copy_references(theirs: Path, ours: Path) -> None:
    """Copy loose references. Links and long files are no references and are skipped."""
    count = 0
    for folder, folders, names in os.walk(theirs):
        place = ours / os.path.relpath(folder, theirs)
        place.mkdir(exist_ok=True)
        count += len(folders) + len(names)
        if count > _MOST_REFERENCES:
            raise BoardError(
                f"{theirs}: the repository has more than {_MOST_REFERENCES:,} references (branches and "
                "tags), too many for tseval.\n"
                "  Delete old branches and tags, or make a new clone, in another folder."
            )
        for name in names:
            with suppress(OSError):
                _copy(Path(folder, name), place / name, _REFERENCE_BYTES)


def _copy(theirs: Path, ours: Path, longest: int) -> None:
    """Copy a regular file of limited size, with its time, by which git detects changed files."""
    with open_regular(theirs) as file:
        content = file.read(longest + 1)
    if len(content) > longest:
        raise BoardError(
            f"{theirs}: this file of git has more than {longest:,} bytes, so it may be damaged.\n"
            "  Make a new clone of the repository, in another folder."
        )
    ours.write_bytes(content)
    shutil.copystat(theirs, ours)


def _quoted(path: Path) -> str:
    """Quote the path of a folder of objects for git's environment variable."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"') if os.name == "posix" else str(path)
    return f'"{text}"' if os.name == "posix" else text
