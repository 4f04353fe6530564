"""Texts in windows, predictions of the next word, and text lengths, against plain torch and transformers."""

import json
from typing import Any

import pytest
import torch
import transformers
from checkpoints import TEXT, save_causal, save_masked
from in_process import refuse, succeed
from small import write_file, write_lines
from torch_modules import GPT, BatchFirst, made

import tseval
from tseval.adapters import open_model
from tseval.errors import ModelError, SuiteError
from tseval.questions.normalisation import Normalised
from tseval.scoring.surprisal import next_tokens, surprisals, word_surprisals

LONG = " ".join(TEXT * 4)  # about 150 pieces; the models read 64
WORDS = ["<eos>", "<unk>", *sorted({word for text in TEXT for word in text.split()})]


def open_any(spec) -> Any:
    return open_model(spec)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_causal(tmp_path_factory.mktemp("models") / "gpt2", "gpt2")


@pytest.fixture(scope="module")
def plain(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def rows(ids):
        with torch.no_grad():
            return model(torch.tensor([ids])).logits[0].log_softmax(-1)

    return rows, [0, *tokenizer(LONG)["input_ids"]]


def strided(rows, ids, window, stride):
    """Score as in transformers' documentation: each token one time, in the first window that contains it."""
    found, done = [], 1
    for begin in range(0, len(ids), stride):
        end = min(begin + window, len(ids))
        table = rows(ids[begin:end])
        found += [-table[at - 1 - begin, ids[at]].item() for at in range(done, end)]
        done = end
        if end == len(ids):
            return found
    raise AssertionError


@pytest.mark.slow
@pytest.mark.parametrize(("window", "stride"), [(64, 32), (64, 63), (16, 1), (40, 8)])
def test_each_token_is_scored_once_by_its_widest_context(folder, plain, window, stride):
    model: Any = open_any(f"hf:{folder}").in_windows(window, stride)
    (tokens,) = surprisals(model, [LONG])
    assert [one.surprisal for one in tokens] == pytest.approx(
        strided(plain[0], plain[1], window, stride), abs=1e-4
    )
    assert (model.card.protocol["window"], model.card.protocol["stride"]) == (window, stride)


def test_a_text_that_fits_has_the_numbers_that_it_has_without_windows(folder):
    model: Any = open_model(f"hf:{folder}")
    for ask in (surprisals, word_surprisals):
        whole, cut = ask(model, TEXT[:3]), ask(model.in_windows(64, 16), TEXT[:3])
        for one, other in zip(whole, cut, strict=True):
            assert [t.surprisal for t in one] == pytest.approx([t.surprisal for t in other], abs=1e-4)


def test_words_in_windows_are_probabilities_too(folder):
    model: Any = open_any(f"hf:{folder}").in_windows(64, 32)
    (words,), (tokens,) = word_surprisals(model, [LONG]), surprisals(model, [LONG])
    assert [one.text for one in words] == LONG.split()
    assert sum(one.surprisal for one in words) == pytest.approx(sum(one.surprisal for one in tokens), abs=6)


@pytest.mark.slow
def test_the_command_reads_what_it_refuses_without_windows(folder, tmp_path):
    file = write_file(tmp_path / "long.txt", LONG + "\n")
    told = refuse("surprisal", "--model", f"hf:{folder}", file)
    assert "but the model reads at most 64" in told.stderr
    rows = succeed("surprisal", "--model", f"hf:{folder}", "--window", "64", file).stdout.splitlines()
    assert len(rows) > 100
    for arguments, said in (
        (("--window", "65"), "--window 65: the model gpt2 reads at most 64 tokens.\n  Use --window 64"),
        (
            ("--window", "8", "--stride", "8"),
            "--stride 8: the stride must be smaller than the window of 8 tokens.\n  Choose a "
            "stride from 1 to 7",
        ),
        (
            ("--stride", "8"),
            "--stride sets the distance between windows, but --window is missing. Add --window N.",
        ),
        (("--entropy", "--words"), "--entropy works only for the tokens of a text file"),
    ):
        assert said in refuse("surprisal", "--model", f"hf:{folder}", *arguments, file).stderr


def test_a_recurrent_model_needs_no_windows(tmp_path):
    file = write_file(tmp_path / "long.txt", LONG + "\n")
    told = refuse("surprisal", "--model", "bundled:lstm", "--window", "64", file)
    assert "Leave out --window: a recurrent model reads texts of any length." in told.stderr


def test_entropy_and_best_tokens_are_those_of_the_forward_pass(folder, plain):
    rows, _ = plain
    model: Any = open_model(f"hf:{folder}")
    ids = [0, *model.tokenizer(TEXT[0])["input_ids"]]
    (found,) = next_tokens(model, TEXT[:1], 3)
    for one, row in zip(found, rows(ids)[:-1], strict=True):
        expected = torch.distributions.Categorical(logits=row.double())
        assert one.entropy == pytest.approx(expected.entropy().item(), abs=1e-4)
        values, tokens = row.exp().topk(3)
        assert [p for _, p in one.best] == pytest.approx(values.tolist(), abs=1e-5)
        assert [text for text, _ in one.best] == model.token_texts(tokens.numpy())


@pytest.mark.parametrize(
    "module", [made(BatchFirst, len(WORDS)), made(GPT, len(WORDS), False)], ids=["all", "last"]
)
def test_a_module_says_what_it_expects_too(module):
    sentence = TEXT[0]
    (found,) = next_tokens(tseval.load_model((module, WORDS)), [sentence], 2)
    ids = [0, *map(WORDS.index, sentence.split())]
    module.eval()
    for end, one in enumerate(found, 1):
        with torch.no_grad():
            row = module(torch.tensor([ids[:end]]))[0][0, -1].log_softmax(-1)
        expected = torch.distributions.Categorical(logits=row)
        assert one.entropy == pytest.approx(expected.entropy().item(), abs=1e-4)
        assert one.best[0][0] == WORDS[int(row.argmax())]


def test_a_checkpoint_of_ours_expects_what_it_scores():
    model: Any = tseval.load_model("bundled:lstm")
    (found,), (tokens,) = next_tokens(model, TEXT[:1], len(model.vocabulary)), surprisals(model, TEXT[:1])
    for one, token in zip(found, tokens, strict=True):
        every = dict(one.best)
        assert every[token.token] == pytest.approx(torch.tensor(-token.surprisal).exp().item(), rel=1e-3)
        assert one.entropy == pytest.approx(
            -sum(p * torch.tensor(p).log().item() for p in every.values() if p), rel=1e-3
        )


def test_columns_of_the_command(tmp_path):
    file = write_file(tmp_path / "a.txt", "the author laughs .\n")
    told = succeed(
        "surprisal", "--model", "bundled:lstm", "--entropy", "--top", "2", "--format", "jsonl", file
    )
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    assert {"entropy_nats", "entropy_bits", "top"} <= rows[0].keys()
    assert [len(row["top"]) for row in rows] == [2] * 4
    assert rows[0]["top"][0].keys() == {"token", "probability"}
    told = succeed("surprisal", "--model", "bundled:lstm", "--top", "2", file)
    assert told.stdout.splitlines()[0].endswith("surprisal_bits\ttop")


def test_a_masked_model_has_no_next_token(tmp_path):
    model: Any = open_model(f"mlm:{save_masked(tmp_path / 'bert')}")
    with pytest.raises(ModelError, match="bert does not give the probabilities of all possible next words"):
        next_tokens(model, TEXT[:1])


PAIRS = [{"good": "the author laughs .", "bad": "the authors that the guard likes laughs !"},
         {"good": "là", "bad": "la la"}]  # fmt: skip


@pytest.mark.parametrize("by", ["characters", "bytes"])
def test_sentences_are_divided_by_their_length(folder, tmp_path, by):
    file = write_lines(tmp_path / "a.jsonl", PAIRS)
    verdicts = tseval.evaluate(f"hf:{folder}", file, score=Normalised(by)).load_verdicts().to_pylist()
    whole = tseval.evaluate(f"hf:{folder}", file).load_verdicts().to_pylist()
    for texts, one, plain in zip(PAIRS, verdicts, whole, strict=True):
        for label, name in (("good", "better_score"), ("bad", "worse_score")):
            length = len(texts[label] if by == "characters" else texts[label].encode())
            assert one[name] == pytest.approx(plain[name] / length)


@pytest.mark.parametrize("by", ["characters", "bytes"])
def test_continuations_are_divided_by_their_own_length(folder, plain, tmp_path, by):
    rows, _ = plain
    parts = {"prefix": "the author", "good": "laughs .", "bad": "là , and swim ."}
    file = write_lines(tmp_path / "a.jsonl", [parts])
    succeed(
        "run", "--model", f"hf:{folder}", "--model-args", "words=pieces", "--suite", file, "--normalise", by,
        "--out", tmp_path / "run",
    )  # fmt: skip
    run = tseval.read_run(tmp_path / "run")
    (verdict,) = run.load_verdicts().to_pylist()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    n_before = len(tokenizer(parts["prefix"])["input_ids"])
    for label, name in (("good", "better_score"), ("bad", "worse_score")):
        ids = [0, *tokenizer(f"{parts['prefix']} {parts[label]}")["input_ids"]]
        total = rows(ids)[range(n_before, len(ids) - 1), ids[n_before + 1 :]].sum().item()
        length = len(parts[label] if by == "characters" else parts[label].encode())
        assert verdict[name] == pytest.approx(total / length, abs=1e-4)
    assert f"|score:regions/{by}|" in run.manifest.signature


def test_other_normalisations_are_for_whole_sentences(folder, tmp_path):
    file = write_lines(tmp_path / "a.jsonl", [{"prefix": "the author", "good": "laughs .", "bad": "laugh ."}])
    told = refuse(
        "run", "--model", f"hf:{folder}", "--suite", file, "--normalise", "tokens", "--out", tmp_path / "r"
    )
    assert "For continuations, write --normalise characters or --normalise bytes." in told.stderr
    with pytest.raises(SuiteError, match="--normalise penlp works only with whole sentences"):
        Normalised("penlp", of="regions")
