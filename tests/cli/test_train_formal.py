"""`tseval train lm --suite`: text from a formal language, and the papers' settings for it."""

import math
from typing import Any

import pytest
from in_process import call, refuse, refused, succeeded

from tseval.models.checkpoint import load_checkpoint
from tseval.models.network import count_parameters


def train(cwd, suite, *extra, arch="lstm", out="model.pt"):
    command = "train", "lm", "--suite", suite, "--arch", arch, "--out", out, "--no-figure"
    return call(*command, *extra, cwd=cwd)


SMALL = [*("--embedding", 12, "--hidden", 12, "--layers", 1, "--dropout", 0)]
SMALL += "--epochs", 3, "--learning-rate", 0.02, "--clip", 5


def entropy_of_cross_serial(k):
    """Return nats a token of uniform strings of C_k, with `<eos>`: only the string is a choice."""
    lengths = [2 * (m + n) + 1 for m in range(k) for n in range(k - m)]
    return math.log(len(lengths)) / (sum(lengths) / len(lengths))


@pytest.mark.slow
def test_a_model_learns_the_language_it_is_shown(tmp_path):
    suite = "cross_serial(3,train=1000,valid=500)"
    succeeded(train(tmp_path, suite, "--batch", 20, *SMALL, "--epochs", 15))
    checkpoint: Any = load_checkpoint(tmp_path / "model.pt")
    # The validation strings are a sample, so their entropy differs by some per cent.
    assert math.log(checkpoint.validation_perplexity) == pytest.approx(entropy_of_cross_serial(3), rel=0.05)
    assert checkpoint.vocabulary.words == ("<eos>", "<unk>", "a", "b", "c", "d")
    files = checkpoint.training["files"]
    assert [file["name"] for file in files] == [f"{suite} train", f"{suite} valid"]
    assert checkpoint.training["settings"]["whole_lines"]


def test_the_same_command_gives_the_same_weights(tmp_path):
    for out in ("a.pt", "b.pt"):
        succeeded(train(tmp_path, "dyck(2,3,train=3000,valid=500)", *SMALL, out=out))
    a, b = (load_checkpoint(tmp_path / name) for name in ("a.pt", "b.pt"))
    assert a.fingerprint == b.fingerprint
    assert a.training["files"] == b.training["files"]


# Parameters as printed in the paper; torch's second bias adds 4n to those of the LSTM.
@pytest.mark.parametrize(
    ("arch", "hidden", "parameters"),
    [("urn", 32, 6348), ("lstm", 8, 924 + 4 * 8)],
)
def test_the_models_of_bernardy_and_lappin_have_their_sizes(tmp_path, arch, hidden, parameters):
    barely = "--preset", "bernardy2022-dyck", "--hidden", hidden, "--max-tokens", 1
    suite = "generalised_dyck(train=512,valid=8)"
    succeeded(train(tmp_path, suite, *barely, arch=arch))
    checkpoint: Any = load_checkpoint(tmp_path / "model.pt")
    assert count_parameters(checkpoint.model) == parameters
    settings = checkpoint.training["settings"]
    assert (settings["learning_rate"], settings["batch"], settings["epochs"]) == (0.01, 512, 100)


@pytest.mark.parametrize(
    ("k", "m", "given", "hidden"),
    [(2, 3, (), 6), (128, 5, (), 100), (2, 3, ("--hidden", 7), 7)],
)
def test_the_models_of_hewitt_have_their_sizes_unless_others_are_given(tmp_path, k, m, given, hidden):
    barely = "--preset", "hewitt2020", "--max-tokens", 1
    succeeded(train(tmp_path, f"dyck({k},{m},train=2000,valid=100)", *barely, *given))
    checkpoint: Any = load_checkpoint(tmp_path / "model.pt")
    assert (checkpoint.model.sizes.embedding, checkpoint.model.sizes.hidden) == (2 * k + 10, hidden)
    settings = checkpoint.training["settings"]
    assert (settings["learning_rate"], settings["batch"], settings["schedule"]) == (0.01, 10, "anneal")
    assert settings["anneal_factor"] == 2


@pytest.mark.parametrize(
    ("suite", "extra", "message"),
    [
        ("dyck(2,3)", ("--train", "train.txt"),
         "which has its own text and vocabulary. Leave out --train."),
        ("cross_serial(8)", ("--preset", "hewitt2020"), "from a Dyck language. Add the language, such as "
                                                        "--suite 'dyck("),
    ],
)  # fmt: skip
def test_bad_combinations_get_one_message(tmp_path, suite, extra, message):
    assert message in refused(train(tmp_path, suite, *extra)).stderr
    assert not (tmp_path / "model.pt").exists()


def test_without_any_text_both_ways_to_give_it_are_named(tmp_path):
    result = refuse("train", "lm", "--arch", "lstm", "--out", "model.pt", "--train", "a.txt", cwd=tmp_path)
    assert "Add --train FILE and --valid FILE. For a formal language, add --suite LANGUAGE" in result.stderr
