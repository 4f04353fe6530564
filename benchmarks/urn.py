"""Measure the gain if the URN computes a matrix exponential per distinct symbol, not per position.

Three ways to read a window of a small alphabet, forward and backward, with dropout on the symbol vectors:

    each position   an exponential for every position of the window
    each symbol     one for each distinct symbol, copied to all positions before the loop over words
    tseval          one for each distinct symbol, looked up word by word, as in the language model

Each repetition measures every way once, and the median is printed. The last two ways apply the same dropout
to a symbol at all positions. The program checks that they agree except for rounding.

    python benchmarks/urn.py
    python benchmarks/urn.py --device cuda --repeats 20
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import click
import torch
from tabulate import tabulate
from torch import Tensor, nn
from torch.nn import functional as F

from tseval.models.cells.urn import URN

if TYPE_CHECKING:
    from collections.abc import Callable

DROPOUT = 0.05


def ways(cell: URN, embedding: nn.Embedding, words: Tensor) -> dict[str, Callable[[], Tensor]]:
    """Return functions that read a window, (time, batch), into outputs, (time, batch, hidden)."""

    def each_position() -> Tensor:
        vectors = F.dropout(embedding(words), DROPOUT)
        return cell.scan(cell.project(vectors), cell.initial_state(words.shape[1]))[0]

    def each_symbol() -> Tensor:
        distinct, which = torch.unique(words, return_inverse=True)
        projected = cell.project(F.dropout(embedding(distinct), DROPOUT))
        return cell.scan(projected[which], cell.initial_state(words.shape[1]))[0]

    def ours() -> Tensor:
        distinct, which = torch.unique(words, return_inverse=True)
        projected = cell.project(F.dropout(embedding(distinct), DROPOUT))
        return cell.scan_words(projected, which, cell.initial_state(words.shape[1]))[0]

    return {"each position": each_position, "each symbol": each_symbol, "tseval": ours}


def measure(cell: URN, embedding: nn.Embedding, words: Tensor, repeats: int) -> dict[str, float]:
    """Return the median seconds of each way, forward and backward."""
    seconds: dict[str, list[float]] = {}
    outputs = {}
    for repeat in range(-1, repeats):
        for name, read in ways(cell, embedding, words).items():
            torch.manual_seed(0)
            started = time.perf_counter()
            outputs[name] = read()
            outputs[name].square().sum().backward()
            if words.is_cuda:
                torch.cuda.synchronize()
            if repeat >= 0:
                seconds.setdefault(name, []).append(time.perf_counter() - started)
    torch.testing.assert_close(outputs["each symbol"], outputs["tseval"], atol=1e-5, rtol=1e-4)
    return {name: statistics.median(one) for name, one in seconds.items()}


@click.command()
@click.option(
    "--symbols",
    default=12,
    show_default=True,
    help="Size of the alphabet; 5 pairs of brackets need 12 symbols.",
)
@click.option("--batch", default=512, show_default=True)
@click.option("--length", default=21, show_default=True)
@click.option("--hidden", "sizes", type=int, multiple=True, default=(8, 16, 32), show_default=True)
@click.option("--device", default="cpu", show_default=True)
@click.option("--repeats", default=3, show_default=True)
def main(symbols: int, batch: int, length: int, sizes: tuple[int, ...], device: str, repeats: int) -> None:
    """Print symbols per second and ratios."""
    torch.manual_seed(0)
    words = torch.randint(symbols, (length, batch), device=device)
    rows = []
    for hidden in sizes:
        angles = hidden * (hidden - 1) // 2
        cell, embedding = URN(angles, hidden).to(device), nn.Embedding(symbols, angles, device=device)
        seconds = measure(cell, embedding, words, repeats)
        for name, taken in seconds.items():
            ratio = seconds["each position"] / taken
            rows.append((hidden, name, f"{words.numel() / taken:,.0f}", f"{ratio:.1f}"))
    headings = ["units", "exponential for", "symbols/s", "faster"]
    click.echo(tabulate(rows, headings, colalign=("right", "left", "right", "right")))
    click.echo(f"torch {torch.__version__}, {device}, {torch.get_num_threads()} threads; medians")


if __name__ == "__main__":
    main()
