"""What is claimed, the numbers of a run, and what verification found of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast, get_args

from tseval.errors import EvidenceError, LimitError, RunError, one_line
from tseval.evidence import Evidence, gather, whole_column
from tseval.questions import SCORES
from tseval.questions.scored import split_measure
from tseval.runs import read_run
from tseval.runs.directory import RUN_FILES, read_intact
from tseval.runs.manifest import NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pyarrow as pa

    from tseval.formats import Json
    from tseval.questions import Score
    from tseval.runs import Manifest, RunKey


# whole       every file is the one that the manifest describes, and the manifest agrees with itself
# recomputed  the suite, expanded again, and the evidence give these verdicts and these tables
# plausible   no log-probability is above 0, and what may follow a prefix has no more than all probability
# rescored    the model gives the same log-probabilities for a share of the sentences that nobody could choose
# rerun       it does so for all of them
VerifyLevel = Literal["whole", "recomputed", "plausible", "rescored", "rerun"]
VERIFY_LEVELS: tuple[VerifyLevel, ...] = get_args(VerifyLevel)


class CheckFailed(Exception):  # noqa: N818 - not an error of ours: what a check is there to find
    """Something that is not as it is claimed to be."""


@dataclass(frozen=True, slots=True)
class Check:
    """One level that was checked: whether it holds, and what was seen, in a line."""

    level: VerifyLevel
    ok: bool
    found: str

    def __repr__(self) -> str:
        return one_line(self, self.level, "holds" if self.ok else "wrong")


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification found of a run or entry; it ends with the first level that is wrong."""

    name: str
    what: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return all(check.ok for check in self.checks)

    @property
    def level(self) -> VerifyLevel | None:
        """The last level that holds; None where the first is wrong."""
        return next((check.level for check in reversed(self.checks) if check.ok), None)

    def to_mapping(self) -> dict[str, Json]:
        """Give the report as plain data."""
        checks: list[Json] = [{"level": c.level, "ok": c.ok, "found": c.found} for c in self.checks]
        return {"name": self.name, "what": self.what, "ok": self.ok, "level": self.level, "checks": checks}

    def __repr__(self) -> str:
        return one_line(self, self.name, f"verified: {self.level}" if self.ok else "wrong")

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.what}"]
        lines += [f"  {c.level:<11} {'' if c.ok else 'WRONG: '}{c.found}" for c in self.checks]
        return "\n".join(lines)


_TABLES = ("table.md", "table.csv")
# How far two computations of one number may differ, in nats: by their last bits alone.
LAST_BITS = {"float64": 1e-4, "float32": 1e-4, "float16": 0.03, "bfloat16": 0.25}


@dataclass(frozen=True, slots=True)
class Claim:
    """Numbers, with all that they should follow from, and the sentences that these are said to belong to."""

    name: str
    manifest: Manifest
    evidence: Evidence
    scored: pa.Table
    verdicts: pa.Table
    tables: Mapping[str, str]

    @property
    def key(self) -> RunKey:
        """What identifies the run."""
        return self.manifest.key

    @property
    def sentences(self) -> pa.StringArray:
        """The sentences that were scored."""
        return whole_column(self.scored, "sentence")

    @property
    def score(self) -> Score:
        """What sentences are compared by."""
        return cast("Score", self.key.score)

    @property
    def last_bits(self) -> float:
        """How far two computations of one number may differ, in nats."""
        return LAST_BITS.get(str(self.key.protocol.get("dtype")), LAST_BITS["float32"])


def claim_of_run(path: Path) -> Claim:
    """Read all that a run claims: every file, held to its digest, and the manifest to its seal."""
    if not path.is_dir() or not any(path.iterdir()):
        raise RunError(f"there is no run at {str(path)!r}.\n  Name the directory of a run.")
    try:
        run = read_run(path)
        files = run.manifest.files
        hold_files(files, RUN_FILES)
        contents = {name: read_intact(path, files, name) for name in files}
        scored, verdicts = run.load_sentences(), run.load_verdicts()
        tables = {name: contents[name].decode() for name in _TABLES if name in files}
        evidence = gather(scored, run.manifest.suite.digest)
        check_known_score(run.manifest)
    except (RunError, LimitError, EvidenceError, UnicodeDecodeError) as error:
        raise CheckFailed(str(error).partition("\n")[0]) from None
    return Claim(run.name, run.manifest, evidence, scored, verdicts, tables)


def hold_files(files: Iterable[str], names: Iterable[str]) -> None:
    """Refuse a manifest that leaves a data file out, which could then say anything, or names another."""
    listed, known = set(files), set(names)
    if missing := sorted(known - listed):
        raise CheckFailed(f"{NAME} does not list {missing[0]}")
    if strangers := sorted(listed - known):
        raise CheckFailed(f"{NAME} lists {strangers[0]!r}, which is no file of it")


def check_known_score(manifest: Manifest) -> None:
    """Refuse what compares nothing."""
    if split_measure(manifest.key.score)[0] not in SCORES:
        raise CheckFailed(f"{NAME}: key.score is {manifest.key.score!r}, which is no score")
