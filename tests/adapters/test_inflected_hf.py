"""All verb forms after contexts by transformers models, against their own forward passes."""

import numpy as np
import pytest
import torch
from checkpoints import TEXT, bpe_tokenizer, save_causal, save_masked, wordpiece_tokenizer
from in_process import call, succeeded
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

from tseval.runs import read_run

PAIRS = [
    ("laughs", "laugh"),
    ("is", "are"),
    ("knows", "know"),
    ("says", "say"),
    ("goes", "go"),
    ("likes", "like"),
]

# Some verbs are frequent enough in this text that both forms are one piece; others are not.
VERBS = [
    f"the author {form} and the pilots {form}" for form in ("laughs", "laugh", "is", "are", "knows", "know")
] * 40


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory):
    path = tmp_path_factory.mktemp("lexicon") / "verbs.csv"
    path.write_text("sing,plur\n" + "".join(f"{sing},{plur}\n" for sing, plur in PAIRS))
    return path


def score(folder, lexicon, out, *arguments):
    succeeded(
        call(
            "run", "--model", f"hf:{folder}", "--suite", "marvin_linzen:inflection", "--lexicon", lexicon,
            "--case", "simple_agrmt", "--case", "obj_rel_across_anim", "--sample", 12, "--out", out,
            "--quiet", "--device", "cpu", "--text", "tokenised", *arguments,
        )
    )  # fmt: skip
    return read_run(out)


@torch.inference_mode()
def next_logprobs(model, tokenizer, ids):
    start = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
    logits = model(torch.tensor([[*start, *ids]])).logits[0]
    return logits.double().log_softmax(-1).numpy(), len(start)


def begins_word(tokenizer, n_tokens):
    """Mark the tokens that begin a word or end the text, by the formula of docs/scoring.md."""
    pieces = tokenizer.convert_ids_to_tokens(list(range(n_tokens)))
    special = set(tokenizer.all_special_ids) - ({tokenizer.unk_token_id} - {tokenizer.eos_token_id})
    marks = tuple("ĠĊĉċČč")  # space, line breaks and tabs in a byte vocabulary
    return np.array([str(piece).startswith(marks) or at in special for at, piece in enumerate(pieces)])


@pytest.mark.slow
@pytest.mark.parametrize("words", ["corrected", "pieces"])
def test_forms_are_those_of_plain_forward_passes(words, lexicon, tmp_path):
    folder = save_causal(tmp_path / "gpt2", tokenizer=bpe_tokenizer(size=330, texts=[*TEXT, *VERBS]))
    run = score(folder, lexicon, tmp_path / "run", "--model-args", f"words={words}")
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    forms = list(dict.fromkeys(form for pair in PAIRS for form in pair))
    pieces = {form: tokenizer(f" {form}", add_special_tokens=False)["input_ids"] for form in forms}
    partner = {form: other for pair in PAIRS for form, other in (pair, pair[::-1])}
    assert {len(ids) > 1 for ids in pieces.values()} == {True, False}
    for context, stored in list(zip(run.sentences["sentence"], run.sentences["forms"], strict=True))[::3]:
        ids = tokenizer(context, add_special_tokens=False)["input_ids"]
        table, _ = next_logprobs(model, tokenizer, ids)
        begins = begins_word(tokenizer, table.shape[1])
        for form, value in zip(forms, stored, strict=False):
            several = len(pieces[form]) > 1 or len(pieces[partner[form]]) > 1
            if words == "pieces":
                if len(pieces[form]) > 1:
                    assert np.isnan(value)
                else:
                    assert value == pytest.approx(table[-1, pieces[form][0]], abs=1e-4)
                continue
            ends = np.logaddexp.reduce(table[-1, begins])
            if not several:
                expected = table[-1, pieces[form][0]] - ends
            else:
                whole, at = next_logprobs(model, tokenizer, [*ids, *pieces[form]])
                places = range(at + len(ids) - 1, at + len(ids) - 1 + len(pieces[form]))
                expected = sum(whole[place, piece] for place, piece in zip(places, pieces[form], strict=True))
                expected += np.logaddexp.reduce(whole[-1, begins]) - ends
            assert value == pytest.approx(expected, abs=1e-4 * (len(pieces[form]) + 1))


@pytest.mark.slow
def test_with_words_of_pieces_only_verbs_of_one_piece_count(lexicon, tmp_path):
    folder = save_causal(tmp_path / "gpt2", tokenizer=bpe_tokenizer(size=330, texts=[*TEXT, *VERBS]))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    single = [
        pair for pair in PAIRS
        if all(len(tokenizer(f" {form}", add_special_tokens=False)["input_ids"]) == 1 for form in pair)
    ]  # fmt: skip
    pieces = score(folder, lexicon, tmp_path / "pieces", "--model-args", "words=pieces")
    corrected = score(folder, lexicon, tmp_path / "corrected")
    assert set(pieces.verdicts["n_lemmas"]) == {len(single)}
    assert set(corrected.verdicts["n_lemmas"]) == {len(PAIRS)}
    assert any("have several sub-word pieces" in warning for warning in pieces.manifest.warnings)


@pytest.mark.slow
def test_masked_models_have_one_mask_and_a_period_behind_the_context(lexicon, tmp_path):
    texts = ["the author laughs .", "the pilots laugh .", "the author is", "the pilots are", "know"] * 20
    folder = save_masked(tmp_path / "bert", tokenizer=wordpiece_tokenizer(size=90, texts=texts))
    out = tmp_path / "run"
    succeeded(
        call(
            "run", "--model", f"mlm:{folder}", "--suite", "marvin_linzen:inflection", "--lexicon", lexicon,
            "--case", "simple_agrmt", "--case", "prep_anim", "--sample", 12, "--out", out, "--quiet",
            "--device", "cpu", "--text", "tokenised",
        )
    )  # fmt: skip
    run = read_run(out)
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    forms = list(dict.fromkeys(form for pair in PAIRS for form in pair))
    pieces = {form: tokenizer(form, add_special_tokens=False)["input_ids"] for form in forms}
    unknown = [tokenizer.unk_token_id]
    single = [
        pair for pair in PAIRS if all(len(pieces[form]) == 1 and pieces[form] != unknown for form in pair)
    ]
    assert 0 < len(single) < len(PAIRS)
    assert set(run.verdicts["n_lemmas"]) == {len(single)}
    for context, stored in zip(run.sentences["sentence"], run.sentences["forms"], strict=True):
        ids = tokenizer(f"{context} {tokenizer.mask_token} .", return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            logits = model(ids).logits[0, ids[0].tolist().index(tokenizer.mask_token_id)]
        expected = logits.double().log_softmax(-1).numpy()
        for form, value in zip(forms, stored, strict=False):
            if len(pieces[form]) == 1 and pieces[form] != unknown:
                assert value == pytest.approx(expected[pieces[form][0]], abs=1e-4)
            else:
                assert np.isnan(value)
