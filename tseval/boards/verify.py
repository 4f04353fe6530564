"""Verify an entry of a board, level by level, as a run is verified."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

from tseval.boards.definition import read_definition, suite_of
from tseval.boards.entry import (
    EVIDENCE,
    SplitSuite,
    entry_run,
    evidence_of,
    judge_entry,
    read_entry,
    rows_of,
)
from tseval.boards.published import published_entry
from tseval.errors import BoardError, EvidenceError, LimitError, RunError, counted, first_line
from tseval.evidence import read_evidence
from tseval.questions.scored import split_measure
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import count_sentences, count_verdicts
from tseval.suites.grammar.cache import afresh
from tseval.verifying import Ladder
from tseval.verifying.claim import Check, Claim, Verification, Wrong, check_known_score, hold_files
from tseval.verifying.levels import Again, hold_sizes, verdicts_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tseval.boards.definition import Definition
    from tseval.boards.entry import Entry
    from tseval.runs import Run
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
    """Verify an entry; its board stands two folders above.

    Args:
        folder: Of the entry.
        suite: That of the board, expanded again; None expands it.
        model: To be asked again; None asks none.
        share: Of the sentences that the model is asked about; 1 for all.
        draw: What decides which, as a report names it; None draws anew, so that nobody knew it before.
        progress: Called with the numbers of sentences done and of all, while the model is asked.

    Raises:
        BoardError: The board is none, or over another suite than is here.
        SuiteError: Its suite is not here.
        ModelError: The model cannot be asked.
    """
    if suite is None:
        board = folder.resolve().parents[1]
        definition = read_definition(board)
        if definition.published:
            if model is not None:
                raise BoardError(
                    f"{folder} is of published accuracies: there is nothing to ask a model about."
                )
            return _verify_published(folder, definition)
        suite = board_suite(board)
    return _EntryLadder(folder, suite).climb(model, share, draw, progress)


def _verify_published(folder: Path, definition: Definition) -> Verification:
    """Look at all that can be looked at: the file of the entry, and that its rows are the board's."""
    try:
        entry = published_entry(folder, definition)
    except (BoardError, LimitError) as error:
        return Verification(str(folder), "unread", (Check("whole", False, first_line(error)),))
    found = f"{counted(len(entry.rows), 'row')} of accuracies as published; nothing follows from evidence"
    return Verification(str(folder), f"{entry.name} on {definition.suite}", (Check("whole", True, found),))


def board_suite(board: Path) -> SplitSuite:
    """Load the suite of a board, never from a cache."""
    with afresh():
        return SplitSuite(suite_of(read_definition(board), board))


class _EntryLadder(Ladder):
    """An entry, whose verdicts are stated as counts."""

    _entry: Entry
    _run: Run

    def __init__(self, path: Path, split: SplitSuite) -> None:
        super().__init__(path)
        self._split, self._suite = split, split.suite

    def whole(self) -> str:
        """Read entry, manifest and evidence, and hold them to each other."""
        try:
            self._entry, self._run = read_entry(self.path), entry_run(self.path, self._split)
            manifest = self._run.manifest
            hold_files(manifest.files, [EVIDENCE])
            check_known_score(manifest)
            if split_measure(manifest.key.score)[1]:
                raise Wrong(
                    f"{MANIFEST}: key.score is {manifest.key.score!r}, which follows from no evidence"
                )
            evidence = read_evidence(evidence_of(self.path, manifest))
            scored = self._run.load_sentences()
        except (BoardError, RunError, EvidenceError, LimitError) as error:
            raise Wrong(str(error).partition("\n")[0]) from None
        if manifest.seal is None:
            raise Wrong(f"{MANIFEST} has no seal, as all entries do")
        self.what = f"{self._entry.name} on {self._suite.name}"
        for field, stated, follows in (
            ("signature", self._entry.signature, manifest.signature),
            ("fingerprint", self._entry.fingerprint, manifest.key.fingerprint),
        ):
            if stated != follows:
                raise Wrong(f"{self.path.name}/entry.yaml: {field} is not that of {MANIFEST}")
        verdicts = verdicts_of(partial(judge_entry, self._split, manifest, scored))
        # Scored and judged once: what is counted below is read from here.
        self._run = replace(self._run, load_sentences=lambda: scored, load_verdicts=lambda: verdicts)
        self.claim = Claim(self._entry.name, manifest, evidence, scored, verdicts, tables={})
        self.again = Again(self._suite, scored, verdicts)
        return "entry, manifest, seal and evidence"

    def recomputed(self) -> str:
        """Count what follows from the evidence."""
        stated, follows = self.claim.key.terminator, self._suite.terminator
        if stated != follows:
            raise Wrong(f"{MANIFEST}: key.terminator is {stated!r}, but {follows!r} follows from the suite")
        hold_sizes(self.claim.manifest.suite, self._suite)
        _compare_counts(self._entry, self._run)
        n_verdicts = counted(self.again.verdicts.num_rows, "verdict")
        return f"{n_verdicts}, {counted(len(self._entry.rows), 'row')} from suite and evidence"


def _compare_counts(entry: Entry, run: Run) -> None:
    """Compare counts that are stated with those that follow.

    Raises:
        Wrong: One does not.
    """
    found = count_verdicts(run.load_verdicts()) | count_sentences(run.load_sentences())
    for name, value in found.items():
        if getattr(run.manifest.counts, name) != value:
            raise Wrong(
                f"{MANIFEST}: counts.{name} is {getattr(run.manifest.counts, name):,}, but {value:,} follow"
            )
    follow = rows_of(run.verdicts)
    if len(entry.rows) != len(follow):
        raise Wrong(f"entry.yaml has {len(entry.rows)} rows, but {len(follow)} follow")
    for i, (stated, row) in enumerate(zip(entry.rows, follow, strict=True)):
        for name, value in asdict(row).items():
            if (said := getattr(stated, name)) != value:
                raise Wrong(f"entry.yaml: rows[{i}].{name} is {said!r}, but {value!r} follows")
