"""The confidence level: one option sets it for every interval, test and rank of a command."""

import json
import re

import numpy as np
import pytest
from drawn_items import design_of, draw_items
from in_process import call
from scipy.stats import binomtest
from scipy.stats import t as student
from small import write_verb_pairs

from tseval.analysis.correctness import Correctness
from tseval.analysis.differences import average, differences, judge_differences
from tseval.analysis.estimates import estimate
from tseval.analysis.intervals import at_confidence, confidence_level, quantile
from tseval.analysis.ranks import rank_models


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Make three runs of one model on 60 pairs: two with independent items, one clustered by verb."""
    folder = tmp_path_factory.mktemp("runs")
    write_verb_pairs(folder / "pairs.csv")
    for name, cluster in (
        ("lstm", ["--cluster", "none"]),
        ("lstm-2", ["--cluster", "none"]),
        ("clustered", []),
    ):
        ended = call(
            "run", "--model", "bundled:lstm", "--suite", "pairs.csv", *cluster, "--out", name, cwd=folder
        )
        assert ended.returncode == 0, ended.stderr
    return folder


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.99])
def test_quantiles_are_those_of_the_level(level):
    assert quantile(None) == 1.959963984540054
    with at_confidence(level):
        assert confidence_level() == level
        assert quantile(None) == pytest.approx(student.ppf((1 + level) / 2, 1e12), abs=1e-9)
        assert quantile(4.5) == pytest.approx(student.ppf((1 + level) / 2, 4.5), abs=1e-11)
    assert confidence_level() == 0.95


def test_an_accuracy_has_wilsons_interval_at_the_level():
    correct = np.arange(40) < 29
    with at_confidence(0.9):
        found = estimate(correct, np.ones(40, bool), design_of(np.zeros((40, 0), int)))
    expected = binomtest(29, 40).proportion_ci(0.9, method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_difference_and_its_word_follow_the_level():
    design = design_of(np.zeros((30, 0), int))
    better, worse = np.arange(30) < 20, np.arange(30) < 16
    both = np.stack([better, worse], axis=1)
    (usual,) = differences(both, design)
    with at_confidence(0.99):
        (wide,) = differences(both, design)
        (word,) = judge_differences([wide], 0.02)
    half = student.ppf(0.995, wide.df) * wide.se
    assert (wide.low, wide.high) == pytest.approx((wide.value - half, wide.value + half))
    # Its p is the same, between .01 and .05: a difference at 95%, none at 99%.
    assert wide.p == usual.p
    assert 0.01 < usual.p < 0.05
    assert (judge_differences([usual], 0.02)[0].word, word.word) == ("better", "undecided")


def test_a_mean_has_the_interval_of_the_t_test_at_the_level():
    values = np.random.default_rng(3).normal(0.3, 1, 25)
    with at_confidence(0.8):
        found = average(values, design_of(np.zeros((25, 0), int)))
    low, high = student.interval(0.8, 24, values.mean(), values.std(ddof=1) / 5)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_a_higher_level_leaves_more_ranks_possible():
    correct, codes = draw_items((14, 9, 6), (0.8, 0.5, 0.3))
    random = np.random.default_rng(0)
    design = design_of(codes)
    models = [
        Correctness(
            design.rows,
            design.factors,
            correct & (random.random(len(correct)) < share),
            np.ones(len(correct), bool),
        )
        for share in (1, 0.97, 0.9, 0.6)
    ]
    widths, rows = [], []
    for level in (0.5, 0.95, 0.999):
        with at_confidence(level):
            found = rank_models(models)
        widths.append(sum(found.overall.high) - sum(found.overall.low))
        rows.append(float((found.high - found.low).sum()))
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]
    assert rows == sorted(rows)


@pytest.mark.slow
def test_table_prints_intervals_at_the_level(runs):
    ended = call("table", "lstm", "--confidence", "0.9", cwd=runs)
    assert "90% interval" in ended.stdout
    assert "95%" not in ended.stdout
    told = json.loads(call("table", "lstm", "--confidence", "0.9", "--json", cwd=runs).stdout)
    assert told["confidence_level"] == 0.9
    (row,) = told["rows"]
    expected = binomtest(row["n_correct"], row["n_items"] - row["n_undecidable"]).proportion_ci(
        0.9, method="wilson"
    )
    assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert json.loads(call("table", "lstm", "--json", cwd=runs).stdout)["confidence_level"] == 0.95


@pytest.mark.parametrize(
    "command",
    [
        ("analyze", "rows", "lstm"),
        ("analyze", "pairwise", "lstm", "lstm-2"),
        ("analyze", "robustness", "clustered"),
        ("table", "lstm", "lstm-2", "--against", "lstm-2"),
        ("table", "lstm", "lstm-2"),
        ("cite", "lstm", "--intervals"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_no_output_mixes_two_levels(command, runs):
    printed = call(
        *command, "--confidence", "0.8", *(["--notes"] if command[0] != "cite" else []), cwd=runs
    ).stdout
    assert re.search(r"80\\?%", printed)
    assert not re.search(r"95\\?%", printed.replace("At 95% confidence,", ""))


def test_a_page_says_the_level(runs, tmp_path):
    page = tmp_path / "page.html"
    assert call("report", "lstm", "lstm-2", "-o", page, "--confidence", "0.9", cwd=runs).returncode == 0
    text = page.read_text("utf-8")
    assert 'data-confidence="90%"' in text
    assert "90% interval" in text
    assert "95%" not in text


@pytest.mark.parametrize(
    ("level", "fix"), [("90", "0.9"), ("1", "0.9"), ("0.4", "0.9"), ("nan", "0.9"), ("99.5", "0.995")]
)
def test_what_is_no_level_is_refused_with_the_line_to_type(level, fix, runs):
    ended = call("table", "lstm", "--confidence", level, cwd=runs)
    assert ended.returncode == 2
    assert f"--confidence: {level} is not a confidence level" in ended.stderr
    assert f"Write --confidence {fix}, for example." in ended.stderr
