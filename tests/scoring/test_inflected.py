"""All verb forms after contexts, against plain torch: every number by the model's own forward pass."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from in_process import call, succeeded

from tseval.adapters import open_model
from tseval.models.bundled_models import bundled_checkpoints
from tseval.models.checkpoint import load_checkpoint
from tseval.questions.inflection import AskedForms
from tseval.runs import read_run
from tseval.scoring.scorers import scorer_for
from tseval.suites.verb_lexicon import read_verbs

VERBS = [
    "laugh",
    "smile",
    "walk",
    "talk",
    "write",
    "know",
    "like",
    "hate",
    "love",
    "admire",
    "say",
    "go",
    "come",
    "take",
    "make",
    "use",
    "see",
    "give",
    "find",
    "think",
    "become",
    "leave",
    "work",
    "call",
    "try",
    "ask",
    "need",
    "seem",
    "help",
    "show",
    "play",
    "run",
    "move",
    "live",
    "believe",
    "bring",
    "happen",
    "write",
    "sit",
    "stand",
    "lose",
    "pay",
    "meet",
    "include",
]


def third_person(base):
    if base == "go":
        return "goes"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory):
    path = tmp_path_factory.mktemp("lexicon") / "verbs.csv"
    rows = [f"{third_person(base)},{base}" for base in dict.fromkeys(VERBS)]
    path.write_text("\n".join(["sing,plur", *rows, "zzorbs,zzorb"]) + "\n")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory, lexicon):
    out = tmp_path_factory.mktemp("runs") / "lstm"
    succeeded(
        call(
            "run", "--model", "bundled:lstm", "--suite", "marvin_linzen:inflection", "--lexicon", lexicon,
            "--sample", 18, "--out", out, "--quiet",
        )
    )  # fmt: skip
    return read_run(out)


@torch.inference_mode()
def plain_logprobs(contexts):
    """Return log-probabilities of the whole vocabulary after contexts, word by word, with float64 sums."""
    checkpoint = load_checkpoint(bundled_checkpoints()["lstm"])
    model, ids = checkpoint.model.double(), checkpoint.vocabulary.ids()
    tables = {}

    @cache
    def behind(*words):  # contexts begin with the same words
        if not words:
            return None, tuple(tensor.double() for tensor in model.initial_state(1))
        return model(torch.tensor([[ids.get(words[-1], ids["<unk>"])]]), behind(*words[:-1])[1])

    for context in contexts:
        hidden, _ = behind(checkpoint.vocabulary.start, *context.lower().split())
        tables[context] = model.logits(hidden[-1]).double().log_softmax(-1).flatten().numpy()
    return tables, ids


@pytest.mark.slow
def test_ew_and_mw_of_the_bundled_lstm_are_those_of_plain_torch(run, lexicon):
    verdicts = run.verdicts
    contexts = list(dict.fromkeys(verdicts["context"]))
    assert len(contexts) > 200
    pairs = [(verb.sing, verb.plur) for verb in read_verbs(lexicon).verbs]
    assert len(pairs) >= 40
    tables, ids = plain_logprobs(contexts)
    known = [pair for pair in pairs if all(form in ids for form in pair)]
    assert len(pairs) > len(known) >= 40  # verbs that the model does not know are left out and counted
    assert set(verdicts["n_lemmas"]) == {len(known)}
    forms = dict.fromkeys(form for pair in pairs for form in pair)
    stored = dict(zip(run.sentences["sentence"], run.sentences["forms"], strict=True))
    largest = 0.0
    for row in verdicts.itertuples():
        table = tables[row.context]
        right, wrong = (0, 1) if row.number == "sing" else (1, 0)
        p_right, p_wrong = (np.exp([table[ids[pair[place]]] for pair in known]) for place in (right, wrong))
        assert row.ew == pytest.approx((p_right > p_wrong).mean(), abs=1e-9)
        assert row.mw == pytest.approx(p_right.sum() / (p_right + p_wrong).sum(), abs=1e-6)
        for form, value in zip(forms, stored[row.context], strict=False):
            if form in ids:
                largest = max(largest, abs(value - table[ids[form]]))
            else:
                assert np.isnan(value)
    assert largest < 1e-4


@pytest.mark.slow
def test_mass_before_a_form_is_the_sum_of_what_is_more_probable(run, lexicon):
    contexts = list(run.sentences["sentence"])[::20]
    tables, ids = plain_logprobs(contexts)
    forms = list(dict.fromkeys(form for verb in read_verbs(lexicon).verbs for form in (verb.sing, verb.plur)))
    stored = dict(zip(run.sentences["sentence"], run.sentences["before"], strict=True))
    for context in contexts:
        probabilities = np.exp(tables[context])
        for form, value in zip(forms, stored[context], strict=False):
            if form in ids:
                own = probabilities[ids[form]]
                expected = probabilities[probabilities > own].sum()
                assert value == pytest.approx(expected, abs=2e-6 + own)  # two forms at the cut may be equal


@pytest.mark.slow
def test_rows_are_means_over_their_contexts(run):
    verdicts, table = run.verdicts, run.table()
    for row in table.itertuples():
        here = verdicts[verdicts["construction"] == row.construction]
        distinct = here.drop_duplicates(["context", "number"])
        assert row.ew == pytest.approx(distinct["ew"].mean(), abs=1e-12)
        assert row.mw == pytest.approx(distinct["mw"].mean(), abs=1e-12)
        assert row.ew_low < row.ew < row.ew_high
        assert row.mw_low < row.mw < row.mw_high
        assert row.accuracy == pytest.approx(here["correct"].mean(), abs=1e-12)


@pytest.mark.slow
def test_the_published_verb_is_that_of_the_score_critical(run, tmp_path):
    out = tmp_path / "critical"
    succeeded(
        call(
            "run", "--model", "bundled:lstm", "--suite", "marvin_linzen", "--score", "critical",
            "--sample", 18, "--out", out, "--quiet",
        )
    )  # fmt: skip
    keys = ["case", "item", "better_score", "worse_score", "correct"]
    both = pd.merge(run.verdicts[keys], read_run(out).verdicts[keys], on=["case", "item"])
    assert len(both) == len(run.verdicts)
    assert np.allclose(both["better_score_x"], both["better_score_y"], atol=1e-4)
    assert (both["correct_x"] == both["correct_y"]).mean() > 0.99


class ByWords:
    """The bundled LSTM with only the methods for log-probabilities of single words."""

    def __init__(self, model):
        self.model, self.card, self.row_bytes = model, model.card, model.row_bytes

    def encode(self, sentences):
        return self.model.encode(sentences)

    def start(self):
        return self.model.start()

    def advance(self, state, tokens):
        return self.model.advance(state, tokens)

    def logprobs(self, state, rows, tokens):
        return self.model.logprobs(state, rows, tokens)


class ByContext(ByWords):
    """The same model, which also gives its whole vocabulary before each word of one sentence."""

    def next_logprobs(self, tokens):
        return self.model.next_logprobs(tokens)

    def token_texts(self, tokens):
        return self.model.token_texts(tokens)


@pytest.mark.slow
def test_models_without_a_pass_for_many_contexts_give_the_same_numbers():
    """One uses `next_logprobs`, context by context; the other scores the forms as last words of sentences."""
    contexts = pa.array(["the author", "the author near the guards", "the pilots"])
    pairs = (("laughs", "laugh"), ("is", "are"), ("zzorbs", "zzorb"))
    asked = AskedForms(tuple(form for pair in pairs for form in pair), pairs)
    model: Any = open_model("bundled:lstm", {}, "cpu")
    whole, by_context, by_words = (
        scorer_for(kind).inflect(contexts, asked) for kind in (model, ByContext(model), ByWords(model))
    )
    for table in (by_context, by_words):
        assert table.column_names == whole.column_names
        assert np.allclose(numbers(table, "forms"), numbers(whole, "forms"), atol=1e-4, equal_nan=True)
    assert np.isnan(numbers(whole, "forms")[:, 4:]).all()
    assert np.allclose(numbers(by_context, "before"), numbers(whole, "before"), atol=1e-3, equal_nan=True)
    assert np.isnan(numbers(by_words, "before")).all()


def numbers(table, name):
    return np.array(table[name].to_pylist(), dtype=np.float64)


def test_a_model_that_scores_whole_sentences_only_is_refused(tmp_path):
    path = tmp_path / "total.py"
    path.write_text(
        "from tseval.scoring.protocol import ModelCard\n"
        "class Totals:\n"
        "    card = ModelCard('totals', 'function', 'f' * 64, {}, {'architecture': 'x', 'device': 'cpu'})\n"
        "    def sentence_logprobs(self, sentences):\n"
        "        return [-float(len(s)) for s in sentences]\n"
        "def load():\n"
        "    return Totals()\n"
    )
    ended = call(
        "run", "--model", f"function:{path}:load", "--suite", "agreement:inflection", "--case", "simple",
        "--out", tmp_path / "r",
    )  # fmt: skip
    assert ended.returncode == 2
    assert "Use a model that gives the log-probability of every word" in ended.stderr
