"""`tseval train`: a group of commands. Its help does not import torch."""

from __future__ import annotations

import click

from tseval.cli.commands import TRAININGS
from tseval.cli.groups import Group


@click.group(cls=Group, summaries=TRAININGS,
             purposes={"Language models": ("lm", "zoo"), "Classifiers": ("number", "grammaticality"),
                       "Figures": ("curves",)})  # fmt: skip
def train_command() -> None:
    """Train language models and classifiers."""
