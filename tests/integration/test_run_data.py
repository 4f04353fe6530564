"""`tseval run` on suites that are data."""

import csv
import gzip
import json

import numpy as np
import pytest
from in_process import call, refused, succeeded
from scipy.optimize import brentq
from scipy.stats import t as student
from supplied import AGREEMENT

import tseval
from tseval.runs import read_run
from tseval.suites import load_suite


def run(*arguments, cwd):
    return call("run", "--model", "bundled:lstm", "--out", "run", "--quiet", *arguments, cwd=cwd)


@pytest.fixture
def pairs(tmp_path):
    records = [
        {"good": "The author laughs.", "bad": "The author laugh.", "number": "sing"},
        {"good": "The authors laugh.", "bad": "The authors laughs.", "number": "plur"},
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return tmp_path


def test_tokenised_pairs_score_as_their_tokens_do(pairs):
    result = succeeded(run("--suite", "pairs.jsonl", "--tokenise", "--by", "number", cwd=pairs))
    assert "pairs, number plur" in result.stdout
    model = tseval.load_model("bundled:lstm")
    same = [{"good": "the author laughs .", "bad": "the author laugh ."},
            {"good": "the authors laugh .", "bad": "the authors laughs ."}]  # fmt: skip
    (pairs / "same.jsonl").write_text("".join(json.dumps(record) + "\n" for record in same))
    expected = tseval.evaluate(model, load_suite(pairs / "same.jsonl")).verdicts
    found = read_run(pairs / "run").verdicts
    for name in ("better_score", "worse_score", "correct"):
        assert found[name].tolist() == expected[name].tolist()


def test_untokenised_pairs_are_undecidable_to_a_word_level_model(pairs):
    # It has never seen the word `laugh.`; two sentences that look alike decide nothing.
    succeeded(run("--suite", "pairs.jsonl", cwd=pairs))
    assert read_run(pairs / "run").verdicts["undecidable"].all()


def test_two_prefixes_are_compared_by_the_word_after_them_and_a_run_says_so(tmp_path):
    good, bad, word = "the author near the guards", "the authors near the guards", "laughs"
    record = {
        "UID": "made_up", "pairID": "7", "field": "morphology", "linguistics_term": "binding",
        "sentence_good": f"{good} {word}", "sentence_bad": f"{bad} {word}", "two_prefix_method": True,
        "two_prefix_prefix_good": good, "two_prefix_prefix_bad": bad, "two_prefix_word": word,
    }  # fmt: skip
    (tmp_path / "blimp.jsonl").write_text(json.dumps(record))
    succeeded(run("--suite", "blimp.jsonl:two_prefix", cwd=tmp_path))
    result = read_run(tmp_path / "run")
    assert "|score:ending|" in result.manifest.signature
    # The word given each prefix: the whole less the prefix, each scored by itself.
    lines = [f"{good} {word}\t{good}", f"{bad} {word}\t{bad}"]
    (tmp_path / "parts.tsv").write_text("\n".join(["good\tbad", *lines]))
    parts = tseval.evaluate(tseval.load_model("bundled:lstm"), load_suite(tmp_path / "parts.tsv")).verdicts
    expected = (parts["better_score"] - parts["worse_score"]).tolist()
    (verdict,) = result.verdicts[["better_score", "worse_score"]].to_numpy().tolist()
    assert verdict == pytest.approx(expected, abs=1e-4)


def test_a_score_that_the_data_does_not_allow_is_refused(pairs):
    result = refused(run("--suite", "pairs.jsonl", "--score", "ending", cwd=pairs))
    assert "does not say how long the endings are" in result.stderr
    assert not (pairs / "run").exists()  # told before anything was scored


def test_a_column_that_items_share_is_kept_with_the_run(pairs):
    result = succeeded(
        run("--suite", "pairs.jsonl", "--cluster", "number", "--by", "number.entry", cwd=pairs)
    )
    assert "pairs, number.entry plur" in result.stdout
    found = read_run(pairs / "run")
    assert found.verdicts["number.entry"].tolist() == ["sing", "plur"]
    assert found.manifest.suite.digest == load_suite(pairs / "pairs.jsonl").digest
    ended = call("analyze", "pairwise", "run", "--where", "number.entry=dual", cwd=pairs)
    assert "no item has number.entry 'dual'.\n  Values: plur, sing." in ended.stderr


def test_a_column_that_is_not_there_is_refused_before_anything_is_scored(pairs):
    result = refused(run("--suite", "pairs.jsonl", "--cluster", "numbr", cwd=pairs))
    assert result.stderr.endswith(
        "the suite 'pairs' has no column 'numbr' to cluster its items by.\n"
        "  Did you mean 'number'? Columns: number.\n"
    )
    assert not (pairs / "run").exists()


@pytest.mark.parametrize(
    ("first", "then", "scored"),
    [([], ["--cluster", "number"], "without"), (["--cluster", "number"], [], "with")],
)
def test_a_complete_run_is_not_taken_for_one_with_other_columns(pairs, first, then, scored):
    succeeded(run("--suite", "pairs.jsonl", *first, cwd=pairs))
    succeeded(run("--suite", "pairs.jsonl", "--resume", *first, cwd=pairs))
    result = refused(run("--suite", "pairs.jsonl", "--resume", *then, cwd=pairs))
    assert result.stderr.endswith(
        f"run is complete, and was scored {scored} --cluster number.\n"
        "  Score it again into another directory, without --resume.\n"
    )


def test_the_interval_on_running_text_is_that_of_an_independent_computation(tmp_path):
    """Half of the verbs are *be*; CR2 of Bell & McCaffrey and its degrees of freedom by whole matrices."""
    options = "--model", "bundled:lstm", "--suite", AGREEMENT, "--case", "test", "--out", "run"
    printed = succeeded(call("run", *options, cwd=tmp_path)).stdout
    (told,) = json.loads(call("table", "run", "--format", "json", cwd=tmp_path).stdout)["rows"]
    with gzip.open(AGREEMENT, "rt", newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            if row["split"] == "test"
        ]
    scored = read_run(tmp_path / "run").verdicts
    known = [i for i, gone in enumerate(scored["undecidable"]) if not gone]
    assert 400 < len(known) < len(rows) == len(scored)
    right = np.array([scored["better_score"][i] > scored["worse_score"][i] for i in known], float)
    n, p = len(right), right.mean()
    forms = {"sing": "verb_form", "plur": "opp_verb_form"}
    verb = [rows[i][forms[rows[i]["number"]]].lower() for i in known]
    sentence = [rows[i]["sentence"] for i in known]
    independent, variance, df = ((right - p) ** 2).sum() / (n - 1) / n, 0.0, []
    for sign, cell in ((1, verb), (1, sentence), (-1, list(zip(verb, sentence, strict=True)))):
        member = np.array([[one == name for one in cell] for name in dict.fromkeys(cell)], float)
        scaled = member / np.sqrt(1 - member.sum(axis=1) / n)[:, None] / n
        variance += sign * ((scaled @ (right - p)) ** 2).sum()
        covariance = scaled @ (np.eye(n) - 1 / n) @ scaled.T
        df += [np.trace(covariance) ** 2 / (covariance**2).sum()] if sign > 0 else []
    variance, quantile = max(variance, independent), student.ppf(0.975, min(df))

    def far(share):
        return abs(p - share) - quantile * np.sqrt(share * (1 - share) * variance / (p * (1 - p)))

    expected = [p, np.sqrt(variance), brentq(far, 1e-9, p), brentq(far, p, 1 - 1e-9), min(df)]
    assert [told[name] for name in ("accuracy", "se", "low", "high", "df")] == pytest.approx(
        expected, abs=1e-6
    )
    assert f"{expected[2]:.3f} to {expected[3]:.3f}" in printed
    assert min(df) < 3  # of 79 verbs
