"""Compile the sentences of a grammar: labelled lines, their fragments, and the code of each fragment.

A labelled line is a sequence of fragments: text, `{{ ... }}`, a whole `{% for %}` or `{% if %}` block. A
fragment depends only on the slots that it names, directly or through macros and sets. So it is rendered once
for each distinct binding of those slots, not once for each item.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from jinja2 import TemplateSyntaxError, UndefinedError, meta, nodes
from jinja2.environment import Template
from jinja2.parser import Parser

from tseval.errors import GrammarError, suggest
from tseval.suites.grammar.allowed_code import FILTERS, check, harden, text_cost
from tseval.suites.grammar.conditions import Conditions
from tseval.suites.grammar.noting import with_noted_outcome
from tseval.suites.grammar.sandbox import Sandbox, as_entry, as_text
from tseval.suites.grammar.source import composed, gathered, how_to_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.items import Feature
    from tseval.suites.grammar.slots import Binding, Slot
    from tseval.suites.grammar.source import Lexicon


# The name under which compiled code leaves the value of a feature. Authors' names cannot begin with `_`.
RESULT = "_result"


@dataclass(frozen=True, slots=True)
class Code:
    """Compiled code and the slots that it depends on."""

    slots: tuple[str, ...]  # in the order of the front matter
    line: int  # the line in the grammar file
    _template: Template
    _sandbox: Sandbox
    _path: Path

    def text(self, bindings: Mapping[str, Binding]) -> str:
        """Return the text of a fragment."""
        text, _ = self._run(bindings)
        return text

    def value(self, bindings: Mapping[str, Binding]) -> Feature:
        """Return the value of a feature."""
        _, value = self._run(bindings)
        if isinstance(value, (str, int, float, bool)):
            return value
        with self._located():
            return as_text(value)

    def entry(self, bindings: Mapping[str, Binding]) -> str:
        """Return the lexicon entry of a lexical factor."""
        _, value = self._run(bindings)
        with self._located():
            return as_entry(value)

    def start_block(self) -> None:
        """Allow the full rendering time again."""
        self._sandbox.budget.start_block()

    def _run(self, bindings: Mapping[str, Binding]) -> tuple[str, object]:
        with self._located():
            self._sandbox.budget.start_text()
            context = self._template.new_context(dict(bindings))
            text = "".join(self._template.root_render_func(context))
            value = context.vars.get(RESULT, text)
            if isinstance(value, str):
                value.encode()  # an escape can make a lone surrogate, which no output can hold
            return text, value

    def _located(self) -> Located:
        return Located(self._path, self.line, self._template)


class Located:
    """A context manager that turns errors in a grammar's code into one message with the line."""

    def __init__(self, path: Path, line: int, template: Template):
        self._path, self._line, self._template = path, line, template

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None or (isinstance(error, GrammarError) and error.path is not None):
            return
        fix: str | None = _TYPES_FIX
        message = f"this text cannot be printed: {str(error) or type(error).__name__}."
        if isinstance(error, GrammarError):
            message, fix = error.message, error.fix
        elif isinstance(error, RecursionError):
            message, fix = "macros are nested too deeply.", "Look for a macro that calls itself."
        elif isinstance(error, MemoryError):
            message, fix = (
                "the memory is not enough to print this text.",
                "Make the texts and lists of this line shorter.",
            )
        elif isinstance(error, UnicodeEncodeError):
            message, fix = "this text has half a character (a lone surrogate).", "Correct its \\u escape."
        elif isinstance(error, TypeError) and (match := _NO_ORDER.match(str(error))):
            kinds = [_KINDS.get(kind, kind) for kind in match.groups()[1:]]
            message = f"'{match[1]}' compares {kinds[0]} with {kinds[1]}, which has no order."
            fix = "Write numbers without quotes, and text in quotes."
        elif isinstance(error, UndefinedError):
            message, fix = f"{error.message}.", _UNDEFINED_FIX
        elif not isinstance(error, (TypeError, ValueError, LookupError, ArithmeticError)):
            return
        raise GrammarError(message, self._path, self._line_of(error), fix) from None

    def _line_of(self, error: BaseException) -> int:
        line, frame = self._line, error.__traceback__
        for _ in range(50):
            if frame is None:
                break
            if frame.tb_frame.f_globals.get("__jinja_template__") is self._template:
                line = self._template.get_corresponding_lineno(frame.tb_lineno)
            frame = frame.tb_next
        return line


