"""`tseval convert`: convert a model from torch to a checkpoint, or compress a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tseval.cli.checkpoint_files import check_new
from tseval.cli.groups import Command
from tseval.cli.model_options import MODEL_ARGS, read_arguments
from tseval.cli.options import FILE
from tseval.cli.progress import busy
from tseval.errors import ModelError, counted
from tseval.files import file_sha256

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tseval.models.checkpoint import Checkpoint, PackedType


_COLUMNS, _WINDOW = 32, 35  # batch size and window length (words) for the validation text


@click.command(cls=Command)
@click.argument("old", type=FILE)
@click.option("-o", "--out", "new", type=FILE, required=True, metavar="FILE",
              help="File in which to save the new checkpoint: .pt or .safetensors.")  # fmt: skip
@click.option("--vocab", type=FILE, metavar="FILE",
              help="File with the vocabulary of the old model, one word a line, in the order of the word "
                   "ids (default: the vocabulary inside the model's file).")  # fmt: skip
@MODEL_ARGS
@click.option("--stored", type=click.Choice(["float32", "float16", "int8"]), default="float32",
              show_default=True,
              help="Number format of the weights in the new checkpoint: float32, float16 (half the size) "
                   "or int8 (one sixth of the size). float16 and int8 round the weights.",
)  # fmt: skip
@click.option("--valid", type=FILE, metavar="TEXT",
              help="File with tokenised text: tseval computes and stores the perplexity of the new "
                   "checkpoint on it (default: none).",
)  # fmt: skip
def convert_command(
    old: Path, new: Path, vocab: Path | None, model_args: str, stored: PackedType, valid: Path | None
) -> None:
    """Convert a recurrent language model from torch to a tseval checkpoint, or compress a checkpoint.

    OLD is a file that tseval run --model can open. tseval runs no code from it. If the conversion changes no
    weight, the new checkpoint keeps the validation perplexity of the old one.
    """
    check_new(new)

    from tseval.models.checkpoint import save_checkpoint

    with busy(f"converting {old.name}"):
        read = _read(old, vocab, read_arguments(model_args))
        source = {"file": old.name, "sha256": file_sha256(old)}
        perplexity = _perplexity(read, stored, valid)
        save_checkpoint(
            new, read.model, read.vocabulary, training={**read.training, "source": {**source}},
            validation_perplexity=perplexity, dtype=stored,
        )  # fmt: skip
    sizes = read.model.sizes
    addition = "" if perplexity is None else f", validation perplexity {perplexity:.2f}"
    layers = f"{counted(sizes.layers, 'layer')} of {sizes.hidden}, {sizes.vocabulary:,} words"
    click.echo(f"{new}: {sizes.arch}, {layers}{addition}", err=True)


def _read(old: Path, vocab: Path | None, arguments: Mapping[str, str]) -> Checkpoint:
    from tseval.models.checkpoint import load_checkpoint
    from tseval.models.state_files import is_foreign
    from tseval.models.states import open_state

    if is_foreign(old):
        return open_state(old, arguments if vocab is None else {**arguments, "vocab": str(vocab)})
    read = load_checkpoint(old)  # raises an error that says what is wrong with the file
    if vocab is not None or arguments:
        raise ModelError(
            f"{old}: this file is already a tseval checkpoint, which contains its own vocabulary. Leave "
            "out --vocab and --model-args."
        )
    return read


def _perplexity(read: Checkpoint, stored: PackedType, valid: Path | None) -> float | None:
    """Return the stored model's perplexity on `valid`; without `valid`, the old one if no number changes."""
    from tseval.models.checkpoint import fingerprint, stored_weights
    from tseval.models.network import LanguageModel
    from tseval.training.corpus import Columns, columns, encode_text
    from tseval.training.validation import as_stored, mean_loss, perplexity

    model = read.model
    if valid is None:
        mark = fingerprint(model.sizes.to_mapping(), read.vocabulary, stored_weights(model, stored))
        return read.validation_perplexity if mark == read.fingerprint else None
    if not isinstance(model, LanguageModel):
        raise ModelError(
            f"--valid {valid}: tseval cannot compute a perplexity, because the model is a "
            "classifier. Leave out --valid."
        )
    text = columns(encode_text([valid], read.vocabulary), _COLUMNS)
    return perplexity(mean_loss(as_stored(model, stored), Columns(text, _WINDOW)))
