"""`tseval run --precision bfloat16`, and transformers in bfloat16: the numbers, and the warnings."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from checkpoints import save_causal
from in_process import call, refuse, run_process, succeed, succeeded

import tseval
from tseval.adapters import open_model
from tseval.models import Vocabulary
from tseval.models.checkpoint import load_checkpoint, save_checkpoint
from tseval.models.network import LanguageModel, Sizes
from tseval.scoring.bfloat16 import NOTHING_GAINED
from tseval.scoring.scorers import scorer_for
from tseval.verdicts import sentences_of

PRECISIONS = ("float32", "bfloat16")
SUITE = ("--case", "simple_agrmt", "--case", "vp_coord", "--model", "bundled:lstm", "--device", "cpu")
LOW = {"precision": "bfloat16"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run the bundled LSTM with the default, and in each precision."""
    folder = tmp_path_factory.mktemp("runs")
    succeed("run", *SUITE, "--out", "default", cwd=folder)
    for precision in PRECISIONS:
        succeed("run", *SUITE, "--precision", precision, "--out", precision, cwd=folder)
    return folder


def manifest(path):
    return json.loads((path / "manifest.json").read_text())


@pytest.mark.slow
def test_the_signature_and_the_manifest_say_bfloat16(folder):
    said = {name: manifest(folder / name) for name in ("default", *PRECISIONS)}
    assert "|precision:bfloat16|" in said["bfloat16"]["signature"]
    assert said["bfloat16"]["key"]["protocol"]["precision"] == "bfloat16"
    assert said["bfloat16"]["model"]["protocol"]["dtype"] == "float32"
    # Float32 runs have the same text as before other precisions existed.
    assert "precision" not in said["default"]["signature"]
    assert said["float32"]["signature"] == said["default"]["signature"]


def test_float32_is_the_default_to_the_last_byte(folder):
    for file in ("sentences.parquet", "verdicts.parquet", "table.csv"):
        assert (folder / "float32" / file).read_bytes() == (folder / "default" / file).read_bytes()
    assert (folder / "bfloat16" / "sentences.parquet").read_bytes() != (
        folder / "default" / "sentences.parquet"
    ).read_bytes()


def test_a_table_of_both_tells_them_apart(folder):
    printed = call("table", *PRECISIONS, cwd=folder).stdout
    assert "lstm (float32)" in printed
    assert "lstm (bfloat16)" in printed
    assert printed.count("precision:bfloat16") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--precision", "float16"), "'float16' is not one of"),
        (("--model-args", "precision=half"), "precision=half: unknown precision. Values: bfloat16, float32"),
        (("--precision", "bfloat16", "--model-args", "precision=float32"), "contradict each other"),
        (("--precision", "bfloat16", "--model", "hf:causal"), "--model-args dtype=bfloat16"),
        (("--precision", "bfloat16", "--model", "mlm:causal"), "--model-args dtype=bfloat16"),
        (
            ("--precision", "bfloat16", "--model", "oracle:dyck-lstm"),
            "dyck-lstm has no argument with this name",
        ),
    ],
)
def test_what_cannot_be_asked_for_gets_one_message(tmp_path, arguments, message):
    save_causal(tmp_path / "causal")
    result = refuse("run", "--model", "bundled:lstm", *arguments, cwd=tmp_path)
    assert message in result.stderr
    assert len(result.stderr) < 500


@pytest.mark.slow
def test_without_the_instructions_it_runs_and_says_once_that_nothing_is_gained(folder):
    """Numbers differ only by the order of sums, which sometimes moves a state to the next bfloat16."""
    command = ["tseval", "run", *SUITE, "--precision", "bfloat16", "--out", "capped"]
    environment = os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}
    ended = succeeded(run_process(command, cwd=folder, env=environment))
    assert ended.stderr.count(NOTHING_GAINED) == 1
    assert manifest(folder / "capped")["warnings"] == [NOTHING_GAINED]
    capped, fast, exact = (
        pq.read_table(folder / name / "sentences.parquet")["logprob"].to_numpy()
        for name in ("capped", "bfloat16", "float32")
    )
    assert np.abs(capped - fast).mean() < 0.05 * np.abs(capped - exact).mean()


def low(tensor):
    return tensor.float().bfloat16().double()


def oracle(model, ids):
    """Return log-probabilities of a double-precision LSTM in which only operands are rounded, (words,)."""
    weights = {name: value.double() for name, value in model.state_dict().items()}
    states = [[torch.zeros(1, model.sizes.hidden, dtype=torch.float64)] * 2 for _ in model.layers]
    found = []
    for word, following in zip([0, *ids], ids, strict=False):
        x = weights["embedding.weight"][word][None]
        for depth, state in enumerate(states):
            w_x, w_h, b_x, b_h = (
                weights[f"layers.{depth}.layer.{name}_l0"]
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            # Each word is projected one time, in float32.
            projected = x @ w_x.t() if depth == 0 else low(x) @ low(w_x).t()
            i, f, g, o = (projected + low(state[0]) @ low(w_h).t() + b_x + b_h).chunk(4, dim=1)
            state[1] = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
            state[0] = x = o.sigmoid() * state[1].tanh()
        matrix, bias = weights["output.weight"], weights["output.bias"]
        logits = (low(x) @ low(matrix).t() + bias)[0]
        logits[following] = x[0] @ matrix[following] + bias[following]
        found.append(logits.log_softmax(0)[following].item())
    return found


def test_the_engine_gives_what_an_lstm_with_rounded_operands_gives(tmp_path):
    suite = tseval.load_suite("marvin_linzen", cases=["simple_agrmt"])
    sentences = sentences_of(suite).slice(0, 60)
    words = sorted({word for text in sentences.to_pylist() for word in text.split()})
    torch.manual_seed(0)
    model = LanguageModel(Sizes("lstm", len(words) + 2, 30, 50, 2), initial_range=1.0)
    for parameter in model.output.parameters():
        torch.nn.init.normal_(parameter)
    vocabulary = Vocabulary(("<eos>", "<unk>", *words), lowercase=True)
    save_checkpoint(tmp_path / "m.pt", model, vocabulary, training={}, validation_perplexity=None)
    saved = load_checkpoint(tmp_path / "m.pt").model
    exact, found = (
        scorer_for(open_model(tmp_path / "m.pt", arguments, "cpu")).score(sentences)["words"].to_pylist()
        for arguments in ({}, LOW)
    )
    ids = vocabulary.ids()
    expected = [oracle(saved, [ids[word] for word in text.split()]) for text in sentences.to_pylist()]
    ours, theirs, wide = (
        np.concatenate([np.array(row) for row in rows]) for rows in (found, expected, exact)
    )
    # A sum in another order sometimes moves a state to the next bfloat16; most words agree to the end.
    assert np.median(np.abs(ours - theirs)) < 5e-6
    assert np.abs(ours - theirs).mean() < 0.1 * np.abs(wide - theirs).mean()


def test_a_classifier_is_scored_in_bfloat16_too(tmp_path):
    from own_models import open_own  # noqa: PLC0415  it opens optional adapters

    own = open_own("classifier number", tmp_path)
    opened = open_model(tmp_path / "own.pt", LOW, "cpu")
    assert opened.card.protocol["precision"] == "bfloat16"
    sentences = pa.array(sorted(own.sentences))
    one, other = (scorer_for(model).score(sentences)["logprob"].to_numpy() for model in (own.model, opened))
    assert 0 < np.abs(one - other).max() < 0.05
