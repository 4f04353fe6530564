"""Draw pairs from treebanks, evenly over phenomena, for a reader who sees only the two sentences.

    python benchmarks/draw_pairs.py fr-dev.conllu fr-test.conllu --seed 1 --out fr.csv --key fr_key.csv

The reader writes into the column `judgement`. The key lists the change in each pair. The same seed draws the
same pairs.
"""

from __future__ import annotations

import csv
import random
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tseval.suites.agreement.treebank_pairs import list_phenomena

if TYPE_CHECKING:
    from collections.abc import Sequence

KEY = ("case", "target", "other_form", "controller", "source", "sentence.entry")


def draw(files: Sequence[Path], number: int, seed: int, strict: bool) -> list[dict[str, Any]]:
    """Draw pairs evenly over phenomena, in a random order. No two pairs are the same."""
    generator = random.Random(seed)
    shuffled = []
    for phenomenon, pairs, _ in list_phenomena(files, strict):
        rows = pairs.table.to_pylist() if pairs is not None else []
        print(f"{phenomenon.name}: {len(rows):,} pairs")
        generator.shuffle(rows)
        shuffled.append(rows)
    drawn: dict[tuple[str, str], dict[str, Any]] = {}
    for row in filter(None, chain.from_iterable(zip_longest(*shuffled))):
        if len(drawn) < number:
            drawn.setdefault((row["good"], row["bad"]), row)
    rows = [*drawn.values()]
    generator.shuffle(rows)
    return rows


@click.command(help=__doc__.partition("\n")[0])
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--number", default=200, help="Number of pairs.")
@click.option("--seed", default=1, help="Random seed.")
@click.option("--strict/--lenient", default=True, help="Rules for pairs, as in tseval data pairs.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="File with the pairs to judge.")
@click.option(
    "--key", type=click.Path(path_type=Path), help="File with the changed words, for comparison afterwards."
)
def main(files: tuple[Path, ...], number: int, seed: int, strict: bool, out: Path, key: Path | None) -> None:
    """Write the two files."""
    rows = draw(files, number, seed, strict)
    with out.open("w", encoding="utf-8", newline="") as opened:
        table = csv.writer(opened)
        table.writerow(["number", "good", "bad", "judgement", "note"])
        table.writerows([n, row["good"], row["bad"], "", ""] for n, row in enumerate(rows, 1))
    if key is not None:
        with key.open("w", encoding="utf-8", newline="") as opened:
            table = csv.writer(opened)
            table.writerow(["number", *KEY])
            table.writerows([n, *(row.get(name) for name in KEY)] for n, row in enumerate(rows, 1))
    print(f"{out}: {len(rows)} pairs")


if __name__ == "__main__":
    main()
