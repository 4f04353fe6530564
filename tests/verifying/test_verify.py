"""Verification: an honest run holds, and every forgery is found at the level that can see it."""

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch
from forged import edit_json, print_anew, seal_anew
from in_process import call
from own_models import WORDS

from tseval.adapters import open_model
from tseval.evaluation import evaluate
from tseval.items import ENTRY, as_entries, cluster_by, suite_digest
from tseval.models import Vocabulary
from tseval.models.checkpoint import save_checkpoint
from tseval.models.network import Classifier, LanguageModel, Sizes
from tseval.report import Format, build_table, render
from tseval.runs import Run, read_run
from tseval.runs.directory import digest, read_intact, to_parquet
from tseval.runs.manifest import RunKey, count_sentences, count_verdicts, dump_manifest, seal
from tseval.suites import load_suite
from tseval.suites.formal.languages import parse_language
from tseval.verdicts import judge, sentences_of
from tseval.verifying import verify_run
from tseval.verifying.claim import claim_of_run
from tseval.verifying.rescore import chosen

FORMS: dict[str, Format] = {"table.md": "md", "table.csv": "csv"}
CASES = ["simple_agrmt", "simple_npi_anim", "reflexive_sent_comp"]


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
    """Write a run that is whole in every digest and count, with other sentences, verdicts or tables."""

    def forged(*, sentences=None, verdicts=None, tables=True, **changes):
        path = tmp_path / "forged"
        shutil.copytree(honest, path)
        run = read_run(honest)
        scored = run.load_sentences() if sentences is None else sentences
        judged = run.load_verdicts() if verdicts is None else verdicts
        counts = replace(run.manifest.counts, **count_sentences(scored), **count_verdicts(judged))
        manifest = replace(run.manifest, counts=counts, **changes)
        shown = Run(run.name, manifest, lambda: scored, lambda: judged)
        contents = {"sentences.parquet": to_parquet(scored), "verdicts.parquet": to_parquet(judged)}
        for name, form in FORMS.items():
            again = render(build_table([shown]), form).encode()
            contents[name] = again if tables else read_intact(honest, run.manifest.files, name)
        for name, content in contents.items():
            (path / name).write_bytes(content)
        files = {name: digest(content) for name, content in contents.items()}
        (path / "manifest.json").write_bytes(dump_manifest(manifest.sealed(files)))
        return path

    return forged


def changed(scored, edit):
    """Edit the log-probabilities of words, (words,), and let the sums follow."""
    lengths = pc.list_value_length(scored["words"]).to_numpy()
    words = pc.list_flatten(scored["words"]).to_numpy().copy()
    edit(words, np.cumsum(lengths) - lengths)
    sums = np.add.reduceat(words.astype(np.float64), np.cumsum(lengths) - lengths)
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, pa.array(words, pa.float32()))
    scored = scored.set_column(scored.column_names.index("logprob"), "logprob", pa.array(sums))
    return scored.set_column(scored.column_names.index("words"), "words", lists)


def levels(report):
    return [(check.level, check.ok) for check in report.checks]


def wrong_at(report, level):
    """The message of the only level that is wrong, which is the last."""
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


def test_a_run_with_corrected_words_holds_too_and_a_sentence_of_other_pieces_does_not(tmp_path):
    from checkpoints import save_causal  # noqa: PLC0415 - takes seconds

    model = open_model(f"hf:{save_causal(tmp_path / 'gpt2')}")
    suite = load_suite("marvin_linzen", cases=CASES[:1], limit=10)
    evaluate(model, suite, score="critical", out=tmp_path / "run")
    assert verify_run(tmp_path / "run", model=model, share=1.0).level == "rerun"
    run = read_run(tmp_path / "run")
    scored = run.load_sentences()
    moved = pa.array([[value - 1 for value in row] for row in scored["pieces"].to_pylist()])
    sums = [np.add.reduceat(np.array(row, "f4").astype("f8"), [0])[0] for row in moved.to_pylist()]
    scored = scored.set_column(scored.column_names.index("logprob"), "logprob", pa.array(sums))
    place = scored.column_names.index("pieces")
    content = to_parquet(scored.set_column(place, "pieces", moved.cast(scored["pieces"].type)))
    (tmp_path / "run" / "sentences.parquet").write_bytes(content)
    files = dict(run.manifest.files) | {"sentences.parquet": digest(content)}
    (tmp_path / "run" / "manifest.json").write_bytes(dump_manifest(run.manifest.sealed(files)))
    report = verify_run(tmp_path / "run", model=model, share=1.0)
    assert "is claimed" in wrong_at(report, "rerun")


