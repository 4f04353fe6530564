"""`tseval train`: language models, classifiers, and the zoo of all architectures."""

from __future__ import annotations

import click

from tseval.cli.train.classifiers import grammaticality, number
from tseval.cli.train.language_model import curves, lm
from tseval.cli.train.zoo import zoo_command


@click.group()
def train_command() -> None:
    """Train models into checkpoints."""


for _one in (number, grammaticality, zoo_command, lm, curves):
    train_command.add_command(_one)
