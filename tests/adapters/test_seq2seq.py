"""Encoder-decoders: both scores equal those of a plain loop and of the programs that defined them."""

import numpy as np
import pytest
import torch
import transformers
from checkpoints import T5, TEXT, metaspace_tokenizer, save_spread, save_t5
from in_process import refuse, succeed
from own_models import FEW, NO_STATE, Own

from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.scoring.surprisal import surprisals
from tseval.testing import check_model
from tseval.testing.sentences import default_sentences

BART = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
        "max_position_embeddings": 64}  # fmt: skip


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    return save_t5(tmp_path_factory.mktemp("t5") / "t5")


@pytest.fixture(scope="module")
def bart(tmp_path_factory):
    tokenizer = metaspace_tokenizer(TEXT, 60)
    tokenizer.bos_token, tokenizer.eos_token = "<s>", "</s>"
    special = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 3}
    torch.manual_seed(0)
    model = transformers.BartForConditionalGeneration(
        transformers.BartConfig(vocab_size=len(tokenizer), **special, **BART)
    )
    return save_spread(tmp_path_factory.mktemp("bart") / "bart", model, tokenizer)


def _own(score, folder, device):
    texts = default_sentences()
    # Each token needs a forward pass. So the model has one layer, and words are one piece, or one piece and
    # an `s`. A piece must begin several words.
    words = {word for text in texts for word in text.split() if not word.endswith("s")}
    path = save_t5(folder / "t5", [*texts, *(f"{word}s" for word in sorted(words))], 200, num_layers=1)
    model = open_model(f"seq2seq:{path}", {"score": score or "mask"}, device)
    if score == "prefix":
        return Own(model, None, NO_STATE)
    return Own(model, FEW, NO_STATE | {"prefixes"})


KINDS = {"seq2seq": _own}


@pytest.mark.slow
def test_a_decoder_that_reads_passes_the_kit(tmp_path):
    own = _own("prefix", tmp_path, "cpu")
    report = check_model(own.model)
    assert report.ok, str(report)
    skipped = {result.name for result in report.results if result.finding.verdict == "not applicable"}
    assert skipped == own.not_applicable, str(report)


def scores(model):
    return [[token.surprisal for token in one] for one in surprisals(model, TEXT)]


