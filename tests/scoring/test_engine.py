"""The engine against sentence-by-sentence scoring with the model's own forward pass."""

import random
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from systems import needs_linux

from tseval.errors import ModelError
from tseval.models.cells import CELLS
from tseval.scoring import engine, scorers, trie
from tseval.scoring.engine import shards
from tseval.scoring.protocol import ModelCard
from tseval.scoring.scorers import scorer_for

WORDS = [f"w{i}" for i in range(12)]


def sentences(n, words=WORDS, seed=0):
    draw = random.Random(seed)
    return pa.array(sorted({" ".join(draw.choices(words, k=draw.randint(1, 9))) for _ in range(n)}))


def one_by_one(native, sentence):
    """Log-probability of each word, as LM_syneval computes it: one sentence, zero state, `<eos>` first."""
    ids = [native.vocabulary.ids().get(word, 1) for word in ["<eos>", *sentence.split()]]
    model = native.model
    with torch.inference_mode():
        outputs, _ = model(torch.tensor(ids)[:, None], model.initial_state(1))
        table = model.logits(outputs[:, 0]).double().log_softmax(-1)
    return [table[position, word].item() for position, word in enumerate(ids[1:])]


@pytest.mark.parametrize("arch", sorted(CELLS))
def test_every_word_scores_as_sentence_by_sentence(make_model, arch):
    native = make_model(WORDS, arch)
    scored = scorer_for(native).score(sentences(800))
    assert len(scored) == len(sentences(800))
    for row in scored.to_pylist():
        np.testing.assert_allclose(row["words"], one_by_one(native, row["sentence"]), atol=2e-6, rtol=0)
        assert row["logprob"] == pytest.approx(sum(row["words"]), abs=1e-9)


def test_tiles_and_blocks_do_not_change_a_score(make_model, monkeypatch):
    native = make_model(WORDS)
    whole = scorer_for(native).score(sentences(500))
    monkeypatch.setattr("tseval.scoring.numerics.TILE_LOGITS", {"cpu": 30})
    monkeypatch.setattr(trie, "CONTEXTS_AT_ONCE", 7)
    cut = scorer_for(native).score(sentences(500))
    np.testing.assert_allclose(whole["logprob"].to_numpy(), cut["logprob"].to_numpy(), atol=1e-5)


def test_the_budget_for_states_bounds_the_rows_and_changes_no_score(make_model, monkeypatch):
    native = make_model(WORDS)
    whole = scorer_for(native)
    expected = whole.score(sentences(500))["logprob"].to_numpy()
    monkeypatch.setattr(scorers, "STATE_BYTES", 20 * native.row_bytes)
    frugal = scorer_for(native)
    widest = []
    advance = native.advance
    native.advance = lambda state, tokens: widest.append(len(tokens)) or advance(state, tokens)
    np.testing.assert_allclose(frugal.score(sentences(500))["logprob"].to_numpy(), expected, atol=1e-5)
    assert max(widest) <= 10
    # A prefix that straddles a cut is computed again, nothing else is.
    assert whole.n_contexts < frugal.n_contexts < 4 * whole.n_contexts


def test_contexts_are_computed_once(make_model):
    native = make_model(WORDS)
    scorer = scorer_for(native)
    texts = sentences(600)
    scorer.score(texts)
    prefixes = {tuple(s.split()[:n]) for s in texts.to_pylist() for n in range(len(s.split()))}
    assert scorer.n_contexts == len(prefixes)


def test_unknown_words_are_scored_as_unk_and_reported(make_model):
    native = make_model(WORDS)
    rows = scorer_for(native).score(pa.array(["w1 other w2", "w1 strange w2", "w1 w1 w2"])).to_pylist()
    assert [row["seen"] for row in rows] == ["w1 <unk> w2", "w1 <unk> w2", "w1 w1 w2"]
    assert [row["n_unknown"] for row in rows] == [1, 1, 0]
    assert rows[0]["words"] == rows[1]["words"] != rows[2]["words"]


def test_a_lower_casing_vocabulary_sees_lower_case(make_model):
    native = make_model(WORDS, lowercase=True)
    rows = scorer_for(native).score(pa.array(["W1 w2", "w1 w2"])).to_pylist()
    assert rows[0]["seen"] == rows[1]["seen"] == "w1 w2"
    assert rows[0]["logprob"] == rows[1]["logprob"]


def test_probabilities_of_all_continuations_sum_to_one(make_model):
    native = make_model(WORDS)
    everything = sorted([*native.vocabulary.words])
    scored = scorer_for(native).score(pa.array(sorted(f"w3 w4 {word}" for word in everything)))
    assert sum(np.exp(row["words"][-1]) for row in scored.to_pylist()) == pytest.approx(1, abs=1e-5)


def test_a_score_that_is_not_finite_names_its_sentence(make_model):
    native = make_model(WORDS)
    with torch.no_grad():
        native.model.output.bias[native.vocabulary.ids()["w5"]] = float("-inf")
    with pytest.raises(ModelError, match=r"-inf of the sentence 'w1 w5': not finite"):
        scorer_for(native).score(pa.array(["w1 w2", "w1 w5"]))


def test_a_sentence_without_words_is_refused(make_model):
    with pytest.raises(ModelError, match="without words"):
        scorer_for(make_model(WORDS)).score(pa.array([" ", "w1"]))


