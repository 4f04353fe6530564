"""Check a board: what a pull request to it must pass."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.boards.definition import DEFINITION, read_definition
from tseval.boards.entry import (
    ENTRY_FILE,
    ENTRY_FOLDERS,
    EVIDENCE,
    entry_folders,
    entry_run,
    read_entry,
)
from tseval.boards.folder import BOARD_LOCK, links_in, unfit
from tseval.boards.verify import board_suite, verify_entry
from tseval.boards.written import ACCURACIES, BOARD_PAGE, pages
from tseval.errors import AwayError, BoardError, LimitError, TrainingError, TsevalError, first_line, shortened
from tseval.evidence import LARGEST_EVIDENCE
from tseval.files import PARTIAL, read_bytes
from tseval.report.curves import read_curves

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tseval.boards.definition import Definition
    from tseval.boards.entry import SplitSuite
    from tseval.runs import Run

CURVES_FOLDER, CURVES_FIGURE = "curves", "curves.svg"
# A script, a handler of events, or an address that is one, in a figure.
_ACTIVE = re.compile(
    rb"<\s*(?:script|foreignobject|iframe|animate|set)\b|\bon[a-z]+\s*=|javascript:|<!entity", re.IGNORECASE
)
_OWN = {DEFINITION, ACCURACIES, BOARD_PAGE, ENTRY_FOLDERS, BOARD_LOCK}


def wrong_with_board(board: Path, names: Sequence[str] = ()) -> list[str]:
    """Name everything that is wrong with a board, or with some of its entries.

    Args:
        board: Its folder.
        names: Entries to look at; all, and the written files, where empty.

    Raises:
        BoardError: There is no board, or no such entry.
        SuiteError: Its suite is not here.
    """
    definition = read_definition(board)
    suite = None if definition.published else board_suite(board)
    folders = entry_folders(board, definition.order)
    known = [folder.name for folder in folders]
    if unknown := [name for name in names if name not in known]:
        raise BoardError(f"{board} has no entry {unknown[0]!r}")
    found = [f"{name} is a link" for name in links_in(board)]
    chosen = [folder for folder in folders if not names or folder.name in names]
    found += [f"{one.name}: {what}" for one in chosen for what in _wrong_with_entry(one, definition, suite)]
    found += _repeated(folders)
    if not names and not found:
        found += _wrong_with_files(board, definition, folders, suite)
    return [shortened(one) for one in found]


def _wrong_with_entry(folder: Path, definition: Definition, suite: SplitSuite | None) -> Iterator[str]:
    """Say what is wrong with one entry; the first thing that its verification finds ends it."""
    if folder.is_symlink() or not folder.is_dir():
        yield "is no folder"
        return
    found = list(_wrong_with_its_files(folder, published=suite is None))
    yield from found
    if found:
        return
    try:
        verified = verify_entry(folder, suite=suite)
    except AwayError as error:
        yield first_line(error)
        return
    if not verified.ok:
        yield verified.checks[-1].found
    elif suite is not None and (refusal := unfit(definition, entry_run(folder, suite))):
        yield refusal


def _wrong_with_its_files(folder: Path, *, published: bool) -> Iterator[str]:
    """Say which files an entry lacks, has too many of, or has elsewhere."""
    if links := links_in(folder):
        yield f"{links[0]} is a link"
        return
    there = {one.name for one in folder.iterdir()}
    if ENTRY_FILE not in there:
        yield f"has no {ENTRY_FILE}"
        return
    try:
        meant = {ENTRY_FILE} if published else read_entry(folder).files
    except (BoardError, LimitError) as error:
        yield first_line(error)
        return
    if missing := sorted(meant - there):
        yield f"has no {missing[0]}"
    elif EVIDENCE in meant and (size := (folder / EVIDENCE).stat().st_size) > LARGEST_EVIDENCE:
        yield f"{EVIDENCE} has {size:,} bytes, more than {LARGEST_EVIDENCE:,}"
    if strangers := sorted(there - meant):
        yield f"holds {strangers[0]!r}, which no entry has"


def _repeated(folders: Sequence[Path]) -> Iterator[str]:
    """Find names that differ in case alone, and one signature with two results."""
    names: dict[str, str] = {}
    signatures: dict[str, tuple[str, object]] = {}
    for folder in folders:
        if (first := names.setdefault(folder.name.lower(), folder.name)) != folder.name:
            yield f"{folder.name}: is the name of {first} in other letters"
        try:
            entry = read_entry(folder)
        except (BoardError, LimitError):
            continue  # it is published, or wrong, which is said of the entry itself
        first, rows = signatures.setdefault(entry.signature, (folder.name, entry.rows))
        if first != folder.name:
            same = "the same as" if rows == entry.rows else "other counts than"
            yield f"{folder.name}: has the signature of {first}, and {same} it"


def _wrong_with_files(
    board: Path, definition: Definition, folders: Sequence[Path], suite: SplitSuite | None
) -> Iterator[str]:
    """Hold what lies beside the entries to them."""
    entries = [folder.name for folder in folders]
    of_seeds = [name for names in definition.seeds.values() for name in names]
    for field, names in (("order", definition.order), ("seeds", of_seeds)):
        if strangers := [name for name in names if name not in entries]:
            yield f"{DEFINITION}: {field}: there is no entry {strangers[0]!r}"
    own = _OWN
    if (board / CURVES_FOLDER).is_dir():
        own = own | {CURVES_FOLDER, CURVES_FIGURE}
        yield from _wrong_with_curves(board, entries)
    if strangers := sorted(one.name for one in board.iterdir() if one.name not in own):
        yield f"the folder holds {strangers[0]!r}, which no board has"
    for left in sorted((board / ENTRY_FOLDERS).glob(f"*{PARTIAL}")):
        yield f"{left.name} is what a kill left of an entry: remove it"
    runs: list[Run] = [] if suite is None else [entry_run(folder, suite) for folder in folders]
    try:
        follow = pages(board, definition, runs)
    except BoardError as error:
        yield first_line(error)
        return
    for name, text in follow.items():
        try:
            same = read_bytes(board / name, "document_bytes") == text.encode()
        except (OSError, TsevalError):
            same = False
        if not same:
            yield f"{name} does not follow from the entries: write it again with tseval board write {board}"


def _wrong_with_curves(board: Path, entries: Sequence[str]) -> Iterator[str]:
    """Hold learning curves to the entries that they are of, and their figure to being nothing but one."""
    folder, figure = board / CURVES_FOLDER, board / CURVES_FIGURE
    yield from (f"{folder.name}/{name} is a link" for name in links_in(folder))
    if figure.is_file() and _ACTIVE.search(read_bytes(figure, "document_bytes")):
        yield f"{CURVES_FIGURE} holds what a browser would run, as no figure of tseval does"
    for file in sorted(folder.iterdir()):
        if file.suffix != ".parquet" or file.stem not in entries:
            yield f"{folder.name} holds {file.name!r}, which is of no entry"
            continue
        try:
            read_curves(file)
        except (TrainingError, LimitError) as error:
            yield first_line(error)
