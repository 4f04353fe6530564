"""Records for Every Eval Ever, the common store of evaluation results.

Source: Batzner et al. 2026, "Every Eval Ever: A Unifying Schema and Community Repository for AI Evaluation
Results", arXiv 2606.14516; `eval.schema.json`, version 0.3.0, of github.com/evaleval/every_eval_ever.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tseval.analysis.counts import COUNTS
from tseval.analysis.estimates import Estimate
from tseval.analysis.intervals import confidence_level
from tseval.analysis.rows import ROW
from tseval.errors import RunError, plain
from tseval.files import to_utf8, write_output
from tseval.report.layout import recorded
from tseval.report.table import Table, build_table
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import Manifest
from tseval.runs.slugs import slug

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.formats import Json
    from tseval.runs import Run


SCHEMA_VERSION = "0.3.0"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
Availability = Literal["open_weights", "closed_weights", "unknown"]
_PART = r"[\w-]+(?:\.[\w-]+)*"
_MODEL_ID = re.compile(rf"{_PART}/{_PART}", re.ASCII)
# Adapters whose weights are on this machine; for lm-eval and external adapters this is unknown.
_HERE = {"native", "hf", "mlm", "ngram", "oracle"}
_DESCRIPTION = (
    "Share of the decidable contrasts that come out as the suite says, by the model's log-probabilities; "
    "a tie is wrong."
)


@dataclass(frozen=True, slots=True)
class Submission:
    """The facts in a record that a run lacks; a model has the name `developer/name` in the store."""

    model_id: str | None = None
    organisation: str = "unknown"
    relationship: Relationship = "other"
    availability: Availability = "unknown"

    def __post_init__(self) -> None:
        if self.model_id is not None and not _MODEL_ID.fullmatch(self.model_id):
            raise RunError(
                f"{self.model_id!r} is not the name of a model on a hub.\n"
                "  Write --model-id DEVELOPER/NAME, with only letters, digits, dots and dashes in both "
                "parts."
            )


@dataclass(frozen=True, slots=True)
class EvalRecord:
    """A record in the format of `eval.schema.json`, and its path in the store if the developer is known."""

    content: Mapping[str, Json]
    place: str | None
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return json.dumps(self.content, indent=2, ensure_ascii=False) + "\n"


def make_record(run: Run, path: Path, submission: Submission) -> EvalRecord:
    """Return the record of a run, or of an entry of a board.

    The name of the record depends only on the run's key, so a new record replaces the old one. Its date is
    that of the manifest file, because a run does not state its date.
    """
    manifest = run.manifest
    table = build_table([run])
    results: list[Json] = [*_of_rows(table, manifest), *_of_mean(table, manifest)]
    if not results:
        raise RunError(
            f"{path}: no item of this run can be decided, so there is no accuracy to record.\n"
            f"  The model may not know the words of the suite. To see the numbers: tseval table {path}"
        )
    model_id = submission.model_id or plain(manifest.model.name)
    digest = hashlib.sha256(json.dumps(manifest.key.parts(), sort_keys=True).encode()).digest()
    content: dict[str, Json] = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{_collection(manifest)}/{model_id}/{digest.hex()[:16]}",
        "retrieved_timestamp": str(int((path / MANIFEST).stat().st_mtime)),
        "source_metadata": _source(manifest, submission),
        "eval_library": _library(manifest),
        "model_info": _model(manifest, model_id, submission),
        "evaluation_results": results,
    }
    path_in_store = None
    if submission.model_id:
        # Names in the store must be random UUIDs in form; these bits come from the digest.
        name = uuid.UUID(bytes=digest[:16], version=4)
        path_in_store = f"data/{_collection(manifest)}/{submission.model_id}/{name}.json"
    return EvalRecord(content, path_in_store, tuple(_notes(table, submission)))


def write_record(record: EvalRecord, output: Path) -> Path:
    """Write a record to a `*.json` file, or into a folder at its path in the store; return the path."""
    if output.suffix == ".json":
        file = output
    elif output.exists() and not output.is_dir():
        raise RunError(
            f"{output} is a file that exists already.\n"
            "  Name a folder with -o, or a new file that ends in .json."
        )
    elif record.place is None:
        raise RunError(
            f"{output} is a folder. In this folder, the path of the record must contain the name of the "
            "model, but the record does not have this name.\n"
            "  Add --model-id DEVELOPER/NAME, or name a file that ends in .json."
        )
    else:
        file = output / record.place
        file.parent.mkdir(parents=True, exist_ok=True)
    write_output(file, to_utf8(str(record)))
    return file


def _collection(manifest: Manifest) -> str:
    """Return the name of the store's folder for all tseval records on a suite."""
    return "tseval_" + slug(manifest.suite.name)


def _source(manifest: Manifest, submission: Submission) -> dict[str, Json]:
    source: dict[str, Json] = {
        "source_name": "tseval",
        "source_type": "evaluation_run",
        "source_organization_name": plain(submission.organisation),
        "evaluator_relationship": submission.relationship,
    }
    if manifest.warnings:
        source["additional_details"] = _texts({"warnings": list(manifest.warnings)})
    return source


