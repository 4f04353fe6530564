"""Check the changes of a pull request to a repository of boards, and list new entries for maintainers."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from tabulate import tabulate

from tseval.analysis.means import cut
from tseval.boards.check import board_suite, repeated, warnings_of, wrong_with_entry
from tseval.boards.definition import read_definition
from tseval.boards.entry_folders import ENTRY_FOLDERS, entry_folders, readable_entries
from tseval.boards.maintainer import read_checks
from tseval.boards.readme import ACCURACIES
from tseval.errors import BoardError, shortened
from tseval.git import has_git, opened_repository
from tseval.report.published import read_board
from tseval.report.writers.markdown import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.boards.entry import Entry, EntryRow
    from tseval.git import Repository
    from tseval.report.published import RowKey


@dataclass
class Changes:
    """The changes of a pull request.

    `entries` has the new entries of each board. `wrong` lists forbidden changes and false statements.
    `warnings` are for the maintainer.
    """

    entries: dict[Path, list[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def check_changes(boards: Sequence[Path], base: str) -> Changes:
    """Check the entries that were added since a commit, and list all other changes.

    Raises:
        BoardError: The commit does not exist, or is no ancestor of the commit that is checked out.
    """
    if not has_git():
        raise BoardError(
            "--changed compares with a commit of git, but the program git is not installed.\n"
            "  Install git, or leave out --changed to check the whole leaderboard."
        )
    with opened_repository(boards[0]) as repository:
        if repository is None:
            raise BoardError(
                f"{boards[0]} is not in a git repository, so --changed has no commit to compare with.\n"
                "  Leave out --changed to check the whole leaderboard."
            )
        changes = _changes(repository, boards, base)
    for board, names in changes.entries.items():
        _check_entries(board, names, changes)
    changes.wrong = [shortened(problem) for problem in changes.wrong]
    return changes


def _changes(repository: Repository, boards: Sequence[Path], base: str) -> Changes:
    """List the changes since a commit."""
    git, root = repository.ask, repository.root
    named = "rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}"
    commit = git(*named, may_fail=True).strip()
    if not commit:
        raise BoardError(
            f"--changed: this git repository has no commit {base!r}.\n"
            "  Fetch the commit with all history, git fetch --unshallow origin, or name another commit."
        )
    if git("merge-base", commit, "HEAD", may_fail=True).strip() != commit:
        raise BoardError(
            f"--changed: the current commit does not contain the commit {base}.\n"
            f"  Merge {base} first, or name the last commit that both share, which this command prints: "
            "git merge-base HEAD " + base
        )
    plain = "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "-z"
    changed = git("diff", *plain, "--ignore-submodules=all", commit, "--").split("\0")
    # Of a repository inside this one, only the index is compared: git would obey that repository's settings.
    changed += git("diff", *plain, "--ignore-submodules=none", "--cached", commit, "--").split("\0")
    changed += git("ls-files", "--others", "--exclude-standard", "-z").split("\0")
    changes = Changes()
    boards_by_folder = {
        board.resolve().relative_to(root.resolve()) / ENTRY_FOLDERS: board for board in boards
    }
    at_base = {folder: set(_entries_at(repository, commit, folder.as_posix())) for folder in boards_by_folder}
    for path in sorted({*filter(None, changed)}):
        folder = next((key for key in boards_by_folder if path.startswith(f"{key.as_posix()}/")), None)
        name = "" if folder is None else path.removeprefix(f"{folder.as_posix()}/").partition("/")[0]
        if folder is None:
            changes.wrong.append(
                f"changes {path}, but a submission may only add new folders {ENTRY_FOLDERS}/NAME"
            )
        elif name in at_base[folder]:
            changes.wrong.append(f"changes {path}, which belongs to an entry that exists already")
        elif name not in (names := changes.entries.setdefault(boards_by_folder[folder], [])):
            names.append(name)
    return changes


def _check_entries(board: Path, names: Sequence[str], changes: Changes) -> None:
    definition = read_definition(board)
    suite = None if definition.published else board_suite(board)
    folders = {folder.name: folder for folder in entry_folders(board)}
    new = [folders[name] for name in names if name in folders]
    n_before = len(changes.wrong)
    for folder in new:
        problems = wrong_with_entry(folder, definition, suite)
        changes.wrong += [f"{folder.name}: {problem}" for problem in problems]
    retracted = read_checks(board).retracted
    unchanged = [folder for name, folder in folders.items() if name not in retracted and folder not in new]
    changes.wrong += repeated([*unchanged, *new])
    if len(changes.wrong) == n_before:
        changes.warnings += warnings_of(board, names)


def _entries_at(repository: Repository, commit: str, folder: str) -> list[str]:
    listed = repository.ask("ls-tree", "-z", "--name-only", commit, f"{folder}/").split("\0")
    return [path.rpartition("/")[2] for path in listed if path]


def summary(changes: Changes) -> str:
    """Return the problems as Markdown, and a table of each new entry with its neighbours by mean accuracy."""
    return "\n\n".join(_summary(changes)) + "\n"


def _summary(changes: Changes) -> Iterator[str]:
    if changes.wrong:
        yield "**This cannot be merged yet:**"
        yield "\n".join(f"- {markdown(line)}" for line in changes.wrong)
    for board, names in changes.entries.items():
        title = read_definition(board).title
        yield f"**{markdown(title)}**, new: {', '.join(markdown(name) for name in names)}"
        if not changes.wrong:
            for entry in readable_entries(board / ENTRY_FOLDERS / name for name in names):
                yield _with_neighbours(board, entry)
    if not changes.entries and not changes.wrong:
        yield "No new entry."
    if changes.warnings:
        yield "**Please look at:**"
        yield "\n".join(f"- {markdown(line)}" for line in changes.warnings)


def _with_neighbours(board: Path, entry: Entry) -> str:
    """Make a table of an entry, the two models above it and the two models below it."""
    of_entry = {row.key: _accuracy(row) for row in entry.rows}
    columns: dict[str, Mapping[RowKey, Fraction | None]] = {entry.name: of_entry}
    if (board / ACCURACIES).is_file():
        published = read_board(board)
        for model in published.models:
            texts = ((row.key, row.accuracy.get(model.name)) for row in published.rows)
            columns.setdefault(model.name, {key: Fraction(text) for key, text in texts if text})
    means = {name: _mean([accuracies.get(key) for key in of_entry]) for name, accuracies in columns.items()}
    ranked = sorted((name for name in means if means[name] is not None), key=lambda name: -(means[name] or 0))
    position = ranked.index(entry.name) if entry.name in ranked else 0
    neighbours = ranked[max(0, position - 2) : position + 3] or [entry.name]
    lines = []
    for key in of_entry:
        label = " / ".join(markdown(part) for part in key if part)
        lines.append([label, *(_printed(columns[name].get(key)) for name in neighbours)])
    lines.append(["mean over all rows", *(_printed(means[name]) for name in neighbours)])
    ranks = [1 + sum((means[rival] or 0) > (means[name] or 0) for rival in ranked) for name in neighbours]
    lines.append([f"rank, of {len(ranked)}", *map(str, ranks)])
    heads = [f"**{markdown(name)}**" if name == entry.name else markdown(name) for name in neighbours]
    align = ("left", *["right"] * len(neighbours))
    return tabulate(lines, headers=["", *heads], tablefmt="pipe", colalign=align, disable_numparse=True)


def _accuracy(row: EntryRow) -> Fraction | None:
    decided = row.n_items - row.n_undecidable
    return Fraction(row.n_correct, decided) if decided else None


def _mean(values: Sequence[Fraction | None]) -> Fraction | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers, Fraction(0)) / len(numbers) if numbers and len(numbers) == len(values) else None


def _printed(value: Fraction | None) -> str:
    return "–" if value is None else f"{float(cut(value, 3)):.3f}"
