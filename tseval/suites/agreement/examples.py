"""Examples of agreement in running text: one example, and tables of examples."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable


SINGULAR, PLURAL = "sing", "plur"
EXAMPLE_NUMBERS = (SINGULAR, PLURAL)
NO_NOUN = "none"  # last_intervening if no noun intervenes
NEEDED_COLUMNS = ("sentence", "verb_index", "verb_form", "number", "opp_verb_form")
_CHUNK = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A target verb in a sentence of a corpus; a field is None if the source does not give it."""

    sentence: str  # words joined by single spaces
    subj_index: int | None = None  # position of the subject's head, from 0
    verb_index: int  # position of the target verb, from 0
    subj_form: str | None = None
    verb_form: str  # as in the corpus
    number: str  # number of the verb and its subject, `sing` or `plur`
    opp_verb_form: str  # the verb in the other number
    n_intervening: int | None = None  # common nouns strictly between subject and verb
    n_attractors: int  # intervening nouns of the other number
    n_non_attractors: int | None = None  # intervening nouns of the subject's number
    distance: int | None = None  # verb_index - subj_index
    last_intervening: str | None = None  # number of the noun nearest to the verb; `none` if there is none
    source: str  # the treebank or file
    sent_id: str | None = None  # id of the sentence in its treebank
    split: str  # `train`, `valid` or `test`
    opp_how: str  # origin of the opposite form
    verb_role: str | None = None  # `main`, `aux`, `auxpass` or `cop`
    subj_deprel: str | None = None  # dependency relation of the subject


EXAMPLE_COLUMNS: dict[str, pa.DataType] = {
    column.name: pa.int64() if str(column.type).startswith("int") else pa.string()
    for column in fields(Example)
}


def gather_examples(examples: Iterable[Example]) -> pa.Table:
    """Return a table of examples of one source; columns that the source does not fill are left out."""
    rest, schema = iter(examples), pa.schema(list(EXAMPLE_COLUMNS.items()))
    parts = [schema.empty_table()]
    while chunk := list(islice(rest, _CHUNK)):
        parts.append(pa.Table.from_pylist(list(map(asdict, chunk)), schema=schema))
    return filled(pa.concat_tables(parts))


def filled(table: pa.Table) -> pa.Table:
    """Return the table without its empty columns."""
    held = [name for name in table.column_names if table[name].null_count < table.num_rows]
    return table.select(held) if table.num_rows else table
