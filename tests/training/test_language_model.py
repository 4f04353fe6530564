"""The training loop: saved data, validation times, and interruptions that change nothing."""

import math
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from in_process import run_process
from small_training import WORDS, Quiet, assert_same, curves, interrupt, outcome, rewrite, stream
from torch.nn import functional as F

from tseval.errors import TrainingError
from tseval.models.cells import CELLS
from tseval.models.checkpoint import load_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.training import cross_entropy as loss_room
from tseval.training.corpus import Columns, columns
from tseval.training.cross_entropy import LEAST_TILE_ROWS, LOSS_TILE_LOGITS, ROW_MULTIPLE, cross_entropy
from tseval.training.validation import mean_loss

VARIANTS = [
    {"optimiser": "adam", "schedule": "cosine"},
    {"optimiser": "sgd", "schedule": "anneal", "learning_rate": 20.0, "clip": 0.25},
    {"precision": "bfloat16", "stored": "float16"},
]


@pytest.mark.parametrize("settings", VARIANTS, ids=["adam", "sgd", "bfloat16"])
def test_an_interrupted_run_goes_on_to_the_same_result(tmp_path, train, settings):
    settings = {"validate_every": 7, "max_tokens": 1800, **settings}
    train("whole.pt", **settings)
    for step in (7, 28):  # in the middle of both epochs
        with pytest.raises(KeyboardInterrupt):
            train("parts.pt", resume=True, listener=Quiet({step: interrupt}), **settings)
    train("parts.pt", resume=True, **settings)
    assert_same(outcome(tmp_path, "whole"), outcome(tmp_path, "parts"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{name}.{suffix}" for name in ("whole", "parts") for suffix in ("pt", "curves.parquet")
    )


@pytest.mark.slow
@pytest.mark.parametrize("arch", sorted(CELLS))
def test_noise_and_options_of_every_cell_survive_an_interruption(tmp_path, train, arch):
    settings = {"epochs": 1, "validate_every": 7}
    train("whole.pt", arch, **settings)
    with pytest.raises(KeyboardInterrupt):
        train("parts.pt", arch, listener=Quiet({7: interrupt}), **settings)
    train("parts.pt", arch, resume=True, **settings)
    assert_same(outcome(tmp_path, "whole"), outcome(tmp_path, "parts"))


def test_a_resumed_run_says_where_it_starts_and_reads_nothing_twice(train):
    with pytest.raises(KeyboardInterrupt):
        train(validate_every=7, listener=Quiet({21: interrupt}))
    listener = Quiet()
    train(validate_every=7, resume=True, listener=listener)
    # An epoch is 250 rows of 4 columns minus the first row; window 21 ends 4 windows into the second epoch.
    assert listener.started == (249 * 4 + 4 * 15 * 4, 2 * 249 * 4)
    assert [step for step, _, _ in listener.validations] == [28, 34]


def test_sigterm_saves_like_ctrl_c_and_handlers_come_back(tmp_path, train):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        train(listener=Quiet({17: lambda: signal.raise_signal(signal.SIGTERM)}))
    assert signal.getsignal(signal.SIGTERM) == before
    assert (tmp_path / "model.pt.resume").exists()


@pytest.fixture
def stopped(tmp_path, train):
    """Return the resume file of a training that was stopped at the end of its first epoch."""
    with pytest.raises(KeyboardInterrupt):
        train(listener=Quiet({17: interrupt}))
    return tmp_path / "model.pt.resume"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": 0.02}, "it began with learning_rate 0.01, but you give 0.02 now"),
        ({"sizes": {"hidden": 20}}, "it began with hidden 10, but you give 20 now"),
        ({"seed": 2}, "it began with seed 1, but you give 2 now"),
        ({"arch": "lstm"}, "it began with arch 'drnn', but you give 'lstm' now"),
        ({"text": (stream(201), stream(50))}, "another training text"),
        ({"text": (stream(200), stream(51))}, "another validation text"),
    ],
)
def test_a_changed_setting_is_named_and_the_resume_file_stays(train, stopped, changes, message):
    content = stopped.read_bytes()
    with pytest.raises(TrainingError, match=message) as error:
        train(resume=True, **changes)
    assert "model.pt.resume to start over" in str(error.value)
    assert stopped.read_bytes() == content


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[:-50], "truncated or damaged"),
        (lambda _: b"the author laughs .", "a text file"),
        (lambda _: b"", "the file is empty"),
    ],
)
def test_a_damaged_resume_file_is_refused(train, stopped, damage, message):
    stopped.write_bytes(damage(stopped.read_bytes()))
    with pytest.raises(TrainingError, match=message) as error:
        train(resume=True)
    assert f"Remove {stopped} to start over." in str(error.value)


