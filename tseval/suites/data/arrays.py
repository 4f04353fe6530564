"""Read JSON lists without names: two endings of one prefix."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from tseval.errors import SuiteError, quoted_text
from tseval.formats import parse_data, read_text
from tseval.suites.data.continuations import continued
from tseval.suites.data.entries import DataItem
from tseval.suites.data.joining import join_of
from tseval.suites.data.roles import PAIR_LABELS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tseval.suites.data.entries import TableReading


def read_arrays(file: Path, stem: str, reading: TableReading) -> Iterator[DataItem]:
    """Read JSON without names, `[[[prefix, prefix], [right, wrong]], ...]`: two endings of one prefix.

    Source: Kryvosheieva & Levy 2025, Controlled evaluation of syntactic knowledge in multilingual language
    models. Their suites have this format.
    """
    for number, element in enumerate(cast("list[Any]", parse_data(read_text(file), str(file))), 1):
        place = f"{file}:{number}"
        if not (isinstance(element, list) and len(element) == 2 and all(map(_is_pair, element))):
            content = quoted_text(json.dumps(element, ensure_ascii=False), 60)
            raise SuiteError(
                f"{place}: element {number} of the list is not a list of two pairs, but {content}."
                '\n  Write each element as [["prefix", "prefix"], ["right ending", "wrong ending"]].'
            )
        item = DataItem(place, (stem, stem, stem, None), {}, {}, {})
        parts = {label: (element[0][at], element[1][at]) for at, label in enumerate(PAIR_LABELS)}
        yield continued(item, parts, join_of(reading.options))


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(text, str) for text in value)
