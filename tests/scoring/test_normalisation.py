"""Normalised log-probabilities against the formulas of the reference scripts, token by token."""

import json
import math
from functools import cache

import numpy as np
import pytest
import torch
from checkpoints import save_causal, save_masked
from in_process import refuse, succeed
from transformers import AutoModelForCausalLM, AutoTokenizer

import tseval
from tseval.adapters import open_model
from tseval.errors import SuiteError
from tseval.questions.normalisation import Normalised, Unigrams, split_measure
from tseval.runs import read_run
from tseval.suites.data.unigrams import read_unigrams

PAIRS = [
    ("the author laughs", "the author near the old guards laugh again"),
    ("no guards smile", "guards smile"),
    ("the pilots laugh and the guards smile", "the pilots laughs"),
]
SENTENCES = [text for pair in PAIRS for text in pair]
BY = ("tokens", "penlp", "alpha=0.5", "alpha=0.85", "slor")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("normalised")
    save_causal(folder / "gpt2")
    save_masked(folder / "bert")
    pairs = [json.dumps({"good": good, "bad": bad}) for good, bad in PAIRS]
    (folder / "pairs.jsonl").write_text("\n".join(pairs))
    rated = ["sentence,rating", *(f"{text},{place}" for place, text in enumerate(SENTENCES))]
    (folder / "rated.csv").write_text("\n".join(rated))
    n_tokens = len(AutoTokenizer.from_pretrained(folder / "gpt2"))
    (folder / "ids.tsv").write_text(
        "id\tcount\n" + "".join(f"{i}\t{1 + i * i % 97}\n" for i in range(n_tokens))
    )
    return folder


