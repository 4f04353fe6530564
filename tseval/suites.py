"""Find and load suites: by the name of a bundled one, or by the path of grammars."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tseval.errors import SuiteError, suggest
from tseval.grammar.cache import load_suite as load_cached
from tseval.grammar.cache import save_suite, suite_key
from tseval.items import Case, Suite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.grammar.folder import SuiteFolder

TEMPLATES = Path(__file__).parent / "templates"
_CACHED_ITEMS = 1_000_000


def available_suites() -> tuple[str, ...]:
    """Name the bundled suites."""
    return tuple(sorted(file.parent.name for file in TEMPLATES.glob("*/suite.yaml")))


def find_suite(spec: str | Path) -> Path:
    """Find a suite by the name of a bundled one or by path; bundled names come first.

    Raises:
        SuiteError: There is no such suite; the message says the nearest name.
    """
    if isinstance(spec, str) and spec in available_suites():
        return TEMPLATES / spec
    if isinstance(spec, Path) or os.sep in spec or Path(spec).exists():
        path = Path(spec)
        if not path.exists():
            raise SuiteError(f"{path}: no such file or folder.\n  Give a bundled name or a path of grammars.")
        return path
    raise SuiteError(
        f"there is no suite {spec!r}.\n  {suggest(spec, available_suites(), 'Bundled suites')} "
        f"Or give a path, such as ./{spec}."
    )


def load_suite(
    spec: str | Path,
    *,
    cases: str | Sequence[str] = (),
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Suite:
    """Load a suite: all its items, or some, expanding only what is asked for.

    Args:
        spec: Name of a bundled suite, or path of a folder of grammars or of one `.jinja` file.
        cases: Only these cases, or this one; all where empty.
        limit: The first so many items of each case.
        sample: So many items of each case, drawn uniformly without replacement, in item order.
        seed: Of the draw.

    Raises:
        SuiteError: No such suite or case; a limit or sample below 1.
        GrammarError: A grammar that cannot be expanded, with file, line and fix.
    """
    _check_counts(limit, sample)
    path = find_suite(spec)
    complete = not cases and limit is None and sample is None
    key = suite_key(path) if complete else None
    if key is not None and (cached := load_cached(key)) is not None:
        return cached

    # Imported late: a cached suite needs neither Jinja nor YAML.
    from tseval.grammar.expansion import check_size, choose_rows, expand  # noqa: PLC0415
    from tseval.grammar.folder import read_folder  # noqa: PLC0415

    folder = read_folder(path)
    grammars = folder.load((cases,) if isinstance(cases, str) else cases)
    for grammar in grammars:
        check_size(grammar, None if limit is None and sample is None else 0)
    expanded = tuple(
        expand(grammar, folder.contrasts_of(grammar), choose_rows(grammar.n_items, limit, sample, seed))
        for grammar in grammars
    )
    suite = _suite(folder, expanded, complete)
    if key is not None and suite.n_items <= _CACHED_ITEMS:
        save_suite(suite, key)
    return suite


def stream_cases(
    spec: str | Path,
    *,
    cases: str | Sequence[str] = (),
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> tuple[int, Iterator[Case]]:
    """Go through the items of a suite in blocks, for writing them out.

    Args:
        spec: As in `load_suite`.
        cases: As in `load_suite`.
        limit: The first so many items of all the cases together.
        sample: So many items drawn uniformly from all the cases together, in order.
        seed: Of the draw.

    Returns:
        How many items there will be, and the blocks; a large case comes in several.

    Raises:
        SuiteError: No such suite or case; a limit or sample below 1.
        GrammarError: A grammar that cannot be expanded, at the latest while its block is made.
    """
    _check_counts(limit, sample)
    if limit is None and sample is None:
        suite = load_suite(spec, cases=cases)
        return suite.n_items, iter(suite.cases)

    from tseval.grammar.expansion import LARGEST_INDEX, check_size, choose_rows, expand_blocks  # noqa: PLC0415
    from tseval.grammar.folder import read_folder  # noqa: PLC0415

    folder = read_folder(find_suite(spec))
    grammars = folder.load((cases,) if isinstance(cases, str) else cases)
    for grammar in grammars:
        check_size(grammar, 0)
    ends = np.cumsum([grammar.n_items for grammar in grammars], dtype=object)
    if ends[-1] > LARGEST_INDEX:
        raise SuiteError(f"{spec}: more items than can be numbered.\n  Choose fewer cases with --case.")
    rows = choose_rows(int(ends[-1]), limit, sample, seed)

    def blocks() -> Iterator[Case]:
        for grammar, end in zip(grammars, ends, strict=True):
            own = _rows_between(rows, end - grammar.n_items, end)
            yield from expand_blocks(grammar, folder.contrasts_of(grammar), own)

    return len(rows), blocks()


def _check_counts(limit: int | None, sample: int | None) -> None:
    for name, count in (("limit", limit), ("sample", sample)):
        if count is not None and count < 1:
            raise SuiteError(f"{name} must be 1 or more, not {count}.\n  For all items, leave it out.")


def _rows_between(rows: Sequence[int], start: int, end: int) -> Sequence[int]:
    """Take the ascending rows in [start, end), counted from start."""
    if isinstance(rows, range):
        return range(max(rows.start, start) - start, max(min(rows.stop, end), start) - start)
    return [row - start for row in rows if start <= row < end]


def _suite(folder: SuiteFolder, cases: tuple[Case, ...], complete: bool) -> Suite:
    return Suite(
        name=folder.name,
        title=folder.title,
        source=folder.source,
        terminator=folder.terminator,
        cases=cases,
        digest=suite_digest(folder.terminator, cases),
        complete=complete,
    )


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
        kinds = [[name, str(column.type)] for name, column in columns]
        digest.update(json.dumps([about, contrasts, len(case.labels), kinds]).encode())
        for _, column in columns:
            _hash_column(digest, column)
    return digest.hexdigest()


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
