"""Designs: predictions about regions, which labelled brackets mark: `the lion ate [critical at sunrise]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tseval.errors import suggest
from tseval.items import ENTRY
from tseval.questions.regions import (
    ALL_PREDICTIONS,
    REGION_METRICS,
    Mark,
    Prediction,
    Regions,
    parse,
    regions_of,
    with_all,
)
from tseval.suites.grammar.source import describe

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tseval.questions.regions import Metric, Region
    from tseval.suites.grammar.source import YamlDocument


EXPERIMENT_KEYS = ("conditions", "regions", "predictions", "metric")
_FORMULA_FIX = "Write for example 'what.critical < that.critical'; a formula that begins with [ in quotes."


@dataclass(frozen=True, slots=True)
class Experiment:
    """What a grammar predicts of its sentences, whose labels are conditions."""

    regions: tuple[str, ...]  # names of what sentences mark
    predictions: tuple[Prediction, ...]
    metric: Metric  # what makes one number of the words of a region


def read_experiment(document: YamlDocument, labels: Sequence[str]) -> Experiment | None:
    """Read what a grammar predicts, by its front matter and labels; None where it compares sentences."""
    given = [key for key in EXPERIMENT_KEYS if key in document.data]
    if not given:
        return None
    for key, fix in (
        ("predictions", "Add 'predictions:', a mapping of names to formulas."),
        ("regions", "Add 'regions:' with their names, and mark them in the sentences: [critical ...]."),
    ):
        if key not in document.data:
            raise document.error(f"'{given[0]}' stands without '{key}'.", given[0], fix=fix)
    if "contrasts" in document.data:
        fix = "Keep one of them: regions or whole sentences are compared."
        message = "a grammar cannot have both 'contrasts' and 'predictions'."
        raise document.error(message, "contrasts", fix=fix)
    conditions = _names(document, "conditions") if "conditions" in document.data else labels
    if sorted(conditions) != sorted(labels):
        odd = min(set(conditions) ^ set(labels))
        what = f"no sentence is labelled {odd!r}" if odd in conditions else f"{odd!r} is missing"
        fix = "Name the labels of the sentences, or leave 'conditions' out."
        raise document.error(f"'conditions': {what}.", "conditions", fix=fix)
    regions = _names(document, "regions")
    if ENTRY.removeprefix(".") in regions:
        raise document.error("a region cannot be called 'entry'.", "regions", fix="Choose another name.")
    metric = _metric(document)
    named = document.mapping("predictions")
    if not named:
        raise document.error("'predictions' is empty.", "predictions", fix=_FORMULA_FIX)
    for name, formula in named.items():
        _check(document, name, formula, conditions, regions, metric)
    predictions = [Prediction(name, str(formula)) for name, formula in named.items()]
    return Experiment(regions, with_all(predictions), metric)


def _names(document: YamlDocument, key: str) -> tuple[str, ...]:
    value = document.data[key]
    names = value if isinstance(value, list) else [value]
    for name in names:
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
            what = repr(name) if isinstance(name, str) else describe(name)
            fix = "Use letters, digits and _."
            raise document.error(f"{what} cannot be a name under '{key}'.", key, fix=fix)
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts) or not texts:
        raise document.error(f"'{key}' is empty, or names one twice.", key, fix="Name each once.")
    return tuple(texts)


def _metric(document: YamlDocument) -> Metric:
    given = document.text("metric") or "sum"
    for metric in REGION_METRICS:
        if metric == given:
            return metric
    fix = suggest(given, REGION_METRICS, "Metrics")
    raise document.error(f"unknown metric {given!r}.", "metric", fix=fix)


def _check(
    document: YamlDocument,
    name: str,
    formula: object,
    conditions: Sequence[str],
    regions: Sequence[str],
    metric: Metric,
) -> None:
    """Refuse a prediction that cannot be evaluated, whatever the sentences are."""
    where = ("predictions", name)
    if name == ALL_PREDICTIONS or not name.strip():
        raise document.error(f"a prediction cannot be called {name!r}.", *where, fix="Choose another name.")
    if not isinstance(formula, str):
        message = f"the prediction {name!r} is {describe(formula)}."
        raise document.error(message, *where, fix=_FORMULA_FIX)
    try:
        found = regions_of(parse(formula))
    except ValueError as error:
        raise document.error(f"the prediction {name!r} {error}.", *where, fix=_FORMULA_FIX) from None
    if not found:
        raise document.error(f"the prediction {name!r} names no region.", *where, fix=_FORMULA_FIX)
    for region in sorted(found, key=str):
        if region.condition not in conditions:
            fix = suggest(region.condition, conditions, "Conditions")
            message = f"the prediction {name!r} names a condition {region.condition!r} that is not there."
            raise document.error(message, *where, fix=fix)
        if isinstance(region.place, int) or (region.place is not None and region.place.name not in regions):
            place = region.place if isinstance(region.place, int) else region.place.name
            message = f"the prediction {name!r} names a region {str(place)!r} that is not there."
            raise document.error(message, *where, fix=suggest(str(place), regions, "Regions"))
        if region.place is None and metric != "sum":
            message = f"the prediction {name!r} asks for the {metric} of a whole sentence."
            raise document.error(message, *where, fix="Name a region, or leave 'metric' out.")


def as_question(
    experiment: Experiment,
    document: YamlDocument,
    marked: Mapping[str, Sequence[MarkedSentence]],
    terminator: str | None,
) -> Regions:
    """Make the question of a grammar from its marked sentences.

    All sentences of a condition mark the same regions. The terminator is added to each when it is scored.
    """
    lengths = {
        label: pa.array([one.lengths for one in sentences], pa.list_(pa.int64()))
        for label, sentences in marked.items()
    }
    named = {
        label: {name: 2 * place for place, name in enumerate(sentences[0].names, 1)}
        for label, sentences in marked.items()
    }
    question = Regions(experiment.predictions, pa.table(lengths), experiment.metric, named)
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
    """Refuse what is not marked, words behind the end of a sentence, and the mean or the like of no words."""
    if isinstance(region.place, Mark) and region.place.name not in question.named[region.condition]:
        name, condition = region.place.name, region.condition
        message = f"the prediction {prediction!r} is about {region}, but {condition!r} marks no {name!r}."
        return message, f"Write [{name} ...] in its sentence, or [{name}] where the region is empty."
    before, length = question.span(region)
    ends = np.array([sum(one.lengths) + n_added for one in sentences])
    beyond, empty = np.flatnonzero(before + length > ends), np.flatnonzero(length == 0)
    if len(beyond):
        message = f"there is no word {region} in {sentences[beyond[0]].text!r}."
        return message, "Let the sentence go on, or compare an earlier word."
    if len(empty) and question.metric != "sum":
        message = f"{region} has no words in {sentences[empty[0]].text!r}, so there is no {question.metric}."
        return message, "Compare another region, or leave 'metric' out."
    return None


_OPENING = re.compile(r"\[([^\W\d]\w*)(\]?)")


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence without its marks."""

    text: str
    names: tuple[str, ...]  # its regions, in order
    # Words before the first region, of the first region, between it and the second, ..., after the last: an
    # odd number of stretches.
    lengths: tuple[int, ...]


