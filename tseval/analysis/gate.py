"""One-sided tests of whether a model lost accuracy beyond a margin, with the drops they can detect."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from tseval.analysis.comparisons import differences, marks
from tseval.analysis.design import Factors
from tseval.analysis.differences import holm
from tseval.analysis.intervals import error_rate, upper_tail
from tseval.analysis.robustness import POWER
from tseval.analysis.rows import ROW, row_places
from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.analysis.comparisons import Marks
    from tseval.analysis.differences import Difference

# The largest drop of accuracy that does not matter, unless a user names another one.
DEFAULT_MAX_DROP = 0.02
Outcome = Literal["dropped", "no drop found", "no drop", "not compared"]
GATE_COLUMNS = (
    "n_items", "n_only_old", "old", "new", "difference", "se", "df", "low", "high",
    "p_drop", "p_drop_holm", "p_no_drop", "p_no_drop_holm", "detectable", "outcome",
)  # fmt: skip
# The construction of the line that is the mean over rows, and the whole key of that line.
ALL_ROWS = "Mean over rows"
MEAN_KEY = (None, None, ALL_ROWS, None)


def row_drops(
    old: pd.DataFrame, new: pd.DataFrame, rows: Sequence[int] | None, max_drop: float
) -> pd.DataFrame:
    """Test every row, and the mean over rows, for a drop of accuracy beyond a margin.

    Args:
        old: Verdicts of the model before.
        new: Verdicts of the model after, on the same items in the same order.
        rows: Places of the rows to test, in the order of the table; None for all.
        max_drop: The margin m, a difference of accuracies: smaller drops do not matter.

    Returns:
        One line for each row and, if there are several rows, one for their mean (`ALL_ROWS`), each row
        counted once. The columns are those of `ROW` and `GATE_COLUMNS`; the corrected columns and `outcome`
        are still missing (`judged`). Let d be the difference new - old, with its standard error clustered by
        lexicon entry. `p_drop` tests d >= -m against a larger drop, `p_no_drop` tests d <= -m against a
        smaller one. For the second, the standard error includes at least the entries that were not drawn
        (`tseval.analysis.unseen`). `n_only_old` counts the items that only the old model can decide.

    Raises:
        RunError: The margin is not a difference of accuracies.

    Source: Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power approach for
    assessing the equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics.
    """
    if not 0 <= max_drop < 1:
        raise RunError(
            f"--max-drop: {max_drop:g} is not a difference of accuracies, which is at least 0 and less "
            "than 1.\n"
            "  Write the largest drop that does not matter, such as --max-drop 0.02."
        )
    keys, row_of = row_places(old, ())
    chosen = [*range(len(keys))] if rows is None else [*rows]
    # `differences` finds the rows of a mean by their number, so all single rows must come first.
    sets = [*([row] for row in range(len(keys))), *([chosen] if len(chosen) > 1 else [])]
    marked = {"new": marks(new), "old": marks(old)}
    tests = differences(marked, (Factors.of_paired([old, new]), row_of, sets), [("new", "old")])["new", "old"]
    decidable_by_run = {name: decidable for name, (_, decidable) in marked.items()}
    decidable_in_both = decidable_by_run["new"] & decidable_by_run["old"]
    names = [*keys.itertuples(index=False, name=None)]
    lines: list[dict[str, Any]] = []
    for row in chosen:
        is_of_row = row_of == row
        line = _line(tests[row], marked, decidable_in_both & is_of_row, max_drop)
        only_old = int((decidable_by_run["old"] & ~decidable_by_run["new"] & is_of_row).sum())
        lines.append({**dict(zip(ROW, names[row], strict=True)), **line, "n_only_old": only_old})
    if len(chosen) > 1:
        counts = {name: sum(line[name] for line in lines) for name in ("n_items", "n_only_old")}
        means = {name: float(np.mean([line[name] for line in lines])) for name in ("old", "new")}
        lines.append(
            {**dict(zip(ROW, MEAN_KEY, strict=True)), **_tested(tests[-1], max_drop), **counts, **means}
        )
    return pd.DataFrame(lines, columns=[*ROW, *GATE_COLUMNS])


def _line(
    found: Difference | None, marked: Mapping[str, Marks], items: NDArray[np.bool_], max_drop: float
) -> dict[str, float]:
    """Describe one row: its accuracies on the items that both models can decide, and the tests."""
    accuracies = {
        name: float(correct[items].mean()) if items.any() else nan for name, (correct, _) in marked.items()
    }
    return {"n_items": int(items.sum()), **accuracies, **_tested(found, max_drop)}


def _tested(found: Difference | None, max_drop: float) -> dict[str, float]:
    if found is None:
        return {}
    distance = found.value + max_drop
    return {
        "difference": found.value,
        "se": found.se,
        "df": found.df,
        "low": found.low,
        "high": found.high,
        "p_drop": upper_tail(-distance / found.se, found.df),
        "p_no_drop": upper_tail(distance / max(found.se, found.unseen), found.df),
    }


def judged(lines: pd.DataFrame, max_drop: float) -> pd.DataFrame:
    """Correct the tests of all lines and judge each.

    All rows, of all suites together, are one family of tests; the means over rows are another (Holm 1979).

    `outcome` is `dropped` if the drop is significantly larger than the margin, and `no drop` if it is
    significantly smaller. It is `no drop found` if neither test is significant, and `not compared` if no item
    is decidable for both models. `detectable` is the smallest drop that these items would show four times in
    five, at the error rate of the strictest test. It is missing if the accuracy cannot fall by this much.

    Source: Bloom 1995, "Minimum detectable effects", Evaluation Review 19(5).
    """
    lines = lines.reset_index(drop=True)
    is_mean = lines[ROW[2]] == ALL_ROWS
    for family in (is_mean, ~is_mean):
        tested = lines.index[family & lines["p_drop"].notna()]
        for name in ("p_drop", "p_no_drop"):
            lines.loc[tested, f"{name}_holm"] = holm(lines.loc[tested, name].tolist())
        if len(tested):
            strictest = error_rate() / len(tested)
            numbers = lines.loc[tested, ["se", "df", "old"]].to_numpy(float)
            drops = [(max_drop + _detectable(se, df, strictest), old) for se, df, old in numbers]
            # An accuracy cannot fall below 0.
            lines.loc[tested, "detectable"] = [drop if drop <= old else nan for drop, old in drops]
    corrected = lines[["p_drop_holm", "p_no_drop_holm"]].to_numpy(float)
    lines["outcome"] = [_outcome(*pair) for pair in corrected]
    return lines


def _detectable(se: float, df: float, alpha: float) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

    return float((stdtrit(df, 1 - alpha) + stdtrit(df, POWER)) * se)


def _outcome(p_drop: float, p_no_drop: float) -> Outcome:
    if pd.isna(p_drop):
        return "not compared"
    if p_drop < error_rate():
        return "dropped"
    return "no drop" if p_no_drop < error_rate() else "no drop found"
