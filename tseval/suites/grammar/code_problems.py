"""All that is wrong with the code of a grammar: its conditions and its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.suites.grammar.numbers import number_problems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.suites.grammar.conditions import Problem
    from tseval.suites.grammar.grammar import Grammar


def code_problems(grammar: Grammar, *, all_items: bool) -> list[Problem]:
    """List errors and warnings; some warnings need all items."""
    return [*number_problems(grammar), *grammar.conditions.problems(all_items=all_items)]


def note_of_errors(grammars: Sequence[Grammar]) -> tuple[str, ...]:
    """Name the first error in the code of some grammars, for a user who runs them."""
    errors = [
        f"{grammar.path.name}:{line}: {message.removesuffix('.')}"
        for grammar in grammars
        for severity, line, message in code_problems(grammar, all_items=False)
        if severity == "error"
    ]
    more = f" ({len(errors) - 1:,} more)" if len(errors) > 1 else ""
    return tuple(f"{error}{more}. To see all problems: tseval lint" for error in errors[:1])
