"""Change a board completely or not at all, even if the process is killed.

A process that changes a board holds its lock. It first writes the new files into a staging folder in the
board. Then it writes a plan of renames into the lock. From then on, the change is certain: if the process
dies, the next process completes the plan. A lock without a plan means that nothing has changed yet; the
staging folder is then removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from shlex import quote
from typing import TYPE_CHECKING, Literal

from tseval.boards.definition import read_definition
from tseval.boards.entry import ENTRY_NAME
from tseval.boards.entry_folders import ENTRY_FOLDERS
from tseval.boards.maintainer import CHECKS
from tseval.boards.readme import BOARD_PAGE, write_pages
from tseval.errors import BoardError, TsevalError
from tseval.files import PARTIAL, remove_lock, sync_directory, take_lock, to_utf8, write_whole
from tseval.formats import ContentError, checked, parse_json
from tseval.runs.board_suite import DEFINITION, SUITE_FOLDER
from tseval.runs.entry import ENTRY_FILE
from tseval.suites import without_cache

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


BOARD_LOCK = ".lock"
STAGING = ".change"  # the staging folder, within the board
_LONGEST_PLAN = 1 << 20
_OF_A_NEW_BOARD = {BOARD_LOCK, ENTRY_FOLDERS, SUITE_FOLDER, BOARD_PAGE}
# The only paths that a plan may change: a stranger may have written the plan.
_OF_A_PLAN = re.compile(
    rf"{re.escape(DEFINITION)}|{re.escape(CHECKS)}"
    rf"|{ENTRY_FOLDERS}/{ENTRY_NAME.pattern}(/{re.escape(ENTRY_FILE)})?"
)


@dataclass(frozen=True, slots=True)
class Step:
    """One rename.

    Attributes:
        action: `put` moves a new file to its place, `move` renames an entry, `remove` deletes a path.
        path: Path relative to the board.
        source: Name in the staging folder, or the current path of an entry.
    """

    action: Literal["put", "move", "remove"]
    path: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes that a command makes, and whether it writes the pages again."""

    command: tuple[str, ...]
    steps: tuple[Step, ...]
    pages: bool


@dataclass
class Transaction:
    """A change of a board that is being planned.

    Attributes:
        board: The board.
        command: The user's command.
        completed: The plan of the same command, if it had been interrupted and was completed just now.
    """

    board: Path
    command: tuple[str, ...]
    completed: Plan | None
    _held: int
    _steps: list[Step] = field(default_factory=list)

    def put(self, path: str, content: str | Mapping[str, bytes]) -> None:
        """Plan to write a file or a folder of files, replacing an existing one."""
        source = str(len(self._steps))
        self._staging().mkdir(exist_ok=True)
        if isinstance(content, str):
            write_whole(self._staging() / source, to_utf8(content))
        else:
            write_folder(self._staging() / source, content)
        self._steps.append(Step("put", path, source))

    def move(self, path: str, to: str) -> None:
        """Plan to rename an entry."""
        self._steps.append(Step("move", to, path))

    def remove(self, path: str) -> None:
        """Plan to remove an entry."""
        self._steps.append(Step("remove", path))

    def commit(self, *, pages: bool = True) -> None:
        """Execute the plan, and write the pages."""
        plan = Plan(self.command, tuple(self._steps), pages)
        if self._steps:
            self._staging().mkdir(exist_ok=True)
            sync_directory(self._staging())
        try:
            _write_plan(self._held, plan)
        except OSError:  # an incomplete plan does not count: nothing was changed
            os.ftruncate(self._held, 0)
            raise
        _take_steps(self.board, plan)
        try:
            _write_pages(self.board, plan)
        except TsevalError:  # a fault of the board stays, so a repetition would not help
            os.ftruncate(self._held, 0)
            raise

    def _staging(self) -> Path:
        return self.board / STAGING


