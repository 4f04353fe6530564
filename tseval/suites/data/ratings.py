"""Read sentences with human ratings: each row has a rating, the ratings of several people, or their mean."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import isfinite, nan, sqrt
from statistics import fmean, variance
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError, counted, suggest
from tseval.formats import fits
from tseval.items import N_RATINGS, RATING, RATING_SE
from tseval.questions.ratings import RATED, Ratings
from tseval.suites.data.entries import DataItem, features_of, table_row
from tseval.suites.data.records import header_of, read_records
from tseval.suites.data.roles import PAIR_LABELS, ROW_NAMES, parts_of, value_of
from tseval.writing import single_spaced

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.formats import Json
    from tseval.items import Case
    from tseval.suites.data.entries import TableReading
    from tseval.suites.data.roles import Header


def standard_errors(ratings: Sequence[Mapping[str, float]]) -> list[float]:
    """Estimate the standard error of the mean rating of each sentence, for comparisons between sentences.

    `ratings` maps raters to ratings, for each sentence. The standard error is s/√k for k ratings, NaN for
    k = 1. If the same people rated all sentences, each person's mean is subtracted first, because it shifts
    all sentence means equally. Averaged over sentences, s² is then the interaction mean square of a two-way
    analysis of variance. If different people rated each sentence, differences between raters are noise and
    remain.

    Source: Shrout & Fleiss 1979, "Intraclass correlations: uses in assessing rater reliability",
    Psychological Bulletin 86(2): with 1 - mean(s.e.²) / variance of the means, case 1 and case 3.
    """
    people = list(ratings[0])
    values = [list(by_person.values()) for by_person in ratings]
    scale = 1.0
    if (
        len(people) > 1
        and len(ratings) > 1
        and all(by_person.keys() == ratings[0].keys() for by_person in ratings)
    ):
        levels = [fmean(by_person[person] for by_person in ratings) for person in people]
        values = [
            [by_person[person] - level for person, level in zip(people, levels, strict=True)]
            for by_person in ratings
        ]
        scale = len(ratings) / (len(ratings) - 1)
    return [
        sqrt(scale * variance(residuals) / len(residuals)) if len(residuals) > 1 else nan
        for residuals in values
    ]


# Columns of the rater of a row, and of all ratings of a sentence in one cell.
RATER, ALL_RATINGS = "rater", "ratings"
# Columns that name what sentences share.
SHARED = ("item", "cluster")
FEWEST_SENTENCES = 3
DROP = "drop"  # the value of `--columns contradictions=` that leaves out sentences with different ratings
_NAMES = {RATED, RATING, RATING_SE, N_RATINGS, RATER, ALL_RATINGS, *SHARED, *ROW_NAMES}


@dataclass(frozen=True, slots=True)
class Rated:
    """A row of the table: a sentence or a pair, with its mean rating or with single ratings."""

    item: DataItem
    rating: float | None  # the mean, if the table gives it
    se: float | None
    n: int | None
    single: Mapping[str, float]  # rater to rating

    @property
    def mean(self) -> float:
        """The mean rating."""
        return sum(self.single.values()) / len(self.single) if self.single else float(self.rating or 0)


def rated_columns(columns: Header) -> dict[str, str] | None:
    """Return the columns of rated sentences by their roles; None if there are no ratings.

    Pairs need a rating column from the user, which says how much the first sentence is preferred.
    """
    single = RATED in columns.given or not columns.says_pair
    texts = (RATED,) if single else PAIR_LABELS
    all_ratings = ALL_RATINGS in columns.names or ALL_RATINGS in columns.given
    rating = ALL_RATINGS if all_ratings and RATING not in columns.given else RATING
    roles = {role: columns.of(role) for role in (*texts, rating)}
    if not {RATED, rating} <= {*columns.names} and (item := columns.of("item")):
        roles["item"] = item
    further = {
        name: columns.given.get(name, name) for name in (*_NAMES, *columns.rows()) if name not in roles
    }
    roles |= {
        name: column for name, column in further.items() if column in columns.names or name in columns.given
    }
    return None if None in roles.values() else {role: str(name) for role, name in roles.items()}


def read_ratings(reading: TableReading) -> tuple[Case, ...]:
    """Read rated sentences into cases."""
    if (chosen := reading.options.get("contradictions", DROP)) != DROP:
        raise SuiteError(f"--columns: contradictions={chosen}: {suggest(chosen, [DROP], 'Values')}")
    groups: dict[str, list[Rated]] = {}
    n_missing: dict[str, int] = {}  # texts instead of a rating, with their counts
    n_single = 0  # missing ratings of sentences that have other ratings
    for file, stem in reading.files.items():
        for place, record in _records(file, reading):
            if (missing := _not_available(record)) is not None:
                n_missing[missing] = n_missing.get(missing, 0) + 1
                continue
            known_record, n_lacking = _without_missing(record)
            n_single += n_lacking
            rated = _rated(place, known_record, stem)
            groups.setdefault(rated.item.row[0], []).append(rated)
    if n_missing:
        cells = " or ".join(f"'{cell}'" for cell in n_missing)
        reading.notes.append(
            f"tseval left out {counted(sum(n_missing.values()), 'row')} without a rating ({cells})"
        )
    if n_single:
        reading.notes.append(
            f"tseval left out {counted(n_single, 'missing rating')} of sentences that have others"
        )
    sentences = [rated for group in groups.values() for rated in _one_each(group, reading)]
    first = next(iter(reading.files))
    if len(sentences) < FEWEST_SENTENCES:
        raise SuiteError(
            f"{first}: the file has {len(sentences)} rated sentences, but a correlation needs at least "
            f"{FEWEST_SENTENCES}.\n  Add rows with a sentence and its rating."
        )
    if len({rated.mean for rated in sentences}) == 1:
        raise SuiteError(
            f"{first}: all ratings are {sentences[0].mean:g}, so there is no correlation.\n"
            "  Add sentences with other ratings."
        )
    cases = reading.build(map(_as_item, sentences))
    return tuple(replace(case, question=Ratings(), features=_without_nan(case.features)) for case in cases)


# Texts that stand for a missing value (R, pandas, Excel).
NOT_AVAILABLE = ("", "na", "n/a", "#n/a", "nan", "null", "none")


def _not_available(record: Mapping[str, Json]) -> str | None:
    """Return the text that marks a missing rating; None if the record has a rating or a list of ratings."""
    name = RATING if RATER in record or record.get(ALL_RATINGS) is None else ALL_RATINGS
    if name not in record:
        return None if ALL_RATINGS not in record else ""
    cell = "" if record[name] is None else str(record[name]).strip()
    return cell if cell.lower() in NOT_AVAILABLE else None


def _without_missing(record: Mapping[str, Json]) -> tuple[Mapping[str, Json], int]:
    """Return a record without the missing ratings in its list, and their number."""
    cell = record.get(ALL_RATINGS)
    if cell is None or RATER in record:
        return record, 0
    values: list[Json] = cell if isinstance(cell, list) else [*re.split(r"[\s,;|]+", str(cell).strip("[] "))]
    ratings: list[Json] = [value for value in values if str(value).strip().lower() not in NOT_AVAILABLE]
    return {**record, ALL_RATINGS: ratings}, len(values) - len(ratings)


def _records(file: Path, reading: TableReading) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield records with roles as keys."""
    options = reading.options
    columns = header_of(file, options)
    names = columns.names
    if (roles := rated_columns(columns)) is None:
        raise columns.unknown()
    texts = {part for name in roles.values() for part in parts_of(name, names)}
    ignored = {*parts_of(columns.given.get("ignore", ""), names)}
    reading.unused[str(file)] = [name for name in names if name not in texts]
    for place, record in read_records(file, texts, options):
        by_role: dict[str, Json] = {
            role: value_of(record, name)
            for role, name in roles.items()
            if name in record or name not in names
        }
        features = {
            name: value for name, value in record.items() if name not in texts | ignored | by_role.keys()
        }
        yield place, by_role | features


