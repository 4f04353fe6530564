"""Attack tseval at random: damage runs, trainings and files, and count how many attacks it survives.

tseval survives an attack if the result is the same, or if it prints one message under 500 characters and
exits with code 2. It fails with a traceback, with a wrong number that a digest could detect, or if a command
does not end.

    python benchmarks/campaign.py                      # --size 2 --seed 0
    python benchmarks/campaign.py --size 20 --only "kill a run" --only checkpoint.pt

If an attack is not survived, the program prints how to repeat it, and exits with code 1. It needs a POSIX
system, because each attack is a process forked from this one, which has done all imports.
"""

from __future__ import annotations

import math
import os
import random
import shlex
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import TYPE_CHECKING

import click
from attacks.registry import ATTACKS, NotHereError
from tabulate import tabulate

import tseval
from tseval.errors import TsevalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

os.environ["OMP_NUM_THREADS"] = "1"

# Modules that commands import late, in addition to all modules of tseval except those that import lm-eval.
NEEDED = ("conllu", "filelock", "matplotlib.backends.backend_svg", "platformdirs", "torch._dynamo", "attacks")
NOT_NEEDED = ("tseval.__main__", "tseval.lm_eval_tasks", "tseval.adapters.lm_eval_backend")
EVERY = 60  # seconds between two lines about the progress, without a terminal
_said = [-math.inf]


@click.command()
@click.option(
    "--size", type=click.IntRange(min=1), default=2, show_default=True,
    help="Attacks of each slow kind; ten times as many of each quick kind.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed of the attacks.")
@click.option("--minutes", type=float, help="Time limit; the kinds of attacks alternate.")
@click.option(
    "--only", multiple=True, metavar="ATTACK", help="Make only this kind of attack; may be repeated."
)
@click.option("--number", type=click.IntRange(min=0), help="Make only the attack with this number.")
def command(size: int, seed: int, minutes: float | None, only: tuple[str, ...], number: int | None) -> None:
    """Attack tseval at random, and print how many attacks it survived."""
    _import_everything()
    if unknown := sorted(set(only) - set(ATTACKS)):
        raise click.UsageError(f"there is no attack {unknown[0]!r}. Attacks: {', '.join(ATTACKS)}")
    tallies = {kind: Tally() for kind in only or ATTACKS}
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)  # in some attacks, another user must get in
        prepared = _prepared(Path(name), any(ATTACKS[kind].needs_zoo for kind in tallies))
        ends = time.monotonic() + (math.inf if minutes is None else 60 * minutes)
        for turn, kind, i in _in_turns(tallies, size, number):
            late = time.monotonic() > ends and tallies[kind].tried > 0  # try each kind at least once
            if late or tallies[kind].not_here:
                continue
            _say(f"turn {turn + 1} of {size}, {faults} not survived; {kind}, number {i}")
            if fault := _attack(kind, seed, i, prepared, tallies[kind]):
                faults += 1
                again = f"make campaign SEED={seed} ONLY={shlex.quote(kind)} NUMBER={i}"
                _say("")
                click.echo(f"{kind}, number {i}: {fault}\n  Again: {again}", err=True)
    _say("")
    rows = [(kind, tally.tried, tally.not_here or str(tally.survived)) for kind, tally in tallies.items()]
    heads, sides = ("attack", "tried", "survived"), ("left", "right", "right")
    click.echo(tabulate(rows, heads, tablefmt="github", colalign=sides))
    sys.exit(bool(faults))


def _in_turns(kinds: Iterable[str], size: int, number: int | None) -> Iterator[tuple[int, str, int]]:
    """Return the turn, the kind, and the number of each attack."""
    for turn in range(size if number is None else 1):
        for kind in kinds:
            times = ATTACKS[kind].times
            for i in range(turn * times, (turn + 1) * times) if number is None else [number]:
                yield turn, kind, i


@dataclass
class Tally:
    """The numbers of attacks and of survived attacks of a kind, or why it is not possible here."""

    tried: int = 0
    survived: int = 0
    not_here: str = ""


def _attack(kind: str, seed: int, i: int, prepared: Path, tally: Tally) -> str | None:
    """Make an attack in a new folder and count it. Return the fault if it was not survived."""
    here = prepared.with_name("here")
    shutil.copytree(prepared, here, symlinks=True)
    try:
        fault = ATTACKS[kind].make(random.Random(f"{seed} {kind} {i}"), here)
    except NotHereError as reason:
        tally.not_here = f"not here: {reason}"
        return None
    except Exception as error:
        fault = f"the attack itself failed: {error!r}"
    finally:
        shutil.rmtree(here)
    tally.tried += 1
    tally.survived += fault is None
    return fault


def _say(text: str) -> None:
    """Print the progress: on a terminal, each line overwrites the last one; elsewhere, one line a minute."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{text}", nl=False, err=True)
    elif text and time.monotonic() - _said[-1] > EVERY:
        _said.append(time.monotonic())
        click.echo(text, err=True)


def _prepared(folder: Path, with_zoo: bool) -> Path:
    """Make the runs and files to attack, and return their folder."""
    from attacks.prepared import prepare  # noqa: PLC0415 - heavy

    prepared = folder / "prepared"
    prepared.mkdir()
    _say("preparing")
    prepare(prepared, with_zoo)
    return prepared


def _import_everything() -> None:
    """Import all modules once, so that forked processes do not need to; fill `ATTACKS`."""
    modules = [found.name for found in walk_packages(tseval.__path__, "tseval.", onerror=lambda _: None)]
    for name in (*(name for name in modules if not name.startswith(NOT_NEEDED)), *NEEDED):
        with suppress(ImportError, TsevalError):  # packages that are not installed are not attacked
            import_module(name)


if __name__ == "__main__":
    command()
