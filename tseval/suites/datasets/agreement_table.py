"""Tables of agreement examples as suites: is the right form of the verb the more probable one?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError
from tseval.formats import bare_name, read_tsv, stem_of
from tseval.items import Case, as_entries
from tseval.questions import Contrast
from tseval.questions.pairs import Pairs
from tseval.suites.agreement.examples import SINGULAR
from tseval.suites.agreement.reading import read_examples
from tseval.suites.datasets.agreement import verb_entries
from tseval.suites.datasets.entries import AGREEMENT, first_places

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CONTRAST = Contrast("grammatical", "ungrammatical")
SPLIT_ORDER = ("train", "valid", "test")
# Feature to column.
FEATURES = {
    "number": "number",
    "n_intervening": "n_intervening",
    "n_attractors": "n_attractors",
    "n_non_attractors": "n_non_attractors",
    "distance": "distance",
    "last_intervening": "last_intervening",
    "position": "verb_index",
    "verb_form": "verb_form",
    "verb_role": "verb_role",
    "subj_deprel": "subj_deprel",
    "source": "source",
}


def is_agreement(path: Path) -> bool:
    """Whether a file holds agreement examples: parquet always should, other tables say so in their header."""
    if path.name.endswith(".parquet"):
        return True
    first = next(read_tsv(path), None) if bare_name(path).endswith(".tsv") else None
    return first is not None and {"sentence", "verb_index"} <= set(first[1])


def read_agreement(files: Sequence[Path]) -> tuple[Case, ...]:
    """Read tables of examples into cases: one for each split, or a single one where there are no splits.

    Of several tables, the columns that all have become features.

    Raises:
        SuiteError: A table is malformed, or only some of several have splits.
    """
    tables = [read_examples(file) for file in files]
    shared = set.intersection(*(set(table.column_names) for table in tables))
    unsplit = [file for file, table in zip(files, tables, strict=True) if "split" not in table.column_names]
    if unsplit and len(unsplit) < len(files):
        raise SuiteError(f"{unsplit[0]}: has no column 'split', but other tables beside it have one")
    table = pa.concat_tables(part.select(sorted(shared)) for part in tables)
    entries = _entries(table)
    if unsplit:
        return (_case(stem_of(files[0]), table, entries),)
    parts = {
        name: pc.equal(table["split"], pa.scalar(name)) for name in _in_order(table["split"].to_pylist())
    }
    return tuple(_case(name, table.filter(part), entries.filter(part)) for name, part in parts.items())


def _entries(table: pa.Table) -> pa.Table:
    """Say of every example which sentence it is from, and which verb it is about."""
    sentences, *verbs = (_texts(table, name) for name in ("sentence", "number", "verb_form", "opp_verb_form"))
    named = [
        verb_entries(sentence, form if number == SINGULAR else opposite)
        for sentence, number, form, opposite in zip(first_places(sentences), *verbs, strict=True)
    ]
    return pa.table({factor: as_entries([one[factor] for one in named]) for factor in named[0]})


def _texts(table: pa.Table, name: str) -> list[str]:
    texts: list[Any] = table[name].to_pylist()
    return texts


def _in_order(splits: list[Any]) -> list[str]:
    """Name each split once: train, valid and test first."""
    names = dict.fromkeys(splits)
    return [
        *(name for name in SPLIT_ORDER if name in names),
        *(name for name in names if name not in SPLIT_ORDER),
    ]


def _case(name: str, table: pa.Table, entries: pa.Table) -> Case:
    """Make items of examples: each sentence with the verb as found, and in the other number."""
    found: list[str] = []
    changed: list[str] = []
    for row in table.select(["sentence", "verb_index", "opp_verb_form"]).to_batches():
        for sentence, index, form in zip(*(column.to_pylist() for column in row.columns), strict=True):
            words = sentence.split()
            found.append(" ".join(words))
            changed.append(" ".join([*words[:index], form, *words[index + 1 :]]))
    held = {feature: name for feature, name in FEATURES.items() if name in table.column_names}
    return Case(
        name=name,
        construction=name,
        phenomenon=AGREEMENT,
        dependency=None,
        question=Pairs((CONTRAST,)),
        index=pa.array(range(table.num_rows), pa.int64()),
        sentences=pa.table({CONTRAST.better: found, CONTRAST.worse: changed}),
        features=table.select(list(held.values())).rename_columns(list(held)),
        entries=entries,
    )
