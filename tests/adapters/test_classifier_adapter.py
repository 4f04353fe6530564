"""Classifiers as models of sentences that end in a label."""

import pyarrow as pa
import pytest
import torch
from equations import class_logprobs

from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.models import Vocabulary
from tseval.models.cells import CELLS
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import TASKS, Classifier, Sizes
from tseval.scoring.protocol import RecurrentModel
from tseval.scoring.scorers import scorer_for

WORDS = Vocabulary(("<eos>", "<unk>", "the", "authors", "near", "guards"), lowercase=True)


@pytest.fixture
def open_classifier(tmp_path):
    def open_one(arch="drnn", task="number"):
        torch.manual_seed(0)
        model = Classifier(Sizes(arch, len(WORDS), 4, 6, 2, task=task), initial_range=2.0).eval()
        path = tmp_path / f"{task}.pt"
        record = {"validation_accuracy": 0.75}
        save_checkpoint(path, model, WORDS, training=record, validation_perplexity=None)
        return open_model(path), model

    return open_one


def score(model, *sentences):
    return scorer_for(model).score(pa.array(sorted(sentences), pa.string()))


@pytest.mark.parametrize("arch", sorted(CELLS))
def test_a_label_has_the_log_probability_of_its_class_and_a_word_none(open_classifier, arch):
    model, network = open_classifier(arch)
    assert isinstance(model, RecurrentModel)
    weights = {name: tensor.double().numpy() for name, tensor in network.state_dict().items()}
    texts = {"The": [2], "the authors": [2, 3], "the authors admire guards": [2, 3, 1, 5]}
    scored = score(model, *(f"{text} {label}" for text in texts for label in TASKS["number"].labels))
    for row in scored.to_pylist():
        text, _, label = row["sentence"].rpartition(" ")
        classes = class_logprobs(network.sizes.to_mapping(), weights, texts[text])
        expected = classes[TASKS["number"].labels.index(label)]
        assert row["words"][-1] == row["logprob"] == pytest.approx(expected, abs=1e-5)
        assert not any(row["words"][:-1])
        assert row["seen"] == row["sentence"].lower().replace("admire", "<unk>")
        assert row["n_unknown"] == ("admire" in text)


def test_the_card_says_what_was_asked_and_how_the_model_starts(open_classifier):
    model, _ = open_classifier(task="grammaticality")
    assert model.card.protocol["task"] == "grammaticality"
    assert model.card.protocol["start"] == "none"
    assert model.card.details["validation_accuracy"] == 0.75
    assert model.card.details["validation_perplexity"] is None


@pytest.mark.parametrize(
    ("task", "sentence", "method"),
    [
        ("number", "the authors", "SUITE:number or SUITE:number_profile"),
        ("number", "the authors <grammatical>", "SUITE:number or SUITE:number_profile"),
        ("number", "the <plural> authors", "SUITE:number or SUITE:number_profile"),
        ("number", "the <plural> authors <plural>", "SUITE:number or SUITE:number_profile"),
        ("grammaticality", "the authors <plural>", "SUITE:judgement or SUITE:judgement_both"),
    ],
)
def test_a_sentence_that_does_not_end_in_the_one_label_is_refused(open_classifier, task, sentence, method):
    model, _ = open_classifier(task=task)
    right = f"guards {TASKS[task].labels[0]}"
    with pytest.raises(ModelError) as error:
        score(model, right, sentence)
    labels = " or ".join(TASKS[task].labels)
    assert str(error.value) == (
        f"{task} is a classifier ({task}): it reads only sentences that end in {labels}, not {sentence!r}.\n"
        f"  Use the suite {method}."
    )
