"""Features of items: checks that a suite has them, and selection of items by their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.analysis.rows import as_names
from tseval.errors import SuiteError, suggest
from tseval.items import ENTRY, NOT_FEATURES, Suite

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd


def check_features(suite: Suite, by: str | Sequence[str]) -> None:
    """Raise an error for features that a suite does not have, before anything is scored."""
    refuse_unknown_features(as_names(by), {name for case in suite.cases for name in case.feature_names})


def refuse_unknown_features(by: Sequence[str], columns: Iterable[str]) -> None:
    """Raise an error for features that are not among the columns of verdicts."""
    features = [name for name in columns if name not in NOT_FEATURES]
    for feature in by:
        if feature not in features:
            raise SuiteError(
                f"--by {feature}: the items of the suite have no feature with this name.\n"
                f"  {suggest(feature, features, 'Features')}"
            )


_SHOWN = 12


def select(verdicts: pd.DataFrame, where: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Keep the verdicts with the given values of features, or of `case`, written as they are printed.

    All features must match. If a feature is named several times, one of its values must match.
    """
    rows = verdicts
    for name in dict.fromkeys(name for name, _ in where):
        if name != "case":
            require_features(verdicts, (name,))
        values = verdicts[name].astype("string")
        wanted = [value for feature, value in where if feature == name]
        for value in wanted:
            if not (values == value).any():
                present = [str(option) for option in sorted(verdicts[name].dropna().unique())]
                remainder = f" and {len(present) - _SHOWN} more" if len(present) > _SHOWN else ""
                choices = f"{', '.join(present[:_SHOWN]) or 'none'}{remainder}"
                raise SuiteError(
                    f"no item has {name}={value}.\n  Choose a value of {name} that items have: {choices}."
                )
        rows = rows[values.loc[rows.index].isin(wanted)]
    if rows.empty:
        conditions = " and ".join(f"{name}={value}" for name, value in where)
        raise SuiteError(
            f"no item meets all of these conditions: {conditions}.\n  Leave out one of the conditions."
        )
    return rows


def entry_columns(verdicts: pd.DataFrame) -> list[str]:
    """Return the columns of lexical factors, such as `verb.entry`."""
    return [str(name) for name in verdicts.columns if str(name).endswith(ENTRY)]


def require_features(verdicts: pd.DataFrame, names: Sequence[str], fix: str = "") -> None:
    """Raise an error if an analysis needs features that the suite does not have."""
    features = [str(name) for name in verdicts.columns if name not in NOT_FEATURES]
    for name in names:
        if name not in features or verdicts[name].isna().all():
            hint = fix or suggest(name, features, "Features")
            raise SuiteError(f"the items of these runs have no feature with the name {name!r}.\n  {hint}")
