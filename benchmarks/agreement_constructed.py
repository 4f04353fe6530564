"""Test trained classifiers on constructed sentences: Table 3 and Figures 2 and 4 of Bhatt et al. 2020.

The classifiers are those that `agreement_parsed.py` has trained, the suite is `marvin_linzen`. They predict
the number of each verb, judge both sentences of each pair, and predict the number after each word of
sentences with a prepositional phrase. Figures show accuracy by construction, and the confidence after each
word. It is a sweep (docs/scaling.md): if you stop it, repeat the command to continue.

    python benchmarks/agreement_constructed.py --models runs/agreement-parsed/models --out runs/constructed
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import click
from agreement import ARCHITECTURES, run_of
from command import tseval

from tseval.cli.sweep import sweep_and_report
from tseval.sweeps import Workforce
from tseval.sweeps.engines import find_engine
from tseval.sweeps.units import Options, SweepUnit

SUITE = "marvin_linzen"
ASKED = {"number": "number", "grammaticality": "judgement_both"}  # task of the training, task of the test
PROFILED = ("srn", "lstm", "gru", "drnn")  # tested word by word, with seed 1
PHRASES = ("prep_inanim",)  # the case for the test word by word
WORDS = 5  # before the verb


@click.command(help="Test trained classifiers on constructed sentences, and draw their answers.")
@click.option("--models", type=click.Path(path_type=Path), default=Path("runs/agreement-parsed/models"),
              show_default=True, help="Folder of the trained classifiers.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/constructed"), show_default=True,
              help="Folder for runs, figures and numbers.")  # fmt: skip
@click.option(
    "--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Seeds of each model."
)
@click.option("--arch", "archs", type=click.Choice(ARCHITECTURES), multiple=True, default=ARCHITECTURES,
              help="Architecture to train.  [default: all]; may be repeated")  # fmt: skip
@click.option("--sample", type=click.IntRange(min=1), help="Random items of each case.  [default: all]")
@click.option("--workers", type=click.IntRange(min=1), help="Parallel processes.  [default: one a core]")
def main(
    models: Path, out: Path, seeds: int, archs: tuple[str, ...], sample: int | None, workers: int | None
) -> None:  # fmt: skip
    """Score, print and draw."""
    out.mkdir(parents=True, exist_ok=True)
    units = []
    for task, arch, seed in product(ASKED, archs, range(1, seeds + 1)):
        run = run_of(out, task, arch, seed)
        units.append(unit(models, f"{SUITE}:{ASKED[task]}", run, Options(sample=sample)))
    phrases = Options(case=PHRASES, sample=sample)
    profiled = [arch for arch in PROFILED if arch in archs]
    for arch in profiled:
        run = run_of(out, "number", arch, 1)
        units.append(unit(models, f"{SUITE}:number_profile", out / "profile" / run.name, phrases))
    sweep_and_report(units, out, Workforce(find_engine("local"), workers))
    for task in ASKED:
        runs = [run_of(out, task, arch, seed) for arch, seed in product(archs, range(1, seeds + 1))]
        group = ("--group",) if seeds > 1 else ()
        tseval("analyze", "rows", *runs, *group, "--figure", out / f"{task}.svg")
        tseval("analyze", "rows", *runs, *group, "--format", "csv", "-o", out / f"{task}.csv")
    profiles = [out / "profile" / run_of(out, "number", arch, 1).name for arch in profiled]
    chosen = ("--where", "subject_number=plur", "--words", WORDS)
    tseval("analyze", "profile", *profiles, *chosen, "--figure", out / "profile.svg")
    tseval("analyze", "profile", *profiles, *chosen, "--format", "csv", "-o", out / "profile.csv")


def unit(models: Path, suite: str, run: Path, options: Options) -> SweepUnit:
    """Return the unit of a sweep that scores the classifier with the name of the run."""
    name = f"{run.name}-{suite.partition(':')[2]}"
    return SweepUnit(name, str(models / f"{run.name}.pt"), suite, str(run), options=options)


if __name__ == "__main__":
    main()
