"""Tell what a table of examples holds, and what was left out of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from tseval.suites.agreement.examples import PLURAL, SINGULAR

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from tseval.suites.agreement.conversion import Tally
    from tseval.suites.agreement.splitting import Shares

NUMBER_NAMES = {SINGULAR: "singular", PLURAL: "plural"}


def summarise(table: pa.Table, tally: Tally) -> str:
    """Count examples by number, split, intervening nouns and attractors, and what was left out."""
    numbers, splits = Counter(_column(table, "number")), Counter(_column(table, "split"))
    parts = [
        f"{tally.n_sentences:,} sentences, {table.num_rows:,} examples: "
        + ", ".join(f"{numbers[number]:,} {name}" for number, name in NUMBER_NAMES.items())
        + "; "
        + ", ".join(f"{splits[split]:,} {split}" for split in ("train", "valid", "test")),
        _grid(table),
    ]
    if tally.left_out:
        rows = [(f"{n:,}", reason) for reason, n in tally.left_out.most_common()]
        parts.append(tabulate(rows, ["Left out", ""], tablefmt="pipe", colalign=("right", "left")))
    return "\n\n".join(parts)


def warnings_about(table: pa.Table, shares: Shares) -> Iterator[str]:
    """Name what would keep a model from being trained or tested on the examples."""
    numbers, splits = set(_column(table, "number")), set(_column(table, "split"))
    for number, name in NUMBER_NAMES.items():
        if number not in numbers:
            yield f"no example is {name}: a model trained on these learns nothing about number"
    wanted = {"train": shares.train, "valid": shares.valid, "test": 100 - shares.train - shares.valid}
    for split, share in wanted.items():
        if share > 0 and split not in splits:
            yield f"no example is in the split {split}: too few documents for a share of {share:g}%"


def _grid(table: pa.Table) -> str:
    """Count examples by number of attractors, and by number of intervening nouns where it is known."""
    attractors = _column(table, "n_attractors")
    known = "n_intervening" in table.column_names
    intervening = _column(table, "n_intervening") if known else ["examples"] * len(attractors)
    counts = Counter(zip(intervening, attractors, strict=True))
    columns = sorted(set(attractors))
    rows = []
    for row in sorted({row for row, _ in counts}):
        cells = [counts[row, column] for column in columns]
        rows.append([row, *(f"{n:,}" if n else "" for n in cells), f"{sum(cells):,}"])
    headers = ["Intervening nouns" if known else "", *map(_attractors, columns), "all"]
    return tabulate(rows, headers, tablefmt="pipe", disable_numparse=True, stralign="right")


def _attractors(n: int) -> str:
    return f"{n} attractor{'' if n == 1 else 's'}"


def _column(table: pa.Table, name: str) -> list[Any]:
    values: list[Any] = table[name].to_pylist()
    return values
