"""For other tools: records of Every Eval Ever, a table for mixed models in R, tasks of lm-eval.

Every Eval Ever is the common store of evaluation results.

Source: Batzner et al. 2026, "Every Eval Ever: A Unifying Schema and Community Repository for AI Evaluation
Results", arXiv 2606.14516; `eval.schema.json`, version 0.3.0, of github.com/evaleval/every_eval_ever.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from dataclasses import dataclass, replace
from shlex import quote
from typing import IO, TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
import yaml

from tseval.analysis.counts import COUNTS
from tseval.analysis.design import FEWEST_LEVELS
from tseval.analysis.estimates import Estimate
from tseval.analysis.features import entry_columns
from tseval.analysis.intervals import confidence_level
from tseval.analysis.rows import ROW
from tseval.errors import RunError, SuiteError, plain
from tseval.files import to_utf8, write_output, write_whole
from tseval.report.document import cell
from tseval.report.layout import recorded, row_labels
from tseval.report.table import Table, build_table
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tseval.formats import Json
    from tseval.items import Case, Suite
    from tseval.questions import Contrast
    from tseval.report.opened import RunSet
    from tseval.runs import Run


SCHEMA_VERSION = "0.3.0"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
Availability = Literal["open_weights", "closed_weights", "unknown"]
_PART = r"[\w-]+(?:\.[\w-]+)*"
_MODEL_ID = re.compile(rf"{_PART}/{_PART}", re.ASCII)
# Adapters with weights that lie here; whom lm-eval and adapters from outside ask is not known.
_HERE = {"native", "hf", "mlm", "ngram", "oracle"}
_DESCRIPTION = (
    "Share of the decidable contrasts that come out as the suite says, by the model's log-probabilities; "
    "a tie is wrong."
)


@dataclass(frozen=True, slots=True)
class Submission:
    """What a record says that no run knows; a model is `developer/name`, as the store knows it."""

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
    """A record as `eval.schema.json` has it, and its place in the store if the developer is known."""

    content: Mapping[str, Json]
    place: str | None
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return json.dumps(self.content, indent=2, ensure_ascii=False) + "\n"


def make_record(run: Run, path: Path, submission: Submission) -> EvalRecord:
    """Write a run, or an entry of a board, as a record.

    One run has one record, whose name follows from the run's key: made again, it replaces itself. It is as
    old as the manifest file, since a run does not say when it was made.
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
    place = None
    if submission.model_id:
        # The store takes names that have the form of a random UUID; these bits come from the digest.
        name = uuid.UUID(bytes=digest[:16], version=4)
        place = f"data/{_collection(manifest)}/{submission.model_id}/{name}.json"
    return EvalRecord(content, place, tuple(_notes(table, submission)))


def write_record(record: EvalRecord, output: Path) -> Path:
    """Write a record to a file, `*.json`, or into a folder, at its place in the store; give the file."""
    if output.suffix == ".json":
        file = output
    elif output.exists() and not output.is_dir():
        raise RunError(
            f"{output} is a file that exists already.\n"
            "  Name a folder with -o, or a new file that ends in .json."
        )
    elif record.place is None:
        raise RunError(
            f"{output} is a folder, in which the path of a record contains the name of the model, but this "
            "name is missing.\n"
            "  Add --model-id DEVELOPER/NAME, or name a file that ends in .json."
        )
    else:
        file = output / record.place
        file.parent.mkdir(parents=True, exist_ok=True)
    write_output(file, to_utf8(str(record)))
    return file


def _collection(manifest: Manifest) -> str:
    """Name the folder of all records on a suite that come from tseval."""
    return "tseval_" + _slug(manifest.suite.name)


def _slug(name: str) -> str:
    return re.sub(r"\W+", "_", name.lower()).strip("_")


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
    """Name this library, and what decides the numbers: nothing is generated, so no settings of that do."""
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
    for place, row in enumerate(rows.where(rows.notna(), None).to_dict("records"), 1):
        if row["accuracy"] is None:
            continue
        found = Estimate(
            value=float(row["accuracy"]),
            n_items=row["n_items"] - row["n_undecidable"],
            **{name: row[name] for name in ("se", "low", "high", "df", "n_eff", "clusters", "fixed")},
        )
        names = [row[name] for name in ("phenomenon", "construction", "contrast")]
        told = {"level": "row"} | {name: row[name] for name in (*ROW, *COUNTS, "n_eff")}
        yield _result(manifest, f"row_{place}", names, found, told)


