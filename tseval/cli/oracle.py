"""`tseval oracle`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tseval.cli.options import COUNT, FILE, check_new
from tseval.cli.progress import busy

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tseval.models.oracles import Step


@click.command()
@click.argument("kind", metavar="KIND")
@click.option("-k", "k", type=COUNT, required=True, help="Types of bracket.")
@click.option("-m", "m", type=COUNT, required=True, help="Most brackets that are open at once.")
@click.option("--code", default="log", show_default=True,
              help="How a bracket is spelt in units: log (binary digits) or one-hot.")  # fmt: skip
@click.option("-o", "--output", type=FILE, metavar="FILE",
              help="Save it as a checkpoint, .pt or .safetensors.")  # fmt: skip
@click.option("--show-gates", "symbols", metavar="SYMBOLS",
              help="Read these symbols and show the stack in its units after each.")  # fmt: skip
def oracle_command(kind: str, k: int, m: int, code: str, output: Path | None, symbols: str | None) -> None:
    """Build a network that knows a Dyck language exactly, without training.

    KIND is dyck-srn or dyck-lstm, the constructions of Hewitt et al. (2020).
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
        click.echo(f"{output}: score it with --suite 'dyck(k={k},m={m})'", err=True)
    if symbols is not None:
        click.echo(_table(walk(oracle, checkpoint, symbols.split()), k))


def _table(steps: Iterable[Step], k: int) -> str:
    """Show one line a symbol."""
    from tabulate import tabulate

    rows = [
        {"symbol": step.symbol, "stack": " ".join(step.stack) or "–", **step.units,
         "may follow": _show_follows(step.follows, k)}
        for step in steps
    ]  # fmt: skip
    return tabulate(rows, headers="keys", disable_numparse=True)


def _show_follows(follows: dict[str, float], k: int) -> str:
    """Write probabilities; the opening brackets, which have the same, together."""
    opening = [name for name in follows if name.startswith("(")]
    others = [f"{name} {mass:.3f}" for name, mass in follows.items() if name not in opening]
    if not opening:
        return ", ".join(others)
    assert len(opening) == k
    names = " ".join(opening) if k <= 3 else f"{opening[0]} … {opening[-1]}"
    return ", ".join([*others, f"{names} {follows[opening[0]]:.3f}" + (" each" if k > 1 else "")])
