"""Read `manifest.json`, and say which field of it is wrong."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from tseval.errors import RunError
from tseval.formats import ContentError, checked, read_json
from tseval.runs.consistency import contradiction
from tseval.runs.key import RunKey
from tseval.runs.manifest import MANIFEST_FORMAT, Begun, Manifest
from tseval.runs.seal import broken

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.formats import Json

NAME = "manifest.json"

_AGAIN = "Run tseval run again into a new directory."


def load_manifest(directory: Path) -> Manifest | Begun:
    """Read the manifest of a complete or interrupted run.

    Both are held to their seals, and a complete one to itself; of an interrupted one the key alone counts.

    Raises:
        RunError: The directory is not a run, or its manifest is damaged, edited, or from a newer tseval.
    """
    file = directory / NAME
    try:
        content = read_json(file)
    except (FileNotFoundError, NotADirectoryError):
        raise RunError(f"{directory} is not a run: it has no {NAME}.") from None
    except OSError as error:
        raise RunError(f"{file}: {error.strerror}.") from None
    except ContentError as error:
        said = error.what.removeprefix("not a JSON file ")
        raise RunError(f"{file} is damaged: it is not JSON {said}.\n  {_AGAIN}") from None
    version = content.get("format") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(version, int) or version < 1:
        raise RunError(f"{file} is not the manifest of a run: it states no format.\n  {_AGAIN}")
    if version > MANIFEST_FORMAT:
        raise RunError(
            f"{file} has format {version}, and this tseval reads formats up to {MANIFEST_FORMAT}.\n"
            "  It was written by a newer tseval: upgrade to read it."
        )
    key = content.get("key")
    if isinstance(key, dict) and key.keys() - {part.name for part in fields(RunKey)}:
        raise RunError(f"{file} is damaged: 'key' is wrong.\n  {_AGAIN}")
    try:
        complete = content.get("status") == "complete"
        manifest = checked(content, Manifest) if complete else checked(content, Begun)
    except ContentError as error:
        raise RunError(f"{file} is damaged: {error.where} is missing or wrong.\n  {_AGAIN}") from None
    _refuse_edited(file, manifest, content)
    return manifest


def _refuse_edited(file: Path, manifest: Manifest | Begun, content: dict[str, Json]) -> None:
    """Refuse a manifest that is not what was sealed, or that contradicts itself."""
    try:
        edited = broken(content, manifest.seal) if manifest.seal else []
        found = contradiction(manifest) if isinstance(manifest, Manifest) else None
    except RecursionError:
        raise RunError(f"{file} is damaged: it is nested without end.\n  {_AGAIN}") from None
    if edited:
        are = "is" if len(edited) == 1 else "are"
        raise RunError(f"{file} was edited: {', '.join(edited)} {are} not what was sealed.\n  {_AGAIN}")
    if found:
        field, _, source = found.partition(" from ")
        raise RunError(f"{file} was edited: {field} does not follow from {source}.\n  {_AGAIN}")
