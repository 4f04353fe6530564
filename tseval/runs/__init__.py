"""Run directories: written atomically, resumed after a kill, read by everything that comes later."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping  # noqa: TC003 - the types of fields are read
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal, cast, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tseval.analysis.counts import no_accuracy, tally
from tseval.analysis.features import refuse_unknown_features
from tseval.analysis.measures import correlate, effects, with_effects
from tseval.analysis.rows import ROW, as_names
from tseval.errors import (
    BoardError,
    EvidenceError,
    LimitError,
    RunError,
    SuiteError,
    as_html,
    counted,
    one_line,
    reason,
)
from tseval.evidence import (
    EvidenceAddress,
    Words,
    fetch_evidence,
    read_evidence,
    readable,
    scored_again,
    split_words,
)
from tseval.formats import ContentError, checked, read_yaml
from tseval.items import ENTRY
from tseval.runs.directory import (
    HALF_KNOWN,
    PARTS,
    VERDICTS,
    RunWriter,
    clear_begun,
    clear_complete,
    digest,
    fresh_directory,
    is_free,
    read_intact,
    read_sentences,
    remove_other,
    start_run,
)
from tseval.runs.manifest import NAME, Manifest, RunKey, load_manifest, miscounted
from tseval.suites import available_suites, load_suite
from tseval.suites.data.critical import with_critical
from tseval.tables import read_parquet
from tseval.verdicts import all_sentences, judge, sentences_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tseval.analysis.correctness import Correctness
    from tseval.items import Suite
    from tseval.scoring.protocol import ModelCard


@dataclass(frozen=True)
class Run:
    """A scored suite.

    Attributes:
        name: Name of the run's directory, or of the model where there is none.
        manifest: What was scored, with what, how.
        load_sentences: Gives the scored sentences.
        load_verdicts: Gives the verdicts.
        path: The run's directory, as it was named; None where there is none.
        document: Its own table, as `tseval.report.document_of` gives it, where that was made just now.
    """

    name: str
    manifest: Manifest
    load_sentences: Callable[[], pa.Table]
    load_verdicts: Callable[[], pa.Table]
    path: Path | None = None
    document: object | None = None

    def __repr__(self) -> str:
        key, n_sentences = self.manifest.key, self.manifest.counts.sentences
        what = f"{key.model} on {key.suite}"
        return one_line(self, self.name, what, counted(n_sentences, "sentence"), f"score {key.score}")

    def _repr_html_(self) -> str:
        shown = self.table().drop(columns=["se", "df", "clusters", "fixed"], errors="ignore")
        rows = shown.round(3).astype(str).itertuples(index=False, name=None)
        return as_html(f"{self!r} {self.manifest.signature}", list(map(str, shown.columns)), rows)

    @classmethod
    def of(cls, manifest: Manifest, scored: pa.Table, verdicts: pa.Table) -> Run:
        """Make a run that stands in no directory."""
        return cls(manifest.key.model, manifest, lambda: scored, lambda: verdicts)

    @cached_property
    def sentences(self) -> pd.DataFrame:
        """One row per distinct sentence: `sentence`, `seen`, `logprob`, `words` (nats), `n_unknown`."""
        return _frame(self.load_sentences())

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """One row per item and contrast, with all features."""
        return _frame(self.load_verdicts())

    @cached_property
    def rated(self) -> bool:
        """Whether it is over rated sentences: nothing in it is right or wrong."""
        counts = self.manifest.counts
        if counts.correct or counts.tied or not counts.contrasts:
            return False
        return self.load_verdicts()["correct"].null_count == counts.contrasts

    def tally(self, by: str | Sequence[str] = ()) -> tuple[pd.DataFrame, Correctness]:
        """Count verdicts as `table` does, and keep from which items each row is made.

        Where regions are compared, rows have the columns of `tseval.analysis.measures.EFFECT` too. Only what
        all that takes is read, and nothing else of the verdicts is kept.

        Raises:
            SuiteError: The suite has no such feature.
            RunError: The run is over rated sentences, which have no accuracy.
        """
        if self.rated:
            raise no_accuracy(self.name)
        table = self.load_verdicts()
        refuse_unknown_features(as_names(by), table.column_names)
        regions = self.manifest.key.score == "regions"
        needed = {*ROW, *as_names(by), "correct", "tie", "undecidable", "half_known"}
        needed |= {"better_score", "worse_score"} if regions else set()
        names = [name for name in table.column_names if name in needed or name.endswith(ENTRY)]
        verdicts = _frame(table.select(names))
        rows, answers = tally(verdicts, by)
        return with_effects(rows, answers, effects(verdicts)) if regions else rows, answers

    def table(self, by: str | Sequence[str] = ()) -> pd.DataFrame:
        """Count verdicts per construction, and per value of a feature or several, as `tally` does.

        Of rated sentences, correlate scores with ratings (`tseval.analysis.measures.correlate`).

        Raises:
            SuiteError: The suite has no such feature.
        """
        return correlate(self.verdicts, by) if self.rated else self.tally(by)[0]


def read_run(path: str | Path) -> Run:
    """Read a complete run, or an entry of a board; its tables are read when they are used.

    What a process left that was killed at the very end is cleared away, where that can be.

    Raises:
        RunError: The directory is not a run, or the run is incomplete, damaged, or from a newer tseval.
    """
    path = Path(path)
    manifest = load_manifest(path)
    if not isinstance(manifest, Manifest):
        parts = len(list((path / PARTS).glob("*.parquet")))
        raise RunError(
            f"{path} has an incomplete run (parts saved: {parts}).\n"
            f"  To continue, repeat the command tseval run of this run with --resume --out {path}"
        )
    if EVIDENCE in manifest.files:
        return entry_run(path, suite_of_entry(path))
    clear_complete(path)
    load = partial(_load, path, manifest)
    return Run(
        name=path.resolve().name,
        manifest=manifest,
        load_sentences=partial(load, "sentences.parquet"),
        load_verdicts=partial(load, "verdicts.parquet"),
        path=path,
    )


EVIDENCE = "evidence.parquet"
ENTRY_FILE = "entry.yaml"
DEFINITION = "board.yaml"
SUITE_FOLDER = "suite"


@dataclass(frozen=True)
class SplitSuite:
    """The suite of a board with its sentences and their words, which all entries share and are found once."""

    suite: Suite

    @cached_property
    def clustered(self) -> Suite:
        """The suite with what its items share, inferred where its data do not say so."""
        return with_critical(self.suite)

    @cached_property
    def sentences(self) -> pa.StringArray:
        """The distinct sentences, sorted (`tseval.verdicts.sentences_of`), (sentences,)."""
        return sentences_of(self.suite)

    @cached_property
    def words(self) -> Words:
        """Their words."""
        return split_words(self.sentences)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Which of them each sentence of the suite is, as `tseval.verdicts.judge` takes it."""
        found = pc.index_in(all_sentences(self.suite), value_set=self.sentences)
        return cast("NDArray[np.int64]", found.to_numpy().astype(np.int64))


