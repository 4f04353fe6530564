"""`tseval train zoo`."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from tseval.cli.options import COUNT, FILE
from tseval.cli.progress import busy
from tseval.errors import TrainingError, TsevalError, shortened
from tseval.models.cells import CELLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.table import Table

    from tseval.training.zoo.recipe import Recipe
    from tseval.training.zoo.work import Progress, Watcher


@click.command("zoo")
@click.option("--corpus", "texts", type=FILE, required=True,
              help="Folder with train.txt.gz and valid.txt.gz.")  # fmt: skip
@click.option("--train", "more_texts", type=FILE, multiple=True,
              help="More training text, after the corpus's own, whose words it adds none to.")  # fmt: skip
@click.option("--out", type=FILE, required=True, help="Folder of the zoo: models, runs and logs.")
@click.option("--recipe", "recipe_name", default="paper", show_default=True,
              help="paper, wide, cpu, small, or a YAML file.")  # fmt: skip
@click.option("--arch", "archs", type=click.Choice(list(CELLS)), multiple=True,
              help="Only this architecture; may be repeated.")  # fmt: skip
@click.option("--seeds", type=COUNT,
              help="Models of each architecture; else as the recipe says.")  # fmt: skip
@click.option("--jobs", type=COUNT,
              help="Models made at a time; else one on each core, or one on a GPU.")  # fmt: skip
@click.option("--beside", multiple=True, metavar="BOARD", help="A board to print beside the zoo (bhatt2020).")
@click.option(
    "--publish",
    "target",
    type=FILE,
    help="Also write a board to this folder: tables and evidence, no weights.",
)
@click.option("--quiet", is_flag=True, help="Print the table and errors only.")
def command(
    texts: Path, more_texts: tuple[Path, ...], out: Path, recipe_name: str, archs: tuple[str, ...],
    seeds: int | None, jobs: int | None, beside: tuple[str, ...], target: Path | None, quiet: bool,
) -> None:  # fmt: skip
    """Train every architecture on the same text, score each on Marvin & Linzen, print the ranked table.

    The same command goes on where an earlier one was stopped; what is finished is not done again.
    """
    from tseval.cli.printing import print_or_write
    from tseval.report import build_table, open_sources
    from tseval.training.zoo.plan import plan, read_corpus, settle
    from tseval.training.zoo.publish import publish
    from tseval.training.zoo.recipe import read_recipe
    from tseval.training.zoo.results import seeds_of_zoo, sources_of
    from tseval.training.zoo.target import check_target
    from tseval.training.zoo.work import alone, make

    # What can be wrong is said before hours are spent.
    recipe = read_recipe(recipe_name)
    chosen = [arch for arch in CELLS if not archs or arch in archs]
    _check_options(recipe, chosen)
    boards = open_sources(beside)
    if target is not None:
        check_target(target)
    with busy("reading texts", quiet):
        corpus = read_corpus(texts, more_texts)
    entries = plan(recipe, chosen, seeds or recipe.seeds, out)
    with alone(out) as lock, _ended_in_order(out), _shown(quiet) as watch:
        settle(out, corpus, entries)
        models = make(entries, corpus, jobs or _default_jobs(), lock, watch)
    failed = [model for model in models if model.stage == "failed"]
    done = [model.entry for model in models if model.stage == "done"]
    if done:
        with busy("reading runs", quiet):
            table, of_seeds = build_table([*sources_of(done, recipe), *boards]), seeds_of_zoo(done)
        print_or_write(table)
        if of_seeds is not None:
            click.echo()
            print_or_write(of_seeds)
    if target is not None and not failed:
        with busy(f"publishing to {target}", quiet):
            publish(target, recipe, done)
    for model in failed:
        said = shortened(f"tseval: {model.entry.name} failed: {model.said}\n  See {model.entry.log}.")
        click.echo(said, err=True)
    if failed:
        if target is not None:
            said = f"tseval: nothing was published to {target}: the zoo is not complete"
            click.echo(shortened(said), err=True)
        raise click.exceptions.Exit(1)


def _check_options(recipe: Recipe, archs: Sequence[str]) -> None:
    """Hold a recipe's options to what `tseval train lm` takes."""
    from tseval.cli.train.language_model import lm
    from tseval.cli.train.options import chosen_settings, chosen_sizes

    for arch in archs:
        files = ["--train", "train.txt.gz", "--valid", "valid.txt.gz", "--out", "model.pt"]
        try:
            context = lm.make_context("lm", ["--arch", arch, *files, *recipe.arguments(arch)])
            chosen_settings(context)
            chosen_sizes(context, vocabulary=1)
        except (click.UsageError, TsevalError) as error:
            said = error.format_message() if isinstance(error, click.UsageError) else error
            raise TrainingError(f"recipe {recipe.name}, {arch}: {said}") from None


def _default_jobs() -> int:
    from tseval.scoring.numerics.device import accelerator

    return os.cpu_count() or 1 if accelerator() is None else 1


@contextmanager
def _ended_in_order(out: Path) -> Iterator[None]:
    """Let SIGTERM and a closed terminal do what Ctrl-C does, and say how to go on."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Under nohup a closed terminal is to be ignored.
    before = {n: signal.signal(n, interrupt) for n in numbers if signal.getsignal(n) is not signal.SIG_IGN}
    try:
        yield
    except KeyboardInterrupt:
        click.echo(shortened(f"\nWhat was done is saved in {out}: the same command goes on."), err=True)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _shown(quiet: bool) -> Iterator[Watcher]:
    """Show how far each model is: a table that changes on a terminal, a line for each change elsewhere."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        from rich.live import Live

        from tseval.cli.console import Console

        with Live(console=Console(), auto_refresh=False) as live:
            yield lambda models: live.update(_picture(models), refresh=True)
    else:
        yield _Lines()


def _picture(models: Sequence[Progress]) -> Table:
    """Draw one line for each model."""
    from rich.table import Table
    from rich.text import Text

    picture = Table.grid(padding=(0, 2))
    picture.add_column(no_wrap=True)
    picture.add_column(no_wrap=True)
    picture.add_column(no_wrap=True, overflow="ellipsis")
    for model in models:
        picture.add_row(Text(model.entry.name), model.stage, Text(model.said.partition("\n")[0]))
    return picture


class _Lines:
    """Says when a model comes to its next stage."""

    def __init__(self) -> None:
        self.stages: dict[str, str] = {}

    def __call__(self, models: Sequence[Progress]) -> None:
        for model in models:
            if self.stages.get(model.entry.name, "waiting") != model.stage:
                said = f": {model.said}" if model.stage == "done" else ""
                click.echo(f"{model.entry.name}: {model.stage}{said}", err=True)
            self.stages[model.entry.name] = model.stage