def read_marks(text: str, regions: Collection[str]) -> MarkedSentence:
    """Take the marks out of a sentence, whose words are parted by single spaces.

    `[critical at sunrise]` is a region of two words, `[critical]` one of none.
    """
    words: list[str] = []
    names: list[str] = []
    lengths = [0]
    for token in text.split(" "):
        inside, opening = len(lengths) % 2 == 0, _OPENING.fullmatch(token)
        word, closing = token.removesuffix("]"), token.endswith("]")
        if opening:
            if inside:
                raise ValueError(f"the region {names[-1]!r} is not closed before {token!r}")
            names.append(_known(opening[1], regions, names))
            lengths += [0, 0] if opening[2] else [0]
            continue
        if "[" in word or "]" in word or (closing and not inside):
            raise ValueError(f"the bracket of {token!r} neither opens nor closes a region")
        if word:
            words.append(word)
            lengths[-1] += 1
        if closing:
            lengths.append(0)
    if len(lengths) % 2 == 0:
        raise ValueError(f"the region {names[-1]!r} is not closed")
    return MarkedSentence(" ".join(words), tuple(names), tuple(lengths))


def _known(name: str, regions: Collection[str], names: Sequence[str]) -> str:
    if name not in regions:
        raise ValueError(f"there is no region {name!r}. {suggest(name, regions, 'Regions')}")
    if name in names:
        raise ValueError(f"the region {name!r} stands twice")
    return name
