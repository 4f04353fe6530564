"""What does a sweep cost beside its scoring, what do two workers gain, and how much memory does one take?

Checkpoints of small LSTMs with random weights are scored on a sample of each case of Marvin & Linzen:

    single       `tseval run`, one process after the other: seconds of scoring, as manifests say, and memory
    1 worker     `tseval sweep --workers 1`: overhead is what it takes beyond the scoring its manifests say
    2 workers    `tseval sweep --workers 2`, each with half of the threads of the one worker
    again        the same command once more: nothing is left to do
    planned      `tseval sweep status` of a plan of 1,000 units

Seconds are of the clock, so the machine should do nothing else; its load at the start is printed.
Memory is the most that a process held (on Linux).

    python benchmarks/sweep.py
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


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of the clock, and the most megabytes that one process held."""

    seconds: float
    megabytes: float


def measured(arguments: list[str], threads: int | None = None) -> Measured:
    """Run a command in a process that counts the memory of what it starts."""
    program = (
        "import json, resource, subprocess, sys, time; began = time.perf_counter(); "
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); "
        "print(json.dumps([time.perf_counter() - began, "
        "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024]))"
    )
    environment = {**os.environ, **({"OMP_NUM_THREADS": str(threads)} if threads else {})}
    done = subprocess.run(
        [sys.executable, "-c", program, *TSEVAL, *arguments],
        env=environment, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return Measured(*json.loads(done.stdout))


def make_models(folder: Path, models: int, hidden: int) -> None:
    """Save LSTMs that know the words of the suite, in a process of its own: this one stays small."""
    program = f"""if True:
        import sys, torch
        from pathlib import Path
        from tseval.models.checkpoint import load_checkpoint, bundled_checkpoints, save_checkpoint
        from tseval.models.language_model import LanguageModel, Sizes
        words = load_checkpoint(bundled_checkpoints()["lstm"]).vocabulary
        for i in range({models}):
            torch.manual_seed(i)
            network = LanguageModel(Sizes("lstm", len(words), {hidden}, {hidden}, 1))
            save_checkpoint(Path(sys.argv[1]) / f"step{{i}}.pt", network, words,
                            training={{}}, validation_perplexity=None)
    """
    subprocess.run([sys.executable, "-c", program, str(folder)], check=True)


def scoring_seconds(folder: Path) -> float:
    """Add up the seconds of scoring and judging that the manifests of runs say."""
    manifests = [json.loads(file.read_text("utf-8")) for file in folder.glob("*/manifest.json")]
    return sum(sum(manifest["timings"].values()) for manifest in manifests)


@click.command()
@click.option("--models", type=click.IntRange(min=2), default=10, show_default=True)
@click.option("--hidden", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--limit", type=click.IntRange(min=1), default=4000, show_default=True, help="Items of a case.")
def main(models: int, hidden: int, limit: int) -> None:
    """Measure a sweep of small models."""
    cores = os.cpu_count() or 1
    click.echo(f"{cores} cores, load {os.getloadavg()[0]:.1f} at the start")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "ckpt").mkdir()
        make_models(folder / "ckpt", models, hidden)
        common = ["--suite", SUITE, "--limit", str(limit), "--device", "cpu", "--quiet"]
        sweep = ["sweep", "--model", str(folder / "ckpt/step*.pt"), *common]
        single = measured(
            ["run", "--model", str(folder / "ckpt/step0.pt"), *common, "--out", str(folder / "run")]
        )
        one = measured([*sweep, "--workers", "1", "-o", str(folder / "one")])
        two = measured([*sweep, "--workers", "2", "-o", str(folder / "two")])
        again = measured([*sweep, "--workers", "2", "-o", str(folder / "two")])
        scored = scoring_seconds(folder / "one")
        planned = plan_thousand(folder)
    rows = [
        ("single run", f"{single.seconds:.1f}", f"{single.megabytes:,.0f}", ""),
        ("1 worker", f"{one.seconds:.1f}", f"{one.megabytes:,.0f}",
         f"{one.seconds / scored - 1:.1%} beyond the {scored:.1f} s of scoring"),
        ("2 workers", f"{two.seconds:.1f}", f"{two.megabytes:,.0f}",
         f"{one.seconds / two.seconds:.2f} times as fast"),
        ("again", f"{again.seconds:.1f}", f"{again.megabytes:,.0f}", ""),
        ("status of 1,000 units", f"{planned.seconds:.1f}", f"{planned.megabytes:,.0f}", ""),
    ]  # fmt: skip
    click.echo(f"{models} LSTMs of {hidden} units on {SUITE}, {limit:,} items of each case")
    click.echo(tabulate(rows, ["", "seconds", "MB", ""], disable_numparse=True))


def plan_thousand(folder: Path) -> Measured:
    """Ask for the status of a plan of 1,000 units."""
    (folder / "many").mkdir()
    for i in range(200):
        (folder / f"many/step{i}.pt").touch()
    suites = [SUITE, "agreement", *(f"dyck(k={k},m=3)" for k in (2, 3, 4))]
    plan = {"models": [str(folder / "many/*.pt")], "suites": suites, "out": str(folder / "planned")}
    (folder / "plan.yaml").write_text(json.dumps(plan), "utf-8")
    return measured(["sweep", "status", str(folder / "plan.yaml")])


if __name__ == "__main__":
    main()