@pytest.mark.parametrize(
    "missing", ["weights", "optimiser", "carried", "random", "course", "identity", "format"]
)
def test_a_resume_file_that_lacks_a_part_is_refused(train, stopped, missing):
    rewrite(stopped, lambda content: content.pop(missing))
    with pytest.raises(TrainingError, match=r"model\.pt\.resume"):
        train(resume=True)


def test_curves_hold_loss_rate_and_decay(tmp_path, train):
    train(epochs=1, schedule="cosine", validate_every=8)
    table = pd.read_parquet(tmp_path / "model.curves.parquet")
    assert table["step"].tolist() == [0, 5, 8, 10, 15, 16, 17]
    assert table["tokens"].tolist() == [0, 300, 480, 600, 900, 960, 996]
    assert set(table["epoch"]) == {1}
    assert table["validation_perplexity"].notna().tolist() == [step in (8, 16, 17) for step in table["step"]]
    # The last rate of the cosine is zero; halfway through, it is half the rate.
    cosine = [0.005 * (1 + math.cos(math.pi * step / 17)) for step in table["step"]]
    np.testing.assert_allclose(table["learning_rate"], cosine, atol=1e-12)
    assert table[["alpha_1", "alpha_2"]].iloc[0].tolist() == pytest.approx([0.8, 0.8])
    cells: Any = load_checkpoint(tmp_path / "model.pt").model.cells
    best = table.iloc[table["validation_perplexity"].argmin()]
    assert [best["alpha_1"], best["alpha_2"]] == pytest.approx([cell.alpha.item() for cell in cells])
    assert math.isnan(table["training_loss"].iloc[0])
    assert table["seconds"].is_monotonic_increasing


def test_the_training_loss_is_the_mean_over_the_windows_since_the_last_point(tmp_path, train):
    train(epochs=1, log_every=1, out="each.pt")
    train(epochs=1, log_every=5, out="some.pt")
    each = pd.read_parquet(tmp_path / "each.curves.parquet").set_index("step")["training_loss"]
    some = pd.read_parquet(tmp_path / "some.curves.parquet").set_index("step")["training_loss"]
    expected = [each.loc[first:last].mean() for first, last in ((1, 5), (6, 10), (11, 15), (16, 17))]
    np.testing.assert_allclose(some.loc[1:], expected, rtol=1e-12)


def test_max_tokens_end_the_run_at_a_window_even_in_a_later_epoch(tmp_path, train):
    for tokens, step in ((1, 1), (60, 1), (61, 2), (996, 17), (997, 18)):
        train("model.pt", max_tokens=tokens, epochs=99)
        assert pd.read_parquet(tmp_path / "model.curves.parquet")["step"].iloc[-1] == step
        (tmp_path / "model.pt").unlink()


