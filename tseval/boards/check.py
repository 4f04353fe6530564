"""Check a board, as for each pull request."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

from tseval.boards.dates import today
from tseval.boards.definition import Definition, own_suite, read_definition, suite_of
from tseval.boards.entries import ADDED_BY, unfit
from tseval.boards.entry import Checked, Entry, read_entry, rows_of
from tseval.boards.entry_folders import ENTRY_FOLDERS, entry_folders, ranked_folders, readable_entries
from tseval.boards.flags import flags_of
from tseval.boards.maintainer import CHECKS, checks_text, read_checks
from tseval.boards.published import published_entry
from tseval.boards.readme import ACCURACIES, BOARD_PAGE, pages
from tseval.boards.transaction import (
    BOARD_LOCK,
    board_transaction,
    how_to_complete,
    is_interrupted,
    links_in,
)
from tseval.errors import (
    AwayError,
    BoardError,
    EvidenceError,
    LimitError,
    RunError,
    TrainingError,
    TsevalError,
    counted,
    first_line,
    shortened,
    suggest,
)
from tseval.evidence.download import LARGEST_EVIDENCE
from tseval.evidence.file_format import read_evidence
from tseval.evidence.restoring import readable
from tseval.files import PARTIAL, read_bytes
from tseval.questions.normalisation import split_measure
from tseval.report.curves import read_curves
from tseval.report.published import read_board
from tseval.runs.board_suite import DEFINITION, SUITE_FOLDER, SplitSuite
from tseval.runs.entry import ENTRY_FILE, EVIDENCE, entry_run, evidence_of
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import count_sentences, count_verdicts
from tseval.suites import without_cache
from tseval.verdicts import judge, n_too_long
from tseval.verifying.claim import Claim, check_known_score, hold_files
from tseval.verifying.ladder import Ladder
from tseval.verifying.levels import Check, CheckFailed, Verification
from tseval.verifying.recomputed import Recomputed, hold_sizes, verdicts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

    from tseval.runs.run import Run
    from tseval.scoring.protocol import Model


def verify_entry(
    folder: Path,
    *,
    suite: SplitSuite | None = None,
    model: Model | None = None,
    share: float = 0.01,
    draw: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Verify an entry, as `verify_run` verifies a run. Its folder is two levels below the board."""
    if suite is None:
        board = folder.resolve().parents[1]
        definition = read_definition(board)
        if definition.published:
            if model is not None:
                raise BoardError(
                    f"{folder} has only published accuracies and no evidence, so tseval cannot compare its "
                    "entries with the scores of a model.\n"
                    "  Leave out --model."
                )
            return _verify_published(folder, definition)
        suite = board_suite(board)
    return _EntryLadder(folder, suite).climb(model, share, draw, progress)


@without_cache()
def record_check(folder: Path, verification: Verification, by: str) -> None:
    """Record in a board's `checks.yaml` which levels of an entry were verified, and who verified them."""
    board = folder.resolve().parents[1]
    assert verification.level is not None
    check = Checked(verification.level, by, today())
    with board_transaction(board, "verify", folder.name, verification.level, by) as change:
        if change.completed is not None:
            return
        recorded = read_checks(board)
        # A later check of the same kind replaces the earlier one, so that the list does not grow.
        earlier = [old for old in recorded.checks.get(folder.name, ()) if replace(old, on=check.on) != check]
        checks = {**recorded.checks, folder.name: (*earlier, check)}
        change.put(CHECKS, checks_text(replace(recorded, checks=checks)))
        change.commit()


def _verify_published(folder: Path, definition: Definition) -> Verification:
    """Check the file of an entry without evidence, and that its rows are those of the board."""
    try:
        entry = published_entry(folder, definition)
    except (BoardError, LimitError) as error:
        return Verification(str(folder), "unread", (Check("whole", False, first_line(error)),))
    summary = f"{counted(len(entry.rows), 'row')} of published accuracies, without evidence to recompute them"
    return Verification(str(folder), f"{entry.name} on {definition.suite}", (Check("whole", True, summary),))


def board_suite(board: Path) -> SplitSuite:
    """Load the suite of a board without the cache."""
    with without_cache():
        definition = read_definition(board)
        return SplitSuite(suite_of(definition, board), definition.score)


