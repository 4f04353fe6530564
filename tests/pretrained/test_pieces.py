"""Pieces of several words, letters without a piece, no-break spaces, parts joined without a space."""

from typing import Any

import pyarrow as pa
import pytest
import torch
import transformers
from checkpoints import save_causal
from in_process import succeed
from small import make_case, make_suite, write_file
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

import tseval
from tseval.adapters import open_model
from tseval.pretrained.pieces import Pieces
from tseval.runs import read_run
from tseval.scoring.surprisal import surprisals, word_surprisals

GOOD, BAD = "the author laughs .", "the author laugh ."


def superwords():
    """Train pieces over several words: no pre-tokenizer splits the text."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer, tokenizer.decoder = normalizers.Replace(" ", "▁"), decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=200, special_tokens=["<s>", "<unk>"], show_progress=False,
        initial_alphabet=list("abcdefghijklmnopqrstuvwxyz▁."),
    )  # fmt: skip
    texts = ["the author laughs .", "the authors laugh .", "near the guard"] * 20
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>"
    )


def letters(alphabet, text="the author laughs ."):
    """Train a BPE on a few letters, without an unknown piece; it silently drops other letters."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=60, special_tokens=["<s>"], initial_alphabet=list(alphabet), show_progress=False
    )
    tokenizer.train_from_iterator([text], trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>")


def sum_by_transformers(folder, text):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = [tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]]
    with torch.no_grad():
        table = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return table[range(len(ids) - 1), ids[1:]].sum().item()


@pytest.fixture(scope="module")
def super_folder(tmp_path_factory):
    return save_causal(tmp_path_factory.mktemp("super") / "super", "llama", superwords(), bos_token_id=0)


def test_a_word_without_a_piece_of_its_own_wins_nothing(super_folder, tmp_path):
    header = "sentence\tverb_index\tverb_form\tnumber\topp_verb_form\n"
    table = f"{header}the author laughs .\t2\tlaughs\tsing\tlaugh\n"
    suite = tseval.load_suite(write_file(tmp_path / "agr.tsv", table))
    model: Any = open_model(f"hf:{super_folder}")
    run = tseval.evaluate(model, suite, score="critical")
    (verdict,) = run.load_verdicts().to_pylist()
    assert verdict["undecidable"]
    assert not verdict["correct"]
    assert any("some pieces span several words" in one for one in run.manifest.warnings)
    (whole,) = tseval.evaluate(model, suite, score="sentence").load_verdicts().to_pylist()
    for name, text in (("better_score", GOOD), ("worse_score", BAD)):
        assert whole[name] == pytest.approx(sum_by_transformers(super_folder, text), abs=1e-4)


def test_every_word_has_a_row_and_none_a_surprisal_of_nothing(super_folder):
    model: Any = open_model(f"hf:{super_folder}")
    good, bad = word_surprisals(model, [GOOD, BAD])
    assert [one.text for one in good] == GOOD.split()
    assert [one.surprisal for one in good] == [None] * 4
    assert [one.surprisal is None for one in bad] == [True, True, True, False]
    assert any("span several words" in one for one in model.warnings)


def test_a_word_that_shares_its_piece_with_words_before_it_is_compared_with_all_of_it(super_folder):
    # After the same words. The full stop is not a separate piece, so whole pieces are compared.
    texts = [("near the guard", "near the authors")]
    suite = make_suite(make_case("a", texts), terminator=None)
    model: Any = open_model(f"hf:{super_folder}", {"words": "pieces"})
    (verdict,) = tseval.evaluate(model, suite, score="critical").load_verdicts().to_pylist()
    for name, text in zip(("better_score", "worse_score"), texts[0], strict=True):
        assert verdict[name] == pytest.approx(sum_by_transformers(super_folder, text), abs=1e-3)


@pytest.mark.parametrize("text", ["the▁", "author▁"])
def test_a_piece_belongs_to_the_word_of_its_last_letter(text):
    vocabulary = {"<s>": 0, "the▁": 1, "author▁": 2, "laughs": 3, "laughs▁": 4, "<unk>": 5}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="<unk>", continuing_subword_prefix=""))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")
    encoded = Pieces(fast, False).encode(pa.array(["the author laughs"]))
    assert encoded.pieces.tolist() == [1, 1, 1]
    assert text in fast.convert_ids_to_tokens(encoded.tokens.tolist())


def test_a_letter_that_the_tokenizer_leaves_out_makes_its_word_unknown(tmp_path):
    folder = save_causal(tmp_path / "few", "llama", letters("abcdefghijklmnopqrstuvwxyz."), bos_token_id=0)
    model: Any = open_model(f"hf:{folder}")
    encoded = model.encode(pa.array(["the authör laughs .", GOOD, "the ööö laughs ."]))
    assert encoded.n_unknown.tolist() == [1, 0, 1]
    assert encoded.seen.to_pylist() == ["the authr<unk> laughs .", GOOD, "the ▁<unk> laughs ."]
    assert (
        "the tokenizer drops letters that have no piece in its vocabulary (first word: 'authör'); words"
        in str(model.warnings)
    )


def test_what_a_normaliser_takes_off_is_no_letter_left_out(tmp_path):
    tokenizer = letters("abcdefghijklmnopqrstuvwxyz.")
    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.StripAccents()]
    )
    encoded = Pieces(tokenizer, False).encode(pa.array(["the authör laughs .", "the autho\u0308r laughs ."]))
    assert encoded.n_unknown.tolist() == [0, 0]


@pytest.fixture(scope="module")
def bytes_folder(tmp_path_factory):
    return save_causal(tmp_path_factory.mktemp("bytes") / "gpt2", "gpt2", n_positions=128)


