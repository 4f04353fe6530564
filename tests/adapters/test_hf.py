"""Causal transformers models against their own forward pass, one sentence at a time."""

import json
import os
import shutil
import zipfile
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
import transformers
from checkpoints import (
    BERT,
    CONFIGS,
    LLAMA,
    TEXT,
    bpe_tokenizer,
    save_causal,
    save_masked,
    save_spread,
    spread,
    wordpiece_tokenizer,
)
from hostile_pickles import PICKLES
from small import make_case, make_suite

import tseval
from tseval.adapters import open_model
from tseval.adapters.hf import attention_limit
from tseval.errors import ModelError
from tseval.pretrained.scoring_methods import NO_PARTS
from tseval.scoring import bfloat16
from tseval.scoring.bfloat16 import NOTHING_GAINED, has_fast_products
from tseval.scoring.products import HAS_ONEDNN
from tseval.scoring.scorers import scorer_for
from tseval.scoring.trie import build_trie

SENTENCES = sorted({*TEXT, "the author laugh .", "the pilots injured himself .", "the", "zebras ."})
# How each kind is scored: whether contexts share rows, and whether tseval applies the output matrix.
METHODS = dict.fromkeys(CONFIGS, "packed tree, tiled head") | {
    "bloom": "rows of equal length, tiled head",  # ALiBi counts positions in a row, not in a sentence
    "mistral": "rows of equal length, tiled head",  # its window is shorter than the sentences of the check
    "gpt_neo": "rows of equal length, tiled head",
    "mamba": "rows of equal length, tiled head",  # no attention
    "gemma2": "packed tree, own head",  # soft-capped logits
    "cohere": "packed tree, own head",  # scaled logits
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hf")
    return lambda kind="gpt2": folder / kind if (folder / kind).exists() else save_causal(folder / kind, kind)


def logprobs_of_nodes(model, trie):
    """Return the log-probability of every node of a trie, (nodes,)."""
    return model._nodes_by(model.method, trie, 1024, NO_PARTS)[:, 0]


def plain(model, sentence, start):
    """Return each word's log-probability by one forward pass; each prefix is split to count its pieces."""
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
    ("kind", "sizes"), [("gpt2", {"n_embd": 384}), ("llama", {"hidden_size": 384, "intermediate_size": 900})]
)
def test_a_model_of_real_width_scores_as_one_that_tseval_did_not_touch(tmp_path, kind, sizes):
    path = save_causal(tmp_path / kind, kind, **sizes)
    untouched = transformers.AutoModelForCausalLM.from_pretrained(path)
    spread(untouched, 0.06)  # wider layers have larger sums
    untouched.save_pretrained(path)
    model: Any = open_model(f"hf:{path}")
    with torch.profiler.profile() as profile:
        rows = scorer_for(model).score(pa.array(SENTENCES)).to_pylist()
    assert ("mkldnn::_linear_pointwise" in {row.key for row in profile.key_averages()}) == HAS_ONEDNN
    model.model = untouched
    for row in rows:
        np.testing.assert_allclose(row["words"], plain(model, row["sentence"], [0]), atol=1e-4, rtol=0)
    assert np.ptp([row["logprob"] / len(row["words"]) for row in rows]) > 1


@pytest.mark.parametrize("batch_tokens", [1, 40, 200])
def test_small_batches_and_rows_change_no_score(saved, batch_tokens):
    model: Any = open_model(f"hf:{saved()}")
    whole = scores(model, SENTENCES)
    model.batch_tokens = batch_tokens
    np.testing.assert_allclose(scores(model, SENTENCES), whole, atol=1e-5)


def test_a_sentence_beyond_the_attention_window_is_not_packed(tmp_path):
    model: Any = open_model(f"hf:{save_causal(tmp_path, 'mistral', sliding_window=32)}")
    assert model.method.packed
    scorer = scorer_for(model)
    scorer.score(pa.array(SENTENCES))
    assert scorer.warnings == []
    long = sorted(" ".join(["the author laughs near guards"] * n) for n in (3, 9))
    assert_plain(model, long, [0])
    scorer.score(pa.array(long))
    assert scorer.warnings == [
        "sentences longer than the attention window (32 tokens) are scored one in a row"
    ]


def test_a_pattern_of_layers_is_no_attention_window():
    config = transformers.Gemma3TextConfig(sliding_window=512)  # every sixth layer attends to all positions
    assert "_sliding_window_pattern" in config.to_dict()
    assert attention_limit(config) == 512
    config.attention_chunk_size = 256  # the smallest of several limits counts
    assert attention_limit(config) == 256


