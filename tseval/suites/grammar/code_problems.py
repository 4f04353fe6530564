"""List all problems in the code of a grammar: in its conditions and in its grammatical numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.suites.grammar.numbers import number_problems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.suites.grammar.conditions import Problem
    from tseval.suites.grammar.grammar import Grammar


def code_problems(grammar: Grammar, *, all_items: bool) -> list[Problem]:
    """List errors and warnings. If `all_items` is false, warnings that need all items are left out."""
    return [*number_problems(grammar), *grammar.conditions.problems(all_items=all_items)]


def note_of_errors(grammars: Sequence[Grammar]) -> tuple[str, ...]:
    """Describe the first error in the code of these grammars, for a user who runs them."""
    errors = [
        f"{grammar.path.name}:{line}: {message.removesuffix('.')}"
        for grammar in grammars
        for severity, line, message in code_problems(grammar, all_items=False)
        if severity == "error"
    ]
    more = f" ({len(errors) - 1:,} more)" if len(errors) > 1 else ""
    return tuple(f"{error}{more}. To see all problems: tseval lint" for error in errors[:1])
