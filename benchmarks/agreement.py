"""Table 1 of Bhatt et al. 2020 on treebank sentences: seven architectures, two tasks, three seeds.

The program trains classifiers and scores them on the test rows of the same tables. Then it scores language
models on the same items without any training, and prints the tables of docs/agreement.md. It is a sweep
(docs/scaling.md): if you stop it, repeat the command to continue.

    python benchmarks/agreement.py --data ../shared/data/agreement --out runs/agreement
    python benchmarks/agreement.py --out runs/agreement --model bundled:lstm --model drnn.pt
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import click
import pandas as pd
from scipy.stats import binomtest
from tabulate import tabulate

from tseval.cli.sweep import sweep_and_report
from tseval.runs import read_run
from tseval.sweeps import Workforce
from tseval.sweeps.engines import find_engine
from tseval.sweeps.units import Options, SweepUnit

ARCHITECTURES = ("srn", "lstm", "gru", "eirnn", "drnn", "sdrnn", "abdrnn")
# Table 1: number prediction and grammaticality judgement on 1.4 million test sentences.
PAPER = {
    "srn": (0.9770, 0.5012),
    "lstm": (0.9859, 0.9581),
    "gru": (0.9881, 0.9426),
    "eirnn": (0.9468, 0.8451),
    "drnn": (0.9866, 0.9548),
    "sdrnn": (0.9865, 0.9683),
    "abdrnn": (0.9737, 0.8598),
}
METHODS = {"number": "number", "grammaticality": "judgement"}
CLASSES = {"number": "number", "grammaticality": "shown"}  # features with the right answer
TABLES = ("agreement", "agreement_craft")
FORCE = Workforce(find_engine("local"))
MANY = 3  # this many attractors or more are one group
ATTRACTORS = ("0 attractors", "1", "2", "3 or more")
# The paper's sizes and ReLU are the defaults. The other settings suit about 10,000 examples instead of
# 140,000. They were chosen once for all architectures, by accuracy on validation rows.
RECIPE = (
    "--preset bhatt2020 --batch 32 --learning-rate 2e-3 --initial-range 1 --dropout 0.3 --min-count 5 "
    "--lowercase --epochs 20 --patience 4"
)


@click.command(help="Train and score the classifiers of Table 1 of Bhatt et al. 2020.")
@click.option("--data", type=click.Path(path_type=Path), default=Path("../shared/data/agreement"),
              show_default=True, help="Folder of the tables of examples.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/agreement"), show_default=True,
              help="Folder for checkpoints and runs.")  # fmt: skip
@click.option(
    "--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Seeds of each architecture."
)
@click.option("--arch", "archs", type=click.Choice(ARCHITECTURES), multiple=True, default=ARCHITECTURES,
              help="Architecture to train.  [default: all]; may be repeated")  # fmt: skip
@click.option("--model", "models", multiple=True, default=["bundled:lstm"], show_default=True,
              help="Language model to score without training.")  # fmt: skip
def main(
    data: Path, out: Path, seeds: int, archs: tuple[str, ...], models: tuple[str, ...]
) -> None:  # fmt: skip
    """Train, score, and print."""
    files = {name: data / f"{name}.tsv.gz" for name in TABLES}
    everything = [f"--data={file}" for file in files.values()]
    # One seed after the other, so that an interrupted sweep has complete tables. One table after the other,
    # so that two workers never train the same model.
    for seed, name in product(range(1, seeds + 1), TABLES):
        units = []
        for task, arch in product(METHODS, archs):
            run = run_of(out, task, arch, seed)
            made = ("--arch", arch, "--seed", str(seed), "--out", f"{run}.pt", "--resume")
            train = ("train", task, *made, *RECIPE.split(), *everything)
            units.append(unit(f"{run}.pt", f"{files[name]}:{METHODS[task]}", run / name, train))
        sweep_and_report(units, out, FORCE)
    zero = [(model, name, zero_shot_run(out, model) / name) for model, name in product(models, TABLES)]
    sweep_and_report([unit(model, str(files[name]), run) for model, name, run in zero], out, FORCE)
    click.echo(table(out, seeds, archs))
    click.echo()
    click.echo(by_attractors(out, seeds, archs))
    click.echo()
    click.echo(zero_shot(out, models))


def unit(model: str, suite: str, run: Path, train: tuple[str, ...] = ()) -> SweepUnit:
    """Return the unit of a sweep that trains a model and scores it on the test rows of a table."""
    name = f"{run.parent.name}-{run.name}"
    return SweepUnit(name, model, suite, str(run), options=Options(case=("test",)), train=train)


def run_of(out: Path, task: str, arch: str, seed: int) -> Path:
    """Return the folder of a classifier's runs, one for each table."""
    return out / f"{task}-{arch}-{seed}"


