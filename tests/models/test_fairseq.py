"""fairseq's LSTM: its first word and its dict.txt; and word files with lines that are easy to misread."""

import argparse
from typing import Any

import pytest
import torch
from in_process import refuse
from torch import nn

import tseval
from tseval.errors import ModelError
from tseval.models.saved_words import words_of_text
from tseval.scoring.surprisal import surprisals

# fairseq/data/dictionary.py: these four come first, and save() leaves them out.
SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>"]
WORDS = ["the", "author", "laughs", "laugh", ".", "authors"]
SENTENCE = "the author laughs ."


class Decoder(nn.Module):
    """The class LSTMDecoder of fairseq/models/lstm.py without an encoder, as in lstm_lm."""

    def __init__(self, n, shared=False):
        super().__init__()
        self.embed_tokens = nn.Embedding(n, 12)
        self.layers = nn.ModuleList([nn.LSTMCell(12, 16), nn.LSTMCell(16, 12 if shared else 16)])
        if not shared:
            self.fc_out = nn.Linear(16, n)

    def forward(self, ids):
        states: list[Any] = [None] * len(self.layers)
        for i in ids:
            x = self.embed_tokens(torch.tensor([i]))
            for k, cell in enumerate(self.layers):
                states[k] = cell(x, states[k])
                x = states[k][0]
            yield self.fc_out(x) if hasattr(self, "fc_out") else x @ self.embed_tokens.weight.T


@pytest.fixture(params=[False, True], ids=["own output", "shared"])
def saved(request, tmp_path):
    """Save a checkpoint with its dict.txt; return the folder and fairseq's numbers."""
    torch.manual_seed(0)
    symbols = [*SYMBOLS, *WORDS]
    decoder = Decoder(len(symbols), request.param)
    state = {f"decoder.{name}": tensor for name, tensor in decoder.state_dict().items()}
    content = {"args": argparse.Namespace(arch="lstm_lm"), "model": state, "optimizer_history": []}
    torch.save(content, tmp_path / "fs.pt")
    (tmp_path / "words.txt").write_text("\n".join(symbols) + "\n", "utf-8")
    lines = [f"{word} {100 - i}\n" for i, word in enumerate(WORDS)]
    (tmp_path / "counts.txt").write_text("".join(lines), "utf-8")
    # A text begins with the end of the one before: fairseq/data/monolingual_dataset.py.
    ids = [symbols.index(word) for word in ["</s>", *SENTENCE.split()]]
    with torch.no_grad():
        rows = [logits.log_softmax(-1)[0] for logits in decoder(ids[:-1])]
    return tmp_path, [-row[i].item() for row, i in zip(rows, ids[1:], strict=True)]


def scored(folder, **arguments):
    return [
        one.surprisal for one in surprisals(tseval.load_model(folder / "fs.pt", arguments), [SENTENCE])[0]
    ]


@pytest.mark.parametrize("name", ["words.txt", "counts.txt"])
def test_a_file_of_fairseq_scores_as_fairseq_does(saved, name):
    folder, expected = saved
    assert scored(folder, vocab=str(folder / name)) == pytest.approx(expected, abs=1e-5)


def test_its_dictionary_beside_it_is_found(saved):
    folder, expected = saved
    (folder / "counts.txt").rename(folder / "dict.txt")
    assert scored(folder) == pytest.approx(expected, abs=1e-5)


def test_another_start_may_be_named(saved):
    folder, expected = saved
    assert scored(folder, vocab=str(folder / "words.txt"), bos="<s>") != pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("the 7\nauthor 5\n. 5\n", 3, ["the", "author", "."]),
        ("the 7\nauthor 5\n. 5\n", 7, [*SYMBOLS, "the", "author", "."]),
        ("10 000 3\nthe 2 #fairseq:overwrite\n", 2, ["10 000", "the"]),
        (". 2\nthe 0\nauthor 1\n", 3, ["the", "author", "."]),
        ("0 the\n2 .\n1 author\n", 3, ["the", "author", "."]),
        ("the\t7\nauthor\t5\n", 2, ["the", "author"]),
        ("10\u00a0000\nthe\n\u2028\nl\x85a\n", 4, ["10\u00a0000", "the", "\u2028", "l\x85a"]),
        ("the\r\nauthor\r\n", 2, ["the", "author"]),
        ("the\n\nauthor\n", 2, ["the", "author"]),
        ("the\n\nauthor\n", 3, ["the", "", "author"]),
        ("a\n \nb\n", 3, ["a", " ", "b"]),
        ("the author . <eos>\n", 4, ["the", "author", ".", "<eos>"]),
    ],
)
def test_lines_of_words_are_read_as_many_as_the_weights_are_for(text, size, expected):
    assert words_of_text(text, size) == expected


def test_a_blank_line_that_may_be_a_word_is_refused_with_its_number():
    with pytest.raises(
        ModelError,
        match=r"line 2 of the vocabulary is blank. Without blank lines, the file has 2 words, "
        r"but the weights need 5.\n  Write the",
    ):
        words_of_text("the\n\nauthor\n", 5)


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path):
    torch.manual_seed(0)
    words = ["the", "author", "laughs", ".", "<eos>", "<unk>"]
    decoder = Decoder(len(words))
    state = {name.replace("fc_out", "out"): tensor for name, tensor in decoder.state_dict().items()}
    torch.save(state, tmp_path / "model.pt")
    (tmp_path / "words.txt").write_text("\n".join(words), "utf-8-sig")
    model = tseval.load_model(tmp_path / "model.pt", {"vocab": str(tmp_path / "words.txt")})
    assert [one.token for one in surprisals(model, [SENTENCE])[0]] == SENTENCE.split()


def test_a_dictionary_of_another_model_is_one_message(saved):
    folder, _ = saved
    (folder / "short.txt").write_text("the 7\nauthor 5\n", "utf-8")
    arguments = ["--model", folder / "fs.pt", "--model-args", f"vocab={folder / 'short.txt'}"]
    told = refuse("pair", "a", "b", *arguments)
    assert "has 2 words, but the weights are for 10." in told.stderr
