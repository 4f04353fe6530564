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
    """The topic of a page: its title, texts, commands and links.

    `verify` is the command that recomputes every number, and `rescore` the command that scores a sample with
    the models. `submit` has the commands that submit a model. `cited` are fields of the BibTeX entry.
    `retracted` are retracted entries. `waiting` are entries of the previous board without a run on this one.
    `beside` describes the previous or next board, with its address. `lacking` says why there are no items.
    `files` are downloads next to the page, by address; pairs of models are then compared on separate pages.
    `curves` are the learning curves of the checkpoints' trainings. If the page has several suites, `at` is
    the prefix of names.
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
    """Return the topic of a board's page, from its definition or from a board with only accuracies."""
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
                label: f"../{Path(path).name}/index.html"
                for label, path in (
                    ("Archived; the suite has a newer version", definition.renewed_by),
                    ("For a new version of the suite; earlier", definition.renews),
                )
                if path is not None
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
    """Return the commands that submit a model; empty if the board accepts no runs."""
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
    """Return the fields of a board's BibTeX entry: maintainer, year, address and version."""
    with opened_repository(board) as repository:
        output = ""
        if repository is not None:
            path = board.resolve().relative_to(repository.root).as_posix()
            output = repository.ask(
                "log",
                "-1",
                "--no-show-signature",
                "--format=%H %cs",
                "--",
                f":(literal,top){path}",
                may_fail=True,
            )
    commit, _, day = output.strip().partition(" ")
    return {
        "author": " and ".join(definition.authors) or None,
        "year": day[:4] or None,
        "url": definition.address,
        "version": commit[:12] or None,
    }