def test_nothing_is_taken_from_the_cache_of_suites(honest, monkeypatch):
    def poisoned(*_):
        raise AssertionError("the cache was read")

    monkeypatch.setattr("tseval.suites.open_regular", poisoned)
    assert verify_run(honest).ok


def test_a_run_of_other_numbers_that_agrees_with_itself_is_honest_too(forge):
    # What `forge` writes is whole, and what is changed below is the only thing that is wrong.
    assert verify_run(forge()).ok


def test_verdicts_that_are_all_correct_do_not_follow(honest, forge):
    verdicts = read_run(honest).load_verdicts()
    place = verdicts.column_names.index("correct")
    all_correct = verdicts.set_column(place, "correct", pa.array([True] * verdicts.num_rows))
    said = wrong_at(verify_run(forge(verdicts=all_correct)), "recomputed")
    assert said.startswith("verdicts: correct of ")
    assert "is True, but False follows" in said


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda v: v.slice(0, v.num_rows - 1), "verdicts, but"),
        (lambda v: pa.concat_tables([v, v]), "verdicts, but"),
        (lambda v: v.drop_columns(["number"]) if "number" in v.column_names else v.drop_columns(
            [v.column_names[-1]]), "the verdicts have no column"),
        (lambda v: v.append_column("more", v["item"]), "the verdicts have a column 'more'"),
        (lambda v: v.set_column(v.column_names.index("construction"), "construction",
                                pa.array(["Easy"] * v.num_rows)), "construction of"),
        (lambda v: v.set_column(v.column_names.index("better_score"), "better_score",
                                pc.add(v["better_score"], 1e-9)), "better_score of"),
    ],
)  # fmt: skip
def test_verdicts_of_another_shape_do_not_follow(honest, forge, edit, said):
    path = forge(verdicts=edit(read_run(honest).load_verdicts()), tables=False)
    report = verify_run(path)
    # Counts of items that contradict the manifest are found before anything is computed.
    assert said in report.checks[-1].found or "was edited: counts" in report.checks[-1].found
    assert not report.ok


def without_entries(verdicts):
    stripped = verdicts.drop_columns([name for name in verdicts.column_names if name.endswith(ENTRY)])
    assert stripped.num_columns < verdicts.num_columns
    return stripped


def reseal(path, edit):
    """Edit the JSON of a manifest, and seal it anew."""
    content = json.loads((path / "manifest.json").read_text())
    edit(content)
    content["seal"] = asdict(seal(content))
    (path / "manifest.json").write_text(json.dumps(content))


def test_a_run_from_before_lexical_factors_holds_without_them_and_it_is_said(honest, forge):
    path = forge(verdicts=without_entries(read_run(honest).load_verdicts()))
    reseal(path, lambda manifest: manifest["suite"].pop("clusters"))
    report = verify_run(path)
    assert report.ok
    assert report.checks[1].found.endswith("; what items share is not said, as in old runs")
    assert "is not said" not in str(verify_run(honest))


def test_a_run_that_is_not_old_and_whose_entries_were_stripped_is_found(honest, forge):
    path = forge(verdicts=without_entries(read_run(honest).load_verdicts()))
    said = wrong_at(verify_run(path), "recomputed")
    assert said == "the verdicts have no column 'subject.entry'"


def test_a_run_without_a_record_of_clusters_is_held_to_the_entries_it_has(honest, forge):
    verdicts = read_run(honest).load_verdicts()
    path = forge(verdicts=verdicts)
    reseal(path, lambda manifest: manifest["suite"].pop("clusters"))
    assert verify_run(path).ok
    shutil.rmtree(path)
    path = forge(verdicts=verdicts.drop_columns(["verb.entry"]))
    reseal(path, lambda manifest: manifest["suite"].pop("clusters"))
    assert wrong_at(verify_run(path), "recomputed") == "the verdicts have no column 'verb.entry'"


def test_entries_that_are_not_those_of_the_items_are_found(honest, forge):
    verdicts = read_run(honest).load_verdicts()
    place, other = verdicts.column_names.index("verb.entry"), as_entries(["laughs"] * verdicts.num_rows)
    said = wrong_at(verify_run(forge(verdicts=verdicts.set_column(place, "verb.entry", other))), "recomputed")
    assert said.startswith("verdicts: verb.entry of ")


def test_a_factor_that_neither_suite_nor_data_have_is_found(honest, forge):
    verdicts = read_run(honest).load_verdicts()
    noise = as_entries([f"word {row}" for row in range(verdicts.num_rows)])
    said = wrong_at(verify_run(forge(verdicts=verdicts.append_column("noise.entry", noise))), "recomputed")
    assert said == "the verdicts have a column 'noise.entry' that the suite does not know"


