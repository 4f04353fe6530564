"""`tseval surprisal`."""

from __future__ import annotations

import sys
from typing import TextIO

import click

from tseval.cli.model_options import model_options, open_chosen, say_warnings
from tseval.cli.options import read_open_text
from tseval.cli.progress import busy
from tseval.errors import SuiteError

SURPRISAL_FORMATS = ("picture", "tsv", "jsonl")


@click.command(help="Print the surprisal of every token of a text.")
@click.argument("file", type=click.File(encoding="utf-8", errors="strict"), default="-")
@model_options
@click.option("--words", is_flag=True, help="One row a word, not one a token.")
@click.option("--format", "form", type=click.Choice(SURPRISAL_FORMATS),
              help="Default: picture on a terminal, else tsv.")  # fmt: skip
def surprisal_command(file: TextIO, spec: str, model_args: str, words: bool, form: str | None, device: str) -> None:
    """Read FILE, or standard input: tokenised text, one sentence a line."""
    sentences = _read(file)
    from tseval.scoring.surprisal import as_picture, as_rows, surprisals, word_surprisals

    model = open_chosen(spec, model_args, device)
    with busy(f"asking {model.card.name}"):
        found = (word_surprisals if words else surprisals)(model, list(sentences.values()))
    form = form or chosen_format()
    if form == "picture":
        click.echo(as_picture(found), nl=False)
    else:
        click.echo(as_rows(list(sentences), found, form), nl=False)
    say_warnings(model)


def chosen_format() -> str:
    """Draw on a terminal, write rows elsewhere."""
    return "picture" if sys.stdout.isatty() else "tsv"


def _read(file: TextIO) -> dict[int, str]:
    """Give the sentences by the number of their line; blank lines are passed over."""
    lines = read_open_text(file).split("\n")
    sentences = {number: line for number, line in enumerate(lines, 1) if line.strip()}
    if not sentences:
        raise SuiteError(f"{file.name}: no sentences.\n  Give text, one sentence a line.")
    return sentences
