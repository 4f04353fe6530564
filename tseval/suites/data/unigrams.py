"""Read tables of unigrams: the frequency of each token."""

from __future__ import annotations

from math import isfinite, log
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.formats import bare_name, read_jsonl
from tseval.questions.normalisation import Unigrams
from tseval.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


# Names of the columns of tokens and of their frequencies.
TOKENS, VALUES = ("token", "id"), ("count", "probability", "logprob")


def read_unigrams(path: Path) -> Unigrams:
    """Read a table of tokens, `.csv`, `.tsv` or `.jsonl`.

    A token is a word (`token`), or for subword models a number in the vocabulary (`id`). Its frequency is a
    `count`, which is divided by the sum of all counts, a `probability`, or a `logprob` in nats.
    """
    rows: Iterable[tuple[str, Mapping[str, object]]]
    rows = read_jsonl(path) if bare_name(path).endswith(".jsonl") else read_table(path)
    values: dict[str, float] = {}
    kind = None
    for place, row in rows:
        kind = kind or _columns(place, row)
        token, value = str(row.get(kind[0], "")).strip(), _value(place, row, kind[1])
        if not token:
            column = kind[0]
            raise SuiteError(
                f"{place}: the cell in the column {column!r} is empty.\n"
                "  Write the token in this cell, or remove the row."
            )
        if token in values:
            raise SuiteError(f"{place}: {kind[0]} {token!r} appears twice.")
        values[token] = value
    if kind is None:
        raise SuiteError(
            f"{path}: the table of unigrams has no rows.\n  Add rows with a token and its count."
        )
    if kind[1] == "logprob":
        return Unigrams(values)
    total = sum(values.values()) if kind[1] == "count" else 1.0
    shares = {token: value / total for token, value in values.items()}
    if zero_tokens := [token for token, share in shares.items() if not share]:
        raise SuiteError(
            f"{path}: the token {zero_tokens[0]!r} has the count {values[zero_tokens[0]]:g}, but the sum "
            f"of all counts is {total:g}. So the probability of this token is rounded to 0.\n"
            "  Write how often each token occurs in the same text, such as 12."
        )
    return Unigrams({token: log(share) for token, share in shares.items()})


def _columns(place: str, row: Mapping[str, object]) -> tuple[str, str]:
    token, value = (next((name for name in names if name in row), None) for names in (TOKENS, VALUES))
    if token is None or value is None:
        raise SuiteError(
            f"{place}: tseval finds no tokens with counts in this table of unigrams. "
            f"Its columns are {', '.join(map(repr, row))}.\n"
            f"  Name one column {' or '.join(TOKENS)}, and another {', '.join(VALUES[:-1])} or {VALUES[-1]}."
        )
    return token, value


def _value(place: str, row: Mapping[str, object], name: str) -> float:
    cell = row.get(name)
    try:
        value = float(cell)  # type: ignore[arg-type] # refused below if it is none
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    fine = value <= 0 if name == "logprob" else value > 0 and (name == "count" or value <= 1)
    if not isfinite(value) or not fine or isinstance(cell, bool):
        wanted = {"logprob": "at most 0", "count": "above 0", "probability": "above 0, at most 1"}[name]
        raise SuiteError(
            f"{place}: the column {name!r} has {cell!r}, but this is not a valid {name}.\n"
            f"  Write a number {wanted}."
        )
    return value
