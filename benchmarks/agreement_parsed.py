"""Table 1 of Bhatt et al. 2020 with as many training examples as in the paper, found by a parser.

The program trains classifiers with several seeds on examples from parsed text (docs/parsed-agreement.md). It
tests them only on gold examples: those of treebanks, and sentences of Linzen et al. as Gulordava et al.
published them. Then it trains on fewer examples, and shows accuracy by their number. It is a sweep
(docs/scaling.md): if you stop it, repeat the command to continue.

    python benchmarks/agreement_parsed.py --out runs/agreement-parsed --figure sizes.svg
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import pandas as pd
from agreement import ARCHITECTURES, METHODS, PAPER, TABLES, pipes, run_of, spread
from command import tseval
from scipy.stats import binomtest

from tseval.cli.sweep import sweep_and_report
from tseval.errors import RunError
from tseval.files import write_text
from tseval.report.figures import write_figure
from tseval.report.looks import BANDS
from tseval.report.panels import Axis, Panel, Series, share_panel
from tseval.runs import read_run
from tseval.suites.agreement.example_tables import read_examples, write_examples
from tseval.sweeps import Workforce
from tseval.sweeps.engines import find_engine
from tseval.sweeps.units import SweepUnit

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from numpy.typing import NDArray

SHARED = Path("../shared/data")
LINZEN, TREEBANKS = "linzen", "agreement"
ASKED = {TREEBANKS: "treebanks", "agreement_craft": "CRAFT", LINZEN: "Linzen et al."}
# The paper's programs have the ReLU variants under the names LSTM and GRU.
MODELS = {arch: ("--arch", arch) for arch in ARCHITECTURES} | {
    f"{arch}-relu": ("--arch", arch, "--option", "activation=relu") for arch in ("lstm", "gru")
}
# The sizes are the paper's. The other settings were chosen once for all models, by the accuracy of LSTM and
# Decay RNN on validation rows.
RECIPE = (
    "--preset bhatt2020 --batch 128 --learning-rate 4e-3 --initial-range 1 --dropout 0.1 --min-count 5 "
    "--lowercase --epochs 8 --patience 2"
)
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
CURVES = ("lstm", "drnn", "srn")
SIZE_COLUMNS = ["asked", "task", "model", "examples", "accuracy", "low", "high", "without_attractors"]


@click.command(help="Repeat Table 1 of Bhatt et al. 2020 with examples from parsed text.")
@click.option("--learn", type=click.Path(path_type=Path), show_default=True, help="Training examples.",
              default=SHARED / "agreement_parsed/agreement_parsed.tsv.gz")  # fmt: skip
@click.option("--ask", type=click.Path(path_type=Path), default=SHARED / "agreement", show_default=True,
              help="Folder of gold test examples.")  # fmt: skip
@click.option("--linzen", type=click.Path(path_type=Path), show_default=True, help="Linzen's sentences.",
              default=SHARED / "linzen_testset/subj_agr_filtered.text.gz")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/agreement-parsed"),
              show_default=True, help="Folder for checkpoints and runs.")  # fmt: skip
@click.option(
    "--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Seeds of each architecture."
)
@click.option("--model", "models", type=click.Choice(list(MODELS)), multiple=True, default=list(MODELS),
              help="Model to train.  [default: all]; may be repeated")  # fmt: skip
@click.option("--workers", type=click.IntRange(min=1), help="Parallel trainings.  [default: one a core]")
@click.option("--figure", type=click.Path(path_type=Path), help="File for the figure (.svg, .png).")
def main(
    learn: Path, ask: Path, linzen: Path, out: Path, seeds: int, models: tuple[str, ...], workers: int | None,
    figure: Path | None,
) -> None:  # fmt: skip
    """Train, score, and print."""
    out.mkdir(parents=True, exist_ok=True)
    files = {name: ask / f"{name}.tsv.gz" for name in TABLES} | {LINZEN: linzen_table(linzen, out)}
    rows = read_examples(learn)
    folder = out / "models"
    n_examples = rows["split"].to_pylist().count("train")
    curves = [model for model in CURVES if model in models]
    for seed in range(1, seeds + 1):  # one after the other: an interrupted sweep has complete tables
        train_and_ask(folder, learn, models, seed, files, workers)
    curve_files = {name: files[name] for name in (TREEBANKS, LINZEN)}
    folders = {size: out / f"models-{size}" for size in SIZES if size < n_examples}
    for size, smaller in folders.items():
        train_and_ask(smaller, fewer(rows, size, out), curves, 1, curve_files, workers)
    folders[n_examples] = folder
    for task in METHODS:
        click.echo(f"{summary(folder, models, task, seeds)}\n")
    sizes = by_size(folders, curves)
    write_text(out / "sizes.csv", sizes.to_csv(index=False))
    click.echo(lay_out_sizes(sizes))
    if figure:
        write_figure([sizes_panel(sizes)], BANDS, [figure], RunError)


def linzen_table(linzen: Path, out: Path) -> Path:
    """Write Linzen's sentences as a table of examples, all for testing, and return its path."""
    file = out / f"{LINZEN}.parquet"
    if not file.exists():
        tseval("data", "agreement", linzen, "-o", file, "--train", 0, "--valid", 0)
    return file