def _rated(place: str, record: Mapping[str, Json], stem: str) -> Rated:
    sentences = {label: record[label] for label in PAIR_LABELS if label in record and RATED not in record}
    sentences = sentences or {RATED: record.get(RATED)}
    for sentence in sentences.values():
        if not isinstance(sentence, str) or not sentence.strip():
            raise SuiteError(
                f"{place}: the cell of the sentence has {sentence!r}, which is not a sentence.\n"
                "  Write the sentence in this cell, or remove the row."
            )
    single = _single(place, record)
    if single and RATING_SE in record:
        raise SuiteError(
            f"{place}: the table has single ratings, and also their standard errors in the column "
            f"{RATING_SE!r}.\n"
            f"  Delete the column {RATING_SE!r}: tseval computes standard errors from single ratings."
        )
    features = {name: name for name in record if name not in _NAMES and name not in sentences}
    item = DataItem(
        place,
        table_row(record, stem, {name: name for name in ROW_NAMES if name in record}),
        {label: single_spaced(str(sentence)) for label, sentence in sentences.items()},
        features_of(place, record, features),
        {name: str(record[name]) for name in SHARED if name in record},
    )
    rating = None if single else _number(place, RATING, record.get(RATING))
    return Rated(item, rating, _se(place, record), _n(place, record), single)


