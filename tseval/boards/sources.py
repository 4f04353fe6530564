"""Open the runs, entries and boards that a user names."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from tseval.boards.definition import read_definition
from tseval.boards.entry import read_entry
from tseval.boards.entry_folders import entry_folders, entry_runs, ranked_folders
from tseval.errors import BoardError, RunError, suggest
from tseval.report.opened import RunSet, for_analysis
from tseval.report.published import BUNDLED_BOARDS, Board, bundled_boards, read_board
from tseval.runs.board_suite import DEFINITION
from tseval.runs.entry import ENTRY_FILE, EVIDENCE
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.reader import read_run
from tseval.runs.search import runs_below

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tseval.runs.run import Run


def open_sources(names: Iterable[str], items: bool = False) -> list[Run | Board]:
    """Open runs and boards; no name may occur twice.

    A name is the path of a run, of an entry, of a board, or of a folder that contains some of these, or the
    name of a board that comes with tseval. If `items` is true, a board of means over seeds is refused.
    """
    names_by_path: dict[str, str] = {}
    sources: list[Run | Board] = []
    for name in names:
        for path, load in _openers(name, items):
            first = names_by_path.setdefault(os.path.realpath(path), name)
            if len(names_by_path) == len(sources):
                reason = "is named twice" if first == name else f"is the same run or leaderboard as {first!r}"
                raise RunError(
                    f"the argument {name!r} {reason}.\n  Name each run and each leaderboard only once."
                )
            sources.append(load())
    return sources


def open_items(names: Sequence[str]) -> list[Run]:
    """Open runs with verdicts for single items. They may have different suites.

    Raises:
        RunError: A name belongs to a leaderboard of published accuracies, which has no items.
    """
    runs = []
    for source in open_sources(names, items=True):
        if isinstance(source, Board):
            raise RunError(
                f"{source.name} is a leaderboard of published accuracies, which has no items to analyse.\n"
                "  Name folders of runs instead."
            )
        runs.append(source)
    return runs


def open_runs(names: Sequence[str], where: Sequence[tuple[str, str]] = (), *, rated: bool = False) -> RunSet:
    """Open runs on one suite, and select the verdicts for an analysis."""
    return for_analysis(open_items(names), where, rated=rated)


def open_references(model: str) -> list[Run]:
    """Open the runs of the reference model, if its name is a folder of runs."""
    path = Path(model)
    return [read_run(run) for run in runs_below(path)[0] or [path]] if path.is_dir() else []


def open_run(path: Path) -> Run:
    """Open the directory of one run, or an entry of a board."""
    sources = open_sources([str(path)])
    if len(sources) != 1 or isinstance(sources[0], Board) or not (path / MANIFEST).is_file():
        raise RunError(
            f"{path} is a folder with several runs, but the command needs a single run.\n"
            "  Name the folder of one run, or of one entry of a leaderboard."
        )
    return sources[0]


def _openers(name: str, items: bool) -> list[tuple[Path, Callable[[], Run | Board]]]:
    """Return the paths of the runs or boards with this name, each with the function that opens it."""
    if not name:
        raise RunError(
            "an argument of the command is empty (''), so it names no run or leaderboard.\n"
            "  Name a run or a leaderboard. If you used a variable of the shell, check that the variable "
            "is set."
        )
    path = Path(name)
    if path.suffix == ".json":
        return [(path, partial(read_board, path))]
    if (path / DEFINITION).is_file():
        return _board(path, items)
    if (path / "board.json").is_file():
        return [(path, partial(read_board, path))]
    if path.exists():
        folders = runs_below(path)[0] or [path]
        if all((folder / ENTRY_FILE).is_file() for folder in folders):
            return _entries(path, folders)
        return [(folder, partial(read_run, folder)) for folder in folders]
    if name in bundled_boards():
        return _openers(str(BUNDLED_BOARDS / name), items)
    raise RunError(
        f"{name!r} is not the folder of a run or a leaderboard.\n"
        f"  Name the folder of a run, or a leaderboard. {suggest(name, bundled_boards(), 'Boards')}"
    )


def boards_below(path: Path) -> list[Path]:
    """List the boards that a folder is or contains, sorted by name; empty if there are none."""
    if (path / DEFINITION).is_file():
        return [path]
    return sorted(file.parent for depth in ("*", "*/*") for file in path.glob(f"{depth}/{DEFINITION}"))


def entries_with_ids(board: Path) -> list[tuple[Path, str]]:
    """List the ranked entries of a board, each with the name DEVELOPER/NAME that stores of results require.

    If the display name has this form, it is used. Otherwise, DEVELOPER is the board's name.
    """
    ids = []
    for folder in ranked_folders(board, read_definition(board)):
        name = read_entry(folder).about.display_name or ""
        ids.append((folder, name if name.count("/") == 1 else f"{board.resolve().name}/{folder.name}"))
    return ids


def _board(path: Path, items: bool) -> list[tuple[Path, Callable[[], Run | Board]]]:
    """Open the entries of a board as runs, or only its accuracies if the board has or shows nothing else."""
    definition = read_definition(path)
    accuracies: list[tuple[Path, Callable[[], Run | Board]]] = [(path, partial(read_board, path))]
    if definition.published or (definition.seeds and not items):
        return accuracies
    folders = ranked_folders(path, definition)
    if not folders:
        raise BoardError(
            f"the leaderboard {path} has no entries yet.\n"
            f"  To add a run: tseval board add {quote(str(path))} RUN"
        )
    if lacks_evidence(path):
        if items:
            raise not_shipped(path)
        return accuracies
    return _entries(path, folders)


def _entries(path: Path, folders: list[Path]) -> list[tuple[Path, Callable[[], Run | Board]]]:
    board = folders[0].resolve().parents[1]
    if read_definition(board).published:
        raise BoardError(
            f"{path} is a part of a leaderboard of published accuracies, whose entries cannot "
            "be printed alone.\n"
            f"  Name the leaderboard: {board}"
        )
    runs = dict(zip(folders, entry_runs(folders), strict=True))
    return [(folder, partial(runs.__getitem__, folder)) for folder in folders]


def lacks_evidence(board: Path) -> bool:
    """Return whether a board comes with tseval, but its evidence is missing (package, or sparse clone)."""
    bundled = BUNDLED_BOARDS.resolve() in board.resolve().parents
    folders = entry_folders(board) if bundled else []
    has_evidence = any((folder / EVIDENCE).exists() or read_entry(folder).evidence for folder in folders)
    return bool(folders) and not has_evidence


def not_shipped(board: Path) -> BoardError:
    """Return the error with the place of a bundled board's evidence."""
    if (BUNDLED_BOARDS.resolve().parent / ".git").exists():
        return BoardError(
            f"{board.name}: the evidence (per-token scores) of this leaderboard is missing in your clone "
            "of the repository.\n"
            "  To fetch the evidence: git sparse-checkout add "
            f"'/leaderboards/{board.name}/entries/*/evidence.parquet'"
        )
    return BoardError(
        f"{board.name}: the evidence (per-token scores) of this leaderboard is too large to be in the "
        "installed package.\n"
        f"  Clone the git repository of tseval, and name the folder leaderboards/{board.name}"
    )
