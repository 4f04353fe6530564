"""Measure the time and memory of a run over all verbs (`SUITE:inflection`), compared with a plain run.

Each run is a separate process. The two kinds of run alternate, so that a busy machine slows both. The program
prints the best CPU seconds of each kind, their ratio, and the peak memory.

    python benchmarks/all_verbs.py                           # all of Marvin & Linzen, bundled LSTM
    python benchmarks/all_verbs.py --model hf:DIR --model-args words=pieces --sample 60
    python benchmarks/all_verbs.py --sample 2 --turns 1                   # in seconds
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import click
from tabulate import tabulate

SUITES = ("marvin_linzen", "marvin_linzen:inflection")


def measured(arguments: list[str]) -> tuple[float, float]:
    """Run a command; return its CPU seconds and its peak memory in MiB."""
    command = [sys.executable, "-m", "tseval", "run", *arguments, "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


@click.command()
@click.option("--model", default="bundled:lstm", show_default=True)
@click.option("--model-args", default="", help="Model arguments for the run with all verbs.")
@click.option("--sample", type=int, help="Items of each case (default: all).")
@click.option("--turns", default=2, show_default=True)
def main(model: str, model_args: str, sample: int | None, turns: int) -> None:
    """Measure, and print a table."""
    best = dict.fromkeys(SUITES, (float("inf"), 0.0))
    counts: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(turns):
            for place, suite in enumerate(SUITES):
                out = Path(folder) / f"{turn}-{place}"
                arguments = ["--model", model, "--suite", suite, "--out", str(out), "--device", "cpu"]
                arguments += [] if sample is None else ["--sample", str(sample)]
                arguments += ["--model-args", model_args] if model_args and place else []
                best[suite] = min(best[suite], measured(arguments))
                counts[suite] = json.loads((out / "manifest.json").read_text())["counts"]
    rows = [
        (
            suite,
            counts[suite]["sentences"],
            counts[suite]["contexts"],
            *best[suite],
            best[suite][0] / best[SUITES[0]][0],
        )
        for suite in SUITES
    ]
    headings = ("suite", "sentences", "contexts", "seconds", "MiB at peak", "ratio")
    click.echo(tabulate(rows, headings, "pipe", floatfmt=("", "", "", ".0f", ".0f", ".2f")))


if __name__ == "__main__":
    main()
