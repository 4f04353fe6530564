"""The manifest of a run: what was scored, with what, how, and what came of it."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping  # noqa: TC003 - manifests are read into it
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, cast

import pyarrow.compute as pc

from tseval.errors import counted, shown
from tseval.formats import Json  # noqa: TC001 - manifests are read into it
from tseval.runs.key import RunKey  # noqa: TC001 - manifests are read into it
from tseval.runs.seal import FIELD, Seal, seal
from tseval.scoring.protocol import ModelCard  # noqa: TC001 - manifests are read into it

if TYPE_CHECKING:
    import pyarrow as pa

    from tseval.items import Suite
    from tseval.scoring.engine import Scored

MANIFEST_FORMAT = 1


@dataclass(frozen=True, slots=True)
class SuiteFacts:
    """A suite, as a manifest describes it; the fields are those of `Suite`.

    `clusters` is None in runs from before there were any, `sample` where the items were not drawn, `seed`
    where no seed chose sentences (and in runs from before it was kept), `columns` where nobody said what the
    columns of its tables are.
    """

    name: str
    title: str
    source: str | None
    digest: str
    complete: bool
    terminator: str | None
    n_items: int
    n_contrasts: int
    clusters: tuple[str, ...] | None = None
    sample: str | None = None
    seed: int | None = None
    columns: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds by the clock that a run took; of a resumed one, since it was resumed."""

    scoring_seconds: float
    verdict_seconds: float


@dataclass(frozen=True, slots=True)
class Counts:
    """How much was scored, and what came of it; `docs/run-directory.md` explains each."""

    items: int
    contrasts: int
    sentences: int
    tokens: int
    correct: int
    tied: int
    undecidable: int
    contexts: int
    resumed_sentences: int
    too_long: int = 0  # undecidable ones with a sentence longer than the model reads; not in older runs


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a run says of itself: `manifest.json`, whose every field `docs/run-directory.md` explains.

    Attributes:
        signature: The key on one line.
        key: What identifies the run.
        suite: What was scored.
        model: With what.
        device: Where.
        timings: How long it took.
        counts: How much it was, and what came of it.
        warnings: What a reader should know.
        versions: Of the software that made it.
        files: Each data file to the SHA-256 of its bytes; none for a run that stands in no directory.
        seal: Digests of all of this; None where there was none yet, as in runs of before it existed.
    """

    signature: str
    key: RunKey
    suite: SuiteFacts
    model: ModelCard
    device: str
    timings: Timings
    counts: Counts
    warnings: tuple[str, ...]
    versions: Mapping[str, str | None]
    files: Mapping[str, str]
    seal: Seal | None = None

    def __repr__(self) -> str:
        return shown(
            self, f"{self.key.model} on {self.key.suite}", counted(self.counts.sentences, "sentence")
        )

    def __getitem__(self, name: str) -> Json:
        """Give a field as it stands in `manifest.json`."""
        return self.to_mapping()[name]

    def sealed(self, files: Mapping[str, str]) -> Manifest:
        """Say which data files belong to the run, and seal everything."""
        whole = replace(self, files=dict(files))
        return replace(whole, seal=seal(whole.to_mapping()))

    def to_mapping(self) -> dict[str, Json]:
        """Give the content of `manifest.json`."""
        own = cast("dict[str, Json]", {part.name: getattr(self, part.name) for part in fields(self)})
        own |= {"key": self.key.to_mapping(), "warnings": list(self.warnings)}
        for name in ("suite", "model", "timings", "counts"):
            own[name] = asdict(getattr(self, name))
        own[FIELD] = asdict(self.seal) if self.seal else None
        return {"format": MANIFEST_FORMAT, "status": "complete", **own}


@dataclass(frozen=True, slots=True)
class Begun:
    """What the manifest of an unfinished run says.

    Attributes:
        key: What identifies the run.
        seal: Digests of all that it says, as it was read; None where there was none yet.
    """

    key: RunKey
    seal: Seal | None = None

    def to_mapping(self) -> dict[str, Json]:
        """Give the content of `manifest.json`, sealed."""
        head: dict[str, Json] = {"format": MANIFEST_FORMAT, "status": "running"}
        content = head | {"signature": self.key.signature, "key": self.key.to_mapping()}
        return content | {FIELD: asdict(seal(content))}


def describe_suite(suite: Suite) -> SuiteFacts:
    """Describe a suite for a manifest."""
    return SuiteFacts(**{part.name: getattr(suite, part.name) for part in fields(SuiteFacts)})


def count_run(suite: Suite, scored: Scored, verdicts: pa.Table, too_long: int = 0) -> Counts:
    """Count what a run holds; it is told how many contrasts were too long."""
    return Counts(
        items=suite.n_items,
        **count_verdicts(verdicts),
        **count_sentences(scored.table),
        contexts=scored.n_contexts,
        resumed_sentences=scored.n_resumed,
        too_long=too_long,
    )


def count_verdicts(verdicts: pa.Table) -> dict[str, int]:
    """Count what a table of verdicts holds."""
    return {
        "contrasts": verdicts.num_rows,
        "correct": _true(verdicts, "correct"),
        "tied": _true(verdicts, "tie"),
        "undecidable": _true(verdicts, "undecidable"),
    }


def count_sentences(scored: pa.Table) -> dict[str, int]:
    """Count what a table of scored sentences holds."""
    tokens = pc.sum(pc.list_value_length(scored["words"])).as_py() or 0
    return {"sentences": scored.num_rows, "tokens": tokens}


def software() -> dict[str, str | None]:
    """Name the software that makes a run, without importing any of it."""
    packages = {name: _version(name) for name in ("tseval", "torch", "numpy", "pyarrow")}
    return packages | {"python": platform.python_version(), "platform": platform.platform()}


def dump_manifest(manifest: Manifest | Begun) -> bytes:
    """Write a manifest as people read it."""
    return (json.dumps(manifest.to_mapping(), indent=2) + "\n").encode()


def _true(verdicts: pa.Table, column: str) -> int:
    return int(pc.sum(verdicts[column]).as_py() or 0)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
