"""A cache of expanded suites on disk: a second run does not expand the suite again.

A cache file holds a checksum of the rest, a JSON line about the suite, and four Arrow streams per case.
Its key hashes every source file and the code that expands it. If anything is wrong with the cache, the suite
is expanded again.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

import pyarrow as pa

from tseval.files import cache_folder, open_regular, write_whole
from tseval.formats import ContentError, checked
from tseval.items import ENTRIES, Case, Suite
from tseval.questions import Contrast  # noqa: TC001 - read at run time
from tseval.questions.pairs import Pairs

if TYPE_CHECKING:
    from collections.abc import Iterator


CACHE_FORMAT = 2
_in_memory: ContextVar[dict[str, Suite] | None] = ContextVar("in_memory", default=None)


class _CaseFacts(TypedDict):
    name: str
    construction: str
    phenomenon: str
    dependency: str | None
    contrasts: tuple[Contrast, ...]


class _SuiteFacts(TypedDict):
    name: str
    title: str
    source: str | None
    terminator: str | None
    digest: str


class _Head(TypedDict):
    suite: _SuiteFacts
    cases: list[_CaseFacts]


_CODE = Path(__file__).parent


def suite_key(path: Path) -> str:
    """Hash everything that determines an expansion: the suite's files and the code of tseval."""
    digest = hashlib.sha256(f"{CACHE_FORMAT} {path.resolve().name}".encode())
    folder = path if path.is_dir() else path.parent
    grammars = [path] if path.is_file() else sorted(folder.glob("*.jinja"))
    code = [*sorted((_CODE / "grammar").glob("*.py")), _CODE / "cache.py"]
    for file in [*grammars, *sorted(folder.glob("*.yaml")), *code]:
        content = None
        with suppress(OSError):
            content = file.read_bytes() if file.is_file() else None  # reading a pipe might never end
        size = "unreadable" if content is None else len(content)
        digest.update(f"\n{file.name} {size}\n".encode() + (content or b""))
    return digest.hexdigest()


def save_suite(suite: Suite, key: str) -> None:
    """Write an expanded suite to the cache. If the cache cannot be written, do nothing."""
    if (expanded := _in_memory.get()) is not None:
        expanded[key] = suite
        return
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    for case in suite.cases:
        index = pa.table({"index": case.index})
        for table in (index, case.sentences, case.features, case.entries):
            with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
                writer.write_table(table)
    head = {"suite": _facts(suite, _SuiteFacts), "cases": [_facts(case, _CaseFacts) for case in suite.cases]}
    content = json.dumps(head, default=asdict).encode() + b"\n" + sink.getvalue().to_pybytes()
    checksum = hashlib.sha256(content).hexdigest().encode()
    path = _path(key)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, checksum + b"\n" + content, shared=True)


@contextmanager
def without_cache() -> Iterator[None]:
    """Ignore the cache on disk inside this block: every suite is expanded again, once.

    Verification uses it. A nested block shares the suites that the outer block has expanded.
    """
    outer = _in_memory.get()
    token = _in_memory.set({} if outer is None else outer)
    try:
        yield
    finally:
        _in_memory.reset(token)


def load_cached(key: str) -> Suite | None:
    """Read an expanded suite; None if it is absent or damaged."""
    if (expanded := _in_memory.get()) is not None:
        return expanded.get(key)
    try:
        with open_regular(_path(key)) as file:
            checksum, _, content = file.read().partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() != checksum:
            return None
        first, _, streams = content.partition(b"\n")
        head = checked(json.loads(first), _Head)
        source = pa.BufferReader(streams)
        cases = tuple(_read_case(facts, source) for facts in head["cases"])
        sound = cases and all(_is_sound(case) for case in cases)
        return Suite(cases=cases, **head["suite"]) if sound else None
    except (OSError, ValueError, LookupError, RecursionError, ContentError, pa.ArrowException):
        return None


def _read_case(facts: _CaseFacts, source: pa.BufferReader) -> Case:
    index, sentences, features, entries = (pa.ipc.open_stream(source).read_all() for _ in range(4))
    numbers = cast("pa.Int64Array", index.column("index").combine_chunks())
    return Case(
        name=facts["name"],
        construction=facts["construction"],
        phenomenon=facts["phenomenon"],
        dependency=facts["dependency"],
        question=Pairs(facts["contrasts"]),
        index=numbers,
        sentences=sentences,
        features=features,
        entries=entries,
    )


def _is_sound(case: Case) -> bool:
    """Check that the parts of a case fit together. A checksum proves nothing: anyone can compute one."""
    return (
        case.index.type == pa.int64()
        and len(case.index) == case.sentences.num_rows == case.features.num_rows
        and set(case.sentences.schema.types) == {pa.string()}
        and (not case.entries.num_columns or len(case.index) == case.entries.num_rows)
        and set(case.entries.schema.types) <= {ENTRIES}
        and len(case.contrasts) > 0
        and all({contrast.better, contrast.worse} <= set(case.labels) for contrast in case.contrasts)
    )


def _facts(value: Suite | Case, kind: type) -> dict[str, object]:
    return {name: getattr(value, name) for name in kind.__annotations__}


def _path(key: str) -> Path:
    return cache_folder() / f"{key[:32]}.arrow"