_NO_ORDER = re.compile(r"'([<>]=?)' not supported between instances of '(\w+)' and '(\w+)'")
_KINDS = {"str": "text", "int": "a number", "float": "a number", "list": "a list", "tuple": "a list"}
_UNDEFINED_FIX = "Give every inline 'if' an 'else', and every macro its arguments."
_TYPES_FIX = "Check the kinds of the values: words, text, numbers, lists."


@contextmanager
def syntax_errors(path: Path, line: int, fix: str | None) -> Iterator[None]:
    """Turn Jinja's syntax errors into grammar errors with file, line and fix."""
    try:
        yield
    except GrammarError as error:
        if error.path is not None:
            raise
        raise GrammarError(error.message, path, error.line or line, error.fix) from None
    except TemplateSyntaxError as error:
        message = (error.message or "syntax error").rstrip(".")
        if "got '='" in message:
            fix = "Write == to compare two values."
        raise GrammarError(f"{message}.", path, max(error.lineno, line), fix) from None
    except (RecursionError, MemoryError, SyntaxError, OverflowError, ValueError):
        message = "the code is nested too deeply or too large."
        raise GrammarError(message, path, line, "Simplify it.") from None


_LABEL = re.compile(r"([^\W\d]\w*)[ \t]*:(?=\s|$)")
_NO_LABEL = re.compile(r"([^{}:#]{1,40}?)[ \t]*:\s")  # text in the place of a label
_GLUED_LABEL = re.compile(r"([^\W\d]\w*)[ \t]*(:(?=\S)|：)")
_CODE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Line:
    label: str
    number: int
    nodes: list[nodes.Node]


