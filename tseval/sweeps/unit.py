"""A unit of work: one model on one suite, which gives one run directory."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from tseval.questions.scores import Score  # noqa: TC001 - the type of a field that is checked


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
        stem = self.suite.rpartition(":")[0]
        files = [_files(path) for path in (self.model, self.model.partition(":")[2], self.suite, stem)]
        content = json.dumps([version("tseval"), asdict(self), files])
        return hashlib.sha256(content.encode(errors="surrogateescape")).hexdigest()


def _files(name: str) -> list[tuple[str, int, int]]:
    """Give names, sizes and times of a file, or of the files of a folder; nothing where a name is no path."""
    try:
        path = Path(name)
        if not name or not path.exists():
            return []
        files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
        found = [(os.fspath(one), one.stat()) for one in files]
        return [(one, status.st_size, status.st_mtime_ns) for one, status in found]
    except OSError:
        return []
