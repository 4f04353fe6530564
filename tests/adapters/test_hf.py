"""Causal models of transformers against their own forward pass, one sentence at a time, and minicons."""

import os
import shutil
import zipfile
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
import transformers
from checkpoints import CONFIGS, TEXT, bpe_tokenizer, save_causal, save_masked, spread
from hostile_pickles import PICKLES

from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.scoring.numerics import HAS_ONEDNN
from tseval.scoring.scorers import scorer_for
from tseval.scoring.trie import build_trie, contexts_of

SENTENCES = sorted({*TEXT, "the author laugh .", "the pilots injured himself .", "the", "zebras ."})
# How each kind is scored: whether contexts share rows, and whether the output matrix is applied by us.
METHODS = dict.fromkeys(CONFIGS, "packed tree, tiled head") | {
    "bloom": "rows of equal length, tiled head",  # ALiBi counts places of a row, not of a sentence
    "mistral": "rows of equal length, tiled head",  # a window narrower than the sentences compared
    "gpt_neo": "rows of equal length, tiled head",
    "mamba": "rows of equal length, tiled head",  # no attention
    "gemma2": "packed tree, own head",  # soft-capped logits
    "cohere": "packed tree, own head",  # scaled logits
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hf")
    return lambda kind="gpt2": folder / kind if (folder / kind).exists() else save_causal(folder / kind, kind)


def plain(model, sentence, start):
    """Log-probability of each word: pieces counted by splitting every beginning, one plain forward pass."""
    words, tokenizer = sentence.split(" "), model.tokenizer
    beginnings = [" ".join(words[: n + 1]) for n in range(len(words))]
    split = tokenizer(beginnings, add_special_tokens=False)["input_ids"]
    ends, ids = [len(one) for one in split], [*start, *split[-1]]
    with torch.no_grad():
        table = model.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    pieces = [table[i - 1, ids[i]].item() if i else 0.0 for i in range(len(start), len(ids))]
    return [sum(pieces[a:b]) for a, b in zip([0, *ends], ends, strict=False)]


def assert_plain(model, sentences, start, atol=1e-4):
    rows = scorer_for(model).score(pa.array(sentences)).to_pylist()
    for row in rows:
        np.testing.assert_allclose(row["words"], plain(model, row["sentence"], start), atol=atol, rtol=0)
        assert row["logprob"] == pytest.approx(sum(row["words"]), abs=1e-6)


@pytest.mark.parametrize("kind", CONFIGS)
def test_every_word_scores_as_the_models_own_forward_pass(saved, kind):
    model: Any = open_model(f"hf:{saved(kind)}")
    assert model.card.details["method"] == model.method.name == METHODS[kind]
    assert_plain(model, SENTENCES, [0])
    begin = f"scored by {METHODS[kind]}: packed tree, tiled head "
    slower = METHODS[kind] != "packed tree, tiled head"
    assert [text[: len(begin)] for text in scorer_for(model).warnings] == [begin] * slower


@pytest.mark.parametrize("kind", ["gpt2", "bloom"])
def test_without_a_start_symbol_the_first_token_is_left_out(saved, kind):
    model: Any = open_model(f"hf:{saved(kind)}", {"bos": "false"})
    assert_plain(model, SENTENCES, [])
    (row,) = scorer_for(model).score(pa.array(["the author"])).to_pylist()
    assert row["words"][0] == 0
    assert model.card.protocol["bos"] is None
    assert model.card.protocol["first_token"] == "unscored"


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [("gpt2", {"n_embd": 384}), ("llama", {"hidden_size": 384, "intermediate_size": 900})],
)
def test_a_model_of_real_width_scores_as_one_that_tseval_did_not_touch(tmp_path, kind, sizes):
    path = save_causal(tmp_path / kind, kind, **sizes)
    untouched = transformers.AutoModelForCausalLM.from_pretrained(path)
    spread(untouched, 0.06)  # wider layers add up more
    untouched.save_pretrained(path)
    model: Any = open_model(f"hf:{path}")
    with torch.profiler.profile() as profile:
        rows = scorer_for(model).score(pa.array(SENTENCES)).to_pylist()
    assert ("mkldnn::_linear_pointwise" in {row.key for row in profile.key_averages()}) == HAS_ONEDNN
    model.model = untouched
    for row in rows:
        np.testing.assert_allclose(row["words"], plain(model, row["sentence"], [0]), atol=1e-4, rtol=0)
    assert np.ptp([row["logprob"] / len(row["words"]) for row in rows]) > 1


