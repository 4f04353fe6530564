"""The digest of a suite: what tells apart two suites that could give different numbers."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.suites.items import Case, Choices


def suite_digest(terminator: str | None, cases: Sequence[Case]) -> str:
    """Hash everything that can change a score or a table row, in order.

    Per case a JSON line (row names, contrasts, column names and kinds), then each column: the lengths of
    the texts and the texts, or the numbers, little-endian. So the digest does not depend on how Arrow
    lays the columns out.
    """
    digest = hashlib.sha256(json.dumps(["tseval suite 1", terminator]).encode())
    for case in cases:
        columns = [("item", case.index), *_columns(case.sentences), *_columns(case.features)]
        about = [case.name, case.construction, case.phenomenon, case.dependency, case.n_items]
        contrasts = [[contrast.better, contrast.worse] for contrast in case.contrasts]
        contrasts += [[prediction.name, prediction.formula] for prediction in case.predictions]
        kinds = [[name, str(column.type)] for name, column in columns]
        digest.update(json.dumps([about, contrasts, len(case.labels), kinds]).encode())
        for _, column in columns:
            _hash_column(digest, column)
        for _, column in _columns(case.regions) if case.regions is not None else ():
            _hash_column(digest, pc.list_value_length(column))
            _hash_column(digest, pc.list_flatten(column))
        if case.choices is not None:
            _hash_choices(digest, case.choices)
    return digest.hexdigest()


def _hash_choices(digest: hashlib._Hash, choices: Choices) -> None:
    named = [(name, str(column.type)) for name, column in _columns(choices.features)]
    about = [choices.name, choices.symbols, choices.questions.shape, choices.share, choices.whole, named]
    digest.update(json.dumps(about).encode())
    digest.update(choices.questions.astype("<i1").tobytes())
    for numbers in (choices.item, choices.position, choices.question):
        digest.update(numbers.astype("<i8").tobytes())
    for _, column in _columns(choices.features):
        _hash_column(digest, column)


def _columns(table: pa.Table) -> list[tuple[str, pa.Array[Any]]]:
    return [(name, table.column(name).combine_chunks()) for name in table.column_names]


def _hash_column(digest: hashlib._Hash, column: pa.Array[Any]) -> None:
    if pa.types.is_string(column.type):
        texts: list[Any] = column.to_pylist()
        lengths = np.array([len(text) for text in texts], dtype="<i4")
        digest.update(lengths.tobytes())
        digest.update("".join(texts).encode())
    else:
        values = column.to_numpy(zero_copy_only=False)
        kind = {"b": "u1", "i": "<i8", "f": "<f8"}[values.dtype.kind]
        digest.update(values.astype(kind).tobytes())
