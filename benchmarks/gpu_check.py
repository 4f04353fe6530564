"""Check tseval on this machine's GPU (or any accelerator that torch reports), and print a page to paste.

All device tests on it, log-probabilities against the CPU's, sentences and training tokens per second, peak
memory. `make gpu-check` starts it; without an accelerator it says so and ends with status 2.

    python benchmarks/gpu_check.py --sample 2000 --vocabulary 50000
"""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import torch
from tabulate import tabulate

import tseval
from tseval.models.network import LanguageModel, Sizes
from tseval.scoring.numerics import accelerator
from tseval.training.corpus import Columns, columns
from tseval.training.loop import TrainingState
from tseval.training.settings import Schedule, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.scoring.protocol import Model

ROOT = Path(__file__).parents[1]
ARCHITECTURES = ("lstm", "drnn", "onlstm")
WINDOWS = 30  # of training that are measured, after a third as many that are not


def describe(device: torch.device) -> str:
    """Name the machine's parts, as the reader of a result wants to know them."""
    module = torch.get_device_module(device)
    name = module.get_device_name() if hasattr(module, "get_device_name") else device.type
    return f"{name}, torch {torch.__version__}, Python {platform.python_version()}, {platform.system()}"


def device_tests(device: torch.device) -> str:
    """Run the device tests on the real device alone; give the last line that pytest says."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "tests/devices",
        "-k",
        device.type,
        "-p",
        "no:cacheprovider",
    ]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode:
        click.echo(result.stdout + result.stderr, err=True)
    return (result.stdout.strip().splitlines() or ["pytest did not start"])[-1].strip("= ")


def timed(device: torch.device, action: Callable[[], object]) -> tuple[float, str]:
    """Do something; give its seconds, and the device's highest memory meanwhile where torch tells it."""
    module = torch.get_device_module(device)
    tells = device.type != "cpu" and hasattr(module, "max_memory_allocated")
    if tells:
        module.reset_peak_memory_stats()
    began = time.perf_counter()
    action()
    if device.type != "cpu":
        module.synchronize()
    seconds = time.perf_counter() - began
    return seconds, f"{module.max_memory_allocated() / 2**20:,.0f}" if tells else "–"


def scoring(device: torch.device, sample: int) -> list[list[object]]:
    """Score a sample of Marvin & Linzen with the bundled model on the CPU and there."""
    suite = tseval.load_suite("marvin_linzen", sample=sample)
    small = tseval.load_suite("marvin_linzen", limit=5)
    rows: list[list[object]] = []
    logprobs, correct = [], []
    for where in (torch.device("cpu"), device):
        model = tseval.load_model("bundled:lstm", device=where.type)
        tseval.evaluate(model, small)  # what is made on first use is made here
        runs: list[tseval.Run] = []

        def score(model: Model = model, runs: list[tseval.Run] = runs) -> None:
            runs.append(tseval.evaluate(model, suite))

        seconds, peak = timed(where, score)
        sentences = runs[0].load_sentences()
        logprobs.append(sentences["logprob"].to_numpy())
        correct.append(runs[0].load_verdicts()["correct"].to_numpy(zero_copy_only=False))
        rows.append([where.type, f"{len(sentences):,}", f"{len(sentences) / seconds:,.0f}", peak, "", ""])
    rows[1][4:] = [f"{np.abs(logprobs[1] - logprobs[0]).max():.1e}", int((correct[0] != correct[1]).sum())]
    return rows


def training(device: torch.device, vocabulary: int) -> list[list[object]]:
    """Train each architecture for some windows, in float32 and with bfloat16, on random words."""
    rows: list[list[object]] = []
    for arch in ARCHITECTURES:
        for precision in ("float32", "bfloat16"):
            settings = Settings(batch=64, window=35, precision=precision, epochs=1)
            torch.manual_seed(0)
            words = torch.randint(vocabulary, (settings.batch * (settings.window * 2 * WINDOWS + 1),))
            schedule = Schedule(settings, Columns(columns(words, settings.batch), settings.window))
            model = LanguageModel(Sizes(arch, vocabulary, 650, 650, 2, 0.2)).to(device).train()
            state = TrainingState(model, schedule)

            def advance(windows: int, state: TrainingState = state) -> None:
                for _ in range(windows):
                    state.advance()
                state.read_losses()

            advance(WINDOWS // 3)
            seconds, peak = timed(device, partial(advance, WINDOWS))
            rate = WINDOWS * settings.batch * settings.window / seconds
            rows.append([arch, precision, f"{rate:,.0f}", peak])
    return rows


@click.command(help=__doc__)
@click.option("--sample", default=500, show_default=True, help="Items of each case that are scored.")
@click.option("--vocabulary", default=10_000, show_default=True, help="Words of the models that are trained.")
def main(sample: int, vocabulary: int) -> None:
    """Print the page."""
    device = accelerator()
    if device is None:
        click.echo("gpu-check: torch reports no accelerator on this machine; nothing was checked", err=True)
        sys.exit(2)
    tests = device_tests(device)
    click.echo(f"## gpu-check\n\n{describe(device)}\n\nDevice tests: {tests}\n")
    heads = ["device", "sentences", "per second", "peak MB", "largest difference (nats)", "other verdicts"]
    click.echo(tabulate(scoring(device, sample), heads, tablefmt="github", disable_numparse=True) + "\n")
    heads = ["training", "precision", "tokens per second", "peak MB"]
    click.echo(tabulate(training(device, vocabulary), heads, tablefmt="github", disable_numparse=True))
    sys.exit(0 if "passed" in tests and "failed" not in tests and "error" not in tests else 1)


if __name__ == "__main__":
    main()
