"""Read unigram log-probabilities: a table of the tokens of a model."""

from __future__ import annotations

from math import isfinite, log
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.formats import bare_name, read_jsonl, read_table
from tseval.questions.scored import Unigrams

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

# What names a token, and what says how often it occurs.
TOKENS, VALUES = ("token", "id"), ("count", "probability", "logprob")


def read_unigrams(path: Path) -> Unigrams:
    """Read a table, `.csv`, `.tsv` or `.jsonl`, of tokens.

    A token is a word as the model sees it (`token`); of a model of pieces, a number of its vocabulary (`id`).
    How often it occurs is a `count`, divided by the sum of all, a `probability`, or a `logprob` in nats.

    Raises:
        SuiteError: There are no such columns, a token stands twice, or a value is none.
    """
    rows: Iterable[tuple[str, Mapping[str, object]]]
    rows = read_jsonl(path) if bare_name(path).endswith(".jsonl") else read_table(path)
    found: dict[str, float] = {}
    kind = None
    for place, row in rows:
        kind = kind or _columns(place, row)
        token, value = str(row.get(kind[0], "")).strip(), _value(place, row, kind[1])
        if not token:
            raise SuiteError(f"{place}: there is no {kind[0]}")
        if token in found:
            raise SuiteError(f"{place}: {kind[0]} {token!r} stands twice.")
        found[token] = value
    if kind is None:
        raise SuiteError(f"{path}: holds no token")
    if kind[1] == "count":
        total = sum(found.values())
        shares = {token: count / total for token, count in found.items()}
        if lost := [token for token, share in shares.items() if not share]:
            raise SuiteError(
                f"{path}: the count of {lost[0]!r} is nothing beside the sum of all, {total:g}.\n"
                "  Counts are how often tokens occur in one text."
            )
        found = {token: log(share) for token, share in shares.items()}
    elif kind[1] == "probability":
        found = {token: log(share) for token, share in found.items()}
    return Unigrams(found)


def _columns(place: str, row: Mapping[str, object]) -> tuple[str, str]:
    token, value = (next((name for name in names if name in row), None) for names in (TOKENS, VALUES))
    if token is None or value is None:
        raise SuiteError(
            f"{place}: no unigrams: there are {', '.join(map(repr, row))}.\n"
            f"  Call the columns {' or '.join(TOKENS)}, and {', '.join(VALUES[:-1])} or {VALUES[-1]}."
        )
    return token, value


def _value(place: str, row: Mapping[str, object], name: str) -> float:
    given = row.get(name)
    try:
        value = float(given)  # type: ignore[arg-type] # refused below if it is none
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    fine = value <= 0 if name == "logprob" else value > 0 and (name == "count" or value <= 1)
    if not isfinite(value) or not fine or isinstance(given, bool):
        wanted = {"logprob": "at most 0", "count": "above 0", "probability": "above 0, at most 1"}[name]
        raise SuiteError(f"{place}: {name} is {given!r}: it should be a number {wanted}.")
    return value