@dataclass(frozen=True, slots=True)
class _Address:
    """What `entry.yaml` says of where evidence lies."""

    evidence: EvidenceAddress | None = None


def evidence_of(folder: Path, manifest: Manifest) -> bytes:
    """Read the evidence of an entry, or fetch it; held to the digest in the manifest."""
    entry = folder / ENTRY_FILE
    try:
        address = None if (folder / EVIDENCE).exists() else checked(read_yaml(entry), _Address).evidence
        if address is None:
            return read_intact(folder, manifest.files, EVIDENCE)
        content = fetch_evidence(address)
    except (OSError, ContentError) as error:
        raise RunError(f"{entry}: {reason(error)}") from None
    except EvidenceError as error:
        raise RunError(f"{entry}: the evidence {error}") from None
    if digest(content) != manifest.files.get(EVIDENCE):
        raise RunError(
            f"{entry}: the digest of the evidence is not the digest in {NAME}, so one of the "
            "two was changed. Add the run again: tseval board add BOARD RUN"
        )
    return content


def entry_run(folder: Path, split: SplitSuite) -> Run:
    """Open an entry as the run that it was, wherever its evidence lies: tables read it as any other."""
    manifest = load_manifest(folder)
    if not isinstance(manifest, Manifest):
        raise RunError(
            f"{folder / NAME} belongs to an unfinished run. Finish the run with tseval run --resume, then "
            "add it again: tseval board add BOARD RUN"
        )
    if manifest.suite.digest != split.suite.digest:
        theirs, ours = (f"{of.name}@{of.digest[:8]}" for of in (manifest.suite, split.suite))
        raise RunError(
            f"{folder / NAME} states that the run scored the suite {theirs}, but the leaderboard has the "
            f"suite {ours}. Score the model on the suite of the leaderboard."
        )

    def sentences() -> tuple[pa.Table, pa.StringArray]:
        content = evidence_of(folder, manifest)
        try:
            evidence = read_evidence(content)
            if evidence.suite_digest != split.suite.digest:
                raise EvidenceError(
                    f"has scores of another suite, with the digest {evidence.suite_digest[:8]}"
                )
            read, too_long = readable(evidence, split.sentences)
            return scored_again(evidence, read, None if too_long else split.words), too_long
        except EvidenceError as error:
            raise RunError(f"{folder / EVIDENCE} {error}") from None

    def verdicts() -> pa.Table:
        scored, too_long = sentences()
        known = None if too_long else split.rows
        return judge(split.clustered, scored, manifest.key.score, too_long, known, manifest.unknown)

    suite = replace(manifest.suite, inferred=split.clustered.inferred)
    model = replace(manifest.model, name=folder.name)  # as the board calls it
    named = replace(manifest, model=model, suite=suite)
    return Run(folder.name, named, lambda: sentences()[0], verdicts)