class _EntryLadder(Ladder):
    """The checks of an entry, whose file states counts of verdicts."""

    _entry: Entry
    _run: Run
    _too_long: pa.StringArray

    def __init__(self, path: Path, split: SplitSuite) -> None:
        super().__init__(path)
        self._split, self._suite = split, split.scored

    def whole(self) -> str:
        try:
            self._entry, self._run = read_entry(self.path), entry_run(self.path, self._split)
            manifest = self._run.manifest
            hold_files(manifest.files, [EVIDENCE])
            check_known_score(manifest)
            if split_measure(manifest.key.score)[1]:
                raise CheckFailed(
                    f"{MANIFEST}: the key `key.score` is {manifest.key.score!r}, but tseval cannot "
                    "recompute such scores from the evidence"
                )
            evidence = read_evidence(evidence_of(self.path, manifest))
            scored = self._run.load_sentences()
        except (BoardError, RunError, EvidenceError, LimitError) as error:
            raise CheckFailed(str(error).partition("\n")[0]) from None
        if manifest.seal is None:
            raise CheckFailed(
                f"{MANIFEST} has no key `seal` (digests that show edits), but every entry needs one"
            )
        self.what = f"{self._entry.name} on {self._suite.name}"
        for field, claimed, follows in (
            ("signature", self._entry.signature, manifest.signature),
            ("fingerprint", self._entry.fingerprint, manifest.key.fingerprint),
        ):
            if claimed != follows:
                raise CheckFailed(
                    f"{self.path.name}/entry.yaml: the key `{field}` is not the same as in {MANIFEST}"
                )
        _, self._too_long = readable(evidence, self._split.sentences)
        rows = None if self._too_long else self._split.rows
        scoring = manifest.key.score, self._too_long, rows, manifest.unknown
        verdicts = verdicts_of(partial(judge, self._split.clustered, scored, *scoring))
        # The sentences are scored and the verdicts computed once; the counts below use them.
        self._run = replace(self._run, load_sentences=lambda: scored, load_verdicts=lambda: verdicts)
        self.claim = Claim(self._entry.name, manifest, evidence, scored, verdicts, tables={})
        items = self._split.suite if self._suite is not self._split.suite else None
        self.again = Recomputed(self._suite, scored, verdicts, items=items)
        return "entry, manifest, seal and evidence"

    def recomputed(self) -> str:
        claimed, follows = self.claim.key.terminator, self._suite.terminator
        if claimed != follows:
            raise CheckFailed(
                f"{MANIFEST}: the key `key.terminator` (final mark of sentences) is "
                f"{claimed!r}, but in the suite it is {follows!r}"
            )
        hold_sizes(self.claim.manifest.suite, self._suite)
        left_out = n_too_long(self._suite, self.claim.scored, self._too_long)
        if left_out != (n_claimed := self.claim.manifest.counts.too_long):
            raise CheckFailed(
                f"{MANIFEST}: the key `counts.too_long` is {n_claimed:,}, but tseval recomputes {left_out:,}"
            )
        _compare_counts(self._entry, self._run)
        n_verdicts = counted(self.again.verdicts.num_rows, "verdict")
        if left_out:
            n_verdicts += f" ({left_out:,} recorded as too long for the model)"
        return f"{n_verdicts}, {counted(len(self._entry.rows), 'row')} from suite and evidence"


def _compare_counts(entry: Entry, run: Run) -> None:
    recomputed = count_verdicts(run.load_verdicts()) | count_sentences(run.load_sentences())
    for name, value in recomputed.items():
        if getattr(run.manifest.counts, name) != value:
            raise CheckFailed(
                f"{MANIFEST}: the key `counts.{name}` is {getattr(run.manifest.counts, name):,}, but "
                f"tseval recomputes {value:,}"
            )
    follow = rows_of(run.verdicts)
    if len(entry.rows) != len(follow):
        raise CheckFailed(
            f"entry.yaml has {len(entry.rows)} rows of the table, but tseval recomputes {len(follow)} rows"
        )
    for i, (claimed_row, row) in enumerate(zip(entry.rows, follow, strict=True)):
        for name, value in asdict(row).items():
            if (number := getattr(claimed_row, name)) != value:
                raise CheckFailed(
                    f"entry.yaml: the key `rows[{i}].{name}` is {number!r}, but tseval recomputes {value!r}"
                )


CURVES_FOLDER, CURVES_FIGURE = "curves", "curves.svg"
# A script in a figure: as an element, as an event handler, or as an address.
_ACTIVE = re.compile(
    rb"<\s*(?:script|foreignobject|iframe|animate|set)\b|\bon[a-z]+\s*=|javascript:|<!entity", re.IGNORECASE
)
_OWN = {DEFINITION, CHECKS, ACCURACIES, BOARD_PAGE, ENTRY_FOLDERS, SUITE_FOLDER, BOARD_LOCK}


