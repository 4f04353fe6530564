import pytest
import torch

from tseval.adapters.native import NativeModel
from tseval.models import Vocabulary
from tseval.models.checkpoint import Checkpoint
from tseval.models.network import LanguageModel, Sizes


@pytest.fixture
def make_model():
    """Return a function that makes a native model with random weights over a vocabulary."""

    def make(words, arch="lstm", *, lowercase=False, spread=1.0, **sizes):
        torch.manual_seed(0)
        vocabulary = Vocabulary(("<eos>", "<unk>", *words), lowercase)
        shape = {"embedding": 16, "hidden": 24, "layers": 2, **sizes}
        model = LanguageModel(Sizes(arch, len(vocabulary), **shape))
        for parameter in model.output.parameters():
            torch.nn.init.uniform_(parameter, -spread, spread)
        checkpoint = Checkpoint(model.eval(), vocabulary, f"{arch}-test", {}, None)
        return NativeModel(arch, checkpoint, torch.device("cpu"))

    return make
