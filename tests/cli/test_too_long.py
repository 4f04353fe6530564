"""Sentences longer than a model's context: their items are undecidable and counted, or the run is refused."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from checkpoints import save_causal, save_masked
from in_process import call, refused, succeed, succeeded
from small import make_case, make_suite

import tseval
from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.report import build_table, render
from tseval.runs import Run, read_run
from tseval.runs.directory import digest, to_parquet
from tseval.runs.manifest import count_sentences, count_verdicts, dump_manifest
from tseval.verdicts import judge, sentences_of
from tseval.verifying import verify_run

LONG = "the author laughs . " * 40  # far more than 64 tokens in every tokenizer here
FITS = [("the authors laugh .", "the authors laughs ."), ("the author laughs .", "the author laugh .")]
SUITE = [FITS[0], (f"{LONG} one", f"{LONG} two"), FITS[1], ("the guard", f"{LONG} three")]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_causal(folder / "causal")
    save_masked(folder / "masked")
    return folder


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps({"good": good, "bad": bad}) + "\n" for good, bad in SUITE))
    return path


def run(models, pairs, *options, scheme="hf", folder="causal"):
    model = ["--model", f"{scheme}:{models / folder}"]
    return call("run", *model, "--suite", pairs, *options, cwd=pairs.parent)


@pytest.mark.parametrize(("scheme", "folder"), [("hf", "causal"), ("mlm", "masked")])
def test_what_is_too_long_is_undecidable_counted_and_said(models, pairs, scheme, folder):
    done = succeeded(run(models, pairs, "--out", "run", scheme=scheme, folder=folder))
    assert f"- {folder}: 0 of 4 contrasts are ties (counted as wrong), 2 are undecidable" in done.stdout
    assert (
        f"- {folder}: 2 of the undecidable contrasts have a sentence longer than the model's context."
        in done.stdout
    )
    warned = f"3 sentences are longer than {folder} reads, the first '{LONG[:40]}…'"
    assert f"- {folder}: {warned}: 2 contrasts undecidable.\n" in done.stdout
    assert f"warning: {warned}: 2 contrasts undecidable\n" in done.stderr
    finished = read_run(pairs.parent / "run")
    counts = finished.manifest.counts
    assert (counts.items, counts.sentences, counts.undecidable, counts.too_long) == (4, 5, 2, 2)
    assert finished.verdicts["undecidable"].tolist() == [False, True, False, True]
    assert finished.verdicts["better_score"].isna().tolist() == [False, True, False, True]
    assert not finished.verdicts["correct"][[1, 3]].any()


@pytest.mark.parametrize("score", ["sentence", "critical", "mean"])
def test_the_other_items_are_decided_as_without_them(models, score):
    model = open_model(f"hf:{models / 'causal'}")
    with_long = tseval.evaluate(model, make_suite(make_case("a", SUITE)), score=score).verdicts
    without = tseval.evaluate(model, make_suite(make_case("a", [SUITE[0], SUITE[2]])), score=score).verdicts
    scores = ["better_score", "worse_score"]
    np.testing.assert_allclose(with_long.loc[[0, 2], scores], without[scores], atol=1e-5)


def test_an_item_is_left_out_whole(models):
    labels = ("grammatical", "intrusive", "ungrammatical")
    rows = [("the author", "the guard", f"{LONG} one"), ("the author", "the guard", "the pilots")]
    suite = make_suite(make_case("npi", rows, labels=labels, contrasts=[labels[:2], labels[1:]]))
    found = tseval.evaluate(open_model(f"hf:{models / 'causal'}"), suite)
    assert found.verdicts["undecidable"].tolist() == [True, False, True, False]


def test_predictions_on_regions_are_undecidable_too(models, tmp_path):
    def item(number, verb):
        conditions = [
            {"condition_name": name, "regions": [{"region_number": 1, "content": f"the author {text}"}]}
            for name, text in (("match", verb), ("mismatch", "laugh ."))
        ]
        return {"item_number": number, "conditions": conditions}

    content = {
        "meta": {"name": "s", "metric": "mean"},
        "predictions": [{"formula": "(*;%match%) < (*;%mismatch%)"}, {"formula": "(1;%match%) > 0"}],
        "items": [item(1, LONG.strip()), item(2, "laughs .")],
    }
    (tmp_path / "s.json").write_text(json.dumps(content))
    found = tseval.evaluate(open_model(f"hf:{models / 'causal'}"), tseval.load_suite(tmp_path / "s.json"))
    assert found.verdicts["undecidable"].tolist() == [True, False] * 3


def test_refuse_refuses_in_one_message_before_anything_is_written(models, pairs):
    done = refused(run(models, pairs, "--too-long", "refuse", "--out", "run"))
    assert done.stderr == (
        f"tseval: 3 sentences are longer than causal reads, the first '{LONG[:40]}…'.\n"
        "  To count the pairs with these sentences as undecidable, write --too-long skip\n"
    )
    assert not (pairs.parent / "run").exists()


def test_a_suite_of_which_nothing_is_left_is_refused(models):
    model = open_model(f"hf:{models / 'causal'}")
    suite = make_suite(make_case("a", [(f"{LONG} one", f"{LONG} two")]))
    with pytest.raises(ModelError, match=r"2 sentences are longer than .*\n  Use a model that reads longer"):
        tseval.evaluate(model, suite)


@pytest.mark.parametrize(
    ("spec", "bos"), [("hf:{}/causal", {}), ("hf:{}/causal", {"bos": "false"}), ("mlm:{}/masked", {})]
)
def test_lengths_are_those_that_the_model_is_held_to(models, spec, bos):
    model: Any = open_model(spec.format(models), bos)
    draw = np.random.default_rng(0)
    words = ["the", "author", "laughs", "zzzz", "Müller", "\u4e2d\u6587", "\ufdfa", "."]
    texts = [" ".join(draw.choice(words, n)) for n in range(1, 90)]
    found = model.too_long(pa.array(texts))
    assert 0 < found.sum() < len(texts)
    for text in pa.array(texts).filter(pa.array(~found)):
        model.encode(pa.array([text]))
    for text in pa.array(texts).filter(pa.array(found)):
        with pytest.raises(ModelError, match="but the model reads at most 64"):
            model.encode(pa.array([text]))


def test_an_adapter_that_tells_of_too_few_sentences_is_refused(models):
    class Short:
        card = tseval.ModelCard("short", "test", "0" * 64, {}, {})

        def word_logprobs(self, sentences):
            return [[-1.0] * len(text.split()) for text in sentences]

        def too_long(self, sentences):
            return [False]

    with pytest.raises(
        ModelError,
        match=r"the method `too_long` of short returned an array of type bool and shape \(1,\), but",
    ):
        tseval.evaluate(Short(), make_suite(make_case("a", FITS)))


@pytest.mark.slow
def test_a_pair_that_was_dropped_as_too_long_is_found_by_the_model(models, pairs):
    """The forged run is intact and consistent, but omits a sentence that the model can read."""
    succeeded(run(models, pairs, "--out", "run"))
    path, suite = pairs.parent / "run", tseval.load_suite(pairs)
    honest = read_run(path)
    scored = honest.load_sentences()
    scored = scored.filter(pc.not_equal(scored["sentence"], pa.scalar(FITS[1][1])))
    everything = sentences_of(suite)
    unread = everything.filter(pc.invert(pc.is_in(everything, value_set=scored["sentence"].combine_chunks())))
    verdicts = judge(suite, scored, "sentence", unread)
    counts = replace(
        honest.manifest.counts, too_long=3, **count_sentences(scored), **count_verdicts(verdicts)
    )
    forged = Run.of(replace(honest.manifest, counts=counts), scored, verdicts)
    contents = {"sentences.parquet": to_parquet(scored), "verdicts.parquet": to_parquet(verdicts)}
    contents |= {f"table.{form}": render(build_table([forged]), form).encode() for form in ("md", "csv")}
    for name, content in contents.items():
        (path / name).write_bytes(content)
    files = {name: digest(content) for name, content in contents.items()}
    (path / "manifest.json").write_bytes(dump_manifest(forged.manifest.sealed(files)))
    assert verify_run(path, suite=str(pairs)).ok
    (wrong,) = [
        check.found
        for check in verify_run(path, suite=str(pairs), model=open_model(f"hf:{models / 'causal'}")).checks
        if not check.ok
    ]
    assert wrong == (
        "the model can read 5 of the suite's sentences (3 are too long), but the run has scores for 4"
    )


@pytest.mark.slow
def test_a_board_takes_such_a_run_and_says_how_much_was_left_out(models, pairs):
    root = pairs.parent
    succeeded(run(models, pairs, "--out", "run"))
    succeed("board", "new", root / "board", "--suite", "../pairs.jsonl")
    succeed("board", "add", root / "board", root / "run")
    succeed("board", "write", root / "board")
    assert "no problems found" in succeed("board", "check", root / "board").stdout
    model = ("--model", f"hf:{models / 'causal'}", "--rescore", "all")
    asked = succeed("verify", root / "board/entries/causal", *model).stdout
    assert "4 verdicts (2 recorded as too long for the model), 1 row" in asked
    assert "5 of 5 sentences" in asked
    table = succeed("table", root / "board").stdout
    assert table.splitlines()[:6] == succeed("table", root / "run").stdout.splitlines()[:6]
