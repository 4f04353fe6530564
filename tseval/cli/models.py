"""`tseval models`."""

from __future__ import annotations

import click
from tabulate import tabulate


@click.command()
def command() -> None:
    """List the kinds of model and the bundled checkpoints."""
    from tseval.adapters import adapters
    from tseval.models.checkpoint import bundled_checkpoints, load_checkpoint

    click.echo(
        tabulate([(name, entry.value) for name, entry in adapters().items()], ["adapter", "opened by"])
    )
    click.echo()
    rows = []
    for name, path in bundled_checkpoints().items():
        checkpoint = load_checkpoint(path)
        sizes, perplexity = checkpoint.model.sizes, checkpoint.validation_perplexity
        rows.append((f"bundled:{name}", sizes.arch, sizes.vocabulary, sizes.embedding, sizes.hidden,
                     sizes.layers, "–" if perplexity is None else f"{perplexity:.1f}"))  # fmt: skip
    headings = ["model", "architecture", "words", "embedding", "hidden", "layers", "perplexity"]
    click.echo(tabulate(rows, headings))
