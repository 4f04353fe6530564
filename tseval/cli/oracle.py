"""`tseval oracle`: build a network that knows a Dyck language exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tseval.cli.checkpoint_files import check_new
from tseval.cli.groups import Command
from tseval.cli.options import COUNT, FILE
from tseval.cli.progress import busy

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tseval.models.oracles import Step


@click.command(cls=Command)
@click.argument("kind", metavar="KIND")
@click.option("-k", "k", type=COUNT, required=True, help="Number of bracket types of the Dyck language.")
@click.option(
    "-m", "m", type=COUNT, required=True, help="Largest number of brackets that are open at the same time."
)
@click.option("--code", default="log", show_default=True,
              help="Code of a bracket type in the hidden units: log (a binary number) or one-hot (one "
                   "unit for each type).")  # fmt: skip
@click.option("-o", "--out", "output", type=FILE, metavar="FILE",
              help="File in which to save the network as a checkpoint: .pt or .safetensors (default: do "
                   "not save it).")  # fmt: skip
@click.option("--show-gates", "symbols", metavar="SYMBOLS",
              help="Symbols of the Dyck language, with spaces between them. tseval prints the units and "
                   "the stack of the network after each symbol (default: none).",
)  # fmt: skip
def oracle_command(kind: str, k: int, m: int, code: str, output: Path | None, symbols: str | None) -> None:
    """Build a network that knows a Dyck language exactly, without training.

    KIND is the construction to build: dyck-srn or dyck-lstm, both by Hewitt et al. (2020).
    """
    from tseval.models.checkpoint import save_checkpoint
    from tseval.models.network import count_parameters
    from tseval.models.oracles import Oracle, build_oracle, walk
    from tseval.suites.formal.languages import brackets

    if output:
        check_new(output)
    oracle = Oracle(kind, k, m, code)
    with busy(f"building {oracle.name}"):
        checkpoint = build_oracle(oracle, brackets(k))
    click.echo(
        f"{oracle.name}: {oracle.hidden:,} hidden units, {count_parameters(checkpoint.model):,} parameters",
        err=True,
    )
    if output:
        save_checkpoint(
            output, checkpoint.model, checkpoint.vocabulary,
            training=checkpoint.training, validation_perplexity=None,
        )  # fmt: skip
        click.echo(
            f"{output}: tseval saved the network here. To score it: tseval run --model {output} "
            f"--suite 'dyck(k={k},m={m})'",
            err=True,
        )
    if symbols is not None:
        click.echo(_table(walk(oracle, checkpoint, symbols.split()), k))


def _table(steps: Iterable[Step], k: int) -> str:
    from tabulate import tabulate

    rows = [
        {"symbol": step.symbol, "stack": " ".join(step.stack) or "–", **step.units,
         "may follow": _show_follows(step.follows, k)}
        for step in steps
    ]  # fmt: skip
    return tabulate(rows, headers="keys", disable_numparse=True)


def _show_follows(follows: dict[str, float], k: int) -> str:
    """Return the probabilities as text. The opening brackets share an entry: they are equally probable."""
    opening = [name for name in follows if name.startswith("(")]
    rest = [f"{name} {mass:.3f}" for name, mass in follows.items() if name not in opening]
    if not opening:
        return ", ".join(rest)
    assert len(opening) == k
    names = " ".join(opening) if k <= 3 else f"{opening[0]} … {opening[-1]}"
    return ", ".join([*rest, f"{names} {follows[opening[0]]:.3f}" + (" each" if k > 1 else "")])
