"""The part of Jinja a grammar may use: what is refused, and what is charged to the budget.

Checked on the syntax tree, before anything is compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import nodes

from tseval.errors import GrammarError, suggest
from tseval.suites.grammar.source import LARGEST_NUMBER

if TYPE_CHECKING:
    from jinja2 import Environment

FILTERS = frozenset(
    {"agree", "disagree", "match", "capitalize", "lower", "upper"}
    | {"first", "last", "length", "join", "int"}
)
TESTS = frozenset({"odd", "even", "divisibleby", "in"})

# Names that Jinja gives a meaning of its own, which a grammar has no use for.
_JINJA_NAMES = frozenset({"self", "caller", "varargs", "kwargs"})

_TAGS = {"Pow": "**", "FromImport": "import", "CallBlock": "call", "FilterBlock": "filter"} | {
    "AssignBlock": "set block",
    "ScopedEvalContextModifier": "autoescape",
    "NSRef": "namespace",
}
_ALLOWED_NODES = frozenset(
    {"Output", "TemplateData", "Name", "Const", "Tuple", "List", "Dict", "Pair", "CondExpr", "Filter"}
    | {"Test", "Call", "Keyword", "Getattr", "Getitem", "Slice", "Concat", "Add", "Sub", "Mul", "Div"}
    | {"FloorDiv", "Mod", "Neg", "Pos", "Not", "And", "Or", "Compare", "Operand", "For", "If", "Macro"}
    | {"Assign", "Template"}
)


def check(tree: nodes.Node) -> None:
    """Refuse every construct that a grammar has no use for.

    Raises:
        GrammarError: Names the construct and its line, without the file.
    """
    for node in tree.find_all(nodes.Node):
        name = type(node).__name__
        if name not in _ALLOWED_NODES or (isinstance(node, nodes.For) and node.recursive):
            what = "a recursive loop" if isinstance(node, nodes.For) else f"'{_TAGS.get(name, name.lower())}'"
            fix = "Use {{ }}, for, if, set, macro and + - * / // % ~."
            raise GrammarError(f"{what} is not allowed.", fix=fix)
        if (
            isinstance(node, nodes.Const)
            and isinstance(node.value, (int, float))
            and abs(node.value) > LARGEST_NUMBER
        ):
            raise GrammarError("a number is too large.", line=node.lineno, fix="Numbers are for counting.")
        word = _looked_up(node)
        if isinstance(word, str) and word.startswith("_"):
            raise GrammarError(
                f"{word!r} may not be used.", line=node.lineno, fix="Names do not begin with an underscore."
            )
        if isinstance(node, (nodes.Name, nodes.Macro)) and word in _JINJA_NAMES:
            fix = "Jinja gives it a meaning of its own: choose another name."
            raise GrammarError(f"{word!r} may not be used.", line=node.lineno, fix=fix)
        if isinstance(node, (nodes.Call, nodes.Filter, nodes.Test)) and (node.dyn_args or node.dyn_kwargs):
            # A few characters would become millions of arguments, before any budget is asked.
            fix = "Write the arguments one by one."
            raise GrammarError("'*' and '**' cannot give arguments.", line=node.lineno, fix=fix)
        if isinstance(node, (nodes.Filter, nodes.Test)):
            what = "filter" if isinstance(node, nodes.Filter) else "test"
            known = FILTERS if what == "filter" else TESTS
            if node.name not in known:
                fix = suggest(node.name, known, f"{what.capitalize()}s")
                raise GrammarError(f"there is no {what} {node.name!r}.", line=node.lineno, fix=fix)


def harden(node: nodes.Node, environment: Environment) -> None:
    """Rewrite checked code so that loops, lists, `~` and comparisons are charged to the budget."""
    for field, value in node.iter_fields():
        children = value if isinstance(value, list) else [value]
        hardened = [_hardened(child, environment) for child in children]
        setattr(node, field, hardened if isinstance(value, list) else hardened[0])
    if isinstance(node, nodes.For):
        cost = nodes.Const(text_cost(node), lineno=node.lineno)
        node.iter = _filter(node.iter, "counted_", [cost])
    if isinstance(node, (nodes.Compare, nodes.Operand)):
        node.expr = _filter(node.expr, "compared_", [])
    node.set_environment(environment)


def text_cost(node: nodes.Node) -> int:
    """Bound the characters that one pass through a block prints by itself."""
    return 1 + sum(len(data.data) for data in node.find_all(nodes.TemplateData))


def _hardened(child: object, environment: Environment) -> object:
    if isinstance(child, nodes.Node):
        harden(child, environment)
        if isinstance(child, nodes.Concat):
            return _filter(nodes.List(child.nodes, lineno=child.lineno), "joined_", [])
        if isinstance(child, (nodes.List, nodes.Dict)) or (
            isinstance(child, nodes.Tuple) and child.ctx == "load"
        ):
            return _filter(child, "flat_", [])
    return child


def _looked_up(node: nodes.Node) -> object:
    """Tell which name, attribute or key a node looks up, if it does."""
    if isinstance(node, (nodes.Name, nodes.Macro)):
        return node.name
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) else None


def _filter(value: nodes.Node, name: str, arguments: list[nodes.Expr]) -> nodes.Filter:
    return nodes.Filter(value, name, arguments, [], None, None, lineno=value.lineno)