def test_columns_that_a_user_named_follow_from_the_data(model, tmp_path):
    rows = ("good\tbad\tverb", "he laughs\the laugh\tlaugh", "he swims\the swim\tswim")
    (tmp_path / "pairs.tsv").write_text("\n".join(rows))
    suite = cluster_by(load_suite(tmp_path / "pairs.tsv"), ["verb"])
    evaluate(model, suite, out=tmp_path / "run")
    report = verify_run(tmp_path / "run", suite=str(tmp_path / "pairs.tsv"))
    assert report.ok


@pytest.fixture(scope="module")
def clustered(model, tmp_path_factory):
    """A run whose user named other columns than the suite does."""
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
        ([], "the verdicts have no column 'verb.entry'"),
        (["subject_number"], "the verdicts have a column 'subject.entry' that the suite does not know"),
        (["subject", "subject_number", "verb"], "the verdicts have no column 'verb.entry'"),
        (
            ["subject_numbr"],
            "suite.clusters: the suite 'marvin_linzen' has no column 'subject_numbr' "
            "to cluster its items by.",
        ),
    ],
)
def test_columns_that_were_not_those_named_are_found(clustered, tmp_path, claimed, said):
    shutil.copytree(clustered, tmp_path / "run")
    reseal(tmp_path / "run", lambda manifest: manifest["suite"].update(clusters=claimed))
    assert wrong_at(verify_run(tmp_path / "run"), "recomputed") == said


def test_entries_of_named_columns_that_were_stripped_are_found(clustered, forge):
    run = read_run(clustered)
    stripped = run.load_verdicts().drop_columns(["subject_number.entry"])
    said = wrong_at(verify_run(forge(verdicts=stripped, suite=run.manifest.suite)), "recomputed")
    assert said == "the verdicts have no column 'subject_number.entry'"


def test_entries_of_named_columns_that_were_changed_are_found(clustered, forge):
    run = read_run(clustered)
    place, other = run.load_verdicts().column_names.index("subject_number.entry"), ["sg"] * len(run.verdicts)
    verdicts = run.load_verdicts().set_column(place, "subject_number.entry", as_entries(other))
    said = wrong_at(verify_run(forge(verdicts=verdicts, suite=run.manifest.suite)), "recomputed")
    assert said.startswith("verdicts: subject_number.entry of ")


def test_a_table_that_says_something_else_is_found(honest, forge):
    path = forge()
    text = (path / "table.md").read_text().replace("0.", "1.", 1)
    (path / "table.md").write_text(text)
    manifest = read_run(honest).manifest
    files = {name: digest((path / name).read_bytes()) for name in manifest.files}
    (path / "manifest.json").write_bytes(dump_manifest(manifest.sealed(files)))
    assert wrong_at(verify_run(path), "recomputed") == "table.md is not the table of these verdicts"


