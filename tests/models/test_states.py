"""State and training files give their module's own numbers; tseval never guesses between two readings."""

import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from in_process import run_process, succeed
from torch import nn

import tseval
from tseval.errors import ModelError
from tseval.scoring.scorers import scorer_for

SENTENCES = ["the author laughs .", "the guard near an author laughs .", "an guard laugh ."]
GRID = [
    f"{kind}-{layers}{tied}-{form}"
    for kind in ("LSTM", "GRU", "RNN_TANH", "RNN_RELU")
    for layers in (1, 2)
    for tied in ("", "-tied")
    for form in ("state", "old", "ddp", "compiled", "training", "lightning")
    if form == "state" or (layers, tied) == (2, "")
]
OTHERS = [
    *(
        f"{name}{words}"
        for name in ("projected", "usual", "without-biases", "cells", "awd")
        for words in ("", "-words")
    ),
    "bfloat16",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Save models in a separate process, with the numbers of their own forward pass."""
    made = tmp_path_factory.mktemp("states")
    run_process(["python", Path(__file__).parent / "states" / "write.py", made], check=True)
    return made


@pytest.fixture(scope="module")
def expected(folder):
    return json.loads((folder / "expected.json").read_text())


def hold(folder, expected, name, arguments):
    model: Any = tseval.load_model(folder / f"{name}.pt", arguments)
    scored = scorer_for(model).score(pa.array(sorted(SENTENCES)))["words"].to_pylist()
    for sentence, words in zip(sorted(SENTENCES), scored, strict=True):
        np.testing.assert_allclose(words, expected[name][SENTENCES.index(sentence)], atol=1e-5)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("name", [*GRID, *OTHERS])
def test_a_file_scores_as_the_module_that_it_was_saved_from(folder, expected, name):
    arguments = {}
    if not name.endswith(("training", "words")):  # these have their words
        arguments["vocab"] = str(folder / "words.txt")
    if name.startswith("RNN") and not name.endswith(("training", "lightning")):  # these state their kind
        arguments["nonlinearity"] = "relu" if "RELU" in name else "tanh"
    model = hold(folder, expected, name, arguments)
    assert model.model.sizes.tied == ("tied" in name or name.startswith("awd"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [{"vocab": name} for name in ("words.txt", "words.json", "ids.json", "dictionary.pkl", "dictionary.pth")]
    + [{"vocab_from": "train.txt,valid.txt"}],
    ids=str,
)
def test_words_are_read_in_every_form(folder, expected, monkeypatch, arguments):
    monkeypatch.chdir(folder)
    hold(folder, expected, "LSTM-2-state", arguments)


@pytest.mark.slow
def test_a_command_takes_several_texts_and_says_how_the_file_was_read(folder, monkeypatch):
    monkeypatch.chdir(folder)
    arguments = "vocab_from=train.txt,valid.txt,lowercase=false"
    model = "--model", "GRU-1-state.pt", "--model-args", arguments
    done = succeed("pair", "the author laughs .", "the author laugh .", *model, cwd=folder)
    read = (
        "GRU-1-state.pt: GRU of 1 layer of 5; 9 words of train.txt,valid.txt, case kept, "
        "<eos> before each sentence, "
    )
    assert read in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vocab.txt", "vocab.json", "meta.pkl"])
def test_words_beside_the_checkpoint_are_found_and_named(folder, expected, tmp_path, name):
    source = {"vocab.txt": "words.txt", "vocab.json": "ids.json", "meta.pkl": "dictionary.pkl"}[name]
    (tmp_path / name).write_bytes((folder / source).read_bytes())
    (tmp_path / "usual.pt").write_bytes((folder / "usual.pt").read_bytes())
    model = hold(tmp_path, expected, "usual", {})
    assert name in model.card.details["reading"]


@pytest.mark.slow
def test_a_converted_file_scores_alike(folder, tmp_path):
    for name in ("awd-words", "projected-words", "cells-words"):
        succeed("convert", folder / f"{name}.pt", "-o", tmp_path / f"{name}.pt", cwd=tmp_path)
        models = [tseval.load_model(place / f"{name}.pt") for place in (folder, tmp_path)]
        assert models[0].card.fingerprint == models[1].card.fingerprint
        one, other = (scorer_for(model).score(pa.array(sorted(SENTENCES)))["words"] for model in models)
        assert one.to_pylist() == other.to_pylist()


def lstm(vocabulary=8, width=6, hidden=6, **options):
    torch.manual_seed(1)
    model = nn.Module()
    model.encoder, model.rnn = nn.Embedding(vocabulary, width), nn.LSTM(width, hidden, **options)
    model.decoder = nn.Linear(hidden, vocabulary)
    return model


WORDS = ["<pad>", "<s>", "<UNK>", "the", "author", "laughs", "laugh", "."]


def test_start_unknown_and_case_are_found_in_the_words_and_can_be_chosen(tmp_path):
    torch.save({"model": lstm().state_dict(), "vocab": WORDS}, tmp_path / "model.pt")
    found = tseval.load_model(tmp_path / "model.pt").card.protocol
    assert (found["start"], found["unknown"], found["lowercase"]) == ("<s>", "<UNK>", True)
    chosen = {"bos": "<pad>", "unk": ".", "lowercase": "false"}
    found = tseval.load_model(tmp_path / "model.pt", chosen).card.protocol
    assert (found["start"], found["unknown"], found["lowercase"]) == ("<pad>", ".", False)


def test_without_a_word_for_unknown_ones_an_item_that_has_one_is_undecidable(tmp_path):
    words = [word if word != "<UNK>" else "guard" for word in WORDS]
    torch.save({"model": lstm().state_dict(), "vocab": words}, tmp_path / "model.pt")
    (tmp_path / "pairs.csv").write_text(
        "sentence_good,sentence_bad\n"
        "the author laughs .,the author laugh .\nthe judge laughs .,the judge laugh .\n"
    )
    done = succeed("run", "--model", "model.pt", "--suite", "pairs.csv", "--out", "run", cwd=tmp_path)
    assert "2 sentences are with words that model does not know, the first 'the judge laugh .'" in done.stderr
    run = tseval.read_run(tmp_path / "run")
    assert run.verdicts["undecidable"].to_list() == [False, True]


def with_two_equal_matrices():
    state = lstm().state_dict()
    del state["decoder.bias"]
    return OrderedDict(
        (name.replace("encoder", "a").replace("decoder", "b"), value) for name, value in state.items()
    )


def test_two_readings_are_told_apart_by_an_argument_alone(tmp_path):
    state = with_two_equal_matrices()
    torch.save({"model": state, "vocab": WORDS}, tmp_path / "model.pt")
    assert "output=b.weight, or output=a.weight" in refusal(tmp_path / "model.pt")
    scores = []
    for name in ("a.weight", "b.weight"):
        model = tseval.load_model(tmp_path / "model.pt", {"output": name})
        scores.append(scorer_for(model).score(pa.array(["the author laughs ."]))["logprob"][0].as_py())
    assert abs(scores[0] - scores[1]) > 1e-3


def refusal(path, arguments=None):
    with pytest.raises(ModelError) as error:
        tseval.load_model(path, arguments)
    message = str(error.value)
    assert message.startswith(str(path))
    assert len(message) < 500
    return message


def changed(**tensors):
    state = lstm().state_dict()
    for name, tensor in tensors.items():
        state[name.replace("__", ".")] = tensor
    return state


def only(*parts):
    return {name: tensor for name, tensor in lstm().state_dict().items() if name.split(".")[0] in parts}


REFUSED = {
    "a transformer": (nn.TransformerEncoderLayer(4, 2).state_dict(), "self_attn.in_proj_weight (12, 4)"),
    "weights left over": (changed(gate__weight=torch.ones(6, 6)), "language model has: gate.weight (6, 6)"),
    "no output": (only("encoder", "rnn"), "no output matrix for its 8 words: no matrix has the shape (8, 6)"),
    "no embedding": (only("rnn"), "no word vectors of width 6"),
    "an output that does not fit": (changed(decoder__weight=torch.ones(7, 6)), "decoder.weight (7, 6)"),
    "a layer without a part": (
        {name: tensor for name, tensor in lstm().state_dict().items() if "weight_hh" not in name},
        "has no weight_hh",
    ),
    "bidirectional": (lstm(hidden=3, bidirectional=True).state_dict(), "(rnn.weight_ih_l0_reverse)"),
    "an optimizer alone": (torch.optim.Adam(lstm().parameters()).state_dict(), "state of an optimizer, but"),
    "an optimizer in a dictionary": (
        {"optimizer": torch.optim.Adam(lstm().parameters()).state_dict(), "epoch": 3},
        "state of an optimizer, but no model",
    ),
    "two models": (
        {"generator": lstm().state_dict(), "average": changed(decoder__bias=torch.ones(8)), "vocab": WORDS},
        "for example with --model-args state=generator",
    ),
    "two vocabularies": (
        {"net": lstm().state_dict(), "words": WORDS, "itos": WORDS[::-1]},
        "Add --model-args vocab=words, or vocab=itos",
    ),
    "too few words": ({"net": lstm().state_dict(), "words": WORDS[:7]}, "7 words, but the weights are for 8"),
    "no words": (lstm().state_dict(), "Add --model-args vocab=FILE"),
    "no start": (
        {"net": lstm().state_dict(), "words": ["a", "b", "c", "d", "e", "f", "g", "h"]},
        "--model-args bos=WORD",
    ),
    "NaN": (
        {"net": changed(decoder__bias=torch.full((8,), float("nan"))), "words": WORDS},
        "'output.bias' has NaN or infinite weights",
    ),
    "torch's RNN": (
        {"net": lstm().state_dict() | nn.ModuleDict({"rnn": nn.RNN(6, 6)}).state_dict(), "words": WORDS},
        "nonlinearity=tanh or --model-args nonlinearity=relu",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_language_model_or_not_told_gets_one_message(tmp_path, name):
    content, message = REFUSED[name]
    torch.save(content, tmp_path / "model.pt")
    assert message in refusal(tmp_path / "model.pt")


def test_an_argument_of_another_kind_is_named(tmp_path):
    torch.save({"net": lstm().state_dict(), "words": WORDS}, tmp_path / "model.pt")
    with pytest.raises(ModelError, match=r"--model-args vocabulary: .* Did you mean 'vocab'"):
        tseval.load_model(tmp_path / "model.pt", {"vocabulary": "words.txt"})


class Stranger:
    """A user's class that is neither words nor settings."""


def test_an_object_of_a_strange_class_is_refused_and_named(tmp_path):
    torch.save({"net": lstm().state_dict(), "words": WORDS, "extra": Stranger()}, tmp_path / "model.pt")
    message = refusal(tmp_path / "model.pt")
    assert "tseval refuses this file and ran none of its code: its Python pickle refers to '" in message
    assert "Stranger', but a word-level language model never needs that" in message
    assert "torch.save({'model': model.state_dict(), 'vocab': words}, FILE)" in message


def test_a_module_that_holds_itself_is_one_message(tmp_path):
    model = lstm()
    model._modules["again"] = model
    torch.save(model, tmp_path / "model.pt")
    assert "its data are nested too deeply to be read" in refusal(tmp_path / "model.pt")
