"""Read and write `entry.yaml`: the counts of a model, and the statements of its submitters."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar

from tseval.analysis.counts import COUNTS, count
from tseval.analysis.rows import ROW
from tseval.boards.dates import check_dates, is_date
from tseval.boards.definition import check_texts, check_written, read_written, write_yaml
from tseval.errors import BoardError, reason
from tseval.evidence.download import EvidenceAddress  # noqa: TC001 - the type of a field that is read
from tseval.files import PARTIAL, limits
from tseval.formats import ContentError
from tseval.report.published import PrintedRow, TableRow
from tseval.runs.entry import ENTRY_FILE, EVIDENCE
from tseval.runs.manifest import NAME as MANIFEST

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

LONGEST_NAME, LONGEST_MODEL = 100, 500


def check_about(about: About, where: str = "") -> None:
    """Refuse statements about a model that no page can show."""
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


def check_opened(model: str | None) -> None:
    """Refuse the name of a model that is a path on somebody's machine: nobody else can open it."""
    if model is None:
        return
    if len(model.splitlines()) != 1 or len(model) > LONGEST_MODEL:
        raise ContentError(f"should be one line of at most {LONGEST_MODEL} characters", "model")
    _, _, path = model.rpartition(":")
    is_address = model.startswith(("https://", "http://"))
    if not is_address and (path.startswith(("/", ".", "~")) or "\\" in model or ".." in path.split("/")):
        raise ContentError(
            f"{model!r:.80} is a path of one machine. Write a web address, KIND:NAME (hf:gpt2) or the name "
            "of a file",
            "model",
        )


# Parts of a signature that identify neither weights nor protocol: name of the model, version of tseval.
_NAMED = re.compile(r"model:[^|]*@|\|tseval:[^|]*")
_OF_SUITE = re.compile(r"suite:[^|]*\|")
# On Windows, some names are devices, and no name ends in a dot.
_DEVICE = r"(?!(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(?![A-Za-z0-9_-]))"
ENTRY_NAME = re.compile(rf"{_DEVICE}[A-Za-z0-9][A-Za-z0-9._-]{{0,59}}(?<![.])(?<!{re.escape(PARTIAL)})")


@dataclass(frozen=True, slots=True)
class EntryRow(TableRow):
    """The counts of a model in one row of the table; accuracies follow from them."""

    n_items: int
    n_correct: int
    n_tied: int
    n_undecidable: int


@dataclass(frozen=True, slots=True)
class About:
    """A submitter's statements about a model, which tseval cannot check.

    `weights` is the address of the weights, and `licence` their licence. `seeds_tried` is the number of
    seeds that were trained, including this model. `date` is the date of the submission (YYYY-MM-DD).
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
    """A verification of an entry: its levels, who did it, and the date (YYYY-MM-DD)."""

    level: Literal["whole", "recomputed", "plausible", "rescored", "rerun"]
    by: str
    on: str


@dataclass(frozen=True, slots=True)
class Entry:
    """The content of `entry.yaml`: counts for each row, facts about the model, and verifications.

    The fingerprint is the SHA-256 of weights and vocabulary. `evidence` is the address of the evidence, if
    it is not in the folder. `model` and `model_args` are the options that open the model, without folders.
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
    model: str | None = None
    model_args: str | None = None

    @property
    def identity(self) -> str:
        """What was scored and how: the fingerprint, and the signature without the model's name."""
        return f"{self.fingerprint} {_NAMED.sub('', self.signature)}"

    @property
    def model_identity(self) -> str:
        """The identity without the suite."""
        return _OF_SUITE.sub("", self.identity)

    @property
    def files(self) -> set[str]:
        """The names of the files in its folder."""
        return {ENTRY_FILE, MANIFEST} | ({EVIDENCE} if self.evidence is None else set())


@dataclass(frozen=True, slots=True)
class PublishedEntry:
    """The `entry.yaml` of a model with only accuracies, as a paper prints them.

    Rows for which the paper has no accuracy are absent.
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
                "this key is missing. The leaderboard has published accuracies, so each entry needs the "
                "line level: published",
                "level",
            )
        entry = check_written(content, kind)
        if not ENTRY_NAME.fullmatch(entry.name) or entry.name != folder.name:
            raise ContentError(
                f"should be the same as the name of the entry's folder, {folder.name!r}", "name"
            )
        check_about(entry.about, "about.")
        check_opened(getattr(entry, "model", None))
        if len(aliases := getattr(entry, "aliases", ())) > (most := limits().aliases):
            raise ContentError(
                f"the list has {len(aliases):,} earlier names of the entry, but at most {most:,} are allowed",
                "aliases",
            )
        check_dates(getattr(entry, "checks", ()), "checks")
        for i, alias in enumerate(aliases):
            if not ENTRY_NAME.fullmatch(alias):  # the name of its page
                raise ContentError(f"{alias!r:.80} cannot be the name of an entry", f"aliases[{i}]")
    except (OSError, ContentError) as error:
        raise BoardError(f"{file}: {reason(error)}.") from None
    return entry


def write_entry(entry: Entry) -> str:
    """Return the text of `entry.yaml`."""
    content = asdict(entry)
    content = {name: content.pop(name) for name in _FIRST} | content
    for part, optional in ((content, _OPTIONAL), (content["about"], _OPTIONAL_ABOUT)):
        for name in optional:
            if not part[name]:
                del part[name]
    return write_yaml(content)


_FIRST = ("format", "name", "signature", "fingerprint", "model", "model_args")
_OPTIONAL = ("evidence", "aliases", "model", "model_args")
_OPTIONAL_ABOUT = ("display_name", "paper", "weights", "submitter", "seeds_tried", "date")


def rows_of(verdicts: pd.DataFrame) -> tuple[EntryRow, ...]:
    """Count verdicts row by row."""
    rows = count(verdicts)[[*ROW, *COUNTS]].astype(object)
    cells = rows.where(rows.notna(), None).itertuples(index=False, name=None)
    return tuple(EntryRow(*row) for row in cells)
