"""Forgers who know how verification works: every known way around it is closed."""

import json
import re
import shutil
from dataclasses import asdict, replace
from importlib.metadata import version

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from forged import (
    edit_json,
    print_anew,
    put,
    rewrite_run,
    run_of_pairs,
    seal_anew,
    with_key,
    words_forged,
    write_table,
)
from in_process import call
from scipy.stats import binom

from tseval.adapters import open_model
from tseval.evaluation import evaluate
from tseval.formats import ContentError
from tseval.runs import read_run
from tseval.suites import find_suite, load_suite
from tseval.suites.cache import load_cached, save_suite, suite_key
from tseval.tables import read_parquet
from tseval.verdicts import judge
from tseval.verifying import verify_run
from tseval.verifying.claim import claim_of_run
from tseval.verifying.levels import CheckFailed
from tseval.verifying.plausible import check_plausible
from tseval.verifying.recomputed import recompute
from tseval.verifying.rescore import chosen

NOUNS = ("author", "guard", "chef", "pilot", "minister", "senator", "skater", "dancer")
VERBS = (("laughs", "laugh"), ("smiles", "smile"), ("swims", "swim"), ("is", "are"), ("has", "have"))


@pytest.fixture(scope="module")
def model():
    return open_model("bundled:lstm")


@pytest.fixture(scope="module")
def root(model, tmp_path_factory):
    root = tmp_path_factory.mktemp("forgers")
    run_of_pairs(root, model, NOUNS, VERBS)
    return root


