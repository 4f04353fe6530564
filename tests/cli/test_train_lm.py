"""`tseval train lm`, as users call it, on small text whose best perplexity is known."""

import math
import os
import random
import re
import shutil
import subprocess
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from in_process import call, installed, refused, run_process, succeed, succeeded
from small_training import assert_same, outcome, write_agreement
from systems import needs_posix

from tseval.models.cells import CELLS
from tseval.models.checkpoint import load_checkpoint
from tseval.runs import read_run
from tseval.training.corpus import Columns, columns, encode_text
from tseval.training.validation import mean_loss


def train(cwd, *extra, out="model.pt", arch="lstm", command_only=False, by=call):
    small = "--embedding 16 --hidden 16 --layers 1 --dropout 0 --epochs 4 --batch 8"
    small += " --learning-rate 0.02 --clip 1 --no-figure"
    files = "--train", "train.txt", "--valid", "valid.txt", "--out", out
    command = "train", "lm", "--arch", arch, *files, *small.split(), *map(str, extra)
    return ["tseval", *command] if command_only else by(*command, cwd=cwd)


@pytest.fixture
def corpus(tmp_path):
    """Write sentences of one of four nouns, uniformly, and a verb that agrees with it."""
    draw = random.Random(0)
    pairs = ["author laughs", "pilot laughs", "authors laugh", "pilots laugh"]
    for name, size in (("train.txt", 1500), ("valid.txt", 400)):
        (tmp_path / name).write_text("".join(f"the {draw.choice(pairs)} .\n" for _ in range(size)))
    return tmp_path


ENTROPY = math.log(4) / 5  # nats a token: one token of five is a free choice of four


@pytest.mark.slow
@pytest.mark.parametrize("arch", sorted(CELLS.keys() - {"urn"}))
def test_every_architecture_learns_agreement_to_the_entropy_of_the_source(corpus, arch):
    # Models with noise, or with gates to learn first, take longer.
    epochs = {"eirnn": 12, "onlstm": 8}.get(arch, 4)
    succeeded(train(corpus, "--epochs", epochs, arch=arch))
    best = load_checkpoint(corpus / "model.pt").validation_perplexity
    assert best == pytest.approx(math.exp(ENTROPY), rel=0.02)


@pytest.mark.slowest
def test_the_urn_which_cannot_forget_learns_from_fresh_windows_only(corpus):
    settings = "--embedding", 28, "--hidden", 8, "--window", 10, "--epochs", 8
    for out, extra in (("carried.pt", ()), ("fresh.pt", ("--fresh-state",))):
        succeeded(train(corpus, *settings, *extra, out=out, arch="urn"))
    carried, fresh = (load_checkpoint(corpus / name) for name in ("carried.pt", "fresh.pt"))
    # Words without context have -(3 log 1/5 + 8/5 log 1/20)/5 ~ 1.9 nats. A window that starts within a
    # sentence loses at most the noun, one in ten words at log 4.
    assert math.log(carried.validation_perplexity) > 1.5
    assert math.log(fresh.validation_perplexity) < ENTROPY + math.log(4) / 10


def test_the_checkpoint_records_how_it_came_about(corpus):
    succeeded(train(corpus, "--stored", "float16"))
    checkpoint: Any = load_checkpoint(corpus / "model.pt")
    training = checkpoint.training
    assert training["command"].startswith("tseval train lm --arch lstm --train train.txt")
    assert [file["tokens"] for file in training["files"]] == [1500 * 5, 400 * 5]
    assert training["settings"]["learning_rate"] == 0.02
    assert len(training["course"]) >= 1
    # The recorded perplexity is that of the weights in the file; recompute it from the text.
    valid = columns(encode_text([corpus / "valid.txt"], checkpoint.vocabulary), 32)
    again = math.exp(mean_loss(checkpoint.model, Columns(valid, 7)))
    assert checkpoint.validation_perplexity == pytest.approx(again, rel=1e-5)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights_and_another_seed_others(corpus):
    for out, seed, by in (("a.pt", 1, installed), ("b.pt", 1, call), ("c.pt", 2, call)):
        succeeded(train(corpus, "--seed", seed, "--epochs", 1, out=out, by=by))
    a, b, c = (load_checkpoint(corpus / name).fingerprint for name in ("a.pt", "b.pt", "c.pt"))
    assert a == b != c


