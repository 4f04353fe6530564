"""Masked models on ordinary text, against minicons: scores and verdicts of 103 pairs."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import transformers
from checkpoints import bpe_tokenizer, metaspace_tokenizer, save_masked, wordpiece_tokenizer
from tokenizers import processors
from untokenised import untokenised_pairs, write_untokenised

import tseval
from tseval.adapters import open_model

PAIRS = untokenised_pairs(1)
SENTENCES = sorted({sentence for pair in PAIRS for sentence in pair})
METRICS = ("within_word_l2r", "original")


def byte_level():
    """Return a byte-level tokenizer with a mask token: punctuation and clitics are separate words."""
    tokenizer = bpe_tokenizer(size=500, texts=SENTENCES)
    tokenizer.add_special_tokens({"mask_token": "<mask>", "cls_token": "<s>", "sep_token": "</s>"})
    special = [(token, tokenizer.convert_tokens_to_ids(token)) for token in ("<s>", "</s>")]
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=special
    )
    return tokenizer


TOKENIZERS = {
    "bert": lambda: wordpiece_tokenizer(500, SENTENCES),
    "roberta": byte_level,
    "albert": lambda: metaspace_tokenizer(SENTENCES, 500),
}


@pytest.fixture(scope="module", params=TOKENIZERS)
def saved(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlm") / request.param
    return save_masked(folder, request.param, TOKENIZERS[request.param]())


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    return tseval.load_suite(str(write_untokenised(tmp_path_factory.mktemp("suite") / "pairs.jsonl", PAIRS)))


@pytest.mark.slow
@pytest.mark.parametrize("pll", METRICS)
def test_scores_and_verdicts_are_those_of_minicons(saved, suite, pll, monkeypatch):
    scorer = pytest.importorskip("minicons.scorer")
    # minicons 0.3.39 uses a method name that transformers 5 removed; the plain call does the same.
    base = transformers.PreTrainedTokenizerBase
    monkeypatch.setattr(base, "batch_encode_plus", base.__call__, raising=False)
    theirs = scorer.MaskedLMScorer(str(saved), device="cpu")
    sums = [
        value
        for start in range(0, len(SENTENCES), 50)
        for value in theirs.sequence_score(
            SENTENCES[start : start + 50], reduction=lambda x: x.sum().item(), PLL_metric=pll
        )
    ]
    model = open_model(f"mlm:{saved}", {"pll": pll})
    assert model.card.protocol.get("masked_word") == (None if pll == "original" else "tokenizer")
    run = tseval.evaluate(model, suite)
    rows = run.load_sentences()
    assert rows["sentence"].to_pylist() == SENTENCES
    np.testing.assert_allclose(rows["logprob"].to_pylist(), sums, atol=1e-4, rtol=0)
    of = dict(zip(SENTENCES, sums, strict=True))
    assert run.verdicts["correct"].tolist() == [of[good] > of[bad] for good, bad in PAIRS]


def test_a_tokenizer_that_does_not_say_how_it_splits_masks_what_stands_between_spaces(tmp_path):
    tokenizer = transformers.ByT5Tokenizer(mask_token="<mask>", cls_token="</s>", sep_token="</s>")
    model: Any = open_model(f"mlm:{save_masked(tmp_path, tokenizer=tokenizer, max_position_embeddings=128)}")
    assert model.card.protocol["masked_word"] == "spaces"
    encoded = model.encode(pa.array(["it's me."]))
    assert encoded.masked_with.tolist() == [0] * 4 + [1] * 4
