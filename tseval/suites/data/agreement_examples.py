"""Read tables of agreement examples as suites: the verb of each sentence is compared in both numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError
from tseval.formats import stem_of
from tseval.items import Case, as_entries
from tseval.questions import Contrast
from tseval.questions.pairs import Pairs
from tseval.suites.agreement.example_tables import read_examples
from tseval.suites.agreement.examples import SINGULAR
from tseval.suites.data.entries import AGREEMENT, first_places
from tseval.suites.data.linzen import verb_entries

if TYPE_CHECKING:
    from tseval.suites.data.entries import TableReading


CONTRAST = Contrast("grammatical", "ungrammatical")
SPLIT_ORDER = ("train", "valid", "test")
# Features and their columns.
FEATURES = {
    **{name: name for name in ("number", "n_intervening", "n_attractors", "n_non_attractors", "distance")},
    **{"last_intervening": "last_intervening", "position": "verb_index"},
    **{name: name for name in ("verb_form", "verb_role", "subj_deprel", "source")},
}


def read_agreement(reading: TableReading) -> tuple[Case, ...]:
    """Read tables of examples into cases: one for each split, or a single case without splits.

    If there are several tables, columns that all of them have become features.
    """
    files = list(reading.files)
    tables = [read_examples(file) for file in files]
    reading.items.update({str(file): table.num_rows for file, table in zip(files, tables, strict=True)})
    shared = set.intersection(*(set(table.column_names) for table in tables))
    unsplit = [file for file, table in zip(files, tables, strict=True) if "split" not in table.column_names]
    if unsplit and len(unsplit) < len(files):
        raise SuiteError(
            f"{unsplit[0]}: this table has no column 'split', but other tables of the folder have one.\n"
            "  Add the column 'split' to this table, with train, valid or test in each row."
        )
    table = pa.concat_tables(part.select(sorted(shared)) for part in tables)
    entries = _entries(table)
    if unsplit:
        return (_case(stem_of(files[0]), table, entries),)
    splits: list[Any] = table["split"].unique().to_pylist()
    names = sorted(splits, key=lambda name: (*SPLIT_ORDER, name).index(name))  # other splits come last
    parts = [(name, pc.equal(table["split"], pa.scalar(name))) for name in names]
    return tuple(_case(name, table.filter(part), entries.filter(part)) for name, part in parts)


def _entries(table: pa.Table) -> pa.Table:
    """Return the sentence and the verb of every example, as lexical factors."""
    columns = ("sentence", "number", "verb_form", "opp_verb_form")
    texts: list[list[Any]] = [table[name].to_pylist() for name in columns]
    sentences, *verbs = texts
    named = [
        verb_entries(sentence, form if number == SINGULAR else opposite)
        for sentence, number, form, opposite in zip(first_places(sentences), *verbs, strict=True)
    ]
    return pa.table({factor: as_entries([entry[factor] for entry in named]) for factor in named[0]})


def _case(name: str, table: pa.Table, entries: pa.Table) -> Case:
    """Return a case of examples: each sentence with its verb as written and in the other number."""
    as_found: list[str] = []
    changed: list[str] = []
    for row in table.select(["sentence", "verb_index", "opp_verb_form"]).to_batches():
        for sentence, index, form in zip(*(column.to_pylist() for column in row.columns), strict=True):
            words = sentence.split()
            as_found.append(" ".join(words))
            changed.append(" ".join([*words[:index], form, *words[index + 1 :]]))
    held = {feature: name for feature, name in FEATURES.items() if name in table.column_names}
    return Case(
        name=name,
        construction=name,
        phenomenon=AGREEMENT,
        dependency=None,
        question=Pairs((CONTRAST,)),
        index=pa.array(range(table.num_rows), pa.int64()),
        sentences=pa.table({CONTRAST.better: as_found, CONTRAST.worse: changed}),
        features=table.select(list(held.values())).rename_columns(list(held)),
        entries=entries,
    )
