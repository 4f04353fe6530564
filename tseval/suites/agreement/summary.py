"""Summaries as text: counts by number of attractors, and reasons for which words were left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tseval.errors import counted
from tseval.suites.agreement.example_tables import column_values
from tseval.suites.agreement.examples import PLURAL, SINGULAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from tseval.suites.agreement.splits import Shares


def reasons_listed(left_out: Counter[str]) -> str:
    """Return one line with the reasons and their counts, the most frequent first."""
    return ", ".join(f"{reason} ({n:,})" for reason, n in left_out.most_common())


def counts_and_reasons(
    totals: str, counted_by: Iterable[tuple[Any, int | None]], left_out: Counter[str], heading: str = "",
    align: str = "left",
) -> str:  # fmt: skip
    """Return a table of counts by group and number of attractors, and a table of what was left out."""
    from tabulate import tabulate  # noqa: PLC0415 - slow to import, and who reads tables needs none

    counts = Counter(counted_by)
    columns = sorted({attractors for _, attractors in counts if attractors is not None})
    rows = []
    for name in sorted({name for name, _ in counts}):
        cells = [
            *(counts[name, n] for n in columns),
            sum(n for (group, _), n in counts.items() if group == name),
        ]
        rows.append([name, *(f"{n:,}" if n else "" for n in cells)])
    headers = [heading, *(counted(n, "attractor") for n in columns), "all"]
    sides = (align, *["right"] * (len(headers) - 1))
    parts = [totals, tabulate(rows, headers, "pipe", disable_numparse=True, colalign=sides)]
    if left_out:
        reasons = [(f"{n:,}", reason) for reason, n in left_out.most_common()]
        parts.append(tabulate(reasons, ["Left out", ""], "pipe", colalign=("right", "left")))
    return "\n\n".join(parts)


@dataclass(slots=True)
class Tally:
    """The number of sentences read, and how often each reason left out an example."""

    n_sentences: int = 0  # number of sentences read
    left_out: Counter[str] = field(default_factory=Counter)  # reason to its count


NUMBER_NAMES = {SINGULAR: "singular", PLURAL: "plural"}


def summarise(table: pa.Table, tally: Tally) -> str:
    """Return counts of examples by number, split, intervening nouns and attractors, and what was left out."""
    numbers, splits = Counter(column_values(table, "number")), Counter(column_values(table, "split"))
    by_number = ", ".join(f"{numbers[number]:,} {name}" for number, name in NUMBER_NAMES.items())
    by_split = ", ".join(f"{splits[split]:,} {split}" for split in ("train", "valid", "test"))
    counts = f"{tally.n_sentences:,} sentences, {table.num_rows:,} examples: {by_number}; {by_split}"
    attractors = column_values(table, "n_attractors")
    has_intervening = "n_intervening" in table.column_names
    intervening = column_values(table, "n_intervening") if has_intervening else ["examples"] * len(attractors)
    heading = "Intervening nouns" if has_intervening else ""
    return counts_and_reasons(
        counts, zip(intervening, attractors, strict=True), tally.left_out, heading, "right"
    )


def warnings_about(table: pa.Table, shares: Shares) -> Iterator[str]:
    """Yield warnings about examples on which a model cannot be trained or tested."""
    numbers, splits = set(column_values(table, "number")), set(column_values(table, "split"))
    for number, name in NUMBER_NAMES.items():
        if number not in numbers:
            yield f"no example is {name}: a model trained on these examples learns nothing about number"
    wanted = {"train": shares.train, "valid": shares.valid, "test": 100 - shares.train - shares.valid}
    for split, share in wanted.items():
        if share > 0 and split not in splits:
            yield f"no example is in the split {split}: too few documents for a share of {share:g}%"
