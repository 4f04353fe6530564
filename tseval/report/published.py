"""Published boards: accuracies as they are printed in papers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping  # noqa: TC003 - the type of a field that is checked
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import BoardError, reason
from tseval.formats import ContentError, checked, read_json

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


MOST_DECIMALS = 15  # no paper prints more, and more would make tables too wide
PRINTED = re.compile(r"(?:0(?:\.([0-9]+))?|1(?:\.(0+))?)")
RowKey = tuple[str | None, str, str, str]


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table."""

    dependency: str | None
    phenomenon: str
    construction: str
    contrast: str

    @property
    def key(self) -> RowKey:
        """The columns that identify the row."""
        return self.dependency, self.phenomenon, self.construction, self.contrast


@dataclass(frozen=True, slots=True)
class PrintedRow(TableRow):
    """A printed accuracy and its row."""

    accuracy: str


@dataclass(frozen=True, slots=True)
class Human:
    """Printed human accuracies, shown with models but without ranks."""

    name: str
    source: str
    rows: tuple[PrintedRow, ...]


def check_printed_rows(
    rows: Sequence[PrintedRow], known: Collection[RowKey], decimals: int, where: str = "rows"
) -> None:
    """Check printed accuracies against the rows of their board.

    Raises:
        ContentError: An accuracy is not a fraction, is repeated, has no row in the board, or there is none.
    """
    if not rows:
        raise ContentError("should have at least one accuracy", where)
    keys: set[RowKey] = set()
    for i, row in enumerate(rows):
        if row.key not in known:
            raise ContentError(
                "this row is about a case and contrast that the leaderboard has no row for", f"{where}[{i}]"
            )
        if row.key in keys:
            raise ContentError("this row has the same case and contrast as an earlier row", f"{where}[{i}]")
        keys.add(row.key)
        check_printed(row.accuracy, decimals, f"{where}[{i}].accuracy")


def check_printed(printed: str, decimals: int, where: str) -> None:
    """Check that a printed number is a fraction from 0 to 1 with at most `decimals` decimals."""
    match = PRINTED.fullmatch(printed)
    if match is None or len(match[1] or match[2] or "") > decimals:
        raise ContentError(
            f"should be a fraction from 0 to 1 with at most {decimals} decimals, but is {printed!r}", where
        )


def check_decimals(decimals: int) -> None:
    """Check that a number of decimals is possible in a table."""
    if decimals < 1:
        raise ContentError(f"should be a number of decimals, 1 or more, but is {decimals}", "decimals")
    if decimals > MOST_DECIMALS:
        raise ContentError(
            f"should be a number of decimals, at most {MOST_DECIMALS}, but is {decimals}", "decimals"
        )


BOARD_FORMAT = 1
BUNDLED_BOARDS = Path(__file__).parents[1] / "leaderboards"


@dataclass(frozen=True, slots=True)
class BoardModel:
    """A model of the board; perplexity and parameters as printed, None if the paper does not state them.

    If the accuracies are means over seeds, `spread` maps a set of rows (`All rows`) to the printed standard
    deviation between seeds of the mean over this set.
    """

    name: str
    validation_perplexity: str | None = None
    parameters: str | None = None
    spread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BoardRow(TableRow):
    """A row of the published table; accuracies and the spread between seeds as printed, by model."""

    n_items: int
    accuracy: Mapping[str, str]
    spread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Retraction:
    """The reason for removing an entry from the ranks, its date (YYYY-MM-DD) and a link to the discussion."""

    reason: str
    on: str
    link: str | None = None


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """The machine-readable part of an entry: its identity, its checks, and counts for each row.

    `id` is the name of its folder, `aliases` are former names. `low` and `high` are the ends of 95%
    intervals, rounded outwards to a thousandth; None if nothing is decidable. A retracted entry has no
    numbers.
    """

    id: str
    name: str
    fingerprint: str
    signature: str
    date: str | None = None
    about: Mapping[str, str | int] = field(default_factory=dict)
    checks: tuple[Mapping[str, str], ...] = ()
    aliases: tuple[str, ...] = ()
    retracted: Retraction | None = None
    n_correct: tuple[int, ...] = ()
    n_tied: tuple[int, ...] = ()
    n_undecidable: tuple[int, ...] = ()
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Board:
    """A published table; accuracies are truncated, not rounded, to `decimals`.

    `digest` is the digest of the suite. `entries` have evidence; a model may be the mean over several
    entries, its seeds.
    """

    name: str
    title: str
    source: str
    suite: str
    score: str
    decimals: int
    models: tuple[BoardModel, ...]
    rows: tuple[BoardRow, ...]
    notes: tuple[str, ...]
    human: Human | None = None
    digest: str | None = None
    entries: tuple[BoardEntry, ...] = ()


