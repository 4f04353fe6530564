"""The number that the verb of an item should have: said by its case, or found by what its form depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from tseval.errors import SuiteError, suggest
from tseval.suites.agreement.examples import EXAMPLE_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.items import Case

NUMBER = "number"
_OF_A_SLOT = f"_{NUMBER}"  # `subject_number`: grammars say the number of each noun


def numbers_asked(case: Case, forms: Sequence[tuple[str, str]]) -> list[str]:
    """Give the number that the critical word of every item should have.

    A feature `number` says it. Otherwise it is the number of the noun that the word agrees with: of features
    such as `subject_number` the one on which the choice between the two forms depends. The digest of a suite
    covers its features, so that adding `number` to a published suite would make another suite of it.

    Args:
        case: With features.
        forms: The right and the wrong form of the critical word of each item.

    Returns:
        `sing` or `plur` for each item.

    Raises:
        SuiteError: Nothing says it, or something else than a number does.
    """
    if NUMBER in case.features.column_names:
        return _said(case)
    found = {
        tuple(numbers)
        for name in case.features.column_names
        if name.endswith(_OF_A_SLOT)
        and _chosen_by(numbers := [str(one) for one in case.features[name].to_pylist()], forms)
    }
    if len(found) == 1:
        return list(found.pop())
    raise SuiteError(
        f"case {case.name!r} has no feature {NUMBER!r}, the number that the verb should have.\n"
        "  In a grammar, add under 'features': 'number: subject.number', naming the noun that the verb "
        f"agrees with;\n  in data, a column {NUMBER!r} of sing and plur. "
        f"{suggest(NUMBER, case.features.column_names, 'Features')}"
    )


def _said(case: Case) -> list[str]:
    for value in pc.unique(case.features[NUMBER]).to_pylist():
        if value not in EXAMPLE_NUMBERS:
            raise SuiteError(
                f"case {case.name!r}: the feature {NUMBER!r} is {value!r} for an item.\n"
                f"  Write {' or '.join(EXAMPLE_NUMBERS)}."
            )
    return [str(value) for value in case.features[NUMBER].to_pylist()]


def _chosen_by(numbers: Sequence[str], forms: Sequence[tuple[str, str]]) -> bool:
    """Tell whether numbers choose between two forms: each is right with one number, never with the other."""
    right: dict[tuple[str, str], str] = {}
    for (better, worse), number in zip(forms, numbers, strict=True):
        if number not in EXAMPLE_NUMBERS or right.setdefault((better, worse), number) != number:
            return False
    return all(right.get((worse, better)) != number for (better, worse), number in right.items())
