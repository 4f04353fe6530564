"""Find wrong grammatical numbers: numbers that no item uses, and agreement with an unprinted number."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from jinja2 import nodes

from tseval.suites.grammar.code_text import code_text, stripped
from tseval.suites.grammar.source import ALL_NUMBERS, Word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tseval.suites.grammar.conditions import Problem
    from tseval.suites.grammar.grammar import Grammar


_AGREEING = ("agree", "disagree", "match")


def number_problems(grammar: Grammar) -> Iterator[Problem]:
    """Find numbers that no item has, and words that agree with a number that is not printed."""
    code = list(grammar.conditions.code())
    yield from _dropped(grammar, code)
    yield from _agreeing_with_another(grammar, code)


def _dropped(grammar: Grammar, code: list[nodes.Node]) -> Iterator[Problem]:
    """Find a number in which all nouns of a slot have a form, but which no item uses."""
    # Jinja turns a list or a table of texts into one constant.
    constants = (repr(constant.value) for tree in code for constant in tree.find_all(nodes.Const))
    values = {word for text in constants for word in re.findall(r"\w+", text)}
    values |= {attribute.attr for tree in code for attribute in tree.find_all(nodes.Getattr)}
    values |= {filler for slot in grammar.slots for filler in slot.fillers if isinstance(filler, str)}
    for slot in grammar.slots:
        words = [filler for filler in slot.fillers if isinstance(filler, Word)]
        if slot.numbers == 1 or not words:
            continue
        shared_numbers = [number for number in ALL_NUMBERS if all(number in word.forms for word in words)]
        missing = [
            number for number in shared_numbers if number not in {word.number for word in words} | values
        ]
        if missing:
            message = (
                f"the nouns of {slot.name!r} have a form {missing[0]!r}, but no item uses this number. "
                f"Add: numbers: [{', '.join(shared_numbers)}]"
            )
            yield "warning", grammar.document.line("slots", slot.name), message


def _agreeing_with_another(grammar: Grammar, code: list[nodes.Node]) -> Iterator[Problem]:
    """Find slots that are printed in one number, although words agree with the slot's own number."""
    forms: dict[str, list[nodes.Expr]] = defaultdict(list)
    agreeing: dict[str, list[nodes.Filter]] = defaultdict(list)
    other_names: set[str] = set()  # names used otherwise: printed directly, passed on, or of another kind

    def visit(wrapped: nodes.Node) -> None:
        node = stripped(wrapped)
        base = stripped(node.node) if isinstance(node, nodes.Getitem) else None
        if isinstance(node, nodes.Getitem) and isinstance(base, nodes.Name):
            assert isinstance(node.arg, nodes.Expr)
            forms[base.name].append(node.arg)
            visit(node.arg)
        elif isinstance(node, nodes.Filter) and node.name in _AGREEING and node.args:
            controller = stripped(node.args[0])
            if isinstance(controller, nodes.Name):
                agreeing[controller.name].append(node)
            for argument in filter(None, (node.node, *node.args[1:])):
                visit(argument)
        elif isinstance(node, nodes.Getattr):
            if not isinstance(node.node, nodes.Name):
                visit(node.node)
        else:
            if isinstance(node, nodes.Name):
                other_names.add(node.name)
            for part in node.iter_child_nodes():
                visit(part)

    for tree in code:
        visit(tree)
    for slot in grammar.slots:
        keys = [] if slot.name in other_names or not slot.has_number else forms[slot.name]
        key_texts = {code_text(key) for key in keys}
        values = [grammar.conditions.values_of(key) for key in keys]
        if len(key_texts) != 1 or key_texts == {f"{slot.name}.number"} or None in values:
            continue
        printed = [number for number in ALL_NUMBERS if number in (values[0] or ())]
        numbers_of_slot = [
            number
            for number in ALL_NUMBERS
            if number in {word.number for word in slot.fillers if isinstance(word, Word)}
        ]
        if len(printed) < 2 or len(printed) < len(values[0] or ()):
            continue
        (key,) = key_texts
        for agreement in agreeing[slot.name][:1]:
            message = (
                f"'{code_text(agreement)}' takes the number of {slot.name!r} "
                f"({' or '.join(numbers_of_slot)}), but '{slot.name}[{key}]' prints {', '.join(printed)}. "
                f"Write '{agreement.name}({key})'."
            )
            yield "error", agreement.lineno, message
