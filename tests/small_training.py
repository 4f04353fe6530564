"""A small training text, a grammar for evaluation, and a listener for trainings in this process."""

import random
import signal

import pandas as pd
import torch

from tseval.models import Vocabulary
from tseval.models.checkpoint import load_checkpoint

WORDS = Vocabulary(("<eos>", "<unk>", "the", "author", "authors", "laughs", "laugh", "."), lowercase=True)

GRAMMAR = """---
construction: Simple
phenomenon: Agreement
dependency: short
lexicon: lexicon.yaml
slots:
  subject: noun.animate
  main: verb.main
---
grammatical: the {{ subject }} {{ main | agree(subject) }}
ungrammatical: the {{ subject }} {{ main | disagree(subject) }}
"""


def write_agreement(folder, *nouns):
    """Write the grammar `agree.jinja` with these nouns and the verb *laugh*."""
    (folder / "agree.jinja").write_text(GRAMMAR)
    (folder / "lexicon.yaml").write_text(f"noun:\n  animate: [{', '.join(nouns)}]\nverb:\n  main: [laughs]\n")


def stream(sentences):
    """Return agreeing sentences as word ids: <eos>, then `the author laughs . <eos>` and so on."""
    draw = random.Random(sentences)
    ids = [0]
    for _ in range(sentences):
        ids += [2, *draw.choice([(3, 5), (4, 6)]), 7, 0]
    return torch.tensor(ids)


class Quiet:
    """A listener that records what it receives and can act at a validation."""

    def __init__(self, at_validation=None):
        self.at_validation, self.started, self.validations = at_validation or {}, None, []
        self.notes = []

    def start(self, done, total):
        self.started = done, total

    def read(self, step, done, loss):
        pass

    def noted(self, line):
        self.notes.append(line)

    def validated(self, step, perplexity, kept):
        self.validations.append((step, perplexity, kept))
        self.at_validation.get(step, lambda: None)()


def interrupt():
    signal.raise_signal(signal.SIGINT)


def rewrite(path, change):
    """Change the content of a torch file."""
    content = torch.load(path, weights_only=True)
    change(content)
    torch.save(content, path)


def curves(path):
    return pd.read_parquet(path).drop(columns="seconds")


def outcome(folder, name):
    return load_checkpoint(folder / f"{name}.pt").fingerprint, curves(folder / f"{name}.curves.parquet")


def assert_same(one, other):
    assert one[0] == other[0]
    pd.testing.assert_frame_equal(one[1], other[1], check_exact=True)