@pytest.fixture
def run(root, tmp_path):
    shutil.copytree(root / "run", tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def verified(root):
    return lambda run, **how: verify_run(run, suite=str(root / "pairs.jsonl"), **how)


def wrong_at(report, level):
    assert [check.level for check in report.checks if not check.ok] == [level], report
    return report.checks[-1].found


# Choice of the sentences that the model scores again.
@pytest.mark.parametrize(("n", "share"), [(20, 0.01), (69, 0.01), (10, 0.1)])
def test_made_up_sentences_are_found_as_often_as_the_page_says(root, n, share):
    claim = claim_of_run(root / "run")
    sentences = pa.array([f"sentence {i} ." for i in range(300)])
    rng = np.random.default_rng(0)
    tries, caught = 400, 0
    for i in range(tries):
        key = replace(claim.key, suite_digest=f"{i % 7:064x}", fingerprint=f"{i % 11:064x}")
        of = replace(claim, manifest=replace(claim.manifest, key=key))
        forged = rng.choice(300, n, replace=False)
        rows = chosen(of, sentences, share, draw=str(i))
        # Verification always re-scores one sentence; in a suite as small as this, that exceeds the share.
        drawn_by_share = len(rows) > 1 or rng.random() < _alone(300, share)
        caught += bool(drawn_by_share and set(forged) & set(rows))
    low, high = binom.interval(0.999, tries, 1 - (1 - share) ** n)
    assert low <= caught <= high


def _alone(total, share):
    """Return how often a draw of one sentence comes from the share, and not from the minimum of one."""
    one, none = total * share * (1 - share) ** (total - 1), (1 - share) ** total
    return one / (one + none)


@pytest.mark.slow
def test_who_knows_one_draw_is_found_by_another(root, run, verified, model):
    """Forge all but the sentences of one draw, which anyone can compute who knows the draw."""
    claim = claim_of_run(run)
    spared = set(chosen(claim, claim.sentences, 0.1, "known").tolist())
    suite = load_suite(root / "pairs.jsonl")

    def edit(words):
        for row, of in enumerate(words):
            if row not in spared:
                of[-1] -= 0.5

    words_forged(run, suite, edit)
    seal_anew(run)
    assert verified(run, model=model, share=0.1, draw="known").ok
    found = [verified(run, model=model, share=0.1, draw=f"another {i}").ok for i in range(5)]
    assert not any(found)
    again = ("verify", run, "--suite", root / "pairs.jsonl", "--model", "bundled:lstm", "--rescore", "10%")
    assert call(*again, "--draw", "known").returncode == 0
    ended = call(*again)
    assert ended.returncode == 1
    assert "but the run states" in ended.stdout


def test_every_verification_draws_anew_and_says_what(root, model, verified):
    found = [verified(root / "run", model=model).checks[-1].found for _ in range(3)]
    assert len({re.search(r"drawn by (\w+)$", one)[1] for one in found}) == 3
    ended = call("verify", root / "run", "--draw", "x")
    assert (ended.returncode, ended.stderr) == (
        2,
        (
            "tseval: --draw is about scoring sentences again, which needs the model of the run. Add --model "
            "MODEL.\n"
        ),
    )


@pytest.mark.slow
def test_numbers_within_last_bits_that_all_favour_the_claim_are_found_by_asking_for_all(tmp_path):
    from checkpoints import save_causal  # noqa: PLC0415 - takes seconds

    model = open_model(f"hf:{save_causal(tmp_path / 'gpt2')}", {"dtype": "bfloat16"})
    suite = load_suite("marvin_linzen", cases="simple_agrmt")
    run = tmp_path / "run"
    evaluate(model, suite, out=run)
    assert verify_run(run, model=model, share=1.0).ok
    good = set(suite.cases[0].sentences["grammatical"].to_pylist())
    texts = pc.replace_substring_regex(read_run(run).load_sentences()["sentence"], r" \.$", "").to_pylist()

    def edit(words):
        for text, of in zip(texts, words, strict=True):
            for place in range(2, len(of)):  # from the word in which the sentences of a pair differ
                of[place] = min(of[place] + (0.2 if text in good else -0.2), 0)

    words_forged(run, suite, edit)
    seal_anew(run)
    report = verify_run(run, model=model, share=0.03)  # each change is within the model's own noise
    assert report.ok, str(report)
    assert re.search(r": its measured noise is up to [\d.]+\); [\d,]+ verdicts differ", str(report))
    said = wrong_at(verify_run(run, model=model, share=1.0), "rerun")
    assert "more correct verdicts than the new scores give: rounding alone would not favour the run" in said


# Content of evidence.
def hide_words(words):
    return [[None] * len(of) for of in words]


def hide_nouns(seen):
    return [text.replace("author", "<unk>").replace("guard", "<unk>") for text in seen]


@pytest.mark.parametrize(
    ("column", "edit", "said"),
    [
        ("words", hide_words, "a model of kind 'native' gives one for each word"),
        # If two words look like one to the model, differences in the words after them are hidden.
        ("seen", hide_nouns, "has two different log-probabilities"),
    ],
)
def test_what_is_hidden_in_evidence_is_found(root, run, verified, column, edit, said):
    opened = read_run(run)
    scored = opened.load_sentences()
    scored = put(scored, column, edit(scored[column].to_pylist()))
    rewrite_run(run, opened, scored, judge(load_suite(root / "pairs.jsonl"), scored))
    seal_anew(run)
    assert said in wrong_at(verified(run), "plausible")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("pieces", 1.0, "a log-probability in 'pieces' is 1.0, above 0"),
        ("wrong", np.inf, "a log-probability in 'wrong' is infinite or not a number"),
    ],
)
def test_every_number_of_evidence_is_looked_at(root, name, value, said):
    claim = claim_of_run(root / "run")
    again = recompute(claim, str(root / "pairs.jsonl"))
    table = claim.evidence.table
    forged = table.append_column(name, pa.array([value] + [-1.0] * (table.num_rows - 1)))
    with pytest.raises(CheckFailed, match=re.escape(said)):
        check_plausible(replace(claim, evidence=replace(claim.evidence, table=forged)), again)


# Other files in a run.
def test_notes_of_pandas_do_not_rename_columns(root, run, verified):
    table = read_run(run).load_verdicts()
    honest = read_run(run).table()
    columns = [{"name": new, "field_name": old, "pandas_type": "bool", "numpy_type": "bool", "metadata": None}
               for old, new in (("correct", "undecidable"), ("undecidable", "correct"))]  # fmt: skip
    notes = {"index_columns": [], "column_indexes": [], "columns": columns, "pandas_version": "2.0"}
    forged = table.replace_schema_metadata({b"pandas": json.dumps(notes).encode()})
    assert forged.to_pandas()["correct"].tolist() != table["correct"].to_pylist()  # the effect of the forgery
    write_table(run, "verdicts", forged)
    seal_anew(run)
    assert verified(run).ok
    assert read_run(run).table().equals(honest)


@pytest.mark.parametrize("column", ["case", "words.of.it"])
def test_a_text_that_is_written_out_a_thousandfold_is_refused(column):
    cells = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array(["x" * 100_000]))
    for cell, keep in ((cells, True), (cells, False)):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({column: cell}), sink, compression="zstd", store_schema=keep)
        with pytest.raises(ContentError, match="the table has texts of more than 1,000,000,000 bytes"):
            read_parquet(sink.getvalue().to_pybytes(), {})