@cache
def tokens_of(folder, text, first):
    """Return a sentence's ids and log-probabilities; without a start token, the first id has none."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    read = [tokenizer.eos_token_id, *ids] if first else ids
    with torch.no_grad():
        table = model(torch.tensor([read])).logits[0].double().log_softmax(-1)
    scored = ids if first else ids[1:]
    return scored, [float(table[place, token]) for place, token in enumerate(scored)]


def reference(by, ids, logprobs):
    """Compute the acceptability measures of both scripts, as printed in their papers."""
    total, n = math.fsum(logprobs), len(ids)
    if by == "penlp":
        return total / ((5 + n) ** 0.8 / (5 + 1) ** 0.8)
    if by == "slor":
        counts = {token: 1 + token * token % 97 for token in range(10_000)}
        vocabulary = 300
        everything = sum(1 + i * i % 97 for i in range(vocabulary))
        return (total - math.fsum(math.log(counts[token] / everything) for token in ids)) / n
    return total / n ** (1 if by == "tokens" else float(by.split("=")[1]))


@pytest.mark.slow
@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("bos", ["auto", "false"])
def test_every_score_is_that_of_the_reference(folder, by, bos):
    model = open_model(f"hf:{folder / 'gpt2'}", {"bos": bos})
    assert len(AutoTokenizer.from_pretrained(folder / "gpt2")) == 300
    unigrams = read_unigrams(folder / "ids.tsv") if by == "slor" else None
    run = tseval.evaluate(model, tseval.load_suite(folder / "rated.csv"), score=Normalised(by, unigrams))
    scores = dict(zip(SENTENCES, run.verdicts["better_score"], strict=True))
    lengths = dict(zip(run.sentences["sentence"], run.sentences["n_tokens"], strict=True))
    for text in SENTENCES:
        ids, logprobs = tokens_of(folder / "gpt2", text, bos == "auto")
        assert lengths[text] == len(ids)
        assert scores[text] == pytest.approx(reference(by, ids, logprobs), abs=1e-4)
    assert len(set(lengths.values())) > 2
    assert any(n > len(text.split()) for text, n in lengths.items())


def test_pairs_are_compared_by_what_is_normalised(folder):
    model, suite = open_model(f"hf:{folder / 'gpt2'}"), tseval.load_suite(folder / "pairs.jsonl")
    run = tseval.evaluate(model, suite, score=Normalised("penlp"))
    for row, (good, bad) in zip(run.verdicts.itertuples(), PAIRS, strict=True):
        better, worse = (reference("penlp", *tokens_of(folder / "gpt2", text, True)) for text in (good, bad))
        assert (row.better_score, row.worse_score) == pytest.approx((better, worse), abs=1e-4)
        assert row.correct == (better > worse)
    plain = tseval.evaluate(model, suite)
    assert run.sentences["logprob"].equals(plain.sentences["logprob"])


def test_a_masked_model_counts_the_pieces_that_it_scores(folder):
    model = open_model(f"mlm:{folder / 'bert'}")
    run = tseval.evaluate(model, tseval.load_suite(folder / "rated.csv"), score=Normalised("tokens"))
    tokenizer = AutoTokenizer.from_pretrained(folder / "bert")
    expected = [len(tokenizer.tokenize(text)) for text in run.sentences["sentence"]]
    assert run.sentences["n_tokens"].tolist() == expected
    assert expected != [len(text.split()) for text in run.sentences["sentence"]]


def test_of_a_model_of_words_tokens_are_words(folder):
    model, suite = tseval.load_model("bundled:lstm"), tseval.load_suite(folder / "rated.csv")
    by_tokens, mean = (tseval.evaluate(model, suite, score=score) for score in (Normalised("tokens"), "mean"))
    assert by_tokens.verdicts["better_score"].equals(mean.verdicts["better_score"])


@pytest.mark.slow
def test_the_signature_says_it_and_stays_what_it_was_without(folder):
    suite = ("--suite", "rated.csv", "--quiet")
    table = {
        "none": "sentence", "words": "mean", "tokens": "sentence/tokens", "alpha=.50": "sentence/alpha=0.5",
    }  # fmt: skip
    for place, (by, score) in enumerate(table.items()):
        how = "--normalise", by, "--out", f"s{place}"
        succeed("run", "--model", "bundled:lstm", *suite, *how, cwd=folder)
        run = read_run(folder / f"s{place}")
        assert f"|score:{score}|" in run.manifest.signature
        assert ("n_tokens" in run.sentences) == ("/" in score)
    succeed("run", "--model", "bundled:lstm", *suite, "--out", "plain", cwd=folder)
    assert read_run(folder / "plain").manifest.signature == read_run(folder / "s0").manifest.signature
    both = succeed("table", "s0", "s2", cwd=folder).stdout
    assert "scored by different methods (lstm (s0): sentence, lstm (s2): sentence/tokens)" in both
    succeed("analyze", "ratings", "s2", "--figure", "a.svg", cwd=folder)
    assert "log-probability by tokens" in (folder / "a.svg").read_text("utf-8")


def test_other_unigrams_are_another_score(folder):
    one, other = Unigrams({"a": -1.0, "b": -2.0}), Unigrams({"a": -1.0, "b": -2.5})
    assert str(Normalised("slor", one)) != str(Normalised("slor", other))
    assert str(Normalised("slor", one)) == str(Normalised("slor", Unigrams({"b": -2.0, "a": -1.0})))
    assert split_measure(str(Normalised("slor", one))) == ("sentence", "slor")


@pytest.mark.parametrize(
    "content",
    ["token,count\na,3\nb,1\n", "token,probability\na,0.75\nb,0.25\n",
     "token;logprob\na;-0.2876820724517809\nb;-1.3862943611198906\n"],
)  # fmt: skip
def test_unigrams_may_be_counts_probabilities_or_logarithms(tmp_path, content):
    (tmp_path / "u.csv").write_text(content)
    found = read_unigrams(tmp_path / "u.csv").logprobs
    assert found == pytest.approx({"a": np.log(0.75), "b": np.log(0.25)})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("word,count\na,1\n", "u.csv:2: tseval finds no tokens with counts in this table of unigrams"),
        ("token,count\na,0\n", "u.csv:2: the column 'count' has '0', but this is not a valid count.\n"
         "  Write a number above 0."),
        ("token,count\na,x\n", "u.csv:2: the column 'count' has 'x'"),
        ("token,logprob\na,0.5\n", "the column 'logprob' has '0.5', but this is not a valid logprob.\n"
         "  Write a number at most 0."),
        ("token,logprob\na,nan\n", "u.csv:2: the column 'logprob' has 'nan'"),
        ("token,probability\na,2\n", "'probability' has '2', but this is not a valid probability.\n"
         "  Write a number above 0, at"),
        ("token,count\na,1\na,2\n", "u.csv:3: token 'a' appears twice."),
        ("token,count\n,1\n", "u.csv:2: the cell in the column 'token' is empty"),
        ("token,count\n", "u.csv: the table of unigrams has no rows"),
        ("token,count\na,1e300\nb,1e-300\n", "u.csv: the token 'b' has the count 1e-300, but the "
         "sum of all counts is 1e+300. So the probability"),
        ("token,count\na,1e308\nb,1e308\n", "u.csv: the token 'a' has the count 1e+308, but the "
         "sum of all counts is inf. So the probability"),
    ],
)  # fmt: skip
def test_wrong_unigrams_are_refused_with_their_line(tmp_path, content, said):
    (tmp_path / "u.csv").write_text(content)
    with pytest.raises(SuiteError) as error:
        read_unigrams(tmp_path / "u.csv")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--normalise slor", "--normalise slor needs the frequency of each token, which a model"),
        ("--normalise tokens --unigrams ids.tsv", "--normalise tokens does not use them."),
        ("--unigrams ids.tsv", "--unigrams has an effect only together with --normalise slor."),
        ("--normalise slor --unigrams ids.tsv", ("the file of --unigrams has no counts for some tokens of "
                                                 "lstm: ")),
        ("--normalise alpha=0", "--normalise alpha=0: there is no normalisation with this name."),
        ("--normalise alpha=1.5", "--normalise alpha=1.5: there is no normalisation with this name."),
        ("--normalise length", ("Write one of these after --normalise: none, words, tokens, "
                                 "characters, bytes, slor, penlp, alpha=A")),
        ("--normalise penlp --score mean", "--normalise penlp works for whole sentences, but the suite "
                                           "'pairs'"),
        ("--normalise penlp --score critical", "the suite 'pairs' is scored by 'critical'."),
    ],
)  # fmt: skip
def test_what_cannot_be_normalised_is_refused_before_anything_is_scored(folder, options, said):
    how = "--suite", "pairs.jsonl", *options.split(), "--out", "no"
    assert said in refuse("run", "--model", "bundled:lstm", *how, cwd=folder).stderr
    assert not (folder / "no").exists()


def test_a_model_behind_a_wall_has_words_but_no_tokens(folder):
    class Wall:
        card = tseval.load_model("bundled:lstm").card

        def sentence_logprobs(self, sentences):
            return [-float(len(text)) for text in sentences]

    suite = tseval.load_suite(folder / "rated.csv")
    with pytest.raises(tseval.errors.ModelError, match=r"Write --normalise words instead\."):
        tseval.evaluate(Wall(), suite, score=Normalised("penlp"))
    run = tseval.evaluate(Wall(), suite, score="mean")
    assert run.verdicts["better_score"].tolist() == [-len(t) / len(t.split()) for t in SENTENCES]


def test_verification_and_boards_refuse_normalised_runs(folder):
    scored = ("--suite", "pairs.jsonl", "--normalise", "penlp", "--out", "v", "--quiet")
    succeed("run", "--model", "bundled:lstm", *scored, cwd=folder)
    refused = refuse("verify", "v", "--suite", "pairs.jsonl", cwd=folder)
    assert "v was scored with --normalise penlp" in refused.stderr
    succeed("board", "new", "board", "--suite", folder / "pairs.jsonl", cwd=folder)
    done = refuse("board", "add", "board", "v", cwd=folder)
    assert (
        "the run has the score 'sentence/penlp', but the leaderboard has the score 'sentence'" in done.stderr
    )
