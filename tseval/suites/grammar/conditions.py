"""Find conditions of a grammar that are always or never true, such as a comparison of text with a number.

There are two sources. The syntax tree shows which values an expression can have, if it consists of slots,
forms of words, and lists or arguments of macros: a comparison with any other value is never true. While items
are made, the sandbox records the outcome of each condition and the kinds of compared values
(`Sandbox.observed`). So tseval knows for every condition whether it is true in all items.

If the possible values are unknown, there is no warning. Values of other words in the lexicon, and other
numbers of nouns, are not mistakes: a macro for all genders is correct even if one gender does not occur.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING, Literal

from jinja2 import nodes

from tseval.suites.grammar.code_text import code_text, stripped
from tseval.suites.grammar.sandbox import FALSE, NUMBER, TEXT, TRUE, kind_of
from tseval.suites.grammar.source import ALL_NUMBERS, NO_FORM, Word
from tseval.suites.grammar.values import (
    KIND_NAMES,
    Meaning,
    Scope,
    Values,
    as_list,
    compared_value,
    compared_values,
    constant_values,
    kind_name,
    kinds_of,
    slot_values,
    union_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.suites.grammar.slots import Slot
    from tseval.suites.grammar.source import Lexicon


# A problem of a condition: its severity, its line in the grammar, and the message.
_Severity = Literal["error", "warning"]
Problem = tuple[_Severity, int, str]

_MOST_VALUES = 500  # an expression with more values counts as unknown
_SHOWN = 8
_EQUALITIES = ("eq", "ne", "in", "notin")


@dataclass(slots=True)
class Conditions:
    """The conditions of one grammar."""

    slots: Sequence[Slot]
    lexicon: Lexicon | None
    numbers: Sequence[str]
    observed: Mapping[str, int]  # by condition: its outcomes; by operand: the kinds of its values (bits)
    definitions: Mapping[str, nodes.Node]  # macros and sets by name
    _bodies: list[tuple[nodes.Node, bool]] = field(default_factory=list, init=False)
    _comparisons: list[tuple[nodes.Expr, Scope]] = field(default_factory=list, init=False)
    _tests: list[tuple[nodes.Expr, Scope]] = field(default_factory=list, init=False)
    _calls: dict[str, list[tuple[nodes.Call, Scope]]] = field(default_factory=dict, init=False)
    _passed_on: set[str] = field(default_factory=set)  # macros used as values: their calls are unknown
    _followed: set[object] = field(default_factory=set)

    def add(self, body: nodes.Node, *, is_condition: bool = False) -> None:
        """Add the code of a line or an expression; `is_condition` if it is a condition."""
        self._bodies.append((body, is_condition))

    def problems(self, *, all_items: bool) -> list[Problem]:
        """Return all problems, each once; constant conditions are reported only if all items were made."""
        self._walk_all()
        errors: dict[str, Problem] = {}
        wrong: set[int] = set()
        for comparison, scope in self._comparisons:
            for severity, message in self._impossible(comparison, scope):
                errors.setdefault(message, (severity, comparison.lineno, message))
                wrong.add(id(comparison))
        warnings: dict[str, Problem] = {}
        for test, scope in self._tests if all_items else ():
            parts = [test, *test.find_all((nodes.Compare, nodes.Test))]
            constant = None if wrong & {id(part) for part in parts} else self._constant(test, scope)
            if constant is not None:
                warnings.setdefault(constant, ("warning", test.lineno, constant))
        return [*errors.values(), *warnings.values()]

    def impossible_at(self, line: int) -> str | None:
        """Return the message about an impossible comparison on a line, or None."""
        return next((message for _, at, message in self.problems(all_items=False) if at == line), None)

    def code(self) -> Iterator[nodes.Node]:
        """Yield all code of the grammar: macros, sets, lines and expressions."""
        yield from self.definitions.values()
        yield from (body for body, _ in self._bodies)

    def values_of(self, node: nodes.Expr) -> list[str | int | float] | None:
        """Return the values of an expression over slots and sets, as they are compared; None if unknown."""
        values = self.values(node, self._root())
        return None if values is None or values.is_listed else compared_values(values)

    def _root(self) -> Scope:
        names: dict[str, Meaning] = {slot.name: partial(slot_values, slot) for slot in self.slots}
        root = Scope(names)
        for name, node in self.definitions.items():
            if isinstance(node, nodes.Assign):
                names[name] = partial(self.values, node.node, root)
        return root

    def _walk_all(self) -> None:
        self._comparisons, self._tests, self._calls, self._passed_on = [], [], {}, set()
        root = self._root()
        for name, node in self.definitions.items():
            if isinstance(node, nodes.Macro):
                parameters: dict[str, Meaning] = {
                    str(parameter.name): partial(self._of_parameter, name, place)
                    for place, parameter in enumerate(node.args)
                }
                inside = Scope(parameters, root, name)
                for part in (*node.defaults, *node.body):
                    self._walk(part, inside)
            else:
                self._walk(node, root)
        for body, is_condition in self._bodies:
            self._walk(body, root)
            if is_condition:
                assert isinstance(body, nodes.Expr)
                self._tests.append((body, root))

    def _walk(self, node: nodes.Node, scope: Scope) -> None:
        """Collect comparisons, conditions and calls, each with the names that are known at that place."""
        if isinstance(node, nodes.Compare) or (isinstance(node, nodes.Test) and node.name == "in"):
            self._comparisons.append((node, scope))
        if isinstance(node, (nodes.If, nodes.CondExpr)):
            assert isinstance(node.test, nodes.Expr)
            self._tests.append((node.test, scope))
            self._walk(node.test, scope)
            # Names that a branch sets exist outside it too, but their values are unknown.
            branch = Scope(scope.names, scope.above, scope.macro, is_conditional=True)
            for part in node.iter_child_nodes(exclude=("test",)):
                self._walk(part, branch)
        elif isinstance(node, (nodes.And, nodes.Or)):
            self._walk(node.left, scope)
            self._walk(node.right, Scope({}, scope, scope.macro, is_conditional=True))
        elif isinstance(node, nodes.For):
            self._walk_loop(node, scope)
        elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name):
            self._calls.setdefault(node.node.name, []).append((node, scope))
            for part in node.iter_child_nodes(exclude=("node",)):
                self._walk(part, scope)
        else:
            if isinstance(node, nodes.Assign) and scope.above is not None:
                scope.names |= dict.fromkeys(_names_in(node.target), _unknown)
            if isinstance(node, nodes.Name) and node.ctx == "load":
                self._passed_on.add(node.name)
            for part in node.iter_child_nodes():
                self._walk(part, scope)

    def _walk_loop(self, loop: nodes.For, scope: Scope) -> None:
        self._walk(loop.iter, scope)
        element = (
            partial(self._element, loop.iter, scope) if isinstance(loop.target, nodes.Name) else _unknown
        )
        names: dict[str, Meaning] = {"loop": _unknown, **dict.fromkeys(_names_in(loop.target), element)}
        inside = Scope(names, scope, scope.macro, is_conditional=True)
        for part in loop.iter_child_nodes(exclude=("target", "iter")):
            self._walk(part, inside)

    def _element(self, listed: nodes.Node, scope: Scope) -> Values | None:
        sequence = self.values(listed, scope)
        return sequence.element() if sequence is not None and sequence.is_listed else None

    # -- the values that an expression can have

    def values(self, node: nodes.Node | None, scope: Scope) -> Values | None:
        """Return the values that an expression can have; None if they are unknown."""
        node = None if node is None else stripped(node)
        result: Values | None = None
        if isinstance(node, nodes.Const):
            result = constant_values(node.value)
        elif isinstance(node, nodes.Neg):
            inner = self.values(node.node, scope)
            if (
                inner is not None
                and inner.is_literal
                and all(kind_of(value) == NUMBER for value in inner.has)
            ):
                result = Values(tuple(-number for number in inner.has), is_literal=True)  # type: ignore[operator]
        elif isinstance(node, nodes.Name):
            result = scope.find(node.name)
        elif isinstance(node, nodes.CondExpr):
            result = union_of([self.values(node.expr1, scope), self.values(node.expr2, scope)])
        elif isinstance(node, (nodes.List, nodes.Tuple)):
            result = as_list([self.values(part, scope) for part in node.items])
        elif isinstance(node, nodes.Dict):
            result = as_list([self.values(part.value, scope) for part in node.items])
        elif isinstance(node, nodes.Getattr):
            result = self._part(self.values(node.node, scope), Values((node.attr,)))
        elif isinstance(node, nodes.Getitem):
            result = self._part(self.values(node.node, scope), self.values(node.arg, scope))
        elif isinstance(node, nodes.Filter):
            result = self._filtered(node, scope)
        return result if result is None or len(result.has) <= _MOST_VALUES else None

    def _of_parameter(self, macro: str, place: int) -> Values | None:
        """Return the union of the values that all calls of a macro pass to one parameter."""
        node = self.definitions[macro]
        assert isinstance(node, nodes.Macro)
        if macro in self._passed_on or (macro, place) in self._followed:
            return None
        self._followed.add((macro, place))
        name, default = str(node.args[place].name), place - len(node.args) + len(node.defaults)
        values: list[Values | None] = []
        for call, scope in self._calls.get(macro, ()):
            by_name = next((keyword.value for keyword in call.kwargs if keyword.key == name), None)
            argument = call.args[place] if place < len(call.args) else by_name
            if argument is None and default >= 0:
                argument = node.defaults[default]
            values.append(self.values(argument, scope))
        self._followed.discard((macro, place))
        return union_of(values)

    def _part(self, whole: Values | None, key: Values | None) -> Values | None:
        """Return the values of a form, number or lemma of words, or of an element of a list."""
        if whole is None:
            return None
        if whole.is_listed:
            return whole.element()
        words = [word for word in whole.has if isinstance(word, Word)]
        keys = [] if key is None or key.is_listed else [compared_value(value) for value in key.has]
        if len(words) < len(whole.has) or not keys or not all(isinstance(value, str) for value in keys):
            return None
        has: dict[str, None] = {}
        others: set[object] = set()
        for word, name in product(words, map(str, keys)):
            if name == "number":
                has |= {} if word.number is None else {word.number: None}
            elif name == "lemma" or name in word.forms:
                has[word.lemma if name == "lemma" else word.forms[name]] = None
        for name in map(str, keys):
            others |= {*self.numbers} if name == "number" else self._of_all_words(name)
        return Values(tuple(has), frozenset(others), is_form="number" not in keys) if has else None

    def _of_all_words(self, name: str) -> set[object]:
        words = () if self.lexicon is None else chain.from_iterable(self.lexicon.classes.values())
        return {word.lemma if name == "lemma" else word.forms.get(name) for word in words}

    def _filtered(self, node: nodes.Filter, scope: Scope) -> Values | None:
        values = self.values(node.node, scope)
        if node.name == "match":
            return Values(("match", "mismatch"))
        if values is None:
            return None
        if node.name in ("first", "last"):
            return values.element() if values.is_listed else None
        words = [word for word in values.has if isinstance(word, Word)]
        if node.name in ("agree", "disagree") and len(words) == len(values.has) and not values.is_listed:
            forms = ((word, number) for word in words for number in ALL_NUMBERS if number in word.forms)
            inflected = tuple(word.inflected(number) for word, number in forms)
            return Values(inflected) if inflected else None
        changed = {"lower": str.lower, "upper": str.upper}.get(node.name)
        texts = None if values.is_listed else compared_values(values)
        if changed is not None and texts is not None and all(isinstance(text, str) for text in texts):
            others = frozenset(changed(value) for value in values.others if isinstance(value, str))
            return Values(tuple(changed(str(text)) for text in texts), others)
        return None

    # -- problems

    def _impossible(self, comparison: nodes.Expr, scope: Scope) -> Iterator[tuple[_Severity, str]]:
        """Find operands of a comparison that can never be equal."""
        sides, operators = _sides(comparison), ["in"]
        if isinstance(comparison, nodes.Compare):
            operators = [operand.op for operand in comparison.ops]
        kinds = _kinds_noted(sides, self.observed)
        for place, ((left, right), operator) in enumerate(zip(pairwise(sides), operators, strict=True)):
            problem = self._unequal(operator, [(left, scope), (right, scope)], kinds[place : place + 2])
            if problem is not None:
                yield problem[0], f"the condition '{code_text(comparison)}' {problem[1]}"

    def _unequal(
        self, operator: str, sides: list[tuple[nodes.Expr, Scope]], kinds: Sequence[int]
    ) -> tuple[_Severity, str] | None:
        values_of_sides = self._compared(operator, sides)
        compared = [
            None if side_values is None else compared_values(side_values) for side_values in values_of_sides
        ]
        kinds = [
            kind or (0 if side_values is None else kinds_of(side_values))
            for kind, side_values in zip(kinds, compared, strict=True)
        ]
        if kinds[0] != kinds[1] and all(kind in KIND_NAMES for kind in kinds):
            outcome = f"so it is {_always(operator)}" if operator in _EQUALITIES else "which has no order"
            names = [kind_name(kind, side_values) for kind, side_values in zip(kinds, compared, strict=True)]
            predicate = f"compares {names[0]} with {names[1]}, {outcome}."
            return "error", _sentences(
                predicate, self._listed_values(sides, values_of_sides), _mended(values_of_sides, kinds)
            )
        is_literal = [side_values is not None and side_values.is_literal for side_values in values_of_sides]
        if operator not in _EQUALITIES or None in values_of_sides or None in compared:
            return None
        literal = next((n for n in (1, 0) if is_literal[n] and not is_literal[1 - n]), None)
        if literal is None:
            return None
        other, values = values_of_sides[1 - literal], compared[1 - literal] or []
        assert other is not None
        possible_values = {*values, *other.others, *self._texts_of(other)}
        literals = compared[literal] or []
        missing = [literal_value for literal_value in literals if literal_value not in possible_values]
        is_part = len(missing) < len(literals)
        # In `x in [a, b]` each member must be possible; in `x == (a if ... else b)` only one must.
        if not missing or (is_part and not (operator in ("in", "notin") and literal == 1)):
            return None
        node = code_text(sides[1 - literal][0])
        predicate = "has a part that is never true" if is_part else f"is {_always(operator)}"
        message = f"{predicate}: '{node}' is never {' and '.join(map(_quoted, missing[:_SHOWN]))}."
        near = _nearest(missing[0], values)
        # Code for all genders of a language is correct even if the words have only some of them.
        others_occur = is_part or (other.is_form and bool(self._asked_of(node) & {*values}))
        severity: _Severity = "warning" if near is None and others_occur else "error"
        fix = "" if near is None else f"Write {_quoted(near)}."
        return severity, _sentences(message, self._listed_values(sides, values_of_sides), fix)

    def _compared(self, operator: str, sides: list[tuple[nodes.Expr, Scope]]) -> list[Values | None]:
        """Return the values of both sides (for `in`, of the list's members); None for unknown values."""
        values = [self.values(*side) for side in sides]
        if operator in ("in", "notin"):
            is_known = values[1] is not None and values[1].is_listed and _is_list(sides[1][0])
        else:
            is_known = not any(side_values is not None and side_values.is_listed for side_values in values)
        return values if is_known else [None, None]

    def _asked_of(self, node: str) -> set[object]:
        """Return all literals that the grammar compares an expression with."""
        return {
            value
            for comparison, scope in self._comparisons
            for left, right in pairwise(_sides(comparison))
            for side, literal in ((left, right), (right, left))
            if code_text(side) == node and (values := self.values(literal, scope)) and values.is_literal
            for value in values.has
        }

    def _texts_of(self, values: Values) -> set[object]:
        """Return the texts of all words of the lexicon if the values include words, compared as texts."""
        if self.lexicon is None or not any(isinstance(value, Word) for value in values.has):
            return set()
        words = chain.from_iterable(self.lexicon.classes.values())
        return {text for word in words for text in (word.lemma, *word.forms.values())}

    def _listed_values(
        self, sides: list[tuple[nodes.Expr, Scope]], values_of_sides: Sequence[Values | None]
    ) -> str:
        """Return a sentence that lists the values of the side that is not a literal."""
        for (node, _), values in zip(sides, values_of_sides, strict=True):
            compared = None if values is None else compared_values(values)
            if values is not None and compared and not values.is_literal and not values.is_listed:
                listed = ", ".join(map(_quoted, compared[:_SHOWN]))
                more = f" and {len(compared) - _SHOWN:,} more" if len(compared) > _SHOWN else ""
                return f"'{code_text(node)}' has the values {listed}{more}."
        return ""

    def _constant(self, test: nodes.Expr, scope: Scope) -> str | None:
        """Return a message if a condition is true in all items, or false in all items."""
        outcome = self.observed.get(_noted_under(test, "asked_") or "", 0)
        names = {name.name for name in test.find_all(nodes.Name)}
        names |= {test.name} if isinstance(test, nodes.Name) else set()
        # `loop` depends on a place in a list, not on the item. A condition inside another one may well be
        # true each time it runs.
        if outcome not in (TRUE, FALSE) or "loop" in names:
            return None
        if outcome == TRUE and self._in_some_items(scope, frozenset()):
            return None
        values_of = {
            text: None
            for node, inner in self._comparisons
            if inner.macro == scope.macro and any(node is part for part in (test, *test.find_all(type(node))))
            for side in _sides(node)
            if (text := self._listed_values([(side, inner)], [self.values(side, inner)]))
        }
        message = (
            f"the condition '{code_text(test)}' is {'true' if outcome == TRUE else 'false'} in all items."
        )
        return " ".join([message, *values_of, "Change it, or delete it."])

    def _in_some_items(self, scope: Scope, macros: frozenset[str]) -> bool:
        """Check whether code runs only in some items: in a branch, or in a macro that is called in one."""
        if scope.is_conditional:
            return True
        if not scope.macro or scope.macro in macros:
            return False
        calls = self._calls.get(scope.macro, ())
        return any(self._in_some_items(caller, macros | {scope.macro}) for _, caller in calls)


def _unknown() -> None:
    return None


def _names_in(target: nodes.Node) -> list[str]:
    return [node.name for node in (target, *target.find_all(nodes.Name)) if isinstance(node, nodes.Name)]


def _is_list(node: nodes.Node) -> bool:
    node = stripped(node)
    constant = isinstance(node, nodes.Const) and isinstance(node.value, (list, tuple))
    return constant or isinstance(node, (nodes.List, nodes.Tuple))


def _noted_under(node: nodes.Node, name: str) -> str | None:
    """Return the key of a recorded condition or operand; None if it is not recorded."""
    if isinstance(node, nodes.Filter) and node.name == name and isinstance(node.args[0], nodes.Const):
        return str(node.args[0].value)
    return None


def _kinds_noted(sides: Sequence[nodes.Expr], observed: Mapping[str, int]) -> list[int]:
    """Return the kinds of the values of each side that were compared; 0 if unknown."""
    keys = (_noted_under(side, "compared_") for side in sides)
    base = next((key.rpartition(" ")[0] for key in keys if key is not None), None)
    return [0 if base is None else observed.get(f"{base} {place}", 0) for place in range(len(sides))]


def _sides(comparison: nodes.Expr) -> list[nodes.Expr]:
    if isinstance(comparison, nodes.Compare):
        return [comparison.expr, *(operand.expr for operand in comparison.ops)]
    assert isinstance(comparison, nodes.Test)
    return [side for side in (comparison.node, *comparison.args) if side is not None]


def _quoted(value: object) -> str:
    if isinstance(value, str):
        return f'"{value or NO_FORM}"'
    return str(value).lower() if isinstance(value, bool) else str(value)


def _always(operator: str) -> str:
    return "always true" if operator in ("ne", "notin") else "never true"


def _sentences(*parts: str) -> str:
    return " ".join(filter(None, parts))


def _mended(values_of_sides: Sequence[Values | None], kinds: Sequence[int]) -> str:
    """Return a fix: the literal, written in the kind of the other side."""
    for index, other_index in ((1, 0), (0, 1)):
        values = values_of_sides[index]
        if values is not None and values.is_literal and not values.is_listed and len(values.has) == 1:
            if kinds[other_index] == TEXT:
                return f'Write "{values.has[0]}".'
            written = str(values.has[0])
            if kinds[other_index] == NUMBER and (
                written.lstrip("-").isdigit() or written in ("true", "false")
            ):
                return f"Write {written} without quotes."
    return ""


def _nearest(wrong: object, known: Sequence[object]) -> object | None:
    names = {str(text): text for text in known}
    folded = {name.casefold(): name for name in names}
    near = get_close_matches(str(wrong).casefold(), folded, n=1)
    begun = str(wrong).casefold()
    starts = [
        name for name in folded if name and begun and (begun.startswith(name) or name.startswith(begun))
    ]
    chosen = near or starts[:1]
    return names[folded[chosen[0]]] if chosen else None