def _library(manifest: Manifest) -> dict[str, Json]:
    """Return the facts about tseval that determine the numbers; there are no settings of generation."""
    versions = {name: version for name, version in manifest.versions.items() if name != "tseval"}
    protocol = {f"protocol.{name}": value for name, value in manifest.key.protocol.items()}
    details = {"signature": manifest.signature, **protocol, **versions}
    return {"name": "tseval", "version": manifest.key.tseval, "additional_details": _texts(details)}


def _model(manifest: Manifest, model_id: str, submission: Submission) -> dict[str, Json]:
    card = manifest.model
    info: dict[str, Json] = {"name": plain(card.name), "id": model_id}
    if submission.model_id:
        info["developer"] = model_id.partition("/")[0]
    details = _texts({"adapter": card.kind, "fingerprint": card.fingerprint, **card.details})
    details["deployment_type"] = "self_deployed" if card.kind in _HERE else "unknown"
    details["model_availability"] = submission.availability
    return info | {"additional_details": details}


def _of_rows(table: Table, manifest: Manifest) -> Iterator[dict[str, Json]]:
    rows = recorded(table, 0).astype(object)
    for number, row in enumerate(rows.where(rows.notna(), None).to_dict("records"), 1):
        if row["accuracy"] is None:
            continue
        estimate = Estimate(
            value=float(row["accuracy"]),
            n_items=row["n_items"] - row["n_undecidable"],
            **{name: row[name] for name in ("se", "low", "high", "df", "n_eff", "clusters", "fixed")},
        )
        names = [row[name] for name in ("phenomenon", "construction", "contrast")]
        details = {"level": "row"} | {name: row[name] for name in (*ROW, *COUNTS, "n_eff")}
        yield _result(manifest, f"row_{number}", names, estimate, details)


def _of_mean(table: Table, manifest: Manifest) -> Iterator[dict[str, Json]]:
    """Yield the mean over all rows if there are several; a single row would appear twice."""
    mean = table.means[-1]
    (value,), (estimate,) = mean.accuracy, mean.estimates
    if mean.n_rows > 1 and value is not None and estimate is not None:
        exact = replace(estimate, value=float(value))
        details = {
            "level": "mean",
            "n_rows": mean.n_rows,
            "weights": "each row counts once, whatever its size",
        }
        yield _result(manifest, "mean", ("mean",), exact, details)


def _result(
    manifest: Manifest,
    identifier: str,
    names: Sequence[str],
    estimate: Estimate,
    details: Mapping[str, object],
) -> dict[str, Json]:
    suite = manifest.suite
    labels = {"title": suite.title, "source": suite.source, "digest": suite.digest}
    scored = {"items": manifest.key.items, "complete": suite.complete}
    return {
        "evaluation_result_id": identifier,
        "evaluation_name": ".".join(slug(name) for name in (suite.name, *names)),
        "source_data": {
            "dataset_name": plain(suite.name),
            "source_type": "other",
            "additional_details": _texts(labels | scored),
        },
        "metric_config": {
            "evaluation_description": _DESCRIPTION,
            "metric_id": "accuracy",
            "metric_name": "Accuracy",
            "metric_kind": "accuracy",
            "metric_unit": "proportion",
            "metric_parameters": {"compared_by": manifest.key.score},
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 1,
        },
        "score_details": {
            "score": estimate.value,
            "details": _texts(details),
            "uncertainty": _uncertainty(estimate),
        },
    }


def _uncertainty(estimate: Estimate) -> dict[str, Json]:
    items = f"items clustered by {', '.join(estimate.clusters)}" if estimate.clusters else "items independent"
    t = "normal quantile" if estimate.df is None else f"quantile of t with {estimate.df:g} degrees of freedom"
    wilson = f"Wilson's score interval, items worth {estimate.n_eff:.6g} independent ones"
    return {
        "standard_error": {"value": estimate.se, "method": f"analytic, {items}"},
        "confidence_interval": {
            "lower": estimate.low,
            "upper": estimate.high,
            "confidence_level": confidence_level(),
            "method": f"{wilson}, {t}, {items}",
        },
        "num_samples": estimate.n_items,
    }


def _texts(values: Mapping[str, object]) -> dict[str, Json]:
    """Convert values into the texts that additional details must be; None is left out."""
    return {
        plain(name): plain(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in values.items()
        if value is not None
    }


def _notes(table: Table, submission: Submission) -> Iterator[str]:
    n_without = sum(value is None for value in table.accuracy.iloc[:, 0])
    if n_without:
        yield (
            f"{n_without} of {len(table.rows)} rows have no decidable item, and no score. They are left out."
        )
    missing_by_option = {
        "--model-id": submission.model_id is None,
        "--organisation": submission.organisation == "unknown",
        "--relationship": submission.relationship == "other",
        "--availability": submission.availability == "unknown",
    }
    if missing := [option for option, is_missing in missing_by_option.items() if is_missing]:
        yield f"To make the record complete, state also: {', '.join(missing)}."
