"""What is attacked: a file of each kind, small models, runs and a zoo that nobody disturbed."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import click

from attacks import files, models
from attacks.commands import die_at, tseval

if TYPE_CHECKING:
    from pathlib import Path

RUN = ("run", "--model", "model.pt", "--suite", "pairs.tsv", "--quiet")
_SHAPE = (
    "--arch",
    "srn",
    "--embedding",
    "8",
    "--hidden",
    "8",
    "--epochs",
    "2",
    "--save-every",
    "0.001",
    "--quiet",
)
TRAIN = ("train", "lm", *_SHAPE, "--no-figure", "--train", "text.txt", "--valid", "text.txt")
CLASSIFY = ("train", "number", *_SHAPE, "--data", "examples.parquet", "--min-count", "1")
ZOO = ("train", "zoo", "--corpus", "corpus", "--recipe", "recipe.yaml", "--arch", "srn", "--quiet")
PUBLISH = (*ZOO, "--out", "zoo", "--publish", "published")
# A run of the grammar, whose expansion is kept in the cache.
EXPANDED = ("run", "--model", "model.pt", "--suite", "./grammar", "--quiet")
# The same two runs, by two workers.
SUITES = ("--suite", "pairs.tsv", "--suite", "./grammar")
SWEEP = ("sweep", "--model", "model.pt", *SUITES, "--workers", "2", "--quiet")
PAIR = ("pair", "the dog laughs .", "the dog laugh .", "--format", "tsv", "--model")

# A board over the pairs, with an entry.
BOARD = "submitted"

UNDISTURBED = (
    (*TRAIN, "--out", "model.pt"),
    (*TRAIN, "--out", "model.safetensors"),
    (*CLASSIFY, "--out", "classifier.pt"),
    (*RUN, "--out", "whole"),
    (*EXPANDED, "--out", "expanded"),
    (*RUN, "--precision", "bfloat16", "--out", "expanded-pairs"),
    ("board", "new", BOARD, "--suite", "../pairs.tsv"),
    ("board", "add", BOARD, "whole", "--name", "one"),
    ("board", "write", BOARD),
)


def prepare(here: Path, with_zoo: bool) -> None:
    """Fill a folder.

    Raises:
        click.ClickException: A command did not end as it should.
    """
    files.write(here)
    models.write(here)
    for words in (*UNDISTURBED, *([PUBLISH] if with_zoo else [])):
        done = tseval(*words, cwd=here)
        if done.code:
            raise click.ClickException(f"tseval {' '.join(words)} failed: {done.err}")
    _interrupt((*RUN, "--out", "half"), here, "half/parts/*.parquet")
    _interrupt((*TRAIN, "--out", "half.pt"), here, "half.pt.resume")


def _interrupt(words: tuple[str, ...], here: Path, left: str) -> None:
    """Kill a command as soon as it has left a file, always at the same place."""
    for call in count(1):
        done = tseval(*words, "--resume", cwd=here, before=die_at(call))
        if any(here.glob(left)):
            return
        if done.code == 0:
            raise click.ClickException(f"tseval {' '.join(words)} never left {left}")
