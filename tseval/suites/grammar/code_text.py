"""Convert syntax trees of grammar code back to text, for messages that show a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


# Filters that tseval inserts into compiled code (`allowed_code.harden`). No author writes them.
TRANSPARENT = frozenset({"counted_", "flat_", "compared_", "asked_"})

_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "lteq": "<=", "gt": ">", "gteq": ">=", "in": "in"}
_COMPARISONS |= {"notin": "not in"}
_OPERATORS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "FloorDiv": "//", "Mod": "%"}


def stripped(node: nodes.Node) -> nodes.Node:
    """Remove the filters that tseval inserted around a node."""
    while isinstance(node, nodes.Filter) and node.name in TRANSPARENT and node.node is not None:
        node = node.node
    return node


def code_text(node: nodes.Node | None) -> str:
    """Return the text of an expression, as an author would write it.

    >>> from jinja2 import Environment
    >>> tree = Environment().parse("{{ 'x' if depth>1 and not noun.number in ('sing', 'dual') else [1] }}")
    >>> code_text(tree.body[0].nodes[0])
    '"x" if depth > 1 and not noun.number in ["sing", "dual"] else [1]'
    """
    if node is None:
        return ""
    node = stripped(node)
    write = _WRITTEN.get(type(node).__name__)
    return "..." if write is None else write(node)


def _comparison(node: nodes.Compare) -> str:
    parts = [_joined(node.expr, nodes.Compare)]
    for operand in node.ops:
        parts += _COMPARISONS[operand.op], _joined(operand.expr, nodes.Compare)
    return " ".join(parts)


def _calculation(node: nodes.BinExpr) -> str:
    return f"{_within(node.left)} {_OPERATORS[type(node).__name__]} {_within(node.right)}"


def _both(node: nodes.And | nodes.Or) -> str:
    """Return the text of `and` or `or`; calculations and comparisons inside bind more tightly."""
    return f"{_joined(node.left)} {type(node).__name__.lower()} {_joined(node.right)}"


def _choice(node: nodes.CondExpr) -> str:
    other = "" if node.expr2 is None else f" else {code_text(node.expr2)}"
    return f"{code_text(node.expr1)} if {code_text(node.test)}{other}"


def _filter(node: nodes.Filter) -> str:
    if node.name == "joined_" and isinstance(node.node, nodes.List):  # the compiled form of `~`
        return " ~ ".join(map(_within, node.node.items))
    return f"{_within(node.node)} | {node.name}" + (f"({_listed(node.args)})" if node.args else "")


def _test(node: nodes.Test) -> str:
    return f"{_within(node.node)} is {node.name}" + (f"({_listed(node.args)})" if node.args else "")


def _call(node: nodes.Call) -> str:
    named = [f"{keyword.key}={code_text(keyword.value)}" for keyword in node.kwargs]
    return f"{code_text(node.node)}({', '.join([*map(code_text, node.args), *named])})"


_WRITTEN: dict[str, Callable[[Any], str]] = {
    "Const": lambda node: _constant(node.value),
    "Name": lambda node: str(node.name),
    "Getattr": lambda node: f"{_within(node.node)}.{node.attr}",
    "Getitem": lambda node: f"{_within(node.node)}[{code_text(node.arg)}]",
    "Compare": _comparison,
    **dict.fromkeys(_OPERATORS, _calculation),
    "And": _both,
    "Or": _both,
    "Not": lambda node: f"not {_joined(node.node)}",
    "Neg": lambda node: f"-{_within(node.node)}",
    "Pos": lambda node: f"+{_within(node.node)}",
    "CondExpr": _choice,
    "List": lambda node: f"[{_listed(node.items)}]",
    "Tuple": lambda node: f"[{_listed(node.items)}]",
    "Dict": lambda node: "{...}",
    "Concat": lambda node: " ~ ".join(map(_within, node.nodes)),
    "Filter": _filter,
    "Test": _test,
    "Call": _call,
}


def _within(node: nodes.Node | None) -> str:
    """Return the text of a part of an expression, in brackets if it needs them."""
    inner = None if node is None else stripped(node)
    loose = (nodes.CondExpr, nodes.Compare, nodes.BinExpr, nodes.Not, nodes.Filter, nodes.Test, nodes.Concat)
    text = code_text(inner)
    return f"({text})" if isinstance(inner, loose) else text


def _joined(node: nodes.Node | None, *others: type[nodes.Node]) -> str:
    """Return the text of an operand of `and`, `or` or a comparison."""
    inner = None if node is None else stripped(node)
    loose: tuple[type[nodes.Node], ...] = (nodes.And, nodes.Or, nodes.CondExpr, *others)
    return _within(inner) if isinstance(inner, loose) else code_text(inner)


def _constant(value: object) -> str:
    """Return the text of a constant. Jinja makes one constant of a list or table of constants."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_constant, value))}]"
    return "{...}" if isinstance(value, dict) else str(value).lower()


def _listed(parts: Iterable[nodes.Node]) -> str:
    return ", ".join(map(code_text, parts))
