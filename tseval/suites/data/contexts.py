"""Contexts and targets (EWoK, Ivanova et al. 2024): is a target more probable after its own context?

    target 1:  log P(T1 | C1) > log P(T1 | C2)
    target 2:  log P(T2 | C2) > log P(T2 | C1)

EWoK's accuracy is the mean of the two rows. Departure: a tie counts as half right here, as wrong in EWoK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.errors import SuiteError, quoted_text
from tseval.questions.regions import Prediction
from tseval.suites.data.alternatives import SEVERAL_WORDS
from tseval.suites.data.continuations import ask_continuations, continued
from tseval.suites.data.entries import DataItem
from tseval.suites.data.joining import join_of
from tseval.suites.data.records import read_records
from tseval.suites.data.roles import roles_given, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tseval.items import Case
    from tseval.suites.data.entries import TableReading


CONTEXT_COLUMNS = ("Context1", "Context2", "Target1", "Target2")
CONTEXT_FEATURES = ("ConceptA", "ConceptB", "ContextType", "ContextDiff", "TargetDiff")
CONTEXT_PREDICTIONS = (
    Prediction("target 1", "(2;%context 1, target 1%) < (2;%context 2, target 1%)"),
    Prediction("target 2", "(2;%context 2, target 2%) < (2;%context 1, target 2%)"),
)


def read_contexts(reading: TableReading) -> tuple[Case, ...]:
    """Read contexts and targets under EWoK's column names; each `Domain` or each file is one case."""
    return reading.build(_crossed(reading), ask_continuations(CONTEXT_PREDICTIONS))


def _crossed(reading: TableReading) -> Iterator[DataItem]:
    # An item has two questions. BabyLM's files repeat each item with exchanged halves: both get one number.
    numbers: dict[frozenset[str], str] = {}
    column_by_role = roles_given(reading.options)
    columns = {name: column_by_role.get(name, name) for name in CONTEXT_COLUMNS}
    for path, stem in reading.files.items():
        used_columns = (*columns.values(), *CONTEXT_FEATURES, "Domain")
        for place, record in read_records(path, used_columns, reading.options):
            texts = {name: text_of(place, record, column) for name, column in columns.items()}
            reading.unused[str(path)] = [name for name in record if name not in used_columns]
            for name, text in texts.items():
                if SEVERAL_WORDS.search(text):
                    raise SuiteError(
                        f"{place}: the column {columns[name]!r} has several words with | between them, "
                        f"but may have only one: {quoted_text(text, 60)}.\n  Write one word."
                    )
            parts = {
                f"context {c}, target {t}": (texts[f"Context{c}"], texts[f"Target{t}"])
                for t in (1, 2)
                for c in (1, 2)
            }
            name = str(record.get("Domain") or stem)
            features = {n: text_of(place, record, n) for n in CONTEXT_FEATURES if record.get(n) is not None}
            number = numbers.setdefault(frozenset(texts.values()), str(len(numbers) + 1))
            row = (name, name, "Contexts and targets", None)
            item = DataItem(place, row, {}, features, {"item": number})
            yield continued(item, parts, join_of(reading.options))
