"""Read `manifest.json`, and say which field of it is wrong."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tseval.checked import Json  # noqa: TC001 - read at run time
from tseval.errors import RunError
from tseval.runs.key import RunKey
from tseval.runs.manifest import FORMAT, Begun, Manifest

if TYPE_CHECKING:
    from pathlib import Path

NAME = "manifest.json"
T = TypeVar("T")

_AGAIN = "Run tseval run again into a new directory."


@dataclass(frozen=True, slots=True)
class _KeyHead:
    suite: str
    model: str
    score: str
    protocol: dict[str, Json]


@dataclass(frozen=True, slots=True)
class _Head:
    """What every manifest has, of a complete run or not."""

    status: str
    signature: str
    key: _KeyHead


def load_manifest(directory: Path) -> Manifest | Begun:
    """Read the manifest of a complete or interrupted run.

    Raises:
        RunError: The directory is not a run, or its manifest is damaged or from a newer tseval.
    """
    file = directory / NAME
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise RunError(f"{directory} is not a run: it has no {NAME}.") from None
    except OSError as error:
        raise RunError(f"{file}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise RunError(f"{file} is damaged: it is not JSON ({error}).\n  {_AGAIN}") from None
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise RunError(f"{file} is not the manifest of a run: it states no format.\n  {_AGAIN}")
    if content["format"] > FORMAT:
        raise RunError(
            f"{file} has format {content['format']}, and this tseval reads formats up to {FORMAT}.\n"
            "  It was written by a newer tseval: upgrade to read it."
        )
    head = _converted(content, _Head, file)
    try:
        key = RunKey(**content["key"])
    except TypeError:
        raise RunError(f"{file} is damaged: 'key' is wrong.\n  {_AGAIN}") from None
    return _converted(content, Manifest, file) if head.status == "complete" else Begun(key)


def _converted(content: dict[str, object], kind: type[T], file: Path) -> T:
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        found = re.search(r"`\$\.?([^`]*)`$", str(error))
        missing = re.search(r"required field `([^`]*)`", str(error))
        where = ".".join(filter(None, [found and found[1], missing and missing[1]]))
        raise RunError(f"{file} is damaged: {where} is missing or wrong.\n  {_AGAIN}") from None
