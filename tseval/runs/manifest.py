"""The manifest of a run: what was scored, with what, how, and what came of it."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, TypedDict, cast

import pyarrow.compute as pc

from tseval.errors import RunError
from tseval.runs.key import RunKey

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow as pa

    from tseval.checked import Json
    from tseval.scoring.protocol import ModelCard
    from tseval.suites.items import Suite

Kind = type | dict[str, type]

FORMAT = 1
NAME = "manifest.json"


class SuiteFacts(TypedDict):
    """A suite, as a manifest describes it."""

    name: str
    title: str
    source: str | None
    digest: str
    complete: bool
    terminator: str | None
    n_items: int
    n_contrasts: int


class ModelFacts(TypedDict):
    """A model, as a manifest describes it: the fields of its card."""

    name: str
    kind: str
    fingerprint: str
    protocol: dict[str, Json]
    details: dict[str, Json]


class Manifest(TypedDict):
    """`manifest.json` of a complete run; `docs/run-directory.md` explains every field.

    `files` maps each data file to the SHA-256 of its bytes.
    """

    format: int
    status: str
    signature: str
    key: dict[str, Json]
    suite: SuiteFacts
    model: ModelFacts
    device: str
    timings: dict[str, float]
    counts: dict[str, int]
    warnings: list[str]
    versions: dict[str, str | None]
    files: dict[str, str]


def describe_suite(suite: Suite) -> SuiteFacts:
    """Describe a suite for a manifest."""
    return {
        "name": suite.name,
        "title": suite.title,
        "source": suite.source,
        "digest": suite.digest,
        "complete": suite.complete,
        "terminator": suite.terminator,
        "n_items": suite.n_items,
        "n_contrasts": suite.n_contrasts,
    }


def describe_model(card: ModelCard) -> ModelFacts:
    """Describe a model for a manifest."""
    return {
        "name": card.name,
        "kind": card.kind,
        "fingerprint": card.fingerprint,
        "protocol": dict(card.protocol),
        "details": dict(card.details),
    }


def make_manifest(
    key: RunKey, extra: Mapping[str, object], scored: pa.Table, verdicts: pa.Table, files: Mapping[str, str]
) -> Manifest:
    """Write up a complete run.

    Args:
        key: What identifies the run.
        extra: `suite`, `model`, `device`, `timings`, `warnings`, and `counts` of what the tables
            do not show (`contexts`).
        scored: The scored sentences.
        verdicts: One row per item and contrast.
        files: Name of each data file to its SHA-256.
    """
    missing = {"suite", "model", "device", "timings", "warnings", "counts"} - extra.keys()
    assert not missing, f"the manifest lacks {missing}"
    suite = cast("SuiteFacts", extra["suite"])
    counts = {
        "items": suite["n_items"],
        "contrasts": verdicts.num_rows,
        "sentences": scored.num_rows,
        "tokens": pc.sum(pc.list_value_length(scored["words"])).as_py() or 0,
        "correct": _true(verdicts, "correct"),
        "tied": _true(verdicts, "tie"),
        "undecidable": _true(verdicts, "undecidable"),
    }
    manifest = {
        "format": FORMAT,
        "status": "complete",
        "signature": key.signature,
        "key": key.to_mapping(),
        **extra,
        "counts": counts | cast("dict[str, int]", extra["counts"]),
        "versions": _versions(),
        "files": dict(files),
    }
    return cast("Manifest", manifest)


def running_manifest(key: RunKey) -> dict[str, object]:
    """Write up a run that has begun."""
    return {"format": FORMAT, "status": "running", "signature": key.signature, "key": key.to_mapping()}


def dump_manifest(manifest: Mapping[str, object]) -> bytes:
    """Write a manifest as people read it."""
    return (json.dumps(manifest, indent=2) + "\n").encode()


def load_manifest(directory: Path) -> dict[str, object]:
    """Read the manifest of a complete or interrupted run.

    Raises:
        RunError: The directory is not a run, or its manifest is damaged or from a newer tseval.
    """
    file = directory / NAME
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise RunError(f"{directory} is not a run: it has no {NAME}.") from None
    except OSError as error:
        raise RunError(f"{file}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise RunError(f"{file} is damaged: it is not JSON ({error}).\n  {_AGAIN}") from None
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise RunError(f"{file} is not the manifest of a run: it states no format.\n  {_AGAIN}")
    if content["format"] > FORMAT:
        raise RunError(
            f"{file} has format {content['format']}, and this tseval reads formats up to {FORMAT}.\n"
            "  It was written by a newer tseval: upgrade to read it."
        )
    _check(content, _COMPLETE if content.get("status") == "complete" else _RUNNING, file)
    return content


def _check(content: dict[str, object], expected: Mapping[str, Kind], file: Path, where: str = "") -> None:
    """Refuse a manifest that lacks a field that is read later, at any depth."""
    for name, kind in expected.items():
        value = content.get(name)
        if not isinstance(value, dict if isinstance(kind, dict) else kind):
            raise RunError(f"{file} is damaged: {where}{name} is missing or wrong.\n  {_AGAIN}")
        if isinstance(kind, dict):
            _check(cast("dict[str, object]", value), kind, file, f"{name}.")


def key_of(manifest: Mapping[str, object], directory: Path) -> RunKey:
    """Take the key out of a manifest."""
    try:
        return RunKey(**manifest["key"])  # type: ignore[arg-type]
    except TypeError:
        raise RunError(f"{directory / NAME} is damaged: 'key' is wrong.\n  {_AGAIN}") from None


_AGAIN = "Run tseval run again into a new directory."
# The fields that are read later and their types; a mapping stands for itself.
_RUNNING: dict[str, Kind] = {
    "status": str,
    "signature": str,
    "key": {"suite": str, "model": str, "score": str, "protocol": dict},
}
_COMPLETE: dict[str, Kind] = _RUNNING | {
    "suite": {"name": str, "title": str, "digest": str, "complete": bool},
    "model": {"name": str, "details": dict},
    "counts": {"contrasts": int, "tied": int, "undecidable": int},
    "warnings": list,
    "files": dict,
}


def _true(verdicts: pa.Table, column: str) -> int:
    return int(pc.sum(verdicts[column]).as_py() or 0)


def _versions() -> dict[str, str | None]:
    """Name the software that made the run, without importing any of it."""
    packages = {name: _version(name) for name in ("tseval", "torch", "numpy", "pyarrow")}
    return packages | {"python": platform.python_version(), "platform": platform.platform()}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
