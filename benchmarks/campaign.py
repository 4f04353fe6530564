"""Does tseval survive? Attacks on runs, trainings and files, drawn from a seed; a table of survivors.

Survived is: the same result, or one message under 500 characters and exit code 2. Never a traceback, never a
number that silently differs where a digest could tell, never a command that does not end.

    python benchmarks/campaign.py                      # --size 2 --seed 0
    python benchmarks/campaign.py --size 20 --only "kill a run" --only checkpoint.pt

Exits with 1 if anything did not survive, and says how to see it again. Needs a POSIX system: each attack is a
process forked from this one, which has all imports behind it.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click
from attacks.registry import ATTACKS, NotHereError
from tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Iterator

os.environ["OMP_NUM_THREADS"] = "1"

COMMANDS = (
    "adapters.hf", "adapters.mlm", "adapters.ngram", "evaluation", "cli.pair", "cli.run",
    "cli.train.classifiers",
    "cli.train.language_model", "cli.train.zoo",
)  # fmt: skip


@click.command()
@click.option(
    "--size", type=click.IntRange(min=1), default=2, show_default=True,
    help="Attacks of each kind; ten times as many of the kinds that are one short command.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="What the attacks are drawn from.")
@click.option("--only", multiple=True, metavar="ATTACK", help="This kind of attack alone; may be repeated.")
@click.option("--number", type=click.IntRange(min=0), help="This one of each kind alone.")
def command(size: int, seed: int, only: tuple[str, ...], number: int | None) -> None:
    """Attack tseval, and print how much was survived."""
    _import_everything()
    if unknown := sorted(set(only) - set(ATTACKS)):
        raise click.UsageError(f"there is no attack {unknown[0]!r}. Attacks: {', '.join(ATTACKS)}")
    rows, faults = [], []
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)  # another user must get in, where that is the attack
        prepared = _prepared(Path(name))
        for kind in only or ATTACKS:
            numbers = range(size * ATTACKS[kind].times) if number is None else [number]
            began = time.monotonic()
            try:
                found = dict(_faults(kind, seed, numbers, prepared))
            except NotHereError as reason:
                rows.append((kind, 0, f"not here: {reason}"))
                continue
            finally:
                _say(f"{kind}: {time.monotonic() - began:.0f} s\n")
            rows.append((kind, len(numbers), str(len(numbers) - len(found))))
            for i, fault in found.items():
                again = f"make campaign SEED={seed} ONLY={kind!r} NUMBER={i}"
                faults.append(f"{kind}, number {i}: {fault}\n  Again: {again}")
                click.echo(faults[-1], err=True)
    heads, sides = ("attack", "tried", "survived"), ("left", "right", "right")
    click.echo(tabulate(rows, heads, tablefmt="github", colalign=sides))
    click.echo("\n".join(faults), err=True)
    sys.exit(bool(faults))


def _faults(kind: str, seed: int, numbers: range | list[int], prepared: Path) -> Iterator[tuple[int, str]]:
    """Make attacks of a kind, each in a folder of its own; give what was not survived."""
    here = prepared.with_name("here")
    for done, i in enumerate(numbers):
        if sys.stderr.isatty():
            _say(f"{kind}: {done} of {len(numbers)}")
        shutil.copytree(prepared, here, symlinks=True)
        try:
            fault = ATTACKS[kind].make(random.Random(f"{seed} {kind} {i}"), here)
        except NotHereError:
            raise
        except Exception as error:
            fault = f"the attack itself failed: {error!r}"
        finally:
            shutil.rmtree(here)
        if fault is not None:
            yield i, fault


def _say(text: str) -> None:
    """Say how far it is, on a line that the next one overwrites."""
    sys.stderr.write(f"\r\x1b[K{text}" if sys.stderr.isatty() else text)
    sys.stderr.flush()


def _prepared(folder: Path) -> Path:
    """Make what is attacked."""
    from attacks.prepared import prepare  # noqa: PLC0415 - heavy

    prepared = folder / "prepared"
    prepared.mkdir()
    _say("preparing\n")
    prepare(prepared)
    return prepared


def _import_everything() -> None:
    """Import what commands import, so that processes forked from this one need not; fill `ATTACKS`."""
    for name in ("attacks", *(f"tseval.{name}" for name in COMMANDS)):
        import_module(name)


if __name__ == "__main__":
    command()
