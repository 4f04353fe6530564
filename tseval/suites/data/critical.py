"""Find the words that items of a data set share, if its columns do not name them.

A million pairs made of seven verbs carry the information of seven verbs. So if a data set names no lexical
factor, the words that differ between the sentences of an item become the factor `critical`. *laughs* and
*laugh* are the same entry, whichever of them is right.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as kinds

from tseval.items import as_entries, cluster_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.items import Case, Suite

CRITICAL, SENTENCE = "critical", "sentence"
NOTHING = "–"  # if one sentence has a word more than the other
_MARKS = ".,;:?!…\"'“”‘’()[]"
# A column may name shared words if some case has this many values, each in this many items on average.
FEWEST_VALUES, FEWEST_ITEMS = 5, 10
# A column of numbers usually measures sentences, unless its name contains one of these words.
_NUMBERS_THAT_NAME = ("template", "item", "frame", "lemma", "verb", "noun", "group", "lexic")


def differing(sentences: Sequence[Sequence[str]]) -> list[list[bool]]:
    """Return which words differ: by position for equal lengths, else the words between shared ends."""
    shortest = min(map(len, sentences))
    if len(sentences) == 2 and len(sentences[0]) == len(sentences[1]):
        differences = [word != other_word for word, other_word in zip(*sentences, strict=True)]
        return [differences, differences]
    equalities = [len({words[place] for words in sentences}) == 1 for place in range(shortest)]
    if all(len(words) == shortest for words in sentences):
        return [[not is_equal for is_equal in equalities] for _ in sentences]
    before = next((place for place, is_equal in enumerate(equalities) if not is_equal), shortest)
    after = next((n for n in range(shortest - before) if len({words[-1 - n] for words in sentences}) > 1),
                 shortest - before)  # fmt: skip
    return [[before <= place < len(words) - after for place in range(len(words))] for words in sentences]


def critical_words(sentences: Sequence[str]) -> str | None:
    """Return the words in which sentences differ, in alphabetical order; None if the sentences are equal.

    >>> critical_words(["the author laughs.", "the author laugh."])
    'laugh/laughs'
    """
    split = [text.split() for text in sentences]
    parts = set()
    for words, differences in zip(split, differing(split), strict=True):
        differing_words = [
            word.strip(_MARKS) or word for word, differs in zip(words, differences, strict=True) if differs
        ]
        parts.add(" ".join(differing_words).casefold() or NOTHING)
    return "/".join(sorted(parts)) if len(parts) > 1 else None


def with_critical(suite: Suite) -> Suite:
    """Add the factor `critical` to cases of pairs whose data name no shared words.

    The suite stays as it is if the user sets clusters with `--cluster`.
    """
    if suite.clusters or suite.inferred or suite.files is None:
        return suite
    lacking = [case for case in suite.cases if case.contrasts and not _names_words(case)]
    added = {case.name: _with_critical(case) for case in lacking}
    if not any(CRITICAL in _shared(case) for case in added.values()):  # no two items share these words
        return suite
    cases = tuple(added.get(case.name, case) for case in suite.cases)
    return replace(suite, cases=cases, inferred=CRITICAL)


def cluster_data(suite: Suite, columns: Sequence[str]) -> Suite:
    """Cluster items by columns (`tseval.items.cluster_by`); `critical` is added if it is among them."""
    tables = (table for case in suite.cases for table in (case.features, case.entries))
    is_column = any(CRITICAL in table.column_names for table in tables)
    return cluster_by(suite if is_column or CRITICAL not in columns else with_critical(suite), columns)


def _names_words(case: Case) -> bool:
    """Return whether the data name something that items share, other than a common sentence."""
    return bool(_shared(case) - {SENTENCE})


def _shared(case: Case) -> set[str]:
    """Return the factors in which some entry occurs in several items of a case."""
    columns = {name: case.entries[name].combine_chunks().drop_null() for name in case.entries.column_names}
    return {name for name, column in columns.items() if len(column) > len(column.unique())}


def _with_critical(case: Case) -> Case:
    columns = (case.sentences[label].to_pylist() for label in case.labels)
    entries = as_entries([critical_words(texts) for texts in zip(*columns, strict=True)])
    if case.entries.num_columns:
        return replace(case, entries=case.entries.append_column(CRITICAL, entries))
    return replace(case, entries=pa.table({CRITICAL: entries}))


def shared_columns(suite: Suite) -> Iterator[tuple[str, int]]:
    """Yield columns that many items share and that may name words, each with its number of values."""
    names = dict.fromkeys(name for case in suite.cases for name in case.features.column_names)
    for name in names:
        cases_with_column = [case for case in suite.cases if name in case.features.column_names]
        columns = [case.features[name].combine_chunks() for case in cases_with_column]
        if not all(_may_name(name, column.type) for column in columns):
            continue
        counts = [len(column.unique()) for column in columns]
        n_values = len({value for column in columns for value in column.unique().to_pylist()})
        n_items = sum(map(len, columns))
        # The test needs several values in one case: a column with one value per case only names the case.
        if max(counts) >= FEWEST_VALUES and n_items >= FEWEST_ITEMS * sum(counts):
            yield name, n_values


def _may_name(name: str, kind: pa.DataType) -> bool:
    named = any(part in name.lower() for part in _NUMBERS_THAT_NAME)
    return kinds.is_string(kind) or (kinds.is_integer(kind) and named)
