"""Measure how fast strings of formal languages are drawn, for each language and set of strings.

The program compares

    plain    one symbol after the other, in plain Python, as in the papers' programs
    tseval   many strings at the same time (tseval.suites.formal)

in symbols per second, with stop symbols. It also prints the time to make a whole suite: to draw it, follow
its stacks, draw the training strings, and find their stacks. To draw test strings of generalised Dyck, tseval
also draws the training strings, because it excludes them. The plain program does not.

    python benchmarks/formal.py
    python benchmarks/formal.py --language 'dyck(k=64,m=5)'
"""

from __future__ import annotations

import random
import time
from itertools import islice
from typing import TYPE_CHECKING

import click
from tabulate import tabulate

import tseval
from tseval.suites.formal.languages import Dyck, GeneralisedDyck, Language, parse_language

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tseval.suites.formal.languages import Split

LANGUAGES = ("dyck(k=2,m=3)", "dyck(k=128,m=3)", "dyck(k=2,m=5)", "dyck(k=128,m=5)", "generalised_dyck",
             "cross_serial(8)")  # fmt: skip
PLAIN_STRINGS = 2_000


def draw(language: Language, split: Split) -> tuple[int, float]:
    """Draw a set of strings; return the number of symbols and the seconds."""
    started = time.perf_counter()
    n_symbols = sum(int((block.lengths + 1).sum()) for block in language.draw(split))
    return n_symbols, time.perf_counter() - started


def draw_plainly(language: Language, split: Split) -> tuple[int, float]:
    """Draw some strings one after the other; return the number of symbols and the seconds."""
    if isinstance(language, Dyck):
        strings = plain_dyck(language, split)
    elif isinstance(language, GeneralisedDyck):
        strings = plain_generalised_dyck(
            language, language.length if split == "test" else language.train_depth
        )
    else:
        strings = plain_cross_serial(language.bound(split))
    started = time.perf_counter()
    n_symbols = sum(len(string) + 1 for string in islice(strings, PLAIN_STRINGS))
    return n_symbols, time.perf_counter() - started


def plain_dyck(language: Dyck, split: Split) -> Iterator[list[str]]:
    """Sample Dyck-(k,m) symbol by symbol; reject strings that get too long."""
    shortest, longest = language.window(split)
    while True:
        string: list[str] = []
        stack: list[int] = []
        while len(string) < longest:
            back = len(stack) == language.m or random.random() < 0.5
            if back and not stack:
                if len(string) >= shortest:
                    yield string
                    break
            elif back:
                string.append(f"){stack.pop()}")
            else:
                stack.append(random.randint(1, language.k))
                string.append(f"({stack[-1]}")


def plain_generalised_dyck(language: GeneralisedDyck, deepest: int) -> Iterator[list[str]]:
    """Sample walks symbol by symbol; reject those that get too deep."""
    while True:
        string: list[str] = []
        stack: list[int] = []
        depth = n_opened = 0
        while len(string) < language.length:
            if not stack or (n_opened < language.length // 2 and random.random() < 0.5):
                stack.append(random.randint(1, language.pairs))
                string.append(f"({stack[-1]}")
                n_opened += 1
                depth = max(depth, len(stack))
            else:
                string.append(f"){stack.pop()}")
        if depth <= deepest:
            yield string


def plain_cross_serial(bound: int) -> Iterator[list[str]]:
    """Choose m and n, and yield the string."""
    pairs = [(m, n) for m in range(bound) for n in range(bound - m)]
    while True:
        m, n = random.choice(pairs)
        yield ["a"] * m + ["b"] * n + ["c"] * m + ["d"] * n


def million(n_symbols: int, seconds: float) -> float:
    """Return millions of symbols per second."""
    return n_symbols / seconds / 1e6


@click.command()
@click.option(
    "--language", "specs", multiple=True, default=LANGUAGES, help="Formal language; may be repeated."
)
def main(specs: tuple[str, ...]) -> None:
    """Print the table."""
    rows = []
    for spec in specs:
        language = parse_language(spec)
        splits: tuple[Split, ...] = ("train", "test")
        for split in splits:
            plain, fast = million(*draw_plainly(language, split)), million(*draw(language, split))
            started = time.perf_counter()
            suite = tseval.load_suite(spec) if split == "test" else None
            made = f"{time.perf_counter() - started:.1f} s, {suite.n_contrasts:,} verdicts" if suite else ""
            rows.append((spec, split, f"{plain:.2f}", f"{fast:.1f}", f"{fast / plain:.0f}", made))
    headings = ("language", "strings", "plain, M/s", "tseval, M/s", "times", "whole suite")
    click.echo(tabulate(rows, headings, disable_numparse=True, colalign=("left", "left", *["right"] * 4)))


if __name__ == "__main__":
    main()
