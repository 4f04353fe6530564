"""Measure the time and memory of tables of full runs, and of the check of a board.

The program makes a run of the bundled LSTM, and copies with more and more inverted verdicts, like runs of
other models. It prints the seconds and the peak memory of `tseval table`, with intervals and ranks, for a
published board (no items), for one run and for ten. Then it measures `tseval board check` of the zoo of
eleven models (or of --board), which verifies every entry and writes its pages again.

    python benchmarks/tables.py
    python benchmarks/tables.py --run runs/mine --models 20
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import pyarrow as pa
from tabulate import tabulate

from tseval.runs import Run, read_run, start_run
from tseval.runs.manifest import count_verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

TSEVAL = [sys.executable, "-m", "tseval"]
ZOO = Path(__file__).parents[1] / "leaderboards" / "zoo"


def copy_runs(path: Path, copies: list[Path]) -> None:
    """Write copies of a run in which 0%, 1%, 2%, ... of the verdicts are inverted."""
    run = read_run(path)
    for place, copy in enumerate(copies):
        copy_run(run, copy, place / 100)


def copy_run(run: Run, path: Path, turned: float) -> None:
    """Write a copy of a run in which a random share of the verdicts is inverted."""
    verdicts = run.load_verdicts()
    turn = np.random.default_rng(0).random(verdicts.num_rows) < turned
    correct = verdicts["correct"].to_numpy() ^ (turn & ~verdicts["undecidable"].to_numpy())
    verdicts = verdicts.set_column(verdicts.schema.get_field_index("correct"), "correct", pa.array(correct))
    counts = replace(run.manifest.counts, **count_verdicts(verdicts))
    with start_run(path, run.manifest.key) as writer:
        writer.finish(replace(run.manifest, counts=counts), run.load_sentences(), verdicts, {})


def measured(*arguments: object) -> tuple[float, float]:
    """Return the seconds and the peak MiB of a command."""
    begun = time.perf_counter()
    command = [*TSEVAL, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise click.ClickException(f"{' '.join(command)} failed")
    kilobyte = 1 if sys.platform == "darwin" else 1024
    return time.perf_counter() - begun, usage.ru_maxrss * kilobyte / 2**20


@click.command()
@click.option(
    "--run",
    "given",
    type=click.Path(path_type=Path),
    help="Full run to use (default: score the bundled model).",
)
@click.option("--sample", type=click.IntRange(min=1), help="Items of each case in this run.  [default: all]")
@click.option("--board", type=click.Path(exists=True, path_type=Path), default=ZOO, help="Board to check.")
@click.option("--models", type=click.IntRange(min=2), default=10, show_default=True)
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True)
def main(given: Path | None, sample: int | None, board: Path, models: int, rounds: int) -> None:
    """Measure commands that print tables, and print the best time of some rounds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = given or folder / "lstm"
        if given is None:
            drawn = ["--sample", str(sample)] if sample else []
            made = [*TSEVAL, "run", "--model", "bundled:lstm", "--out", str(path), *drawn]
            subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        copies = [folder / f"copy{place}" for place in range(models)]
        # In another process, because the memory of this one counts in its child processes.
        copying = get_context("spawn").Process(target=copy_runs, args=(path, copies))
        copying.start()
        copying.join()
        told: dict[str, Sequence[object]] = {
            "table of a published board": ["table", "bhatt2020"],
            "table of one run": ["table", *copies[:1]],
            f"table of {models} runs": ["table", *copies],
            f"check of {board.name}": ["board", "check", board],
        }
        rows = []
        for what, arguments in told.items():
            found = [measured(*arguments) for _ in range(rounds)]
            rows.append((what, f"{min(found)[0]:.1f}", f"{max(memory for _, memory in found):.0f}"))
    click.echo(tabulate(rows, ["", "seconds", "MiB"], disable_numparse=True))


if __name__ == "__main__":
    main()
