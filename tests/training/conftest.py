"""Trainings on a small text in this process."""

import pytest
import torch
from small_training import WORDS, Quiet, stream

from tseval.models.network import LanguageModel, Sizes
from tseval.training.language_model import train_language_model
from tseval.training.loop import Destination
from tseval.training.settings import Settings


@pytest.fixture
def train(tmp_path):
    """Return a function that trains a small model; an epoch has 17 windows."""

    def train(out="model.pt", arch="drnn", *, listener=None, resume=False, sizes=None, text=None, **settings):
        chosen = {"epochs": 2, "batch": 4, "window": 15, "learning_rate": 0.01, "clip": 1.0, "log_every": 5}
        how = Settings(**chosen | settings)
        torch.manual_seed(how.seed)
        shape = {"embedding": 6, "hidden": 10, "layers": 2, "dropout": 0.3} | (sizes or {})
        model = LanguageModel(Sizes(arch, len(WORDS), **shape))
        destination = Destination(tmp_path / out, {"command": "tseval train lm"}, resume=resume)
        text = text or (stream(200), stream(50))
        return train_language_model(model, WORDS, text, how, destination, listener or Quiet())

    return train