def bundled_boards() -> list[str]:
    """Return the names of the boards included in tseval."""
    return sorted(path.parent.name for path in BUNDLED_BOARDS.glob("*/board.json"))


def read_board(path: Path) -> Board:
    """Read the file of a board, or the `board.json` of a folder."""
    file = path / "board.json" if path.is_dir() else path
    try:
        content = read_json(file)
        version = checked(content, _Version).format
        if version != BOARD_FORMAT:
            raise ContentError(
                f"the value is {version}, but this version of tseval reads only format {BOARD_FORMAT}",
                "format",
            )
        board = checked(content, Board)
        _check(board)
    except (OSError, ContentError) as error:
        raise BoardError(f"{file}: {reason(error)}.") from None
    return board


@dataclass(frozen=True, slots=True)
class _Version:
    format: int


def board_text(board: Board) -> str:
    """Return the text of `board.json`."""
    content = asdict(board)
    for part in (*content["models"], *content["rows"]):
        if not part["spread"]:  # a single seed has no spread
            del part["spread"]
    for name in ("human", "digest", "entries"):
        if not content[name]:
            del content[name]
    # One entry per line, so that a new entry adds one line, which git shows.
    entries = content.pop("entries", [])
    text = json.dumps({"format": BOARD_FORMAT, **content}, indent=1)
    if entries:
        lines = ",\n".join(
            f"  {json.dumps({name: entry[name] for name in entry if entry[name]})}" for entry in entries
        )
        text = f'{text.removesuffix("}").rstrip()},\n "entries": [\n{lines}\n ]\n}}'
    return text + "\n"


def _check_dates(board: Board) -> None:
    for i, entry in enumerate(board.entries):
        for key, day in (("date", entry.date), ("retracted.on", entry.retracted and entry.retracted.on)):
            if day and not _is_day(day):
                raise ContentError(
                    f"should be a date in the form YYYY-MM-DD, but is {day!r:.80}", f"entries[{i}].{key}"
                )


def _is_day(text: str) -> bool:
    try:
        return f"{date.fromisoformat(text):%Y-%m-%d}" == text
    except ValueError:
        return False


def _check(board: Board) -> None:
    """Check the parts of a board against each other; lone surrogates are errors, as UTF-8 has none."""
    try:
        json.dumps(asdict(board), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ContentError(
            "a text contains half of a Unicode character (a lone surrogate)", "the file"
        ) from None
    check_decimals(board.decimals)
    _check_dates(board)
    for i, model in enumerate(board.models):
        for row_set, printed in model.spread.items():
            check_printed(printed, board.decimals, f"models[{i}].spread.{row_set}")
    models = {model.name for model in board.models}
    if not models or len(models) < len(board.models):
        raise ContentError("should name at least one model, and no model twice", "models")
    keys = set()
    for i, row in enumerate(board.rows):
        for key, values in (("accuracy", row.accuracy), ("spread", row.spread)):
            for name, printed in values.items():
                place = f"rows[{i}].{key}.{name}"
                if name not in models:
                    raise ContentError("this is the name of a model that is not in the list of models", place)
                check_printed(printed, board.decimals, place)
        if row.key in keys:
            raise ContentError("this row has the same case and contrast as an earlier row", f"rows[{i}]")
        keys.add(row.key)
    if board.human is not None:
        check_printed_rows(board.human.rows, keys, MOST_DECIMALS, "human.rows")
