"""Expanded suites on disk, so that the second run need not expand again.

One file holds a checksum of all that follows, a JSON line about the suite, and three Arrow streams per
case. It is keyed by the content of every source file and of the code that expands them. Whatever is
wrong with the cache, the suite is expanded again.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

import pyarrow as pa

from tseval.files import cache_folder, write_whole
from tseval.suites.items import Case, Contrast, Suite

if TYPE_CHECKING:
    from collections.abc import Iterable

FORMAT = 1


class About(TypedDict):
    """What the head of the file says about a case."""

    name: str
    construction: str
    phenomenon: str
    dependency: str | None
    contrasts: list[dict[str, str]]


_CODE = Path(__file__).parent
_SUITE_FIELDS = ("name", "title", "source", "terminator", "digest")


def suite_key(path: Path) -> str:
    """Hash everything that an expansion follows from: the suite's files and our code."""
    digest = hashlib.sha256(f"{FORMAT} {path.resolve().name}".encode())
    folder = path if path.is_dir() else path.parent
    grammars = [path] if path.is_file() else sorted(folder.glob("*.jinja"))
    code = [*sorted(_CODE.glob("*.py")), _CODE.parent / "load.py"]
    for file in [*grammars, *sorted(folder.glob("*.yaml")), *code]:
        content = _content(file)
        size = "unreadable" if content is None else len(content)
        digest.update(f"\n{file.name} {size}\n".encode() + (content or b""))
    return digest.hexdigest()


def _content(file: Path) -> bytes | None:
    """Read a file, or None where it cannot be; a pipe would be waited for without end."""
    try:
        return file.read_bytes() if file.is_file() else None
    except OSError:
        return None


def save_suite(suite: Suite, key: str) -> None:
    """Write an expanded suite; where the cache cannot be written, do without."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    for case in suite.cases:
        index = pa.table({"index": case.index})
        for table in (index, case.sentences, case.features):
            with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
                writer.write_table(table)
    about = {
        "suite": _fields(suite, _SUITE_FIELDS),
        "cases": [
            _fields(case, ("name", "construction", "phenomenon", "dependency"))
            | {"contrasts": [asdict(contrast) for contrast in case.contrasts]}
            for case in suite.cases
        ],
    }
    content = json.dumps(about).encode() + b"\n" + sink.getvalue().to_pybytes()
    checksum = hashlib.sha256(content).hexdigest().encode()
    path = _path(key)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, checksum + b"\n" + content, shared=True)


def load_suite(key: str) -> Suite | None:
    """Read an expanded suite, or None where it is absent or damaged."""
    try:
        checksum, _, content = _path(key).read_bytes().partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() != checksum:
            return None
        head, _, streams = content.partition(b"\n")
        about = json.loads(head)
        cases = tuple(_read_cases(about["cases"], pa.BufferReader(streams)))
        suite = Suite(cases=cases, **{name: about["suite"][name] for name in _SUITE_FIELDS})
        return suite if _is_sound(suite) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, pa.ArrowException):
        return None


def _read_cases(fields: list[About], source: pa.BufferReader) -> Iterable[Case]:
    for about in fields:
        index, sentences, features = (pa.ipc.open_stream(source).read_all() for _ in range(3))
        yield Case(
            name=about["name"],
            construction=about["construction"],
            phenomenon=about["phenomenon"],
            dependency=about["dependency"],
            contrasts=tuple(Contrast(**contrast) for contrast in about["contrasts"]),
            index=cast("pa.Int64Array", index.column("index").combine_chunks()),
            sentences=sentences,
            features=features,
        )


def _is_sound(suite: Suite) -> bool:
    """Tell whether everything has the type it should: a checksum anyone can compute proves nothing."""
    fields = [
        (suite.name, suite.title, suite.digest),
        *((c.name, c.construction, c.phenomenon) for c in suite.cases),
    ]
    options = [suite.source, suite.terminator, *(case.dependency for case in suite.cases)]
    return (
        len(suite.cases) > 0
        and all(isinstance(text, str) for texts in fields for text in texts)
        and all(text is None or isinstance(text, str) for text in options)
        and all(_is_sound_case(case) for case in suite.cases)
    )


def _is_sound_case(case: Case) -> bool:
    return (
        case.index.type == pa.int64()
        and len(case.index) == case.sentences.num_rows == case.features.num_rows
        and set(case.sentences.schema.types) == {pa.string()}
        and len(case.contrasts) > 0
        and all({contrast.better, contrast.worse} <= set(case.labels) for contrast in case.contrasts)
    )


def _fields(value: Suite | Case, names: tuple[str, ...]) -> dict[str, object]:
    return {name: getattr(value, name) for name in names}


def _path(key: str) -> Path:
    return cache_folder() / f"{key[:32]}.arrow"