def _of_mean(table: Table, manifest: Manifest) -> Iterator[dict[str, Json]]:
    """Write the mean over all rows, if there are several: a single row would stand there twice."""
    mean = table.means[-1]
    (value,), (found,) = mean.accuracy, mean.estimates
    if mean.n_rows > 1 and value is not None and found is not None:
        exact = replace(found, value=float(value))
        told = {"level": "mean", "n_rows": mean.n_rows, "weights": "each row counts once, whatever its size"}
        yield _result(manifest, "mean", ("mean",), exact, told)


def _result(
    manifest: Manifest, identifier: str, names: Sequence[str], found: Estimate, told: Mapping[str, object]
) -> dict[str, Json]:
    suite = manifest.suite
    about = {"title": suite.title, "source": suite.source, "digest": suite.digest}
    scored = {"items": manifest.key.items, "complete": suite.complete}
    return {
        "evaluation_result_id": identifier,
        "evaluation_name": ".".join(_slug(name) for name in (suite.name, *names)),
        "source_data": {
            "dataset_name": plain(suite.name),
            "source_type": "other",
            "additional_details": _texts(about | scored),
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
            "score": found.value,
            "details": _texts(told),
            "uncertainty": _uncertainty(found),
        },
    }


def _uncertainty(found: Estimate) -> dict[str, Json]:
    items = f"items clustered by {', '.join(found.clusters)}" if found.clusters else "items independent"
    t = "normal quantile" if found.df is None else f"quantile of t with {found.df:g} degrees of freedom"
    wilson = f"Wilson's score interval, items worth {found.n_eff:.6g} independent ones"
    return {
        "standard_error": {"value": found.se, "method": f"analytic, {items}"},
        "confidence_interval": {
            "lower": found.low,
            "upper": found.high,
            "confidence_level": confidence_level(),
            "method": f"{wilson}, {t}, {items}",
        },
        "num_samples": found.n_items,
    }


def _texts(values: Mapping[str, object]) -> dict[str, Json]:
    """Write values as texts, which is what additional details are; what is not known is left out."""
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
    unsaid = {
        "--model-id": submission.model_id is None,
        "--organisation": submission.organisation == "unknown",
        "--relationship": submission.relationship == "other",
        "--availability": submission.availability == "unknown",
    }
    if missing := [option for option, is_missing in unsaid.items() if is_missing]:
        yield f"Not recorded, because the run does not contain it: {', '.join(missing)}."


_SYNTACTIC = re.compile(r"[A-Za-z][A-Za-z0-9._]*")
_SCORES = ["better_score", "worse_score", "tie", "undecidable"]