class Sentences:
    """The parsed body of a grammar. `first_line` is its first line in the file; slots are in order."""

    def __init__(
        self,
        text: str,
        path: Path,
        first_line: int,
        slots: Sequence[Slot],
        lexicon: Lexicon | None,
        numbers: Sequence[str],
    ):
        self._path, self._slots = path, [slot.name for slot in slots]
        self._sandbox = Sandbox()
        self._definitions: dict[str, nodes.Node] = {}
        self.conditions = Conditions(slots, lexicon, numbers, self._sandbox.observed, self._definitions)
        text = _CODE.sub(lambda code: composed(code[0]), text)
        preamble, labelled = _split(text.split("\n"), first_line)
        self._define(self._parse(preamble, first_line), preamble.split("\n"), first_line)
        self._lines = gathered(
            partial(self._labelled, label, sentence, number)
            for label, sentence, number in labelled
            if label or not self._is_blank(sentence, number)
        )
        self._check_labels(first_line)
        for line in self._lines:
            self.conditions.add(nodes.Template(line.nodes, lineno=line.number))

    @property
    def labels(self) -> dict[str, int]:
        """Labels, in order, with their lines."""
        return {line.label: line.number for line in self._lines}

    def fragments(self) -> dict[str, list[Code]]:
        """Compile the fragments of every labelled line; a fragment that two lines share is compiled once."""
        codes: dict[str, Code] = {}

        def compiled(group: list[nodes.Node], line: int) -> Code:
            key = repr(group)  # for nodes, == would treat 1 and true as equal
            if key not in codes:
                codes[key] = self._compile(group, line)
            return codes[key]

        return {
            line.label: [compiled(group, line.number) for group in self._groups(line)] for line in self._lines
        }

    def expression(self, source: str, line: int, *, is_condition: bool = False) -> Code:
        """Compile the expression of a feature or of `where`, which may use slots, macros and sets."""
        with syntax_errors(self._path, line, _FEATURE_FIX):
            parser = Parser(self._sandbox, "\n" * (line - 1) + source, state="variable")
            expression = parser.parse_expression()
            if parser.stream.current.type == "assign":
                raise GrammarError("'=' does not compare two values.", fix="Write == to compare two values.")
            if not parser.stream.eos:
                parser.fail("this is more than one expression", line)
            assign = nodes.Assign(nodes.Name(RESULT, "store"), expression, lineno=line)
            check(expression_tree := nodes.Template([nodes.Output([expression])], lineno=line))
            self._check_names(expression_tree, _FEATURE_FIX)
            harden(assign, self._sandbox)
            assert isinstance(assign.node, nodes.Expr)
            if is_condition:
                assign.node = with_noted_outcome(assign.node, "", self._sandbox)
            self.conditions.add(assign.node, is_condition=is_condition)
            return self._compile([assign], line)

    def _parse(self, source: str, line: int) -> list[nodes.Node]:
        with syntax_errors(self._path, line, _BLOCK_FIX):
            tree = self._sandbox.parse("\n" * (line - 1) + source)
            check(tree)
            harden(tree, self._sandbox)
        return tree.body

    def _define(self, body: list[nodes.Node], lines: Sequence[str], first_line: int) -> None:
        for node in body:
            if isinstance(node, nodes.Output) and (stray := _stray_text(node)):
                raise self._no_label(lines[stray - first_line], stray)
            if isinstance(node, nodes.Output):
                continue
            name = node.name if isinstance(node, nodes.Macro) else None
            if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name):
                name = node.target.name
            if name is None:
                fix = "Before the labelled lines, write only {% macro %}, and {% set %} with one name."
                raise GrammarError("this block is not allowed here.", self._path, node.lineno, fix)
            if name in self._slots or name in self._definitions or name in self._sandbox.globals:
                fix = "Give every slot, macro and set its own name."
                raise GrammarError(f"the name {name!r} is already defined.", self._path, node.lineno, fix)
            self._definitions[name] = node
        macros = [node for node in self._definitions.values() if isinstance(node, nodes.Macro)]
        self._sandbox.macro_costs = {macro.name: text_cost(macro) for macro in macros}
        for node in self._definitions.values():
            self._check_names(nodes.Template([node], lineno=1), None)

    def _labelled(self, label: str, sentence: str, number: int) -> _Line:
        if not label:
            raise self._no_label(sentence, number)
        if not sentence.strip():
            raise GrammarError(f"the sentence {label!r} is empty.", self._path, number, _LABEL_FIX)
        body = self._parse(sentence.strip(), number)
        tree = nodes.Template(body, lineno=number)
        for node in tree.find_all((nodes.Assign, nodes.Macro)):
            fix = "Move the set or macro before the first labelled line."
            raise GrammarError(
                "{% set %} and {% macro %} are not allowed inside a labelled line.",
                self._path,
                node.lineno,
                fix,
            )
        self._check_names(tree, None)
        return _Line(label, number, body)

    def _no_label(self, line: str, number: int) -> GrammarError:
        """Return the error for a line without a label, or with an invalid label."""
        name, glued = _NO_LABEL.match(line.strip()), _GLUED_LABEL.match(line.strip())
        if glued is not None:
            message = f"the label {glued[1]!r} ends in {glued[2]!r} without a space."
            return GrammarError(message, self._path, number, f"Write '{glued[1]}: ', with a space.")
        if name is not None:
            message, fix = f"{name[1]!r} cannot be a label.", how_to_name(name[1])
            return GrammarError(message, self._path, number, fix)
        return GrammarError("expected 'label: sentence'.", self._path, number, _LABEL_FIX)

    def _is_blank(self, source: str, number: int) -> bool:
        """Check whether an unlabelled line has only comments."""
        if not source.strip():
            return True
        return source.lstrip().startswith("{#") and not any(
            not isinstance(node, nodes.Output) or _stray_text(node) for node in self._parse(source, number)
        )

    def _check_labels(self, first_line: int) -> None:
        if len(self._lines) < 2:
            n_labelled = f"{len(self._lines) or 'no'} labelled sentence{'' if self._lines else 's'}"
            message = f"{n_labelled}; a grammar needs two or more."
            raise GrammarError(message, self._path, first_line, _LABEL_FIX)
        seen: set[str] = set()
        for line in self._lines:
            if line.label in seen:
                message = f"the label {line.label!r} appears twice."
                raise GrammarError(message, self._path, line.number, "Rename one of them.")
            seen.add(line.label)

    def _check_names(self, tree: nodes.Template, fix: str | None) -> None:
        """Refuse undefined names, before anything is rendered."""
        defined_names = {*self._slots, *self._definitions, *self._sandbox.globals}
        for name in sorted(self._used(tree) - defined_names):
            line = min(node.lineno for node in tree.find_all(nodes.Name) if node.name == name)
            if name in FILTERS:
                advice = f"Write {{{{ {_as_filter(tree, name)} }}}}."
                raise GrammarError(
                    f"{name!r} is a filter, so it must follow a word and '|'.", self._path, line, advice
                )
            hint = suggest(name, [*self._slots, *self._definitions], "Slots, macros and sets")
            message = f"{name!r} is not defined."
            raise GrammarError(message, self._path, line, f"{hint} {fix}" if fix else hint)

    @cached_property
    def _used_by_definitions(self) -> dict[str, set[str]]:
        return {
            name: self._used(nodes.Template([node], lineno=1)) for name, node in self._definitions.items()
        }

    def _used(self, tree: nodes.Template) -> set[str]:
        """Return the names that code uses but does not define."""
        if not any(tree.find_all(_SCOPES)):
            return {name.name for name in tree.find_all(nodes.Name)}
        # If code may define names itself, a whole compilation is needed, which is thirty times slower.
        tree.set_environment(self._sandbox)
        return meta.find_undeclared_variables(tree)

    def _needs(self, body: list[nodes.Node]) -> tuple[tuple[str, ...], list[nodes.Node]]:
        """Return the slots and the definitions that code depends on, directly or through definitions."""
        needed: set[str] = set()
        waiting = [self._used(nodes.Template(body, lineno=1))]
        while waiting:
            for name in waiting.pop() - needed:
                needed.add(name)
                if name in self._definitions:
                    waiting.append(self._used_by_definitions[name])
        slots = tuple(name for name in self._slots if name in needed)
        return slots, [node for name, node in self._definitions.items() if name in needed]

    def _groups(self, line: _Line) -> Iterator[list[nodes.Node]]:
        """Split a line into fragments. Neighbours are joined if one needs no slots beyond the other's."""
        group: list[nodes.Node] = []
        group_slots: set[str] = set()
        for node in _flatten(line.nodes):
            slots = set(self._needs([node])[0])
            if group and not (slots <= group_slots or group_slots <= slots):
                yield group
                group, group_slots = [], set()
            group.append(node)
            group_slots |= slots
        yield group

    def _compile(self, body: list[nodes.Node], line: int) -> Code:
        slots, definitions = self._needs(body)
        tree = nodes.Template([*definitions, *body], lineno=1)
        tree.set_environment(self._sandbox)
        with syntax_errors(self._path, line, None):
            template = Template.from_code(
                self._sandbox, self._sandbox.compile(tree), self._sandbox.make_globals(None)
            )
        return Code(slots, line, template, self._sandbox, self._path)