def test_a_feature_of_another_type_is_no_traceback(run, verified):
    table = read_run(run).load_verdicts()
    write_table(run, "verdicts", table.set_column(
        table.column_names.index("item"), "item", pc.cast(table["item"], pa.int8())))  # fmt: skip
    more = table.append_column("verb.entry", pa.array(["x"] * table.num_rows).dictionary_encode())
    seal_anew(run)
    assert verified(run).ok  # the same integers
    write_table(run, "verdicts", more)
    seal_anew(run)
    assert "'verb.entry', which is not a feature of the suite" in wrong_at(verified(run), "recomputed")


def names_a_file_elsewhere(text):
    manifest = json.loads(text)
    manifest["files"]["../../secret"] = "0" * 64
    return json.dumps(manifest | {"seal": None})


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (names_a_file_elsewhere, (r"^manifest\.json has a digest for '\.\./\.\./secret', but a run has no "
                                  r"such")),
        (lambda text: text.replace('"correct"', '"correct": 0,\n    "correct"', 1),
         "the key 'correct' appears twice in one object"),
    ],
)  # fmt: skip
def test_a_manifest_that_lists_what_is_elsewhere_or_says_one_thing_twice_is_refused(
    run, verified, edit, said
):
    (run / "manifest.json").write_text(edit((run / "manifest.json").read_text()))
    assert re.search(said, wrong_at(verified(run), "whole"))


def test_a_run_without_a_seal_is_said_to_have_none(run, verified):
    edit_json(run / "manifest.json", lambda manifest: manifest.update(seal=None))
    assert verified(run).checks[0].found == "manifest and 4 files; without a seal, as in old runs"


# Locations of files.
def test_a_claim_does_not_say_where_its_suite_is(root, run):
    for name in (str(root / "pairs.jsonl"), "../pairs.jsonl", ".."):
        with_key(run, lambda key, name=name: key.update(suite=name))
        seal_anew(run)
        print_anew(run)
        ended = call("verify", run, cwd=root)
        assert ended.returncode == 2
        assert "is the path of a suite, not its name" in ended.stderr
        assert "--suite" in ended.stderr


@pytest.mark.parametrize(
    ("score", "level", "said"),
    [
        (
            "best",
            "whole",
            "^manifest.json: the key `key.score` is 'best', but tseval knows no score with this name$",
        ),
        ("choices", "recomputed", "choices"),
    ],
)
def test_a_score_that_is_none_or_not_the_suites_is_wrong(run, verified, score, level, said):
    with_key(run, lambda key: key.update(score=score))
    seal_anew(run)
    assert re.search(said, wrong_at(verified(run), level))


@pytest.mark.slow
def test_a_forged_cache_of_suites_moves_no_verified_number(model, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mine").mkdir()
    for name in ("simple_agrmt.jinja", "lexicon.yaml"):
        shutil.copy(find_suite("marvin_linzen") / name, tmp_path / "mine" / name)
    evaluate(model, load_suite(tmp_path / "mine"), out=tmp_path / "run")
    before = verify_run(tmp_path / "run", suite=str(tmp_path / "mine"))
    assert before.ok
    key = suite_key(tmp_path / "mine")
    cached = load_cached(key)
    assert cached is not None
    for seed in range(5):
        (case,) = cached.cases
        order = np.random.default_rng(seed).permutation(case.n_items)
        forged = replace(case, entries=case.entries.take(order), sentences=case.sentences.take(order))
        save_suite(replace(cached, cases=(forged,), title="forged"), key)
        assert load_cached(key).title == "forged"
        after = verify_run(tmp_path / "run", suite=str(tmp_path / "mine"))
        assert asdict(after) == asdict(before)


# Tables of another version.
def test_a_table_that_another_version_wrote_is_said_to_be_so(run, verified):
    here = version("tseval")
    (run / "table.md").write_text((run / "table.md").read_text().replace("Accuracy", "Correct"))
    seal_anew(run)
    assert (
        wrong_at(verified(run), "recomputed")
        == "table.md is not the table that tseval prints for these verdicts"
    )
    edit_json(run / "manifest.json", lambda manifest: manifest["versions"].update(tseval="0.0.9"))
    seal_anew(run)
    assert wrong_at(verified(run), "recomputed") == (
        f"table.md is not the table that tseval {here} prints for these verdicts. The manifest states that "
        "tseval 0.0.9 wrote it. To print the right table: tseval table RUN"
    )