def plain_masked(path, starts):
    """Score each token by itself: masked in the encoder, predicted after the decoder's sentinel."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(path)
    found = []
    for text in TEXT:
        encoded = tokenizer(text, return_special_tokens_mask=True)
        own = []
        for at, special in enumerate(encoded["special_tokens_mask"]):
            if special:
                continue
            ids = list(encoded["input_ids"])
            target, ids[at] = ids[at], starts[-1]
            with torch.no_grad():
                output = model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([starts]))
            own.append(-output.logits[0, -1].log_softmax(0)[target].item())
        found.append(own)
    return found


def same(ours, theirs):
    assert [len(one) for one in ours] == [len(one) for one in theirs]
    np.testing.assert_allclose(np.concatenate(ours), np.concatenate(theirs), atol=1e-4)


@pytest.mark.slow
def test_t5_fills_sentinels(t5):
    model = open_model(f"seq2seq:{t5}")
    sentinel = transformers.AutoTokenizer.from_pretrained(t5).convert_tokens_to_ids("<extra_id_0>")
    same(scores(model), plain_masked(t5, [0, sentinel]))
    assert model.card.protocol["seq2seq"] == "mask"


@pytest.mark.slow
def test_mt5_has_its_sentinel_as_a_piece(tmp_path):
    tokenizer = metaspace_tokenizer(TEXT, 60)
    tokenizer.add_tokens("▁<extra_id_0>")
    tokenizer.mask_token = tokenizer.bos_token = tokenizer.cls_token = tokenizer.sep_token = None
    config = transformers.MT5Config(vocab_size=len(tokenizer), decoder_start_token_id=0, **T5)
    torch.manual_seed(0)
    mt5 = save_spread(tmp_path / "mt5", transformers.MT5ForConditionalGeneration(config), tokenizer)
    model = open_model(f"seq2seq:{mt5}")
    same(scores(model), plain_masked(mt5, [0, tokenizer.get_vocab()["▁<extra_id_0>"]]))


@pytest.mark.slow
def test_bart_restores_masked_tokens_as_the_pipeline_of_babylm_asks(bart):
    # The decoder reads the beginning of the text and the mask: evaluation-pipeline-2025, commit bf55c113,
    # sentence_zero_shot/dataset.py, process_enc_dec_mask_sentences.
    same(scores(open_model(f"seq2seq:{bart}")), plain_masked(bart, [2, 4]))


@pytest.mark.filterwarnings("ignore:tokenizer is changed by adding bos_token")  # the model does not use it
def test_the_decoder_reads_what_follows_a_context_as_in_minicons(t5):
    from minicons.scorer import Seq2SeqScorer  # noqa: PLC0415 - heavy

    context = "no author"
    scorer = Seq2SeqScorer(
        transformers.AutoModelForSeq2SeqLM.from_pretrained(t5),
        tokenizer=transformers.AutoTokenizer.from_pretrained(t5),
    )
    theirs = [[-score for _, score in scorer.conditional_token_score(context, text)[0][1:]] for text in TEXT]
    same(scores(open_model(f"seq2seq:{t5}", {"score": "prefix", "context": context})), theirs)


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_the_decoder_reads_sentences_by_themselves(kind, request):
    path = request.getfixturevalue(kind)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(path)
    theirs = []
    for text in TEXT:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        start = model.config.decoder_start_token_id
        with torch.no_grad():
            logs = model(
                input_ids=torch.tensor([tokenizer("")["input_ids"] or [start]]),
                decoder_input_ids=torch.tensor([[start, *ids[:-1]]]),
            ).logits[0].log_softmax(-1)  # fmt: skip
        theirs.append([-logs[at, token].item() for at, token in enumerate(ids)])
    same(scores(open_model(f"seq2seq:{path}", {"score": "prefix"})), theirs)


def test_a_model_that_only_writes_is_asked_to(tmp_path, bart):
    tokenizer = transformers.AutoTokenizer.from_pretrained(bart)
    config = transformers.PegasusConfig(
        vocab_size=len(tokenizer), decoder_start_token_id=0, pad_token_id=0, **BART
    )
    save_spread(tmp_path / "pegasus", transformers.PegasusForConditionalGeneration(config), tokenizer)
    assert open_model(f"seq2seq:{tmp_path / 'pegasus'}").card.protocol["seq2seq"] == "prefix"


def test_the_command_takes_it_and_its_signature_says_which_score(t5, tmp_path):
    done = succeed("run", "--model", f"seq2seq:{t5}", "--limit", 2, "--case", "simple_agrmt", cwd=tmp_path)
    assert "|seq2seq:mask|" in done.stdout + done.stderr


def test_what_cannot_be_asked_is_one_message(t5, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    tokenizer.save_pretrained(tmp_path / "bare")
    bare = metaspace_tokenizer(TEXT, 60)
    bare.mask_token = None
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(t5)
    save_spread(tmp_path / "bare", model, bare)
    said = refuse("pair", "a", "b", "--model", f"seq2seq:{tmp_path / 'bare'}", cwd=tmp_path).stderr
    assert "the tokenizer has neither a mask token nor <extra_id_0>.\n  Score the text in the decoder" in said
    with pytest.raises(ModelError, match="a context can be used only with score=prefix"):
        open_model(f"seq2seq:{t5}", {"score": "mask", "context": "a"})
    with pytest.raises(ModelError, match="Did you mean 'mask'"):
        open_model(f"seq2seq:{t5}", {"score": "masks"})


def save_switch(folder):
    """Save an encoder-decoder with experts, whose decoder needs the encoder's output object."""
    from checkpoints import sentinels  # noqa: PLC0415 - beside its only use

    tokenizer = sentinels(metaspace_tokenizer(TEXT, 60))
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2}
    experts = {"num_experts": 2, "expert_capacity": 2}
    experts |= {"num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1}
    special = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 3}
    torch.manual_seed(0)
    config = transformers.SwitchTransformersConfig(vocab_size=len(tokenizer), **sizes, **experts, **special)
    return save_spread(folder, transformers.SwitchTransformersForConditionalGeneration(config), tokenizer)


def test_an_encoder_decoder_with_experts_is_read_as_its_plain_forward_pass(tmp_path):
    folder = save_switch(tmp_path / "switch")
    model = open_model(f"seq2seq:{folder}", {"score": "prefix"})
    plain = transformers.SwitchTransformersForConditionalGeneration.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    encoder = torch.tensor([tokenizer("")["input_ids"]])
    for sentence, tokens in zip(TEXT, surprisals(model, TEXT), strict=True):
        ids = tokenizer(sentence, add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            logits = plain(input_ids=encoder, decoder_input_ids=torch.tensor([[0, *ids[:-1]]])).logits[0]
        expected = -logits.log_softmax(-1)[range(len(ids)), ids]
        assert [token.surprisal for token in tokens] == pytest.approx(expected.tolist(), abs=1e-4)
