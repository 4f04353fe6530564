"""Rules for the code of a grammar: what is refused, and what counts against the budget of a rendering."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import nodes

from tseval.errors import GrammarError, suggest
from tseval.suites.grammar.noting import watch
from tseval.suites.grammar.source import LARGEST_NUMBER

if TYPE_CHECKING:
    from jinja2 import Environment


FILTERS = frozenset(
    {"agree", "disagree", "match", "capitalize", "lower", "upper"}
    | {"first", "last", "length", "join", "int"}
)
_WITH_A_WORD = frozenset({"agree", "disagree", "match"})
TESTS = frozenset({"odd", "even", "divisibleby", "in"})

# Names that have a fixed meaning in Jinja, and that grammars do not need.
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
    """Refuse every construct that grammars do not need."""
    for node in tree.find_all(nodes.Node):
        name = type(node).__name__
        if name not in _ALLOWED_NODES or (isinstance(node, nodes.For) and node.recursive):
            construct = (
                "a recursive loop" if isinstance(node, nodes.For) else f"'{_TAGS.get(name, name.lower())}'"
            )
            fix = "Use {{ }}, for, if, set, macro and + - * / // % ~."
            raise GrammarError(f"{construct} is not allowed.", fix=fix)
        number = node.value if isinstance(node, nodes.Const) else None
        if isinstance(number, (int, float)) and abs(number) > LARGEST_NUMBER:
            raise GrammarError("a number is too large.", line=node.lineno, fix="Write a smaller number.")
        word = _looked_up(node)
        if isinstance(word, str) and word.startswith("_"):
            fix = "Choose a name that does not begin with an underscore."
            raise GrammarError(f"{word!r} is not allowed as a name.", line=node.lineno, fix=fix)
        if isinstance(node, (nodes.Name, nodes.Macro)) and word in _JINJA_NAMES:
            fix = "Choose another name: in Jinja, this name has a fixed meaning."
            raise GrammarError(f"{word!r} is not allowed as a name.", line=node.lineno, fix=fix)
        if isinstance(node, (nodes.Call, nodes.Filter, nodes.Test)) and (node.dyn_args or node.dyn_kwargs):
            # A few characters could stand for millions of arguments, before the budget is checked.
            fix = "Write the arguments one by one."
            raise GrammarError("arguments with '*' or '**' are not allowed.", line=node.lineno, fix=fix)
        if isinstance(node, (nodes.Filter, nodes.Test)):
            construct = "filter" if isinstance(node, nodes.Filter) else "test"
            names = FILTERS if construct == "filter" else TESTS
            if node.name in _WITH_A_WORD and not node.args:
                fix = f"Name the word: {{{{ verb | {node.name}(subject) }}}}."
                raise GrammarError(
                    f"{node.name!r} does not say which word it inflects.", line=node.lineno, fix=fix
                )
            if node.name not in names:
                fix = suggest(node.name, names, f"{construct.capitalize()}s")
                raise GrammarError(f"there is no {construct} {node.name!r}.", line=node.lineno, fix=fix)


def harden(node: nodes.Node, environment: Environment, scope: str = "") -> None:
    """Rewrite checked code so that loops, lists, `~` and comparisons are charged to the budget.

    The operands and outcomes of conditions are recorded, with the name of the macro that contains them.
    """
    scope = node.name if isinstance(node, nodes.Macro) else scope
    for field, value in node.iter_fields():
        children = value if isinstance(value, list) else [value]
        hardened = [_hardened(child, environment, scope) for child in children]
        setattr(node, field, hardened if isinstance(value, list) else hardened[0])
    if isinstance(node, nodes.For):
        cost = nodes.Const(text_cost(node), lineno=node.lineno)
        node.iter = _filter(node.iter, "counted_", [cost])
    watch(node, scope, environment)


def text_cost(node: nodes.Node) -> int:
    """Return an upper bound on the characters that one pass through a block prints by itself."""
    return 1 + sum(len(data.data) for data in node.find_all(nodes.TemplateData))


def _hardened(child: object, environment: Environment, scope: str) -> object:
    if isinstance(child, nodes.Node):
        harden(child, environment, scope)
        if isinstance(child, nodes.Concat):
            return _filter(nodes.List(child.nodes, lineno=child.lineno), "joined_", [])
        if isinstance(child, (nodes.List, nodes.Dict)) or (
            isinstance(child, nodes.Tuple) and child.ctx == "load"
        ):
            return _filter(child, "flat_", [])
    return child


def _looked_up(node: nodes.Node) -> object:
    """Return the name, attribute or key that a node looks up; None if it looks up nothing."""
    if isinstance(node, (nodes.Name, nodes.Macro)):
        return node.name
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) else None


def _filter(value: nodes.Node, name: str, arguments: list[nodes.Expr]) -> nodes.Filter:
    return nodes.Filter(value, name, arguments, [], None, None, lineno=value.lineno)
