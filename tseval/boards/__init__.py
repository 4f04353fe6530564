"""Leaderboards as folders: a definition, and entries with the evidence that their numbers follow from."""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003 - the types of fields are read
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Literal, TypeVar

from tseval.analysis.counts import COUNTS, count
from tseval.analysis.rows import ROW
from tseval.boards.definition import (
    BOARD_FILES_FORMAT,
    Definition,
    check_texts,
    check_web_address,
    check_written,
    read_definition,
    read_written,
    suite_of,
    write_yaml,
)
from tseval.errors import BoardError, LimitError, reason
from tseval.evidence import EvidenceAddress  # noqa: TC001 - the type of a field that is read
from tseval.files import PARTIAL, limits
from tseval.formats import ContentError
from tseval.report.boards import Board, BoardModel, BoardRow, PrintedRow, TableRow, check_printed_rows
from tseval.runs import DEFINITION, ENTRY_FILE, EVIDENCE, SplitSuite, entry_run
from tseval.runs.manifest import NAME as MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from tseval.runs import Run


LONGEST_NAME = 100


def today() -> str:
    """Return the date as a board's files have it."""
    return f"{datetime.now(UTC):%Y-%m-%d}"


def is_date(text: str) -> bool:
    """Whether a text is a day, YYYY-MM-DD."""
    try:
        return f"{date.fromisoformat(text):%Y-%m-%d}" == text
    except ValueError:
        return False


def check_about(about: About, where: str = "") -> None:
    """Refuse what no page could show of a model."""
    name = about.display_name
    if name is not None and (len(name.splitlines()) != 1 or len(name) > LONGEST_NAME):
        raise ContentError(f"should be one line of at most {LONGEST_NAME} characters", f"{where}display_name")
    if about.seeds_tried is not None and about.seeds_tried < 1:
        raise ContentError(
            f"should be a number of seeds, 1 or more, but is {about.seeds_tried}", f"{where}seeds_tried"
        )
    if about.date is not None and not is_date(about.date):
        raise ContentError(
            f"should be a date in the form YYYY-MM-DD, but is {about.date!r:.80}", f"{where}date"
        )
    check_texts(asdict(about), where.removesuffix("."))


ENTRY_FOLDERS = "entries"
# What tells neither weights nor protocol: the name of the model, the version of tseval.
_NAMED = re.compile(r"model:[^|]*@|\|tseval:[^|]*")
_OF_SUITE = re.compile(r"suite:[^|]*\|")
# Windows knows some names as devices, and none that ends in a dot.
_DEVICE = r"(?!(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(?![A-Za-z0-9_-]))"
ENTRY_NAME = re.compile(rf"{_DEVICE}[A-Za-z0-9][A-Za-z0-9._-]{{0,59}}(?<![.])(?<!{re.escape(PARTIAL)})")


@dataclass(frozen=True, slots=True)
class EntryRow(TableRow):
    """What a model got right in one row of the table; counts, from which accuracies follow."""

    n_items: int
    n_correct: int
    n_tied: int
    n_undecidable: int


@dataclass(frozen=True, slots=True)
class About:
    """What a submitter says of a model; none of it follows from anything.

    `weights` says where they are, `licence` is theirs. `seeds_tried` are those that the model was chosen
    from, with itself; `date` is that of the submission (YYYY-MM-DD).
    """

    revision: str | None = None
    licence: str | None = None
    training_data: str | None = None
    contains_suite: Literal["yes", "no", "unknown"] = "unknown"
    contact: str | None = None
    display_name: str | None = None
    paper: str | None = None
    weights: str | None = None
    submitter: str | None = None
    seeds_tried: int | None = None
    date: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """That somebody verified an entry: how far, who, and when (YYYY-MM-DD)."""

    level: Literal["whole", "recomputed", "plausible", "rescored", "rerun"]
    by: str
    on: str


@dataclass(frozen=True, slots=True)
class Entry:
    """`entry.yaml`: what a model got right, row by row, and what is said of it and of who verified it.

    The fingerprint is the SHA-256 of weights and vocabulary; `evidence` says where that lies, unless it is
    here.
    """

    format: int
    name: str
    signature: str
    fingerprint: str
    about: About
    rows: tuple[EntryRow, ...]
    checks: tuple[Checked, ...] = ()
    evidence: EvidenceAddress | None = None
    aliases: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """What was scored and how, whatever it is called: fingerprint, and signature without the name."""
        return f"{self.fingerprint} {_NAMED.sub('', self.signature)}"

    @property
    def model_identity(self) -> str:
        """The same, whatever suite it was asked."""
        return _OF_SUITE.sub("", self.identity)

    @property
    def files(self) -> set[str]:
        """The names of what its folder holds."""
        return {ENTRY_FILE, MANIFEST} | ({EVIDENCE} if self.evidence is None else set())