# Nodes that define names or look names up in a special way.
_SCOPES = (
    nodes.Assign, nodes.AssignBlock, nodes.Block, nodes.CallBlock, nodes.FilterBlock, nodes.For,
    nodes.FromImport, nodes.Import, nodes.Macro, nodes.OverlayScope, nodes.Scope,
    nodes.ScopedEvalContextModifier, nodes.With,
)  # fmt: skip

_FEATURE_FIX = "A feature is an expression. For plain text, write \"'text'\", with both pairs of quotes."
_LABEL_FIX = "Write for example 'grammatical: the {{ subject }} ...', one sentence on one line."
_BLOCK_FIX = "Close each {{, {% for %} and {% if %} on the labelled line where it begins."


def _split(lines: list[str], first_line: int) -> tuple[str, list[tuple[str, str, int]]]:
    """Split a body into the text before the first label, and rows (label or '', sentence, line)."""
    labelled: list[tuple[str, str, int]] = []
    preamble: list[str] = []
    for number, line in enumerate(lines, first_line):
        name, colon, sentence = line.partition(":")
        line = composed(name) + colon + sentence  # noqa: PLW2901 - the label as names are compared
        label = _LABEL.match(line)
        if label:
            labelled.append((label[1], line[label.end() :].lstrip(" "), number))
        elif labelled:
            labelled.append(("", line, number))
        else:
            preamble.append(line)
    return "\n".join(preamble), labelled


def _as_filter(tree: nodes.Template, name: str) -> str:
    """Rewrite the call of a filter: `agree(verb, subject)` becomes `verb | agree(subject)`."""
    for call in tree.find_all(nodes.Call):
        names = [arg.name for arg in call.args if isinstance(arg, nodes.Name)]
        if isinstance(call.node, nodes.Name) and call.node.name == name and names:
            word, *others = names
            return f"{word} | {name}({', '.join(others)})" if others else f"{word} | {name}"
    return f"word | {name}"


def _stray_text(output: nodes.Output) -> int | None:
    """Return the first line of an output that prints something, or None."""
    for node in output.nodes:
        if not isinstance(node, nodes.TemplateData):
            return node.lineno
        if node.data.strip():
            blank = node.data[: len(node.data) - len(node.data.lstrip())]
            return node.lineno + blank.count("\n")
    return None


def _flatten(body: Collection[nodes.Node]) -> Iterator[nodes.Node]:
    """Yield the top-level fragments one by one, each in an output node."""
    for node in body:
        if isinstance(node, nodes.Output):
            for child in node.nodes:
                yield nodes.Output([child], lineno=child.lineno)
        else:
            yield node
