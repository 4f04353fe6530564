"""Measures other than accuracy: effects of designs in bits, and correlations with ratings."""

from __future__ import annotations

from dataclasses import dataclass
from math import atanh, log, sqrt, tanh
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.correctness import Correctness, items_of_rows
from tseval.analysis.counts import N_HALF_KNOWN
from tseval.analysis.design import Design, Factors
from tseval.analysis.differences import average
from tseval.analysis.estimates import in_columns
from tseval.analysis.features import refuse_unknown_features
from tseval.analysis.intervals import quantile
from tseval.analysis.rows import ROW, as_names, in_table_order
from tseval.errors import SuiteError
from tseval.items import ENTRY, HALF_KNOWN, RATING, RATING_SE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]


NATS_PER_BIT = log(2)
EFFECT = ("effect", "effect_low", "effect_high", "effect_se")
CONDITION, REGION = "condition", "region"
# The columns of an average, named as in `Average`.
AVERAGED = ("value", "low", "high", "se", "df", "n_items", "clusters", "fixed")


def effects(verdicts: pd.DataFrame) -> NDArray[np.float64]:
    """Return the effect of each verdict in bits, negative if the prediction fails, (verdicts,).

    The effect is the side predicted to be greater minus the side predicted to be smaller. For `a.x < b.x` it
    is the surprisal of `b.x` minus that of `a.x`; differences are compared in the same way. It is NaN if the
    prediction is not a single `<` or `>`, or if the verdict is undecidable.
    """
    nats = (verdicts["better_score"] - verdicts["worse_score"]).to_numpy(np.float64, na_value=np.nan)
    return np.where(verdicts["undecidable"].to_numpy(bool), np.nan, nats / NATS_PER_BIT)


def with_effects(rows: pd.DataFrame, answers: Correctness, bits: NDArray[np.float64]) -> pd.DataFrame:
    """Add the columns of `EFFECT` to the rows of a table: the mean effect in bits, with its interval."""
    averaged = (
        average(bits[items], design) for items, design in items_of_rows(answers.rows, answers.factors)
    )
    averages = in_columns(averaged, AVERAGED, rows.index)[["value", "low", "high", "se"]]
    return rows.join(averages.set_axis([*EFFECT], axis=1))


