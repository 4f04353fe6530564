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

    from tseval.models.checkpoint import Checkpoint, PackedType

_COLUMNS, _WINDOW = 32, 35  # how a validation text is read: side by side, and words at a time


@click.command()
@click.argument("old", type=FILE)
@click.option("-o", "--output", "new", type=FILE, required=True, metavar="FILE",
              help="The new checkpoint, .pt or .safetensors.")  # fmt: skip
@click.option("--vocab", type=FILE, metavar="FILE",
              help="The words of a pickle, one a line, in the order of their ids.")  # fmt: skip
@click.option("--stored", type=click.Choice(["float32", "float16", "int8"]), default="float32",
              show_default=True,
              help="Numbers in the file; float16 halves it and rounds, int8 takes a sixth and rounds more.",
)  # fmt: skip
@click.option("--valid", type=FILE, metavar="TEXT",
              help="Tokenised text, whose perplexity under the new checkpoint is kept in it.")  # fmt: skip
def convert_command(old: Path, new: Path, vocab: Path | None, stored: PackedType, valid: Path | None) -> None:
    """Write a published pickle as a checkpoint of tseval's own, or one smaller.

    OLD is a checkpoint, or a whole pickled word language model; nothing in it is executed. The perplexity of
    a checkpoint stays if its numbers do.
    """
    check_new(new)

    from tseval.models.checkpoint import save_checkpoint

    with busy(f"converting {old.name}"):
        read = _read(old, vocab)
        with old.open("rb") as file:
            source = {"file": old.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
        perplexity = _perplexity(read, stored, valid)
        save_checkpoint(
            new, read.model, read.vocabulary, training={**read.training, "source": {**source}},
            validation_perplexity=perplexity, dtype=stored,
        )  # fmt: skip
    sizes = read.model.sizes
    known = "" if perplexity is None else f", validation perplexity {perplexity:.2f}"
    click.echo(
        f"{new}: {sizes.arch}, {sizes.layers} layers of {sizes.hidden}, {sizes.vocabulary:,} words{known}",
        err=True,
    )


def _read(old: Path, vocab: Path | None) -> Checkpoint:
    """Open a pickle with its words, or a checkpoint, which has them."""
    from tseval.models.checkpoint import load_checkpoint
    from tseval.models.pickles import holds_object
    from tseval.models.published import load_published

    if not holds_object(old):
        read = load_checkpoint(old)  # says what is wrong with the file, if anything is
        if vocab is not None:
            raise ModelError(
                f"{old}: is a checkpoint of tseval's own already, with its words: leave out --vocab"
            )
        return read
    if vocab is None:
        raise ModelError(
            f"{old}: a pickled model does not hold its words. Add --vocab FILE, one word a line."
        )
    return load_published(old, vocab)


def _perplexity(read: Checkpoint, stored: PackedType, valid: Path | None) -> float | None:
    """Measure what will be on disk, or keep the perplexity of a checkpoint whose numbers stay."""
    from tseval.models.checkpoint import fingerprint, stored_weights
    from tseval.models.network import LanguageModel
    from tseval.training.corpus import Columns, columns, encode_text
    from tseval.training.loop import as_stored, mean_loss, perplexity

    model = read.model
    if valid is None:
        mark = fingerprint(model.sizes.to_mapping(), read.vocabulary, stored_weights(model, stored))
        return read.validation_perplexity if mark == read.fingerprint else None
    if not isinstance(model, LanguageModel):
        raise ModelError(f"--valid {valid}: a classifier has no perplexity; leave it out")
    text = columns(encode_text([valid], read.vocabulary), _COLUMNS)
    return perplexity(mean_loss(as_stored(model, stored), Columns(text, _WINDOW)))