SPACES = {
    "no-break": "il est là\u00a0!",
    "narrow": "il est là\u202f!",
    "ideographic": "私は\u3000学生",
    "thin": "10\u2009000 clés",
}


@pytest.mark.parametrize("kind", SPACES)
def test_a_text_is_read_with_the_spaces_that_it_was_written_with(bytes_folder, kind):
    text = SPACES[kind]
    model: Any = open_model(f"hf:{bytes_folder}")
    total = -sum(one.surprisal for one in surprisals(model, [text])[0])
    assert total == pytest.approx(sum_by_transformers(bytes_folder, text), abs=1e-3)
    plain = " ".join(text.split())
    assert total != pytest.approx(sum_by_transformers(bytes_folder, plain), abs=1e-2)
    assert [one.text for one in word_surprisals(model, [text])[0]] == text.split()


def test_data_keep_their_spaces_and_line_breaks_become_one(bytes_folder, tmp_path):
    text = 'good,bad\n"il est  là\u00a0!\n","elle est là\u00a0!"\n'
    suite = tseval.load_suite(write_file(tmp_path / "a.csv", text))
    assert suite.cases[0].sentences.to_pylist() == [{"good": "il est là\u00a0!", "bad": "elle est là\u00a0!"}]
    (verdict,) = tseval.evaluate(f"hf:{bytes_folder}", suite).load_verdicts().to_pylist()
    assert verdict["better_score"] == pytest.approx(
        sum_by_transformers(bytes_folder, "il est là\u00a0!"), abs=1e-3
    )


# Prefix, two continuations, and the usual spelling of the first sentence.
JOINED = [
    ("孩子们在", "玩。", "跑。", "孩子们在玩。"),
    ("私は", "学生です。", "学生だ。", "私は学生です。"),
    ("เด็กๆกำลัง", "เล่น", "วิ่ง", "เด็กๆกำลังเล่น"),
    ("ក្មេងៗ", "លេង", "រត់", "ក្មេងៗលេង"),
    ("c'est l’", "ami", "amie", "c'est l’ami"),
    ("È l'", "amica", "amiche", "È l'amica"),
    ("the author laughs", ", and", ", or", "the author laughs, and"),
    ("the author", "laughs .", "laugh .", "the author laughs ."),
    ("the dogs'", "bones", "bone", "the dogs' bones"),
    ("孩子们 在", "playing", "running", "孩子们 在 playing"),
]


@pytest.mark.parametrize(("prefix", "good", "bad", "text"), JOINED)
def test_parts_are_joined_as_their_language_is_written(tmp_path, prefix, good, bad, text):
    file = write_file(tmp_path / "a.jsonl", {"prefix": prefix, "good": good, "bad": bad})
    assert succeed("expand", file, "--no-header").stdout.split("\t")[1] == text
    spaced = succeed("expand", file, "--columns", "join=space", "--no-header").stdout.split("\t")[1]
    assert spaced == f"{prefix} {good}"
    glued = succeed("expand", file, "--columns", "join=none", "--no-header").stdout.split("\t")[1]
    assert glued == f"{prefix}{good}"


def test_continuations_without_a_space_are_scored_as_they_are_written(bytes_folder, tmp_path):
    file = write_file(tmp_path / "a.jsonl", {"prefix": "孩子们在", "good": "玩。", "bad": "跑。"})
    succeed("run", "--model", f"hf:{bytes_folder}", "--suite", file, "--out", tmp_path / "run")
    run = read_run(tmp_path / "run")
    (verdict,) = run.load_verdicts().to_pylist()
    before = sum_by_transformers(bytes_folder, "孩子们在")
    for name, text in (("better_score", "孩子们在玩。"), ("worse_score", "孩子们在跑。")):
        assert verdict[name] == pytest.approx(sum_by_transformers(bytes_folder, text) - before, abs=1e-3)
    assert "|join:none|" in run.manifest.signature
    assert not verdict["undecidable"]


def test_where_a_piece_reaches_over_the_border_whole_sentences_are_compared(tmp_path):
    tokenizer = letters("孩子们在玩跑。", "孩子们在玩。孩子们在玩。")
    tokenizer.add_tokens([AddedToken("在玩", normalized=False)])
    folder = save_causal(tmp_path / "model", "llama", tokenizer, bos_token_id=0)
    file = write_file(tmp_path / "a.jsonl", {"prefix": "孩子们在", "good": "玩。", "bad": "跑。"})
    (verdict,) = tseval.evaluate(f"hf:{folder}", file).load_verdicts().to_pylist()
    for name, text in (("better_score", "孩子们在玩。"), ("worse_score", "孩子们在跑。")):
        assert verdict[name] == pytest.approx(sum_by_transformers(folder, text), abs=1e-3)


def test_regions_without_spaces_have_numbers_of_their_own(bytes_folder, tmp_path):
    file = write_file(tmp_path / "a.csv", "Start,Amb,Unamb,Verb\n孩子们,在,是,玩。\n")
    layout = ("--layout", "Start {Unamb|Amb} *Verb")
    assert "孩子们是玩。\t孩子们在玩。" in succeed("expand", file, *layout).stdout
    suite = tseval.load_suite(file, columns={"layout": layout[1]})
    (verdict,) = tseval.evaluate(f"hf:{bytes_folder}", suite).load_verdicts().to_pylist()
    for condition, middle in (("Amb", "在"), ("Unamb", "是")):
        whole, before = f"孩子们{middle}玩。", f"孩子们{middle}"
        expected = sum_by_transformers(bytes_folder, whole) - sum_by_transformers(bytes_folder, before)
        assert -verdict[f"{condition}.Verb"] == pytest.approx(expected, abs=1e-3)
