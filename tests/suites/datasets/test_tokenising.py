"""Penn Treebank tokens for word-level models."""

import json

import pytest
from nltk.tokenize import NLTKWordTokenizer

from tseval.suites import load_suite


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # Marcus et al. 1993 and the Treebank's tokenisation guide.
        ("Katherine can't help herself.", "Katherine ca n't help herself ."),
        ("What has Tim's dog, Rex, seen?", "What has Tim 's dog , Rex , seen ?"),
        ("the author laughs .", "the author laughs ."),
        ('He said "no".', 'He said " no " .'),
    ],
)
def test_punctuation_and_clitics_are_words_of_their_own(tmp_path, text, tokens):
    (tmp_path / "p.jsonl").write_text(json.dumps({"good": text, "bad": "x y."}))
    (case,) = load_suite(tmp_path / "p.jsonl", tokenise=True).cases
    assert case.sentences.to_pylist() == [{"good": tokens, "bad": "x y ."}]


def test_tokens_are_those_of_the_library_but_for_its_double_quotes(tmp_path):
    texts = ["They'd won't I'm (so) it: $5.50, e.g. this; ok...", "A 'quoted' word -- there."]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps({"good": t, "bad": "x"}) + "\n" for t in texts))
    (case,) = load_suite(tmp_path / "p.jsonl", tokenise=True).cases
    assert case.sentences["good"].to_pylist() == [" ".join(NLTKWordTokenizer().tokenize(t)) for t in texts]


def test_an_ending_is_counted_in_tokens_and_the_suite_is_another_one(tmp_path):
    record = {"good": "He didn't", "bad": "They didn't", "ending": 1}
    (tmp_path / "p.jsonl").write_text(json.dumps(record))
    plain, tokenised = (load_suite(tmp_path / "p.jsonl", tokenise=flag) for flag in (False, True))
    assert tokenised.cases[0].features["ending"].to_pylist() == [2]
    assert plain.digest != tokenised.digest
