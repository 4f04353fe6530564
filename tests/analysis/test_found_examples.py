"""Examples of parsed trees against gold ones: counts by hand, by sets, and intervals by scipy."""

import json

import pandas as pd
import pytest
from in_process import call
from scipy.stats import binomtest
from scipy.stats import t as student
from supplied import AGREEMENT

from tseval.analysis.breakdowns import compare_examples
from tseval.errors import SuiteError
from tseval.suites.agreement.published import read_examples

COLUMNS = ["sentence", "verb_index", "subj_index", "number", "n_attractors"]


def frame(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


# Sentences a and b, with the verbs in places 3, 5, ...
GOLD = frame(
    ("a", 3, 1, "sing", 0), ("a", 5, 4, "plur", 0), ("b", 9, 1, "sing", 2), ("b", 12, 11, "sing", 0),
    ("c", 4, 1, "plur", 1),
)  # fmt: skip
PARSED = frame(
    ("a", 3, 1, "sing", 0),  # equal
    ("a", 5, 1, "sing", 0),  # another subject, another number
    ("b", 9, 1, "sing", 1),  # an attractor missed
    ("b", 14, 13, "sing", 0),  # no verb of gold's
    ("d", 2, 1, "plur", 0),  # in a sentence that gold has nothing in
)


def test_verbs_numbers_and_whole_examples_are_counted_by_attractors():
    found = compare_examples(GOLD, PARSED).set_index("n_attractors")
    names = ["n_gold", "n_parsed", "n_found", "n_right", "n_same_number", "n_equal"]
    counts = {
        kind: tuple(row) for kind, row in zip([None, 0, 1, 2], found[names].to_numpy().tolist(), strict=True)
    }
    assert counts == {
        None: (5, 5, 3, 3, 2, 1),
        0: (3, 4, 2, 2, 1, 1),
        1: (1, 1, 0, 1, 0, 0),
        2: (1, 0, 1, 0, 1, 0),
    }


def test_shares_are_of_these_counts_and_intervals_are_wilsons():
    found = compare_examples(GOLD, PARSED)
    whole, none, _, two = found.to_dict("records")
    assert (whole["precision_verb"], whole["recall_verb"], whole["f1_verb"]) == pytest.approx((0.6, 0.6, 0.6))
    assert (none["precision_equal"], none["recall_equal"]) == pytest.approx((1 / 4, 1 / 3))
    assert none["f1_equal"] == pytest.approx(2 / 7)
    expected = binomtest(3, 5).proportion_ci(method="wilson")
    assert (whole["recall_verb_low"], whole["recall_verb_high"]) == pytest.approx(
        (expected.low, expected.high)
    )
    assert pd.isna([two["precision_verb"], two["precision_verb_low"], two["f1_verb"]]).all()


def test_equal_tables_are_equal_and_a_repeated_verb_counts_once():
    found = compare_examples(GOLD, pd.concat([GOLD, GOLD]))
    assert found["n_equal"].tolist() == found["n_gold"].tolist() == found["n_parsed"].tolist() == [5, 3, 1, 1]
    assert (found[["precision_verb", "recall_equal", "f1_equal"]] == 1).all(axis=None)


def test_what_was_taken_away_and_made_up_is_what_is_missing_and_wrong():
    gold = read_examples(AGREEMENT).to_pandas()
    parsed = gold.drop(gold.index[::7])
    wrong = parsed.index[::10]
    parsed.loc[wrong, "verb_index"] += 1000
    row = compare_examples(gold, parsed).iloc[0]
    keys = [set(zip(one["sentence"], one["verb_index"], strict=True)) for one in (gold, parsed)]
    assert row["n_gold"] == len(keys[0]) > 4500
    assert row["n_found"] == row["n_equal"] == len(keys[0] & keys[1])
    assert row["precision_verb"] == len(keys[0] & keys[1]) / len(keys[1])


def test_tables_of_other_sentences_are_refused():
    with pytest.raises(SuiteError, match="no sentence in common"):
        compare_examples(GOLD, PARSED.assign(sentence="x"))


@pytest.fixture
def tables(tmp_path):
    """Two tables of examples, in files."""
    head = "sentence\tverb_index\tverb_form\tnumber\topp_verb_form\tsubj_index\tn_attractors\n"
    rows = ["the dog barks\t2\tbarks\tsing\tbark\t1\t0\n", "the dogs bark\t2\tbark\tplur\tbarks\t1\t0\n"]
    (tmp_path / "gold.tsv").write_text(head + "".join(rows))
    (tmp_path / "parsed.tsv").write_text(head + rows[0])
    bare = [line.rpartition("\t")[0] + "\n" for line in (head, *rows)]
    (tmp_path / "bare.tsv").write_text("".join(bare))
    (tmp_path / "other.tsv").write_text(head + rows[0].replace("the", "a"))
    return tmp_path


def test_the_command_prints_both_tables_and_every_format(tables):
    ended = call("data", "compare", "gold.tsv", "parsed.tsv", cwd=tables)
    assert ended.returncode == 0, ended.stderr
    assert "**Verbs of parsed.tsv against gold.tsv**" in ended.stdout
    lines = [line.replace(" ", "") for line in ended.stdout.splitlines()]
    assert "|0|2|1|1.000|0.206to1.000|0.500|0.094to0.906|0.666|1of1|" in lines
    assert "|all|2|1|1|1.000|0.206to1.000|0.500|0.094to0.906|0.666|" in lines
    ended = call("data", "compare", "gold.tsv", "parsed.tsv", "--format", "json", "-o", "c.json", cwd=tables)
    assert (ended.returncode, ended.stdout) == (0, "")
    content = json.loads((tables / "c.json").read_text())
    assert [(row["n_attractors"], row["recall_verb"]) for row in content["rows"]] == [(None, 0.5), (0, 0.5)]


@pytest.mark.parametrize(
    ("gold", "parsed", "message"),
    [
        ("gold.tsv", "bare.tsv", "bare.tsv: does not say n_attractors, which is compared."),
        ("gold.tsv", "other.tsv", "the two tables have no sentence in common"),
        ("gold.tsv", "none.tsv", "none.tsv: cannot be read"),
    ],
)
def test_tables_that_cannot_be_compared_are_named(tables, gold, parsed, message):
    ended = call("data", "compare", gold, parsed, cwd=tables)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr


def test_examples_of_one_sentence_are_a_cluster():
    # Eight sentences with three verbs each; a sentence is parsed well as a whole or not at all.
    gold = frame(*((str(s), verb, 1, "sing", 0) for s in range(8) for verb in (3, 6, 9)))
    parsed = gold[gold["sentence"].astype(int) < 6]
    row = compare_examples(gold, parsed).iloc[0]
    # As much as eight draws of which six succeed, with Student's t for eight clusters: V = s² / 8.
    variance = 0.75 * 0.25 / 7
    n, t = 0.75 * 0.25 / variance, student.ppf(0.975, 7)
    half = t / (n + t * t) * (n * 0.75 * 0.25 + t * t / 4) ** 0.5
    middle = (n * 0.75 + t * t / 2) / (n + t * t)
    assert (row["recall_verb_low"], row["recall_verb_high"]) == pytest.approx((middle - half, middle + half))
    independent = binomtest(18, 24).proportion_ci(method="wilson")
    assert row["recall_verb_low"] < independent.low