def zero_shot_run(out: Path, model: str) -> Path:
    """Return the folder of a language model's runs."""
    return out / f"zero-{Path(model.replace(':', '-')).stem}"


def verdicts(folder: Path) -> pd.DataFrame:
    """Return the verdicts on the test rows of all tables."""
    return pd.concat([read_run(folder / name).verdicts for name in TABLES])


def answers(out: Path, task: str, arch: str, seed: int) -> pd.DataFrame:
    """Return the verdicts of a classifier on the test rows of all tables."""
    return verdicts(run_of(out, task, arch, seed))


def table(out: Path, seeds: int, archs: tuple[str, ...]) -> str:
    """Return a table of accuracy by model and task: mean and spread over seeds, interval, paper."""
    rows, items = [], {}
    for arch in archs:
        row = [arch]
        for task, published in zip(METHODS, PAPER[arch], strict=True):
            runs = [answers(out, task, arch, seed) for seed in range(1, seeds + 1)]
            items[task] = runs[0]
            shares = pd.Series([run["correct"].mean() for run in runs])
            n_right, n_items = round(shares.mean() * len(runs[0])), len(runs[0])
            low, high = binomtest(n_right, n_items).proportion_ci(method="wilson")
            row += [spread(shares), f"{low:.3f} to {high:.3f}", f"{published:.4f}"]
        rows.append(row)
    most = (items[task][CLASSES[task]].value_counts(normalize=True).max() for task in METHODS)
    rows.append(["most frequent answer", *(cell for share in most for cell in (f"{share:.3f}", "", ""))])
    headings = ["", *(f"{task}{part}" for task in METHODS for part in ("", ", 95% interval", ", paper"))]
    return f"{len(items['number']):,} test items\n\n" + pipes(rows, headings)


def by_attractors(out: Path, seeds: int, archs: tuple[str, ...]) -> str:
    """Return a table of accuracy by the number of attractors, all seeds pooled."""
    rows = []
    for task, arch in product(METHODS, archs):
        pooled = pd.concat([answers(out, task, arch, seed) for seed in range(1, seeds + 1)])
        rows.append([f"{task}, {arch}", *split(pooled)])
    numbers = pooled["n_attractors"].clip(upper=MANY)
    rows.append(["items", *(f"{(numbers == n).sum() // seeds:,}" for n in range(MANY + 1))])
    return pipes(rows, ["", *ATTRACTORS])


def zero_shot(out: Path, models: tuple[str, ...]) -> str:
    """Return a table of how often language models prefer the right verb form, by attractors."""
    rows = []
    for model in models:
        found = verdicts(zero_shot_run(out, model))
        found = found[~found["undecidable"]]
        details = read_run(zero_shot_run(out, model) / TABLES[0]).manifest.model.details
        words = f"{details['validation_perplexity']:.1f}"
        rows.append(
            [Path(model).stem, words, f"{len(found):,}", f"{found['correct'].mean():.3f}", *split(found)]
        )
    return pipes(rows, ["", "perplexity", "items", "all", *ATTRACTORS])


def split(found: pd.DataFrame) -> list[str]:
    """Return accuracy by the number of attractors."""
    accuracy = found.groupby(found["n_attractors"].clip(upper=MANY))["correct"].mean()
    return [f"{accuracy[n]:.3f}" if n in accuracy else "–" for n in range(MANY + 1)]


def spread(shares: pd.Series[float]) -> str:
    """Return the mean over seeds and the standard deviation as text."""
    return f"{shares.mean():.3f}" + (f" ± {shares.std():.3f}" if len(shares) > 1 else "")


def pipes(rows: list[list[str]], headings: list[str]) -> str:
    """Return a Markdown table as in the docs."""
    align = ("left", *["right"] * (len(headings) - 1))
    return tabulate(rows, headings, tablefmt="pipe", disable_numparse=True, colalign=align)


if __name__ == "__main__":
    main()
