"""The sandbox that runs the code of a grammar: values have no methods, and a budget limits all growth.

A grammar is untrusted input. Its code has been checked (`allowed_code.check`). In the sandbox, words offer
only their forms; steps of loops, calls of macros and characters of text are charged to a budget.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, TypeVar, cast

from jinja2 import StrictUndefined, Undefined, pass_context
from jinja2.runtime import LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tseval.errors import GrammarError, suggest
from tseval.suites.grammar.source import ALL_NUMBERS, LARGEST_NUMBER, NUMBERS, Word, describe

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from jinja2.runtime import Context

Number = TypeVar("Number", int, float)

WORK_PER_TEXT = 50_000
SECONDS = 60.0
DEEPEST_TABLE = 2  # how deeply tables and lists may be nested
_LOOP_ATTRIBUTES = frozenset(
    {"index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem"}
)


# Bits of `Sandbox.observed`: the outcomes of a condition, and the kinds of values that were compared.
FALSE, TRUE = 1, 2
TEXT, NUMBER, LIST, OTHER = 1, 2, 4, 8

# Line breaks and indents at the ends of a macro only lay out its code; they do not belong to the sentence.
_LINE_ENDS = re.compile(r"^\s*\n\s*|\s*\n\s*$")


class Budget:
    """The remaining budget of rendering: characters and steps for one text, seconds for a block of items."""

    def __init__(self) -> None:
        self._left = WORK_PER_TEXT
        self._deadline = time.monotonic() + SECONDS

    def start_block(self) -> None:
        """Reset the time, for the next block of items."""
        self._deadline = time.monotonic() + SECONDS

    def start_text(self) -> None:
        """Reset the steps and characters, for the next text; refuse if the time is over."""
        self._left = WORK_PER_TEXT
        if time.monotonic() > self._deadline:
            message = f"rendering takes longer than {SECONDS:.0f} seconds."
            raise GrammarError(message, fix="Use fewer slots in one sentence.")

    def spend(self, amount: int) -> None:
        """Charge characters or steps to the budget."""
        self._left -= max(amount, 0)
        if self._left < 0:
            fix = "Look for a loop or a macro that does not end."
            raise GrammarError("printing this text takes too many steps, or the text is too long.", fix=fix)


def as_text(value: object) -> str:
    """Return a value as text; only words, text and numbers can be printed."""
    if isinstance(value, Word):
        return value.text
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, Undefined):
        str(value)  # usually raises Jinja's error, which describes what is undefined
        raise GrammarError(
            "an inline 'if' must have an 'else', but this one has none.",
            fix="Add \"else ''\" to print nothing if the condition is false.",
        )
    raise GrammarError(
        f"{_kind(value)} cannot be printed.",
        fix="Print only words, text and numbers. Print a list with {% for %}.",
    )


def as_entry(value: object) -> str:
    """Return the lexicon entry of a word in any form; a text is its own entry."""
    if isinstance(value, Word):
        return value.lemma
    if isinstance(value, str):
        return value
    if isinstance(value, Undefined):
        as_text(value)
    fix = "Give a word, such as 'verb' or 'nouns | last'."
    raise GrammarError(f"{_kind(value)} is no entry of a lexicon.", fix=fix)


def agree(word: object, with_: object) -> Word:
    """Inflect a word for the number of another (or `sing`, `plur`)."""
    return _word(word).inflected(_number(with_))


def disagree(word: object, with_: object, number: object = None) -> Word:
    """Inflect a word for a number that the other word does not have; `number` chooses among several."""
    inflected, word_number = _word(word), _number(with_)
    others = [
        other_number
        for other_number in ALL_NUMBERS
        if other_number != word_number and (other_number in inflected.forms or other_number in NUMBERS)
    ]
    if number is None and len(others) > 1:
        fix = f"Add the number that you mean: disagree(WORD, {others[0]!r}) or disagree(WORD, {others[1]!r})."
        raise GrammarError(
            f"{_kind(word)} has {len(others)} forms that disagree with {word_number!r}.", fix=fix
        )
    chosen = others[0] if number is None else _number(number)
    if chosen == word_number:
        message = f"{chosen!r} is the form that agrees, so it cannot be the form that disagrees."
        raise GrammarError(message, fix=f"Name {others[0]!r}.")
    return inflected.inflected(chosen)


def match(word: object, with_: object) -> str:
    """Return whether two words have the same number: `match` or `mismatch`."""
    return "match" if _number(word) == _number(with_) else "mismatch"


class Sandbox(ImmutableSandboxedEnvironment):
    """A Jinja environment that compiles and runs the code of one grammar."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self) -> None:
        # The optimizer would evaluate code at compile time, outside the budget.
        super().__init__(undefined=StrictUndefined, autoescape=False, optimized=False)
        self.budget = Budget()
        self.macro_costs: Mapping[str, int] = {}  # the cost of one call of each macro
        self.observed: dict[str, int] = {}  # outcomes and kinds of operands of conditions so far, as bits
        self.finalize = self._print
        self.filters = {
            "agree": agree,
            "disagree": disagree,
            "match": match,
            "capitalize": lambda value: (text := self._text(value))[:1].upper() + text[1:],
            "lower": lambda value: self._text(value).lower(),
            "upper": lambda value: self._text(value).upper(),
            "first": lambda values: as_list(values)[0],
            "last": lambda values: as_list(values)[-1],
            "length": lambda values: len(as_list(values)),
            "int": _as_small_int,
            "join": self._join,
            # Internal filters: `allowed_code.harden` puts them into the compiled code.
            "counted_": self._counted,
            "flat_": self._flat,
            "compared_": self._operand,
            "asked_": self._asked,
            "joined_": self._join,
        }
        self.tests = {
            "odd": lambda value: _as_small_int(value) % 2 == 1,
            "even": lambda value: _as_small_int(value) % 2 == 0,
            "divisibleby": lambda value, by: _as_small_int(value) % _as_small_int(by) == 0,
            "in": self._is_in,
        }
        self.globals = {"range": self._range, "words": self._count_words}

    def getattr(self, obj: object, attribute: str) -> object:
        """Look up `word.number`, `word.lemma`, a form of a word, or an attribute of the loop."""
        if isinstance(obj, Word):
            if attribute == "number":
                return _number(obj)
            return obj.lemma if attribute == "lemma" else obj.form(attribute)
        if isinstance(obj, LoopContext) and attribute in _LOOP_ATTRIBUTES:
            return getattr(obj, attribute)
        if isinstance(obj, Undefined):
            str(obj)
        fix = "Write a dot only after a word or 'loop'."
        if isinstance(obj, LoopContext):
            fix = suggest(attribute, _LOOP_ATTRIBUTES, "It has")
        if isinstance(obj, dict):
            fix = f'Write the key in brackets: table["{attribute}"].'
        raise GrammarError(f"{_kind(obj)} has no {attribute!r}.", fix=fix)

    def getitem(self, obj: object, argument: object) -> object:
        """Look up a form of a word, a place in a list, or an entry of a mapping."""
        if isinstance(argument, Word):
            argument = argument.text
        if isinstance(obj, Word) and isinstance(argument, str):
            return self.getattr(obj, argument)
        if isinstance(obj, (list, tuple, range, str)) and isinstance(argument, int):
            return obj[argument]
        if isinstance(obj, dict) and argument in obj:
            return obj[argument]
        if isinstance(argument, Undefined):
            str(argument)
        fix = "Write the name of a form, a position, or a key."
        if isinstance(obj, dict):
            fix = suggest(as_text(argument), map(str, obj), "Entries")
        raise GrammarError(f"{_kind(obj)} has no part {as_text(argument)!r}.", fix=fix)

    def call(__self, __context: Context, __obj: object, *args: object, **kwargs: object) -> object:  # noqa: N805 - as in Jinja
        """Call a macro, `range` or `words`; refuse all other calls."""
        if isinstance(__obj, Macro):
            __self.budget.spend(__self.macro_costs.get(__obj.name, 1))
        if isinstance(__obj, Macro) or __obj in (__self._range, __self._count_words):
            value = __context.call(__obj, *args, **kwargs)
            return _LINE_ENDS.sub("", value) if isinstance(value, str) else value
        raise GrammarError(f"{_kind(__obj)} cannot be called.", fix="Call only macros, range and words.")

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        """Calculate with small numbers; join texts and lists with `+`, repeat text with `*`."""
        if isinstance(left, (int, float)) and isinstance(right, (int, float)) and operator != "**":
            return _small(super().call_binop(context, operator, left, right))
        if operator == "+" and isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
            self.budget.spend(len(left) + len(right))
            return (*left, *right)
        if operator == "+" and isinstance(left, (str, Word)) and isinstance(right, (str, Word)):
            return self._join([left, right])
        if operator == "*" and isinstance(left, str) and isinstance(right, int):
            self.budget.spend(len(left) * right)
            return left * right
        raise GrammarError(
            f"'{operator}' cannot combine {_kind(left)} and {_kind(right)}.", fix="Join texts with '~'."
        )

    @pass_context
    def _print(self, context: Context, value: object) -> str:
        return self._text(value)

    def _text(self, value: object) -> str:
        text = as_text(value)
        self.budget.spend(len(text))
        return text

    def _join(self, values: object, separator: str = "") -> str:
        texts, glue = [self._text(value) for value in as_list(values)], self._text(separator)
        self.budget.spend(len(glue) * len(texts))
        return glue.join(texts)

    def _is_in(self, value: object, values: object) -> bool:
        return self._compared(value) in cast("Container[object]", self._compared(values))

    def _range(self, *bounds: int) -> range:
        """Return a range within the budget, because a search such as `in` could go through all of it."""
        numbers = range(*bounds)
        self.budget.spend(len(numbers))
        return numbers

    def _asked(self, value: object, key: str) -> object:
        """Record the outcome of a condition."""
        self.observed[key] = self.observed.get(key, 0) | (TRUE if value else FALSE)
        return value

    def _operand(self, value: object, key: str, members: bool) -> object:
        """Prepare one side of a comparison and record its kind; for a list after `in`, its members' kinds."""
        compared = self._compared(value)
        kinds = kind_of(compared)
        if members and isinstance(compared, (list, tuple)):
            kinds = 0
            for operand in compared:
                kinds |= kind_of(operand)
        self.observed[key] = self.observed.get(key, 0) | kinds
        return compared

    def _compared(self, value: object) -> object:
        """Prepare one side of a comparison: a word is compared as the text that it prints."""
        if isinstance(value, (list, tuple)):
            self.budget.spend(len(value))
            return [self._compared(element) for element in value]
        compared = value.text if isinstance(value, Word) else value
        if isinstance(compared, (str, range, dict)):
            self.budget.spend(1 + len(compared))
        return compared

    def _count_words(self, *parts: object) -> int:
        """Count the words of texts, words and lists of them."""
        texts = [text for part in parts for text in (part if isinstance(part, (list, tuple)) else [part])]
        return sum(len(self._text(text).split()) for text in texts)

    def _counted(self, values: object, cost: int) -> object:
        self.budget.spend(cost * len(as_list(values)))
        return values

    def _flat(self, values: object) -> object:
        """Refuse deep lists and tables: they could hold far more than the text that wrote them."""
        self._measure(values, DEEPEST_TABLE)
        return values

    def _measure(self, values: object, depth: int) -> None:
        if depth < 0:
            fix = "Write separate tables, and choose between them with 'if'."
            raise GrammarError("a table has tables inside tables inside tables.", fix=fix)
        for value in values.values() if isinstance(values, dict) else as_list(values):
            if isinstance(value, (list, tuple, dict, range)):
                self._measure(value, depth - 1)
            self.budget.spend(1)