def train_and_ask(
    folder: Path, learn: Path, models: Iterable[str], seed: int, files: dict[str, Path], workers: int | None
) -> None:
    """Train classifiers for both tasks, and test them on all rows of some tables."""
    force = Workforce(find_engine("local"), workers)
    for name, file in files.items():  # one after the other: two workers must not train the same model
        units = []
        for task, model in product(METHODS, models):
            run = run_of(folder, task, model, seed)
            made = ("--seed", str(seed), "--out", f"{run}.pt", "--resume", "--data", str(learn))
            train = ("train", task, *MODELS[model], *made, *RECIPE.split())
            suite = f"{file}:{METHODS[task]}"
            units.append(SweepUnit(f"{run.name}-{name}", f"{run}.pt", suite, str(run / name), train=train))
        sweep_and_report(units, folder, force)


def answers(folder: Path, name: str, task: str, model: str, seed: int) -> pd.DataFrame:
    """Return the verdicts of one classifier on one table."""
    return read_run(run_of(folder, task, model, seed) / name).verdicts


def summary(folder: Path, models: Iterable[str], task: str, seeds: int) -> str:
    """Return the table of a task: means over seeds, an interval (treebanks), attractors (Linzen et al.)."""
    rows = []
    for model in models:
        runs = {
            name: [answers(folder, name, task, model, seed + 1) for seed in range(seeds)] for name in ASKED
        }
        n_items = len(runs[TREEBANKS][0])
        right = np.mean([run["correct"].sum() for run in runs[TREEBANKS]])
        low, high = binomtest(round(right), n_items).proportion_ci(method="wilson")
        shares = {
            name: spread(pd.Series([run["correct"].mean() for run in own])) for name, own in runs.items()
        }
        attractors = pd.concat(runs[LINZEN]).groupby("n_attractors")["correct"].mean()
        paper = f"{PAPER[model][list(METHODS).index(task)]:.4f}" if model in PAPER else ""
        first, *others = shares.values()
        by_attractors = (f"{share:.3f}" for share in attractors)
        rows.append([model, first, f"{low:.3f} to {high:.3f}", *others, *by_attractors, paper])
    counts = [f"{count:,}" for count in runs[LINZEN][0]["n_attractors"].value_counts().sort_index()]
    items = [f"{len(runs[name][0]):,}" for name in ASKED]
    rows.append(["items", items[0], "", *items[1:], *counts, ""])
    named = list(ASKED.values())
    headings = [
        task,
        named[0],
        "95% interval",
        *named[1:],
        "0 attractors",
        *map(str, range(1, len(counts))),
        "paper",
    ]
    return pipes(rows, headings)


def fewer(rows: pa.Table, size: int, out: Path) -> Path:
    """Write a table of some training rows, evenly spaced, with every validation row; return its path."""
    file = out / f"{size}.parquet"
    if not file.exists():
        parts = np.array(rows["split"].to_pylist())
        kept = spread_evenly(np.flatnonzero(parts == "train"), size)
        write_examples(rows.take(np.concatenate([kept, np.flatnonzero(parts == "valid")])), file)
    return file


def spread_evenly(rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return `size` rows at equal distances, from the first to the last."""
    return rows[np.linspace(0, len(rows) - 1, size).round().astype(int)]


def by_size(folders: dict[int, Path], curves: Iterable[str]) -> pd.DataFrame:
    """Return accuracy by the number of training examples, on all sentences and without attractors, seed 1."""
    rows = []
    for name, task, model in product((TREEBANKS, LINZEN), METHODS, curves):
        for size, folder in folders.items():
            found = answers(folder, name, task, model, 1)
            low, high = binomtest(int(found["correct"].sum()), len(found)).proportion_ci(method="wilson")
            easy = found.loc[found["n_attractors"] == 0, "correct"].mean()
            rows.append((name, task, model, size, found["correct"].mean(), low, high, easy))
    return pd.DataFrame(rows, columns=SIZE_COLUMNS)


def lay_out_sizes(sizes: pd.DataFrame) -> str:
    """Return a table of accuracy by training examples; brackets have that on sentences without attractors."""
    rows = [
        [f"{ASKED[str(name)]}, {task}, {model}"]
        + [f"{row.accuracy:.3f} ({row.without_attractors:.3f})" for row in own.itertuples()]
        for (name, task, model), own in sizes.groupby(SIZE_COLUMNS[:3], sort=False)
    ]
    return pipes(rows, ["", *(f"{size:,}" for size in sizes["examples"].unique())])


def sizes_panel(sizes: pd.DataFrame) -> Panel:
    """Return a panel of accuracy on treebank sentences by the number of training examples."""
    lines = []
    asked = sizes[sizes["asked"] == TREEBANKS]
    for index, ((task, model), own) in enumerate(asked.groupby(["task", "model"], sort=False)):
        x, y, low, high = (list(own[column]) for column in ("examples", "accuracy", "low", "high"))
        lines.append(Series(index, f"{task}, {model}", x, y, low, high))
    panel = share_panel("Gold sentences of treebanks", lines, "", "accuracy")
    return replace(panel, x=Axis("examples learnt from", log_from=0))


if __name__ == "__main__":
    main()