def test_weights_stored_in_half_precision_are_computed_with_in_float32_and_the_run_says_so(tmp_path):
    wide: Any = open_model(f"hf:{save_causal(tmp_path, dtype=torch.bfloat16)}", {}, "cpu")
    assert wide.card.protocol["dtype"] == "float32"
    assert wide.warnings == [
        "the weights are stored in bfloat16, but tseval computes in float32 "
        "(to compute in bfloat16: --model-args dtype=bfloat16)"
    ]
    assert_plain(wide, SENTENCES, [0])


def test_a_leading_space_is_part_of_the_first_word(saved):
    model: Any = open_model(f"hf:{saved()}", {"leading_space": "true"})
    (row,) = scorer_for(model).score(pa.array(["the author"])).to_pylist()
    pieces = model.tokenizer.encode(" the author", add_special_tokens=False)
    assert pieces != model.tokenizer.encode("the author", add_special_tokens=False)
    with torch.no_grad():
        table = model.model(torch.tensor([[0, *pieces]])).logits[0].log_softmax(-1)
    assert row["logprob"] == pytest.approx(sum(table[i, p].item() for i, p in enumerate(pieces)), abs=1e-4)
    assert model.card.protocol["leading_space"] is True


def test_the_start_symbol_can_be_chosen(saved, tmp_path):
    assert_plain(open_model(f"hf:{saved()}", {"bos": "<pad>"}), SENTENCES[:3], [1])
    save_causal(tmp_path, tokenizer=bpe_tokenizer(bos=None))
    with pytest.raises(ModelError, match=r"bos=true: the tokenizer has no beginning-of.*\n.*bos=TOKEN"):
        open_model(f"hf:{tmp_path}", {"bos": "true"})
    with pytest.raises(ModelError, match=r"bos=<s>: the vocabulary has no token '<s>'.\n.*<\|endoftext\|>"):
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
    # An argument that is a configuration field changes the model: one layer instead of two.
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
        ({"sweet": "1"}, r"--model-args sweet: models of the kind hf have no argument 'sweet'"),
        ({"dtype": "float33"}, "dtype=float33: unknown type. Did you mean 'float32'"),
        ({"attn_implementation": "none_such"}, r"cannot be opened: .*none_such"),
        ({"load_in_8bit": "true"}, r"cannot be opened: .*bitsandbytes"),
        ({"leading_space": "maybe"}, r"leading_space=maybe: unknown value. Values: false, true"),
        ({"words": "maybe"}, r"words=maybe: unknown value. Values: corrected, pieces"),
    ],
)
def test_arguments_that_cannot_be_used_are_one_message(saved, arguments, message):
    with pytest.raises(ModelError, match=message):
        open_model(f"hf:{saved()}", arguments)


def test_accelerate_places_a_model_by_a_device_map_which_excludes_a_device(saved):
    assert_plain(open_model(f"hf:{saved()}", {"device_map": "cpu"}), SENTENCES, [0])
    with pytest.raises(
        ModelError, match=r"--device cpu and --model-args device_map=... cannot be used together"
    ):
        open_model(f"hf:{saved()}", {"device_map": "auto"}, device="cpu")


def test_a_folder_that_holds_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(ModelError, match=r"'config.json' in the folder is not a regular file"):
        open_model(f"hf:{tmp_path}", {}, "cpu")


@pytest.mark.parametrize("zipped", [True, False])
def test_weights_in_a_pickle_are_read_if_they_are_nothing_else(tmp_path, zipped):
    folder = save_causal(tmp_path / "model")
    want = transformers.AutoModelForCausalLM.from_pretrained(folder).state_dict()
    (folder / "model.safetensors").unlink()
    # Old saved models also have masks, which transformers ignores.
    state = {**want, "transformer.h.0.attn.bias": torch.ones(2, dtype=torch.bool)}
    torch.save(state, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    opened: Any = open_model(f"hf:{folder}", {}, "cpu")
    assert all(torch.equal(opened.model.state_dict()[name], tensor) for name, tensor in want.items())


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("bytearray", "pytorch_model.bin"),
        ("code", "pytorch_model-00001-of-00002.bin"),
        ("many lists", "adapter_model.bin"),
        ("lone mark", "pytorch_model.bin"),
    ],
)
def test_a_pickle_that_asks_for_more_than_weights_is_refused_before_torch_sees_it(tmp_path, kind, named):
    folder = save_causal(tmp_path / "model")
    with zipfile.ZipFile(folder / named, "w") as archive:
        archive.writestr("archive/data.pkl", PICKLES[kind])
    with pytest.raises(
        ModelError,
        match=rf"hf:.*model: {named}: (tseval refuses|truncated or damaged|no "
        rf"file)",
    ):
        open_model(f"hf:{folder}", {}, "cpu")


