"""Folders with LoRA adapters, and incomplete folders."""

import json
import shutil
import sys
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
import transformers
from checkpoints import TEXT, bpe_tokenizer, save_causal, save_masked

from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.scoring.scorers import scorer_for

peft = pytest.importorskip("peft")
SENTENCES = sorted(TEXT)


def save_lora(folder, base, kind="CausalLM", seed=0, **settings):
    """Save a random LoRA adapter of a model, as peft does."""
    torch.manual_seed(seed)
    model = getattr(transformers, f"AutoModelFor{kind}").from_pretrained(base)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft calls transformers in a deprecated way
        changed = peft.get_peft_model(model, peft.LoraConfig(init_lora_weights=False, **settings))
        changed.save_pretrained(folder)
    return changed.eval()


@pytest.fixture
def saved(tmp_path):
    save_causal(tmp_path / "base", "llama")
    return tmp_path


@pytest.mark.parametrize("own_tokenizer", [False, True])
def test_a_change_is_scored_as_peft_computes_it(saved, own_tokenizer):
    changed = save_lora(saved / "lora", saved / "base", r=4)
    if own_tokenizer:
        bpe_tokenizer().save_pretrained(saved / "lora")
    model: Any = open_model(f"hf:{saved / 'lora'}")
    assert model.card.name == "lora"
    scores = scorer_for(model).score(pa.array(SENTENCES))["logprob"].to_pylist()
    for sentence, score in zip(SENTENCES, scores, strict=True):
        ids = [0, *model.tokenizer.encode(sentence)]
        with torch.no_grad():
            table = changed(torch.tensor([ids])).logits[0].log_softmax(-1)
        assert score == pytest.approx(sum(table[i - 1, ids[i]].item() for i in range(1, len(ids))), abs=1e-3)
    base = scorer_for(open_model(f"hf:{saved / 'base'}")).score(pa.array(SENTENCES))["logprob"].to_numpy()
    assert not np.allclose(scores, base, atol=1)


def test_a_masked_model_may_be_changed_too(tmp_path):
    save_masked(tmp_path / "base")
    save_lora(tmp_path / "lora", tmp_path / "base", "MaskedLM", target_modules=["query"])
    base, changed = (
        scorer_for(open_model(f"mlm:{tmp_path / name}")).score(pa.array(SENTENCES))["logprob"].to_numpy()
        for name in ("base", "lora")
    )
    assert not np.allclose(base, changed, atol=0.1)


@pytest.mark.slow
def test_the_fingerprint_covers_base_and_change_and_not_where_they_lie(saved):
    save_lora(saved / "lora", saved / "base")

    def fingerprint():
        return open_model(f"hf:{saved / 'lora'}").card.fingerprint

    def name_base(path):
        config = json.loads((saved / "lora" / "adapter_config.json").read_text())
        config["base_model_name_or_path"] = str(path)
        (saved / "lora" / "adapter_config.json").write_text(json.dumps(config))

    first = fingerprint()
    assert first != open_model(f"hf:{saved / 'base'}").card.fingerprint
    shutil.copytree(saved / "base", saved / "copy")
    name_base(saved / "copy")
    assert fingerprint() == first
    save_causal(saved / "copy", "llama", rms_norm_eps=1e-3)
    other_base = fingerprint()
    name_base(saved / "base")
    save_lora(saved / "lora", saved / "base", seed=1)
    other_change = fingerprint()
    save_lora(saved / "lora", saved / "base", lora_alpha=32)
    assert len({first, other_base, other_change, fingerprint()}) == 4


def test_without_peft_the_message_names_it_and_the_base(saved, monkeypatch):
    save_lora(saved / "lora", saved / "base")
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(
        ModelError,
        match=r"holds an adapter \(LoRA\) of .*base, which only peft can read.\n  .*pip install peft",
    ):
        open_model(f"hf:{saved / 'lora'}")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", r"lora: adapter_config.json: not a JSON file"),
        ("{}", r"adapter_config.json: base_model_name_or_path: is missing"),
        ('{"base_model_name_or_path": "./none"}', r"hf:./none cannot be opened: no folder has this name"),
    ],
)
def test_a_change_of_nothing_is_one_message(tmp_path, config, message):
    (tmp_path / "lora").mkdir()
    (tmp_path / "lora" / "adapter_config.json").write_text(config)
    with pytest.raises(ModelError, match=message):
        open_model(f"hf:{tmp_path / 'lora'}")


def test_a_change_that_is_not_whole_or_of_another_model_is_one_message(saved):
    save_lora(saved / "lora", saved / "base")
    save_causal(saved / "base", "llama", hidden_size=16)
    with pytest.raises(ModelError, match=r"hf:.*lora cannot be opened: .*size mismatch"):
        open_model(f"hf:{saved / 'lora'}")
    save_causal(saved / "base", "llama", num_hidden_layers=3)
    with pytest.raises(ModelError, match=r"hf:.*lora cannot be opened: Found missing adapter keys"):
        open_model(f"hf:{saved / 'lora'}")


def test_a_folder_without_a_tokenizer_is_one_message(saved):
    for file in (saved / "base").glob("tokenizer*"):
        file.unlink()
    with pytest.raises(
        ModelError, match=r"base has no tokenizer: neither .*\n  Save the tokenizer there: AutoTokenizer"
    ):
        open_model(f"hf:{saved / 'base'}")


