"""The claims of a run: its manifest, sentences, verdicts and tables, checked against each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from tseval.errors import EvidenceError, LimitError, RunError
from tseval.evidence.columns import whole_column
from tseval.evidence.record import Evidence, gather
from tseval.questions import SCORES, Score
from tseval.questions.normalisation import split_measure
from tseval.runs.directory import CONTEXTS_FILE, RUN_FILES, read_intact
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.reader import read_run
from tseval.verifying.levels import CheckFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pyarrow as pa

    from tseval.runs import Manifest, RunKey


_TABLES = ("table.md", "table.csv")
# The tolerance, in nats, for two computations of one number, which differ in their last bits.
LAST_BITS = {"float64": 1e-4, "float32": 1e-4, "float16": 0.03, "bfloat16": 0.25}


@dataclass(frozen=True, slots=True)
class Claim:
    """The numbers of a run, with the evidence and the sentences that they should be computed from."""

    name: str
    manifest: Manifest
    evidence: Evidence
    scored: pa.Table
    verdicts: pa.Table
    tables: Mapping[str, str]

    @property
    def key(self) -> RunKey:
        """The identity of the run."""
        return self.manifest.key

    @property
    def sentences(self) -> pa.StringArray:
        """The sentences that were scored."""
        return whole_column(self.scored, "sentence")

    @property
    def score(self) -> Score:
        """The score by which sentences are compared."""
        return cast("Score", self.key.score)

    @property
    def last_bits(self) -> float:
        """The tolerance for two computations of one number, in nats."""
        return LAST_BITS.get(str(self.key.protocol.get("dtype")), LAST_BITS["float32"])


def claim_of_run(path: Path) -> Claim:
    """Read all files of a run, and check their digests and the seal of the manifest."""
    if not path.is_dir() or not any(path.iterdir()):
        raise RunError(f"{str(path)!r} is not the folder of a run.\n  Name the folder of a run.")
    try:
        run = read_run(path)
        files = run.manifest.files
        hold_files(files, (*RUN_FILES, *([CONTEXTS_FILE] if run.manifest.suite.context else ())))
        contents = {name: read_intact(path, files, name) for name in files}
        scored, verdicts = run.load_sentences(), run.load_verdicts()
        tables = {name: contents[name].decode() for name in _TABLES if name in files}
        evidence = gather(scored, run.manifest.suite.digest)
        check_known_score(run.manifest)
    except (RunError, LimitError, EvidenceError, UnicodeDecodeError) as error:
        raise CheckFailed(str(error).partition("\n")[0]) from None
    return Claim(run.name, run.manifest, evidence, scored, verdicts, tables)


def hold_files(files: Iterable[str], names: Iterable[str]) -> None:
    """Raise an error if a manifest lacks the digest of a data file, or lists an unknown file."""
    listed, expected = set(files), set(names)
    if missing := sorted(expected - listed):
        raise CheckFailed(
            f"{MANIFEST} has no digest for {missing[0]}, but every run needs this file and its digest"
        )
    if strangers := sorted(listed - expected):
        raise CheckFailed(f"{MANIFEST} has a digest for {strangers[0]!r}, but a run has no such file")


def check_known_score(manifest: Manifest) -> None:
    """Raise an error for a score that does not exist."""
    if split_measure(manifest.key.score)[0] not in SCORES:
        raise CheckFailed(
            f"{MANIFEST}: the key `key.score` is {manifest.key.score!r}, but tseval knows no "
            "score with this name"
        )
