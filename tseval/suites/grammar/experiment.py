"""Experiments: grammars with predictions that compare regions of sentences between conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from tseval.errors import suggest
from tseval.items import ENTRY
from tseval.questions.formulas import Mark, Operation, parse, parts_of, regions_in, regions_of
from tseval.questions.regions import ALL_PREDICTIONS, REGION_METRICS, Prediction, Regions, with_all
from tseval.suites.grammar.source import YamlDocument, describe, how_to_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.questions.formulas import Region
    from tseval.questions.regions import Metric
    from tseval.suites.grammar.marks import MarkedSentence


EXPERIMENT_KEYS = ("conditions", "regions", "predictions", "metric")
_FORMULA_FIX = (
    "Write a formula such as 'what.critical < that.critical'. If the formula begins with [, write it in "
    "quotes."
)


@dataclass(frozen=True, slots=True)
class Experiment:
    """The predictions of a grammar; its labels are the conditions."""

    regions: tuple[str, ...]  # names of the regions that sentences mark
    predictions: tuple[Prediction, ...]
    metric: Metric  # how the values of a region's words become one number


def read_experiment(document: YamlDocument, labels: Sequence[str]) -> Experiment | None:
    """Read the experiment of a grammar from its front matter; None if it compares whole sentences."""
    present = [key for key in EXPERIMENT_KEYS if key in document.data]
    if not present:
        return None
    for key, fix in (
        ("predictions", "Add 'predictions:', a mapping of names to formulas."),
        ("regions", "Add 'regions:' with their names, and mark them in the sentences: [critical ...]."),
    ):
        if key not in document.data:
            raise document.error(f"'{present[0]}' stands without '{key}'.", present[0], fix=fix)
    if "contrasts" in document.data:
        fix = "Delete one of the two: 'contrasts' compares whole sentences, 'predictions' compares regions."
        message = "a grammar cannot have both 'contrasts' and 'predictions'."
        raise document.error(message, "contrasts", fix=fix)
    conditions = _names(document, "conditions") if "conditions" in document.data else labels
    if sorted(conditions) != sorted(labels):
        label = min(set(conditions) ^ set(labels))
        problem = f"no sentence is labelled {label!r}" if label in conditions else f"{label!r} is missing"
        fix = "Name the labels of the sentences, or leave 'conditions' out."
        raise document.error(f"'conditions': {problem}.", "conditions", fix=fix)
    regions = _names(document, "regions")
    if ENTRY.removeprefix(".") in regions:
        raise document.error("a region cannot be called 'entry'.", "regions", fix="Choose another name.")
    metric = cast("Metric", document.text("metric") or "sum")
    if metric not in REGION_METRICS:
        fix = suggest(metric, REGION_METRICS, "Metrics")
        raise document.error(f"unknown metric {metric!r}.", "metric", fix=fix)
    stated = document.mapping("predictions")
    if not stated:
        raise document.error("'predictions' is empty.", "predictions", fix=_FORMULA_FIX)
    for name, formula in stated.items():
        _check(document, name, formula, conditions, regions, metric)
    predictions = [Prediction(name, str(formula)) for name, formula in stated.items()]
    return Experiment(regions, with_all(predictions), metric)


def _names(document: YamlDocument, key: str) -> tuple[str, ...]:
    value = document.data[key]
    names = value if isinstance(value, list) else [value]
    for name in names:
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
            name_text = repr(name) if isinstance(name, str) else describe(name)
            fix = f"Write a list: [{name}]." if "," in str(name) else how_to_name(str(name))
            raise document.error(f"{name_text} cannot be a name under '{key}'.", key, fix=fix)
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts) or not texts:
        raise document.error(f"'{key}' is empty, or has a name twice.", key, fix="Write each name once.")
    return tuple(texts)


def _check(
    document: YamlDocument,
    name: str,
    formula: object,
    conditions: Sequence[str],
    regions: Sequence[str],
    metric: Metric,
) -> None:
    """Refuse a prediction that cannot be evaluated for any sentences."""
    where = ("predictions", name)
    if name == ALL_PREDICTIONS or not name.strip():
        raise document.error(f"a prediction cannot be called {name!r}.", *where, fix="Choose another name.")
    if not isinstance(formula, str):
        message = f"the prediction {name!r} is {describe(formula)}."
        raise document.error(message, *where, fix=_FORMULA_FIX)
    try:
        used_regions = regions_in(formula, dict.fromkeys(conditions, regions))
    except ValueError as error:
        problem, fix = (*error.args, _FORMULA_FIX)[:2]
        raise document.error(f"in the prediction {name!r}, {problem}.", *where, fix=fix) from None
    for part in parts_of(parse(formula)):
        if isinstance(part, Operation) and part.operator in ("<", ">") and part.left == part.right:
            message = f"the prediction {name!r} compares {part.left} with itself, so it is never true."
            raise document.error(message, *where, fix="Change one side, so that the two sides differ.")
    for region in used_regions:
        if region.place is None and metric != "sum":
            message = f"the prediction {name!r} asks for the {metric} of a whole sentence."
            raise document.error(message, *where, fix="Name a region in the formula, or leave 'metric' out.")


def as_question(
    experiment: Experiment,
    document: YamlDocument,
    marked: Mapping[str, Sequence[MarkedSentence]],
    terminator: str | None,
) -> Regions:
    """Return the question of a grammar from its marked sentences.

    All sentences of a condition mark the same regions. The terminator is added to each when it is scored.
    """
    lengths = {
        label: pa.array([sentence.lengths for sentence in sentences], pa.list_(pa.int64()))
        for label, sentences in marked.items()
    }
    region_numbers = {
        label: {name: 2 * place for place, name in enumerate(sentences[0].names, 1)}
        for label, sentences in marked.items()
    }
    question = Regions(experiment.predictions, pa.table(lengths), experiment.metric, region_numbers)
    n_added = 0 if terminator is None else len(terminator.split())
    for prediction in experiment.predictions:
        if prediction.name != ALL_PREDICTIONS:
            for region in sorted(regions_of(parse(prediction.formula)), key=str):
                refusal = _refusal(prediction.name, question, region, marked[region.condition], n_added)
                if refusal is not None:
                    message, fix = refusal
                    raise document.error(message, "predictions", prediction.name, fix=fix)
    return question


def _refusal(
    prediction: str, question: Regions, region: Region, sentences: Sequence[MarkedSentence], n_added: int
) -> tuple[str, str] | None:
    """Return an error and its fix if a region is unmarked, exceeds the sentence, or has no words."""
    if isinstance(region.place, Mark) and region.place.name not in question.named[region.condition]:
        name, condition = region.place.name, region.condition
        message = f"the prediction {prediction!r} is about {region}, but {condition!r} marks no {name!r}."
        return message, f"Write [{name} ...] in its sentence. If the region is empty, write [{name}]."
    before, length = question.span(region)
    ends = np.array([sum(sentence.lengths) + n_added for sentence in sentences])
    beyond, empty = np.flatnonzero(before + length > ends), np.flatnonzero(length == 0)
    if len(beyond):
        message = f"there is no word {region} in {sentences[beyond[0]].text!r}."
        return message, "Make the sentence longer, or compare an earlier word."
    if len(empty) and question.metric != "sum":
        message = f"{region} has no words in {sentences[empty[0]].text!r}, so there is no {question.metric}."
        return message, "Compare another region, or leave 'metric' out."
    return None