def test_a_folder_without_a_model_is_one_message(tmp_path):
    bpe_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(
        ModelError, match=r"not the folder of a saved model: it has no config.json.\n  Name the folder"
    ):
        open_model(f"hf:{tmp_path}")


# Adapters of models whose input and output matrices are shared.
TIED: dict[str, dict[str, Any]] = {
    "input": {"target_modules": ["embed_tokens", "q_proj"]},
    "output": {"target_modules": ["lm_head"]},
    "both": {"target_modules": ["embed_tokens", "lm_head"], "ensure_weight_tying": True},
    "saved": {"target_modules": ["q_proj"], "modules_to_save": ["lm_head"]},
    "magnitudes": {"target_modules": ["embed_tokens"], "use_dora": True},
}


def sums_by_peft(folder, base, sentences, model="CausalLM"):
    """Score with peft's own forward pass, without merging, and with the start token before each sentence."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, f"AutoModelFor{model}").from_pretrained(base)
    if len(tokenizer) > model.get_input_embeddings().weight.shape[0]:
        model.resize_token_embeddings(len(tokenizer))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changed = peft.PeftModel.from_pretrained(model, folder).eval()
    sums = []
    for sentence in sentences:
        ids = [0, *tokenizer.encode(sentence, add_special_tokens=False)]
        with torch.no_grad():
            table = changed(torch.tensor([ids])).logits[0].log_softmax(-1)
        sums.append(table[range(len(ids) - 1), ids[1:]].sum().item())
    return sums


@pytest.mark.parametrize("kind", TIED)
def test_a_change_of_tied_matrices_is_scored_as_peft_computes_it(tmp_path, kind):
    save_causal(tmp_path / "base", "llama", tie_word_embeddings=True)
    save_lora(tmp_path / "lora", tmp_path / "base", r=4, **TIED[kind])
    bpe_tokenizer().save_pretrained(tmp_path / "lora")
    model = open_model(f"hf:{tmp_path / 'lora'}")
    scores = scorer_for(model).score(pa.array(SENTENCES[:3]))["logprob"].to_pylist()
    expected = sums_by_peft(tmp_path / "lora", tmp_path / "base", SENTENCES[:3])
    assert scores == pytest.approx(expected, abs=1e-3)


def test_a_masked_model_with_tied_matrices_is_changed_where_peft_changes_it(tmp_path):
    save_masked(tmp_path / "base")
    changed = save_lora(tmp_path / "lora", tmp_path / "base", "MaskedLM", target_modules=["word_embeddings"])
    model: Any = open_model(f"mlm:{tmp_path / 'lora'}", {"pll": "original"})
    tokenizer = model.opened.tokenizer
    ids = tokenizer(SENTENCES[0])["input_ids"]
    expected = 0.0
    for place in range(1, len(ids) - 1):
        row = torch.tensor([ids])
        row[0, place] = tokenizer.mask_token_id
        with torch.no_grad():
            expected += changed(input_ids=row).logits[0, place].log_softmax(-1)[ids[place]].item()
    assert scorer_for(model).score(pa.array(SENTENCES[:1]))["logprob"][0].as_py() == pytest.approx(
        expected, abs=1e-3
    )


def test_tokens_that_were_added_with_a_change_get_the_rows_that_it_saved(saved):
    tokenizer = bpe_tokenizer()
    tokenizer.add_tokens(["<a>", "<b>"])
    base = transformers.AutoModelForCausalLM.from_pretrained(saved / "base")
    base.resize_token_embeddings(len(tokenizer))
    settings = {"target_modules": ["q_proj"], "modules_to_save": ["embed_tokens", "lm_head"]}
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changed = peft.get_peft_model(
            base,
            peft.LoraConfig(init_lora_weights=False, base_model_name_or_path=str(saved / "base"), **settings),
        )
        for weight in changed.parameters():
            if weight.requires_grad:
                weight.data += 0.2 * torch.randn_like(weight)
        changed.peft_config["default"].base_model_name_or_path = str(saved / "base")
        changed.save_pretrained(saved / "lora")
    tokenizer.save_pretrained(saved / "lora")
    model: Any = open_model(f"hf:{saved / 'lora'}")
    assert model.opened.n_tokens == len(tokenizer)
    sentences = [*SENTENCES[:2], "the <a> laughs ."]
    scores = scorer_for(model).score(pa.array(sentences))["logprob"].to_pylist()
    assert scores == pytest.approx(sums_by_peft(saved / "lora", saved / "base", sentences), abs=1e-3)


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (peft.PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"), "prompt tuning"),
        (peft.PrefixTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"), "prefix tuning"),
        (
            peft.AdaptionPromptConfig(adapter_len=3, adapter_layers=1, task_type="CAUSAL_LM"),
            "adaption prompt",
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_change_that_adds_nothing_to_weights_is_named(saved, config, kind):
    base = transformers.AutoModelForCausalLM.from_pretrained(saved / "base")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peft.get_peft_model(base, config).save_pretrained(saved / "change")
    with pytest.raises(
        ModelError, match=rf"change holds an adapter of the type '{kind}', which cannot be merged"
    ):
        open_model(f"hf:{saved / 'change'}")
