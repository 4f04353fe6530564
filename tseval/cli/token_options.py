"""Options of the commands that print the tokens of a text."""

from __future__ import annotations

import sys

import click

from tseval.cli.options import text_option

DRAWN = click.option("--format", "form", type=click.Choice(["picture", "tsv", "jsonl"]),
                     help="Format of the output: picture (bars), tsv or jsonl (default: picture on a "
                          "terminal, else tsv).",
)  # fmt: skip
TYPED_TEXT = text_option("as-written", "auto", of="the text for the model, by the rules of English")


def chosen_format() -> str:
    """Return the default format: a picture on a terminal, rows elsewhere."""
    return "picture" if sys.stdout.isatty() else "tsv"