@dataclass(frozen=True, slots=True)
class MixedModel:
    """What is to be fitted to the table that `write_verdicts` writes.

    Attributes:
        fixed: Factors with too few entries to be random: they are left to the reader.
    """

    formula: str
    fixed: tuple[str, ...]
    n_verdicts: int

    @property
    def is_mixed(self) -> bool:
        """Whether anything is random: else it is a model for `glm`."""
        return "|" in self.formula

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know about the formula."""
        notes = []
        if self.fixed:
            notes.append(
                f"Fewer than {FEWEST_LEVELS} entries, so no random effect: {', '.join(self.fixed)}. "
                "Add them as fixed effects, or leave them out."
            )
        if "1 + model" in self.formula:
            notes.append("If the fit does not converge, write (1 | verb.entry) for (1 + model | verb.entry).")
        if not self.is_mixed:
            notes.append("No items share words, so the model has no random effects.")
        return tuple(notes)


def mixed_model(opened: RunSet) -> MixedModel:
    """Write the formula for the verdicts of runs.

    Entries are random effects, crossed with each other, as items and subjects are in experiments. With
    several models an entry has an effect of its own for each of them, since models are what is compared.

    Source: Baayen, Davidson & Bates 2008, "Mixed-effects modeling with crossed random effects for subjects
    and items", Journal of Memory and Language 59; Barr, Levy, Scheepers & Tily 2013, "Random effects
    structure for confirmatory hypothesis testing: Keep it maximal", ibid. 68.
    """
    all_decided = [_decided(verdicts) for verdicts in opened.verdicts.values()]
    parts = [frame for frame in all_decided if len(frame)]
    if not parts:
        raise RunError(
            "no item of these runs can be decided, so there are no data for a mixed model.\n"
            "  The models may not know the words of the suite. To see the number of undecidable items: "
            "tseval table RUN"
        )
    rows = pd.concat([frame[list(ROW)].drop_duplicates() for frame in parts]).drop_duplicates()
    several = [name for name, n in (("model", len(parts)), ("row", len(rows))) if n > 1]
    entries: dict[str, set[str]] = {}
    for frame in parts:
        for name in entry_columns(frame):
            entries.setdefault(name, set()).update(frame[name].dropna().unique())
    counts = {name: len(own) for name, own in entries.items()}
    slopes = "1 + model" if "model" in several else "1"
    effects = [f"({slopes} | {_quoted(cell(name))})" for name, n in counts.items() if n >= FEWEST_LEVELS]
    if len(parts) > 1 or parts[0].duplicated(["case", "item"]).any():
        effects.append("(1 | id)")
    return MixedModel(
        formula=" + ".join([f"correct ~ {' * '.join(several) or '1'}", *effects]),
        fixed=tuple(name for name, n in counts.items() if 1 < n < FEWEST_LEVELS),
        n_verdicts=sum(map(len, parts)),
    )


def _decided(verdicts: pd.DataFrame) -> pd.DataFrame:
    return verdicts[~verdicts["undecidable"].to_numpy(bool)]


def write_verdicts(opened: RunSet, file: IO[bytes]) -> None:
    """Write one line per model and decidable verdict, one model at a time.

    `model`, `row` (of the table), `id` (of the item, the same for all models and contrasts), `correct` (0 or
    1); then the columns of the verdicts, with an `.entry` empty where an item has none.
    """
    names = list(dict.fromkeys(str(name) for frame in opened.verdicts.values() for name in frame.columns))
    for place, (model, verdicts) in enumerate(opened.verdicts.items()):
        table = _tidy(model, verdicts.reindex(columns=names))
        file.write(table.to_csv(index=False, header=place == 0, lineterminator="\n").encode())


def _tidy(model: str, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return the decidable verdicts of one model, ready to be written."""
    frame = _decided(verdicts)
    keys = {
        "model": cell(model),
        "row": _rows(verdicts)[~verdicts["undecidable"].to_numpy(bool)],
        "id": frame["case"].astype(str) + ":" + frame["item"].astype(str),
        "correct": frame["correct"].astype(int),
    }
    ours = {name: f"feature.{name}" for name in keys}
    others = frame.drop(columns=["correct", *_SCORES]).rename(columns=ours)
    texts = {}
    for name, column in others.items():
        if not pd.api.types.is_numeric_dtype(column):  # each text once as a spreadsheet may read it
            codes, values = pd.factorize(column)
            texts[str(name)] = np.array([*(cell(str(text)) for text in values), ""], object)[codes]
    return pd.concat([pd.DataFrame(keys, frame.index), others.assign(**texts)], axis=1).rename(columns=cell)


def _rows(verdicts: pd.DataFrame) -> NDArray[np.object_]:
    """Name the row of the table that each verdict counts in, with its phenomenon."""
    keys = verdicts[list(ROW)]
    different = keys.drop_duplicates()
    labels = row_labels(different)
    names = [
        f"{phenomenon}: {label}" for phenomenon, label in zip(different["phenomenon"], labels, strict=True)
    ]
    number = keys.groupby(list(ROW), sort=False, dropna=False).ngroup()
    return np.array(list(map(cell, names)), object)[number]


def _quoted(name: str) -> str:
    """Write the name of a column as R reads it."""
    return name if _SYNTACTIC.fullmatch(name) else "`" + name.replace("`", "\\`") + "`"


def in_r(model: MixedModel, file: str) -> str:
    """Write the lines of R that read the table and fit the model."""
    read = f"verdicts <- read.csv({_text(file)}, check.names = FALSE, na.strings = character())"
    if not model.is_mixed:
        return f"{read}\nfit <- glm({model.formula}, data = verdicts, family = binomial)\n"
    fit = f"fit <- glmer({model.formula},\n             data = verdicts, family = binomial,\n"
    # The default optimiser warns of models near chance that it has not converged.
    fit += '             control = glmerControl(optimizer = "bobyqa"))'
    return f"library(lme4)\n{read}\n{fit}\n"


def _text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