def test_sums_are_those_of_minicons(saved):
    scorer = pytest.importorskip("minicons.scorer")
    theirs = scorer.IncrementalLMScorer(str(saved()), device="cpu")
    sums = theirs.sequence_score(SENTENCES, reduction=lambda x: x.sum().item(), bos_token=True)
    ours = scorer_for(open_model(f"hf:{saved()}")).score(pa.array(SENTENCES))["logprob"].to_pylist()
    np.testing.assert_allclose(ours, sums, atol=1e-4)


@pytest.mark.parametrize("batch_tokens", [1, 40, 200])
def test_small_batches_and_rows_change_no_score(saved, batch_tokens):
    model: Any = open_model(f"hf:{saved()}")
    rows = scorer_for(model).score(pa.array(SENTENCES))["logprob"].to_pylist()
    model.batch_tokens = batch_tokens
    cut = scorer_for(model).score(pa.array(SENTENCES))["logprob"].to_pylist()
    np.testing.assert_allclose(cut, rows, atol=1e-5)


def test_a_sentence_beyond_the_attention_window_is_not_packed(tmp_path):
    model: Any = open_model(f"hf:{save_causal(tmp_path, 'mistral', sliding_window=32)}")
    assert model.method.packed
    scorer = scorer_for(model)
    scorer.score(pa.array(SENTENCES))
    assert scorer.warnings == []
    long = sorted(" ".join(["the author laughs near guards"] * n) for n in (3, 9))
    assert_plain(model, long, [0])
    scorer.score(pa.array(long))
    assert scorer.warnings == ["sentences longer than the attention window of 32 tokens were read one a row"]


def test_half_precision_weights_give_float32_log_probabilities(tmp_path):
    model: Any = open_model(f"hf:{save_causal(tmp_path, dtype=torch.bfloat16)}")
    assert model.card.protocol["dtype"] == "bfloat16"
    n = len(model.tokenizer)
    trie = build_trie(np.array([(7, token) for token in range(n)]).ravel(), np.full(n, 2))
    assert len(contexts_of(trie, 0).targets) == n + 1
    logprobs = model.logprobs_by(model.method, trie, 1024)[1:]
    # A softmax rounded to bfloat16 would miss 1 by some 1e-3, and give many tokens the same value.
    assert np.exp(logprobs.astype(float)).sum() == pytest.approx(1, abs=1e-5)
    assert len(np.unique(logprobs)) > 0.99 * n
    wide = open_model(f"hf:{tmp_path}", {"dtype": "float32"})
    assert wide.card.protocol["dtype"] == "float32"
    assert_plain(wide, SENTENCES, [0])


def test_probabilities_of_all_continuations_sum_to_one(saved):
    for kind in ("gpt2", "mamba", "cohere"):
        model: Any = open_model(f"hf:{saved(kind)}")
        n = len(model.tokenizer)
        trie = build_trie(np.array([(7, 5, token) for token in range(n)]).ravel(), np.full(n, 3))
        assert np.exp(model.logprobs_by(model.method, trie, 1024)[2:].astype(float)).sum() == pytest.approx(
            1, abs=1e-5
        )


def test_a_leading_space_is_part_of_the_first_word(saved):
    model: Any = open_model(f"hf:{saved()}", {"leading_space": "true"})
    (row,) = scorer_for(model).score(pa.array(["the author"])).to_pylist()
    pieces = model.tokenizer.encode(" the author", add_special_tokens=False)
    assert pieces != model.tokenizer.encode("the author", add_special_tokens=False)
    with torch.no_grad():
        table = model.model(torch.tensor([[0, *pieces]])).logits[0].log_softmax(-1)
    assert row["logprob"] == pytest.approx(sum(table[i, p].item() for i, p in enumerate(pieces)), abs=1e-4)
    assert model.card.protocol["leading_space"] is True