@dataclass(frozen=True, slots=True)
class _OverSuite:
    """What `board.yaml` says of the suite."""

    suite: str
    digest: str
    columns: Mapping[str, str] = field(default_factory=dict)


def suite_of_entry(folder: Path) -> SplitSuite:
    """Load the suite of the board that an entry stands in, two folders above it."""
    board = folder.resolve().parents[1]
    try:
        said = checked(read_yaml(board / DEFINITION), _OverSuite)
        return SplitSuite(suite_of_board(board, said.suite, said.digest, said.columns))
    except (OSError, ContentError) as error:
        raise RunError(
            f"{folder} is an entry of a leaderboard, but tseval cannot find the suite: "
            f"{board / DEFINITION}: {reason(error)}.\n"
            "  Name the entry in the folder of its leaderboard: BOARD/entries/NAME"
        ) from None


def suite_of_board(board: Path, suite: str, digest: str, columns: Mapping[str, str]) -> Suite:
    """Load the suite of a board: the copy in its folder, where there is another version by now."""
    found: Suite | None = None
    problem: SuiteError | None = None
    try:
        found = load_suite(suite_spec(suite, board), columns=columns or None)
    except SuiteError as error:
        problem = error
    if found is not None and found.digest == digest:
        return found
    if (copied := copied_suite(board, suite, columns)) is not None and copied.digest == digest:
        return copied
    if found is None:
        raise problem or AssertionError
    raise BoardError(
        f"{board / DEFINITION}: the suite {suite} on this machine has the digest {found.digest[:8]}, but "
        f"the leaderboard uses the digest {digest[:8]}.\n"
        f"  To create a leaderboard for the new version: tseval board renew {quote(str(board))}. To use "
        "this leaderboard, install the version of the suite, or of tseval, with which it was made."
    )


def copied_suite(board: Path, suite: str, columns: Mapping[str, str]) -> Suite | None:
    """Load the copy of a suite that its board has, if there is one."""
    name = Path(suite).name
    path = board / SUITE_FOLDER / (name if name in available_suites() else name.rpartition(":")[0] or name)
    if not path.exists():
        return None
    spec: str | Path = path if path.name == name else str(path.with_name(name))
    return load_suite(spec, columns=columns or None)


def suite_spec(suite: str, board: Path) -> str | Path:
    """Find a suite that stands beside its board; any other is found by its name.

    The names of bundled suites come first: nothing that lies beside a board is taken for one of them.
    """
    if suite in available_suites():
        return suite
    beside = Path(os.path.normpath(board.absolute() / suite))
    return beside if beside.exists() else suite


def runs_below(folder: Path) -> tuple[list[Path], list[Path]]:
    """List the run directories in a folder and in those within it, by name; none for a run itself.

    Returns:
        Those to read, and those of runs that are not finished.
    """
    complete: list[Path] = []
    unfinished: list[Path] = []
    if not (folder / NAME).exists():
        for path in sorted(file.parent for depth in ("*", "*/*") for file in folder.glob(f"{depth}/{NAME}")):
            found = complete
            with suppress(RunError, LimitError):  # what cannot be read is told by whoever reads it
                found = complete if isinstance(load_manifest(path), Manifest) else unfinished
            found.append(path)
    return complete, unfinished


def find_interrupted(root: Path, key: RunKey) -> Path | None:
    """Find the newest interrupted run with this key below a root; runs in progress do not count."""
    found = []
    for file in root.glob(f"*/{NAME}"):
        path = file.parent
        try:
            manifest = load_manifest(path)
            ours = not isinstance(manifest, Manifest) and manifest.key == key
        except (RunError, LimitError):
            continue  # a directory that cannot be read is not one to resume
        if ours and is_free(path):
            found.append((file.stat().st_mtime_ns, path))
    return max(found)[1] if found else None