def _small(number: Number) -> Number:
    if abs(number) > LARGEST_NUMBER:
        raise GrammarError(
            "a number becomes too large.", fix="Use smaller numbers: grammars need numbers only to count."
        )
    return number


def _as_small_int(value: object) -> int:
    return _small(int(value if isinstance(value, (int, float)) else as_text(value)))


def _word(value: object) -> Word:
    if not isinstance(value, Word):
        raise GrammarError(
            f"{_kind(value)} cannot be inflected.",
            fix="Use 'agree' and 'disagree' only with words of the lexicon.",
        )
    return value


def _number(value: object) -> str:
    if isinstance(value, Word) and value.number is not None:
        return value.number
    if isinstance(value, str) and value in ALL_NUMBERS:
        return value
    raise GrammarError(f"{_kind(value)} has no number.", fix="Name a noun slot, or write 'sing' or 'plur'.")


def as_list(value: object) -> list[object] | tuple[object, ...] | range:
    """Return the value if it is a list, a repeated slot or a range; refuse other values."""
    if isinstance(value, (list, tuple, range)):
        return value
    raise GrammarError(f"{_kind(value)} is not a list.", fix="Loop over a repeated slot or over range(...).")


def kind_of(value: object) -> int:
    """Return the kind of a compared value; values of different kinds are never equal."""
    if isinstance(value, (str, Word)):
        return TEXT
    if isinstance(value, (int, float)):
        return NUMBER
    return LIST if isinstance(value, (list, tuple)) else OTHER


def _kind(value: object) -> str:
    if isinstance(value, Word):
        return repr(value.lemma)
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else f"{value[:40]}...")
    if isinstance(value, Undefined):
        return "a value that is not defined"
    if isinstance(value, LoopContext):
        return "the loop"
    if callable(value):
        return "a macro"
    return "nothing" if value is None else describe(value)