@contextmanager
def board_transaction(board: Path, *command: str) -> Iterator[Transaction]:
    """Lock a board for a change, and first complete an interrupted change.

    Raises:
        BoardError: Another process holds the lock, or a part of the board is a link.
    """
    if links := links_in(board):
        raise BoardError(
            f"{board / links[0]} is a link, through which tseval would write outside the leaderboard.\n"
            "  Replace the link by the file or folder that it leads to."
        )
    lock = board / BOARD_LOCK
    if lock.exists() and not lock.is_file():
        raise BoardError(
            f"{lock} is not a regular file, but tseval needs this path for its lock file.\n  Remove {lock}."
        )
    if (descriptor := take_lock(lock)) is None:
        raise BoardError(
            f"{board} is locked, because another tseval command is changing this leaderboard.\n"
            "  Wait until that command ends, then repeat yours."
        )
    try:
        completed = _completed(board, lock, descriptor, command)
        yield Transaction(board, command, completed, descriptor)
    except BaseException:
        _release_unless_planned(board, lock, descriptor)
        raise
    _remove_staging(board)
    remove_lock(lock, descriptor)


def _completed(board: Path, lock: Path, held: int, command: tuple[str, ...]) -> Plan | None:
    """Complete an interrupted change, or remove its files. Return its plan if the command was the same."""
    plan = _read_plan(held, lock)
    resumed = plan if plan is not None and plan.command == command else None
    wrong = None
    if plan is not None:
        _take_steps(board, plan)
        try:
            _write_pages(board, plan)
        except TsevalError as error:
            wrong = error
    _remove_staging(board)
    os.ftruncate(held, 0)
    if wrong is not None and resumed is not None:  # another command does not need the plan
        raise wrong
    return resumed


def complete_interrupted(board: Path, *command: str) -> Plan | None:
    """Complete an interrupted change. Return its plan if the command was the same."""
    if not is_interrupted(board):
        return None
    with board_transaction(board, *command) as transaction:
        return transaction.completed


def is_interrupted(board: Path) -> bool:
    """Return whether a change of a board is unfinished. Its process may still run."""
    try:
        return (board / STAGING).exists() or (board / BOARD_LOCK).stat().st_size > 0
    except OSError:
        return False


def how_to_complete(board: Path) -> str:
    """Return the sentence that tells the user how to complete an interrupted change."""
    return (
        "an earlier change of the leaderboard was interrupted. To complete this change: tseval board "
        f"write {quote(str(board))}"
    )


def links_in(folder: Path) -> list[str]:
    """Return the names of links in a folder: through them, tseval would read and write elsewhere."""
    return sorted(entry.name for entry in folder.iterdir() if entry.is_symlink())


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a new folder, and delete the remains of a killed process."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    for name, content in files.items():
        write_whole(folder / name, content)


def _write_plan(held: int, plan: Plan) -> None:
    """Write a plan into the lock, with its digest, so that an incomplete plan is recognised."""
    text = json.dumps(asdict(plan)).encode()
    content = text + b"\n" + hashlib.sha256(text).hexdigest().encode()
    os.ftruncate(held, 0)
    os.lseek(held, 0, os.SEEK_SET)
    while content:
        content = content[os.write(held, content) :]
    os.fsync(held)