@pytest.mark.slow
def test_a_model_that_is_worse_than_guessing_is_pointed_out(corpus):
    lost, learnt = (
        train(corpus, "--learning-rate", rate, out=f"{rate}.pt", arch="srn") for rate in (20, 0.02)
    )
    n_words = len(load_checkpoint(corpus / "20.pt").vocabulary)
    assert f"; worse than guessing ({n_words}): lower --learning-rate" in lost.stderr
    assert learnt.returncode == lost.returncode == 0
    assert "guessing" not in learnt.stderr


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (("--tied", "--embedding", 8), "tied weights need equal embedding and hidden sizes"),
        (("--learning-rate", "nan"), "nan is not a finite number"),
        (("--hidden", 10**7), "does not fit into memory. Lower --hidden"),
        (("--min-count", 999_999), "no word of the training text occurs 999999 times"),
        (("--valid", "absent.txt"), "absent.txt: tseval cannot read this file (No such file or directory)"),
        (("--batch", 100_000), "too few for --batch 100000. Lower --batch"),
        (("--out", "train.txt"), "train.txt: this file exists"),
        (("--out", "absent/model.pt"), "the folder absent does not exist"),
        (("--arch", "lstn"), "'lstn' is not one of"),
        (
            ("--arch", "ablated-lstm", "--option", "alpha"),
            "NAME=VALUE. The cell ablated-lstm has no settings.",
        ),
        (("--option", "alpha"), "NAME=VALUE. The defaults of lstm: activation=tanh, projection=0."),
        (("--arch", "drnn", "--option", "initial_alpha=high"), "initial_alpha must be a number"),
        (("--eval-suite", "marvin_lin"), "Did you mean 'marvin_linzen'?"),
    ],
)
def test_bad_settings_get_one_message(corpus, extra, message):

    assert message in refused(train(corpus, *extra)).stderr
    assert not (corpus / "model.pt").exists()


def test_what_is_no_text_and_no_training_is_named(corpus):
    (corpus / "model.pt").write_text("the author laughs .")
    assert "model.pt: this is a text file, not a checkpoint" in refused(train(corpus, "--resume")).stderr
    (corpus / "train.txt").write_text("\n \n")
    assert (
        refused(train(corpus, out="other.pt")).stderr
        == "tseval: train.txt: the text has no words. Name a text file with one sentence a line.\n"
    )


def kill_mid_epoch(cwd, command, windows):
    """Start a training, and kill it when a resume file from the middle of an epoch exists."""
    resume = cwd / "killed.pt.resume"
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if resume.exists() and torch.load(resume, weights_only=True)["course"]["step"] % windows:
                process.kill()
                break
            time.sleep(0.02)
    assert process.returncode == -9, process.stdout
    return torch.load(resume, weights_only=True)["course"]["step"]


