"""Oracles: networks that know a formal language by construction, `oracle:dyck-lstm` with k=4,m=3.

They are the harness's own positive control: on the suite they are built for they are always right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.adapters.native import NativeModel
from tseval.errors import ModelError
from tseval.models.oracles.dyck import Oracle, build_oracle
from tseval.scoring.numerics.device import pick_device
from tseval.suites.formal.strings import brackets

if TYPE_CHECKING:
    from collections.abc import Mapping

USAGE = "Give --model-args k=4,m=3 and, if not log, code=one-hot."


def open_oracle(rest: str, arguments: Mapping[str, str], device: str) -> NativeModel:
    """Open `--model oracle:dyck-srn` or `oracle:dyck-lstm`, for the Dyck language that the arguments name.

    Raises:
        ModelError: If there is no such oracle, or the arguments are not as they should be.
    """
    if unknown := sorted(arguments.keys() - {"k", "m", "code"}):
        raise ModelError(f"oracle:{rest} takes no argument {unknown[0]!r}. {USAGE}")
    oracle = Oracle(rest, _number("k", arguments), _number("m", arguments), arguments.get("code", "log"))
    checkpoint = build_oracle(oracle, brackets(oracle.k))
    return NativeModel(oracle.name, checkpoint, pick_device(device))


def _number(name: str, arguments: Mapping[str, str]) -> int:
    if name not in arguments:
        raise ModelError(f"an oracle must know {name} of its Dyck language. {USAGE}")
    try:
        return int(arguments[name])
    except ValueError:
        raise ModelError(f"{name} must be a whole number, not {arguments[name]!r}. {USAGE}") from None
