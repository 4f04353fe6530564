"""Compare the speed of two libraries for matrix products on this CPU.

    torch    `torch.nn.functional.linear`, which usually chooses MKL
    tseval   `tseval.scoring.products.linear`, which uses oneDNN for large matrices

The shapes are those of scoring: the layers of GPT-2; the recurrent layers and the output layer (one tile of
the vocabulary) of an LSTM with 650 units; and a layer of a small LSTM. The two alternate, and the medians are
compared.

    python benchmarks/products.py --threads 1
"""

from __future__ import annotations

import time
from statistics import median

import click
import torch
from tabulate import tabulate
from torch.nn import functional as F

from tseval.scoring.products import linear

# Name, columns, outputs.
MATRICES = [
    ("GPT-2, queries, keys and values", 768, 2_304),
    ("GPT-2, widening", 768, 3_072),
    ("GPT-2, narrowing", 3_072, 768),
    ("GPT-2, a tile of the output", 768, 1_024),
    ("LSTM of 650, recurrent", 650, 2_600),
    ("LSTM of 650, a tile of the output", 650, 1_024),
    ("LSTM of 200, recurrent", 200, 800),
]


@click.command()
@click.option("--threads", default=torch.get_num_threads(), show_default=True)
@click.option("--repeat", default=15, show_default=True, help="Products of each kind and shape.")
@torch.inference_mode()
def main(threads: int, repeat: int) -> None:
    """Print billions of operations per second, and the ratio."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    table = []
    for name, columns, outputs in MATRICES:
        for rows in (1, 32, 128, 1_000):
            inputs, weight, bias = map(torch.randn, ((rows, columns), (outputs, columns), (outputs,)))
            times: dict = {F.linear: [], linear: []}
            for _ in range(repeat + 1):  # the first one of each is slow
                for multiply, taken in times.items():
                    started = time.perf_counter()
                    multiply(inputs, weight, bias)
                    taken.append(time.perf_counter() - started)
            theirs, ours = (2e-9 * rows * columns * outputs / median(taken[1:]) for taken in times.values())
            size = f"{columns} x {outputs}"
            table.append((name, size, rows, round(theirs), round(ours), f"{ours / theirs:.2f}"))
    headings = ["matrix", "size", "rows", "torch, G/s", "tseval, G/s", "tseval is faster by"]
    click.echo(tabulate(table, headings))


if __name__ == "__main__":
    main()
