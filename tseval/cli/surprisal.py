"""`tseval surprisal`."""

from __future__ import annotations

import sys
from typing import TextIO

import click

from tseval.cli.model_options import model_options, open_chosen
from tseval.errors import SuiteError
from tseval.files import bounded_lines

FORMATS = ("picture", "tsv", "jsonl")


@click.command(help="Print the surprisal of every token of a text.")
@click.argument("file", type=click.File(encoding="utf-8", errors="strict"), default="-")
@model_options
@click.option("--words", is_flag=True, help="One row a word: the sum over its tokens.")
@click.option("--format", "form", type=click.Choice(FORMATS),
              help="Default: picture on a terminal, else tsv.")  # fmt: skip
def command(file: TextIO, spec: str, model_args: str, words: bool, form: str | None, device: str) -> None:
    """Read FILE, or standard input: tokenised text, one sentence a line."""
    sentences = _read(file)
    from tseval.report.surprisal import as_picture, as_rows
    from tseval.scoring.surprisal import by_word, surprisals

    found = surprisals(open_chosen(spec, model_args, device), list(sentences.values()))
    if words:
        found = [by_word(tokens) for tokens in found]
    form = form or chosen_format()
    if form == "picture":
        click.echo(as_picture(found), nl=False)
    else:
        click.echo(as_rows(list(sentences), found, form), nl=False)


def chosen_format() -> str:
    """Draw on a terminal, write rows elsewhere."""
    return "picture" if sys.stdout.isatty() else "tsv"


def _read(file: TextIO) -> dict[int, str]:
    """Give the sentences by the number of their line; blank lines are passed over.

    A pipe, or what is typed, is meant here; it may not end, so it is read line by line.
    """
    try:
        lines = [line.removesuffix("\n") for line in bounded_lines(file, file.name)]
    except UnicodeDecodeError as error:
        raise SuiteError(f"{file.name}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    sentences = {number: line for number, line in enumerate(lines, 1) if line.strip()}
    if not sentences:
        raise SuiteError(f"{file.name}: no sentences.\n  Give text, one sentence a line.")
    return sentences