def _single(place: str, record: Mapping[str, Json]) -> dict[str, float]:
    """Return the single ratings of a row by rater; the raters of a list of ratings are unknown."""
    if RATER in record:
        return {str(record[RATER]): _number(place, RATING, record.get(RATING))}
    cell = record.get(ALL_RATINGS)
    if cell is None:
        return {}
    values = cast("list[Json]", cell)  # a list, because `_without_missing` makes one
    if not values:
        raise SuiteError(f"{place}: {ALL_RATINGS} is empty.\n  Write numbers, or remove the row.")
    # The first rating of one cell and of the next may be from different people, so each has its own key.
    return {f"{place} {i}": _number(place, ALL_RATINGS, value) for i, value in enumerate(values)}


def _number(place: str, name: str, value: Json) -> float:
    """Return a finite number; refuse forms such as `1_000` and `infinity`, which only Python accepts."""
    text = str(value).strip()
    if not isinstance(value, bool) and re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text):
        number = float(text)
        if isfinite(number):
            return number
    raise SuiteError(
        f"{place}: the column {name!r} has {value!r}, which is not a number.\n"
        "  Write a number, or remove the row."
    )


def _se(place: str, record: Mapping[str, Json]) -> float | None:
    if RATING_SE not in record:
        return None
    if str(record[RATING_SE]).strip().lower() in NOT_AVAILABLE:
        return nan  # unknown for this sentence
    se = _number(place, RATING_SE, record[RATING_SE])
    if se < 0:
        cell = record[RATING_SE]
        raise SuiteError(
            f"{place}: the column {RATING_SE!r} has {cell!r}, but a standard error is never "
            "negative.\n  Write a standard error of 0 or more."
        )
    return se


def _n(place: str, record: Mapping[str, Json]) -> int | None:
    if N_RATINGS not in record:
        return None
    n = _number(place, N_RATINGS, record[N_RATINGS])
    if n < 1 or n != int(n) or not fits(int(n)):
        cell = record[N_RATINGS]
        raise SuiteError(
            f"{place}: the column {N_RATINGS!r} has {cell!r}, but must have a number of "
            "ratings.\n"
            "  Write a whole number: 1, 2, ..."
        )
    return int(n)


