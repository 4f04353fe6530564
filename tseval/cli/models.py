"""`tseval models`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from tabulate import tabulate

from tseval.cli.progress import busy
from tseval.errors import TsevalError, first_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@click.command()
def models_command() -> None:
    """List the kinds of model and the bundled checkpoints."""
    from tseval.adapters import adapters
    from tseval.models.checkpoint import bundled_checkpoints, load_checkpoint

    with busy("opening adapters"):
        kinds = [(name, _opened_by(entry)) for name, entry in adapters().items()]
    click.echo(tabulate(kinds, ["adapter", "opened by"]))
    click.echo()
    rows = []
    for name, path in bundled_checkpoints().items():
        checkpoint = load_checkpoint(path)
        sizes, perplexity = checkpoint.model.sizes, checkpoint.validation_perplexity
        rows.append((f"bundled:{name}", sizes.arch, sizes.vocabulary, sizes.embedding, sizes.hidden,
                     sizes.layers, "–" if perplexity is None else f"{perplexity:.1f}"))  # fmt: skip
    headings = ["model", "architecture", "words", "embedding", "hidden", "layers", "perplexity"]
    click.echo(tabulate(rows, headings))


def _opened_by(entry: EntryPoint) -> str:
    """Name the function that opens models, and what is wrong with a package from outside."""
    from tseval.adapters import is_outside, load_adapter

    if is_outside(entry):
        try:
            load_adapter(entry)
        except TsevalError as error:
            return f"{entry.value}, broken: {first_line(error)}"
    return entry.value
