"""Masked models against one plain forward pass for each masked token."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
import transformers
from checkpoints import (
    BERT,
    MASKED,
    TEXT,
    bpe_tokenizer,
    save_causal,
    save_masked,
    save_spread,
    wordpiece_tokenizer,
)
from in_process import refuse, succeed
from small import make_case, make_suite, write_lines
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

import tseval
from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.scoring.scorers import scorer_for

# Words of several pieces, words of one piece, and one unknown word.
SENTENCES = sorted({*TEXT, "the author laugh .", "the", "the guardlikes likeslaugh .", "the ☃ laughs ."})
METRICS = ["within_word_l2r", "original"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlm")
    return lambda kind="bert": folder / kind if (folder / kind).exists() else save_masked(folder / kind, kind)


def brute_force(model, sentence, pll):
    """Return the pseudo-log-likelihood of each word, with one plain forward pass for each piece."""
    tokenizer = model.opened.tokenizer
    words = [tokenizer.encode(word, add_special_tokens=False) for word in sentence.split(" ")]
    pieces = [piece for word in words for piece in word]
    word_of = [number for number, word in enumerate(words) for _ in word]
    result = [0.0] * len(words)
    for place, piece in enumerate(pieces):
        masked = [
            tokenizer.mask_token_id
            if other == place or (pll != "original" and other > place and word_of[other] == word_of[place])
            else pieces[other]
            for other in range(len(pieces))
        ]
        ids = [tokenizer.cls_token_id, *masked, tokenizer.sep_token_id]
        with torch.no_grad():
            logits = model.model(torch.tensor([ids])).logits[0, place + 1].double()
        result[word_of[place]] += logits.log_softmax(-1)[piece].item()
    return result


def assert_brute_force(model, pll):
    rows = scorer_for(model).score(pa.array(SENTENCES)).to_pylist()
    for row in rows:
        np.testing.assert_allclose(row["words"], brute_force(model, row["sentence"], pll), atol=1e-4, rtol=0)
    assert max(len(model.opened.tokenizer.tokenize(w)) for text in SENTENCES for w in text.split()) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("pll", METRICS)
@pytest.mark.parametrize("kind", MASKED)
def test_every_word_scores_as_one_forward_pass_per_masked_piece(saved, kind, pll):
    model: Any = open_model(f"mlm:{saved(kind)}", {"pll": pll})
    assert_brute_force(model, pll)
    assert model.warnings == []
    assert model.card.protocol["pll"] == pll


@pytest.mark.parametrize("batch_tokens", [1, 30])
def test_small_batches_change_no_score(saved, batch_tokens, monkeypatch):
    model: Any = open_model(f"mlm:{saved()}")
    sums = scorer_for(model).score(pa.array(SENTENCES))["logprob"].to_pylist()
    model.batch_tokens = batch_tokens
    monkeypatch.setattr("tseval.adapters.mlm.COPIED_TOKENS", batch_tokens)
    cut = scorer_for(model).score(pa.array(SENTENCES))["logprob"].to_pylist()
    np.testing.assert_allclose(cut, sums, atol=1e-5)


def test_a_masked_copy_that_sentences_share_is_computed_once(saved):
    model: Any = open_model(f"mlm:{saved()}", {"pll": "original"})
    tokenizer = model.opened.tokenizer
    texts = sorted(
        f"the {noun} {verb} ." for noun in ("author", "guard", "pilot") for verb in ("laugh", "laughs")
    )
    copies = set()
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False)
        copies |= {(*ids[:place], tokenizer.mask_token_id, *ids[place + 1 :]) for place in range(len(ids))}
    scorer = scorer_for(model)
    scorer.score(pa.array(texts))
    assert scorer.n_contexts == len(copies) < sum(len(tokenizer.tokenize(text)) for text in texts)


def test_sentences_that_look_alike_to_the_model_are_undecidable(saved):
    rows = [("the ☃ laughs .", "the ☂ laughs ."), ("the author laughs .", "the author laugh .")]
    run = tseval.evaluate(
        open_model(f"mlm:{saved()}"), make_suite(make_case("unknown", rows), terminator=None)
    )
    assert run.verdicts["undecidable"].tolist() == [True, False]


class DeepConfig(transformers.BertConfig):
    model_type = "deep_bert"


class DeepBert(transformers.BertForMaskedLM):
    """A model whose head reads another output than the last hidden state."""

    config_class = DeepConfig

    def forward(self, input_ids, attention_mask=None):
        states = self.bert(input_ids, attention_mask=attention_mask, output_hidden_states=True).hidden_states
        return transformers.modeling_outputs.MaskedLMOutput(logits=self.cls(states[-2]))


def test_a_head_that_needs_all_tokens_gets_them_and_the_run_says_so(tmp_path):
    transformers.AutoConfig.register("deep_bert", DeepConfig)
    transformers.AutoModelForMaskedLM.register(DeepConfig, DeepBert)
    tokenizer = wordpiece_tokenizer()
    save_spread(tmp_path, DeepBert(DeepConfig(vocab_size=len(tokenizer), **BERT)), tokenizer)
    opened = open_model(f"mlm:{tmp_path}")
    assert_brute_force(opened, "within_word_l2r")
    assert scorer_for(opened).warnings == [
        "the output layer is computed for all tokens, which is slow: this model does not allow less"
    ]


def test_a_causal_model_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"mlm:.* cannot be opened: Unrecognized configuration class"):
        open_model(f"mlm:{save_causal(tmp_path)}")


def test_a_tokenizer_without_a_mask_is_refused(tmp_path):
    save_masked(tmp_path, tokenizer=bpe_tokenizer())
    with pytest.raises(ModelError, match=r"the tokenizer has no mask token.\n  .*write --model hf:FOLDER"):
        open_model(f"mlm:{tmp_path}")


def test_a_model_without_its_head_is_not_scored_by_a_random_one(tmp_path):
    tokenizer = wordpiece_tokenizer()
    transformers.BertModel(transformers.BertConfig(vocab_size=len(tokenizer), **BERT)).save_pretrained(
        tmp_path
    )
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"has no values for weights of BertForMaskedLM \(cls.predictions"):
        open_model(f"mlm:{tmp_path}")


def test_an_unknown_variant_is_refused(saved):
    with pytest.raises(
        ModelError, match=r"pll=originel: unknown value. Did you mean 'original'\? Values: original, within"
    ):
        open_model(f"mlm:{saved()}", {"pll": "originel"})


def test_a_tokenizer_may_know_that_the_model_reads_less(tmp_path):
    tokenizer = wordpiece_tokenizer()
    tokenizer.model_max_length = 62  # RoBERTa counts positions from 2
    model: Any = open_model(f"mlm:{save_masked(tmp_path, 'roberta', tokenizer)}")
    scorer_for(model).score(pa.array([" ".join(["the"] * 60)]))
    with pytest.raises(ModelError, match="has 63 tokens, but the model reads at most 62"):
        scorer_for(model).score(pa.array([" ".join(["the"] * 61)]))


def unsplit(kind, cls="<s>", template="<s> $A </s>"):
    """Make a tokenizer that does not split a text at spaces before it makes pieces, but marks spaces."""
    special = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    spelling = Tokenizer(models.Unigram() if "unigram" in kind else models.BPE(unk_token="<unk>"))
    if kind == "bytes":
        spelling.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    elif kind == "metaspace":  # as in Llama's newer files
        spelling.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    else:  # as in Gemma's files
        marks = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        spelling.normalizer = normalizers.Sequence(marks)
    if "unigram" in kind:
        trainer: Any = trainers.UnigramTrainer(
            vocab_size=60, special_tokens=special, unk_token="<unk>", show_progress=False
        )
    else:
        trainer = trainers.BpeTrainer(vocab_size=48, special_tokens=special, show_progress=False)
    # Trained on single words, so that no piece spans two words.
    words = {word for text in TEXT for word in text.split()}
    spelling.train_from_iterator([*words, *(f" {word}" for word in words if kind == "bytes")], trainer)
    if template:
        spelling.post_processor = processors.TemplateProcessing(
            single=template, special_tokens=[("<s>", 2), ("</s>", 3)]
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=spelling, pad_token="<pad>", unk_token="<unk>", mask_token="<mask>", cls_token=cls,
        sep_token="</s>",
    )  # fmt: skip


def by_marks(model, sentence):
    """Score a sentence: mask each piece with the rest of its word; a space mark begins a word."""
    spelt = Tokenizer.from_str(model.opened.tokenizer.backend_tokenizer.to_str()).encode(
        sentence, add_special_tokens=False
    )
    word_of = np.cumsum([token[0] in "▁Ġ" for token in spelt.tokens])
    total = 0.0
    for place, piece in enumerate(spelt.ids):
        hidden = [
            4 if i == place or (i > place and word_of[i] == word_of[place]) else other
            for i, other in enumerate(spelt.ids)
        ]
        with torch.no_grad():
            logits = model.model(torch.tensor([[2, *hidden, 3]])).logits[0, place + 1].double()
        total += logits.log_softmax(-1)[piece].item()
    return total


@pytest.mark.parametrize("kind", ["gemma", "metaspace unigram", "bytes"])
def test_words_are_parted_at_spaces_where_the_tokenizer_parts_none(tmp_path, kind):
    model: Any = open_model(f"mlm:{save_masked(tmp_path, tokenizer=unsplit(kind))}")
    texts = sorted(TEXT[:4])
    rows = scorer_for(model).score(pa.array(texts))["logprob"].to_pylist()
    np.testing.assert_allclose(rows, [by_marks(model, text) for text in texts], atol=1e-4, rtol=0)
    assert model.card.protocol["masked_word"] == "spaces"
    # Masking one piece alone gives other numbers; otherwise this test would check nothing.
    alone = scorer_for(open_model(f"mlm:{tmp_path}", {"pll": "original"})).score(pa.array(texts))
    assert not np.allclose(alone["logprob"].to_pylist(), rows, atol=0.1)


@pytest.mark.parametrize(
    ("template", "missing", "said"),
    [
        (None, "<s>,</s>", "the tokenizer has <s> and </s> but does not add them to a text"),
        ("<s> $A", "</s>", "the tokenizer has </s> but does not add it to a text"),
        ("<s> <s> $A </s>", None, None),
    ],
)
def test_marks_that_the_tokenizer_has_and_does_not_put_are_named(tmp_path, template, missing, said):
    model: Any = open_model(f"mlm:{save_masked(tmp_path, tokenizer=unsplit('gemma', template=template))}")
    assert model.card.protocol.get("without") == missing
    assert [warning[: len(said)] for warning in model.warnings] == [said] if said else not model.warnings
    own = Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode("the").ids
    assert [*model.before, *model.encode(pa.array(["the"])).tokens, *model.after] == own


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "pad", "fits"), [("roberta", 1, 62), ("roberta", 5, 58), ("bert", 1, 64)])
def test_a_model_reads_as_far_as_its_table_of_positions_has_rows(tmp_path, kind, pad, fits):
    """RoBERTa counts positions from the padding id plus one; BERT counts from 0."""
    save_masked(tmp_path / "m", kind, pad_token_id=pad)
    longest = " ".join(["the"] * (fits - 3))  # a piece a word, two special tokens, a last word
    for name, texts in {"fits": [longest], "long": [f"{longest} the", "the"]}.items():
        write_lines(
            tmp_path / f"{name}.jsonl",
            [{"good": f"{text} author", "bad": f"{text} guards"} for text in texts],
        )
    scored = succeed("run", "--model", "mlm:m", "--suite", "./fits.jsonl", "--out", "a", cwd=tmp_path)
    assert "undecidable" not in scored.stderr
    longer = succeed("run", "--model", "mlm:m", "--suite", "./long.jsonl", "--out", "b", cwd=tmp_path)
    assert "2 sentences are longer than m reads" in longer.stderr
    assert "1 contrast undecidable" in longer.stderr
    said = refuse("pair", "--model", "mlm:m", f"{longest} the author", "the", cwd=tmp_path).stderr
    assert f"has {fits + 1} tokens, but the model reads at most {fits}" in said