def wrong_with_board(board: Path, names: Sequence[str] = ()) -> list[str]:
    """List all problems of a board, or only those of the entries in `names`."""
    definition = read_definition(board)
    if is_interrupted(board):
        return [how_to_complete(board)]
    suite = None if definition.published else board_suite(board)
    folders = entry_folders(board, definition.order)
    existing = [folder.name for folder in folders]
    if unknown := [name for name in names if name not in existing]:
        raise BoardError(
            f"the leaderboard {board} has no entry with the name {unknown[0]!r}.\n"
            f"  {suggest(unknown[0], existing, 'Entries')}"
        )
    retracted = read_checks(board).retracted
    problems = [f"{name} is a link" for name in links_in(board)]
    for folder in folders:
        if not names or folder.name in names:
            find_problems = _wrong_with_its_files if folder.name in retracted else wrong_with_entry
            problems += [f"{folder.name}: {problem}" for problem in find_problems(folder, definition, suite)]
    ranked = [folder for folder in folders if folder.name not in retracted]
    problems += repeated(ranked)
    if not names and not problems:
        runs = [] if suite is None else [entry_run(folder, suite) for folder in ranked]
        problems += _wrong_with_files(board, definition, folders, runs)
    return [shortened(problem) for problem in problems]


def warnings_of(board: Path, names: Sequence[str] = ()) -> list[str]:
    """Return warnings for the maintainer: evidence that looks forged, and entries that are on no page yet."""
    definition = read_definition(board)
    if definition.published:
        return []
    folders = ranked_folders(board, definition)
    flags = flags_of(folders, board_suite(board), names)
    warnings = [f"{name}: {reason}" for name in sorted(flags) for reason in flags[name]]
    waiting = sorted({folder.name for folder in folders} - set(_listed(board) or ()))
    if waiting and not names:
        write = f"tseval board write {quote(str(board))}"
        warnings.append(f"not on the pages yet: {', '.join(waiting)}. Write them: {write}")
    return warnings


def _listed(board: Path) -> tuple[str, ...] | None:
    """Return the names of the entries on the pages. None means all: an earlier tseval wrote the pages."""
    if not (board / ACCURACIES).is_file():
        return ()
    listed = tuple(entry.id for entry in read_board(board).entries)
    return listed or None


def wrong_with_entry(folder: Path, definition: Definition, suite: SplitSuite | None) -> Iterator[str]:
    """Yield the problems of one entry. The verification comes last, and stops at its first problem."""
    if folder.is_symlink() or not folder.is_dir():
        yield "is not a folder"
        return
    problems = list(_wrong_with_its_files(folder, definition, suite))
    yield from problems
    if problems:
        return
    try:
        verified = verify_entry(folder, suite=suite)
    except AwayError as error:
        yield first_line(error)
        return
    if not verified.ok:
        yield verified.checks[-1].found
        return
    if suite is None:
        return
    entry = read_entry(folder)
    if any((check.level, check.by) != ("plausible", ADDED_BY) for check in entry.checks):
        yield (
            f"entry.yaml has the key `checks`, but only {CHECKS} may state who verified an entry. "
            "Remove the key; to record a check: tseval verify --record NAME"
        )
    elif refusal := unfit(definition, entry_run(folder, suite), entry.about):
        yield refusal


def _wrong_with_its_files(folder: Path, _: Definition, suite: SplitSuite | None) -> Iterator[str]:
    if links := links_in(folder):
        yield f"{links[0]} is a link"
        return
    names = {path.name for path in folder.iterdir()}
    if ENTRY_FILE not in names:
        yield f"the file {ENTRY_FILE} is missing"
        return
    try:
        expected = {ENTRY_FILE} if suite is None else read_entry(folder).files
    except (BoardError, LimitError) as error:
        yield first_line(error)
        return
    if missing := sorted(expected - names):
        yield f"the file {missing[0]} is missing"
    elif EVIDENCE in expected and (size := (folder / EVIDENCE).stat().st_size) > LARGEST_EVIDENCE:
        yield f"{EVIDENCE} has {size:,} bytes, but a leaderboard holds at most {LARGEST_EVIDENCE:,}"
    if unexpected := sorted(names - expected):
        yield f"the folder has {unexpected[0]!r}, which is not a file of an entry"


