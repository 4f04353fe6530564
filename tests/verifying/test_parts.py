"""Runs over a part of a suite, and of classifiers: honest ones hold, and chosen items are no random ones."""

from dataclasses import replace

import pytest
import torch
from forged import edit_json, print_anew, seal_anew
from own_models import WORDS

from tseval.adapters import open_model
from tseval.evaluation import evaluate
from tseval.items import suite_digest
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import Classifier, Sizes
from tseval.runs.manifest import RunKey
from tseval.suites import load_suite
from tseval.verifying import verify_run

CASE = "simple_agrmt"


@pytest.fixture(scope="module")
def lstm():
    return open_model("bundled:lstm")


@pytest.mark.parametrize(("task", "view"), [("number", "number"), ("grammaticality", "judgement")])
def test_a_run_of_a_classifier_holds_at_every_level(tmp_path, task, view):
    torch.manual_seed(0)
    network = Classifier(Sizes("drnn", len(WORDS), 8, 12, 2, task=task), initial_range=2.0).eval()
    save_checkpoint(tmp_path / "m.pt", network, WORDS, training={}, validation_perplexity=None)
    model = open_model(tmp_path / "m.pt")
    evaluate(model, load_suite(f"marvin_linzen:{view}", cases=CASE), out=tmp_path / "run")
    report = verify_run(tmp_path / "run", suite=f"marvin_linzen:{view}", model=model, share=1.0)
    assert report.ok, report
    assert report.checks[-1].level == "rerun"
    assert "at most 1.0000" in report.checks[2].found  # the two answers share all probability


@pytest.mark.parametrize("view", ["profile", "judgement_both"])
def test_a_part_of_a_view_with_several_rows_for_an_item_holds(lstm, tmp_path, view):
    spec = f"marvin_linzen:{view}"
    evaluate(lstm, load_suite(spec, cases=CASE, limit=20), out=tmp_path / "run")
    report = verify_run(tmp_path / "run", suite=spec)
    assert report.ok, report


@pytest.mark.parametrize(("sample", "seed"), [(9, 0), (9, -5), (9, 12345678901), (10**6, 0)])
def test_drawn_items_are_drawn_again(lstm, tmp_path, sample, seed):
    evaluate(lstm, load_suite("marvin_linzen", cases=CASE, sample=sample, seed=seed), out=tmp_path / "run")
    report = verify_run(tmp_path / "run")
    assert report.ok, report


@pytest.mark.parametrize("part", [{}, {"limit": 9}, {"sample": 9}])
def test_judged_sentences_are_chosen_again_by_their_seed(lstm, tmp_path, part):
    spec = "marvin_linzen:judgement"
    suite = load_suite(spec, cases=CASE, seed=7, **part)
    assert suite.digest != load_suite(spec, cases=CASE, **part).digest
    evaluate(lstm, suite, out=tmp_path / "run")
    report = verify_run(tmp_path / "run", suite=spec)
    assert report.ok, report

    edit_json(tmp_path / "run/manifest.json", lambda manifest: manifest["suite"].update(seed=8))
    report = verify_run(tmp_path / "run", suite=spec)
    assert not report.ok
    assert report.checks[-1].level == "whole"


def test_a_seed_that_chose_nothing_is_not_stated(lstm, tmp_path):
    suite = load_suite("marvin_linzen", cases=CASE, limit=9)
    evaluate(lstm, replace(suite, seed=7), out=tmp_path / "run")
    report = verify_run(tmp_path / "run")
    assert not report.ok
    assert "suite.seed is 7, but no seed chooses sentences of marvin_linzen" in report.checks[-1].found


def chosen(suite, rows, said):
    cases = tuple(case.take(rows) for case in suite.cases)
    return replace(
        suite, cases=cases, digest=suite_digest(suite.terminator, cases), complete=False, sample=said
    )


@pytest.mark.parametrize("said", ["9 of each case, seed 0", "at random", "9 of each case, seed x"])
def test_chosen_items_are_not_drawn_ones(lstm, tmp_path, said):
    suite = load_suite("marvin_linzen", cases=CASE)
    evaluate(lstm, chosen(suite, list(range(9)), said), out=tmp_path / "run")
    report = verify_run(tmp_path / "run", model=lstm, share=1.0)
    assert not report.ok
    assert report.checks[-1].level == "recomputed"
    assert f"suite.sample is {said!r}" in report.checks[-1].found


def test_how_many_items_there_are_is_no_free_text(lstm, tmp_path):
    evaluate(lstm, load_suite("marvin_linzen", cases=CASE, limit=9), out=tmp_path / "run")

    def edit(manifest):
        manifest["key"]["items"] = "all that are of interest"
        manifest["signature"] = RunKey(**manifest["key"]).signature

    edit_json(tmp_path / "run/manifest.json", edit)
    seal_anew(tmp_path / "run")
    print_anew(tmp_path / "run")
    report = verify_run(tmp_path / "run")
    assert "key.items is 'all that are of interest'" in report.checks[-1].found


def test_a_part_that_nothing_is_said_of_is_said_to_be_one(lstm, tmp_path):
    suite = load_suite("marvin_linzen", cases=CASE)
    evaluate(lstm, chosen(suite, list(range(9)), None), out=tmp_path / "run")
    report = verify_run(tmp_path / "run")
    assert report.ok, report
    assert "only 9 items of the suite" in report.checks[1].found
