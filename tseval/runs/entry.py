"""An entry of a leaderboard, opened as the run that it was made of."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the types of fields are read
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tseval.errors import EvidenceError, RunError, reason
from tseval.evidence.download import EvidenceAddress, fetch_evidence
from tseval.evidence.file_format import read_evidence
from tseval.evidence.restoring import readable, scored_again
from tseval.formats import ContentError, Json, checked, read_yaml
from tseval.runs.board_suite import DEFINITION, SplitSuite, suite_of_board
from tseval.runs.directory import digest, read_intact
from tseval.runs.manifest import NAME, Manifest, load_manifest
from tseval.runs.run import Run
from tseval.verdicts import judge

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

EVIDENCE = "evidence.parquet"
ENTRY_FILE = "entry.yaml"


@dataclass(frozen=True, slots=True)
class _Address:
    """The address of the evidence in `entry.yaml`."""

    evidence: EvidenceAddress | None = None


def evidence_of(folder: Path, manifest: Manifest) -> bytes:
    """Read the evidence of an entry, or download it, and check its digest in the manifest."""
    entry = folder / ENTRY_FILE
    try:
        address = None if (folder / EVIDENCE).exists() else checked(read_yaml(entry), _Address).evidence
        if address is None:
            return read_intact(folder, manifest.files, EVIDENCE)
        content = fetch_evidence(address)
    except (OSError, ContentError) as error:
        raise RunError(f"{entry}: {reason(error)}") from None
    except EvidenceError as error:
        raise RunError(f"{entry}: {error}") from None
    if digest(content) != manifest.files.get(EVIDENCE):
        raise RunError(
            f"{entry}: the digest of the evidence is not the digest in {NAME}, so one of the "
            "two was changed. Add the run again: tseval board add BOARD RUN"
        )
    return content


def entry_run(folder: Path, split: SplitSuite) -> Run:
    """Open an entry as the run that it was made of, for tables; the evidence is local or downloaded."""
    manifest = load_manifest(folder)
    if not isinstance(manifest, Manifest):
        raise RunError(
            f"{folder / NAME} belongs to an unfinished run. Finish the run with tseval run --resume, then "
            "add it again: tseval board add BOARD RUN"
        )
    if manifest.suite.digest != split.suite.digest:
        run_suite, board_suite = (
            f"{stated.name}@{stated.digest[:8]}" for stated in (manifest.suite, split.suite)
        )
        raise RunError(
            f"{folder / NAME} states that the run scored the suite {run_suite}, but the leaderboard has the "
            f"suite {board_suite}. Score the model on the suite of the leaderboard."
        )

    def sentences() -> tuple[pa.Table, pa.StringArray]:
        global _last  # noqa: PLW0603 - sentences and verdicts of an entry are read one after the other
        content = evidence_of(folder, manifest)
        evidence_digest = manifest.files[EVIDENCE]
        if _last is None or _last[0] is not split or _last[1] != evidence_digest:
            _last = split, evidence_digest, restored(content)
        return _last[2]

    def restored(content: bytes) -> tuple[pa.Table, pa.StringArray]:
        try:
            evidence = read_evidence(content)
            if evidence.suite_digest != split.suite.digest:
                raise EvidenceError(
                    f"the evidence has scores of a different suite (digest {evidence.suite_digest[:8]})"
                )
            read, too_long = readable(evidence, split.sentences)
            return scored_again(evidence, read, None if too_long else split.words), too_long
        except EvidenceError as error:
            raise RunError(f"{folder / EVIDENCE}: {error}") from None

    def verdicts() -> pa.Table:
        scored, too_long = sentences()
        rows = None if too_long else split.rows
        return judge(split.clustered, scored, manifest.key.score, too_long, rows, manifest.unknown)

    suite = replace(manifest.suite, inferred=split.clustered.inferred)
    model = replace(manifest.model, name=folder.name)  # the name on the board
    renamed = replace(manifest, model=model, suite=suite)
    return Run(folder.name, renamed, lambda: sentences()[0], verdicts)


_last: tuple[SplitSuite, str, tuple[pa.Table, pa.StringArray]] | None = None


@dataclass(frozen=True, slots=True)
class _OverSuite:
    """The suite in `board.yaml`."""

    suite: str
    digest: str
    columns: Mapping[str, str] = field(default_factory=dict)
    protocol: Mapping[str, Json] = field(default_factory=dict)
    score: str = "sentence"


def suite_of_entry(folder: Path) -> SplitSuite:
    """Load the suite of the board of an entry, which is two folders above the entry."""
    board = folder.resolve().parents[1]
    try:
        definition = checked(read_yaml(board / DEFINITION), _OverSuite)
        facts = definition.suite, definition.digest, definition.columns, definition.protocol
        return SplitSuite(suite_of_board(board, *facts), definition.score)
    except (OSError, ContentError) as error:
        raise RunError(
            f"{folder} is an entry of a leaderboard, but tseval cannot find the suite: "
            f"{board / DEFINITION}: {reason(error)}.\n"
            "  Name the entry in the folder of its leaderboard: BOARD/entries/NAME"
        ) from None