def test_an_edited_file_is_not_whole(honest, tmp_path):
    for name in ("sentences.parquet", "verdicts.parquet", "table.md", "table.csv", "manifest.json"):
        path = tmp_path / name
        shutil.copytree(honest, path)
        content = bytearray((path / name).read_bytes())
        content[len(content) // 2] ^= 1
        (path / name).write_bytes(content)
        assert name in wrong_at(verify_run(path), "whole")


def test_sentences_of_another_suite_are_found(honest, forge):
    scored = read_run(honest).load_sentences()
    first, *others = scored["sentence"].to_pylist()
    texts = [first.replace(first.split()[0], "zebras"), *others]
    said = wrong_at(
        verify_run(forge(sentences=scored.set_column(0, "sentence", pa.array(texts)))), "recomputed"
    )
    assert "its sentences are not those of the suite: 'zebras " in said


def forged_numbers(honest, forge, edit):
    """A run whose verdicts follow from numbers that no model gave."""
    suite = load_suite("marvin_linzen", cases=CASES, limit=60)
    scored = changed(read_run(honest).load_sentences(), edit)
    return forge(sentences=scored, verdicts=judge(suite, scored))


def test_a_log_probability_above_zero_cannot_be(honest, forge):
    def edit(words, starts):
        words[starts[:]] = 0.5  # the first word of every sentence

    assert "a log-probability is 0.5, above 0" in wrong_at(
        verify_run(forged_numbers(honest, forge, edit)), "plausible"
    )


def test_what_may_follow_a_prefix_cannot_have_more_than_all(honest, forge):
    sentences = read_run(honest).load_sentences()["sentence"].to_pylist()
    heads = {" ".join(s.split()[:2]) for s in sentences}
    firsts = [s.split()[1] for s in sentences if s.split()[0] == "the"]
    assert len(set(firsts)) > 1

    def edit(words, starts):
        for start, sentence in zip(starts, sentences, strict=True):
            if sentence.split()[0] == "the":
                words[start + 1] = -0.1

    said = wrong_at(verify_run(forged_numbers(honest, forge, edit)), "plausible")
    assert said.startswith("what may follow 'the' has "), heads
    assert f"{len(set(firsts)) * np.exp(-0.1):.4g} of all probability" in said


def test_a_prefix_with_two_numbers_cannot_be(honest, forge):
    sentences = read_run(honest).load_sentences()["sentence"].to_pylist()
    second = next(i for i, s in enumerate(sentences[1:], 1) if s.split()[0] == sentences[i - 1].split()[0])

    def edit(words, starts):
        words[starts[second]] -= 0.01

    said = wrong_at(verify_run(forged_numbers(honest, forge, edit)), "plausible")
    assert "has two numbers, 0.01 nats apart" in said


def test_plausible_numbers_that_no_model_gave_are_found_by_asking(honest, forge, model):
    def edit(words, starts):
        words -= 0.01  # less probable, everywhere: nothing sums to more

    path = forged_numbers(honest, forge, edit)
    assert verify_run(path).ok
    said = wrong_at(verify_run(path, model=model, share=0.01), "rescored")
    assert "where" in said
    assert "is claimed" in said


def test_first_tokens_that_no_model_left_unscored_are_found(honest, forge):
    scored = read_run(honest).load_sentences()
    nothing = pa.array(np.zeros(scored.num_rows, dtype=np.int64))
    path = forge(sentences=scored.append_column("unscored", nothing))
    assert "of a model of kind 'native' have no pieces" in wrong_at(verify_run(path), "plausible")


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    from checkpoints import save_causal  # noqa: PLC0415 - takes seconds

    return f"hf:{save_causal(tmp_path_factory.mktemp('models') / 'gpt2')}"


def with_first_tokens(model, path, tokens):
    """Score some items, and say of their sentences, (sentences,), that these first tokens have no number."""
    evaluate(model, load_suite("marvin_linzen", cases=CASES[:1], limit=10), out=path)
    assert verify_run(path).ok
    run = read_run(path)
    scored = run.load_sentences()
    names = [name for name in scored.column_names if name != "unscored"]
    claimed = None if tokens is None else pa.array(tokens(scored), pa.int64())
    scored = (
        scored.select(names) if claimed is None else scored.select(names).append_column("unscored", claimed)
    )
    content = to_parquet(scored)
    (path / "sentences.parquet").write_bytes(content)
    files = dict(run.manifest.files) | {"sentences.parquet": digest(content)}
    (path / "manifest.json").write_bytes(dump_manifest(run.manifest.sealed(files)))
    return path


def authors_apart(scored):
    """Another first token in both sentences of some items, so that no verdict changes."""
    about_authors = pc.starts_with(scored["sentence"], "the author ").to_numpy()
    assert 0 < about_authors.sum() < len(about_authors)
    return scored["unscored"].to_numpy() + about_authors


@pytest.mark.parametrize(
    ("bos", "tokens", "found"),
    [
        ("true", lambda scored: np.zeros(scored.num_rows),
         "the protocol does not leave first tokens unscored"),
        ("false", None, "no column 'unscored' that names them"),
        ("false", authors_apart, "the first token of the word 'the' is "),
    ],
)  # fmt: skip
def test_first_tokens_that_no_model_of_pieces_left_unscored_are_found(causal, tmp_path, bos, tokens, found):
    path = with_first_tokens(open_model(causal, {"bos": bos}), tmp_path / "run", tokens)
    assert found in wrong_at(verify_run(path), "plausible")


def test_other_first_tokens_everywhere_are_found_by_asking(causal, tmp_path):
    model = open_model(causal, {"bos": "false"})
    path = with_first_tokens(model, tmp_path / "run", lambda scored: scored["unscored"].to_numpy() + 1)
    assert verify_run(path).ok
    said = wrong_at(verify_run(path, model=model, share=0.01), "rescored")
    assert said == "the first tokens that the model leaves unscored are not those of the claim"


def test_another_model_is_not_asked(honest, tmp_path):
    from own_models import open_own  # noqa: PLC0415 - brings torch along

    other = open_own("native lstm", tmp_path).model
    said = wrong_at(verify_run(honest, model=other), "rescored")
    assert said.startswith("this model, opened so, is not the one of the claim: ")
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


def tseval(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "tseval", *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        cwd=cwd,
    )


@pytest.mark.slow
def test_the_command_prints_levels_and_exits_with_what_it_found(honest, forge):
    good = tseval("verify", honest, "--model", "bundled:lstm", "--rescore", "all")
    assert good.returncode == 0, good.stderr
    assert [line.split()[0] for line in good.stdout.splitlines()[1:]] == [
        "whole", "recomputed", "plausible", "rerun"
    ]  # fmt: skip
    bad = tseval("verify", honest, forge(verdicts=read_run(honest).load_verdicts().slice(1)), "--json")
    assert bad.returncode == 1
    reports = json.loads(bad.stdout)
    assert [report["ok"] for report in reports] == [True, False]
    assert {"name", "what", "ok", "level", "checks"} == set(reports[0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "there is no run at 'nowhere'.\n  Name the directory of a run."),
        ([".", "--rescore", "1%"], "--rescore needs the model: name it with --model"),
        ([".", "--rescore", "1"], "'1' is no share: write 1%, 0.5% or all"),
        ([".", "--rescore", "0%"], "'0%' is no share: write 1%, 0.5% or all"),
        ([".", "--rescore", "nan%"], "'nan%' is no share: write 1%, 0.5% or all"),
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
    assert "Say where the suite of run is, as for tseval run: --suite" in done.stderr
    assert call("verify", tmp_path / "run", "--suite", pairs, cwd=tmp_path).returncode == 0


# Runs over a part of a suite, and of classifiers: honest ones hold, and chosen items are no random ones.
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


def chosen_of_parts(suite, rows, said):
    cases = tuple(case.take(rows) for case in suite.cases)
    return replace(
        suite, cases=cases, digest=suite_digest(suite.terminator, cases), complete=False, sample=said
    )


@pytest.mark.parametrize("said", ["9 of each case, seed 0", "at random", "9 of each case, seed x"])
def test_chosen_items_are_not_drawn_ones(lstm, tmp_path, said):
    suite = load_suite("marvin_linzen", cases=CASE)
    evaluate(lstm, chosen_of_parts(suite, list(range(9)), said), out=tmp_path / "run")
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
    evaluate(lstm, chosen_of_parts(suite, list(range(9)), None), out=tmp_path / "run")
    report = verify_run(tmp_path / "run")
    assert report.ok, report
    assert "only 9 items of the suite" in report.checks[1].found


# Runs whose model chooses inside strings: verified like any other, and forged choices are found.
SUITES = ["dyck(2,2,test=900,train=400)", "cross_serial(3,test=300)"]


@pytest.fixture(scope="module", params=SUITES)
def verified(request, tmp_path_factory):
    """A run on a formal language, its suite, and its model."""
    folder = tmp_path_factory.mktemp("choices")
    alphabet = parse_language(request.param).alphabet
    torch.manual_seed(1)
    network = LanguageModel(Sizes("lstm", len(alphabet) + 2, 8, 12, 1))
    words = Vocabulary(("<eos>", "<unk>", *alphabet), lowercase=False)
    save_checkpoint(folder / "m.pt", network, words, training={}, validation_perplexity=None)
    model = open_model(str(folder / "m.pt"))
    evaluate(model, load_suite(request.param), out=folder / "run")
    return folder / "run", request.param, model


def test_a_run_of_choices_holds_at_every_level(verified):
    run, suite, model = verified
    found = verify_run(run, suite=suite, model=model, share=1)
    assert found.ok, found
    assert [check.level for check in found.checks][-1] == "rerun"


def test_choices_that_are_all_right_do_not_follow(verified, tmp_path):
    run, suite, _ = verified
    opened = read_run(run)
    verdicts = opened.load_verdicts()
    place = verdicts.column_names.index("correct")
    verdicts = verdicts.set_column(place, "correct", pa.array([True] * verdicts.num_rows))
    assert pc.sum(opened.load_verdicts()["correct"]).as_py() < verdicts.num_rows
    forged = tmp_path / "forged"
    forged.mkdir()
    files = {name: (run / name).read_bytes() for name in opened.manifest.files}
    files["verdicts.parquet"] = to_parquet(verdicts)
    for name, content in files.items():
        (forged / name).write_bytes(content)
    counts = replace(opened.manifest.counts, **count_verdicts(verdicts))
    manifest = replace(opened.manifest, counts=counts, seal=None)
    sealed = manifest.sealed({name: digest(content) for name, content in files.items()})
    (forged / "manifest.json").write_bytes(dump_manifest(sealed))
    found = verify_run(forged, suite=suite)
    assert not found.ok
    assert "correct of" in found.checks[-1].found
    assert [check.level for check in found.checks] == ["whole", "recomputed"]
