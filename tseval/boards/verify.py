"""Verify an entry of a board, level by level, as a run is verified."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tseval.boards.definition import read_definition, suite_of
from tseval.boards.entry import EVIDENCE, entry_run, read_entry, rows_of
from tseval.errors import BoardError, EvidenceError, LimitError, RunError
from tseval.evidence.evidence import whole_column
from tseval.evidence.file import read_evidence
from tseval.runs.files import read_intact
from tseval.runs.manifest import count_verdicts
from tseval.runs.manifest_file import NAME as MANIFEST
from tseval.shown import counted
from tseval.suites.grammar.cache import afresh
from tseval.verifying.claim import Claim
from tseval.verifying.recompute import Again, check_plausible
from tseval.verifying.report import Check, Verification, VerifyLevel, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tseval.boards.entry import Entry
    from tseval.runs import Run
    from tseval.scoring.protocol import Model
    from tseval.suites.items import Suite


def verify_entry(
    folder: Path,
    *,
    suite: Suite | None = None,
    model: Model | None = None,
    share: float = 0.01,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Verify an entry; its board stands two folders above.

    Args:
        folder: Of the entry.
        suite: That of the board, expanded again; None expands it.
        model: To be asked again; None asks none.
        share: Of the sentences that the model is asked about, chosen by hash; 1 for all.
        progress: Called with the numbers of sentences done and of all, while the model is asked.

    Raises:
        BoardError: The board is none, or over another suite than is here.
        SuiteError: Its suite is not here.
        ModelError: The model cannot be asked.
    """
    suite = suite or board_suite(folder.parents[1])
    level: VerifyLevel = "whole"
    checks: list[Check] = []
    what = "unread"

    def holds(found: str) -> None:
        checks.append(Check(level, True, found))

    try:
        entry, run, claim = _whole(folder, suite)
        what = f"{entry.name} on {suite.name}"
        holds("entry, manifest, seal and evidence")
        level = "recomputed"
        again = Again(suite, run.load_sentences(), run.load_verdicts())
        _compare_counts(entry, run)
        n_verdicts, n_rows = counted(again.verdicts.num_rows, "verdict"), counted(len(entry.rows), "row")
        holds(f"{n_verdicts}, {n_rows} from suite and evidence")
        level = "plausible"
        holds(check_plausible(claim, again))
        if model is not None:
            from tseval.verifying.rescore import rescore  # noqa: PLC0415 - brings torch along

            level = "rerun" if share >= 1 else "rescored"
            holds(rescore(claim, again, model, share, progress))
    except Wrong as wrong:
        checks.append(Check(level, False, str(wrong)))
    except (RunError, EvidenceError, LimitError) as error:
        checks.append(Check(level, False, str(error).partition("\n")[0]))
    return Verification(str(folder), what, tuple(checks))


def board_suite(board: Path) -> Suite:
    """Load the suite of a board, never from a cache."""
    with afresh():
        return suite_of(read_definition(board), board)


def _whole(folder: Path, suite: Suite) -> tuple[Entry, Run, Claim]:
    """Read an entry, and hold its files to each other."""
    try:
        entry = read_entry(folder)
    except BoardError as error:
        raise Wrong(str(error).partition("\n")[0]) from None
    run = entry_run(folder, suite)
    manifest = run.manifest
    for field, stated, follows in (
        ("signature", entry.signature, manifest.signature),
        ("fingerprint", entry.fingerprint, manifest.key.fingerprint),
    ):
        if stated != follows:
            raise Wrong(f"{folder.name}/entry.yaml: {field} is not that of {MANIFEST}")
    evidence = read_evidence(read_intact(folder, manifest.files, EVIDENCE))
    scored = run.load_sentences()
    claim = Claim(
        name=entry.name,
        manifest=manifest,
        evidence=evidence,
        sentences=whole_column(scored, "sentence"),
        verdicts=run.load_verdicts(),
        tables={},
    )
    return entry, run, claim


def _compare_counts(entry: Entry, run: Run) -> None:
    """Compare counts that are stated with those that follow.

    Raises:
        Wrong: One does not.
    """
    found = count_verdicts(run.load_verdicts())
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
