"""`tseval gate`: exit codes, the statistical test, and the output on CI pages."""

import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from drawn_items import crossed
from in_process import call
from scipy import stats
from small import write_verb_pairs

from tseval.analysis.gate import ALL_ROWS, judged, row_drops

# One model knows which verbs take an s in both suites, the other guesses.
MODELS = """
import zlib
from tseval.scoring.protocol import ModelCard

class Model:
    def __init__(self, name, score):
        self.card, self.score = ModelCard(name, "test", name, {}, {}), score

    def sentence_logprobs(self, sentences):
        return [self.score(sentence) for sentence in sentences]

def knows():
    return Model("knows", lambda text: -1.0 - (text.split()[2].endswith("s") != text.startswith("the")))

def guesses():
    return Model("guesses", lambda text: -(zlib.crc32(text.encode()) % 1000) / 100 - 1)
"""


def verdicts(correct, row=None, decidable=None, **entries):
    """Make verdicts of items, of one row or of the named rows."""
    n = len(correct)
    frame = {
        "dependency": "short", "phenomenon": "P", "construction": row if row is not None else ["C"] * n,
        "contrast": "good > bad", "correct": correct,
        "undecidable": np.zeros(n, bool) if decidable is None else ~decidable, "tie": False,
    }  # fmt: skip
    return pd.DataFrame(frame | {f"{name}.entry": values for name, values in entries.items()})


def test_independent_items_have_the_p_of_the_paired_t_test():
    random = np.random.default_rng(1)
    old, new = random.random(400) < 0.8, random.random(400) < 0.7
    line = judged(row_drops(verdicts(old), verdicts(new), None, 0.02), 0.02).iloc[0]
    difference = new.astype(float) - old
    expected = stats.ttest_1samp(difference, -0.02, alternative="less")
    assert line["p_drop"] == pytest.approx(expected.pvalue, rel=1e-9)
    assert line["p_no_drop"] == pytest.approx(
        stats.ttest_1samp(difference, -0.02, alternative="greater").pvalue, rel=1e-9
    )
    assert (line["old"], line["new"], line["n_items"]) == (old.mean(), new.mean(), 400)
    # Bloom 1995: the margin and the sum of two t quantiles, in standard errors.
    se = difference.std(ddof=1) / 20
    assert line["detectable"] == pytest.approx(
        0.02 + se * (stats.t.ppf(0.95, 399) + stats.t.ppf(0.8, 399)), rel=1e-6
    )


def test_rows_are_corrected_by_holm_and_the_mean_alone():
    random = np.random.default_rng(2)
    rows = np.repeat(["A", "B", "C"], 300)
    old = random.random(900) < 0.9
    new = old & ~((rows == "A") & (random.random(900) < 0.12))
    lines = judged(row_drops(verdicts(old, rows), verdicts(new, rows), None, 0.0), 0.0)
    assert lines["construction"].tolist() == ["A", "B", "C", ALL_ROWS]
    assert lines["p_drop_holm"].iloc[:3].tolist() == pytest.approx(
        np.minimum(1, np.maximum.accumulate(np.sort(lines["p_drop"].iloc[:3]) * [3, 2, 1]))[
            np.argsort(np.argsort(lines["p_drop"].iloc[:3], kind="stable"), kind="stable")
        ].tolist()
    )
    assert lines["p_drop_holm"].iloc[3] == lines["p_drop"].iloc[3]
    assert lines["outcome"].tolist() == ["dropped", "no drop found", "no drop found", "dropped"]


@pytest.mark.slow
def test_a_model_that_lost_just_the_margin_fails_in_at_most_one_of_twenty_cases():
    random, codes = np.random.default_rng(3), crossed(25, 16)
    failed = 0
    for _ in range(400):
        of_verbs = random.normal(0, 0.15, 25)[codes[:, 0]]
        level = random.random(len(codes))
        old, new = level < 0.8 + of_verbs / 4, level < 0.75 + of_verbs
        entries = {"verb": [f"v{code}" for code in codes[:, 0]]}
        line = judged(row_drops(verdicts(old, **entries), verdicts(new, **entries), None, 0.05), 0.05).iloc[0]
        failed += line["outcome"] == "dropped"
    # 5% of 400, plus two standard errors.
    assert failed <= 29


