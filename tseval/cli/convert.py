"""`tseval convert`."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import click

from tseval.cli.options import FILE, check_new
from tseval.cli.progress import busy
from tseval.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.models.checkpoint import StoredType


@click.command()
@click.argument("old", type=FILE)
@click.option("-o", "--output", "new", type=FILE, required=True, metavar="FILE",
              help="The new checkpoint, .pt or .safetensors.")  # fmt: skip
@click.option("--vocab", type=FILE, required=True, metavar="FILE",
              help="Its words, one a line, in the order of their ids.")  # fmt: skip
@click.option("--stored", type=click.Choice(["float32", "float16"]), default="float32", show_default=True,
              help="Numbers in the file; float16 halves it and rounds.")  # fmt: skip
def command(old: Path, new: Path, vocab: Path, stored: StoredType) -> None:
    """Write a published pickle as a checkpoint of tseval's own.

    OLD is a whole pickled word language model; nothing in it is executed.
    """
    check_new(new)

    from tseval.models.checkpoint import load_checkpoint, save_checkpoint
    from tseval.models.published.torch_file import holds_object
    from tseval.models.published.word_model import load_published

    with busy(f"converting {old.name}"):
        if not holds_object(old):
            load_checkpoint(old)  # says what is wrong with the file, if anything is
            raise ModelError(f"{old}: is a checkpoint of tseval's own already")
        read = load_published(old, vocab)
        with old.open("rb") as file:
            source = {"file": old.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
        save_checkpoint(
            new, read.model, read.vocabulary,
            training={**read.training, "source": {**source}}, validation_perplexity=None, dtype=stored,
        )  # fmt: skip
    sizes = read.model.sizes
    click.echo(
        f"{new}: {sizes.arch}, {sizes.layers} layers of {sizes.hidden}, {sizes.vocabulary:,} words", err=True
    )