@dataclass(frozen=True, slots=True)
class PublishedEntry:
    """`entry.yaml` of a model of which nothing but accuracies is known, as a paper prints them.

    A row of the board without one is absent.
    """

    format: int
    name: str
    level: Literal["published"]
    rows: tuple[PrintedRow, ...]
    validation_perplexity: str | None = None
    parameters: str | None = None
    about: About = field(default_factory=About)


def read_entry(folder: Path) -> Entry:
    """Read the `entry.yaml` of an entry with evidence."""
    return _read(folder, Entry)


CHECKS = "checks.yaml"


@dataclass(frozen=True, slots=True)
class Retraction:
    """Why and when (YYYY-MM-DD) an entry was taken out of the ranks, and where that was discussed."""

    reason: str
    on: str
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a model got right on the board's grammars with words that are withheld.

    `mean` and its 95% interval are over all rows; `difference` is that from the mean on the board's suite.
    `twin` is the digest of the suite of withheld words, by which it can be held to these numbers once they
    are published; `on` is a date (YYYY-MM-DD).
    """

    twin: str
    on: str
    n_items: int
    mean: float
    interval: tuple[float, float]
    difference: float
    difference_interval: tuple[float, float]

    @property
    def worse(self) -> bool:
        """Whether the model is worse on the withheld words for sure."""
        return self.difference_interval[1] < 0


@dataclass(frozen=True, slots=True)
class BoardChecks:
    """`checks.yaml`, the maintainer's file, by name of the entry.

    Which entries were verified, how far, by whom and when; which were retracted; what they got right on a
    hidden twin of the suite.
    """

    format: int = BOARD_FILES_FORMAT
    checks: Mapping[str, tuple[Checked, ...]] = field(default_factory=dict)
    retracted: Mapping[str, Retraction] = field(default_factory=dict)
    hidden: Mapping[str, Hidden] = field(default_factory=dict)


def read_checks(board: Path) -> BoardChecks:
    """Read what the maintainer of a board found out; nothing where there is no such file."""
    file = board / CHECKS
    if not file.exists():
        return BoardChecks()
    try:
        found = check_written(read_written(file), BoardChecks)
        for name, checks in found.checks.items():
            check_dates(checks, f"checks.{name}")
        for name, retraction in found.retracted.items():
            check_dates([retraction], f"retracted.{name}")
            check_web_address(retraction.link, f"retracted.{name}.link")
        for name, hidden in found.hidden.items():
            check_dates([hidden], f"hidden.{name}")
        return found
    except (OSError, ContentError) as error:
        raise BoardError(f"{file}: {reason(error)}.") from None


def check_dates(found: Iterable[Checked | Retraction | Hidden], where: str) -> None:
    """Refuse what is on no day, YYYY-MM-DD."""
    for one in found:
        if not is_date(one.on):
            raise ContentError(
                f"should be a date in the form YYYY-MM-DD, but is {one.on!r:.80}", f"{where}.on"
            )


def checks_text(checks: BoardChecks) -> str:
    """Return the text of the maintainer's file."""
    return write_yaml({name: value for name, value in asdict(checks).items() if value})


def entry_on_board(folder: Path, definition: Definition, known: BoardChecks) -> Entry:
    """Read an entry with what its board says of it: the data it learnt from, the maintainer's checks last."""
    entry = read_entry(folder)
    named = entry.about.training_data
    about = replace(entry.about, training_data=definition.training_data.get(named or "", named))
    return replace(entry, about=about, checks=(*entry.checks, *known.checks.get(entry.name, ())))


def readable_entries(folders: Iterable[Path]) -> Iterator[Entry]:
    """Read entries; what cannot be read is for `tseval board check` to say."""
    for folder in folders:
        with suppress(BoardError, LimitError):
            yield read_entry(folder)


def ranked_folders(board: Path, definition: Definition) -> list[Path]:
    """List the folders of the entries that have a rank: all but those that were retracted."""
    retracted = read_checks(board).retracted
    return [one for one in entry_folders(board, definition.order) if one.name not in retracted]


def read_published(folder: Path) -> PublishedEntry:
    """Read the `entry.yaml` of an entry of published accuracies."""
    return _read(folder, PublishedEntry)


_Kind = TypeVar("_Kind", Entry, PublishedEntry)