def test_the_start_symbol_can_be_chosen_and_is_in_the_protocol(saved, tmp_path):
    assert open_model(f"hf:{saved()}").card.protocol["bos"] == "<|endoftext|>"
    other = open_model(f"hf:{saved()}", {"bos": "<pad>"})
    assert other.card.protocol["bos"] == "<pad>"
    assert_plain(other, SENTENCES[:3], [1])
    save_causal(tmp_path / "no marks", tokenizer=bpe_tokenizer(bos=None, eos=None))
    assert open_model(f"hf:{tmp_path / 'no marks'}").card.protocol["bos"] is None
    save_causal(tmp_path, tokenizer=bpe_tokenizer(bos=None))
    with pytest.raises(ModelError, match=r"bos=true: the tokenizer has no beginning.*\n.*bos=TOKEN"):
        open_model(f"hf:{tmp_path}", {"bos": "true"})
    with pytest.raises(ModelError, match=r"bos=<s>: no such token in the vocabulary.\n.*<\|endoftext\|>"):
        open_model(f"hf:{tmp_path}", {"bos": "<s>"})


def test_a_slow_tokenizer_without_a_start_symbol(tmp_path):
    path = save_causal(tmp_path, tokenizer=transformers.ByT5Tokenizer(), n_positions=99)
    model: Any = open_model(f"hf:{path}", {"bos": "false"})
    assert not model.tokenizer.is_fast
    assert_plain(model, SENTENCES, [])


def test_the_fingerprint_follows_the_content_and_not_the_path(saved, tmp_path):
    original = open_model(f"hf:{saved()}").card.fingerprint
    for name in ("copy", "weights", "tokenizer"):
        shutil.copytree(saved(), tmp_path / name)
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "weights")
    spread(model, by=0.2)
    model.save_pretrained(tmp_path / "weights")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "tokenizer")
    tokenizer.add_tokens(["laughs"])
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    for name in ("copy", "weights", "tokenizer"):
        card = open_model(f"hf:{tmp_path / name}").card
        assert (card.fingerprint == original) == (name == "copy")
        assert card.name == name


def test_what_reaches_from_pretrained_is_typed_and_in_the_protocol(saved):
    # An argument that is a field of the configuration changes the model: one layer of two.
    model: Any = open_model(
        f"hf:{saved()}", {"attn_implementation": "eager", "n_layer": "1", "revision": "1"}
    )
    assert len(model.model.transformer.h) == 1
    assert model.card.protocol["n_layer"] == 1
    assert model.card.protocol["attn_implementation"] == "eager"
    assert "revision" not in model.card.protocol
    assert_plain(model, SENTENCES, [0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sweet": "1"}, r"hf:.*gpt2 cannot be opened: .*argument 'sweet'\n  Give the folder"),
        ({"dtype": "float33"}, r"cannot be opened: .*float33"),
        ({"attn_implementation": "none_such"}, r"cannot be opened: .*none_such"),
        ({"load_in_8bit": "true"}, r"cannot be opened: .*bitsandbytes"),
        ({"leading_space": "maybe"}, r"leading_space=maybe: Values: false, true"),
        ({"words": "maybe"}, r"words=maybe: Values: corrected, pieces"),
    ],
)
def test_arguments_that_cannot_be_used_are_one_message(saved, arguments, message):
    with pytest.raises(ModelError, match=message):
        open_model(f"hf:{saved()}", arguments)


def test_a_device_and_a_device_map_exclude_each_other(saved):
    with pytest.raises(ModelError, match=r"--device cpu and --model-args device_map=... exclude each other"):
        open_model(f"hf:{saved()}", {"device_map": "auto"}, device="cpu")