def _load(path: Path, manifest: Manifest, name: str) -> pa.Table:
    content = read_intact(path, manifest.files, name)
    try:
        sentences = name == "sentences.parquet"
        table = (
            read_sentences(content)
            if sentences
            else read_parquet(content, VERDICTS | HALF_KNOWN, needed=VERDICTS)
        )
    except ContentError as error:
        wrong = "is no Parquet file" if error.what.startswith("not a") else f"is not tseval's: {error}"
        raise RunError(f"{path / name} {wrong}.\n  Score the suite again, into a new folder.") from None
    if field := miscounted(manifest.counts, name, table):
        raise RunError(
            f"{path / NAME} was edited: the number in the key `{field}` is not the number in {name}.\n"
            "  Score the suite again, into a new folder."
        )
    return table


# Whole numbers and truth values stay what they are beside missing values (pandas would make floats).
_NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}


def _frame(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas(types_mapper=_NULLABLE.get)


_NEEDED = {*ROW, "case", "item", "better_score", "worse_score", "correct", "tie", "undecidable", "half_known"}


class CachedRun:
    """A run whose verdicts are read once; features, which are the suite's, are not kept.

    Columns that are the same as in the run before are kept once.
    """

    def __init__(self, run: Run, before: CachedRun | None) -> None:
        self.run, self._before = run, before
        self._verdicts: pa.Table | None = None

    def verdicts(self) -> pa.Table:
        """Return the verdicts, without features."""
        if self._verdicts is None:
            table = self.run.load_verdicts()
            names = [name for name in table.column_names if name in _NEEDED or name.endswith(ENTRY)]
            self._verdicts = table.select(names)
            if self._before is not None:
                known = self._before.verdicts()
                both = set(names) & set(known.column_names)
                same = {name for name in both if table[name].equals(known[name])}
                columns = [(known if name in same else table)[name] for name in names]
                self._verdicts = pa.table(columns, names)
        return self._verdicts

    def for_table(self) -> Run:
        """Return the run as tables read it."""
        return replace(self.run, load_verdicts=self.verdicts)


def cache_runs(runs: Sequence[Run]) -> list[CachedRun]:
    """Keep the verdicts of runs over one suite, from their first use on."""
    kept: list[CachedRun] = []
    for run in runs:
        kept.append(CachedRun(run, kept[-1] if kept else None))
    return kept


Clock = Literal["step", "tokens", "epoch"]
CLOCKS: tuple[Clock, ...] = get_args(Clock)

# How names say a moment: `checkpoint-500`, `drnn_step1000`, `step143000-tokens300B`, `ckpt.5k`; `epoch3`.
_MARKS = {
    clock: re.compile(rf"(?<![^\W_])(?:{words})[-_.=]?(\d{{1,12}})(k?)(?![^\W_])", re.IGNORECASE)
    for clock, words in (
        ("step", "global[-_]?step|steps?|checkpoint|ckpt|iter(?:ation)?"),
        ("epoch", "epochs?|ep"),
    )
}
_SEPARATORS = "-_.@/ "


def progress_of(card: ModelCard, over: Clock = "step") -> int | None:
    """Say how far the training of a model had come; None where nothing says so.

    What the model itself knows comes first: the course of the training in a checkpoint of tseval's own,
    `trainer_state.json` beside one of transformers' Trainer, the moment of a callback. Else its revision,
    then its name, may say a step.

    Args:
        over: Optimiser steps (of tseval's own trainings: windows), tokens learnt from, or epochs.
    """
    known = card.details.get(over)
    if isinstance(known, int) and not isinstance(known, bool):
        return known
    for text in (card.details.get("revision"), card.name) if over in _MARKS else ():
        if isinstance(text, str) and (mark := _MARKS[over].search(text)):
            return int(mark[1]) * (1000 if mark[2] else 1)
    return None


def training_of(card: ModelCard) -> str:
    """Name the training that a model is a checkpoint of: its own name, without step and epoch.

    Where the name says nothing else, as `checkpoint-500` does, it is the folder that it lies in, or, where
    that is not known, the kind of model.
    """
    left = card.name
    for mark in filter(None, (pattern.search(left) for pattern in _MARKS.values())):
        left = f"{left[: mark.start()].rstrip(_SEPARATORS)}-{left[mark.end() :].strip(_SEPARATORS)}".strip(
            "-"
        )
    return left or str(card.details.get("folder") or card.kind)


__all__ = [
    "Manifest",
    "Run",
    "RunKey",
    "RunWriter",
    "clear_begun",
    "find_interrupted",
    "fresh_directory",
    "read_run",
    "remove_other",
    "runs_below",
    "start_run",
]
