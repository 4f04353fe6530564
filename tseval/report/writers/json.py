"""Documents as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import pandas as pd

from tseval.errors import plain

if TYPE_CHECKING:
    from tseval.formats import Json
    from tseval.report.document import Document


LAYOUT = 1


def as_json(document: Document) -> str:
    """Return the content of a document as JSON."""
    content = _tidy({"format": LAYOUT, **document.content})
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _tidy(value: object) -> Json:
    """Convert a value to JSON: plain text, a frame as a list of rows, a fraction as a number."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, pd.DataFrame):
        return [_tidy(row) for row in value.astype(object).to_dict("records")]
    if isinstance(value, Mapping):
        return {plain(str(name)): _tidy(part) for name, part in value.items()}
    if isinstance(value, Sequence):
        return [_tidy(part) for part in value]
    if isinstance(value, Fraction):
        return float(value)
    return None if pd.isna(value) else cast("Json", value)  # type: ignore[call-overload]
