"""Prompt templates: texts that contain two sentences, and ask for the answer 1 or 2.

A template is a Jinja file with `{{ sentence_1 }}` and `{{ sentence_2 }}`. It may change them with a few
filters, and choose between texts with `{% if %}`. All else is refused, so a template can neither run for long
nor read files.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import StrictUndefined, Template, TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tseval.errors import LimitError, ModelError, first_line, suggest
from tseval.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator


BUNDLED = Path(__file__).with_name("templates")
DEFAULT = "grammatical"
ENDING = ".jinja"
SENTENCES = ("sentence_1", "sentence_2")
FILTERS = frozenset({"capitalize", "lower", "trim", "upper"})
_ALLOWED = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Filter, nodes.Const, nodes.If,
    nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not,
)  # fmt: skip
LONGEST_PROMPT = 20_000  # characters of a template


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A compiled template; equal texts have equal digests, independent of the path."""

    name: str
    text: str
    compiled: Template

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return template_digest(self.text)

    def render(self, first: str, second: str) -> str:
        """Return the prompt for two sentences."""
        return self.compiled.render(dict(zip(SENTENCES, (first, second), strict=True))).strip()


def template_digest(text: str) -> str:
    """Return the SHA-256 of a template's text, which identifies it in runs."""
    return sha256(text.encode()).hexdigest()


def bundled_templates() -> list[str]:
    """Return the names of the templates that come with tseval."""
    return sorted(path.stem for path in BUNDLED.glob(f"*{ENDING}"))


def open_template(name: str) -> PromptTemplate:
    """Open a bundled template by name, or another one by path.

    Raises:
        ModelError: There is no such template, or it contains anything that is not allowed.
    """
    path = BUNDLED / f"{name}{ENDING}" if name in bundled_templates() else Path(name)
    where = f"--prompt {name}"
    try:
        text = read_bytes(path, "grammar_bytes").decode()
    except UnicodeDecodeError:
        raise ModelError(f"{where}: the file is not UTF-8 text.\n  Save the file as UTF-8.") from None
    except (OSError, ValueError) as error:
        hint = suggest(name, bundled_templates(), "Templates")
        reason = error.strerror if isinstance(error, OSError) else first_line(error)
        raise ModelError(f"{where}: tseval cannot read this file ({reason}).\n  {hint}") from None
    if len(text) > LONGEST_PROMPT:
        raise LimitError(
            f"{where}: the template has {len(text):,} characters, but at most {LONGEST_PROMPT:,} are allowed."
            "\n  Write a shorter template."
        )
    return template_of(path.stem, text, where)


def template_of(name: str, text: str, where: str) -> PromptTemplate:
    """Compile a template, and try it with two sentences."""
    room = ImmutableSandboxedEnvironment(undefined=StrictUndefined)
    try:
        tree = room.parse(text)
        for node in _all_nodes(tree):
            if problem := _refusal(node):
                raise _cannot(where, getattr(node, "lineno", 1), problem)
        template = PromptTemplate(name, text, room.from_string(text))
        prompt = template.render("\ue000", "\ue001")
    except (TemplateError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 1
        raise _cannot(where, line, f"Jinja cannot read this ({first_line(error)})") from None
    for sentence, mark in zip(SENTENCES, "\ue000\ue001", strict=True):
        if mark not in prompt:
            raise ModelError(
                f"{where}: the prompt does not show {sentence}.\n"
                f"  Write {{{{ {sentence} }}}} where the sentence stands."
            )
    return template


def _all_nodes(tree: nodes.Node) -> Iterator[nodes.Node]:
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending += node.iter_child_nodes()


def _refusal(node: nodes.Node) -> str | None:
    """Return why a node is not allowed in a template; None if it is allowed."""
    if isinstance(node, nodes.Name) and node.name not in SENTENCES:
        return f"the name {node.name!r} is unknown"
    if isinstance(node, nodes.Filter) and node.name not in FILTERS:
        return f"the filter {node.name!r} is not allowed"
    return None if isinstance(node, _ALLOWED) else f"{type(node).__name__.lower()} is not allowed"


def _cannot(where: str, line: int, problem: str) -> ModelError:
    return ModelError(
        f"{where}: line {line}: {problem}.\n"
        "  Write text with {{ sentence_1 }} and {{ sentence_2 }}; allowed are {% if %} and the filters "
        f"{', '.join(sorted(FILTERS))}."
    )