def test_shards_are_all_sentences_in_order(monkeypatch):
    monkeypatch.setattr(engine, "SHARD", 7)
    texts = sentences(40)
    parts = shards(texts)
    assert [len(part) for part in parts[:-1]] == [7] * (len(parts) - 1)
    assert [text for part in parts for text in part.to_pylist()] == texts.to_pylist()


class Lengths:
    """An opaque model with a closed form: a word of n letters has probability exp(-n)."""

    def __init__(self, fits=10**9):
        self.card = ModelCard("lengths", "test", "0", {}, {})
        self.fits = fits
        self.batches = []

    def word_logprobs(self, sentences):
        self.batches.append(list(sentences))
        if len(sentences) > self.fits:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return [[-float(len(word)) for word in text.split()] for text in sentences]


def test_an_opaque_model_gets_batches_of_equal_length_and_its_scores_come_back_in_order():
    model = Lengths()
    texts = sentences(300)
    rows = scorer_for(model).score(texts).to_pylist()
    for row, text in zip(rows, texts.to_pylist(), strict=True):
        assert row["sentence"] == row["seen"] == text
        assert row["words"] == [-float(len(word)) for word in text.split()]
    lengths = [len(text.split()) for batch in model.batches for text in batch]
    assert lengths == sorted(lengths)


def test_out_of_memory_halves_the_batch_and_goes_on():
    model = Lengths(fits=20)
    scorer = scorer_for(model)
    rows = scorer.score(sentences(300)).to_pylist()
    assert [row["logprob"] for row in rows] == [
        -float(sum(map(len, row["sentence"].split()))) for row in rows
    ]
    assert max(len(batch) for batch in model.batches[2:]) == 16
    assert scorer.warnings == [
        "out of memory with 64 sentences at once; went on with 32",
        "out of memory with 32 sentences at once; went on with 16",
    ]


def test_no_memory_for_one_sentence_is_a_clear_error():
    with pytest.raises(ModelError, match="not enough memory to score even one sentence"):
        scorer_for(Lengths(fits=0)).score(sentences(5))


def test_a_model_that_miscounts_words_is_told_so():
    model: Any = Lengths()
    model.word_logprobs = lambda texts: [[0.0] for _ in texts]
    with pytest.raises(ModelError, match="lengths gave 1 log-probabilities for the 2 words of 'w1 w2'"):
        scorer_for(model).score(pa.array(["w1 w2"]))


def test_an_opaque_model_can_report_unknown_words():
    model: Any = Lengths()
    model.seen = lambda texts: [text.replace("w2", "<unk>") for text in texts]
    rows = scorer_for(model).score(pa.array(["w1 w2", "w1 w3", "w2 w2 w1"])).to_pylist()
    assert [row["seen"] for row in rows] == ["w1 <unk>", "w1 w3", "<unk> <unk> w1"]
    assert [row["n_unknown"] for row in rows] == [1, 0, 2]
    assert [row["sentence"] for row in rows] == ["w1 w2", "w1 w3", "w2 w2 w1"]


def test_a_model_that_miscounts_sentences_is_told_so():
    model: Any = Lengths()
    model.seen = lambda texts: texts[1:]
    with pytest.raises(ModelError, match="lengths showed 1 sentences for 2"):
        scorer_for(model).score(pa.array(["w1 w2", "w1 w3"]))


@needs_linux
def test_the_cpu_allocator_running_dry_is_survived():
    # A real limit on address space, in a process of its own: the states of all sentences at once do not fit.
    program = textwrap.dedent("""
        import resource, pyarrow as pa, torch
        from tseval.adapters.native import NativeModel
        from tseval.models.checkpoint import Checkpoint
        from tseval.models.network import LanguageModel, Sizes
        from tseval.models import Vocabulary
        from tseval.scoring.scorers import recurrent, scorer_for

        torch.set_num_threads(1)
        vocabulary = Vocabulary(("<eos>", "<unk>", *(f"w{i}" for i in range(128))), False)
        model = LanguageModel(Sizes("srn", len(vocabulary), 8, 4096, 1)).eval()
        native = NativeModel("srn", Checkpoint(model, vocabulary, "", {}, None), torch.device("cpu"))
        texts = pa.array(sorted(f"w{i} w{j} w1" for i in range(64) for j in range(128)))
        warm = scorer_for(native).score(texts.slice(0, 64))
        recurrent.STATE_BYTES = 2**40  # no budget: only the limit below holds
        used = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (used + 160 * 2**20,) * 2)
        scorer = scorer_for(native)
        scored = scorer.score(texts)
        assert abs(scored["logprob"][3].as_py() - warm["logprob"][3].as_py()) < 1e-4
        print(len(scored), len(scorer.warnings))
    """)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    n_scored, n_warnings = map(int, result.stdout.split())
    assert n_scored == 64 * 128
    assert n_warnings >= 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_the_gpu_gives_the_scores_of_the_cpu(make_model):
    native = make_model(WORDS)
    expected = scorer_for(native).score(sentences(300))["logprob"].to_numpy()
    native.model.cuda()
    native.device = torch.device("cuda")
    np.testing.assert_allclose(
        scorer_for(native).score(sentences(300))["logprob"].to_numpy(), expected, atol=1e-3
    )