def test_annealing_divides_the_rate_after_a_validation_that_is_no_better(tmp_path, train):
    # With a rate of 1000, the loss jumps. The rate of a point is that of the next window.
    train(optimiser="sgd", schedule="anneal", learning_rate=1000.0, clip=0.25, epochs=5)
    table = pd.read_parquet(tmp_path / "model.curves.parquet").dropna(subset="validation_perplexity")
    best, rate = math.inf, 1000.0
    for perplexity, shown in zip(table["validation_perplexity"], table["learning_rate"], strict=True):
        rate = rate if perplexity < best else rate / 4
        best = min(best, perplexity)
        assert shown == rate
    assert rate < 1000


def test_the_steps_are_plain_adam_on_the_mean_loss(tmp_path, train):
    # The same training with torch's own modules, without tiles, fused steps or bookkeeping.
    train(arch="srn", max_tokens=180, sizes={"dropout": 0.0, "layers": 1})
    torch.manual_seed(1)
    model: Any = LanguageModel(Sizes("srn", len(WORDS), embedding=6, hidden=10, layers=1))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, fused=False, foreach=False)
    text, state = columns(stream(200), 4), torch.zeros(1, 4, 10)
    for start in (0, 15, 30):
        words = text[start : start + 16]
        outputs, state = model.cells[0].layer(model.embedding(words[:-1]), state.detach())
        logits = model.output(outputs).flatten(0, 1)
        torch.nn.functional.cross_entropy(logits, words[1:].flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
    trained = load_checkpoint(tmp_path / "model.pt").model.state_dict()
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(trained[name], tensor, rtol=1e-4, atol=1e-6)


def test_validation_is_torchs_cross_entropy_whatever_the_window(train):
    torch.manual_seed(0)
    model = LanguageModel(Sizes("lstm", len(WORDS), embedding=6, hidden=10, layers=2)).eval()
    text = columns(stream(30), 3)
    outputs, _ = model(text[:-1], model.initial_state(3))
    expected = F.cross_entropy(model.logits(outputs).flatten(0, 1), text[1:].flatten()).item()
    for window in (1, 7, 1000):
        assert mean_loss(model, Columns(text, window)) == pytest.approx(expected, rel=1e-5)


def test_what_is_watched_and_validated_does_not_change_the_weights(tmp_path, train):
    # If the loss falls throughout, the last validation is the best, so the checkpoint has the last weights.
    train("seldom.pt", "drnn-cnn", epochs=1, log_every=1000)
    train("often.pt", "drnn-cnn", epochs=1, log_every=1, validate_every=3)
    seldom, often = (load_checkpoint(tmp_path / name).fingerprint for name in ("seldom.pt", "often.pt"))
    assert seldom == often


def test_a_loss_that_is_not_finite_says_where_and_keeps_the_best_checkpoint(tmp_path, train, stopped):
    # From the second epoch on, the text has a word whose vector is not a number.
    kept = load_checkpoint(tmp_path / "model.pt").fingerprint
    rewrite(stopped, lambda content: content["weights"]["embedding.weight"][3].fill_(math.nan))
    with pytest.raises(
        TrainingError,
        match=r"the loss became nan .not a finite number. in epoch 2, window 18 of the "
        r"training(?s:.*)Lower --learn",
    ):
        train(resume=True)
    assert load_checkpoint(tmp_path / "model.pt").fingerprint == kept


def test_a_validation_loss_that_is_not_finite_stops_too(train):
    # The first window's huge steps lead to values beyond float16.
    with pytest.raises(
        TrainingError,
        match=r"the validation loss became nan .not a finite number. after "
        r"window 1 of the training",
    ):
        train(max_tokens=60, optimiser="sgd", learning_rate=1e8, clip=100.0, stored="float16")


def test_a_decay_rate_that_depends_on_the_words_is_averaged_over_the_first_window(tmp_path, train):
    train(arch="drnn-cnn", epochs=1, sizes={"dropout": 0.0}, validate_every=100)
    found = curves(tmp_path / "model.curves.parquet")
    assert found["alpha_1"].between(0, 1).all()
    assert found["alpha_2"].nunique() == len(found)
    # The last point is that of the checkpoint; compute its first layer word by word.
    weights = load_checkpoint(tmp_path / "model.pt").model.double().state_dict()
    vectors = weights["embedding.weight"][columns(stream(200), 4)[:15]]
    rates = []
    for column in vectors.unbind(1):
        for place in range(len(column)):
            total = weights["layers.0.decay"].clone()
            for lag in range(min(3, place + 1)):
                total += column[place - lag] @ weights["layers.0.taps.weight"][lag]
            rates.append(total.sigmoid().item())
    assert found["alpha_1"].iloc[-1] == pytest.approx(sum(rates) / len(rates), rel=1e-5)


@pytest.mark.parametrize("arch", ["drnn", "abdrnn"])
def test_a_decay_rate_beyond_one_that_explodes_names_the_option_to_change(train, arch):
    exploding = {"initial_alpha": 1.5, "alpha_bound": "none", "activation": "relu"}
    with pytest.raises(TrainingError, match=r"--option alpha_bound=sigmoid(?s:.*)Lower --learning") as error:
        train(arch=arch, sizes={"options": exploding, "layers": 1}, window=300, batch=2)
    assert len(str(error.value)) < 500


# The tiled cross-entropy against torch's own.
WORDS_OF_LOSS = 50
assert WORDS_OF_LOSS % ROW_MULTIPLE, "words of probability 0 are added"
TILE = LOSS_TILE_LOGITS["cpu"] // (-(-WORDS_OF_LOSS // ROW_MULTIPLE) * ROW_MULTIPLE)  # rows of a tile


def problem(rows, words=WORDS_OF_LOSS):
    torch.manual_seed(0)
    shapes = (rows, 16), (words, 16), (words,)
    return *(torch.randn(shape, requires_grad=True) for shape in shapes), torch.randint(0, words, (rows,))


@pytest.mark.parametrize("onednn_is_faster", [False, True], ids=["MKL", "oneDNN"])
@pytest.mark.parametrize("words", [WORDS_OF_LOSS, 3 * ROW_MULTIPLE])
@pytest.mark.parametrize("rows", [1, TILE - 1, TILE, 2 * TILE + 3])
def test_loss_and_gradients_are_torchs(rows, words, onednn_is_faster, monkeypatch):
    monkeypatch.setattr(loss_room, "ONEDNN_IS_FASTER", onednn_is_faster)
    hidden, weight, bias, targets = problem(rows, words)
    ours = cross_entropy(hidden, weight, bias, targets)
    torchs = F.cross_entropy(F.linear(hidden, weight, bias), targets)
    torch.testing.assert_close(ours, torchs)
    assert TILE > LEAST_TILE_ROWS
    inputs = hidden, weight, bias
    pairs = zip(torch.autograd.grad(ours * 3, inputs), torch.autograd.grad(torchs * 3, inputs), strict=True)
    for ours_grad, torchs_grad in pairs:
        torch.testing.assert_close(ours_grad, torchs_grad)


# The optimisers are torch's own, but start without its compiler.
SIX_WORDS = "the author near the guards laughs .\n" * 40


STARTS = """import sys
from in_process import succeed
options = "--arch srn --embedding 4 --hidden 4 --layers 1 --dropout 0 --batch 2 --epochs 1 --min-count 1"
for kind in ("adam", "sgd"):
    files = f"--train text.txt --valid text.txt --out {kind}.pt --no-figure --optimiser {kind}"
    succeed("train", "lm", *files.split(), *options.split())
print("torch.optim" in sys.modules, "torch._dynamo" in sys.modules)
"""


@pytest.mark.slow
def test_a_training_starts_without_the_compiler(tmp_path: Path):
    (tmp_path / "text.txt").write_text(SIX_WORDS)
    path = os.pathsep.join(sys.path)
    done = run_process(
        [sys.executable, "-c", STARTS], cwd=tmp_path, check=True, env=os.environ | {"PYTHONPATH": path}
    )
    assert done.stdout == "True False\n"