README = """# {title}

Tasks for lm-eval, made by tseval from the suite {name}, digest {digest}. Run them with

    lm_eval --include_path {folder} --tasks {group} \\
        --model hf --model_args pretrained=...,softmax_dtype=float32

The choices are in the order bad, good, and the good one is the answer. lm-eval takes the first of equal
choices, so a tie is wrong, as in tseval. With `softmax_dtype=float32` ties are rare. The accuracy of the
group is the mean over its tasks, each counted once, like the mean of all rows in a table of tseval.
"""


def write_tasks(suite: Suite, folder: Path) -> list[str]:
    """Write a suite as tasks of lm-eval into a new or empty folder; give the names of group and tasks.

    Where the suite has rules of writing, they hold natural text.
    """
    if not suite.has_accuracy:
        raise SuiteError(
            f"{suite.name} is a suite of rated sentences, which a task of lm-eval cannot express.\n"
            "  Choose a suite of sentence pairs."
        )
    if suite.score != "sentence":
        raise SuiteError(
            f"{suite.name} compares sentences with --score {suite.score}, which a task of lm-eval cannot "
            "express.\n"
            "  Choose a suite that compares whole sentences."
        )
    if folder.exists() and any(folder.iterdir()):
        raise SuiteError(
            f"{folder}: this folder is not empty.\n  Name a new folder, or remove the files in {folder}."
        )
    folder.mkdir(parents=True, exist_ok=True)
    group = f"tseval_{_slug(suite.name)}"
    tasks = dict(_tasks(suite, group))
    for task, parts in tasks.items():
        lines = (
            json.dumps(line, ensure_ascii=False) + "\n" for part in parts for line in _documents(suite, *part)
        )
        _write(folder / f"{task}.jsonl", "".join(lines))
        _write(folder / f"{task}.yaml", _task(task, folder.resolve() / f"{task}.jsonl", suite))
    together: dict[str, Json] = {
        "group": group,
        "task": [*tasks],
        # As in tseval's tables, each row counts once, whatever its size.
        "aggregate_metric_list": [{"metric": "acc", "aggregation": "mean", "weight_by_size": False}],
        "metadata": {"version": 1.0, "suite": suite.name, "digest": suite.digest},
    }
    _write(folder / f"{group}.yaml", together)
    about = {"title": suite.title, "name": suite.name, "digest": suite.digest[:12], "group": group}
    _write(folder / "README.md", README.format(**about, folder=quote(str(folder))))
    return [group, *tasks]


def _tasks(suite: Suite, group: str) -> Iterator[tuple[str, list[tuple[Case, Contrast]]]]:
    """Yield each task with the cases and contrasts that make it up: those of one row of the table."""
    rows: dict[tuple[str, str | None, str, str], list[tuple[Case, Contrast]]] = {}
    for case in suite.cases:
        for contrast in case.contrasts:
            row = (case.phenomenon, case.dependency, case.construction, str(contrast))
            rows.setdefault(row, []).append((case, contrast))
    constructions = [row[:3] for row in rows]
    taken: set[str] = set()
    for row, parts in rows.items():
        words = [part for part in row[:3] if part]
        if constructions.count(row[:3]) > 1:
            words.append(row[3].replace(" > ", " vs "))
        name = f"{group}_{_slug(' '.join(words))}"
        if name in taken:
            name = f"{name}_{len(taken)}"
        taken.add(name)
        yield name, parts


def _documents(suite: Suite, case: Case, contrast: Contrast) -> Iterator[dict[str, Json]]:
    end = "" if suite.terminator is None else f" {suite.terminator}"
    for item in case.as_text().items():
        pair = {"good": item.sentences[contrast.better] + end, "bad": item.sentences[contrast.worse] + end}
        if suite.writing is not None:
            pair = {role: suite.writing.write(sentence)[0] for role, sentence in pair.items()}
        yield {
            "case": case.name,
            "item": item.index,
            "contrast": str(contrast),
            **pair,
            "features": {**item.features},
        }


def _task(name: str, data: Path, suite: Suite) -> dict[str, Json]:
    return {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "",
        "target_delimiter": "",
        "doc_to_choice": "{{[bad, good]}}",
        "doc_to_target": 1,
        "num_fewshot": 0,
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        "metadata": {"version": 1.0, "suite": suite.name, "digest": suite.digest},
    }


def _write(path: Path, content: str | dict[str, Json]) -> None:
    if not isinstance(content, str):
        content = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    write_whole(path, content.encode())
