"""A unit of work: one model on one suite, which gives one run directory."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping  # noqa: TC003 - the type of a field that is checked
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from tseval.questions import Score  # noqa: TC001 - the type of a field that is checked

Files = tuple[tuple[str, int, int], ...]  # names, sizes in bytes, times in nanoseconds


@dataclass(frozen=True, slots=True)
class Options:
    """How suites are read and scored, as the options of `tseval run` say; the same for a whole sweep."""

    case: tuple[str, ...] = ()
    limit: int | None = None
    tokenise: bool = False
    cluster: tuple[str, ...] = ()
    score: Score | None = None
    too_long: Literal["skip", "refuse"] = "skip"
    device: str = "auto"
    columns: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class SweepUnit:
    """One model on one suite.

    Attributes:
        name: Of its log and its record; that of its run directory in a sweep from a plan.
        model: As `--model` takes it.
        suite: As `--suite` takes it.
        run: The run directory.
        arguments: As `--model-args` takes them.
        options: How the suite is read and scored.
        train: What comes after `tseval` on the line that makes the model, if it is to be made first.
    """

    name: str
    model: str
    suite: str
    run: str
    arguments: dict[str, str] = field(default_factory=dict)
    options: Options = field(default_factory=Options)
    train: tuple[str, ...] = ()

    def stamp(self) -> str:
        """Digest what the unit is: with the same stamp, and its run there, nothing is left to do.

        Files of model and suite go in by size and time, so that a thousand units are looked at in a second; a
        worker holds the run to digests.
        """
        files = [*self.model_files(), *self.suite_files()]
        content = json.dumps([version("tseval"), asdict(self), files])
        return hashlib.sha256(content.encode(errors="surrogateescape")).hexdigest()

    def model_files(self) -> tuple[Files, ...]:
        """Say which files the model is, as the name stands and without its scheme."""
        return _files(self.model), _files(self.model.partition(":")[2])

    def suite_files(self) -> tuple[Files, ...]:
        """Say which files the suite is, as the name stands and without its method."""
        return _files(self.suite), _files(self.suite.rpartition(":")[0])


def _files(name: str) -> Files:
    """Give names, sizes and times of a file, or of the files of a folder; nothing where a name is no path."""
    try:
        path = Path(name)
        if not name or not path.exists():
            return ()
        files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
        found = [(os.fspath(one), one.stat()) for one in files]
        return tuple((one, status.st_size, status.st_mtime_ns) for one, status in found)
    except OSError:
        return ()
