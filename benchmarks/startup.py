"""Measure the CPU seconds until commands have scored or learnt a first sentence, relative to `import torch`.

    import torch     the least that any command with scoring takes
    run              `tseval run --model bundled:lstm --case simple_agrmt --limit 1`
    run hf           the same with a saved GPT-2: 12 layers of 768, 50,257 tokens, random weights
    pair             `tseval pair` with the bundled LSTM
    table            `tseval table bhatt2020`
    train lm         `tseval train lm` of an SRN with 8 units, one window of text

The seconds are user and system time of a process with all its threads, which other programs hardly change.
Every round starts each command once. A first round fills the file caches and does not count. The program
prints the minimum and the median of the rounds, and the minimum divided by that of `import torch`.

    python benchmarks/startup.py
    python benchmarks/startup.py --rounds 9 --only run --only pair
    python benchmarks/startup.py --profile run       # which modules the time goes to instead
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import click
from tabulate import tabulate

FLOOR = "import torch"
ONE_ITEM = ("--suite", "marvin_linzen", "--case", "simple_agrmt", "--limit", "1", "--quiet")
SENTENCES = ("the author laughs .", "the author laugh .")
SMALL_MODEL = (
    "--arch", "srn", "--embedding", "8", "--hidden", "8", "--layers", "1", "--dropout", "0",
    "--min-count", "1", "--batch", "1", "--epochs", "1", "--no-figure",
)  # fmt: skip
# Commands that need a model in a folder.
SAVED = ("run hf",)


def commands(model: Path, out: Path) -> dict[str, list[str]]:
    """Return the commands to measure, by name. A run is written to `out`."""
    tseval = [sys.executable, "-m", "tseval"]
    run = [*tseval, "run", *ONE_ITEM, "--out", str(out)]
    text = model.parent / "text.txt"
    text.write_text("\n".join(SENTENCES), "utf-8")
    texts = ("--train", str(text), "--valid", str(text))
    return {
        FLOOR: [sys.executable, "-c", FLOOR],
        "run": [*run, "--model", "bundled:lstm"],
        "run hf": [*run, "--model", f"hf:{model}"],
        "pair": [*tseval, "pair", *SENTENCES, "--model", "bundled:lstm"],
        "table": [*tseval, "table", "bhatt2020"],
        "train lm": [*tseval, "train", "lm", *SMALL_MODEL, *texts, "--out", f"{out}.pt", "--quiet"],
    }


def cpu_seconds(command: list[str]) -> float:
    """Run a program, and return the user and system seconds of its process and threads."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise click.ClickException(f"{' '.join(command)} failed:\n{said.decode()}")
    return usage.ru_utime + usage.ru_stime


def make_model(path: Path) -> None:
    """Save a GPT-2 with random weights and a tokenizer, in another process, so that this one stays small."""
    program = "import sys; from hf import make_model; from pathlib import Path; " \
              "make_model(Path(sys.argv[1]), 'causal', 12, 768, 50_257)"  # fmt: skip
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, cwd=Path(__file__).parent)


def profile(command: list[str], shown: int = 25) -> None:
    """Print the import times of a program, by top-level package."""
    command = [command[0], "-X", "importtime", *command[1:]]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    spent: dict[str, int] = {}
    for own, name in re.findall(r"^import time:\s+(\d+) \|\s+\d+ \| +([\w.]+)$", done.stderr, re.MULTILINE):
        package = name.partition(".")[0]
        spent[package] = spent.get(package, 0) + int(own)
    rows = sorted(spent.items(), key=lambda row: -row[1])[:shown]
    click.echo(tabulate([(name, f"{own / 1e6:.2f}") for name, own in rows], ["package", "seconds"]))


@click.command()
@click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--only", multiple=True, help="Measure only this command; may be repeated.  [default: all]")
@click.option("--profile", "profiled", help="Print how long the imports of one command take, by package.")
def main(rounds: int, only: tuple[str, ...], profiled: str | None) -> None:
    """Measure the CPU seconds of whole commands, and divide them by those of `import torch`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = commands(folder / "model", folder / "run")
        if unknown := {*only, *([profiled] if profiled else [])} - known.keys():
            raise click.ClickException(f"no command {min(unknown)!r}: {', '.join(known)}")
        chosen = [profiled] if profiled else [FLOOR, *(one for one in known if one in (only or known))]
        if any(one in SAVED for one in chosen):
            make_model(folder / "model")
        if profiled:
            profile(known[profiled])
            return
        seconds: dict[str, list[float]] = {one: [] for one in dict.fromkeys(chosen)}
        for turn in range(rounds + 1):
            for one, found in seconds.items():
                taken = cpu_seconds(commands(folder / "model", folder / f"{one}-{turn}")[one])
                if turn:
                    found.append(taken)
    floor = min(seconds[FLOOR])
    rows = [
        (one, f"{min(found):.2f}", f"{statistics.median(found):.2f}", f"{min(found) / floor:.2f}")
        for one, found in seconds.items()
    ]
    headings = ["command", "CPU seconds, least", "median", "times import torch"]
    click.echo(tabulate(rows, headings, colalign=("left", "right", "right", "right")))


if __name__ == "__main__":
    main()