def test_items_that_the_new_model_cannot_decide_are_counted_and_not_compared():
    correct, decidable = np.ones(100, bool), np.arange(100) < 60
    line = judged(
        row_drops(verdicts(correct), verdicts(correct, decidable=decidable), None, 0.02), 0.02
    ).iloc[0]
    assert (line["n_items"], line["n_only_old"]) == (60, 40)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Run two models on two suites: one knows the agreement of six verbs, one guesses."""
    folder = tmp_path_factory.mktemp("gate")
    (folder / "models.py").write_text(MODELS, "utf-8")
    for suite, start in (("one", "the"), ("two", "every")):
        write_verb_pairs(folder / f"{suite}.csv", start, singular_is_better=start == "the")
        for model in ("knows", "guesses"):
            ended = call(
                "run", "--model", f"models.py:{model}", "--suite", f"{suite}.csv", "--cluster", "none",
                "--out", f"{model}/{suite}", cwd=folder,
            )  # fmt: skip
            assert ended.returncode == 0, ended.stderr
    return folder


def test_exit_codes_are_those_of_the_drop(runs):
    assert call("gate", "knows", "--against", "knows", cwd=runs).returncode == 0
    failed = call("gate", "guesses", "--against", "knows", cwd=runs)
    assert failed.returncode == 1
    assert "Significant drop beyond 0.02 in 2 of 2 tests." in failed.stderr
    assert call("gate", "knows", "--against", "guesses", cwd=runs).returncode == 0


def test_several_suites_are_one_family_and_one_can_be_chosen(runs):
    both = json.loads(call("gate", "guesses", "--against", "knows", "--json", cwd=runs).stdout)
    assert [row["suite"] for row in both["rows"]] == ["one", "two"]
    smaller, larger = sorted(row["p_drop"] for row in both["rows"])
    assert sorted(row["p_drop_holm"] for row in both["rows"]) == pytest.approx(
        sorted([2 * smaller, max(2 * smaller, larger)])
    )
    one = json.loads(
        call("gate", "guesses", "--against", "knows", "--suite", "two", "--json", cwd=runs).stdout
    )
    assert [row["suite"] for row in one["rows"]] == ["two"]


def test_strict_fails_where_few_items_cannot_exclude_a_drop(runs):
    assert call("gate", "knows", "--against", "knows", "--strict", cwd=runs).returncode == 1
    ended = call("gate", "knows", "--against", "knows", "--strict", "--max-drop", "0.3", cwd=runs)
    assert ended.returncode == 0, ended.stderr
    assert "A drop larger than 0.3 is excluded in all 2 tests." in ended.stderr


def test_junit_and_summary_say_what_failed(runs, tmp_path):
    files = "--junit", tmp_path / "gate.xml", "--summary", tmp_path / "summary.md"
    (tmp_path / "summary.md").write_text("# Job\n\n", "utf-8")
    assert call("gate", "guesses", "--against", "knows", *files, cwd=runs).returncode == 1
    root = ElementTree.parse(tmp_path / "gate.xml").getroot()  # noqa: S314 - our own
    assert [(one.get("name"), one.get("tests"), one.get("failures")) for one in root] == [
        ("one", "1", "1"),
        ("two", "1", "1"),
    ]
    assert root.find("testsuite/testcase/failure").get("message").startswith("dropped: 1.000 before, ")
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert summary.startswith(
        "# Job\n\n## tseval gate: failed\n\nSignificant drop beyond 0.02 in 2 of 2 tests.\n"
    )
    assert "| dropped" in summary


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["guesses", "--against", "knows", "--rows", "Simple"], "--rows 'Simple': no row of"),
        (["guesses", "--against", "knows", "--suite", "three"], "--suite three: not both models have a run"),
        (
            ["guesses", "--against", "knows", "--max-drop", "2"],
            "--max-drop: 2 is not a difference of accuracies",
        ),
        (["guesses/one", "--against", "knows/two"], "NEW has runs on one, OLD on two: no suite in common."),
        ([".", "--against", "knows"], "NEW has two runs on one"),
        (["nothing", "--against", "knows"], "'nothing' is not the folder of a run or a leaderboard."),
        (["bhatt2020", "--against", "knows"], "bhatt2020 is a leaderboard of published accuracies"),
    ],
)
def test_what_cannot_be_compared_is_one_message_and_exit_code_2(arguments, words, runs):
    ended = call("gate", *arguments, cwd=runs)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"tseval: {words}")
    assert "\n  " in ended.stderr
