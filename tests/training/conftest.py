"""A small text, and runs on it inside this process."""

import random

import pytest
import torch

from tseval.models.language_model import LanguageModel, Sizes
from tseval.models.vocabulary import Vocabulary
from tseval.training.language_model import Destination, train_language_model
from tseval.training.settings import Settings

WORDS = Vocabulary(("<eos>", "<unk>", "the", "author", "authors", "laughs", "laugh", "."), lowercase=True)


def stream(sentences):
    """Agreeing sentences as word ids: <eos>, then `the author laughs . <eos>` and so on."""
    draw = random.Random(sentences)
    ids = [0]
    for _ in range(sentences):
        ids += [2, *draw.choice([(3, 5), (4, 6)]), 7, 0]
    return torch.tensor(ids)


class Quiet:
    """A listener that remembers what it hears, and may act at a validation."""

    def __init__(self, at_validation=None):
        self.at_validation, self.started, self.validations = at_validation or {}, None, []

    def start(self, done, total):
        self.started = done, total

    def read(self, step, done, loss):
        pass

    def validated(self, step, perplexity, kept):
        self.validations.append((step, perplexity, kept))
        self.at_validation.get(step, lambda: None)()


@pytest.fixture
def train(tmp_path):
    """Train a small model; 17 windows an epoch."""

    def train(out="model.pt", arch="drnn", *, listener=None, resume=False, sizes=None, text=None, **settings):
        chosen = {"epochs": 2, "batch": 4, "window": 15, "learning_rate": 0.01, "clip": 1.0, "log_every": 5}
        settings = Settings(**chosen | settings)
        torch.manual_seed(settings.seed)
        shape = {"embedding": 6, "hidden": 10, "layers": 2, "dropout": 0.3} | (sizes or {})
        model = LanguageModel(Sizes(arch, len(WORDS), **shape))
        destination = Destination(tmp_path / out, {"command": "tseval train lm"}, resume=resume)
        text = text or (stream(200), stream(50))
        return train_language_model(model, WORDS, text, settings, destination, listener or Quiet())

    return train
