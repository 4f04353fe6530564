import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, ttest_rel
from small import make_case, make_suite
from statsmodels.stats.multitest import multipletests
from supplied import TABLE4

from tseval.analysis.comparisons import against, seed_means
from tseval.analysis.counts import count, exact_accuracy
from tseval.analysis.features import check_features
from tseval.analysis.means import cut, means, rank_rows
from tseval.errors import RunError, SuiteError
from tseval.report.published import BUNDLED_BOARDS, read_board


def verdicts(*rows, **features):
    """Make verdicts from (construction, verdict) pairs; + correct, - wrong, = tie, ? undecidable."""
    frame = pd.DataFrame(
        [
            {"case": "case", "item": i, "construction": construction, "phenomenon": "P",
             "dependency": "short", "contrast": "grammatical > ungrammatical", "better_score": -1.0,
             "worse_score": -1.0, "correct": mark == "+", "tie": mark == "=", "undecidable": mark == "?"}
            for i, (construction, mark) in enumerate(rows)
        ]
    )  # fmt: skip
    return frame.assign(**features)


def test_accuracy_is_correct_over_decidable_with_ties_among_the_wrong():
    counts = count(verdicts(("A", "+"), ("A", "+"), ("A", "-"), ("A", "="), ("A", "?")))
    (row,) = counts.to_dict("records")
    assert (row["n_items"], row["n_correct"], row["n_tied"], row["n_undecidable"]) == (5, 2, 1, 1)
    assert row["accuracy"] == 0.5
    assert exact_accuracy(counts) == [Fraction(2, 4)]


def test_a_row_without_decidable_items_has_no_accuracy():
    counts = count(verdicts(("A", "?"), ("B", "+")))
    assert counts[["accuracy", "low", "high"]].isna().all(axis=1).tolist() == [True, False]
    assert exact_accuracy(counts) == [None, Fraction(1)]


def test_cases_of_one_construction_are_pooled_by_item():
    frame = verdicts(("A", "+"), ("A", "-"), ("A", "-"), ("A", "-"))
    frame["case"] = ["animate", "inanimate", "inanimate", "inanimate"]
    assert count(frame)["accuracy"].tolist() == [0.25]  # a mean of cases would be 0.5


def test_short_dependencies_come_first_and_a_phenomenon_stands_together():
    frame = verdicts(("C1", "+"), ("C2", "+"), ("C3", "+"), ("C4", "+"), ("C5", "+"))
    frame["dependency"] = ["long", "short", "long", "short", None]
    frame["phenomenon"] = ["P", "Q", "Q", "P", "P"]
    rows = count(frame)
    assert rows["construction"].tolist() == ["C2", "C4", "C1", "C3", "C5"]
    interleaved = verdicts(("C1", "+"), ("C2", "+"), ("C3", "+"))
    interleaved["phenomenon"] = ["P", "Q", "P"]
    assert count(interleaved)["construction"].tolist() == ["C1", "C3", "C2"]


def test_a_breakdown_splits_rows_by_value_in_order_and_keeps_missing_values_last():
    frame = verdicts(*[("A", "+")] * 5, n=pd.array([10, 2, None, 2, None], dtype="Int64"))
    rows = count(frame, ["n"])
    assert [None if pd.isna(n) else n for n in rows["n"]] == [2, 10, None]
    assert rows["n_items"].tolist() == [2, 1, 2]


def test_an_unknown_feature_gets_the_nearest_name():
    with pytest.raises(SuiteError) as caught:
        count(verdicts(("A", "+"), attractor="x", number="y"), ["atractor"])
    assert str(caught.value) == (
        "--by atractor: the items of the suite have no feature with this name.\n"
        "  Did you mean 'attractor'? Features: attractor, number."
    )


def test_an_unknown_feature_is_told_before_anything_is_scored():
    suite = make_suite(make_case("a", [("a b", "a c")], features={"number": ["sing"]}))
    check_features(suite, ["number"])
    with pytest.raises(SuiteError, match="--by verb: the items of the suite have no feature with this name"):
        check_features(suite, ["number", "verb"])


