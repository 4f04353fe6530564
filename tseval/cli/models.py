"""`tseval models`: list the kinds of models and the bundled checkpoints."""

from __future__ import annotations

import click

from tseval.cli.groups import Command
from tseval.cli.printing import print_table
from tseval.cli.progress import busy
from tseval.errors import TsevalError, first_line


@click.command(cls=Command)
def models_command() -> None:
    """List the kinds of models that tseval can score, and the checkpoints that come with tseval."""
    from tseval.adapters import adapters, is_outside, load_adapter
    from tseval.models import bundled_checkpoints
    from tseval.models.checkpoint import load_checkpoint

    with busy("opening adapters"):
        kinds = []
        for name, entry in adapters().items():
            broken = ""
            if is_outside(entry):
                try:
                    load_adapter(entry)
                except TsevalError as error:
                    broken = f", broken: {first_line(error)}"
            kinds.append((name, f"{entry.value}{broken}"))
    print_table(kinds, ["adapter", "opened by"])
    click.echo()
    rows = []
    for name, path in bundled_checkpoints().items():
        checkpoint = load_checkpoint(path)
        sizes, perplexity = checkpoint.model.sizes, checkpoint.validation_perplexity
        numbers = sizes.vocabulary, sizes.embedding, sizes.hidden, sizes.layers
        perplexity_text = "–" if perplexity is None else f"{perplexity:.1f}"
        rows.append((f"bundled:{name}", sizes.arch, *map(str, numbers), perplexity_text))
    headings = ["model", "arch", "words", "embedding", "hidden", "layers", "perplexity"]
    print_table(rows, headings, ["left", "left", *["right"] * 5])
