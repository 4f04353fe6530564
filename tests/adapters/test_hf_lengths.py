"""Models are held to their plain forward pass at the lengths of a run's sentences, in rows as wide."""

from typing import Any

import pyarrow as pa
import pytest
import torch
import transformers
from checkpoints import CONFIGS, LLAMA, TEXT, bpe_tokenizer, spread
from small import make_case, make_suite

import tseval
from tseval.adapters import open_model
from tseval.scoring.scorers import scorer_for

ORIGINAL = 32  # tokens up to which a model with a long rope uses its short factors
LETTERS = "QXZJKVWY"  # in no word that the tokenizer was trained on: each is a token


def sentences(*lengths):
    """Make up sentences of so many tokens, the start symbol among them, that share their beginnings."""
    return sorted("".join(LETTERS[n * n // 3 % 8] for n in range(length - 1)) for length in lengths)


def plain(model, sentence):
    """Score a sentence alone, by one forward pass over all of it."""
    ids = [0, *model.tokenizer.encode(sentence)]
    with torch.no_grad():
        table = model.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return sum(table[i - 1, ids[i]].item() for i in range(1, len(ids)))


def scores(model, texts):
    return scorer_for(model).score(pa.array(texts))["logprob"].to_numpy()


@pytest.fixture(params=[ORIGINAL, 16])
def longrope(request, tmp_path):
    """A Phi-3 whose positions count otherwise in sentences beyond its first length of training."""
    sizes = {
        **LLAMA,
        "max_position_embeddings": 96,
        "original_max_position_embeddings": request.param,
        "rope_parameters": {
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "original_max_position_embeddings": request.param,
            "short_factor": [1.0] * 4,
            "long_factor": [3.0, 5.0, 7.0, 9.0],
        },
    }
    torch.manual_seed(0)
    config = transformers.Phi3Config(vocab_size=300, bos_token_id=0, eos_token_id=0, pad_token_id=1, **sizes)
    model = transformers.AutoModelForCausalLM.from_config(config)
    spread(model)
    model.save_pretrained(tmp_path)
    bpe_tokenizer().save_pretrained(tmp_path)
    return request.param, tmp_path


def test_a_long_sentence_moves_no_other_under_a_long_rope(longrope):
    original, path = longrope
    model: Any = open_model(f"hf:{path}")
    short = sentences(5, 9, original - 1, original)
    both = sorted([*short, *sentences(original + 1, original + 2, 2 * original)])
    alone = dict(zip(short, scores(model, short), strict=True))
    together = dict(zip(both, scores(model, both), strict=True))
    for text in both:
        assert together[text] == pytest.approx(plain(model, text), abs=1e-3)
    for text in short:
        assert together[text] == pytest.approx(alone[text], abs=1e-3)


def test_the_factors_matter_or_the_test_would_show_nothing(longrope):
    original, path = longrope
    model: Any = open_model(f"hf:{path}")
    (text,) = sentences(original)
    model.model.config.rope_parameters["original_max_position_embeddings"] = original - 1
    moved = plain(model, text)
    model.model.config.rope_parameters["original_max_position_embeddings"] = original
    assert abs(moved - plain(model, text)) > 0.02  # twenty times what the other test lets pass


def test_the_table_says_what_was_read_whole_and_why(tmp_path, longrope):
    original, path = longrope
    model: Any = open_model(f"hf:{path}")
    texts = sentences(9, 2 * original)
    suite = make_suite(make_case("long", [(texts[0], texts[1])]), terminator=None)
    run = tseval.evaluate(model, suite, out=tmp_path / "run")
    (warning,) = run.manifest.warnings
    assert "scored by each sentence whole, tiled head: packed tree, tiled head differs" in warning
    assert f": {warning}." in (tmp_path / "run" / "table.md").read_text()


class HalfBlindConfig(transformers.GPT2Config):
    model_type = "half_blind"


class HalfBlind(transformers.GPT2LMHeadModel):
    """A model that keeps to the mask it is given only in the first 60 places of a row."""

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
    transformers.AutoConfig.register("half_blind", HalfBlindConfig)
    transformers.AutoModelForCausalLM.register(HalfBlindConfig, HalfBlind)
    torch.manual_seed(0)
    model = HalfBlind(HalfBlindConfig(vocab_size=300, **CONFIGS["gpt2"][1]))
    spread(model)
    model.save_pretrained(tmp_path)
    bpe_tokenizer().save_pretrained(tmp_path)
    opened: Any = open_model(f"hf:{tmp_path}")
    assert opened.method.name == "rows of equal length, tiled head"
    (warning,) = opened.warnings
    assert "packed tree, tiled head differs from the plain forward pass" in warning
    texts = sorted({*TEXT, *sentences(9, 20, 50)})
    assert scores(opened, texts) == pytest.approx([plain(opened, text) for text in texts], abs=1e-3)


class FarSightedConfig(transformers.GPT2Config):
    model_type = "far_sighted"


class FarSighted(transformers.GPT2LMHeadModel):
    """A model that counts places anew in rows with a place of their sentence beyond 40."""

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
    transformers.AutoConfig.register("far_sighted", FarSightedConfig)
    transformers.AutoModelForCausalLM.register(FarSightedConfig, FarSighted)
    torch.manual_seed(0)
    model = FarSighted(FarSightedConfig(vocab_size=300, **CONFIGS["gpt2"][1]))
    spread(model)
    model.save_pretrained(tmp_path)
    bpe_tokenizer().save_pretrained(tmp_path)
    opened: Any = open_model(f"hf:{tmp_path}")
    assert opened.method.packed
    for texts, warnings in ((sentences(9, 20, 35), 0), (sentences(9, 20, 35, 60), 1), (sentences(9, 58), 1)):
        assert scores(opened, texts) == pytest.approx([plain(opened, text) for text in texts], abs=1e-3)
        assert len(opened.warnings) == warnings
    assert opened.warnings[0].startswith(
        "where sentences have up to 59 tokens: scored by rows of equal length, tiled head: packed tree, "
    )
