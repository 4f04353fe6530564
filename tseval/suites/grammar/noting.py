"""Insert filters that record the outcomes of conditions and the kinds of values that they compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import nodes

from tseval.suites.grammar.code_text import code_text

if TYPE_CHECKING:
    from jinja2 import Environment


def watch(node: nodes.Node, scope: str, environment: Environment) -> None:
    """Record the outcomes of a node's condition and the kinds of its operands, when the sandbox runs it.

    Keys are made of the code's text, so that two labelled lines can share compiled code.
    """
    if isinstance(node, (nodes.If, nodes.CondExpr)) and isinstance(node.test, nodes.Expr):
        node.test = with_noted_outcome(node.test, scope, environment)
    if isinstance(node, nodes.Compare):
        key = _key(scope, node)
        node.expr = _operand(node.expr, key, 0)
        for place, operand in enumerate(node.ops, 1):
            operand.expr = _operand(operand.expr, key, place, members=operand.op in ("in", "notin"))
    elif isinstance(node, nodes.Test) and node.name == "in" and node.args:
        key = _key(scope, node)
        assert isinstance(node.node, nodes.Expr)
        node.node = _operand(node.node, key, 0)
        node.args[0] = _operand(node.args[0], key, 1, members=True)
    node.set_environment(environment)


def with_noted_outcome(test: nodes.Expr, scope: str, environment: Environment) -> nodes.Expr:
    """Return a condition that records its outcome."""
    result = _filter(test, "asked_", nodes.Const(_key(scope, test)))
    result.set_environment(environment)
    return result


def _operand(value: nodes.Expr, key: str, place: int, *, members: bool = False) -> nodes.Filter:
    return _filter(value, "compared_", nodes.Const(f"{key} {place}"), nodes.Const(members))


def _key(scope: str, node: nodes.Node) -> str:
    return f"{scope}:{code_text(node)}"


def _filter(value: nodes.Expr, name: str, *arguments: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(value, name, list(arguments), [], None, None, lineno=value.lineno)
