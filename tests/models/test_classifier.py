"""Classifiers: their output at the last word, and the task data in a checkpoint."""

import hashlib
import json
import random

import numpy as np
import pytest
import torch
from equations import class_logprobs
from small_training import rewrite

from tseval.errors import ModelError
from tseval.models import Vocabulary
from tseval.models.cells import CELLS
from tseval.models.checkpoint import load_checkpoint, save_checkpoint
from tseval.models.network import Classifier, LanguageModel, Sizes

WORDS = Vocabulary(("<eos>", "<unk>", "the", "author", "authors", "near"), lowercase=True)


def make(arch, task="number", **sizes):
    torch.manual_seed(0)
    shape = {"embedding": 4, "hidden": 6, "layers": 2, **sizes}
    return Classifier(Sizes(arch, len(WORDS), task=task, **shape), initial_range=2.0).eval()


def save(path, model):
    save_checkpoint(path, model, WORDS, training={}, validation_perplexity=None)


@pytest.mark.parametrize("arch", sorted(CELLS))
def test_the_answer_is_that_of_the_equations_whatever_stands_behind_the_words(arch):
    model, draw = make(arch), random.Random(1)
    texts = [[draw.randrange(len(WORDS)) for _ in range(length)] for length in (1, 7, 3, 7, 2)]
    weights = {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}
    expected = np.stack([class_logprobs(model.sizes.to_mapping(), weights, text) for text in texts])
    for _ in range(2):
        padded = [text + [draw.randrange(len(WORDS)) for _ in range(9 - len(text))] for text in texts]
        logits = model.classify(torch.tensor(padded).T, torch.tensor([len(text) for text in texts]))
        np.testing.assert_allclose(logits.log_softmax(1).detach(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("arch", sorted(CELLS))
def test_padding_gets_no_gradient(arch):
    model = make(arch)
    words = torch.tensor([[2, 2], [3, 4], [5, 5]])
    model.classify(words, torch.tensor([2, 1])).sum().backward()
    reached = model.embedding.weight.grad.abs().sum(1) > 0
    assert reached.tolist() == [False, False, True, True, False, False]


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_a_saved_classifier_comes_back_with_its_task(tmp_path, suffix):
    path = tmp_path / f"model{suffix}"
    model = make("drnn", "grammaticality", options={"activation": "relu"})
    save(path, model)
    loaded = load_checkpoint(path).model
    assert isinstance(loaded, Classifier)
    assert loaded.sizes == model.sizes
    words, lengths = torch.tensor([[2], [3]]), torch.tensor([2])
    assert torch.equal(loaded.classify(words, lengths), model.classify(words, lengths))


def test_the_fingerprint_covers_the_task(tmp_path):
    save(tmp_path / "number.pt", make("gru"))
    save(tmp_path / "judge.pt", make("gru", "grammaticality"))
    number, judge = (load_checkpoint(tmp_path / name).fingerprint for name in ("number.pt", "judge.pt"))
    assert number != judge
    rewrite(tmp_path / "number.pt", lambda content: content["sizes"].update(task="grammaticality"))
    with pytest.raises(ModelError, match="does not match its stored checksum"):
        load_checkpoint(tmp_path / "number.pt")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "numbers"}, "unknown task 'numbers'. Did you mean 'number'?"),
        ({"task": ["number"]}, "unknown task"),
        (
            {"task": None},
            r"'output.weight' has the shape \(2, 4\), but the sizes of the model need the "
            r"shape \(6, 4\)",
        ),
        ({"tied": True}, "a classifier has no output words, so its weights cannot be tied"),
    ],
)
def test_a_task_that_cannot_be_gets_a_message(tmp_path, changes, message):
    path = tmp_path / "model.pt"
    save(path, make("gru", hidden=4))
    rewrite(path, lambda content: content["sizes"].update(changes))
    with pytest.raises(ModelError, match=message) as error:
        load_checkpoint(path)
    assert str(path) in str(error.value)


def test_a_checkpoint_from_before_its_cell_had_an_option_keeps_its_fingerprint(tmp_path):
    # Written as tseval did before the SRN had options: without options, and a digest without them.
    torch.manual_seed(0)
    model = LanguageModel(Sizes("srn", len(WORDS), embedding=4, hidden=6, layers=1)).eval()
    path = tmp_path / "old.pt"
    save(path, model)
    content = torch.load(path, weights_only=True)
    del content["sizes"]["options"]
    sizes = json.dumps([content["sizes"], [list(WORDS.words), True]], sort_keys=True)
    digest = hashlib.sha256(sizes.encode())
    for name, tensor in sorted(content["weights"].items()):
        digest.update(f"\n{name} torch.float32 {list(tensor.shape)}\n".encode() + tensor.numpy().tobytes())
    torch.save({**content, "fingerprint": digest.hexdigest()}, path)
    loaded = load_checkpoint(path)
    assert loaded.fingerprint == digest.hexdigest()
    assert loaded.model.sizes.options == {"activation": "tanh"}
