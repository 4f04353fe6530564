"""What a page is over."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.boards import read_checks
from tseval.boards.readme import not_yet_run
from tseval.errors import BoardError
from tseval.git import opened_repository
from tseval.runs.board_suite import SUITE_FOLDER, suite_spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tseval.boards import Retraction
    from tseval.boards.definition import Definition
    from tseval.report.published import Board
    from tseval.web.trajectory import TrainingCurve


@dataclass(frozen=True, slots=True)
class PageTopic:
    """What a page is over, as others wrote it; `verify` works every number out again.

    `rescore` scores a sample with the models, and `submit` are the commands that enter a model. `cited` are
    fields of its BibTeX, `retracted` what was, `waiting` entries of the board that this one renews and has no
    run of; `beside` says what another board of this life is, with its address. `lacking` is why there are no
    items; `files` are what may be downloaded, by address, where that lies beside the page instead of in it:
    pairs of models are then compared on pages of their own. `curves` are those of the trainings whose
    checkpoints are on it; `at` begins the names of its parts if it is one of several suites.
    """

    name: str
    title: str
    command: str
    text: str = ""
    source: str | None = None
    rules: tuple[str, ...] = ()
    verify: str | None = None
    rescore: str | None = None
    submit: tuple[str, ...] = ()
    cited: Mapping[str, str | None] = field(default_factory=dict)
    retracted: Mapping[str, Retraction] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    lacking: str | None = None
    files: Mapping[str, str] | None = None
    curves: tuple[TrainingCurve, ...] = ()
    at: str = ""


def topic_of(folder: Path, definition: Definition | None, published: Board | None) -> PageTopic:
    """Return what the page is over: what the definition says, or else a board of accuracies alone."""
    name = folder.resolve().name
    if definition is not None:
        return PageTopic(
            name=name,
            title=definition.title,
            command=f"tseval table {shlex.quote(name)}",
            text=definition.text,
            source=definition.source,
            rules=definition.rules,
            verify=f"tseval verify {shlex.quote(name)}",
            rescore=None if definition.published else f"tseval board rescore {shlex.quote(name)}",
            submit=_submitting(folder, definition),
            cited=_cited(folder, definition),
            retracted={} if definition.published else read_checks(folder).retracted,
            waiting=tuple(not_yet_run(folder, definition)),
            beside={
                what: f"../{Path(other).name}/index.html"
                for what, other in (
                    ("Archived; the suite has a newer version", definition.renewed_by),
                    ("For a new version of the suite; earlier", definition.renews),
                )
                if other is not None
            },
        )
    if published is None:
        raise BoardError(
            f"{folder} is not a leaderboard.\n"
            f"  If the folder has runs, write a page about them: tseval report {shlex.quote(str(folder))} "
            "-o page.html"
        )
    return PageTopic(
        name=published.name,
        title=published.title,
        command=f"tseval table {shlex.quote(name)}",
        source=published.source,
    )


def _submitting(folder: Path, definition: Definition) -> tuple[str, ...]:
    """Return the commands that enter a model; none if the board takes no runs."""
    if definition.published or definition.renewed_by is not None:
        return ()
    name, suite = folder.resolve().name, definition.suite
    if (copied := Path(name) / SUITE_FOLDER / Path(suite).name) and (folder.parent / copied).exists():
        suite = f"./{copied.as_posix()}"
    elif suite_spec(suite, folder) != suite:
        suite = f"./{os.path.normpath(Path(name) / suite)}"
    clone = () if definition.address is None else (f"git clone {shlex.quote(definition.address)}",)
    return (
        *clone,
        f"tseval run --model MODEL --suite {shlex.quote(suite)} --out runs/mine",
        f"tseval board submit runs/mine {shlex.quote(name)} --weights URL --licence LICENCE "
        "--training-data TEXT --contains-suite no",
    )


def _cited(board: Path, definition: Definition) -> dict[str, str | None]:
    """Return the fields of a board's BibTeX: who keeps it, since when, where, and which state this is."""
    with opened_repository(board) as repository:
        known = ""
        if repository is not None:
            here = board.resolve().relative_to(repository.root).as_posix()
            known = repository.ask(
                "log",
                "-1",
                "--no-show-signature",
                "--format=%H %cs",
                "--",
                f":(literal,top){here}",
                may_fail=True,
            )
    commit, _, day = known.strip().partition(" ")
    return {
        "author": " and ".join(definition.authors) or None,
        "year": day[:4] or None,
        "url": definition.address,
        "version": commit[:12] or None,
    }