def repeated(folders: Sequence[Path]) -> Iterator[str]:
    """Find names that differ only in case, names that another entry had, and models that occur twice."""
    names: dict[str, str] = {}
    aliases = {alias.lower(): entry.name for entry in readable_entries(folders) for alias in entry.aliases}
    by_identity: dict[str, Entry] = {}
    for folder in folders:
        if (first := names.setdefault(folder.name.lower(), folder.name)) != folder.name:
            yield f"{folder.name}: the name of this entry differs from {first} only in upper and lower case"
        if (owner := aliases.get(folder.name.lower(), folder.name)) != folder.name:
            yield f"{owner}: states {folder.name} as its earlier name, but another entry has this name"
        try:
            entry = read_entry(folder)
        except (BoardError, LimitError):
            continue  # an entry of published accuracies, or wrong_with_entry reports the problem
        earlier = by_identity.setdefault(entry.identity, entry)
        if earlier is not entry:
            comparison = "equal" if earlier.rows == entry.rows else "different"
            shared = "signature" if earlier.signature == entry.signature else "weights and protocol"
            yield (f"{folder.name}: has the same {shared} as {earlier.name}, with {comparison} accuracies")


def _wrong_with_names(board: Path, definition: Definition, entries: Sequence[str]) -> Iterator[str]:
    """Yield names in `board.yaml` and `checks.yaml` that belong to no entry."""
    checks = read_checks(board)
    of_seeds = [name for names in definition.seeds.values() for name in names]
    for file, field, names in (
        (DEFINITION, "order", definition.order), (DEFINITION, "seeds", of_seeds),
        *((CHECKS, name, [*getattr(checks, name)]) for name in ("checks", "retracted", "hidden")),
    ):  # fmt: skip
        if unknown := sorted(name for name in names if name not in entries):
            yield f"{file}: the key `{field}` names {unknown[0]!r}, but there is no entry with this name"
    for field in ("renews", "renewed_by"):
        path = getattr(definition, field)
        if path is not None and not (board / path / DEFINITION).is_file():
            yield (
                f"{DEFINITION}: the key `{field}` names {path!r}, but there is no leaderboard at this path"
            )
    copy = None if definition.published else own_suite(definition, board)
    if copy is not None and copy.digest != definition.digest:
        copy_digest, board_digest = copy.digest[:8], definition.digest[:8]
        yield (
            f"the copy of the suite in {SUITE_FOLDER} has the digest {copy_digest}, but the leaderboard uses "
            f"the digest {board_digest}"
        )


def _wrong_with_files(
    board: Path, definition: Definition, folders: Sequence[Path], runs: Sequence[Run]
) -> Iterator[str]:
    entries = [folder.name for folder in folders]
    yield from _wrong_with_names(board, definition, entries)
    expected = _OWN
    if (board / CURVES_FOLDER).is_dir():
        expected = expected | {CURVES_FOLDER, CURVES_FIGURE}
        yield from _wrong_with_curves(board, entries)
    if unexpected := sorted(path.name for path in board.iterdir() if path.name not in expected):
        yield f"the folder has {unexpected[0]!r}, which is not a file of a leaderboard"
    for leftover in sorted((board / ENTRY_FOLDERS).glob(f"*{PARTIAL}")):
        name = leftover.name.removesuffix(PARTIAL).removesuffix(".old")
        fix = "remove it"
        if leftover.name.endswith(f".old{PARTIAL}") and not leftover.with_name(name).exists():
            fix = f"rename this folder to {name}, because it is the old folder of this entry"
        yield f"{leftover.name} was left by an interrupted change: {fix}"
    try:
        # Entries may be newer than the pages, so the pages are compared with the entries that they contain.
        listed = _listed(board)
        if not (board / ACCURACIES).is_file() and runs:
            empty = pages(board, definition, [])[BOARD_PAGE]
            listed = () if read_bytes(board / BOARD_PAGE, "document_bytes") == empty.encode() else None
        listed_runs = [run for run in runs if listed is None or run.name in listed]
        follow = pages(board, definition, listed_runs, feed=listed is not None)
    except (BoardError, OSError) as error:
        yield first_line(error)
        return
    for name, text in follow.items():
        try:
            is_same = read_bytes(board / name, "document_bytes") == text.encode()
        except (OSError, TsevalError):
            is_same = False
        if not is_same:
            yield f"{name} does not match the entries. To write it again: tseval board write {board}"


def _wrong_with_curves(board: Path, entries: Sequence[str]) -> Iterator[str]:
    """Yield learning curves that belong to no entry or cannot be read, and figures that contain code."""
    folder, figure = board / CURVES_FOLDER, board / CURVES_FIGURE
    yield from (f"{folder.name}/{name} is a link" for name in links_in(folder))
    if figure.is_file() and _ACTIVE.search(read_bytes(figure, "document_bytes")):
        yield f"{CURVES_FIGURE} contains code that a browser would run, so tseval did not draw this figure"
    for file in sorted(folder.iterdir()):
        if file.suffix != ".parquet" or file.stem not in entries:
            yield f"the folder {folder.name} has {file.name!r}, which belongs to no entry"
            continue
        try:
            read_curves(file)
        except (TrainingError, LimitError) as error:
            yield first_line(error)
