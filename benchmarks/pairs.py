"""Measure the time and memory to open a table with as many pairs as MultiBLiMP.

The table has 125,000 pairs of random words in six scripts and 101 languages, with four or thirty features
like the published files. It is the same each time. The program prints the seconds and the peak memory of a
process that opens it.

    python benchmarks/pairs.py
    python benchmarks/pairs.py --pairs 1000000
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
from tabulate import tabulate

ALPHABETS = ("abcdefghij", "абвгдежзик", "אבגדהוזחטי", "ابتثجحخدذر", "αβγδεζηθικ", "अआइईउऊएऐओऔ")
PHENOMENA = ("SV-#", "SV-G", "SV-P", "SP-#", "SP-G", "SP-P")
LANGUAGES = 101
OPEN = "import sys, tseval; tseval.load_suite(sys.argv[1], columns={'case': 'lang'})"


def write_table(path: Path, n_pairs: int, n_features: int) -> None:
    """Write a table of pairs, sorted by language."""
    draw = random.Random(0)
    more = [f"feature{i}" for i in range(n_features - 4)]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        print("sen", "wrong_sen", "lang", "phenomenon", "lemma", "distance", *more, sep="\t", file=file)
        for pair in range(n_pairs):
            language = pair * LANGUAGES // n_pairs
            letters = ALPHABETS[language % len(ALPHABETS)]
            words = ["".join(draw.choices(letters, k=draw.randint(2, 9))) for _ in range(draw.randint(8, 30))]
            place = draw.randrange(len(words))
            wrong = [*words[:place], words[place] + letters[0], *words[place + 1 :]]
            about = [f"l{language:03d}", PHENOMENA[pair % 6], words[place], draw.randint(1, 9)]
            rest = [f"{{'Case': '{draw.choice('NAGD')}', 'N': {draw.randint(1, 40)}}}" for _ in more]
            print(" ".join(words), " ".join(wrong), *about, *rest, sep="\t", file=file)


def measured(path: Path) -> tuple[float, float, float]:
    """Return the seconds, the CPU seconds and the peak MiB of a process that opens a table."""
    begun = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", OPEN, str(path)], stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


@click.command()
@click.option("--pairs", default=125_000, show_default=True, help="Rows of a table.")
def main(pairs: int) -> None:
    """Measure, and print a table."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n_features in (4, 30):
            path = Path(folder) / f"features{n_features}.tsv"
            write_table(path, pairs, n_features)
            rows.append((f"{pairs:,}", n_features, f"{path.stat().st_size / 2**20:.0f}", *measured(path)))
    print(
        tabulate(
            rows,
            ("pairs", "features", "MiB on disk", "seconds", "of processor", "MiB at peak"),
            floatfmt=".1f",
        )
    )


if __name__ == "__main__":
    main()
