"""The values that an expression in a grammar can have, over all fillers of its slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tseval.errors import GrammarError
from tseval.suites.grammar.sandbox import LIST, NUMBER, TEXT, kind_of
from tseval.suites.grammar.source import Word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.suites.grammar.slots import Filler, Slot


KIND_NAMES = {TEXT: "text", NUMBER: "a number", LIST: "a list"}
Meaning = Callable[[], "Values | None"]


@dataclass(frozen=True, slots=True)
class Values:
    """The values that an expression can have, over all fillers of its slots."""

    has: tuple[Filler, ...]
    others: frozenset[object] = frozenset()  # values that do not occur, but are not mistakes either
    is_literal: bool = False  # whether all of them are written in the code
    is_listed: bool = False  # whether the expression is a list or a table of these values
    is_form: bool = False  # whether they are forms of words

    def element(self) -> Values:
        """Return the values of the elements of a list."""
        return replace(self, is_listed=False)


@dataclass(slots=True)
class Scope:
    """The names that are known in the lines of a grammar, in a macro or in a loop, with their values."""

    names: dict[str, Meaning]
    above: Scope | None = None
    macro: str = ""
    is_conditional: bool = False  # whether the code in it runs only in some items

    def find(self, name: str) -> Values | None:
        """Return the values of a name in this scope or an enclosing one; None if unknown."""
        if name in self.names:
            return self.names[name]()
        return None if self.above is None else self.above.find(name)


def slot_values(slot: Slot) -> Values:
    """Return the values that a slot can have."""
    return Values(slot.fillers, is_listed=slot.repeat is not None)


def constant_values(value: object) -> Values | None:
    """Return the values of a constant in the code; None if it is neither text, number nor list."""
    if isinstance(value, (list, tuple, dict)):
        return as_list(
            [constant_values(element) for element in (value.values() if isinstance(value, dict) else value)]
        )
    return Values((value,), is_literal=True) if isinstance(value, (str, int, float)) else None


def union_of(parts: Sequence[Values | None]) -> Values | None:
    """Return the union of the values of several parts; None if one part is unknown."""
    known_parts = [part for part in parts if part is not None]
    if len(known_parts) < len(parts) or not known_parts or len({part.is_listed for part in known_parts}) > 1:
        return None
    has = {
        id(value) if isinstance(value, Word) else (type(value), value): value
        for part in known_parts
        for value in part.has
    }
    others = frozenset().union(*(part.others for part in known_parts))
    literal = all(part.is_literal for part in known_parts)
    is_form = any(part.is_form for part in known_parts)
    return Values(tuple(has.values()), others, literal, known_parts[0].is_listed, is_form)


def as_list(parts: Sequence[Values | None]) -> Values | None:
    """Return the values of a list with these parts; None if one part is unknown."""
    joined = union_of(parts)
    if joined is None or joined.is_listed:
        return None
    return replace(joined, is_listed=True)


def compared_value(value: Filler) -> str | int | float | None:
    """Return a value as it is compared: a word as the text that it prints, None if it prints none."""
    if not isinstance(value, Word):
        return value
    try:
        return value.text
    except GrammarError:
        return None


def compared_values(values: Values) -> list[str | int | float] | None:
    """Return all values as they are compared; None if one of them cannot be compared."""
    compared = list(dict.fromkeys(map(compared_value, values.has)))
    return None if None in compared else compared  # type: ignore[return-value]


def kinds_of(values: Sequence[object]) -> int:
    """Return the kinds of values as added bits: text, number, list."""
    kinds = 0
    for value in values:
        kinds |= kind_of(value)
    return kinds


def kind_name(kind: int, values: Sequence[object] | None) -> str:
    """Return the name of a kind of values; truth values have a separate name."""
    truth = bool(values) and all(isinstance(value, bool) for value in values or ())
    return "true or false" if truth else KIND_NAMES[kind]
