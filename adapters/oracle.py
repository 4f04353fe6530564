"""Oracles: networks that know a formal language by construction, `oracle:dyck-lstm` with k=4,m=3.

They are the harness's own positive control: on the suite they are built for they are always right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.adapters.automaton import AutomatonModel, SecondOrderModel
from tseval.adapters.native import NativeModel
from tseval.errors import ModelError, suggest
from tseval.models.oracles import ORACLES, Oracle, build_automaton, build_oracle, refuse_sizes
from tseval.scoring.numerics import pick_device
from tseval.suites.formal.languages import brackets

if TYPE_CHECKING:
    from collections.abc import Mapping

AUTOMATA = {"dyck-automaton": AutomatonModel, "dyck-second-order": SecondOrderModel}
USAGE = "Give --model-args k=4,m=3 and, if not log, code=one-hot."


def open_oracle(rest: str, arguments: Mapping[str, str], device: str) -> NativeModel | AutomatonModel:
    """Open `--model oracle:dyck-lstm` or another oracle of a Dyck language.

    Args:
        rest: `dyck-srn`, `dyck-lstm`, `dyck-automaton` or `dyck-second-order`.
        arguments: k and m of the language; of the first two, how brackets are spelt.
        device: Where the first two compute.

    Raises:
        ModelError: If there is no such oracle, or the arguments are not as they should be.
    """
    if rest not in (*ORACLES, *AUTOMATA):
        raise ModelError(f"no oracle {rest!r}. {suggest(rest, (*ORACLES, *AUTOMATA), 'Oracles')}")
    if rest in AUTOMATA and not arguments.keys() - {"k", "m"}:
        k, m = _number("k", arguments), _number("m", arguments)
        refuse_sizes(k, m)
        return AUTOMATA[rest](build_automaton(k, m, brackets(k)))
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