def _read(folder: Path, kind: type[_Kind]) -> _Kind:
    file = folder / ENTRY_FILE
    try:
        content = read_written(file)
        if kind is Entry and content.get("level") == "published":
            raise ContentError(
                'the value is "published" (accuracies only), but the entries of this leaderboard '
                "need evidence (per-token scores)",
                "level",
            )
        if kind is PublishedEntry and "level" not in content:
            raise ContentError(
                "this key is missing: in an entry of this leaderboard of published accuracies, "
                "write level: published",
                "level",
            )
        entry = check_written(content, kind)
        if not ENTRY_NAME.fullmatch(entry.name) or entry.name != folder.name:
            raise ContentError(
                f"should be the same as the name of the entry's folder, {folder.name!r}", "name"
            )
        check_about(entry.about, "about.")
        if len(aliases := getattr(entry, "aliases", ())) > (most := limits().aliases):
            raise ContentError(
                f"the list has {len(aliases):,} earlier names of the entry, but at most {most:,} are allowed",
                "aliases",
            )
        check_dates(getattr(entry, "checks", ()), "checks")
        for i, alias in enumerate(aliases):
            if not ENTRY_NAME.fullmatch(alias):  # a page is written under it
                raise ContentError(f"{alias!r:.80} cannot be the name of an entry", f"aliases[{i}]")
    except (OSError, ContentError) as error:
        raise BoardError(f"{file}: {reason(error)}.") from None
    return entry


def write_entry(entry: Entry) -> str:
    """Return the text of `entry.yaml`."""
    said = asdict(entry)
    for part, optional in ((said, _OPTIONAL), (said["about"], _OPTIONAL_ABOUT)):
        for name in optional:
            if not part[name]:
                del part[name]
    return write_yaml(said)


_OPTIONAL = ("evidence", "aliases")
_OPTIONAL_ABOUT = ("display_name", "paper", "weights", "submitter", "seeds_tried", "date")


def rows_of(verdicts: pd.DataFrame) -> tuple[EntryRow, ...]:
    """Count verdicts row by row."""
    rows = count(verdicts)[[*ROW, *COUNTS]].astype(object)
    cells = rows.where(rows.notna(), None).itertuples(index=False, name=None)
    return tuple(EntryRow(*row) for row in cells)


def entry_folders(board: Path, order: Sequence[str] = ()) -> list[Path]:
    """List the folders of a board's entries: those named first, in that order, then the others by name."""
    root = board / ENTRY_FOLDERS
    found = sorted(one for one in root.iterdir() if one.suffix != PARTIAL) if root.is_dir() else []
    places = {name: place for place, name in enumerate(order)}
    return sorted(found, key=lambda folder: places.get(folder.name, len(places)))


def entry_runs(folders: Sequence[Path]) -> list[Run]:
    """Open entries of one board, which stands two folders above them, as runs."""
    if not folders:
        return []
    board = folders[0].resolve().parents[1]
    split = SplitSuite(suite_of(read_definition(board), board))
    return [entry_run(folder, split) for folder in folders]


def published_entry(folder: Path, definition: Definition) -> PublishedEntry:
    """Read an entry of published accuracies, and hold it to its board."""
    entry = read_published(folder)
    try:
        check_printed_rows(entry.rows, {row.key for row in definition.rows}, definition.decimals)
    except ContentError as error:
        raise BoardError(f"{folder / ENTRY_FILE}: {error}.") from None
    return entry


def published_board(board: Path, definition: Definition) -> Board:
    """Put the accuracies of all entries together, as they are printed."""
    folders = entry_folders(board, definition.order)
    if not folders:
        raise BoardError(
            f"{board / DEFINITION}: this leaderboard of published accuracies has no entries.\n"
            "  Write an entry into entries/NAME/entry.yaml, as docs/boards.md describes."
        )
    entries = [published_entry(folder, definition) for folder in folders]
    printed = {entry.name: {row.key: row.accuracy for row in entry.rows} for entry in entries}
    return Board(
        name=board.resolve().name,
        title=definition.title,
        source=definition.source or definition.title,
        suite=definition.suite,
        score=definition.score,
        decimals=definition.decimals,
        models=tuple(BoardModel(one.name, one.validation_perplexity, one.parameters) for one in entries),
        rows=tuple(
            BoardRow(*key, n_items, {name: of[key] for name, of in printed.items() if key in of})
            for key, n_items in ((row.key, row.n_items) for row in definition.rows)
        ),
        notes=definition.notes,
        human=definition.human,
    )