def test_a_masked_model_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"not causal: .* depends on the words after it.\n.*--model mlm:"):
        open_model(f"hf:{save_masked(tmp_path)}")


def test_a_model_without_its_head_is_refused(tmp_path):
    tokenizer = bpe_tokenizer()
    make, sizes = CONFIGS["llama"]
    transformers.LlamaModel(make(vocab_size=len(tokenizer), **sizes)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"LlamaForCausalLM \(lm_head.weight; 1 in all\)"):
        open_model(f"hf:{tmp_path}")


def test_a_start_symbol_that_the_model_has_no_row_for_is_named(tmp_path):
    tokenizer = bpe_tokenizer()
    save_causal(tmp_path, tokenizer=tokenizer)
    tokenizer.add_special_tokens({"bos_token": "<s>"})  # the embedding has no row for it
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(
        ModelError, match=r"<s> of the tokenizer has the id 300, but the model has only 300 tokens\.\n.*bos="
    ):
        open_model(f"hf:{tmp_path}")


def test_a_token_that_the_model_lacks_is_named(tmp_path):
    save_causal(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    tokenizer.add_tokens(["laughs"])
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(
        ModelError, match=r"token 'laughs' of the tokenizer has the id .* the model has only 300 tokens"
    ):
        scorer_for(open_model(f"hf:{tmp_path}")).score(pa.array(["the author laughs ."]))


@pytest.mark.parametrize(
    ("rest", "message"),
    [("", "hf: no model is named"), ("./nothing/here", "hf:./nothing/here cannot be opened")],
)
def test_a_model_that_is_not_there_is_one_message(rest, message):
    with pytest.raises(ModelError, match=message):
        open_model(f"hf:{rest}")


# Compare with the plain forward pass at the sentence lengths and row widths of real runs.
ORIGINAL = 32  # tokens; up to this length, a model with a long rope uses its short factors
LETTERS = "QXZJKVWY"  # in no training word of the tokenizer, so each is a token


def sentences(*lengths):
    """Make sentences with these numbers of tokens, start symbol included, that share their prefixes."""
    return sorted("".join(LETTERS[n * n // 3 % 8] for n in range(length - 1)) for length in lengths)


def scores(model, texts):
    return scorer_for(model).score(pa.array(texts))["logprob"].to_numpy()


@pytest.fixture
def longrope(tmp_path):
    """Save a Phi-3 whose positions are scaled differently in sentences beyond its original length."""
    original = {"original_max_position_embeddings": ORIGINAL}
    factors = {"short_factor": [1.0] * 4, "long_factor": [3.0, 5.0, 7.0, 9.0]}
    rope = {"rope_type": "longrope", "rope_theta": 10000.0, **original, **factors}
    sizes = {**LLAMA, "max_position_embeddings": 96, **original, "rope_parameters": rope}
    torch.manual_seed(0)
    config = transformers.Phi3Config(vocab_size=300, bos_token_id=0, eos_token_id=0, pad_token_id=1, **sizes)
    model = transformers.AutoModelForCausalLM.from_config(config)
    return save_spread(tmp_path, model, bpe_tokenizer())


def test_a_long_sentence_moves_no_other_under_a_long_rope(longrope):
    model: Any = open_model(f"hf:{longrope}")
    short = sentences(5, 9, ORIGINAL - 1, ORIGINAL)
    both = sorted([*short, *sentences(ORIGINAL + 1, ORIGINAL + 2, 2 * ORIGINAL)])
    assert_plain(model, both, [0], atol=1e-3)
    alone, together = (dict(zip(texts, scores(model, texts), strict=True)) for texts in (short, both))
    for text in short:
        assert together[text] == pytest.approx(alone[text], abs=1e-3)


def test_the_table_says_what_was_read_whole_and_why(tmp_path, longrope):
    model: Any = open_model(f"hf:{longrope}")
    texts = sentences(9, 2 * ORIGINAL)
    suite = make_suite(make_case("long", [(texts[0], texts[1])]), terminator=None)
    run = tseval.evaluate(model, suite, out=tmp_path / "run")
    (warning,) = run.manifest.warnings
    assert "scored by each sentence whole, tiled head: packed tree, tiled head differs" in warning
    assert f": {warning}." in (tmp_path / "run" / "table.md").read_text()


def open_own(kind, folder) -> Any:
    """Save a model of a kind unknown to transformers, register the kind, and open the model."""
    config = kind.config_class
    transformers.AutoConfig.register(config.model_type, config)
    transformers.AutoModelForCausalLM.register(config, kind)
    torch.manual_seed(0)
    model = kind(config(vocab_size=300, **CONFIGS["gpt2"][1]))
    return open_model(f"hf:{save_spread(folder, model, bpe_tokenizer())}")


class HalfBlindConfig(transformers.GPT2Config):
    model_type = "half_blind"


class HalfBlind(transformers.GPT2LMHeadModel):
    """A model that obeys its attention mask only in the first 60 positions of a row."""

    config_class = HalfBlindConfig

    def __init__(self, config):
        super().__init__(config)
        self.transformer.register_forward_pre_hook(self.forget, with_kwargs=True)

    @staticmethod
    def forget(_module, inputs, keywords):
        mask = keywords.get("attention_mask")
        if mask is not None and mask.dim() == 4:
            causal = torch.full(mask.shape[-2:], torch.finfo(mask.dtype).min).triu(1)
            keywords["attention_mask"] = torch.cat(
                (mask[..., :60, :], causal.expand_as(mask)[..., 60:, :]), 2
            )
        return inputs, keywords


def test_a_mask_that_breaks_only_far_down_a_row_is_noticed(tmp_path):
    opened = open_own(HalfBlind, tmp_path)
    assert opened.method.name == "rows of equal length, tiled head"
    (warning,) = opened.warnings
    assert "packed tree, tiled head differs from the model's forward pass" in warning
    assert_plain(opened, sorted({*TEXT, *sentences(9, 20, 50)}), [0], atol=1e-3)


class FarSightedConfig(transformers.GPT2Config):
    model_type = "far_sighted"


class FarSighted(transformers.GPT2LMHeadModel):
    """A model that ignores its position ids if one of them is beyond 40."""

    config_class = FarSightedConfig

    def __init__(self, config):
        super().__init__(config)
        self.transformer.register_forward_pre_hook(self.count, with_kwargs=True)

    @staticmethod
    def count(_module, inputs, keywords):
        positions = keywords.get("position_ids")
        if positions is not None and positions.max() > 40:
            keywords["position_ids"] = torch.arange(positions.shape[1]).expand_as(positions) % 64
        return inputs, keywords


def test_positions_that_break_only_in_long_sentences_are_noticed_when_these_come(tmp_path):
    opened = open_own(FarSighted, tmp_path)
    assert opened.method.packed
    for texts, warnings in ((sentences(9, 20, 35), 0), (sentences(9, 20, 35, 60), 1), (sentences(9, 58), 1)):
        assert_plain(opened, texts, [0], atol=1e-3)
        assert len(opened.warnings) == warnings
    assert opened.warnings[0].startswith(
        "for sentences of up to 59 tokens: scored by rows of equal length, tiled head: packed tree, "
    )


# Models in bfloat16 on a CPU: logits have float32 precision with either head.
DTYPE = {"dtype": "bfloat16"}


@pytest.fixture(params=["fast", "plain"])
def manner(request, monkeypatch):
    """Compute with the processor's bfloat16 instructions, and without them."""
    if request.param == "plain":
        monkeypatch.setattr(bfloat16, "_library", lambda: None)
    elif not has_fast_products(torch.device("cpu")):
        pytest.skip("this processor has no bfloat16 products")
    return request.param


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("gpt2", "packed tree, tiled head"),
        ("cohere", "packed tree, own head"),
        ("gemma2", "packed tree, own head"),
    ],
)
def test_tokens_that_bfloat16_cannot_tell_apart_do_not_tie(tmp_path, manner, kind, method):
    model: Any = open_model(f"hf:{save_causal(tmp_path, kind)}", DTYPE, "cpu")
    assert model.method.name.endswith(method)
    assert model.card.protocol["dtype"] == "bfloat16"
    assert (NOTHING_GAINED in model.warnings) == (manner == "plain")
    n = len(model.tokenizer)
    trie = build_trie(np.array([(7, token) for token in range(n)]).ravel(), np.full(n, 2))
    logprobs = logprobs_of_nodes(model, trie)[1:]
    assert len(np.unique(logprobs)) > 0.98 * n
    assert np.exp(logprobs.astype(float)).sum() == pytest.approx(1, abs=1e-5)
    # Many logits of the model itself are equal, because they are rounded.
    with torch.inference_mode():
        rounded = model.model(torch.tensor([[*model.starts, 7]])).logits[0, 1]
    assert rounded.dtype == torch.bfloat16
    assert len(rounded.unique()) < 0.9 * n


def test_a_masked_model_gets_float32_logits_too(tmp_path, manner):
    folder = save_masked(tmp_path)
    model: Any = open_model(f"mlm:{folder}", DTYPE, "cpu")
    assert (NOTHING_GAINED in model.warnings) == (manner == "plain")
    copies = np.array([[8, 9, model.mask, 7]])
    logits = model._logits(copies, np.array([2]))
    assert len(logits.unique()) > 0.98 * logits.numel()
    wide: Any = open_model(f"mlm:{folder}", {}, "cpu")
    one, other = (scores(m, sorted(TEXT)) for m in (model, wide))
    assert 0 < np.abs(one - other).max() < 0.5


OPEN = """from transformers import GPT2LMHeadModel


class OpenGPT2(GPT2LMHeadModel):
    def __init__(self, config, **others):
        super().__init__(config)
"""


@pytest.mark.parametrize(
    ("scheme", "wrong", "near"),
    [
        ("hf", "dtpye", "dtype"),
        ("hf", "add_bos_token", "bos"),
        ("mlm", "plll", "pll"),
    ],
)
def test_an_argument_that_nobody_takes_is_named(tmp_path, scheme, wrong, near):
    (save_causal if scheme == "hf" else save_masked)(tmp_path)
    with pytest.raises(
        ModelError, match=f"--model-args {wrong}: models of the kind {scheme} .*Did you mean '{near}'"
    ) as error:
        open_model(f"{scheme}:{tmp_path}", {wrong: "float32"})
    assert "Name the folder" not in str(error.value)
    assert len(str(error.value)) < 500


def test_code_that_takes_any_argument_does_not_take_a_slip(tmp_path):
    """An argument that the code accepts and ignores would appear in the signature as if it had an effect."""
    save_causal(tmp_path)
    (tmp_path / "modeling_open.py").write_text(OPEN)
    config = json.loads((tmp_path / "config.json").read_text())
    config["auto_map"] = {"AutoModelForCausalLM": "modeling_open.OpenGPT2"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"--model-args dtpye: models of the kind hf .*Did you mean 'dtype'"):
        open_model(f"hf:{tmp_path}", {"trust_remote_code": "true", "dtpye": "float32"})
    given = {"trust_remote_code": "true", "dtype": "float32", "attn_implementation": "eager"}
    assert open_model(f"hf:{tmp_path}", given).card.protocol["attn_implementation"] == "eager"


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_model_of_fewer_layers_than_its_file_is_refused(tmp_path, kind):
    config = json.loads((save_causal(tmp_path, kind) / "config.json").read_text())
    layers = "n_layer" if kind == "gpt2" else "num_hidden_layers"
    (tmp_path / "config.json").write_text(json.dumps({**config, layers: 1}))
    with pytest.raises(ModelError, match=r"holds weights that \w+ does not use \(\w+\.(h|layers)\.1\."):
        open_model(f"hf:{tmp_path}")


def test_an_encoder_with_a_decoder_is_no_causal_model(tmp_path):
    """Its older files store shared weights under each name, so the decoder alone would find its weights."""
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "max_position_embeddings": 40}
    tokenizer = bpe_tokenizer()
    ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 0, "decoder_start_token_id": 0}
    config = transformers.BartConfig(vocab_size=len(tokenizer), d_model=16, **sizes, **heads, **ids)
    model = transformers.BartForConditionalGeneration(config)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(
        ModelError, match=r"\(model.encoder.*\n  The model has an encoder and a decoder.* seq2seq:"
    ):
        open_model(f"hf:{tmp_path}")


def test_heads_that_are_not_asked_may_be_left_over(tmp_path):
    tokenizer = wordpiece_tokenizer()
    model = transformers.BertForPreTraining(transformers.BertConfig(vocab_size=len(tokenizer), **BERT))
    save_spread(tmp_path, model, tokenizer)
    assert open_model(f"mlm:{tmp_path}").card.name
