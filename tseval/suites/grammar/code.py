"""Compiled pieces of a grammar, and the errors of a grammar's code: one message with the line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jinja2 import TemplateSyntaxError, UndefinedError

from tseval.errors import GrammarError
from tseval.suites.grammar.sandbox import Sandbox, as_entry, as_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from jinja2.environment import Template

    from tseval.items import Feature
    from tseval.suites.grammar.slots import Binding

# Where compiled code leaves the value of a feature; no author can choose a name with an underscore.
RESULT = "_result"


@dataclass(frozen=True, slots=True)
class Code:
    """Compiled code and the slots it depends on.

    Attributes:
        slots: Names of the slots it uses, in the order of the front matter.
        line: Where it stands in the grammar file.
    """

    slots: tuple[str, ...]
    line: int
    _template: Template
    _sandbox: Sandbox
    _path: Path

    def text(self, bindings: Mapping[str, Binding]) -> str:
        """Render a fragment.

        Raises:
            GrammarError: The code fails or exceeds its budget; the message names the line.
        """
        text, _ = self._run(bindings)
        return text

    def value(self, bindings: Mapping[str, Binding]) -> Feature:
        """Evaluate a feature.

        Raises:
            GrammarError: As in `text`, or the value is a list.
        """
        _, value = self._run(bindings)
        if isinstance(value, (str, int, float, bool)):
            return value
        with self._located():
            return as_text(value)

    def entry(self, bindings: Mapping[str, Binding]) -> str:
        """Evaluate a lexical factor: name the lexicon entry.

        Raises:
            GrammarError: As in `text`, or the value is neither a word nor a text.
        """
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
                value.encode()  # an escape may have made half a character, which no output can hold
            return text, value

    def _located(self) -> Located:
        return Located(self._path, self.line, self._template)


class Located:
    """Turn whatever goes wrong in a grammar's code into one message with the line."""

    def __init__(self, path: Path, line: int, template: Template):
        self._path, self._line, self._template = path, line, template

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None or (isinstance(error, GrammarError) and error.path is not None):
            return
        line = self._line_of(error)
        if isinstance(error, GrammarError):
            raise GrammarError(error.message, self._path, line, error.fix) from None
        if isinstance(error, RecursionError):
            fix = "Look for a macro that calls itself."
            raise GrammarError("macros are nested too deeply.", self._path, line, fix) from None
        if isinstance(error, MemoryError):
            fix = "Make its texts and lists shorter."
            raise GrammarError("there is not enough memory for this.", self._path, line, fix) from None
        if isinstance(error, UnicodeEncodeError):
            fix = "Correct its \\u escape."
            raise GrammarError("this text holds half a character.", self._path, line, fix) from None
        if isinstance(error, UndefinedError):
            raise GrammarError(f"{error.message}.", self._path, line, _UNDEFINED_FIX) from None
        if isinstance(error, (TypeError, ValueError, LookupError, ArithmeticError)):
            reason = str(error) or type(error).__name__
            raise GrammarError(f"cannot be rendered: {reason}.", self._path, line, _TYPES_FIX) from None

    def _line_of(self, error: BaseException) -> int:
        """Find the innermost line of the template in the traceback."""
        line, frame = self._line, error.__traceback__
        for _ in range(50):
            if frame is None:
                break
            if frame.tb_frame.f_globals.get("__jinja_template__") is self._template:
                line = self._template.get_corresponding_lineno(frame.tb_lineno)
            frame = frame.tb_next
        return line


_UNDEFINED_FIX = "Give every inline 'if' an 'else', and every macro its arguments."
_TYPES_FIX = "Check the kinds of the values: words, text, numbers, lists."


class SyntaxErrors:
    """Turn Jinja's complaints about code into ours."""

    def __init__(self, path: Path, line: int, fix: str | None):
        self._path, self._line, self._fix = path, line, fix

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, GrammarError) and error.path is None:
            raise GrammarError(error.message, self._path, error.line or self._line, error.fix) from None
        if isinstance(error, TemplateSyntaxError):
            message = (error.message or "syntax error").rstrip(".")
            raise GrammarError(f"{message}.", self._path, max(error.lineno, self._line), self._fix) from None
        if isinstance(error, (RecursionError, MemoryError, SyntaxError, OverflowError, ValueError)):
            message = "the code is nested too deeply or too large."
            raise GrammarError(message, self._path, self._line, "Simplify it.") from None
