"""Measure the time and memory of `tseval board write` and `tseval board build` on a large board.

The first entry is a run of the bundled LSTM on Marvin & Linzen. The others are this run with noise on each
log-probability, sealed like runs of other models. Each command runs once with an empty cache, and again after
one more entry. The program prints CPU seconds (user and system, with child processes) and the peak memory of
one process.

    python benchmarks/boards.py
    python benchmarks/boards.py --run runs/ml --models 100 --keep /tmp/board
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
from tabulate import tabulate

from tseval.boards import About, Entry, rows_of, write_entry
from tseval.boards.definition import read_definition, suite_of
from tseval.boards.entries import add_entries
from tseval.boards.folder import new_board
from tseval.evidence.file_format import evidence_bytes, read_evidence
from tseval.runs.board_suite import SplitSuite
from tseval.runs.directory import digest
from tseval.runs.entry import entry_run
from tseval.runs.manifest import Manifest, count_verdicts, dump_manifest, load_manifest
from tseval.runs.reader import read_run

TSEVAL = [sys.executable, "-m", "tseval"]


def make_board(board: Path, run: Path, n_models: int) -> None:
    """Create a board with a run, and with copies of the run that have more and more noise."""
    new_board(board, read_run(run).manifest.suite.name)
    (first,) = add_entries(board, [run], About(licence="MIT", training_data="90 M words"))
    split = SplitSuite(suite_of(read_definition(board), board))
    for number in range(1, n_models):
        add_noisy(first, split, number)


def add_noisy(first: Path, split: SplitSuite, number: int) -> None:
    """Add an entry whose evidence is that of the first entry with noise."""
    name = f"model-{number:03}"
    folder = first.with_name(name)
    folder.mkdir()
    evidence, noise = read_evidence((first / "evidence.parquet").read_bytes()), np.random.default_rng(number)
    logprob = evidence.table["logprob"].to_numpy()
    drawn = np.minimum(logprob + noise.normal(0, 0.05 + number / 50, len(logprob)), -1e-4).astype("f4")
    place = evidence.table.schema.get_field_index("logprob")
    table = evidence.table.set_column(place, "logprob", pa.array(drawn, pa.float32()))
    content = evidence_bytes(replace(evidence, table=table))
    (folder / "evidence.parquet").write_bytes(content)
    manifest = load_manifest(first)
    assert isinstance(manifest, Manifest)
    key = replace(manifest.key, model=name, fingerprint=f"{number:064x}")
    model = replace(manifest.model, name=name, fingerprint=key.fingerprint)
    manifest = replace(manifest, key=key, signature=key.signature, model=model, seal=None)

    def seal(manifest: Manifest) -> None:
        sealed = manifest.sealed({"evidence.parquet": digest(content)})
        (folder / "manifest.json").write_bytes(dump_manifest(sealed))

    seal(manifest)
    verdicts = entry_run(folder, split)
    seal(replace(manifest, counts=replace(manifest.counts, **count_verdicts(verdicts.load_verdicts()))))
    entry = Entry(1, name, key.signature, key.fingerprint, About(), rows_of(verdicts.verdicts))
    (folder / "entry.yaml").write_text(write_entry(entry), "utf-8")


def measured(*arguments: object) -> tuple[float, float]:
    """Return the CPU seconds of a command and the MB of its largest process."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([*TSEVAL, *map(str, arguments)], stdout=output, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise click.ClickException(output.read().decode())
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


@click.command(help=__doc__.partition("\n")[0])
@click.option(
    "--run",
    type=click.Path(exists=True, path_type=Path),
    help="Run to submit (default: score the bundled model).",
)
@click.option("--suite", default="marvin_linzen", help="Suite of this run.")
@click.option("--models", default=100, help="Number of entries.")
@click.option("--keep", type=click.Path(path_type=Path), help="Folder for the board (default: none).")
def main(run: Path | None, suite: str, models: int, keep: Path | None) -> None:
    """Make a board, and measure the commands."""
    with tempfile.TemporaryDirectory() as made:
        root = Path(made) if keep is None else keep
        os.environ["XDG_CACHE_HOME"] = str(root / "cache")
        run = run or root / "run"
        if not run.exists():
            score = [*TSEVAL, "run", "--model", "bundled:lstm", "--suite", suite, "--out", str(run)]
            subprocess.run([*score, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        board, site = root / "board", root / "site"
        if not board.exists():
            make_board(board, run, models + 1)
        latest = board / "entries" / f"model-{models:03}"
        aside = root / "latest"
        if latest.exists():
            shutil.move(latest, aside)
        lines = []
        for what in (f"{models} entries", "one more"):
            for command in (("write", board), ("build", board, "-o", site)):
                seconds, peak = measured("board", *command)
                lines.append([f"board {command[0]}", what, f"{seconds:.1f}", f"{peak:,.0f}"])
                print(*lines[-1], flush=True)
            if aside.exists():
                shutil.move(aside, latest)
        size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
        print(tabulate(lines, headers=["command", "entries", "CPU s", "peak MB"], tablefmt="pipe"))
        print(f"\nindex.html {(site / 'index.html').stat().st_size / 1e3:,.0f} kB, site {size / 1e6:,.1f} MB")


if __name__ == "__main__":
    main()
