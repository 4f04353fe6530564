"""Verdicts: which of two sentences a model finds more probable, one row per item and contrast.

Everything here works on whole columns; a suite has hundreds of thousands of contrasts.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import ModelError, SuiteError
from tseval.questions.choices import decide
from tseval.questions.formula import parse, regions_of, values
from tseval.questions.word_scores import WordScores
from tseval.suites.items import ENDING, RESERVED_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tseval.suites.items import Case, Choices, Contrast, Prediction, Suite

ScoreMode = Literal["sentence", "critical", "ending", "regions", "choices", "mean"]


def sentences_of(suite: Suite) -> pa.StringArray:
    """List the distinct sentences of a suite, as the model will be given them.

    Returns:
        Sentences with the suite's terminator appended, sorted by code point, each once.
    """
    distinct = pc.unique(all_sentences(suite))
    return distinct.take(pc.sort_indices(distinct))


def judge(suite: Suite, scored: pa.Table, score: ScoreMode = "sentence") -> pa.Table:
    """Decide every contrast of a suite.

    A contrast is correct when the better sentence scores strictly higher. Equal scores are a tie,
    and wrong. Two sentences that look the same to the model (`seen`) are undecidable: neither
    correct nor a tie.

    Args:
        suite: The items and their contrasts.
        scored: One row per distinct sentence: `sentence`, `seen`, `logprob` (nats), `words`
            (nats, one per word of `seen`).
        score: `sentence` sums the log-probabilities of all words, `mean` divides the sum by the
            number of words, `critical` takes the first word at which the two sentences differ, `ending`
            the sum over the last words, as many as the item's feature `ending` says, `regions` what the
            predictions of the suite say, `choices` the probabilities of single symbols; `scored` then has
            `right` and `wrong` (nats, one per word).

    Returns:
        Rows in suite order, case by case, contrast by contrast, item by item. Columns `case`, `item`,
        `construction`, `phenomenon`, `dependency`, `contrast`, `better_score`, `worse_score`,
        `correct`, `tie`, `undecidable`, then every feature of the suite, null where a case lacks it.
        Under `critical` an undecidable contrast has no scores.

    Raises:
        ModelError: A score is not finite; names the sentence.
        SuiteError: Two cases give one feature different types; `critical` meets a sentence that is the
            beginning of its twin; `ending` meets a case without that feature.
    """
    _check_finite(scored)
    features = _feature_types(suite)
    sums = scored["logprob"].to_numpy()
    seen = scored["seen"].combine_chunks().dictionary_encode().indices.to_numpy()
    if score == "mean":
        sums = sums / pc.list_value_length(scored["words"]).to_numpy()
    check_score(suite, score)
    words = WordScores(scored) if score in {"critical", "ending", "regions"} else None
    tables = []
    for case, row_of in zip(suite.cases, _find(suite, scored), strict=True):
        if case.choices is not None:
            judged, scores = decide(case, scored, row_of[case.labels[0]])
            nothing = np.zeros(judged.n_items, dtype=np.bool_)
            tables.append(_verdicts(judged, case.choices, scores, nothing))
        for prediction in case.predictions:
            assert words is not None  # predictions go with the score `regions`
            tables.append(_predicted(case, prediction, row_of, words, seen))
        for contrast in case.contrasts:
            better, worse = row_of[contrast.better], row_of[contrast.worse]
            undecidable = seen[better] == seen[worse]
            if words is None:
                scores = sums[better], sums[worse]
            elif score == "critical":
                scores = words.critical(better, worse, ~undecidable)
            else:
                length = _ending_of(case)
                scores = words.ending(better, length), words.ending(worse, length)
            tables.append(_verdicts(case, contrast, scores, undecidable))
    names = tables[0].column_names[: len(RESERVED_NAMES)] + list(features)
    return pa.concat_tables(tables, promote_options="default").select(names)


def check_score(suite: Suite, score: ScoreMode) -> None:
    """Refuse a score that a suite does not allow, before anything is scored.

    Raises:
        SuiteError: `ending`, and a case does not say how long its endings are; `regions` without
            predictions, or predictions and another score; `choices` likewise.
    """
    for case in suite.cases:
        if (case.choices is not None) != (score == "choices"):
            what = "consists of choices" if case.choices else "has no choices after prefixes"
            raise SuiteError(f"case {case.name!r} {what}: --score {score} cannot be used")
        if bool(case.predictions) != (score == "regions"):
            what = (
                "compares regions, as its predictions say"
                if case.predictions
                else "has no predictions on regions"
            )
            raise SuiteError(f"case {case.name!r} {what}: --score {score} cannot be used")
    if score == "ending":
        for case in suite.cases:
            _ending_of(case)


def _predicted(
    case: Case,
    prediction: Prediction,
    row_of: Mapping[str, NDArray[np.int64]],
    words: WordScores,
    seen: NDArray[np.int64],
) -> pa.Table:
    """Decide a prediction of one case.

    The scores of a single comparison are its two sides, with the sign that makes the better one greater; a
    combination of several has none. Items whose conditions all look alike to the model are undecidable.
    """
    formula = parse(prediction.formula)

    @cache  # the formula, its two sides, and both parts of a difference ask for the same regions
    def surprisal(region: int | None, condition: str) -> NDArray[np.float64]:
        return -words.region(row_of[condition], case.regions_of(condition), region)

    true = np.asarray(values(formula, surprisal), dtype=np.bool_)
    looks = np.stack([seen[row_of[condition]] for condition in {r.condition for r in regions_of(formula)}])
    undecidable = (looks == looks[0]).all(axis=0) & (len(looks) > 1)
    sign = {"<": -1.0, ">": 1.0}.get(formula.operator)
    better, worse = np.full((2, case.n_items), np.nan)
    if sign is not None:
        better, worse = (
            np.broadcast_to(sign * values(side, surprisal), case.n_items)
            for side in (formula.left, formula.right)
        )
    return _verdicts(case, prediction, (better, worse), undecidable, true)


def _verdicts(
    case: Case,
    contrast: Contrast | Prediction | Choices,
    scores: tuple[NDArray[np.float64], NDArray[np.float64]],
    undecidable: NDArray[np.bool_],
    correct: NDArray[np.bool_] | None = None,
) -> pa.Table:
    """Lay out the verdicts of one case on one contrast, features after them."""
    better, worse = scores
    if correct is None:
        correct = better > worse
    columns: dict[str, pa.Array[Any] | pa.ChunkedArray[Any]] = {
        "case": _repeat(case.name, case.n_items),
        "item": case.index,
        "construction": _repeat(case.construction, case.n_items),
        "phenomenon": _repeat(case.phenomenon, case.n_items),
        "dependency": _repeat(case.dependency, case.n_items),
        "contrast": _repeat(str(contrast), case.n_items),
        "better_score": pa.array(better, from_pandas=True),
        "worse_score": pa.array(worse, from_pandas=True),
        "correct": pa.array(correct & ~undecidable),
        "tie": pa.array((better == worse) & ~undecidable),
        "undecidable": pa.array(undecidable),
    }
    columns |= {name: case.features[name] for name in case.features.column_names}
    return pa.Table.from_arrays(list(columns.values()), names=list(columns))


def _repeat(value: str | None, length: int) -> pa.StringArray:
    return pa.repeat(pa.scalar(value, pa.string()), length)


def all_sentences(suite: Suite) -> pa.StringArray:
    """Give all sentences, case by case, label by label, with the terminator: `the author laughs .`."""
    columns = (case.sentences[label] for case in suite.cases for label in case.labels)
    chunks = [chunk.cast(pa.string()) for column in columns for chunk in column.chunks]
    text = cast("pa.StringArray", pa.concat_arrays(chunks))
    if suite.terminator is None:
        return text
    # The stubs know only columns joined to columns; Arrow also joins a column to one value.
    return pc.binary_join_element_wise(text, suite.terminator, " ")  # type: ignore[call-overload, no-any-return]


def _find(suite: Suite, scored: pa.Table) -> Iterator[dict[str, NDArray[np.int64]]]:
    """Give, for each case, the rows of its sentences among the scored ones, by label."""
    # One look-up for the whole suite: each would index all scored sentences anew.
    rows = pc.index_in(all_sentences(suite), value_set=scored["sentence"])
    assert rows.null_count == 0, "a sentence of the suite was not scored"
    remaining = rows.to_numpy().astype(np.int64)
    for case in suite.cases:
        by_label = remaining[: case.n_items * len(case.labels)].reshape(len(case.labels), case.n_items)
        remaining = remaining[by_label.size :]
        yield dict(zip(case.labels, by_label, strict=True))


def _check_finite(scored: pa.Table) -> None:
    """Refuse scores that are infinite or not a number: comparing them would decide nothing."""
    wrong = np.flatnonzero(~np.isfinite(scored["logprob"].to_numpy()))
    if len(wrong):
        sentence, value = (scored[name][int(wrong[0])].as_py() for name in ("sentence", "logprob"))
        others = f" (and {len(wrong) - 1:,} more)" if len(wrong) > 1 else ""
        raise ModelError(
            f"the model gives the log-probability {value} to {sentence!r}{others}.\n"
            "  Only finite scores can be compared: check the checkpoint for overflow, "
            "or smooth a model that gives words no probability at all."
        )


def _ending_of(case: Case) -> NDArray[np.int64]:
    """Give the number of words at the end that are compared, (items,)."""
    if ENDING not in case.features.column_names or not pa.types.is_integer(case.features[ENDING].type):
        raise SuiteError(
            f"case {case.name!r} does not say how long the endings are that should be compared.\n"
            f"  Give its items a feature {ENDING!r}, a number of words, or choose another --score."
        )
    return case.features[ENDING].to_numpy()


def _feature_types(suite: Suite) -> dict[str, pa.DataType]:
    """Collect the features of all cases in order of appearance, each with its one type."""
    types: dict[str, tuple[pa.DataType, str]] = {}
    for case in suite.cases:
        for field in (*case.features.schema, *_choice_features(case)):
            assert field.name not in RESERVED_NAMES
            known, first = types.setdefault(field.name, (field.type, case.name))
            if known != field.type:
                raise SuiteError(
                    f"feature {field.name!r} is {known} in case {first!r} but {field.type} in case "
                    f"{case.name!r}.\n  Give it values of one type in both."
                )
    return {name: kind for name, (kind, _) in types.items()}


def _choice_features(case: Case) -> list[pa.Field[Any]]:
    """Give the features that single choices have, beside those of their sentence."""
    return [] if case.choices is None or case.choices.whole else list(case.choices.features.schema)
