"""The seal of a manifest: digests of what it says, so that an edit is found and named.

Anyone can compute it: it shows that a manifest is as it was written, not who wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - manifests are read into a Seal
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tseval.formats import Json

FIELD = "seal"
DIGITS = 16  # of each field's digest: enough to name an edit


@dataclass(frozen=True, slots=True)
class Seal:
    """Digests over canonical JSON: sorted keys, no spaces, ASCII.

    Attributes:
        manifest: SHA-256 of everything but the seal.
        fields: The start of the SHA-256 of each field, by name.
    """

    manifest: str
    fields: Mapping[str, str]


def seal(content: Mapping[str, Json]) -> Seal:
    """Seal the content of a manifest; a seal in it does not count."""
    sealed = {name: value for name, value in content.items() if name != FIELD}
    return Seal(_digest(sealed), {name: _digest(value)[:DIGITS] for name, value in sealed.items()})


def broken(content: Mapping[str, Json], stated: Seal) -> list[str]:
    """Name the fields of a manifest that are not what was sealed, if there are any."""
    found = seal(content)
    names = sorted(found.fields.keys() | stated.fields.keys())
    edited = [name for name in names if found.fields.get(name) != stated.fields.get(name)]
    return edited or ([] if found.manifest == stated.manifest else [FIELD])


def _digest(value: Json) -> str:
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
