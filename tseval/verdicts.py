"""Verdicts on a model's scores, one row for each item and contrast.

All functions work on whole columns, because a suite has hundreds of thousands of contrasts.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import ModelError, SuiteError
from tseval.items import ENTRIES, ENTRY, HALF_KNOWN, NOT_FEATURES, RESERVED_NAMES
from tseval.questions.inflection import asked_forms
from tseval.questions.normalisation import split_measure
from tseval.questions.scored import ScoredSentences
from tseval.questions.unknown import UnknownWords
from tseval.suites.data.critical import with_critical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tseval.items import Case, Suite
    from tseval.questions import Decided, Score
    from tseval.questions.choices import Asked
    from tseval.questions.inflection import AskedForms
    from tseval.questions.unknown import Unknown


def all_sentences(suite: Suite) -> pa.StringArray:
    """Return all sentences, by case, then by label, with the terminator: `the author laughs .`."""
    columns = (case.sentences[label] for case in suite.cases for label in case.labels)
    chunks = [chunk.cast(pa.string()) for column in columns for chunk in column.chunks]
    text = cast("pa.StringArray", pa.concat_arrays(chunks))
    if suite.terminator is None:
        return text
    # The type stubs lack the form that joins a column to one value.
    return pc.binary_join_element_wise(text, suite.terminator, " ")  # type: ignore[call-overload, no-any-return]


def sentences_of(suite: Suite) -> pa.StringArray:
    """Return the distinct sentences of a suite in the form that a model reads, sorted by code point."""
    distinct = pc.unique(all_sentences(suite))
    return distinct.take(pc.sort_indices(distinct))


def questions_in(suite: Suite, sentences: pa.StringArray) -> Asked | AskedForms | None:
    """Return the questions inside or after sentences, if any. A suite with questions inside has one case."""
    if (forms := forms_in(suite)) is not None:
        return forms
    if all(case.question.asks() is None for case in suite.cases):
        return None
    (case,) = suite.cases
    return case.question.asked(all_sentences(suite), sentences)


def forms_in(suite: Suite) -> AskedForms | None:
    """Return the words that a suite compares after its sentences, or None."""
    return asked_forms([case.question for case in suite.cases])


def check_score(suite: Suite, score: Score) -> None:
    """Refuse a score that the suite does not allow, before scoring starts."""
    for case in suite.cases:
        if refusal := case.question.refusal(score, case.features):
            raise SuiteError(f"case {case.name!r} {refusal}")


def judge(
    suite: Suite,
    scored: pa.Table,
    score: str = "sentence",
    too_long: pa.StringArray | None = None,
    rows: NDArray[np.int64] | None = None,
    unknown: Unknown | None = None,
) -> pa.Table:
    """Decide every contrast of a suite.

    If the data name no clusters, the differing words are used (`tseval.suites.data.critical`).

    Args:
        suite: The items and the questions about them.
        scored: One row per distinct sentence, in the form that `ScoredSentences` takes.
        score: How sentences are compared (`tseval.questions`), with an optional norm: `sentence/penlp`.
        too_long: Sentences that were not scored; their items are undecidable.
        rows: Row in `scored` of each of `all_sentences`, if known already.
        unknown: How the model marks unknown words, and how half-known pairs count; by default, with the
            usual mark, and as undecidable.

    Returns:
        Rows in suite order: by case, then contrast, then item. Columns `case`, `item`, `construction`,
        `phenomenon`, `dependency`, `contrast`, `better_score`, `worse_score`, `correct`, `tie`,
        `undecidable`, and `half_known` if any pair is. Then follow the features of the suite, and for each
        lexical factor NAME a column `NAME.entry` with the lexicon entry; both are null if a case lacks them.
        A tie is not correct, and an undecidable contrast is neither correct nor a tie. For a rated sentence,
        `better_score` is its score, and `correct` and `tie` are null.
    """
    suite = with_critical(suite)
    base, by = split_measure(score)
    compared = cast("Score", base)
    region_length = by if compared == "regions" else None
    forms = forms_in(suite)
    words = () if forms is None else forms.words
    sentences = ScoredSentences(scored, too_long, by, region_length, unknown, words)
    sentences.check_finite()
    if words and "forms" in scored.column_names:
        sentences.check_forms()
    factors = [f"{name}{ENTRY}" for case in suite.cases for name in case.entries.column_names]
    features = _feature_types(suite) | dict.fromkeys(factors, ENTRIES)
    check_score(suite, compared)
    asks = any(case.question.asks() is not None for case in suite.cases)
    needed = {"right", "wrong"} if asks else {"forms"} if words else set()
    if not needed <= set(scored.column_names):
        raise ModelError(
            "this suite tests words inside its sentences, but the run has no scores for these words.\n"
            "  Score the suite again with this version of tseval."
        )
    row_of_text = sentences.find(all_sentences(suite)) if rows is None else rows
    tables = [
        _lay_out(case, decided)
        for case, of_case in _rows_by_label(suite, row_of_text)
        for decided in _decide(case, sentences, of_case, compared)
    ]
    verdicts = pa.concat_tables(tables, promote_options="default")
    names = tables[0].column_names[: len(RESERVED_NAMES)]
    unsaid = unknown is not None and unknown.unsaid
    if not unsaid and pc.any(verdicts[HALF_KNOWN], min_count=0).as_py():  # otherwise, there is no such column
        names.append(HALF_KNOWN)
    verdicts = verdicts.select(names + list(features))
    # One dictionary for all cases; otherwise, Parquet writes the columns without a dictionary.
    return verdicts.unify_dictionaries()


def n_too_long(suite: Suite, scored: pa.Table, too_long: pa.StringArray) -> int:
    """Count the verdicts on items with a sentence that was too long to score."""
    if not len(too_long):
        return 0
    rows = ScoredSentences(scored, too_long).find(all_sentences(suite))
    cases = _rows_by_label(suite, rows)
    left_out = ((case, np.flatnonzero(~_are_complete(of_case)).tolist()) for case, of_case in cases)
    return sum(case.take(indices).n_verdicts for case, indices in left_out if indices)


def missing_words(
    suite: Suite, scored: pa.Table, verdicts: pa.Table, unknown: Unknown, too_long: pa.StringArray
) -> Counter[str]:
    """Count, for each unknown word, the half-known pairs due to it, alone or with other words."""
    rows = ScoredSentences(scored, too_long).find(all_sentences(suite))
    words = UnknownWords(scored, unknown)
    half_known = verdicts.filter(verdicts[HALF_KNOWN])
    costs: Counter[str] = Counter()
    for case, of_case in _rows_by_label(suite, rows):
        case_rows = half_known.filter(pc.equal(half_known["case"], pa.scalar(case.name)))
        labels = {str(contrast): [contrast.better, contrast.worse] for contrast in case.contrasts}
        for contrast in map(str, pc.unique(case_rows["contrast"]).to_pylist()):
            items = case_rows.filter(pc.equal(case_rows["contrast"], pa.scalar(contrast)))["item"]
            indices = pc.index_in(items, value_set=case.index).to_numpy()
            row_labels = labels.get(contrast, list(of_case))
            costs += words.count_missing([of_case[label][indices] for label in row_labels])
    return costs


def _decide(
    case: Case, sentences: ScoredSentences, rows: dict[str, NDArray[np.int64]], score: Score
) -> Iterator[Decided]:
    """Decide the items whose sentences are all scored; the others are undecidable."""
    complete = _are_complete(rows)
    if complete.all():
        yield from case.question.decide(sentences, rows, case.features, score)
        return
    indices = np.flatnonzero(complete)
    part = case.take(indices.tolist())
    scored = {label: of_label[indices] for label, of_label in rows.items()}
    for decided in part.question.decide(sentences, scored, part.features, score):
        yield decided.among(complete)


def _are_complete(rows: dict[str, NDArray[np.int64]]) -> NDArray[np.bool_]:
    """Return which items have all their sentences among the scored ones, (items,)."""
    is_whole: NDArray[np.bool_] = np.logical_and.reduce([of_label >= 0 for of_label in rows.values()])
    return is_whole


def _rows_by_label(
    suite: Suite, rows: NDArray[np.int64]
) -> Iterator[tuple[Case, dict[str, NDArray[np.int64]]]]:
    for case in suite.cases:
        by_label = rows[: case.n_items * len(case.labels)].reshape(len(case.labels), case.n_items)
        rows = rows[by_label.size :]
        yield case, dict(zip(case.labels, by_label, strict=True))


def _lay_out(case: Case, decided: Decided) -> pa.Table:
    """Return the table of verdicts of one case on one contrast, followed by features and entries."""
    n_verdicts, decidable = len(decided.undecidable), ~decided.undecidable
    correct, tie = pa.nulls(n_verdicts, pa.bool_()), pa.nulls(n_verdicts, pa.bool_())
    if decided.correct is not None:
        correct = pa.array(decided.correct & decidable)
        tie = pa.array((decided.better == decided.worse) & decidable)
    columns: dict[str, pa.Array[Any] | pa.ChunkedArray[Any]] = {
        "case": _repeat(case.name, n_verdicts),
        "item": case.index,
        "construction": _repeat(case.construction, n_verdicts),
        "phenomenon": _repeat(case.phenomenon, n_verdicts),
        "dependency": _repeat(case.dependency, n_verdicts),
        "contrast": _repeat(decided.contrast, n_verdicts),
        "better_score": pa.array(decided.better, from_pandas=True),
        "worse_score": pa.array(decided.worse, from_pandas=True),
        "correct": correct,
        "tie": tie,
        "undecidable": pa.array(decided.undecidable),
        HALF_KNOWN: pa.repeat(pa.scalar(value=False), n_verdicts)
        if decided.half_known is None
        else pa.array(decided.half_known),
    }
    of_items = {name: case.features[name] for name in case.features.column_names}
    of_items |= {f"{name}{ENTRY}": case.entries[name] for name in case.entries.column_names}
    if decided.items is not None:
        place = pa.array(decided.items, pa.int64())
        columns["item"] = case.index.take(place)
        of_items = {name: column.take(place) for name, column in of_items.items()}
    columns |= of_items
    if decided.features is not None:
        columns |= {name: decided.features[name] for name in decided.features.column_names}
    return pa.Table.from_arrays(list(columns.values()), names=list(columns))


def _repeat(value: str | None, length: int) -> pa.StringArray:
    return pa.repeat(pa.scalar(value, pa.string()), length)


def _feature_types(suite: Suite) -> dict[str, pa.DataType]:
    """Collect the features of all cases in order of appearance, and check that each has one type."""
    types: dict[str, tuple[pa.DataType, str]] = {}
    for case in suite.cases:
        for field in (*case.features.schema, *case.question.feature_types()):
            assert field.name not in NOT_FEATURES
            previous, first = types.setdefault(field.name, (field.type, case.name))
            if previous != field.type:
                raise SuiteError(
                    f"the feature {field.name!r} has values of type {previous} in the case {first!r}, but of "
                    f"type {field.type} in the case {case.name!r}.\n"
                    "  Write values of the same type in both cases."
                )
    return {name: kind for name, (kind, _) in types.items()}
