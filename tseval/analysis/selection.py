"""Choose the verdicts that an analysis is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.errors import SuiteError, suggest
from tseval.items import ENTRY, RESERVED_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

_SHOWN = 12


def select(verdicts: pd.DataFrame, where: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Keep the verdicts that have the given values.

    Args:
        verdicts: One row per item and contrast.
        where: Pairs of a feature, or `case`, and a value of it as it is printed; all must hold, and of one
            feature that is named several times one of its values.

    Raises:
        SuiteError: There is no such feature, it never has that value, or no item has all the values.
    """
    kept = verdicts
    for name in dict.fromkeys(name for name, _ in where):
        if name != "case":
            require_features(verdicts, (name,))
        values = verdicts[name].astype("string")
        wanted = [value for other, value in where if other == name]
        for value in wanted:
            if not (values == value).any():
                present = [str(one) for one in sorted(verdicts[name].dropna().unique())]
                more = f" and {len(present) - _SHOWN} more" if len(present) > _SHOWN else ""
                raise SuiteError(
                    f"no item has {name} {value!r}.\n  Values: {', '.join(present[:_SHOWN]) or 'none'}{more}."
                )
        kept = kept[values.loc[kept.index].isin(wanted)]
    if kept.empty:
        said = " and ".join(f"{name}={value}" for name, value in where)
        raise SuiteError(f"no item has all of {said}.\n  Leave one of them out.")
    return kept


def entry_columns(verdicts: pd.DataFrame) -> list[str]:
    """Name the columns of lexical factors, `verb.entry` and the like."""
    return [str(name) for name in verdicts.columns if str(name).endswith(ENTRY)]


def require_features(verdicts: pd.DataFrame, names: Sequence[str], fix: str = "") -> None:
    """Refuse an analysis of features that the suite does not have.

    Raises:
        SuiteError: Names the feature, and says how to come by it or which ones there are.
    """
    features = [str(name) for name in verdicts.columns if name not in RESERVED_NAMES]
    for name in names:
        if name not in features or verdicts[name].isna().all():
            hint = fix or suggest(name, features, "Features")
            raise SuiteError(f"the suite of these runs has no feature {name!r}.\n  {hint}")
