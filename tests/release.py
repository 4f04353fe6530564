"""The release procedure of docs/releasing.md, executed one time for all tests that check its results."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from filelock import FileLock
from pages import follow

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Release:
    """A checkout in which the page was followed, and the output of its commands by line."""

    folder: Path
    printed: dict[str, str]

    @property
    def wheel(self) -> Path:
        return next(self.folder.glob("dist/*.whl"))

    @property
    def sdist(self) -> Path:
        return next(self.folder.glob("dist/*.tar.gz"))

    @property
    def binaries(self) -> Path:
        """Return the folder of commands in the environment where the wheel is installed."""
        return self.folder / "trial" / "bin"


def walk(shared: Path) -> Release:
    """Follow the page in a copy of the checkout, unless another process of this session has done it."""
    folder, result = shared / "release", shared / "release.json"
    with FileLock(shared / "release.lock"):
        if not result.exists():
            shutil.rmtree(folder, ignore_errors=True)
            check_out(folder)
            walked = follow(ROOT / "docs/releasing.md", folder, environment(shared))
            result.write_text(json.dumps({command.line: command.printed for command in walked}), "utf-8")
    return Release(folder, json.loads(result.read_text("utf-8")))


def check_out(folder: Path) -> None:
    """Copy the checkout, and give the copy the environment that runs the tests, as `make setup` would."""

    for name in checked_in():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
    (folder / ".venv").mkdir()
    for part in Path(sys.prefix).iterdir():
        (folder / ".venv" / part.name).symlink_to(part)
    ready = folder / ".venv" / "ready"
    ready.unlink(missing_ok=True)
    ready.touch()


def checked_in() -> list[str]:
    """List the files of the project: those that git has or would add."""
    # The folder may belong to another user, as in a container.
    git = ["git", "-c", f"safe.directory={ROOT.as_posix()}", "-C", str(ROOT), "ls-files", "-z"]
    listing = subprocess.run(
        [*git, "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=True
    )
    return [name for name in listing.stdout.split("\0") if name and os.path.lexists(ROOT / name)]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment without variables of make and Python; pip uses the installed versions."""
    pins = {f"{found.name}=={found.version}\n" for found in distributions() if found.name != "tseval"}
    (folder / "pins.txt").write_text("".join(sorted(pins)), "utf-8")
    kept = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "PYTHONPATH"}}
    return kept | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PIP_CONSTRAINT": str(folder / "pins.txt"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_COMPILE": "0",  # do not compile all libraries; Python compiles what it imports
    }
