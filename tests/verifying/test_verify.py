"""Verification: an honest run passes, and every forgery is detected at the level that can detect it."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch
from cut_suites import cut_suite
from forged import (
    edit_json,
    print_anew,
    put,
    rewrite_run,
    seal_anew,
    with_key,
    words_forged,
    write_table,
)
from in_process import call
from own_models import WORDS

from tseval.adapters import open_model
from tseval.evaluation import evaluate
from tseval.items import ENTRY, as_entries, cluster_by, suite_digest
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import Classifier, Sizes
from tseval.runs import read_run
from tseval.suites import load_suite
from tseval.verdicts import sentences_of
from tseval.verifying import verify_run
from tseval.verifying.claim import claim_of_run
from tseval.verifying.rescore import chosen

CASES = ["simple_agrmt", "simple_npi_anim", "reflexive_sent_comp"]


@pytest.fixture(scope="module", autouse=True)
def few_cases(tmp_path_factory):
    """Limit the suite to these cases: each verification expands the whole suite again."""
    folder = tmp_path_factory.mktemp("templates")
    cut_suite("marvin_linzen", CASES, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tseval.suites.lookup.TEMPLATES", folder)
        yield


@pytest.fixture(scope="module")
def model():
    return open_model("bundled:lstm")


@pytest.fixture(scope="module")
def honest(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("verify") / "honest"
    evaluate(model, load_suite("marvin_linzen", cases=CASES, limit=60), out=path)
    return path


@pytest.fixture
def forge(honest, tmp_path):
    """Return a function that writes an intact run with other sentences, verdicts or tables."""

    def forged(of=honest, *, sentences=None, verdicts=None):
        run = read_run(of)
        path = shutil.copytree(of, tmp_path / "forged")
        scored = run.load_sentences() if sentences is None else sentences
        rewrite_run(path, run, scored, run.load_verdicts() if verdicts is None else verdicts)
        seal_anew(path)
        return path

    return forged


def levels(report):
    return [(check.level, check.ok) for check in report.checks]


def wrong_at(report, level):
    """Return the message of the only wrong level, which is the last."""
    assert [check.level for check in report.checks if not check.ok] == [level]
    assert not report.ok
    return report.checks[-1].found


@pytest.mark.slow
def test_an_honest_run_holds_at_every_level(honest, model):
    report = verify_run(honest, model=model, share=0.2)
    assert levels(report) == [
        ("whole", True), ("recomputed", True), ("plausible", True), ("rescored", True)
    ]  # fmt: skip
    assert report.level == "rescored"
    assert verify_run(honest, model=model, share=1.0).level == "rerun"


def test_a_run_with_corrected_words_holds_too_and_a_sentence_of_other_pieces_does_not(causal, tmp_path):
    model, run = open_model(causal), tmp_path / "run"
    evaluate(model, load_suite("marvin_linzen", cases=CASES[:1], limit=10), score="critical", out=run)
    assert verify_run(run, model=model, share=1.0).level == "rerun"
    scored = read_run(run).load_sentences()
    moved = [[value - 1 for value in row] for row in scored["pieces"].to_pylist()]
    sums = [np.add.reduceat(np.array(row, "f4").astype("f8"), [0])[0] for row in moved]
    write_table(run, "sentences", put(put(scored, "logprob", sums), "pieces", moved))
    seal_anew(run)
    assert "but the run states" in wrong_at(verify_run(run, model=model, share=1.0), "rerun")


def test_nothing_is_taken_from_the_cache_of_suites(honest, monkeypatch):
    def poisoned(*_):
        raise AssertionError("the cache was read")

    monkeypatch.setattr("tseval.suites.cache.open_regular", poisoned)
    assert verify_run(honest).ok


def without_entries(verdicts):
    return verdicts.drop_columns([name for name in verdicts.column_names if name.endswith(ENTRY)])


# The run, the edit of its verdicts, and the message at the level `recomputed`.
VERDICTS = [
    ("honest", lambda v: put(v, "correct", [True] * len(v)),
     "^in the file of verdicts, correct of .* is True, but tseval recomputes False"),
    ("honest", lambda v: v.slice(0, len(v) - 1), "the key `suite.n_contrasts` is 299, but the suite has 300"),
    ("honest", lambda v: v.drop_columns(v.column_names[-1:]), "the file of verdicts has no column"),
    ("honest", lambda v: v.append_column("more", v["item"]), "the file of verdicts has a column 'more'"),
    ("honest", lambda v: put(v, "construction", ["Easy"] * len(v)), "construction of"),
    ("honest", lambda v: put(v, "better_score", pc.add(v["better_score"], 1e-9).to_pylist()),
     "better_score of"),
    ("honest", without_entries, "^the file of verdicts has no column 'subject.entry'$"),
    ("honest", lambda v: put(v, "verb.entry", as_entries(["laughs"] * len(v))),
     "^in the file of verdicts, verb.entry of "),
    ("clustered", lambda v: put(v, "subject_number.entry", as_entries(["sg"] * len(v))),
     "^in the file of verdicts, subject_number.entry of "),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("of", "edit", "said"), VERDICTS)
def test_verdicts_that_are_not_those_of_the_sentences_do_not_follow(request, forge, of, edit, said):
    run = request.getfixturevalue(of)
    report = verify_run(forge(run, verdicts=edit(read_run(run).load_verdicts())))
    assert re.search(said, wrong_at(report, "recomputed"))


def reseal(path, edit):
    edit_json(path / "manifest.json", edit)
    seal_anew(path)


def test_a_run_from_before_lexical_factors_holds_without_them_and_it_is_said(honest, forge):
    path = forge(verdicts=without_entries(read_run(honest).load_verdicts()))
    reseal(path, lambda manifest: manifest["suite"].pop("clusters"))
    report = verify_run(path)
    assert report.ok
    assert report.checks[1].found.endswith("; lexical factors are not recorded, as in old runs")
    assert "is not said" not in str(verify_run(honest))


def test_a_run_without_a_record_of_clusters_is_held_to_the_entries_it_has(honest, forge):
    path = forge()
    reseal(path, lambda manifest: manifest["suite"].pop("clusters"))
    assert verify_run(path).ok
    shutil.rmtree(path)
    path = forge(verdicts=read_run(honest).load_verdicts().drop_columns(["verb.entry"]))
    reseal(path, lambda manifest: manifest["suite"].pop("clusters"))
    assert wrong_at(verify_run(path), "recomputed") == "the file of verdicts has no column 'verb.entry'"


@pytest.fixture(scope="module")
def clustered(model, tmp_path_factory):
    """Make a run whose user chose other columns than the suite."""
    path = tmp_path_factory.mktemp("verify") / "clustered"
    suite = cluster_by(load_suite("marvin_linzen", cases=CASES, limit=60), ["subject", "subject_number"])
    evaluate(model, suite, out=path)
    return path


def test_a_run_whose_user_named_other_columns_than_the_suite_says_so_and_holds(clustered, honest):
    run = read_run(clustered)
    assert run.manifest.suite.clusters == ("subject", "subject_number")
    assert [name for name in run.verdicts.columns if name.endswith(ENTRY)] == [
        "subject.entry", "subject_number.entry"
    ]  # fmt: skip
    assert verify_run(clustered).ok
    assert read_run(honest).manifest.suite.clusters == ()


@pytest.mark.parametrize(
    ("claimed", "said"),
    [
        ([], "the file of verdicts has no column 'verb.entry'"),
        (["subject_number"], "the file of verdicts has a column 'subject.entry', which is not a feature "
                             "of the suite"),
        (["subject_numbr"], "suite.clusters: --cluster subject_numbr: the items of the suite 'marvin_linzen' "
                            "have no column with this name."),
    ],
)  # fmt: skip
def test_columns_that_were_not_those_named_are_found(clustered, tmp_path, claimed, said):
    shutil.copytree(clustered, tmp_path / "run")
    reseal(tmp_path / "run", lambda manifest: manifest["suite"].update(clusters=claimed))
    assert wrong_at(verify_run(tmp_path / "run"), "recomputed") == said


def test_sentences_of_another_suite_are_found(honest, forge):
    scored = read_run(honest).load_sentences()
    first, *others = scored["sentence"].to_pylist()
    forged = put(scored, "sentence", [first.replace(first.split()[0], "zebras"), *others])
    said = wrong_at(verify_run(forge(sentences=forged)), "recomputed")
    assert "the run has other sentences than the suite: 'zebras " in said


def test_what_may_follow_a_prefix_cannot_have_more_than_all(honest, tmp_path):
    sentences = [text.split() for text in read_run(honest).load_sentences()["sentence"].to_pylist()]
    seconds = {sentence[1] for sentence in sentences if sentence[0] == "the"}
    assert len(seconds) > 1

    def edit(words):
        for of, sentence in zip(words, sentences, strict=True):
            if sentence[0] == "the":
                of[1] = -0.1

    path = shutil.copytree(honest, tmp_path / "forged")
    words_forged(path, load_suite("marvin_linzen", cases=CASES, limit=60), edit)
    seal_anew(path)
    said = wrong_at(verify_run(path), "plausible")
    assert said.startswith("the words after 'the' have a total probability of ")
    assert f"{len(seconds) * np.exp(-0.1):.4g}" in said


def test_first_tokens_that_no_model_left_unscored_are_found(honest, forge):
    scored = read_run(honest).load_sentences()
    nothing = pa.array(np.zeros(scored.num_rows, dtype=np.int64))
    path = forge(sentences=scored.append_column("unscored", nothing))
    assert "but a model of kind 'native' reads whole words" in wrong_at(verify_run(path), "plausible")


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    from checkpoints import save_causal  # noqa: PLC0415 - takes seconds

    return f"hf:{save_causal(tmp_path_factory.mktemp('models') / 'gpt2')}"


def with_first_tokens(model, path, tokens):
    """Score some items, and record these first tokens of their sentences, (sentences,), as unscored."""
    evaluate(model, load_suite("marvin_linzen", cases=CASES[:1], limit=10), out=path)
    assert verify_run(path).ok
    scored = read_run(path).load_sentences()
    forged = scored.select([name for name in scored.column_names if name != "unscored"])
    if tokens is not None:
        forged = forged.append_column("unscored", pa.array(tokens(scored), pa.int64()))
    write_table(path, "sentences", forged)
    seal_anew(path)
    return path


def authors_apart(scored):
    """Change the first token in both sentences of some items, so that no verdict changes."""
    about_authors = pc.starts_with(scored["sentence"], "the author ").to_numpy()
    assert 0 < about_authors.sum() < len(about_authors)
    return scored["unscored"].to_numpy() + about_authors


@pytest.mark.parametrize(
    ("bos", "tokens", "found"),
    [
        ("true", lambda scored: np.zeros(scored.num_rows),
         "unscored, but this model scores it"),
        ("false", None, "no column 'unscored' with these tokens"),
        ("false", authors_apart, "the first token of the word 'the' is "),
    ],
)  # fmt: skip
def test_first_tokens_that_no_model_of_pieces_left_unscored_are_found(causal, tmp_path, bos, tokens, found):
    path = with_first_tokens(open_model(causal, {"bos": bos}), tmp_path / "run", tokens)
    assert found in wrong_at(verify_run(path), "plausible")


@pytest.mark.slow
def test_other_first_tokens_everywhere_are_found_by_asking(causal, tmp_path):
    model = open_model(causal, {"bos": "false"})
    path = with_first_tokens(model, tmp_path / "run", lambda scored: scored["unscored"].to_numpy() + 1)
    assert verify_run(path).ok
    said = wrong_at(verify_run(path, model=model, share=0.01), "rescored")
    assert said == (
        "the column `unscored` is wrong: it differs from the first tokens to which --model gives no score"
    )


def test_another_model_is_not_asked(honest, tmp_path):
    from own_models import open_own  # noqa: PLC0415 - brings torch along

    other = open_own("native lstm", tmp_path).model
    said = wrong_at(verify_run(honest, model=other), "rescored")
    assert said.startswith("--model is not the model of the run: ")
    assert "fingerprint: " in said


def test_who_is_asked_about_cannot_be_chosen(honest):
    claim = claim_of_run(honest)
    sentences = sentences_of(load_suite("marvin_linzen", cases=CASES, limit=60))
    rows = chosen(claim, sentences, 0.25)
    assert len(rows) / len(sentences) == pytest.approx(0.25, abs=0.08)
    assert (chosen(claim, sentences, 0.25) == rows).all()
    key = replace(claim.manifest.key, fingerprint="b" * 64)
    other = chosen(replace(claim, manifest=replace(claim.manifest, key=key)), sentences, 0.25)
    assert set(other) != set(rows)
    assert len(chosen(claim, sentences, 1e-9)) == 1
    assert len(chosen(claim, sentences, 1.0)) == len(sentences)


@pytest.mark.slow
def test_the_command_prints_levels_and_exits_with_what_it_found(honest, forge):
    good = call("verify", honest, "--model", "bundled:lstm", "--rescore", "all")
    assert good.returncode == 0, good.stderr
    levels = [line.split()[0] for line in good.stdout.splitlines()[1:]]
    assert levels == ["whole", "recomputed", "plausible", "rerun"]
    bad = call("verify", honest, forge(verdicts=read_run(honest).load_verdicts().slice(1)), "--json")
    assert bad.returncode == 1
    reports = json.loads(bad.stdout)
    assert [report["ok"] for report in reports] == [True, False]
    assert {"name", "what", "ok", "level", "checks"} == set(reports[0])


@pytest.mark.slow
@pytest.mark.parametrize("view", ["", ":profile"])
def test_a_run_whose_words_were_split_into_tokens_holds_and_one_whose_were_not(view, tmp_path):
    suite = tmp_path / "natural.jsonl"
    suite.write_text('{"good": "the authors laugh.", "bad": "the authors laughs."}\n')
    for name, options in (("split", ["--tokenise"]), ("whole", [])):
        run = ("run", "--model", "bundled:lstm", "--suite", f"{suite}{view}", "--out", tmp_path / name)
        assert call(*run, *options).returncode == 0
        stated = json.loads((tmp_path / name / "manifest.json").read_text())["suite"]
        assert stated.get("tokenise") == (True if options else None)
        ended = call("verify", tmp_path / name, "--suite", f"{suite}{view}")
        assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
        assert "recomputed" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "'nowhere' is not the folder of a run.\n  Name the folder of a run."),
        (
            [".", "--rescore", "1%"],
            (
                "--rescore is about scoring sentences again, which needs the model of the run. Add --model "
                "MODEL."
            ),
        ),
        (
            [".", "--rescore", "1"],
            "'1' is not a share of sentences. Write a percentage, such as 1% or 0.5%, or the word all.",
        ),
        (
            [".", "--rescore", "nan%"],
            "'nan%' is not a share of sentences. Write a percentage, such as 1% or 0.5%, or the word all.",
        ),
    ],
)
def test_bad_input_is_told_in_a_message(arguments, said, tmp_path):
    done = call("verify", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_suite_that_is_not_here_is_asked_for(tmp_path, model):
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"sentence_good": "the author laughs .", "sentence_bad": "the author laugh ."}\n')
    evaluate(model, load_suite(pairs), out=tmp_path / "run")
    done = call("verify", tmp_path / "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "Name the suite of run with --suite SUITE, as for tseval run" in done.stderr
    assert call("verify", tmp_path / "run", "--suite", pairs, cwd=tmp_path).returncode == 0


# Runs over part of a suite, and of classifiers: honest runs pass, chosen items are not accepted as random.
CASE = "simple_agrmt"


@pytest.mark.parametrize(("task", "view"), [("number", "number"), ("grammaticality", "judgement")])
def test_a_run_of_a_classifier_holds_at_every_level(part, tmp_path, task, view):
    torch.manual_seed(0)
    network = Classifier(Sizes("drnn", len(WORDS), 8, 12, 2, task=task), initial_range=2.0).eval()
    save_checkpoint(tmp_path / "m.pt", network, WORDS, training={}, validation_perplexity=None)
    model, spec = open_model(tmp_path / "m.pt"), f"marvin_linzen:{view}"
    report = verify_run(part(spec, by=model), suite=spec, model=model, share=1.0)
    assert report.ok, report
    assert report.checks[-1].level == "rerun"
    assert "at most 1.0000" in report.checks[2].found  # the two answers have the whole probability


@pytest.fixture
def part(model, tmp_path):
    """Return a function that runs part of one case, or the part that a test makes of it."""

    def run(spec="marvin_linzen", change=lambda suite: suite, by=None, **how):
        evaluate(by or model, change(load_suite(spec, cases=CASE, **how)), out=tmp_path / "run")
        return tmp_path / "run"

    return run


@pytest.mark.parametrize("view", ["profile", "judgement_both"])
def test_a_part_of_a_view_with_several_rows_for_an_item_holds(part, view):
    report = verify_run(part(f"marvin_linzen:{view}", limit=20), suite=f"marvin_linzen:{view}")
    assert report.ok, report


@pytest.mark.parametrize(("sample", "seed"), [(9, -5), (9, 12345678901), (10**6, 0)])
def test_drawn_items_are_drawn_again(part, sample, seed):
    report = verify_run(part(sample=sample, seed=seed))
    assert report.ok, report


@pytest.mark.parametrize("how", [{}, {"limit": 9}, {"sample": 9}])
def test_judged_sentences_are_chosen_again_by_their_seed(part, how):
    spec = "marvin_linzen:judgement"
    assert load_suite(spec, cases=CASE, seed=7, **how).digest != load_suite(spec, cases=CASE, **how).digest
    run = part(spec, seed=7, **how)
    report = verify_run(run, suite=spec)
    assert report.ok, report
    edit_json(run / "manifest.json", lambda manifest: manifest["suite"].update(seed=8))
    wrong_at(verify_run(run, suite=spec), "whole")


def test_a_seed_that_chose_nothing_is_not_stated(part):
    report = verify_run(part(change=lambda suite: replace(suite, seed=7), limit=9))
    assert not report.ok
    assert (
        "the key `suite.seed` is 7, but no sentences of the suite marvin_linzen are chosen at random"
        in report.checks[-1].found
    )


def first_items(said):
    """Return a change that takes the first items of a suite and records `said` as its sample."""

    def change(suite):
        cases = tuple(case.take(list(range(9))) for case in suite.cases)
        whole = suite_digest(suite.terminator, cases)
        return replace(suite, cases=cases, digest=whole, complete=False, sample=said)

    return change


@pytest.mark.parametrize("said", ["9 of each case, seed 0", "at random", "9 of each case, seed x"])
def test_chosen_items_are_not_drawn_ones(part, model, said):
    report = verify_run(part(change=first_items(said)), model=model, share=1.0)
    assert f"the key `suite.sample` is {said!r}" in wrong_at(report, "recomputed")


def test_how_many_items_there_are_is_no_free_text(part):
    run = part(limit=9)
    with_key(run, lambda key: key.update(items="all that are of interest"))
    seal_anew(run)
    print_anew(run)
    assert "the key `key.items` is 'all that are of interest'" in verify_run(run).checks[-1].found


def test_a_part_that_nothing_is_said_of_is_said_to_be_one(part):
    report = verify_run(part(change=first_items(None)))
    assert report.ok, report
    assert "only 9 items of the suite" in report.checks[1].found