def test_lexicon_entries_break_a_table_down_as_the_same_texts_do():
    marks = [("A", "+"), ("A", "-"), ("A", "+"), ("A", "-")]
    words = ["swims", "laughs", "swims", None]
    frame = verdicts(*marks, verb=words).assign(**{"verb.entry": pd.Categorical(words, ["swims", "laughs"])})
    by_entry, by_text = count(frame, "verb.entry"), count(frame, "verb")
    assert by_entry["verb.entry"].tolist()[:2] == by_text["verb"].tolist()[:2] == ["laughs", "swims"]
    assert by_entry["verb.entry"].isna().tolist() == [False, False, True]
    rest = [name for name in by_text if name != "verb"]
    assert by_entry[rest].equals(by_text[rest])


# All models against one of them, row by row: against the single estimators, and sums by hand.
PER_ROW = 60
ROWS = ("Simple", "Coordination", "In a clause")  # in the order of the table


def verdicts_of_against(seed, *, entries=True, unknown=()):
    """Draw verdicts on three rows, the long one first; `unknown` rows are undecidable."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        [
            (dependency, phenomenon, construction, "good > bad", f"v{i % 6}")
            for dependency, phenomenon, construction in (
                ("long", "Reflexives", "In a clause"),
                ("short", "Agreement", "Simple"),
                ("short", "Agreement", "Coordination"),
            )
            for i in range(PER_ROW)
        ],
        columns=["dependency", "phenomenon", "construction", "contrast", "verb.entry"],
    )
    known = dict(zip([f"v{i}" for i in range(6)], random.uniform(0.2, 0.95, 6), strict=True))
    frame["correct"] = random.random(len(frame)) < frame["verb.entry"].map(known)
    frame["undecidable"] = frame["construction"].isin(unknown)
    frame["correct"] &= ~frame["undecidable"]
    frame["tie"] = False
    frame["number"] = ["sing", "plur"] * (len(frame) // 2)
    return frame if entries else frame.drop(columns="verb.entry")


def alone(frames):
    """Return each model as a separate group."""
    return {name: [frame] for name, frame in frames.items()}


def test_rows_stand_in_the_order_of_the_table_and_each_is_compared_on_its_own():
    frames = {name: verdicts_of_against(seed, entries=False) for seed, name in enumerate("abc")}
    found = against(alone(frames), "b", (), 0.02)
    assert found.rows["construction"].tolist() == ["Simple", "Coordination", "In a clause"]
    assert list(found.of_rows) == ["a", "c"]
    p = []
    for name in "ac":
        for place, construction in enumerate(found.rows["construction"]):
            own = frames["b"]["construction"] == construction
            one, other = (frames[model]["correct"][own].astype(float) for model in (name, "b"))
            test = ttest_rel(one, other)
            ends = test.confidence_interval()
            row = found.of_rows[name].iloc[place]
            assert row["difference"] == pytest.approx(one.mean() - other.mean())
            assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high), rel=1e-9)
            assert found.rows["accuracy"][place] == pytest.approx(other.mean())
            p.append(test.pvalue)
    told = [value for own in found.of_rows.values() for value in own["p_holm"]]
    assert told == pytest.approx(multipletests(p, method="holm")[1], rel=1e-9), "all are one family"


def test_means_count_each_row_once_and_cluster_entries_across_rows():
    frames = {"a": verdicts_of_against(1), "b": verdicts_of_against(2)}
    # A row with twice as many items has the same weight.
    frames = {name: pd.concat([frame, frame[:PER_ROW]], ignore_index=True) for name, frame in frames.items()}
    found = against(alone(frames), "b", (), 0.02)
    assert found.means["over"].tolist() == [
        "Short-range dependency", "Long-range dependency", "Agreement", "Reflexives", "All rows",
    ]  # fmt: skip
    gap = frames["a"]["correct"].astype(float) - frames["b"]["correct"]
    rows = frames["a"]["construction"]
    of_rows = gap.groupby(rows).mean()
    whole = found.of_means["a"].iloc[-1]
    assert whole["difference"] == pytest.approx(of_rows.mean())
    own = frames["b"]["correct"].groupby(rows).mean()
    assert found.means["accuracy"].iloc[-1] == pytest.approx(own.mean())
    influence = (gap - rows.map(of_rows)) / rows.map(rows.value_counts()) / 3
    sums = influence.groupby(frames["a"]["verb.entry"]).sum()
    assert whole["se"] == pytest.approx(np.sqrt(6 / 5 * (sums**2).sum()), rel=1e-10)
    assert whole["clusters"] == {"verb": 6}


def test_a_row_that_a_model_cannot_decide_takes_its_means_and_nothing_from_the_others():
    frames = {name: verdicts_of_against(seed) for seed, name in enumerate("abc", 1)}
    frames["a"] = verdicts_of_against(1, unknown=["Simple"])
    found = against(alone(frames), "b", (), 0.02)
    lost = found.of_rows["a"].iloc[0]
    assert (lost["n_items"], pd.isna(lost["outcome"])) == (0, True)
    assert found.of_means["a"]["outcome"].isna().tolist() == [True, False, True, False, True]
    assert not found.of_means["c"]["outcome"].isna().any()
    fewer = against(alone({name: frames[name] for name in "bc"}), "b", (), 0.02)
    numbers = ["n_items", "difference", "se", "low", "high", "p"]
    pd.testing.assert_frame_equal(found.of_rows["c"][numbers], fewer.of_rows["c"][numbers])


def test_nothing_decidable_is_no_number_anywhere():
    nothing, other = (verdicts_of_against(seed, unknown=ROWS) for seed in (1, 2))
    found = against(alone({"a": nothing, "b": other}), "b", (), 0.02)
    for frame in (found.of_rows["a"], found.of_means["a"]):
        assert frame.drop(columns="n_items").isna().all(axis=None)
    assert found.rows["accuracy"].isna().all()
    with pytest.raises(RunError, match="the margin must be a difference"):
        against(alone({"a": nothing, "b": verdicts_of_against(2)}), "b", (), 7)


def test_rows_are_broken_down_by_features_and_by_entries():
    frames = {"a": verdicts_of_against(1), "b": verdicts_of_against(2)}
    found = against(alone(frames), "b", ("number", "verb.entry"), 0.02)
    assert len(found.rows) == 3 * 6  # each verb has one grammatical number in these items
    row = found.rows[found.rows["verb.entry"] == "v3"].index[0]
    own = frames["a"]["construction"] == found.rows["construction"][row]
    one, other = (of[own & (of["verb.entry"] == "v3")]["correct"].mean() for of in frames.values())
    assert found.of_rows["a"]["difference"][row] == pytest.approx(one - other)


def test_seeds_are_averaged_on_what_all_of_both_can_decide_and_the_reference_has_their_spread():
    groups = {
        "a": [verdicts_of_against(1), verdicts_of_against(2, unknown=["Simple"]), verdicts_of_against(3)],
        "b": [verdicts_of_against(4), verdicts_of_against(5)],
        "c": [verdicts_of_against(6)],
    }
    found = against(groups, "b", (), 0.02)
    assert found.of_rows["a"]["n_items"].tolist() == [0, PER_ROW, PER_ROW]
    assert found.of_rows["c"]["n_items"].tolist() == [PER_ROW] * 3
    of_rows = {
        name: np.array([[one["correct"][one["construction"] == row].mean() for one in seeds] for row in ROWS])
        for name, seeds in groups.items()
    }
    assert found.rows["accuracy"].tolist() == pytest.approx(of_rows["b"].mean(axis=1))
    assert found.rows["spread"].tolist() == pytest.approx(of_rows["b"].std(axis=1, ddof=1))
    assert found.means["spread"].iloc[-1] == pytest.approx(of_rows["b"].mean(axis=0).std(ddof=1))
    for name, known in (("a", [1, 2]), ("c", [0, 1, 2])):
        gaps = of_rows[name].mean(axis=1) - of_rows["b"].mean(axis=1)
        assert found.of_rows[name]["difference"][known].tolist() == pytest.approx(gaps[known])
    assert against(groups, "c", (), 0.02).rows["spread"].isna().all(), "one seed has no spread"


# Means over seeds, row by row: against sums by hand and the single estimators.
N_VERBS, PER_VERB = 6, 20


def verdicts_of_seeds(shift, seed, unknown=()):
    """Draw verdicts on two rows; accuracy differs by verb, and each seed shifts it."""
    known = np.random.default_rng(0).uniform(0.4, 0.8, N_VERBS)
    random = np.random.default_rng(seed)
    verb = np.tile(np.repeat(np.arange(N_VERBS), PER_VERB), 2)
    frame = pd.DataFrame(
        {"dependency": None, "phenomenon": "Agreement",
         "construction": np.repeat(["Simple", "Coordination"], N_VERBS * PER_VERB), "contrast": "good > bad",
         "verb.entry": [f"v{code}" for code in verb],
         "correct": random.random(len(verb)) < known[verb] + shift, "tie": False}
    )  # fmt: skip
    frame["undecidable"] = frame["construction"].isin(unknown)
    return frame.assign(correct=frame["correct"] & ~frame["undecidable"])


def test_a_mean_of_seeds_has_the_spread_between_them_and_an_interval_for_seeds_and_words():
    seeds = [verdicts_of_seeds(shift, seed) for seed, shift in enumerate((-0.2, 0.0, 0.1))]
    found = seed_means({"srn": seeds})
    assert found.rows["construction"].tolist() == ["Simple", "Coordination"]
    for place, construction in enumerate(found.rows["construction"]):
        own = [frame[frame["construction"] == construction] for frame in seeds]
        shares = np.array([frame["correct"].mean() for frame in own])
        row = found.of_rows["srn"].iloc[place]
        assert (row["n_seeds"], row["n_items"]) == (3, N_VERBS * PER_VERB)
        assert row["accuracy"] == pytest.approx(shares.mean())
        assert row["spread"] == pytest.approx(shares.std(ddof=1))
        of_verbs = sum(frame.groupby("verb.entry")["correct"].mean() for frame in own) / 3
        variance = shares.var(ddof=1) / 3 + of_verbs.var(ddof=1) / N_VERBS
        assert row["se"] == pytest.approx(np.sqrt(variance))
        assert row["low"] < row["accuracy"] - row["se"]
        assert row["clusters"] == {"verb": N_VERBS}
    whole = found.of_means["srn"].iloc[-1]
    of_seeds = np.array([frame.groupby("construction")["correct"].mean().mean() for frame in seeds])
    assert (whole["accuracy"], whole["spread"]) == pytest.approx((of_seeds.mean(), of_seeds.std(ddof=1)))


def test_a_row_that_one_seed_cannot_decide_has_no_mean_and_takes_that_over_all_rows():
    groups = {
        "srn": [verdicts_of_seeds(0, 1), verdicts_of_seeds(0, 2, ["Simple"])],
        "gru": [verdicts_of_seeds(0, 3), verdicts_of_seeds(0, 4)],
    }
    found = seed_means(groups)
    assert found.of_rows["srn"]["accuracy"].isna().tolist() == [True, False]
    assert found.of_means["srn"]["accuracy"].isna().all()
    assert found.of_means["gru"]["accuracy"].notna().all()


def test_architectures_are_ranked_by_their_means_over_all_rows_what_is_undecidable_wrong():
    better, worse = ([verdicts_of_seeds(shift, seed) for seed in (1, 2, 3)] for shift in (0.15, -0.15))
    found = seed_means({"srn": worse, "gru": better, "lstm": [verdicts_of_seeds(0.15, 4, ["Simple"])]}).ranks
    assert found.low == found.high == (2, 1, 3)
    assert found.means[2] == pytest.approx(verdicts_of_seeds(0.15, 4, ["Simple"])["correct"].mean())
    assert seed_means({"gru": better}).ranks is None


SETS = {
    "Short-range dependency": "short_range", "Long-range dependency": "long_range",
    "Subject-verb agreement": "sv_agreement", "Reflexive anaphora": "reflexive_anaphora",
    "Negative polarity items": "negative_polarity_items",
}  # fmt: skip


def frame(rows):
    return pd.DataFrame([[None if v is None else Fraction(v) for v in row] for row in rows], dtype=object)


@pytest.fixture
def oracle():
    """Return the published table, transcribed independently of the board."""
    return json.loads(TABLE4.read_text())


@pytest.fixture
def published():
    """Return rows and accuracies of the bundled board."""
    board = read_board(BUNDLED_BOARDS / "bhatt2020")
    rows = pd.DataFrame([(row.dependency, row.phenomenon) for row in board.rows])
    rows.columns = ["dependency", "phenomenon"]
    names = [model.name for model in board.models]
    accuracy = frame([[row.accuracy[name] for name in names] for row in board.rows])
    return rows, accuracy.set_axis(names, axis="columns")


def test_the_mean_ranks_of_table_4_are_exact(published, oracle):
    last = means(*published)[-1]
    assert last.n_rows == 19
    exact = [Fraction(value) for value in oracle["mean_exact"].values()]
    assert list(last.rank) == exact


def test_mean_ranks_per_section_and_phenomenon_agree_with_the_second_transcription(published, oracle):
    found = {SETS[m.over]: m.rank for m in means(*published)[:-1]}
    expected = oracle["subset_mean_ranks"]
    assert found.keys() == expected.keys()
    for name, ranks in found.items():
        assert [float(rank) for rank in ranks] == list(expected[name].values())


def test_the_misprint_named_in_the_boards_note_moves_the_mean_ranks_as_it_says(published):
    rows, accuracy = published
    assert accuracy.loc[18, "DRNN"] == Fraction("0.1")
    accuracy.loc[18, "DRNN"] = cut(Fraction(2159, 10560), 2)
    corrected = ["6", "3", "3.31", "3.36", "3.68", "4.78", "3"]
    assert [cut(rank, 2) for rank in means(rows, accuracy)[-1].rank] == [Fraction(v) for v in corrected]


@pytest.mark.parametrize(
    ("values", "ranks"),
    [
        (["0.9", "0.5", "0.5", "0.1"], [1, 2, 2, 4]),
        ([Fraction(10**17 - 2, 10**17), Fraction(10**17 - 1, 10**17)], [2, 1]),  # too many digits for a float
        (["0.5", None, "0.4"], [1, None, 2]),
    ],
)
def test_equal_values_share_the_smallest_rank_and_what_is_missing_has_none(values, ranks):
    assert rank_rows(frame([values])).iloc[0].tolist() == ranks


@pytest.mark.slow
@given(
    st.lists(st.lists(st.fractions(0, 1, max_denominator=8), min_size=4, max_size=4), min_size=1, max_size=6)
)
def test_ranks_are_scipys_minimum_ranks_of_the_negated_values(rows):
    ranks = rank_rows(frame(rows)).astype(int).to_numpy()
    expected = [rankdata([-float(value) for value in row], method="min") for row in rows]
    assert np.array_equal(ranks, np.array(expected, dtype=int))


def test_a_model_that_lacks_a_row_has_no_mean_and_takes_the_row_from_no_other():
    rows = pd.DataFrame({"dependency": ["short"] * 3, "phenomenon": ["P"] * 3})
    accuracy = frame([["0.5", "0.25", "0.4"], ["0.9", None, "1"], ["0.1", "0.75", "0"]])
    (overall,) = means(rows, accuracy)
    assert (overall.over, overall.n_rows) == ("All rows", 3)
    assert overall.accuracy == (Fraction("0.5"), None, Fraction(7, 15))
    assert overall.rank == (Fraction(5, 3), None, Fraction(2))  # 1, 2, 2 and 2, 1, 3


@pytest.mark.parametrize(
    ("accuracy", "n_rows", "mean_accuracy", "rank"),
    [
        (frame([[None, "0.5"]]), 1, (None, Fraction(1, 2)), (None, Fraction(1))),
        (pd.DataFrame({"a": [], "b": []}, dtype=object), 0, (None, None), (None, None)),
    ],
)
def test_a_model_with_no_row_has_no_mean_and_leaves_that_of_another_as_it_is(
    accuracy, n_rows, mean_accuracy, rank
):
    rows = pd.DataFrame({"dependency": ["short"], "phenomenon": ["P"]})[:n_rows]
    (overall,) = means(rows, accuracy)
    assert (overall.n_rows, overall.accuracy, overall.rank) == (n_rows, mean_accuracy, rank)


@given(st.fractions(0, 1, max_denominator=30000), st.integers(1, 4))
def test_a_cut_value_is_the_decimal_expansion_broken_off(value, decimals):
    digits = value.numerator * 10**12 // value.denominator  # twelve digits, with integer arithmetic
    text = f"{digits:013d}"
    assert cut(value, decimals) == Fraction(f"{text[0]}.{text[1 : 1 + decimals]}")