def _one_each(group: list[Rated], reading: TableReading) -> list[Rated]:
    """Combine the ratings of each sentence of a case; rows with a mean rating must be unique."""
    by_sentence: dict[tuple[str, ...], Rated] = {}
    repetitions: list[Rated] = []
    unlike: list[Rated] = []
    for rated in group:
        first = by_sentence.setdefault(tuple(rated.item.sentences.values()), rated)
        if first is rated:
            continue
        if first.single or rated.single:
            by_sentence[tuple(rated.item.sentences.values())] = _joined(first, rated)
        elif first.mean == rated.mean:
            repetitions.append(rated)
        elif "contradictions" in reading.options:
            unlike.append(rated)
        else:
            raise _contradiction(first, rated)
    if unlike:
        dropped = {tuple(rated.item.sentences.values()) for rated in unlike}
        n_rows = sum(tuple(rated.item.sentences.values()) in dropped for rated in group)
        repetitions = [rated for rated in repetitions if tuple(rated.item.sentences.values()) not in dropped]
        by_sentence = {texts: rated for texts, rated in by_sentence.items() if texts not in dropped}
        reading.notes.append(
            f"tseval left out {counted(len(dropped), 'sentence')} with different ratings "
            f"({counted(n_rows, 'row')}; contradictions=drop)"
        )
    if repetitions:
        reading.notes.append(
            f"{counted(len(repetitions), 'row')} with a sentence and a rating that repeat an earlier row: "
            "counted once"
        )
    sentences = list(by_sentence.values())
    if not any(rated.single for rated in sentences):
        return sentences
    if lacking := [rated for rated in sentences if not rated.single]:
        raise SuiteError(
            f"{lacking[0].item.place}: this row has no value in the columns {RATER!r} and {ALL_RATINGS!r}, "
            "but other rows have one.\n"
            f"  Write a value in the column {RATER!r} or {ALL_RATINGS!r} of this row."
        )
    errors = standard_errors([rated.single for rated in sentences])
    # Columns that differ between the rows of a sentence describe its raters.
    shared_features = set.intersection(*(set(rated.item.features) for rated in sentences))
    return [
        replace(rated, item=_with(rated.item, shared_features), se=error, n=len(rated.single))
        for rated, error in zip(sentences, errors, strict=True)
    ]


def _contradiction(first: Rated, other: Rated) -> SuiteError:
    return SuiteError(
        f"{other.item.place}: this sentence has the rating {other.mean:g} here, but {first.mean:g} at "
        f"{first.item.place}.\n"
        "  Write one row for each sentence. If the rows are ratings by different people, add a column "
        f"{RATER!r}.\n"
        "  To leave out all sentences with different ratings, add --columns contradictions=drop."
    )


def _joined(first: Rated, other: Rated) -> Rated:
    item, first_item = other.item, first.item
    if not first.single or not other.single:
        raise _contradiction(first, other)
    if common_raters := first.single.keys() & other.single.keys():
        raise SuiteError(
            f"{item.place}: the {RATER} {min(common_raters)!r} rates this sentence a second time. "
            f"The first rating is at {first_item.place}.\n"
            "  Remove one of the two rows."
        )
    if item.entries != first_item.entries or item.row != first_item.row:
        raise SuiteError(
            f"{item.place}: the sentence is the same as at {first_item.place}, but its item or case "
            "differs.\n"
            "  Write the same item and case in both rows, or correct one of the sentences."
        )
    shared_names = {name for name, value in first_item.features.items() if item.features.get(name) == value}
    return replace(first, item=_with(first_item, shared_names), single={**first.single, **other.single})


def _with(item: DataItem, features: Collection[str]) -> DataItem:
    """Return the item with only some of its features."""
    return replace(item, features={name: value for name, value in item.features.items() if name in features})


def _as_item(rated: Rated) -> DataItem:
    values = {RATING: rated.mean, RATING_SE: rated.se, N_RATINGS: rated.n}
    rating_features = {name: value for name, value in values.items() if value is not None}
    return replace(rated.item, features={**rating_features, **rated.item.features})


def _without_nan(features: pa.Table) -> pa.Table:
    """Replace an unknown standard error (NaN) with a missing value, because NaN equals nothing."""
    if RATING_SE not in features.column_names:
        return features
    column = features[RATING_SE]
    missing = pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column)
    return features.set_column(features.column_names.index(RATING_SE), RATING_SE, missing)
