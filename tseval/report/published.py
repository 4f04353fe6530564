"""Published boards: accuracies as papers print them."""

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


MOST_DECIMALS = 15  # no paper prints more, and a table would be as wide as it says
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
        """What tells the row from others."""
        return self.dependency, self.phenomenon, self.construction, self.contrast


@dataclass(frozen=True, slots=True)
class PrintedRow(TableRow):
    """An accuracy as it was printed, and the row that it stands in."""

    accuracy: str


@dataclass(frozen=True, slots=True)
class Human:
    """What people get right, as printed. It stands beside models and takes no rank from them."""

    name: str
    source: str
    rows: tuple[PrintedRow, ...]


def check_printed_rows(
    rows: Sequence[PrintedRow], known: Collection[RowKey], decimals: int, where: str = "rows"
) -> None:
    """Check printed accuracies against the rows of their board.

    Raises:
        ContentError: One is no fraction, stands twice or in no row of the board, or there is none.
    """
    if not rows:
        raise ContentError("should have at least one accuracy", where)
    seen: set[RowKey] = set()
    for i, row in enumerate(rows):
        if row.key not in known:
            raise ContentError(
                "this row is about a case and contrast that the leaderboard has no row for", f"{where}[{i}]"
            )
        if row.key in seen:
            raise ContentError("this row has the same case and contrast as an earlier row", f"{where}[{i}]")
        seen.add(row.key)
        check_printed(row.accuracy, decimals, f"{where}[{i}].accuracy")


def check_printed(printed: str, decimals: int, where: str) -> None:
    """Refuse what is no fraction from 0 to 1 of so many decimals at most."""
    match = PRINTED.fullmatch(printed)
    if match is None or len(match[1] or match[2] or "") > decimals:
        raise ContentError(
            f"should be a fraction from 0 to 1 with at most {decimals} decimals, but is {printed!r}", where
        )


def check_decimals(decimals: int) -> None:
    """Refuse decimals that no table can have."""
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
    """A model of the board; perplexity and parameters as printed, None where the paper gives none.

    For a mean over seeds, `spread` maps a set of rows (`All rows`) to the standard deviation between seeds of
    the mean over it, as printed.
    """

    name: str
    validation_perplexity: str | None = None
    parameters: str | None = None
    spread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BoardRow(TableRow):
    """One row of the published table; accuracies and the spread between seeds as printed, by model."""

    n_items: int
    accuracy: Mapping[str, str]
    spread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Retraction:
    """Why and when (YYYY-MM-DD) an entry was taken out of the ranks, and where that was discussed."""

    reason: str
    on: str
    link: str | None = None


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """What programs read of an entry: who it is, who checked it, and counts row by row.

    `id` is the name of its folder, `aliases` are those that it had before. `low` and `high` are the ends of
    95% intervals, cut outwards to a thousandth; None where nothing is decidable. Of a retracted entry there
    are no numbers.
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
    """A published table; accuracies are cut to `decimals`, not rounded.

    `digest` is that of the suite, and `entries` are those with evidence, of which seeds may be in one model.
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
    """Return the names of the boards that come with tseval."""
    return sorted(path.parent.name for path in BUNDLED_BOARDS.glob("*/board.json"))


def read_board(path: Path) -> Board:
    """Read a board's file, or the `board.json` of a folder."""
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
        if not part["spread"]:  # of one seed there is none
            del part["spread"]
    for name in ("human", "digest", "entries"):
        if not content[name]:
            del content[name]
    # An entry a line: so the file grows by a line where an entry comes, and git shows which.
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
        for what, day in (("date", entry.date), ("retracted.on", entry.retracted and entry.retracted.on)):
            if day and not _is_day(day):
                raise ContentError(
                    f"should be a date in the form YYYY-MM-DD, but is {day!r:.80}", f"entries[{i}].{what}"
                )


def _is_day(text: str) -> bool:
    try:
        return f"{date.fromisoformat(text):%Y-%m-%d}" == text
    except ValueError:
        return False


def _check(board: Board) -> None:
    """Hold the parts of a board to each other, and refuse half a character, which no table can hold."""
    try:
        json.dumps(asdict(board), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ContentError(
            "a text in it has half of a Unicode character (a lone surrogate)", "the file"
        ) from None
    check_decimals(board.decimals)
    _check_dates(board)
    for i, model in enumerate(board.models):
        for over, printed in model.spread.items():
            check_printed(printed, board.decimals, f"models[{i}].spread.{over}")
    models = {model.name for model in board.models}
    if not models or len(models) < len(board.models):
        raise ContentError("should name at least one model, and no model twice", "models")
    seen = set()
    for i, row in enumerate(board.rows):
        for what, values in (("accuracy", row.accuracy), ("spread", row.spread)):
            for name, printed in values.items():
                where = f"rows[{i}].{what}.{name}"
                if name not in models:
                    raise ContentError("this is the name of a model that is not in the list of models", where)
                check_printed(printed, board.decimals, where)
        if row.key in seen:
            raise ContentError("this row has the same case and contrast as an earlier row", f"rows[{i}]")
        seen.add(row.key)
    if board.human is not None:
        check_printed_rows(board.human.rows, seen, MOST_DECIMALS, "human.rows")
