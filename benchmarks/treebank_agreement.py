"""Draw accuracy on pairs from treebanks by attractors and by distance, with a line for each language.

    python benchmarks/treebank_agreement.py german=runs/de french=runs/fr --figure docs/figures/treebanks.svg

The runs are on suites of `tseval data pairs`. The program also prints the numbers.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import click
import pandas as pd

from tseval.analysis.comparisons import count_clustered
from tseval.errors import RunError
from tseval.report.figures import write_figure
from tseval.report.looks import SMALL_LINES
from tseval.report.panels import SHARES, Axis, Panel, lines_of
from tseval.runs import read_run

# The first value of each bin.
BINS = {"attractors": ("n_attractors", [0, 1, 2]), "words to the controller": ("distance", [1, 2, 3, 5, 9])}


def names_of(starts: list[int]) -> list[str]:
    """Return the names of bins: 1, 2, 3-4, 9+."""
    ends = [str(a) if b == a + 1 else f"{a}-{b - 1}" for a, b in pairwise(starts)]
    return [*ends, f"{starts[-1]}+"]


def cells(verdicts: pd.DataFrame, feature: str, starts: list[int]) -> pd.DataFrame:
    """Return accuracy and interval of each bin that has pairs."""
    binned = pd.cut(verdicts[feature], [*starts, float("inf")], right=False, labels=False) + 1
    return count_clustered(verdicts.assign(place=binned), ["place"]).reset_index().sort_values("place")


@click.command(help=__doc__.partition("\n")[0])
@click.argument("runs", nargs=-1, required=True, metavar="NAME=RUN...")
@click.option("--figure", type=click.Path(path_type=Path), multiple=True, help="File for the figure.")
def main(runs: tuple[str, ...], figure: tuple[Path, ...]) -> None:
    """Print the cells, and draw them."""
    opened = {name: read_run(Path(place)).verdicts for name, _, place in (one.partition("=") for one in runs)}
    panels = []
    for what, (feature, starts) in BINS.items():
        found = pd.concat(cells(frame, feature, starts).assign(model=name) for name, frame in opened.items())
        words = names_of(starts)
        print(f"\n{what}")
        shown = found.assign(bin=[words[place - 1] for place in found["place"]])
        print(shown[["model", "bin", "n_items", "accuracy", "low", "high"]].round(3).to_string(index=False))
        lines = lines_of(found, "place", "accuracy", list(opened))
        panels.append(Panel("", lines, Axis(what), Axis("accuracy", SHARES), words=words))
    if figure:
        write_figure(panels, SMALL_LINES, figure, RunError)


if __name__ == "__main__":
    main()
