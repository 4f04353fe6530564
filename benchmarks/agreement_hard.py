"""Train number classifiers on hard sentences only, and test all, after Bansal, Bhatt & Agarwal 2020.

Hard sentences have an attractor between subject and verb. Some classifiers learn from all hard sentences in a
table of parsed examples (docs/parsed-agreement.md). Others learn from as many rows of the whole table; nine
in ten of these have no attractor. Both are tested on gold examples, by the number of attractors. It is a
sweep (docs/scaling.md): if you stop it, repeat the command to continue.

    python benchmarks/agreement_hard.py --out runs/agreement-hard --figure hard.svg
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import pandas as pd
from agreement import pipes, run_of
from agreement_parsed import ASKED, LINZEN, RECIPE, SHARED, TREEBANKS, linzen_table, spread_evenly

from tseval.cli.sweep import sweep_and_report
from tseval.errors import RunError
from tseval.files import write_text
from tseval.report.figures import write_figure
from tseval.report.looks import BANDS
from tseval.report.panels import Panel, Series, share_panel
from tseval.runs import read_run
from tseval.suites.agreement.example_tables import read_examples, write_examples
from tseval.sweeps import Workforce
from tseval.sweeps.engines import find_engine
from tseval.sweeps.units import SweepUnit

if TYPE_CHECKING:
    import pyarrow as pa

ARCHITECTURES = ("lstm", "gru", "onlstm", "drnn")  # as in the paper
MANY = 4  # this many attractors or more are one group
COUNTS = range(MANY + 1)
KINDS = ("natural", "hard")  # kinds of training data
COLUMNS = ["asked", "architecture", "learnt_from", "attractors", "items", "seeds", "accuracy", "spread"]


@click.command(
    help="Train number classifiers only on sentences with attractors, and test them on all others."
)
@click.option("--learn", type=click.Path(path_type=Path), show_default=True, help="Training examples.",
              default=SHARED / "agreement_parsed/agreement_parsed.tsv.gz")  # fmt: skip
@click.option("--ask", type=click.Path(path_type=Path), show_default=True, help="Gold test examples.",
              default=SHARED / "agreement/agreement.tsv.gz")  # fmt: skip
@click.option("--linzen", type=click.Path(path_type=Path), show_default=True, help="Linzen's sentences.",
              default=SHARED / "linzen_testset/subj_agr_filtered.text.gz")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/agreement-hard"),
              show_default=True, help="Folder for tables, checkpoints and runs.")  # fmt: skip
@click.option(
    "--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Seeds of each architecture."
)
@click.option("--arch", "archs", type=click.Choice(ARCHITECTURES), multiple=True, default=ARCHITECTURES,
              help="Architecture to train.  [default: all]; may be repeated")  # fmt: skip
@click.option("--workers", type=click.IntRange(min=1), help="Parallel trainings.  [default: one a core]")
@click.option("--figure", type=click.Path(path_type=Path), help="File for the figure (.svg, .png).")
def main(
    learn: Path, ask: Path, linzen: Path, out: Path, seeds: int, archs: tuple[str, ...], workers: int | None,
    figure: Path | None,
) -> None:  # fmt: skip
    """Train, score, and print."""
    out.mkdir(parents=True, exist_ok=True)
    learnt = training_tables(read_examples(learn), out)
    asked = {TREEBANKS: ask, LINZEN: linzen_table(linzen, out)}
    for name, file in asked.items():  # one after the other: two workers must not train the same model
        units = []
        for seed, arch, kind in product(range(1, seeds + 1), archs, KINDS):
            run = run_of(out, kind, arch, seed)
            made = ("--arch", arch, "--seed", str(seed), "--out", f"{run}.pt", "--resume")
            train = ("train", "number", *made, "--data", str(learnt[kind]), *RECIPE.split())
            units.append(
                SweepUnit(f"{run.name}-{name}", f"{run}.pt", f"{file}:number", str(run / name), train=train)
            )
        sweep_and_report(units, out, Workforce(find_engine("local"), workers))
    found = pd.concat(by_attractors(out, name, seeds, archs) for name in asked)
    write_text(out / "attractors.csv", found.to_csv(index=False))
    for name in asked:
        click.echo(f"{ASKED[name]}, by attractors\n\n{table(found[found['asked'] == name])}\n")
    if figure:
        write_figure([panel(found[found["asked"] == LINZEN])], BANDS, [figure], RunError)


def training_tables(rows: pa.Table, out: Path) -> dict[str, Path]:
    """Write tables of rows with attractors, and of as many rows of any kind (validation rows too)."""
    files = {kind: out / f"{kind}.parquet" for kind in KINDS}
    hard = rows["n_attractors"].to_numpy() > 0
    train, valid = (np.array(rows["split"].to_pylist()) == part for part in ("train", "valid"))
    chosen = {
        "natural": (spread_evenly(np.flatnonzero(train), (train & hard).sum()), np.flatnonzero(valid)),
        "hard": (np.flatnonzero(train & hard), np.flatnonzero(valid & hard)),
    }
    for kind, file in files.items():
        click.echo(
            f"{kind}: {len(chosen[kind][0]):,} rows to learn from, {len(chosen[kind][1]):,} to validate on"
        )
        if not file.exists():
            write_examples(rows.take(np.concatenate(chosen[kind])), file)
    return files


def by_attractors(out: Path, name: str, seeds: int, archs: tuple[str, ...]) -> pd.DataFrame:
    """Return accuracy on one table by learner and attractors: its mean and standard deviation over seeds."""
    rows = []
    for arch, kind in product(archs, KINDS):
        runs = [read_run(run_of(out, kind, arch, seed) / name).verdicts for seed in range(1, seeds + 1)]
        for count in COUNTS:
            own = [run.loc[run["n_attractors"].clip(upper=MANY) == count, "correct"] for run in runs]
            shares = pd.Series([one.mean() for one in own])
            rows.append((name, arch, kind, count, len(own[0]), seeds, shares.mean(), shares.std()))
    return pd.DataFrame(rows, columns=COLUMNS)


def table(found: pd.DataFrame) -> str:
    """Return a table with a row for each architecture and kind of training data."""
    rows = []
    for (arch, kind), own in found.groupby(["architecture", "learnt_from"], sort=False):
        spread = ["" if pd.isna(value) else f" ± {value:.3f}" for value in own["spread"]]
        shares = [f"{share:.3f}{around}" for share, around in zip(own["accuracy"], spread, strict=True)]
        rows.append([f"{arch}, {kind}", *shares])
    rows.append(["items", *(f"{items:,}" for items in own["items"])])
    return pipes(rows, ["", "0 attractors", *map(str, COUNTS[1:-1]), f"{MANY} or more"])


def panel(found: pd.DataFrame) -> Panel:
    """Return a panel of accuracy by attractors. Bands are the standard deviation over seeds."""
    lines = []
    for index, ((kind, arch), own) in enumerate(found.groupby(["learnt_from", "architecture"], sort=False)):
        shares, around = own["accuracy"], own["spread"].fillna(0)
        low, high = (list(ends) for ends in (shares - around, shares + around))
        lines.append(Series(index, f"{arch}, {kind}", list(own["attractors"]), list(shares), low, high))
    return share_panel("Asked: sentences of Linzen et al. (2016)", lines, "attractors", "accuracy")


if __name__ == "__main__":
    main()
