"""`tseval surprisal` and `tseval pair`, against the models' own forward passes."""

import csv
import gzip
import io
import json
import math

import numpy as np
import pytest
import torch
import transformers
from checkpoints import save_causal
from in_process import call, installed, refused, succeeded

import tseval
from tseval.models import bundled_checkpoints
from tseval.models.checkpoint import load_checkpoint
from tseval.scoring.surprisal import bar, surprisals, word_surprisals

TEXT = "the authors near the guard laugh .\n\n  the author blorfs .\n"


def rows(text):
    return list(csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def printed():
    return rows(succeeded(installed("surprisal", "--model", "bundled:lstm", typed=TEXT)).stdout)


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return save_causal(tmp_path_factory.mktemp("model") / "tiny", n_positions=128)


@pytest.mark.slow
def test_there_is_a_row_for_every_word_with_the_line_it_stands_on(printed):
    assert [row["sentence"] for row in printed] == ["1"] * 7 + ["3"] * 4
    assert [row["text"] for row in printed[7:]] == ["the", "author", "blorfs", "."]
    assert [row["token"] for row in printed[7:]] == ["the", "author", "<unk>", "."]
    assert [row["word"] for row in printed[7:]] == ["0", "1", "2", "3"]


def test_surprisal_is_that_of_a_plain_pass_over_the_sentence(printed):
    checkpoint = load_checkpoint(bundled_checkpoints()["lstm"])
    ids = checkpoint.vocabulary.ids()
    words = ["<eos>", *(row["token"] for row in printed[:7])]
    tokens = torch.tensor([[ids[word]] for word in words])
    with torch.no_grad():
        outputs, _ = checkpoint.model(tokens[:-1], checkpoint.model.initial_state(1))
        table = checkpoint.model.output(outputs)[:, 0].double().log_softmax(-1)
    expected = -table[torch.arange(7), tokens[1:, 0]].numpy()
    np.testing.assert_allclose([float(row["surprisal_nats"]) for row in printed[:7]], expected, atol=1e-4)
    bits = [float(row["surprisal_bits"]) for row in printed[:7]]
    np.testing.assert_allclose(bits, expected / math.log(2), atol=1e-4)


@pytest.mark.slow
def test_sub_word_tokens_are_those_of_transformers_and_add_up_to_words(gpt2, tmp_path):
    sentence = "the surgeons that admire the taxi drivers swim ."
    (tmp_path / "t.txt").write_text(sentence)
    options = "surprisal", tmp_path / "t.txt", "--model", f"hf:{gpt2}", "--format", "jsonl"
    found = [json.loads(line) for line in call(*options).stdout.splitlines()]
    tokenizer = transformers.AutoTokenizer.from_pretrained(gpt2)
    model = transformers.AutoModelForCausalLM.from_pretrained(gpt2).eval()
    ids = tokenizer(sentence, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        table = model(torch.tensor([[tokenizer.bos_token_id, *ids]])).logits[0, :-1].log_softmax(-1)
    expected = -table[torch.arange(len(ids)), torch.tensor(ids)].numpy()
    np.testing.assert_allclose([row["surprisal_nats"] for row in found], expected, atol=1e-4)
    assert len(found) > len(sentence.split())
    summed = "--words", "--model-args", "words=pieces"
    words = [json.loads(line) for line in call(*options, *summed).stdout.splitlines()]
    assert [row["text"] for row in words] == sentence.split()
    sums = [sum(row["surprisal_nats"] for row in found if row["word"] == n) for n in range(len(words))]
    assert [row["surprisal_nats"] for row in words] == pytest.approx(sums)
    assert all("".join(row["token"].split()).replace("Ġ", "") == row["text"] for row in words)


@pytest.mark.slow
def test_a_first_token_that_follows_nothing_has_no_surprisal(gpt2, tmp_path):
    (tmp_path / "t.txt").write_text("the author laughs .")
    model = tseval.load_model(f"hf:{gpt2}", {"bos": "false"})
    (tokens,) = surprisals(model, ["the author laughs ."])
    assert [token.surprisal is None for token in tokens] == [True] + [False] * (len(tokens) - 1)
    assert word_surprisals(model, ["the author laughs ."])[0][0].surprisal is None
    options = "surprisal", tmp_path / "t.txt", "--model", f"hf:{gpt2}", "--model-args", "bos=false"
    assert rows(call(*options).stdout)[0]["surprisal_nats"] == ""
    assert "–" in call(*options, "--format", "picture").stdout


@pytest.mark.slow
def test_bars_have_one_scale_and_the_sums_stand_below():
    result = installed("surprisal", "--model", "bundled:lstm", "--format", "picture", typed=TEXT)
    lines = result.stdout.splitlines()
    bars = {line.split()[0]: line.split()[-1] for line in lines if "bits" in line and "in all" not in line}
    assert max(bars.values(), key=len) == "█" * 24
    total = sum(float(line.split()[1]) for line in lines[:7])
    assert float(lines[7].split()[0]) == pytest.approx(total, abs=0.04)
    assert "blorfs  <unk>" in result.stdout


def test_a_bar_is_drawn_to_an_eighth_of_a_character():
    assert (bar(0), bar(0.5), bar(1)) == ("", "█" * 12, "█" * 24)
    assert bar(1 / 24 / 8) == "▏"


@pytest.mark.slow
def test_a_pair_is_decided_as_in_a_run():
    good, bad = "the author laughs .", "the author laugh ."
    result = succeeded(installed("pair", "--model", "bundled:lstm", good, bad))
    sums = dict.fromkeys(("good", "bad"), 0.0)
    for row in rows(result.stdout):
        sums[row["sentence"]] += float(row["surprisal_nats"])
    better = min(sums, key=sums.get)
    assert result.stderr == f"{better} is preferred, by {abs(sums['good'] - sums['bad']):.3f} nats\n"
    swapped = call("pair", "--model", "bundled:lstm", bad, good).stderr
    assert swapped.split()[0] == {"good": "bad", "bad": "good"}[better]


def test_sentences_that_look_alike_decide_nothing():
    for good, bad, said in (
        ("a b", "a b", "undecidable: both sentences have the same tokens for the model\n"),
        ("the blorf", "the glorf", "undecidable: both sentences have the same tokens for the model\n"),
        ("He laughs.", "He laugh.", "to which 'laughs.' is one word: separate punctuation, laughs .\n"),
    ):
        assert succeeded(call("pair", "--model", "bundled:lstm", good, bad)).stderr.endswith(said)


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (
            ("surprisal", "--model", "bundled:lstm"),
            "\n \n",
            "<stdin>: the file is empty or has only blank lines.",
        ),
        (
            ("pair", "--model", "bundled:lstm", "a b", " "),
            "",
            "BAD is an empty text. Type two sentences, each in quotes",
        ),
    ],
)
def test_bad_input_gets_one_message(arguments, stdin, message):
    assert message in refused(installed(*arguments, typed=stdin)).stderr


def test_a_packed_text_is_unpacked_and_one_that_cannot_be_read_is_named(tmp_path, printed):
    command = "surprisal", "--model", "bundled:lstm", tmp_path / "t.txt.gz"
    packed = gzip.compress(f"\ufeff{TEXT}".encode(), mtime=0)  # the byte order mark is no part of a word
    (tmp_path / "t.txt.gz").write_bytes(packed)
    assert rows(call(*command).stdout) == printed
    (tmp_path / "t.txt.gz").write_bytes(packed[:-9])
    assert "t.txt.gz: tseval cannot read this file (" in refused(call(*command)).stderr
    (tmp_path / "t.txt.gz").write_bytes(gzip.compress(b"the \xff\n", mtime=0))
    said = refused(call(*command)).stderr
    assert "t.txt.gz: this file is not UTF-8 text (invalid start byte at byte 4)" in said
