"""EW and MW by probability mass, against the program of Newman et al. 2021 and by hand; intervals."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from in_process import call, succeeded
from random_gpt2 import PAIRS, SEVERAL, contexts, save_random_gpt2
from small import write_file, write_lines
from supplied import NEWMAN2021

from tseval.analysis.counts import tally
from tseval.analysis.inflection import (
    InflectedContexts,
    compared_verbs,
    count_votes,
    estimate_votes,
    scores_at_mass,
)
from tseval.errors import RunError
from tseval.questions.context_forms import ContextForms
from tseval.questions.inflection import RightAndWrong, at_mass, equal_votes, weighted_votes
from tseval.runs import read_run


@pytest.fixture(scope="module")
def published():
    return json.loads(NEWMAN2021.read_text())


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("newman")
    model = save_random_gpt2(folder / "gpt2")
    suite = write_lines(folder / "pairs.jsonl", contexts())
    rows = "".join(f"{sing},{plur}\n" for sing, plur in (*PAIRS, *SEVERAL))
    lexicon = write_file(folder / "verbs.csv", f"sing,plur\n{rows}")
    succeeded(
        call(
            "run", "--model", f"hf:{model}", "--model-args", "bos=none,words=pieces", "--device", "cpu",
            "--suite", f"{suite}:inflection", "--lexicon", lexicon, "--out", folder / "run", "--quiet",
        )
    )  # fmt: skip
    return read_run(folder / "run")


def scored_contexts(run):
    _, answers = tally(run.verdicts)
    return run.inflected(run.verdicts, answers.rows)


@pytest.mark.slow
@pytest.mark.parametrize("likely", ["most", "least"])
def test_scores_at_each_mass_are_those_of_the_papers_program(run, published, likely):
    found = scored_contexts(run)
    texts = run.sentences["sentence"].to_numpy()[found.place]
    place = {
        (text, bool(singular)): at
        for at, (text, singular) in enumerate(zip(texts, found.singular, strict=True))
    }
    assert len(place) == len(published["contexts"]) == 60
    assert set(run.verdicts["n_lemmas"]) == {published["n_lemmas"]}  # verbs of several pieces are left out
    for at, mass in enumerate(published["cutoffs"][likely]):
        scores = scores_at_mass(found, mass, least=likely == "least")
        n_compared = 0
        for line in published["contexts"]:
            here = place[line["context"], line["number"] == "sing"]
            for name in ("ew", "mw"):
                expected = line[f"{name}_{likely}"][at]
                if expected is None:
                    assert np.isnan(scores[name][here])
                else:
                    # The program's float32 moves the point where a cut falls in a form; means differ by less
                    # than 1e-5.
                    assert scores[name][here] == pytest.approx(expected, abs=5e-5)
                    n_compared += 1
        assert n_compared


@pytest.mark.slow
def test_the_command_prints_the_means_of_the_papers_program(run, published):
    printed = succeeded(
        call("analyze", "inflection", run.path, "--mass", "0.5", "--mass", "1", "--format", "json")
    ).stdout
    rows = {
        (row["likely"], row["mass"]): row for row in json.loads(printed)["rows"] if row["row"] == "All rows"
    }
    for (likely, mass), at in {("most", 0.5): 1, ("most", 1.0): 2, ("least", 0.5): 0}.items():
        for name in ("ew", "mw"):
            expected = [line[f"{name}_{likely}"][at] for line in published["contexts"]]
            known = [value for value in expected if value is not None]
            assert rows[likely, mass][name] == pytest.approx(np.mean(known), abs=1e-5)
            assert rows[likely, mass]["n_contexts"] == len(known)


def of_probabilities(right, wrong):
    return RightAndWrong(np.log(np.array([right])), np.log(np.array([wrong])))


def test_ew_and_mw_by_hand():
    forms = of_probabilities([0.4, 0.1, 0.1], [0.1, 0.2, 0.1])
    assert equal_votes(forms).tolist() == [1 / 3]  # a tie is wrong
    assert weighted_votes(forms) == pytest.approx([0.6])


def test_improbable_forms_do_not_become_zero():
    forms = RightAndWrong(np.array([[-900.0, -901.0]]), np.array([[-901.0, -900.0]]))
    assert weighted_votes(forms) == pytest.approx([0.5])


def test_a_cut_mixes_the_scores_without_and_with_the_form_that_it_falls_on():
    """Two lemmas share the vocabulary: .4 right and .3 wrong, .2 right and .1 wrong."""
    forms = of_probabilities([0.4, 0.2], [0.3, 0.1])
    before = RightAndWrong(np.array([[0.0, 0.7]]), np.array([[0.4, 0.9]]))
    votes, mass = at_mass(forms, before, 0.55, least=False)  # halfway into the second form
    assert votes == pytest.approx([1.0])
    assert mass == pytest.approx([0.5 * 1 + 0.5 * 0.4 / 0.7])
    votes, mass = at_mass(forms, before, 0.2, least=True)  # halfway into .2, which gives one lemma both forms
    assert votes == pytest.approx([1.0])
    assert mass == pytest.approx([0.2 / 0.3])
    votes, mass = at_mass(forms, before, 0.05, least=True)
    assert np.isnan(votes).all()
    assert np.isnan(mass).all()
    votes, mass = at_mass(forms, before, 1.0, least=False)
    assert votes == pytest.approx([1.0])
    assert mass == pytest.approx([0.6])


def draw_contexts(rng, n_subjects, n_lemmas, weight=1.5):
    """Draw subjects, lemmas and a model's probabilities for both; some verbs are much more probable."""
    n_contexts = 4 * n_subjects
    subject = np.repeat(np.arange(n_subjects), 4)
    logit = (
        2 + rng.normal(0, 0.7, n_subjects)[subject][:, None] + rng.normal(0, 1.5, n_lemmas)
        + rng.normal(0, 0.7, (n_contexts, n_lemmas))
    )  # fmt: skip
    size = np.exp(rng.normal(0, weight, n_lemmas) + rng.normal(0, 0.5, (n_contexts, n_lemmas)))
    size /= 2 * size.sum(axis=1, keepdims=True)
    right = size / (1 + np.exp(-logit))
    forms = np.stack((right, size - right), axis=2).reshape(n_contexts, -1)
    texts = [f"context {place}" for place in range(n_contexts)]
    logprobs = pa.array(np.log(forms).astype(np.float32).tolist(), pa.list_(pa.float32()))
    verdicts = pd.DataFrame({
        "context": texts, "number": "sing", "subject.entry": [f"s{place}" for place in subject],
    })  # fmt: skip
    scored = pa.table({"sentence": texts, "forms": logprobs})
    pairs = [(f"r{lemma}", f"w{lemma}") for lemma in range(n_lemmas)]
    return InflectedContexts.of(verdicts, np.zeros(n_contexts, int), ContextForms(scored), pairs)


