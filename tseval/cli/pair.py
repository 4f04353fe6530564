"""`tseval pair`."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

import click

from tseval.cli.model_options import model_options, open_chosen, say_warnings
from tseval.cli.progress import busy
from tseval.cli.surprisal import SURPRISAL_FORMATS, chosen_format
from tseval.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.scoring.surprisal import Token


@click.command(help="Compare two sentences, token by token.")
@click.argument("good")
@click.argument("bad")
@model_options
@click.option("--format", "form", type=click.Choice(SURPRISAL_FORMATS),
              help="Default: picture on a terminal, else tsv.")  # fmt: skip
def pair_command(good: str, bad: str, spec: str, model_args: str, form: str | None, device: str) -> None:
    """Score GOOD and BAD, tokenised sentences, and say which the model prefers."""
    for name, sentence in (("GOOD", good), ("BAD", bad)):
        if not sentence.strip():
            raise SuiteError(f"{name} is empty: give two sentences")
        if any("\ud800" <= letter <= "\udfff" for letter in sentence):
            raise SuiteError(f"{name} is not UTF-8 text: give two sentences")
    from tseval.scoring.surprisal import as_picture, as_rows, surprisals

    model = open_chosen(spec, model_args, device)
    with busy(f"asking {model.card.name}"):
        found = surprisals(model, [good, bad])
    if (form or chosen_format()) == "picture":
        click.echo(as_picture(found))
    else:
        click.echo(as_rows(["good", "bad"], found, form or "tsv"), nl=False)
    click.echo(_verdict(*found), err=True)
    say_warnings(model)


def _verdict(good: Sequence[Token], bad: Sequence[Token]) -> str:
    """Say which is preferred; the same rule as in a run: strictly more probable."""
    if [token.token for token in good] == [token.token for token in bad]:
        return "undecidable: the two look the same to the model"
    if good[0].surprisal is None and good[0].token != bad[0].token:
        return "undecidable: the two begin with different tokens, which the model leaves unscored"
    sums = [fsum(t.surprisal for t in tokens if t.surprisal is not None) for tokens in (good, bad)]
    difference = sums[1] - sums[0]
    if difference == 0:
        return "a tie: both are equally probable, which counts as wrong"
    return f"{'good' if difference > 0 else 'bad'} is preferred, by {abs(difference):.3f} nats"
