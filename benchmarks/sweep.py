"""Measure the overhead of a sweep, the gain of two workers, and the memory of a worker.

Checkpoints of small LSTMs with random weights are scored on a sample of each case of Marvin & Linzen:

    single runs   `tseval run`, a process for each model; two are measured and represent all
    1 worker      `tseval sweep --workers 1`, with half of the cores, and with all
    2 workers     `tseval sweep --workers 2`, each with half of the cores, as a sweep divides them
    again         the same command again, with nothing left to do
    status        `tseval sweep status` of a plan of 1,000 units

"Beyond scoring" is the time of workers in addition to the seconds of scoring and judging in the manifests. It
is for the start, for opening models and suites, and for tables and files. Single runs do most of this, too.
So the last column compares the time of a sweep with that of single runs with the same number of cores.

"Seconds" is wall-clock time, so the machine should do nothing else; its load is printed. CPU seconds depend
less on the load. "MB" is the peak memory of a process (on Linux).

    python benchmarks/sweep.py                           # some four minutes on two cores
    python benchmarks/sweep.py --models 4 --limit 200
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click
from tabulate import tabulate

TSEVAL = [sys.executable, "-m", "tseval"]
SUITE = "marvin_linzen"
SINGLE = 2  # number of single runs
# Runs in another process, which measures its child processes.
PROGRAM = """if True:
    import json, resource, subprocess, sys, time
    began = time.perf_counter()
    subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps([time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""
MODELS = """if True:
    import sys, torch
    from pathlib import Path
    from tseval.models.checkpoint import load_checkpoint, save_checkpoint
    from tseval.models import bundled_checkpoints
    from tseval.models.network import LanguageModel, Sizes
    folder, models, hidden = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    words = load_checkpoint(bundled_checkpoints()["lstm"]).vocabulary
    for i in range(models):
        torch.manual_seed(i)
        network = LanguageModel(Sizes("lstm", len(words), hidden, hidden, 1))
        save_checkpoint(folder / f"step{i}.pt", network, words, training={}, validation_perplexity=None)
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Wall-clock seconds, CPU seconds, and the peak megabytes of one process."""

    seconds: float
    processor: float
    megabytes: float

    def cells(self) -> list[str]:
        """Return the three numbers as cells of a table."""
        return [f"{self.seconds:,.1f}", f"{self.processor:,.1f}", f"{self.megabytes:,.0f}"]


@dataclass(frozen=True, slots=True)
class Bench:
    """The folder and the settings of the measurements.

    Attributes:
        folder: Folder of models and runs.
        models: Number of models.
        options: Options for reading suites.
    """

    folder: Path
    models: int
    options: tuple[str, ...]

    def single_runs(self, threads: int) -> Measured:
        """Score some models in separate processes, and return the estimated numbers for all models."""
        measured = [
            command(
                ["run", "--model", str(self.folder / f"ckpt/step{i}.pt"), *self.options, "--out",
                 str(self.folder / f"single-{threads}-{i}")],
                threads,
            )
            for i in range(SINGLE)
        ]  # fmt: skip
        seconds, processor = (
            sum(getattr(one, name) for one in measured) * self.models / SINGLE
            for name in ("seconds", "processor")
        )
        return Measured(seconds, processor, max(one.megabytes for one in measured))

    def sweep(self, workers: int, threads: int) -> tuple[Measured, float]:
        """Run a sweep; return also its time beyond scoring and judging, as a share of their seconds."""
        out = self.folder / f"sweep-{workers}-{threads}"
        models = str(self.folder / "ckpt/step*.pt")
        words = ["sweep", "--model", models, *self.options, "--workers", str(workers), "-o", str(out)]
        measured = command(words, threads)
        manifests = [json.loads(file.read_text("utf-8")) for file in out.glob("*/manifest.json")]
        scoring = sum(sum(manifest["timings"].values()) for manifest in manifests)
        return measured, workers * measured.seconds / scoring - 1


def command(words: list[str], threads: int) -> Measured:
    """Run a command of tseval."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *TSEVAL, *words],
        env={**os.environ, "OMP_NUM_THREADS": str(threads)}, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return Measured(*json.loads(done.stdout))


def status_of_many(folder: Path) -> Measured:
    """Measure `tseval sweep status` with a plan of 1,000 units."""
    (folder / "many").mkdir()
    for i in range(200):
        (folder / f"many/step{i}.pt").touch()
    suites = [SUITE, "agreement", *(f"dyck(k={k},m=3)" for k in (2, 3, 4))]
    plan = {"models": [str(folder / "many/*.pt")], "suites": suites, "out": str(folder / "planned")}
    (folder / "plan.yaml").write_text(json.dumps(plan), "utf-8")
    return command(["sweep", "status", str(folder / "plan.yaml")], 1)


@click.command()
@click.option("--models", type=click.IntRange(min=SINGLE), default=10, show_default=True)
@click.option("--hidden", type=click.IntRange(min=1), default=200, show_default=True)
@click.option(
    "--limit", type=click.IntRange(min=1), default=4000, show_default=True, help="Items of each case."
)
def main(models: int, hidden: int, limit: int) -> None:
    """Measure a sweep of small models."""
    cores = os.cpu_count() or 1
    half = max(1, cores // 2)
    click.echo(f"{models} LSTMs of {hidden} units on {SUITE}, {limit:,} items of each case; {cores} cores, "
               f"load {os.getloadavg()[0]:.1f} at the start\n")  # fmt: skip
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "ckpt").mkdir()
        # In another process, because the memory of this one counts in its child processes.
        numbers = (str(models), str(hidden))
        subprocess.run([sys.executable, "-c", MODELS, str(folder / "ckpt"), *numbers], check=True)
        bench = Bench(folder, models, ("--suite", SUITE, "--limit", str(limit), "--device", "cpu", "--quiet"))
        singles = {threads: bench.single_runs(threads) for threads in sorted({half, cores})}
        for threads, single in singles.items():
            rows.append([f"{models} single runs, threads: {threads}", *single.cells()])
        swept = {}
        for workers, threads in dict.fromkeys([(1, half), (1, cores), (2, half)]):
            swept[workers, threads], beyond = bench.sweep(workers, threads)
            than = swept[workers, threads].seconds / singles[min(cores, workers * threads)].seconds - 1
            cells = [*swept[workers, threads].cells(), f"{beyond:+.1%}", f"{than:+.1%}"]
            rows.append([f"workers: {workers}, threads of each: {threads}", *cells])
        rows.append(["the last again", *bench.sweep(2, half)[0].cells()])
        rows.append(["status of 1,000 units", *status_of_many(folder).cells()])
    heads = ("", "seconds", "of the processor", "MB", "beyond scoring", "than single runs")
    sides = ("left", *["right"] * 5)
    click.echo(tabulate(rows, heads, tablefmt="pipe", colalign=sides, disable_numparse=True) + "\n")
    for threads in singles:
        gain = swept[1, threads].seconds / swept[2, half].seconds
        click.echo(f"Two workers with threads: {half} are {gain:.2f} times as fast as one with {threads}.")


if __name__ == "__main__":
    main()
