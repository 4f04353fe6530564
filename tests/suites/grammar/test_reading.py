"""`tseval lint --model` shows ten items as a model reads them, token by token, and marks unknown words."""

from checkpoints import bpe_tokenizer, save_causal
from in_process import call
from transformers import AutoTokenizer

GRAMMAR = """---
construction: C
phenomenon: P
language: english
lexicon: {noun: {p: [author, zyzzyva]}, verb: {v: [laughs, swims, smiles]}}
slots: {subject: noun.p, verb: verb.v}
---
good: the {{ subject }} {{ verb | agree(subject) }}
bad: the {{ subject }} {{ verb | disagree(subject) }}
"""


def shown(folder, model):
    (folder / "case.jinja").write_text(GRAMMAR)
    done = call("lint", folder / "case.jinja", "--quiet", "--model", model)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_words_that_a_model_does_not_know_are_marked_and_listed(tmp_path):
    first, *lines, last = shown(tmp_path, "bundled:lstm")
    assert first == "lstm reads 10 items of case:"
    assert sum(line.startswith("  ") for line in lines) == 20
    assert ("good", "the author laughs .") in list(map(_row, lines))
    assert any("the <unk: zyzzyva> laughs ." in line for line in lines)
    assert last == "The model does not know: zyzzyva, zyzzyvas"


def _row(line):
    label, _, text = line.strip().partition(" ")
    return label, text.strip().rpartition("  (")[0]


def test_pieces_are_those_of_the_tokenizer_and_read_natural_text(tmp_path):
    save_causal(tmp_path / "model", "gpt2", bpe_tokenizer())
    lines = shown(tmp_path, f"hf:{tmp_path / 'model'}")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    words = (tokenizer.encode(word) for word in ("The", " author", " laughs", "."))
    spelt = " ".join("|".join(tokenizer.decode([one]).strip() for one in pieces) for pieces in words)
    assert ("good", spelt) in list(map(_row, lines))
    assert not any("<unk" in line for line in lines)  # every byte has a piece


def test_a_suite_with_errors_is_not_read(tmp_path):
    (tmp_path / "case.jinja").write_text(GRAMMAR.replace("author", "man"))
    done = call("lint", tmp_path / "case.jinja", "--quiet", "--model", "bundled:lstm")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].endswith(
        "the model reads no items until you correct the errors above"
    )
