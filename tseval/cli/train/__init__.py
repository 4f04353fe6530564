"""`tseval train`: language models, classifiers, and the zoo of all architectures."""

from __future__ import annotations

import click

from tseval.cli.train.classifiers import grammaticality, number
from tseval.cli.train.language_model import curves, lm
from tseval.cli.train.zoo import command as zoo


@click.group()
def command() -> None:
    """Train models into checkpoints."""


for _one in (number, grammaticality, zoo, lm, curves):
    command.add_command(_one)
