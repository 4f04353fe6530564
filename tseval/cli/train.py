"""`tseval train`."""

from __future__ import annotations

import math
import os
import shlex
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tseval.errors import TrainingError
from tseval.models.cells import CELLS
from tseval.models.device import pick_device
from tseval.models.language_model import LanguageModel, Sizes, count_parameters
from tseval.models.vocabulary import SPECIAL_WORDS, Vocabulary
from tseval.training.corpus import count_words, describe, encode_text
from tseval.training.language_model import Settings, train_language_model

if TYPE_CHECKING:
    from tseval.scoring.protocol import Json

DEFAULT = Settings()


@click.group()
def command() -> None:
    """Train models into checkpoints."""


FILE = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
SEED = click.IntRange(0, 2**63 - 1)


class Positive(click.FloatRange):
    """A finite number above 0."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number; NaN and infinity compare in no useful way and are refused."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number", param, ctx)
        return number


POSITIVE = Positive()


@command.command()
@click.option("--arch", type=click.Choice(list(CELLS)), required=True, help="Recurrent cell.")
@click.option("--train", "train_files", type=FILE, multiple=True, required=True, help="Training text.")
@click.option("--valid", "valid_file", type=FILE, required=True, help="Validation text.")
@click.option("--out", type=FILE, required=True, help="Checkpoint to write (.pt or .safetensors).")
@click.option("--embedding", type=COUNT, default=200, show_default=True, help="Width of a word vector.")
@click.option("--hidden", type=COUNT, default=650, show_default=True, help="Width of a recurrent layer.")
@click.option("--layers", type=COUNT, default=2, show_default=True, help="Recurrent layers.")
@click.option("--dropout", default=0.2, show_default=True, help="Share of units dropped in training.")
@click.option("--tied", is_flag=True, help="Share embedding and output matrix.")
@click.option("--vocab-size", type=COUNT, help="Keep the most frequent words only.")
@click.option("--min-count", type=COUNT, default=1, show_default=True, help="Leave out rarer words.")
@click.option("--lowercase", is_flag=True, help="Lower-case all text, also when scoring.")
@click.option("--epochs", type=COUNT, default=DEFAULT.epochs, show_default=True, help="Passes over the text.")
@click.option(
    "--batch", type=COUNT, default=DEFAULT.batch, show_default=True, help="Parallel columns of text."
)
@click.option(
    "--window", type=COUNT, default=DEFAULT.window, show_default=True, help="Words errors go back through."
)
@click.option(
    "--learning-rate", type=POSITIVE, default=DEFAULT.learning_rate, show_default=True, help="Adam's."
)
@click.option(
    "--schedule", type=click.Choice(["constant", "cosine"]), default=DEFAULT.schedule, show_default=True,
    help="Course of the learning rate; cosine ends at zero.",
)  # fmt: skip
@click.option("--clip", type=POSITIVE, default=DEFAULT.clip, show_default=True, help="Largest gradient norm.")
@click.option(
    "--seed", type=SEED, default=DEFAULT.seed, show_default=True, help="Of initial weights and dropout."
)
@click.option(
    "--precision", type=click.Choice(["float32", "bfloat16"]), default=DEFAULT.precision, show_default=True,
    help="Type of the matrix products.",
)  # fmt: skip
@click.option(
    "--stored", type=click.Choice(["float32", "float16"]), default=DEFAULT.stored, show_default=True,
    help="Type of the weights on disk.",
)  # fmt: skip
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
def lm(
    arch: str, train_files: tuple[Path, ...], valid_file: Path, out: Path, embedding: int, hidden: int,
    layers: int, dropout: float, tied: bool, vocab_size: int | None, min_count: int, lowercase: bool,
    epochs: int, batch: int, window: int, learning_rate: float, schedule: Literal["constant", "cosine"],
    clip: float, seed: int, precision: Literal["float32", "bfloat16"],
    stored: Literal["float32", "float16"], device: str, quiet: bool,
) -> None:  # fmt: skip
    """Train a word-level language model on tokenised text, one sentence a line (plain or .gz)."""
    settings = Settings(epochs, batch, window, learning_rate, schedule, clip, seed, precision, stored)
    _check_out(out)
    # What can be wrong with the settings is said before the text is read; the vocabulary comes from the text.
    sizes = Sizes(arch, 1, embedding, hidden, layers, dropout, tied)
    place = pick_device(device)
    console = Console(stderr=True, quiet=quiet)
    counts = count_words(train_files, lowercase=lowercase)
    vocabulary = Vocabulary.from_counts(counts, size=vocab_size, min_count=min_count, lowercase=lowercase)
    if len(vocabulary) == SPECIAL_WORDS:
        raise TrainingError(f"no word of the training text occurs {min_count} times: lower --min-count")
    text = encode_text(train_files, vocabulary), encode_text([valid_file], vocabulary)
    torch.manual_seed(seed)
    model = _build(replace(sizes, vocabulary=len(vocabulary)), place)
    console.print(
        f"{arch}: {count_parameters(model):,} parameters ({model.n_core_parameters:,} recurrent), "
        f"{len(vocabulary):,} words, {len(text[0]):,} training tokens"
    )
    origin: dict[str, Json] = {
        "command": shlex.join(["tseval", *sys.argv[1:]]),
        "files": [asdict(describe(path)) for path in (*train_files, valid_file)],
    }
    with _Bar(console, epochs * len(text[0])) as bar:
        best = train_language_model(model, vocabulary, text, settings, (out, origin), bar)
    console.print(f"{out}: validation perplexity {best:.2f}")


def _build(sizes: Sizes, device: torch.device) -> LanguageModel:
    try:
        return LanguageModel(sizes).to(device)
    except (MemoryError, RuntimeError):
        raise TrainingError(
            f"a model of this size does not fit into memory: lower --hidden ({sizes.hidden}), "
            f"--embedding ({sizes.embedding}) or --vocab-size ({sizes.vocabulary})"
        ) from None


def _check_out(out: Path) -> None:
    """Refuse what cannot be written, or must not be overwritten, now rather than after hours."""
    if out.exists():
        raise TrainingError(f"{out}: exists already. Choose another --out, or remove it.")
    if out.suffix not in (".pt", ".safetensors"):
        raise TrainingError(f"{out}: the name of a checkpoint ends in .pt or .safetensors")
    if not out.parent.is_dir():
        raise TrainingError(f"{out}: there is no folder {out.parent}")
    if not os.access(out.parent, os.W_OK):
        raise TrainingError(f"{out}: the folder {out.parent} cannot be written")


class _Bar:
    """Progress bar of a training run on a terminal; plain lines elsewhere."""

    def __init__(self, console: Console, total: int) -> None:
        self.console = console
        self.bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(), console=console, disable=console.quiet or not sys.stderr.isatty(),
            transient=True,
        )  # fmt: skip
        self.task = self.bar.add_task("training", total=total, rate="")
        self.smooth: float | None = None

    def __enter__(self) -> _Bar:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def step(self, tokens: int, loss: float) -> None:
        self.smooth = loss if self.smooth is None else 0.99 * self.smooth + 0.01 * loss
        speed = self.bar.tasks[0].speed or 0
        self.bar.update(self.task, advance=tokens, rate=f"loss {self.smooth:.3f}  {speed:,.0f} tokens/s")

    def epoch(self, number: int, perplexity: float, kept: bool) -> None:
        mark = "saved" if kept else "not better"
        self.console.print(f"epoch {number}: validation perplexity {perplexity:.2f} ({mark})")