def mean_effects(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Average the effect of each prediction, in bits; the columns are those of `ROW` and `AVERAGED`."""
    return _averages(verdicts, effects(verdicts), ROW)


def mean_surprisals(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Average the surprisal of each region under each condition, over items with a decidable prediction.

    Returns:
        A row for each construction, region and condition: the columns of `ROW` but the last, `region`,
        `condition`, and the columns of `AVERAGED`, in bits; missing if nothing is decidable.
    """
    # Columns such as `what_gap.critical`; all verdicts on an item have the same value.
    names = [name for name in map(str, verdicts.columns) if "." in name and not name.endswith(ENTRY)]
    decided = verdicts[~verdicts["undecidable"].astype(bool)]
    is_first = verdicts.index.isin(decided.drop_duplicates(["case", "item"]).index)
    tables = []
    for name in names:
        # A case without this condition has no values in the column.
        has_condition = verdicts.groupby("case")[name].transform("count").to_numpy() > 0
        bits = np.where(is_first, verdicts[name].to_numpy(np.float64, na_value=np.nan) / NATS_PER_BIT, np.nan)
        condition, _, region = name.rpartition(".")
        means = _averages(verdicts[has_condition], bits[has_condition], ROW[:-1])
        tables.append(means.assign(**{REGION: region, CONDITION: condition}))
    if not tables:
        raise SuiteError(
            "these runs do not compare regions of sentences, so there are no effects to print.\n"
            "  Score a suite whose grammars state predictions (docs/grammars.md), or a suite of SyntaxGym."
        )
    rows = pd.concat(tables, ignore_index=True)
    order = [rows[name].astype(object).fillna("") for name in (*ROW[:-1], REGION)]
    places = rows.groupby(order, sort=False).ngroup()
    return rows.loc[places.sort_values(kind="stable").index].reset_index(drop=True)


def _averages(verdicts: pd.DataFrame, bits: NDArray[np.float64], by: Sequence[str]) -> pd.DataFrame:
    groups = verdicts.groupby([*by], sort=False, dropna=False)
    keys = list(groups.ngroup().drop_duplicates().index)
    designs = items_of_rows(np.asarray(groups.ngroup(), np.int64), Factors.of_verdicts(verdicts))
    averages = [average(bits[items], design) for items, design in designs]
    table = in_columns(averages, AVERAGED).astype({"df": "Float64"})
    for name, default in (("n_items", 0), ("clusters", {}), ("fixed", ())):
        table[name] = [default if value is None else getattr(value, name) for value in averages]
    key_columns: pd.DataFrame = verdicts.loc[keys, [*by]]
    return pd.concat([key_columns.reset_index(drop=True), table], axis=1)


# The last bits depend on the processor. With twelve decimals, tables are equal on all machines.
_DECIMALS = 12
# With fewer items a correlation is meaningless. For three, Fisher's error 1/√(n - 3) is not defined.
FEWEST_PAIRED = 3
_ROUNDING = 1e-12
_SMALL = 1e-100


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation from -1 to 1, with its standard error and interval.

    A perfect correlation has no interval, because nothing shows how it could vary. `df` is None if items are
    independent (normal quantile).
    """

    value: float
    se: float
    low: float
    high: float
    df: float | None


def pearson(x: Values, y: Values, design: Design) -> Correlation | None:
    """Compute Pearson's correlation of two measures.

    The influence of an item on the correlation is ψ = z_x z_y - r (z_x² + z_y²) / 2, with z in standard
    deviations. The variance is that of a mean of ψ, clustered (`Design.spread`), and never less than that of
    independent items. The interval is symmetric on Fisher's scale, atanh r, where the variance is never less
    than 1/(n - 3).

    Returns:
        None for fewer than three items, or if a measure does not vary.

    Source: Devlin, Gnanadesikan & Kettenring 1975, "Robust estimation and outlier detection with correlation
    coefficients", Biometrika 62(3), equation 4.2.
    """
    x, y = _in_reach(x), _in_reach(y)
    dx, dy = x - x.mean(), y - y.mean()
    products = dx * dx, dy * dy, dx * dy
    xx, yy, xy = (float(product.mean()) for product in products)
    return _correlation(xy, (xx, yy), (products[0] - xx, products[1] - yy, products[2] - xy), design)


def spearman(x: Values, y: Values, design: Design) -> Correlation | None:
    """Compute Spearman's correlation of two measures; equal values share the mean of their ranks.

    The variance is that of `pearson`, but an item also changes the ranks of other items. With F the share of
    smaller items plus half of the equal items, ψ of the covariance of F and G is

        F(x) G(y) + E[G (1(X > x) + 1(X = x) / 2)] + E[F (1(Y > y) + 1(Y = y) / 2)] - 3 E[F G]

    and the same holds for their variances.

    Source: Croux & Dehon 2010, "Influence functions of the Spearman and Kendall correlation measures",
    Statistical Methods and Applications 19, proposition 1, here with equal values.
    """
    f, g = _shares(x), _shares(y)
    xx, yy, xy = (f * f).mean(), (g * g).mean(), (f * g).mean()
    of_x, of_y = _above(x, f), _above(y, g)
    moves = f * f + 2 * of_x - 3 * xx, g * g + 2 * of_y - 3 * yy, f * g + _above(x, g) + _above(y, f) - 3 * xy
    return _correlation(float(xy) - 0.25, (float(xx) - 0.25, float(yy) - 0.25), moves, design)


def _correlation(
    covariance: float, variances: tuple[float, float], moves: tuple[Values, Values, Values], design: Design
) -> Correlation | None:
    """Compute a correlation and its interval from moments and the influence of each item on them."""
    n_items = len(moves[0])
    if n_items < FEWEST_PAIRED or min(variances) <= 0:
        return None
    scale = sqrt(variances[0]) * sqrt(variances[1])
    r = max(-1.0, min(1.0, covariance / scale))
    move = moves[2] / scale - r / 2 * (moves[0] / variances[0] + moves[1] / variances[1])
    spread = design.spread(move[:, None])
    variance, df = float(spread.variances[0]), spread.df if design.clusters else None
    room = 1 - r * r
    if room < _ROUNDING:
        return Correlation(round(r, _DECIMALS), 0.0, np.nan, np.nan, df)
    fisher = np.inf if n_items == FEWEST_PAIRED else 1 / sqrt(n_items - FEWEST_PAIRED)
    half = quantile(df) * max(sqrt(variance) / room, fisher)
    low, high = (round(tanh(atanh(r) + end), _DECIMALS) for end in (-half, half))
    return Correlation(round(r, _DECIMALS), round(sqrt(variance), _DECIMALS), low, high, df)


def _in_reach(values: Values) -> Values:
    """Rescale values whose squares would overflow or underflow; a correlation does not depend on scale."""
    largest = float(np.abs(values).max(initial=0.0))
    return values if largest == 0 or _SMALL < largest < 1 / _SMALL else values / largest


def _shares(values: Values) -> Values:
    """Return for each item the share of smaller items plus half of the equal ones, (items,)."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    shares: Values = ((below + counts / 2) / len(values))[place]
    return shares


def _above(values: Values, weights: Values) -> Values:
    """Sum for each item the weights of greater items and half of the equal ones, divided by all, (items,)."""
    _, place = np.unique(values, return_inverse=True)
    sums = np.bincount(place, weights)
    above: Values = ((sums[::-1].cumsum()[::-1] - sums / 2) / len(values))[place]
    return above


CORRELATIONS = {"spearman": spearman, "pearson": pearson}
# The columns of a row of correlations, after the columns that name the row.
OF_RATINGS = (
    "n_items",
    "n_undecidable",
    N_HALF_KNOWN,
    *(f"{name}{part}" for name in CORRELATIONS for part in ("", "_low", "_high", "_se")),
    "df",
    "ceiling",
    "clusters",
    "fixed",
)
ALL_SENTENCES = "All sentences"


def correlate(verdicts: pd.DataFrame, by: str | Sequence[str] = ()) -> pd.DataFrame:
    """Correlate scores with ratings for each row of the table, in the columns of `OF_RATINGS`.

    If there are several rows, the last is over all sentences, `ALL_SENTENCES`. Undecidable items (too long,
    or half-known pairs) are left out. Correlations are missing for fewer than three sentences, or if ratings
    or scores do not vary; `df` is missing if sentences are independent. If a model does not know words,
    `n_half_known` counts the sentences with unknown words, or the half-known pairs.
    """
    by = as_names(by)
    refuse_unknown_features(by, map(str, verdicts.columns))
    keys = [*ROW, *by]
    columns = [name for name in OF_RATINGS if name != N_HALF_KNOWN or HALF_KNOWN in verdicts]
    factors = Factors.of_verdicts(verdicts)
    groups = verdicts.groupby(keys, sort=False, dropna=False, observed=True)
    of_group = groups.ngroup().to_numpy()
    records = []
    for place in range(groups.ngroups):
        group = verdicts[of_group == place]
        records.append({**group.iloc[0][keys], **_row(group, factors.take(of_group == place))})
    rows = in_table_order(pd.DataFrame(records, columns=[*keys, *columns]), by)
    if len(rows) > 1:
        overall = dict.fromkeys(keys) | {"construction": ALL_SENTENCES} | _row(verdicts, factors)
        rows = pd.DataFrame([*rows.to_dict("records"), overall], columns=[*keys, *columns], dtype=object)
    kinds = {name: "int64" if name.startswith("n_") else "float64" for name in columns[:-2]}
    return rows.astype(kinds)


def points(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return the `score`, `rating` and `error` of every scored sentence; an unknown error is NaN."""
    scored = verdicts[~verdicts["undecidable"].to_numpy(bool)]
    columns = {"score": "better_score", "rating": RATING, "error": RATING_SE}
    return pd.DataFrame(
        {
            name: scored[column].to_numpy(np.float64, na_value=np.nan) if column in scored else np.nan
            for name, column in columns.items()
        },
        scored.index,
    )


def _row(verdicts: pd.DataFrame, factors: Factors) -> dict[str, object]:
    scored = points(verdicts)
    scores, ratings, errors = (scored[name].to_numpy() for name in ("score", "rating", "error"))
    design = Design.of(factors.take(~verdicts["undecidable"].to_numpy(bool)))
    row: dict[str, object] = {"n_items": len(verdicts), "n_undecidable": len(verdicts) - len(scored)}
    if HALF_KNOWN in verdicts:
        row[N_HALF_KNOWN] = int(verdicts[HALF_KNOWN].sum())
    dfs = []
    for name, correlation in CORRELATIONS.items():
        result = correlation(scores, ratings, design) if len(scores) >= FEWEST_PAIRED else None
        parts = (None,) * 4 if result is None else (result.value, result.low, result.high, result.se)
        dfs += [] if result is None or result.df is None else [result.df]
        row |= dict(zip((name, f"{name}_low", f"{name}_high", f"{name}_se"), parts, strict=True))
    return row | {
        "df": min(dfs, default=None),
        "ceiling": noise_ceiling(ratings, errors),
        "clusters": design.clusters,
        "fixed": design.fixed,
    }


def noise_ceiling(ratings: NDArray[np.float64], errors: NDArray[np.float64]) -> float | None:
    """Return the correlation with these ratings of a model that knows the average human judgement.

    It is the square root of the reliability of the mean ratings, 1 - mean(s.e.²) / variance. If all sentences
    have the same number of ratings, this is the intraclass correlation of their mean. It is also the average
    split-half correlation, corrected by the formula of Spearman and Brown.

    Source: Shrout & Fleiss 1979, "Intraclass correlations: uses in assessing rater reliability",
    Psychological Bulletin 86(2); for the root, Spearman 1904, "The proof and measurement of association
    between two things", American Journal of Psychology 15(1).
    """
    has_error = np.isfinite(errors)
    if has_error.sum() < FEWEST_PAIRED or not (spread := float(ratings[has_error].var(ddof=1))):
        return None
    reliability = 1 - float((errors[has_error] ** 2).mean()) / spread
    return round(sqrt(max(0.0, reliability)), 12)
