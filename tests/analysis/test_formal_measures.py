"""The numbers that the papers on formal languages report, from verdicts made by hand."""

import pandas as pd
import pytest

from tseval.analysis.breakdowns import by_feature, headline, headline_interval, measure_of
from tseval.errors import RunError, SuiteError


def verdicts(feature, rows):
    """Verdicts from rows of a feature's value, right ones and wrong ones."""
    flat = [(v, right) for v, n_right, n_wrong in rows for right in [True] * n_right + [False] * n_wrong]
    frame = pd.DataFrame(flat, columns=[feature, "correct"]).assign(tie=False, undecidable=False)
    return frame.assign(dependency=None, phenomenon="Formal languages", construction="C", contrast="a > b")


def test_accuracy_on_dyck_is_the_mean_over_distances_whatever_their_number_of_brackets():
    measure = measure_of("dyck_k2_m3")
    rows = by_feature(verdicts("distance", [(0, 90, 10), (2, 1, 1), (8, 0, 4)]), measure)
    assert rows["distance"].tolist() == [0, 2, 8]
    assert rows["value"].tolist() == [0.9, 0.5, 0]
    assert headline(rows, measure) == pytest.approx((0.9 + 0.5 + 0) / 3)


def test_error_on_generalised_dyck_is_the_largest_over_attractors():
    measure = measure_of("generalised_dyck_5_20")
    rows = by_feature(verdicts("attractors", [(3, 3, 1), (0, 99, 1), (1, 2, 3)]), measure)
    assert rows["attractors"].tolist() == [0, 1, 3]
    assert rows["value"].tolist() == [0.01, 0.6, 0.25]
    assert headline(rows, measure) == 0.6


def test_error_on_cross_serial_is_the_share_of_strings():
    measure = measure_of("cross_serial_8_10")
    rows = by_feature(verdicts("m_plus_n", [(0, 1, 0), (9, 4, 5)]), measure)
    assert rows["n_wrong"].tolist() == [0, 5]
    assert headline(rows, measure) == 0.5


def test_intervals_of_errors_hold_the_errors():
    measure = measure_of("generalised_dyck_5_20")
    rows = by_feature(verdicts("attractors", [(0, 19, 1), (1, 0, 5), (2, 7, 0)]), measure)
    assert (rows["low"] <= rows["value"]).all()
    assert (rows["value"] <= rows["high"]).all()
    # Wilson's interval of 1 in 20, from the formula: (k + z²/2 ± z sqrt(k(n-k)/n + z²/4)) / (n + z²).
    z, n, k = 1.959964, 20, 1
    middle, half = k + z * z / 2, z * (k * (n - k) / n + z * z / 4) ** 0.5
    expected = [(middle - half) / (n + z * z), (middle + half) / (n + z * z)]
    assert rows[["low", "high"]].iloc[0].tolist() == pytest.approx(expected, abs=1e-5)


def test_the_mean_over_distances_is_as_sure_as_its_rows_are_together():
    measure = measure_of("dyck_k2_m3")
    frame = verdicts("distance", [(0, 90, 10), (2, 30, 20)])
    frame["string.entry"] = [f"s{i // 5}" for i in range(len(frame))]  # no string is in both rows
    clusters = frame["correct"].groupby(frame["string.entry"]).mean()
    errors = [part.std(ddof=1) / len(part) ** 0.5 for part in (clusters[[f"s{i}" for i in range(20)]],
              clusters[[f"s{i}" for i in range(20, 30)]])]  # fmt: skip
    low, high = headline_interval(frame, measure)
    # Wilson's interval of .75, for as many verdicts as its variance says, with t's quantile for 29 degrees.
    p, t = 0.75, 2.0452296
    n = p * (1 - p) / (sum(error**2 for error in errors) / 4)
    middle, half = p + t * t / (2 * n), t * (p * (1 - p) / n + t * t / (4 * n * n)) ** 0.5
    expected = [(middle - half) / (1 + t * t / n), (middle + half) / (1 + t * t / n)]
    assert [low, high] == pytest.approx(expected, rel=0.02)  # clusters over all rows: 30 / 29, not 20 / 19
    assert low < headline(by_feature(frame, measure), measure) < high


def test_the_share_of_strings_has_the_interval_of_all_of_them():
    measure = measure_of("cross_serial_8_10")
    low, high = headline_interval(verdicts("m_plus_n", [(0, 10, 0), (9, 9, 1)]), measure)
    # Wilson's interval of 1 wrong in 20, as above.
    assert (low, high) == pytest.approx((0.0088814, 0.2361307), abs=1e-6)


def test_the_largest_of_several_errors_has_no_interval():
    frame = verdicts("attractors", [(0, 19, 1), (1, 0, 5)])
    assert headline_interval(frame, measure_of("generalised_dyck_5_20")) is None


@pytest.mark.parametrize("suite", ["marvin_linzen", "dyckens", "blimp"])
def test_other_suites_are_refused(suite):
    with pytest.raises(RunError, match=rf"on {suite}, which is not a formal language.\n  Make a run on one"):
        measure_of(suite)


def test_errors_are_clustered_where_strings_share_entries():
    measure = measure_of("generalised_dyck_5_20")
    frame = verdicts("attractors", [(0, 30, 10), (1, 20, 20)])
    frame["string.entry"] = [f"s{i // 5}" for i in range(len(frame))]
    rows = by_feature(frame, measure)
    wrong = 1 - frame["correct"]
    for place in (0, 1):
        means = wrong[frame["attractors"] == place].groupby(frame["string.entry"]).mean()
        assert rows["se"][place] == pytest.approx(means.std(ddof=1) / len(means) ** 0.5, rel=1e-12)
    assert rows["clusters"].tolist() == [{"string": 8}, {"string": 8}]


def test_a_suite_of_that_name_without_the_feature_is_refused():
    with pytest.raises(SuiteError, match="no feature 'distance'"):
        by_feature(verdicts("attractors", [(0, 1, 1)]), measure_of("dyck_k2_m3"))