@pytest.mark.slow
def test_a_killed_training_resumes_to_the_bit_identical_checkpoint(corpus):
    (corpus / "train.txt").write_text((corpus / "train.txt").read_text() * 4)
    course = "--dropout 0.2 --optimiser sgd --learning-rate 20 --clip 0.25 --schedule anneal --epochs 2"
    settings = f"{course} --hidden 50 --save-every 0.05 --validate-every 75".split()
    succeeded(train(corpus, *settings, out="whole.pt"))
    command = train(corpus, *settings, out="killed.pt", command_only=True)
    windows = math.ceil((1500 * 4 * 5 // 8 - 1) / 35)
    step = kill_mid_epoch(corpus, command, windows)
    assert 0 < step < 2 * windows
    said = refused(train(corpus, *settings, out="killed.pt")).stderr
    assert (
        "killed.pt.resume: this file is the state of an interrupted training. To continue the training, add"
        in said
    )
    succeeded(train(corpus, *settings, "--resume", out="killed.pt"))
    assert_same(outcome(corpus, "whole"), outcome(corpus, "killed"))
    assert not (corpus / "killed.pt.resume").exists()


def test_a_finished_training_is_not_done_again(corpus):
    succeeded(train(corpus, "--epochs", 1, "--resume"))
    before = (corpus / "model.pt").read_bytes()
    again = succeeded(train(corpus, "--epochs", 1, "--resume"))
    assert "model.pt: the training is already finished; the model has the fingerprint" in again.stderr
    assert (corpus / "model.pt").read_bytes() == before
    other = refused(train(corpus, "--epochs", 1, "--resume", "--hidden", 8))
    assert "model.pt: this model was trained with hidden 16, but the command says 8." in other.stderr
    assert "model.pt: this file exists" in refused(train(corpus, "--epochs", 1)).stderr


@pytest.mark.slow
@needs_posix
def test_a_full_disk_is_one_message(corpus):
    # A limit on file sizes simulates a full disk.
    command = (
        "ulimit -f 4; exec tseval train lm --arch srn --train train.txt --valid valid.txt --out model.pt"
    )
    result = refused(
        run_process(["bash", "-c", f"{command} --embedding 16 --hidden 16 --epochs 1 --batch 8"], cwd=corpus)
    )
    assert "model.pt.resume: File too large" in result.stderr
    assert sorted(path.name for path in corpus.iterdir()) == ["train.txt", "valid.txt"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("--arch lstm --preset gulordava2018 --batch 8",
         {"embedding": 650, "hidden": 650, "layers": 2, "dropout": 0.2, "epochs": 40, "learning_rate": 20,
          "clip": 0.25, "optimiser": "sgd", "schedule": "anneal", "window": 35, "batch": 8}),
        ("--arch lstm --preset gulordava2018 --batch 8 --hidden 16 --dropout 0 --epochs 1 --clip 1",
         {"hidden": 16, "dropout": 0, "epochs": 1, "clip": 1, "optimiser": "sgd"}),
        ("--arch gru --preset bansal2020 --hidden 8",  # other settings than the classifiers of the same paper
         {"whole_lines": True, "batch": 128, "epochs": 100, "clip": 5, "schedule": "anneal",
          "anneal_factor": 2, "learning_rate": 0.001}),
    ],
)  # fmt: skip
def test_a_preset_stands_in_for_defaults_and_what_is_given_goes_before_it(corpus, given, expected):
    files = "--train train.txt --valid valid.txt --out m.pt --max-tokens 1 --no-figure"
    succeed("train", "lm", *given.split(), *files.split(), cwd=corpus)
    checkpoint: Any = load_checkpoint(corpus / "m.pt")
    assert checkpoint.training["preset"] in given
    assert (checkpoint.model.sizes.to_mapping() | checkpoint.training["settings"]).items() >= expected.items()


def test_the_words_may_come_from_one_text_alone(corpus):
    (corpus / "more.txt").write_text("the zebra laughs .\n" * 50)
    given = "--train", "more.txt", "--vocab-from", "train.txt", "--epochs", 1
    succeeded(train(corpus, *given))
    words = load_checkpoint(corpus / "model.pt").vocabulary.words
    assert set(words) == {
        "<eos>", "<unk>", "the", "author", "authors", "pilot", "pilots", "laugh", "laughs", ".",
    }  # fmt: skip
    result = refused(train(corpus, *given, "--min-count", 10_000, out="other.pt"))
    assert result.stderr == (
        "tseval: no word of train.txt occurs 10000 times, so the vocabulary would be empty. Lower "
        "--min-count 10000.\n"
    )


def test_a_processor_without_bfloat16_computes_in_float32_and_says_so(corpus, monkeypatch):
    settings = "--precision", "bfloat16", "--epochs", 1
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    said = train(corpus, *settings)
    assert (
        "--precision bfloat16 is not faster on this machine, because the processor has no instructions"
        in said.stderr + said.stdout
    )
    succeeded(train(corpus, "--epochs", 1, out="wide.pt"))
    narrow, wide = (load_checkpoint(corpus / name).model.state_dict() for name in ("model.pt", "wide.pt"))
    assert all(torch.equal(tensor, wide[name]) for name, tensor in narrow.items())


def test_word_vectors_start_within_the_initial_range(corpus):
    # Almost no training, so the stored weights are the initial ones: uniform numbers with a mean size of
    # half.
    barely = "--max-tokens", 1, "--learning-rate", 1e-12
    for reach in (0.1, 2.0):
        succeeded(train(corpus, *barely, "--initial-range", reach, out=f"{reach}.pt"))
        vectors = load_checkpoint(corpus / f"{reach}.pt").model.embedding.weight.abs()
        assert vectors.max() <= reach
        assert vectors.mean().item() == pytest.approx(reach / 2, rel=0.2)


def test_options_of_the_cell_reach_the_checkpoint_and_the_curve(corpus):
    given = "--option", "initial_alpha=0.3", "--option", "alpha_bound=none"
    succeeded(train(corpus, *given, "--epochs", 1, arch="drnn"))
    options = load_checkpoint(corpus / "model.pt").model.sizes.options
    assert (options["initial_alpha"], options["alpha_bound"]) == (0.3, "none")
    curve = pd.read_parquet(corpus / "model.curves.parquet")
    assert curve["alpha_1"].iloc[0] == pytest.approx(0.3)


@pytest.mark.slow
def test_accuracy_along_the_training_is_that_of_tseval_run_and_changes_nothing(corpus):
    write_agreement(corpus, "author", "pilot")
    early = "--eval-suite", "./agree.jinja", "--eval-every", 5
    succeeded(train(corpus, "--dropout", 0.2, out="plain.pt"))
    succeeded(train(corpus, "--dropout", 0.2, *early, out="watched.pt"))
    assert_same(outcome(corpus, "plain"), outcome(corpus, "watched"))
    rows = pd.read_parquet(corpus / "watched.accuracy.parquet")
    assert rows["step"].tolist() == [*range(5, 108, 5), 108]  # the last is the end of the run
    assert rows["tokens"].iloc[0] == 5 * 35 * 8
    assert set(rows["n_items"]) == {4}
    # The best model is the last one. Scored from its file, it has the numbers of the last row.
    command = "run", "--model", "watched.pt", "--suite", "./agree.jinja", "--out", "run"
    succeed(*command, cwd=corpus)
    table = read_run(corpus / "run").table().iloc[0]
    names = ["phenomenon", "dependency", "construction", "contrast", "n_items", "n_correct", "accuracy"]
    assert table[names].tolist() == rows.iloc[-1][names].tolist()
    assert rows["accuracy"].iloc[0] < rows["accuracy"].iloc[-1] == 1.0


@pytest.mark.slow
def test_the_figure_lies_beside_the_checkpoint_and_one_that_cannot_be_drawn_spoils_nothing(corpus):
    succeeded(train(corpus, "--epochs", 1, "--figure"))
    assert (corpus / "model.curves.png").read_bytes().startswith(b"\x89PNG")
    (corpus / "other.curves.svg").mkdir()  # blocks the output
    said = succeeded(train(corpus, "--epochs", 1, "--figure", out="other.pt")).stderr
    assert re.search("no figure: .*other.curves.svg", said)
    assert load_checkpoint(corpus / "other.pt")


@pytest.mark.slow
def test_without_the_plots_extra_training_succeeds_and_names_it(corpus):
    # A broken matplotlib that Python finds first simulates a missing one.
    (corpus / "shadow").mkdir()
    (corpus / "shadow/matplotlib.py").write_text("raise ImportError")
    command = train(corpus, "--epochs", 1, "--figure", command_only=True)
    environment = os.environ | {"PYTHONPATH": str(corpus / "shadow")}
    result = succeeded(run_process(command, cwd=corpus, env=environment))
    assert (
        "no figure: to draw figures, tseval needs the package matplotlib, which is not installed. To "
        'install it: pip install "tseval[plots]"'
    ) in result.stderr


@pytest.mark.slowest
@pytest.mark.skipif(
    shutil.which("c++") is None, reason="torch.compile needs a C++ compiler, and there is none"
)
def test_compiled_loops_train_like_plain_ones(corpus):
    # The compiler unrolls a window, so short windows compile in seconds.
    plain, compiled = ("--max-tokens", 5000, "--log-every", 1, "--window", 6), ("--compile",)
    succeeded(train(corpus, *plain, out="plain.pt", arch="drnn"))
    succeeded(train(corpus, *plain, *compiled, out="compiled.pt", arch="drnn", by=installed))
    ours, theirs = (
        pd.read_parquet(corpus / f"{n}.curves.parquet")["training_loss"][1:] for n in ("plain", "compiled")
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)