def test_accelerate_places_a_model_by_a_device_map(saved):
    assert_plain(open_model(f"hf:{saved()}", {"device_map": "cpu"}), SENTENCES, [0])


def test_a_folder_that_holds_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(ModelError, match=r"holds 'config.json', which is not a regular file"):
        open_model(f"hf:{tmp_path}", {}, "cpu")


@pytest.mark.parametrize("zipped", [True, False])
def test_weights_in_a_pickle_are_read_if_they_are_nothing_else(tmp_path, zipped):
    folder = save_causal(tmp_path / "model")
    want = transformers.AutoModelForCausalLM.from_pretrained(folder).state_dict()
    (folder / "model.safetensors").unlink()
    # Saved models of old hold masks besides, which transformers leaves out.
    state = {**want, "transformer.h.0.attn.bias": torch.ones(2, dtype=torch.bool)}
    torch.save(state, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    opened: Any = open_model(f"hf:{folder}", {}, "cpu")
    assert all(torch.equal(opened.model.state_dict()[name], tensor) for name, tensor in want.items())


@pytest.mark.parametrize("kind", ["bytearray", "code", "many lists", "lone mark"])
@pytest.mark.parametrize(
    "named", ["pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "adapter_model.bin"]
)
def test_a_pickle_that_asks_for_more_than_weights_is_refused_before_torch_sees_it(tmp_path, kind, named):
    folder = save_causal(tmp_path / "model")
    with zipfile.ZipFile(folder / named, "w") as archive:
        archive.writestr("archive/data.pkl", PICKLES[kind])
    with pytest.raises(ModelError, match=rf"hf:.*model: {named}: (refused|truncated or damaged|no file)"):
        open_model(f"hf:{folder}", {}, "cpu")


def test_a_masked_model_is_refused(tmp_path):
    with pytest.raises(
        ModelError, match=r"depends on the words after it: it is not a causal model.\n.*by mlm:"
    ):
        open_model(f"hf:{save_masked(tmp_path)}")


def test_a_model_without_its_head_is_refused(tmp_path):
    tokenizer = bpe_tokenizer()
    make, sizes = CONFIGS["llama"]
    transformers.LlamaModel(make(vocab_size=len(tokenizer), **sizes)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"LlamaForCausalLM needs \(lm_head.weight, 1 in all\)"):
        open_model(f"hf:{tmp_path}")


def test_a_model_whose_forward_pass_fails_is_one_message(tmp_path):
    tokenizer = bpe_tokenizer()
    save_causal(tmp_path, tokenizer=tokenizer)
    tokenizer.add_special_tokens({"bos_token": "<s>"})  # a row that the embedding lacks
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="cannot be opened: index out of range"):
        open_model(f"hf:{tmp_path}")


def test_a_sentence_longer_than_the_model_reads_is_named(saved):
    with pytest.raises(ModelError, match=r"has \d+ tokens, but the model reads at most 64: 'swim swim"):
        scorer_for(open_model(f"hf:{saved()}")).score(pa.array([" ".join(["swim"] * 80), "the"]))


def test_a_token_that_the_model_lacks_is_named(tmp_path):
    save_causal(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    tokenizer.add_tokens(["laughs"])
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="has 'laughs', but the model only knows 300 tokens"):
        scorer_for(open_model(f"hf:{tmp_path}")).score(pa.array(["the author laughs ."]))


@pytest.mark.parametrize(
    ("rest", "message"),
    [("", "hf: names no model"), ("./nothing/here", "hf:./nothing/here cannot be opened")],
)
def test_a_model_that_is_not_there_is_one_message(rest, message):
    with pytest.raises(ModelError, match=message):
        open_model(f"hf:{rest}")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_the_gpu_gives_the_log_probabilities_of_the_cpu(saved):
    sums = [
        scorer_for(open_model(f"hf:{saved()}", device=device))
        .score(pa.array(SENTENCES))["logprob"]
        .to_numpy()
        for device in ("cpu", "cuda")
    ]
    np.testing.assert_allclose(sums[0], sums[1], atol=1e-3)
