"""Measure the time and memory of runs in context, with 10 texts of 400 words, compared with plain runs.

Each item is scored after one of the texts. The two kinds of run alternate. The CPU seconds (one thread) are
those of a whole run, with the choice of contexts. The peak memory is that of a separate process.

    python benchmarks/context.py                                    # all of Marvin & Linzen, 3 turns
    python benchmarks/context.py --model drnn.pt --rounds 1 --sample 300
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import click
import torch
from tabulate import tabulate

import tseval

KINDS = ("plain", "context")


def measure(model: str, suite: tseval.Suite, kind: str, source: str, words: int) -> tuple[float, int, int]:
    """Return the CPU seconds of a run, and its numbers of sentences and of contexts."""
    opened = tseval.load_model(model)
    begun = time.process_time()
    scored = tseval.in_context(suite, source, words=words) if kind == "context" else suite
    counts = tseval.evaluate(opened, scored).manifest.counts
    return time.process_time() - begun, counts.sentences, counts.contexts


def peak_here() -> int:
    """Return the peak memory of this process, in MiB."""
    try:  # after a fork, the resource module also counts the parent's memory
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) // 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def peak_of(options: list[str], kind: str) -> int:
    """Return the peak memory of a process that makes one run, in MiB."""
    command = [sys.executable, __file__, *options, "--only", kind]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(ended.stdout.split()[-1])


@click.command()
@click.option("--model", default="bundled:lstm", show_default=True, help="Model to score.")
@click.option("--suite", "name", default="marvin_linzen", show_default=True, help="Suite to score.")
@click.option("--sample", type=int, help="Use N random items of each case (default: all).")
@click.option("--source", default="marvin_linzen#grammatical", show_default=True, help="Source of contexts.")
@click.option("--words", type=int, default=400, show_default=True, help="Words of each context.")
@click.option("--rounds", type=int, default=3, show_default=True, help="Runs of each kind, in turns.")
@click.option("--only", type=click.Choice(KINDS), help="Make one run of this kind, and print its memory.")
def main(
    model: str, name: str, sample: int | None, source: str, words: int, rounds: int, only: str | None
) -> None:
    """Print seconds, their ratio, and memory."""
    torch.set_num_threads(1)
    suite = tseval.load_suite(name, sample=sample)
    if only is not None:
        measure(model, suite, only, source, words)
        click.echo(f"{peak_here()}")
        return
    turns = [[measure(model, suite, kind, source, words) for kind in KINDS] for _ in range(rounds)]
    options = ["--model", model, "--suite", name, "--source", source, "--words", str(words)]
    options += [] if sample is None else ["--sample", str(sample)]
    rows = []
    for place, kind in enumerate(KINDS):
        seconds = [turn[place][0] for turn in turns]
        _, n_sentences, n_contexts = turns[0][place]
        rows.append((kind, n_sentences, n_contexts, median(seconds), peak_of(options, kind)))
    heads = ["run", "sentences", "contexts computed", "CPU seconds, median", "peak MiB"]
    click.echo(tabulate(rows, heads, "pipe", floatfmt=".1f", intfmt=","))
    ratios = [turn[1][0] / turn[0][0] for turn in turns]
    shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    click.echo(f"\ncontext / plain: {median(ratios):.2f} (turn by turn: {shown})")


if __name__ == "__main__":
    main()
