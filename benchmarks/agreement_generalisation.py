"""Train classifiers on up to two nouns between subject and verb, and test them on three to seven.

After Table 3 and Figure 4 of Bhatt et al. 2020, who test trained classifiers on constructed sentences. Here
the sentences are those of the suite `agreement`. Words and constructions are known from the training; only
the number of nouns between is new. The program prints accuracy by the number of attractors, and draws
Figure 4. If you stop it, repeat the command to continue.

    python benchmarks/agreement_generalisation.py --out runs/generalisation
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import click
import command
import pandas as pd
from agreement import ARCHITECTURES, FORCE, METHODS, RECIPE, run_of, spread
from tabulate import tabulate

import tseval
from tseval.cli.sweep import sweep_and_report
from tseval.files import write_whole
from tseval.runs import read_run
from tseval.sweeps.units import Options, SweepUnit

SCORED = Options(case=("valid", "test"))
SEEN = 2  # nouns between subject and verb in training
VALID = 10  # one in ten items with few nouns is for validation
HEADINGS = ("", "seen", "3 to 7 nouns", *(f"{k} attractors" if k == 0 else str(k) for k in range(8)))


@click.command(help="Train classifiers on sentences with few nouns, and test them on sentences with many.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/generalisation"),
              show_default=True, help="Folder for sentences, checkpoints and runs.")  # fmt: skip
@click.option(
    "--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Seeds of each architecture."
)
@click.option("--arch", "archs", type=click.Choice(ARCHITECTURES), multiple=True, default=ARCHITECTURES,
              help="Architecture to train.  [default: all]; may be repeated")  # fmt: skip
@click.option("--sample", type=click.IntRange(min=1), help="Random items of each chain.  [default: all]")
@click.option("--figure", type=click.Path(path_type=Path), help="File for Figure 4, seed 1 (.svg, .png).")
def main(out: Path, seeds: int, archs: tuple[str, ...], sample: int | None, figure: Path | None) -> None:
    """Train, score, and print."""
    out.mkdir(parents=True, exist_ok=True)
    sentences = out / "nouns.jsonl"
    if not sentences.exists():
        write_whole(sentences, "".join(json.dumps(item) + "\n" for item in items(sample)).encode())
    units = []
    for seed, task, arch in product(range(1, seeds + 1), METHODS, archs):
        run = run_of(out, task, arch, seed)
        made = ("--arch", arch, "--seed", str(seed), "--out", f"{run}.pt", "--resume")
        train = ("train", task, *made, *RECIPE.split(), "--data", str(sentences))
        units.append(
            SweepUnit(
                run.name, f"{run}.pt", f"{sentences}:{METHODS[task]}", str(run), options=SCORED, train=train
            )
        )
    sweep_and_report(units, out, FORCE)
    click.echo(table(out, seeds, archs))
    if figure:
        runs = [run_of(out, "grammaticality", arch, 1) for arch in archs]
        command.tseval("analyze", "attractors", "--case", "test", "--figure", figure, *runs)


def items(sample: int | None) -> list[dict[str, object]]:
    """Return the items of the suite `agreement`: training and validation up to `SEEN` nouns, then test."""
    found: list[dict[str, object]] = []
    for case in tseval.load_suite("agreement", sample=sample).cases:
        for item in case.items():
            few = int(item.features["n_intervening"]) <= SEEN
            part = "test" if not few else "train" if item.index % VALID else "valid"
            names = ("number", "n_intervening", "n_attractors")
            features = {name: item.features[name] for name in names} | {"chain": case.name}
            sentences = {label: f"{text} ." for label, text in item.sentences.items()}
            found.append({"case": part, **sentences, **features})
    return found


def table(out: Path, seeds: int, archs: tuple[str, ...]) -> str:
    """Return a table of accuracy with few nouns, with more nouns, and of the latter by attractors."""
    rows = []
    for task, arch in product(METHODS, archs):
        runs = [read_run(run_of(out, task, arch, seed)).verdicts for seed in range(1, seeds + 1)]
        pooled = pd.concat(runs)
        test = pooled[pooled["case"] == "test"]
        by_attractors = test.groupby("n_attractors")["correct"].mean()
        rows.append(
            [f"{task}, {arch}", spread_of(runs, "valid"), spread_of(runs, "test")]
            + [f"{by_attractors[k]:.3f}" for k in range(8)]
        )
    align = ("left", *["right"] * (len(HEADINGS) - 1))
    return tabulate(rows, HEADINGS, tablefmt="pipe", disable_numparse=True, colalign=align)


def spread_of(runs: list[pd.DataFrame], case: str) -> str:
    """Return mean and standard deviation over seeds of the accuracy on one case."""
    shares = pd.Series([run.loc[run["case"] == case, "correct"].mean() for run in runs])
    return spread(shares)


if __name__ == "__main__":
    main()
