"""Effects of a design: by how many bits predictions hold, and the surprisals that they rest on."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tseval.analysis.accuracy import ROW, items_of_rows
from tseval.analysis.design import Design, Factors
from tseval.analysis.differences import average
from tseval.errors import SuiteError
from tseval.items import ENTRY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tseval.analysis.accuracy import Answers

NATS_PER_BIT = log(2)
EFFECT = ("effect", "effect_low", "effect_high", "effect_se")
CONDITION, REGION = "condition", "region"
# What is told of an average, as `Average` has it.
AVERAGED = ("value", "low", "high", "se", "df", "n_items", "clusters", "fixed")
_NONE: tuple[object, ...] = (*[np.nan] * 4, None, 0, {}, ())


def effects(verdicts: pd.DataFrame) -> NDArray[np.float64]:
    """Give by how many bits each verdict's prediction holds, negative where it does not, (verdicts,).

    That is what should be greater less what should be smaller: of `a.x < b.x` the surprisal of `b.x` less
    that of `a.x`, and of a comparison of two differences the difference of these. Not a number where a
    prediction is no single `<` or `>`, or could not be decided.

    Args:
        verdicts: Of a run that is scored by regions.
    """
    nats = (verdicts["better_score"] - verdicts["worse_score"]).to_numpy(np.float64, na_value=np.nan)
    return np.where(verdicts["undecidable"].to_numpy(bool), np.nan, nats / NATS_PER_BIT)


def with_effects(rows: pd.DataFrame, answers: Answers, bits: NDArray[np.float64]) -> pd.DataFrame:
    """Add the columns of `EFFECT` to the rows of a table: the mean effect in bits, and how sure it is.

    Args:
        rows: In the order in which `answers` numbers them.
        answers: Which item stands in which row.
        bits: As `effects` gives them, (verdicts,).
    """
    found = [average(bits[items], design) for items, design in items_of_rows(answers.rows, answers.factors)]
    values = [
        (np.nan,) * len(EFFECT) if one is None else (one.value, one.low, one.high, one.se) for one in found
    ]
    return rows.join(pd.DataFrame(values, rows.index, EFFECT, dtype="float64"))


def mean_effects(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Average the effect of each prediction.

    Args:
        verdicts: Of a run that is scored by regions.

    Returns:
        A row for each row of the table: the columns of `ROW` and of `AVERAGED`, in bits; missing where there
        is no effect.
    """
    return _averages(verdicts, effects(verdicts), ROW)


def mean_surprisals(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Average the surprisal of each region under each condition, over items that some prediction decides.

    Args:
        verdicts: Of a run that is scored by regions.

    Returns:
        A row for each construction, region and condition: the columns of `ROW` but the last, `region`,
        `condition`, and the columns of `AVERAGED`, in bits; missing where nothing is decided.

    Raises:
        SuiteError: The run compares no regions.
    """
    # Named `what_gap.critical` among the verdicts, the same in all verdicts on an item.
    names = [name for name in map(str, verdicts.columns) if "." in name and not name.endswith(ENTRY)]
    decided = verdicts[~verdicts["undecidable"].astype(bool)]
    once = verdicts.index.isin(decided.drop_duplicates(["case", "item"]).index)
    found = []
    for name in names:
        # Cases that lack a condition have no numbers there.
        asked = verdicts.groupby("case")[name].transform("count").to_numpy() > 0
        bits = np.where(once, verdicts[name].to_numpy(np.float64, na_value=np.nan) / NATS_PER_BIT, np.nan)
        condition, _, region = name.rpartition(".")
        means = _averages(verdicts[asked], bits[asked], ROW[:-1])
        found.append(means.assign(**{REGION: region, CONDITION: condition}))
    if not found:
        raise SuiteError(
            "these runs compare no regions of sentences, so there are no conditions and no effects.\n"
            "  Score a suite whose grammars state predictions (docs/grammars.md), or one of SyntaxGym."
        )
    rows = pd.concat(found, ignore_index=True)
    order = [rows[name].astype(object).fillna("") for name in (*ROW[:-1], REGION)]
    places = rows.groupby(order, sort=False).ngroup()
    return rows.loc[places.sort_values(kind="stable").index].reset_index(drop=True)


def _averages(verdicts: pd.DataFrame, bits: NDArray[np.float64], by: Sequence[str]) -> pd.DataFrame:
    """Average numbers in every group of verdicts."""
    factors = Factors.of_verdicts(verdicts)
    groups = verdicts.groupby([*by], sort=False, dropna=False)
    keys = list(groups.ngroup().drop_duplicates().index)
    group, rows = groups.ngroup().to_numpy(), []
    for place in range(groups.ngroups):
        own = group == place
        one = average(bits[own], Design.of(factors.take(own)))
        rows.append(_NONE if one is None else tuple(getattr(one, name) for name in AVERAGED))
    told = pd.DataFrame(rows, columns=[*AVERAGED]).astype({"df": "Int64"})
    return pd.concat([verdicts.loc[keys, [*by]].reset_index(drop=True), told], axis=1)