def _read_plan(held: int, lock: Path) -> Plan | None:
    """Read the plan in a lock; None if there is no complete plan."""
    os.lseek(held, 0, os.SEEK_SET)
    content = b""
    while len(content) <= _LONGEST_PLAN and (chunk := os.read(held, _LONGEST_PLAN)):
        content += chunk
    text, _, expected = content.rpartition(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != expected:
        return None
    try:
        plan = checked(parse_json(text.decode()), Plan)
    except (ValueError, RecursionError, ContentError):
        raise BoardError(f"{lock} is not a lock file that tseval wrote.\n  Remove {lock}.") from None
    for step in plan.steps:
        paths = [step.path, *([step.source] if step.action == "move" else [])]
        is_known = all(_OF_A_PLAN.fullmatch(path) for path in paths)
        if not is_known or (step.action == "put" and not re.fullmatch("[0-9]{1,9}", step.source)):
            raise BoardError(
                f"{lock} lists changes to the leaderboard that tseval never makes, so someone "
                "edited the file.\n"
                f"  Remove {lock}."
            )
    return plan


def _take_steps(board: Path, plan: Plan) -> None:
    """Execute the steps of a plan that are not done yet."""
    staging = board / STAGING
    for number, step in enumerate(plan.steps):
        target, source = board / step.path, staging / step.source
        if step.action == "remove":
            _move_aside(target, staging / f"old-{number}")
        elif step.action == "move":
            if os.path.lexists(board / step.source):
                os.rename(board / step.source, target)
        elif os.path.lexists(source):
            if not _is_file_or_folder(source) or target.parent.is_symlink():
                raise BoardError(
                    f"{source} is a link, but tseval writes only files and folders here.\n  Remove {source}."
                )
            if target.is_dir():
                _move_aside(target, staging / f"old-{number}")
            target.parent.mkdir(exist_ok=True)  # git stores no empty folder
            source.replace(target)
        sync_directory(target.parent)


def _write_pages(board: Path, plan: Plan) -> None:
    if plan.pages:
        with without_cache():
            write_pages(board, read_definition(board))


def _is_file_or_folder(path: Path) -> bool:
    mode = path.lstat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _move_aside(path: Path, to: Path) -> None:
    """Move an old file or folder into the staging folder, which is removed at the end."""
    if not os.path.lexists(path):
        return
    if os.path.lexists(to):
        shutil.rmtree(to)
    to.parent.mkdir(exist_ok=True)
    os.rename(path, to)


def _remove_staging(board: Path) -> None:
    if (board / STAGING).is_dir():
        shutil.rmtree(board / STAGING)


def _release_unless_planned(board: Path, lock: Path, held: int) -> None:
    """Release a board. Without a plan, the change is undone; with a plan, the lock stays."""
    if os.fstat(held).st_size == 0:
        with suppress(OSError):
            _remove_staging(board)
        remove_lock(lock, held)
    else:
        os.close(held)


@contextmanager
def built_aside(folder: Path) -> Iterator[Path]:
    """Build a folder next to its final path, and move it there at once, so that nobody reads half of it.

    An existing empty folder stays, because it may be the user's current folder. The files of a board are
    moved into it, the definition last.

    Raises:
        BoardError: The folder next to the final path is not from a killed process.
    """
    folder = folder.absolute()
    partial = folder.with_name(f"{folder.name}{PARTIAL}")
    if partial.exists():
        if not (partial / BOARD_LOCK).is_file() and any(partial.iterdir()):
            raise BoardError(
                f"{partial} exists already, but tseval needs this path to write the leaderboard.\n"
                f"  Move {partial} to another place."
            )
        _remove_aside(partial)
    partial.mkdir(parents=True)
    try:
        (partial / BOARD_LOCK).touch()
        yield partial
        sync_directory(partial)
        if folder.exists():
            (folder / BOARD_LOCK).touch()
            for name in sorted(
                (entry.name for entry in partial.iterdir()), key=lambda name: name == DEFINITION
            ):
                if (folder / name).is_dir():
                    shutil.rmtree(folder / name)
                (partial / name).replace(folder / name)
            partial.rmdir()
        else:
            partial.rename(folder)
        sync_directory(folder.parent)
    except BaseException:
        with suppress(OSError):
            _remove_aside(partial)
        raise
    (folder / BOARD_LOCK).unlink(missing_ok=True)


def is_begun(folder: Path) -> bool:
    """Return whether a killed process left an unfinished new board in a folder."""
    names = {entry.name for entry in folder.iterdir()}
    has_entries = (folder / ENTRY_FOLDERS).is_dir() and any((folder / ENTRY_FOLDERS).iterdir())
    return BOARD_LOCK in names and names <= _OF_A_NEW_BOARD and not has_entries


def _remove_aside(aside: Path) -> None:
    """Remove the built folder; its mark is removed last."""
    for path in aside.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != BOARD_LOCK:
            path.unlink()
    (aside / BOARD_LOCK).unlink(missing_ok=True)
    aside.rmdir()
