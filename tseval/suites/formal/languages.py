"""Languages by name: `dyck(k=4,m=3)`.

Every language is a frozen dataclass; its fields are what a specification may set. `name` is for files and
tables, `title` for readers, `alphabet` holds the symbols, `draw` gives the training, validation or test
strings, the same ones each time, and `allowed` the symbols that may follow a prefix.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, suggest
from tseval.suites.formal.cross_serial import CrossSerial
from tseval.suites.formal.dyck import Dyck
from tseval.suites.formal.generalised_dyck import GeneralisedDyck

if TYPE_CHECKING:
    from collections.abc import Sequence

Language = Dyck | GeneralisedDyck | CrossSerial

FORMAL_LANGUAGES: dict[str, type[Language]] = {
    "dyck": Dyck,
    "generalised_dyck": GeneralisedDyck,
    "cross_serial": CrossSerial,
}
CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)


def names_language(spec: str) -> bool:
    """Tell whether a specification is meant as a formal language: `dyck(k=4,m=3)`, or a known name alone."""
    return CALL.fullmatch(spec) is not None or spec in FORMAL_LANGUAGES


def parse_language(spec: str) -> Language:
    """Make the language that a specification names.

    Args:
        spec: `NAME(VALUE, SETTING=VALUE, ...)`, values in the order of the settings first; or the name alone.

    Raises:
        SuiteError: There is no such language or setting; a value is missing, twice there, no whole number
            or out of range.
    """
    called = CALL.fullmatch(spec)
    name, inside = called.groups() if called else (spec, "")
    if name not in FORMAL_LANGUAGES:
        raise SuiteError(
            f"there is no formal language {name!r}.\n  {suggest(name, FORMAL_LANGUAGES, 'Languages')}"
        )
    settings = {field.name: field.default for field in fields(FORMAL_LANGUAGES[name])}
    parts = [part.strip() for part in inside.split(",")] if inside.strip() else []
    chosen = _read_settings(spec, parts, list(settings))
    if missing := [key for key, default in settings.items() if default is MISSING and key not in chosen]:
        raise SuiteError(f"{spec}: {' and '.join(missing)} must be given.\n  {usage(name)}")
    try:
        return FORMAL_LANGUAGES[name](**chosen)
    except SuiteError as error:
        raise SuiteError(f"{spec}: {error}") from None


def usage(name: str) -> str:
    """Show how a language is written, with its settings and their defaults."""
    shown = (
        f.name if f.default is MISSING else f"{f.name}={f.default}" for f in fields(FORMAL_LANGUAGES[name])
    )
    return f"{name}({', '.join(shown)})"


def _read_settings(spec: str, parts: Sequence[str], known: Sequence[str]) -> dict[str, int]:
    """Read what stands between the brackets."""
    chosen: dict[str, int] = {}
    named = False
    for place, part in enumerate(parts):
        key, equals, text = (side.strip() for side in part.partition("="))
        named = named or bool(equals)
        if not equals:
            if named or place >= len(known):
                raise SuiteError(f"{spec}: {part!r} belongs to no setting.\n  Write SETTING={part}.")
            key, text = known[place], part
        if key not in known:
            raise SuiteError(f"{spec}: no setting {key!r}.\n  {suggest(key, known, 'Settings')}")
        if key in chosen:
            raise SuiteError(f"{spec}: {key} is given twice.\n  Give it once.")
        try:
            chosen[key] = int(text)
        except ValueError:
            raise SuiteError(f"{spec}: {key} must be a whole number, not {text!r}.") from None
    return chosen
