"""Train recurrent cells on formal languages, evaluate them, and draw figures, as a sweep.

Generalised Dyck and cross-serial dependencies are as in Bernardy & Lappin 2022: their two cells at three
sizes, and two more cells at the largest size. Dyck-(k,m) has the LSTM of Hewitt et al. 2020. The task
`dyck-sizes` trains this LSTM on more and more text. If you stop the program, repeat the command to continue.

    python benchmarks/learn_formal.py                             # less than an hour on two cores
    python benchmarks/learn_formal.py --budget small --seeds 3    # a third of the epochs, three seeds
    python benchmarks/learn_formal.py --budget full               # the papers' settings: hours, or a GPU
    python benchmarks/learn_formal.py --budget tiny               # one epoch on few strings: a rehearsal

The reduced budgets have fewer epochs. Their learning rate starts at 0.01 and falls to zero, which makes the
best use of few epochs. All other settings are the papers' presets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import click
import command
import pandas as pd
from tabulate import tabulate

from tseval.analysis.breakdowns import by_feature, headline, measure_of
from tseval.cli.sweep import sweep_and_report
from tseval.errors import TsevalError
from tseval.files import write_text
from tseval.report.figures import write_figure
from tseval.report.looks import BANDS
from tseval.report.panels import Axis, Panel, Series
from tseval.runs import read_run
from tseval.suites.formal.languages import Dyck, parse_language
from tseval.sweeps import Workforce
from tseval.sweeps.engines import find_engine
from tseval.sweeps.units import Options, SweepUnit

LEAST = 1e-5  # smaller errors are below the logarithmic part of the axis
WATCHED = 500  # strings to score after each epoch, for the figure of error against loss
CELLS = [(arch, hidden) for hidden in (8, 16, 32) for arch in ("lstm", "urn")]
# Learning curves of Dyck-(k,m): the languages, and the numbers of training tokens.
PAIRS = ((2, 3), (8, 3), (2, 5))
SIZES = (2_000, 20_000, 200_000)
FEW = "train=2000,valid=500,test=500"  # strings or tokens of the tiny budget
MORE_CELLS = [(arch, 32) for arch in ("gru", "srn")]


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """One language to learn.

    Attributes:
        name: Name of its folder.
        preset: Preset for `tseval train lm`.
        suite: Language of training and test strings, by budget; `cpu` is also for `small`.
        epochs: Epochs of the reduced budget; the small budget has a third.
        cells: Architectures with their hidden sizes; None for the preset's size.
        texts: Several languages or sizes of text instead of `suite`, by name.
    """

    name: str
    preset: str
    suite: dict[str, str]
    epochs: int
    cells: list[tuple[str, int | None]]
    texts: dict[str, str] = field(default_factory=dict)


TASKS = {
    task.name: task
    for task in (
        WorkerTask(
            "generalised-dyck", "bernardy2022-dyck",
            {"tiny": f"generalised_dyck({FEW})", **dict.fromkeys(("cpu", "full"), "generalised_dyck()")}, 24,
            [*CELLS, *MORE_CELLS],
        ),
        WorkerTask(
            "cross-serial", "bernardy2022-cross-serial",
            {"tiny": f"cross_serial(8,{FEW})", **dict.fromkeys(("cpu", "full"), "cross_serial(8)")}, 60,
            [*CELLS, *MORE_CELLS],
        ),
        WorkerTask(
            "dyck", "hewitt2020",
            {"tiny": f"dyck(k=8,m=3,{FEW})", "cpu": "dyck(k=8,m=3,train=200000)",
             "full": "dyck(k=8,m=3,train=20000000)"}, 20,
            [("lstm", None)],
        ),
        WorkerTask(
            "dyck-sizes", "hewitt2020", {}, 30, [("lstm", None)],
            {
                f"k{k}-m{m}-{train}": f"dyck(k={k},m={m},train={train},test=30000)"
                for k, m in PAIRS for train in SIZES
            },
        ),
    )
}  # fmt: skip


def tseval(*arguments: object) -> None:
    """Print a command, and run it."""
    click.echo(f"tseval {' '.join(map(str, arguments))}")
    command.tseval(*arguments)


def units_of(task: WorkerTask, budget: str, folder: Path, device: str, seeds: int) -> list[SweepUnit]:
    """Return units of a sweep that train each model of a task, and score it on the test strings."""
    units = []
    tiny = budget == "tiny"
    texts = task.texts or {"": task.suite.get(budget, task.suite.get("cpu", ""))}
    epochs = {"tiny": "1", "small": str(task.epochs // 3)}.get(budget, str(task.epochs))
    reduced = ("--epochs", epochs, "--schedule", "cosine", "--learning-rate", "0.01")
    for seed, (arch, hidden), (text, suite) in product(
        range(1, seeds + 1), task.cells[: 1 if tiny else None], [*texts.items()][: 1 if tiny else None]
    ):
        parts = (arch, hidden and str(hidden), text, f"seed{seed}" if seeds > 1 else "")
        name = "-".join(part for part in parts if part)
        train = (
            "train", "lm", "--suite", suite, "--preset", task.preset, "--arch", arch, "--seed", str(seed),
            *(("--hidden", str(hidden)) if hidden else ()), *(reduced if budget != "full" else ()),
            *(() if task.texts else ("--eval-suite", suite, "--eval-limit", str(WATCHED))),
            "--device", device, "--resume", "--no-figure", "--quiet", "--out", str(folder / f"{name}.pt"),
        )  # fmt: skip
        checkpoint, run = str(folder / f"{name}.pt"), str(folder / f"{name}.run")
        units.append(SweepUnit(name, checkpoint, suite, run, options=Options(device=device), train=train))
    return units


def draw(units: list[SweepUnit], folder: Path, seeds: int) -> None:
    """Draw figures with all models."""
    runs = [unit.run for unit in units]
    figures = ("--figure", folder / "error.svg", "--figure", folder / "error.png")
    group = ("--group",) if seeds > 1 else ()
    tseval("analyze", "formal", *runs, *group, "-o", folder / "error.md", *figures)
    tseval("analyze", "formal", *runs, *group, "--format", "csv", "-o", folder / "error.csv")
    curves = [Path(unit.model).with_suffix(".curves.parquet") for unit in units]
    tseval("train", "curves", "--error", *curves, "-o", folder / "loss.svg")
    tseval("train", "curves", "--strings", *curves, "-o", folder / "strings.svg",
           "--numbers", folder / "strings.csv")  # fmt: skip


def draw_sizes(units: list[SweepUnit], folder: Path) -> None:
    """Print and draw the error by training tokens, like the learning curves of the paper."""
    rows = []
    for unit in units:
        run = read_run(Path(unit.run))
        measure = measure_of(run.manifest.key.suite)
        language = parse_language(unit.suite)
        assert isinstance(language, Dyck)
        error = 1 - headline(by_feature(run.verdicts, measure), measure)
        rows.append((f"({language.k},{language.m})", language.train, error))
    found = pd.DataFrame(rows, columns=["language", "tokens", "error"]).groupby(
        ["language", "tokens"], sort=False
    )
    table = found["error"].agg(n_seeds="size", error="mean", spread="std").reset_index()
    write_text(folder / "sizes.csv", table.to_csv(index=False))
    click.echo(tabulate(table.to_dict("list"), headers="keys", tablefmt="pipe"))
    write_figure([size_panel(table)], BANDS, [folder / "sizes.svg"], TsevalError)


def size_panel(table: pd.DataFrame) -> Panel:
    """Return a panel of errors on a logarithmic axis, with an error of 0 at the bottom."""
    series = []
    for index, (name, own) in enumerate(table.groupby("language", sort=False)):
        around = own["spread"].fillna(0)
        columns = own["tokens"], own["error"], (own["error"] - around).clip(lower=0), own["error"] + around
        x, y, low, high = map(list, columns)
        series.append(Series(index, str(name), x, y, low, high))
    tokens = Axis("training tokens (log scale)", log_from=0)
    error = Axis("error, mean over distances", (0, 1), log_from=LEAST)
    return Panel("LSTM on Dyck-(k,m)", series, tokens, error)


@click.command()
@click.option(
    "--budget", type=click.Choice(["tiny", "small", "cpu", "full"]), default="cpu", show_default=True
)
@click.option(
    "--task",
    "tasks",
    type=click.Choice(list(TASKS)),
    multiple=True,
    help="Run only this one; may be repeated.",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/formal"), show_default=True)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=1, show_default=True, help="Seeds of each network."
)
@click.option(
    "--workers", type=click.IntRange(min=1), help="Parallel trainings.  [default: chosen by tseval]"
)
@click.option("--device", default="auto", show_default=True)
def main(
    budget: str, tasks: tuple[str, ...], out: Path, seeds: int, workers: int | None, device: str
) -> None:  # fmt: skip
    """Train and evaluate."""
    for task in (TASKS[name] for name in tasks or TASKS):
        folder = out / budget / task.name
        folder.mkdir(parents=True, exist_ok=True)
        units = units_of(task, budget, folder, device, seeds)
        sweep_and_report(units, folder, Workforce(find_engine("local"), workers))
        if task.texts:
            draw_sizes(units, folder)
        else:
            draw(units, folder, seeds)


if __name__ == "__main__":
    main()