@pytest.mark.slow
def test_intervals_hold_the_values_over_other_subjects_and_lemmas():
    """The truth is computed from far more subjects and lemmas; 5% may miss, with a margin for 200 draws."""
    rng = np.random.default_rng(5)
    logit = 2 + rng.normal(0, (0.7**2 + 1.5**2 + 0.7**2) ** 0.5, 1_000_000)
    truth = {"ew": (logit > 0).mean(), "mw": (1 / (1 + np.exp(-logit))).mean()}
    missed = dict.fromkeys(truth, 0)
    for _ in range(200):
        found = draw_contexts(rng, 10, 120)
        votes = count_votes(found)
        for name, value in truth.items():
            interval = estimate_votes(found, votes[name], [0])
            missed[name] += not interval.low <= value <= interval.high
            assert interval.clusters == {"subject": 10, "lemma": 120}
    assert all(n <= 20 for n in missed.values()), missed


def test_more_lemmas_and_more_subjects_make_narrower_intervals():
    rng = np.random.default_rng(1)

    def width(n_subjects, n_lemmas):
        found = draw_contexts(rng, n_subjects, n_lemmas)
        interval = estimate_votes(found, count_votes(found)["ew"], [0])
        return interval.high - interval.low

    assert width(10, 20) > width(10, 200) > width(40, 200)


def test_the_published_verbs_entries_are_no_factor_of_a_context():
    verdicts = pd.DataFrame({
        "context": ["the author", "the author", "the pilot", "the pilot"], "number": "sing",
        "subject.entry": ["author", "author", "pilot", "pilot"],
        "verb.entry": ["laugh", "swim", "laugh", "swim"],
    })  # fmt: skip
    scored = pa.table({
        "sentence": ["the author", "the pilot"],
        "forms": pa.array([[-1.0, -2.0], [-1.5, -1.0]], pa.list_(pa.float32())),
    })  # fmt: skip
    found = InflectedContexts.of(verdicts, np.zeros(4, int), ContextForms(scored), [("laughs", "laugh")])
    assert found.factors.names == ("subject",)
    assert len(found.row) == 2
    assert count_votes(found)["ew"].values.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "row", ["", "laughs", "laughs laugh", "laughs laugh x", "laughs laugh -1", "a b 1 2", "  3"]
)
def test_a_list_of_verbs_that_somebody_changed_is_one_message(row):
    with pytest.raises(RunError, match="not a singular form, a plural form and a count"):
        compared_verbs(["laughs laugh 732", row])
