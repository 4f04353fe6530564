"""Slots: the varying positions of a grammar's sentences, and the filler of each slot in each item.

Items are numbered by mixed radix: slots in the order of the front matter, the leftmost varying slowest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tseval.errors import GrammarError, suggest
from tseval.suites.grammar.source import (
    ALL_NUMBERS,
    NUMBERS,
    Lexicon,
    Word,
    YamlDocument,
    YamlValue,
    describe,
    find_class,
    gathered,
    how_to_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


Filler = Word | str | int | float | bool
Binding = Filler | tuple[Filler, ...]

# Words with a fixed meaning inside {{ }} and {% %}.
TAKEN_NAMES = frozenset(
    {"and", "or", "not", "in", "is", "if", "else", "elif", "for", "set", "macro", "range", "words", "loop"}
    | {"true", "false", "none", "True", "False", "None", "recursive", "caller", "varargs", "kwargs", "self"}
)
_OPTIONS = ("class", "number", "repeat", "differs_from", "distinct")
_MAX_RANGE = 1_000_000
_MAX_REPEAT = 100


@dataclass(frozen=True, slots=True)
class Slot:
    """A named position of the template, with the fillers that it can have."""

    name: str  # as used in the sentences
    fillers: tuple[Filler, ...]  # fillers of one place; a noun in each of its numbers, one after the other
    class_name: str | None = None  # class of the lexicon, or several joined by `+`; None for a literal list
    numbers: int = 1  # fillers per lexicon entry: 2 for nouns in singular and plural, 3 with a dual
    repeat: int | None = None  # number of fillers at once, as a list (the maximum if it varies); None for one
    repeated_by: str | None = None  # an earlier slot whose filler is the number of fillers of this slot
    differs_from: tuple[str, ...] = ()  # earlier slots whose lexicon entries this slot never has
    distinct: bool = False  # whether the places of a repeated slot have different entries
    # How many entries those slots have taken. None if the number varies from item to item, because two of
    # these slots may have the same entry.
    n_taken: int | None = 0

    @property
    def size(self) -> int:
        """Number of values of the slot in the product of all slots."""
        if not self.differs_from and not self.distinct:
            return len(self.fillers) if self.repeat is None else self.n_bindings
        return math.prod(self.n_choices(place) for place in range(self.repeat or 1))

    @property
    def n_entries(self) -> int:
        """Number of lexicon entries of the slot."""
        return len(self.fillers) // self.numbers

    def n_choices(self, place: int = 0) -> int:
        """Return how many fillers a place can choose from, after the earlier places have chosen."""
        return (self.n_entries - (self.n_taken or 0) - (place if self.distinct else 0)) * self.numbers

    @property
    def n_bindings(self) -> int:
        """Number of different values of the slot: the upper bound of its codes."""
        if self.repeat is None:
            return len(self.fillers)
        shortest = self.repeat if self.repeated_by is None else 0
        return sum(len(self.fillers) ** length for length in range(shortest, self.repeat + 1))

    @property
    def is_numeric(self) -> bool:
        """Whether the fillers are numbers or truth values, not words."""
        return not isinstance(self.fillers[0], (Word, str))

    @property
    def has_number(self) -> bool:
        """Whether the fillers are nouns, each with a number."""
        return isinstance(self.fillers[0], Word) and self.fillers[0].number is not None

    def binding(self, code: int) -> Binding:
        """Decode one value; the first filler of a repeated slot varies slowest."""
        if self.repeat is None:
            return self.fillers[code]
        chain: list[Filler] = []
        length = self.repeat if self.repeated_by is None else 0
        # If the length varies, codes of shorter lists come before those of longer lists.
        while code >= len(self.fillers) ** length:
            code, length = code - len(self.fillers) ** length, length + 1
        for _ in range(length):
            code, digit = divmod(code, len(self.fillers))
            chain.append(self.fillers[digit])
        return tuple(reversed(chain))

    def code(self, digits: Sequence[int]) -> int:
        """Encode the fillers of all places; the inverse of `binding`."""
        code = 0
        for digit in digits:
            code = code * len(self.fillers) + digit
        if self.repeated_by is not None:
            code += sum(len(self.fillers) ** length for length in range(len(digits)))
        return code


def slot_codes(slots: Sequence[Slot], rows: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return the value of every slot in the items at these positions of the full expansion, (items,) each."""
    chosen: dict[str, list[NDArray[np.int64]]] = {}
    plain: dict[str, NDArray[np.int64]] = {}
    for slot in reversed(slots):
        if not slot.differs_from and not slot.distinct:
            rows, plain[slot.name] = np.divmod(rows, slot.size)
            continue
        places: list[NDArray[np.int64]] = []
        for place in reversed(range(slot.repeat or 1)):
            rows, choice = np.divmod(rows, slot.n_choices(place))
            places.insert(0, choice)
        chosen[slot.name] = places
    codes: dict[str, NDArray[np.int64]] = {}
    fillers: dict[str, list[NDArray[np.int64]]] = {}
    for slot in slots:
        if slot.name in plain:
            codes[slot.name] = plain[slot.name]
            fillers[slot.name] = fillers_of(slot, codes[slot.name])
        else:
            fillers[slot.name] = skip_taken(slot, chosen[slot.name], slots, fillers)
            codes[slot.name] = codes_of(slot, fillers[slot.name])
    return codes


def fillers_of(slot: Slot, codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Split the codes of a slot into the filler of each place, (items,) each."""
    if slot.repeat is None or slot.repeated_by is not None:
        return [codes]
    places: list[NDArray[np.int64]] = []
    for _ in range(slot.repeat):
        codes, filler = np.divmod(codes, len(slot.fillers))
        places.insert(0, filler)
    return places


def codes_of(slot: Slot, fillers: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Join the fillers of all places to the code of a slot, (items,); the inverse of `fillers_of`."""
    if slot.repeat is None:
        return fillers[0]
    rows = zip(*(column.tolist() for column in fillers), strict=True)
    return np.array([slot.code(digits) for digits in rows], np.int64)


def skip_taken(
    slot: Slot,
    choices: Sequence[NDArray[np.int64]],
    slots: Sequence[Slot],
    fillers: Mapping[str, Sequence[NDArray[np.int64]]],
) -> list[NDArray[np.int64]]:
    """Convert the choices of each place of a slot to fillers, skipping entries that are already taken.

    Args:
        slot: The slot.
        choices: For each place, its choice among the remaining fillers, (items,) each.
        slots: All slots.
        fillers: The fillers of each place of earlier slots.
    """
    numbers = {other.name: other.numbers for other in slots}
    counted = () if slot.n_taken is None else slot.differs_from
    taken = [filler // numbers[name] for name in counted for filler in fillers[name]]
    moved: list[NDArray[np.int64]] = []
    for choice in choices:
        entry, number = np.divmod(choice, slot.numbers)
        # Skip taken entries in ascending order: entries from a skipped one onwards move up by one.
        for skipped in np.sort(np.stack(taken), axis=0) if taken else ():
            entry = entry + (entry >= skipped)
        moved.append(entry * slot.numbers + number)
        if slot.distinct:
            taken.append(entry)
    return moved


def read_slots(document: YamlDocument, lexicon: Lexicon | None) -> tuple[Slot, ...]:
    """Read the `slots` of a grammar's front matter."""
    slots: dict[str, Slot] = {}

    def read(name: str, value: YamlValue) -> None:
        if not name.isidentifier() or name.startswith("_") or name in TAKEN_NAMES:
            fix = "This is a word of the template language. " if name in TAKEN_NAMES else ""
            fix += how_to_name(name)
            raise document.error(f"a slot cannot be called {name!r}.", "slots", name, fix=fix)
        slots[name] = _read_slot(document, name, value, lexicon, slots)

    gathered(partial(read, name, value) for name, value in document.mapping("slots").items())
    if not slots:
        fix = "Add 'slots:' with a line 'NAME: CLASS' for each slot."
        raise document.error("there are no slots.", "slots", fix=fix)
    return tuple(slots.values())


def _read_slot(
    document: YamlDocument, name: str, value: YamlValue, lexicon: Lexicon | None, earlier: dict[str, Slot]
) -> Slot:
    if isinstance(value, list):
        return Slot(name, _literals(document, name, value))
    if isinstance(value, dict) and set(value) == {"range"}:
        return Slot(name, _range(document, name, value["range"]))
    options = {"class": value} if isinstance(value, str) else value
    if not isinstance(options, dict):
        fix = "Write a class (noun.animate), options ({class: noun.animate, number: plur}) or a list."
        raise document.error(f"the slot {name!r} is {describe(value)}.", "slots", name, fix=fix)
    for option in options:
        if option not in _OPTIONS:
            fix = suggest(option, _OPTIONS, "Options")
            raise document.error(f"unknown slot option {option!r}.", "slots", name, option, fix=fix)
    class_name = options.get("class")
    if not isinstance(class_name, str):
        raise document.error(f"the slot {name!r} names no class.", "slots", name, fix="Add 'class: ...'.")
    if lexicon is None:
        fix = "Add 'lexicon: lexicon.yaml'."
        raise document.error(f"the slot {name!r} needs a lexicon.", "slots", name, fix=fix)
    try:
        words = find_class(lexicon, class_name)
    except GrammarError as error:
        raise document.error(error.message, "slots", name, fix=error.fix) from None
    fillers, numbers = _numbered(document, name, class_name, words, options.get("number"))
    counting = earlier.get(str(options.get("repeat")))
    if counting is not None and 0 in counting.fillers and counting.fillers[0] is not False:
        fix = f"Begin with 1: '{counting.name}: [1, 2]'. Write another grammar for items without {name!r}."
        message = (
            f"'repeat' must be a whole number from 1 to {_MAX_REPEAT}, or a slot with such numbers, "
            f"but {counting.name!r} has 0, which gives no word."
        )
        raise document.error(message, "slots", name, "repeat", fix=fix)
    repeat = _repeat(document, name, options.get("repeat") if counting is None else _most(counting))
    repeated_by = None if counting is None else counting.name
    slot = Slot(name, fillers, class_name, numbers, repeat, repeated_by)
    return _differing(document, slot, options, earlier)


def _literals(document: YamlDocument, name: str, values: list[YamlValue]) -> tuple[Filler, ...]:
    fillers = tuple(value for value in values if isinstance(value, (str, int, float, bool)))
    if not fillers or len(fillers) < len(values) or len({type(value) for value in fillers}) > 1:
        fix = "Write for example [0, 1, 2] or [past, future]."
        message = f"the list of slot {name!r} must have one or more values, all of one kind."
        raise document.error(message, "slots", name, fix=fix)
    repeated = next((value for place, value in enumerate(fillers) if value in fillers[:place]), None)
    if repeated is not None and "draw" not in document.data:
        message = f"the value {repeated!r} appears twice in the list of slot {name!r}."
        raise document.error(message, "slots", name, fix="Delete one: its items would appear twice.")
    return fillers


def _range(document: YamlDocument, name: str, end: YamlValue) -> tuple[Filler, ...]:
    if not isinstance(end, int) or isinstance(end, bool) or not 1 <= end <= _MAX_RANGE:
        fix = "Write for example 'range: 4' for 0, 1, 2 and 3."
        message = f"'range' must be a whole number from 1 to {_MAX_RANGE:,}."
        raise document.error(message, "slots", name, "range", fix=fix)
    return tuple(range(end))


def _most(counting: Slot) -> YamlValue:
    """Return the largest number of a counting slot; False, which is no number, if a filler cannot count."""
    numbers = [n for n in counting.fillers if isinstance(n, int) and n >= 1 and not isinstance(n, bool)]
    return max(numbers) if len(numbers) == len(counting.fillers) and counting.repeat is None else False


def _numbered(
    document: YamlDocument, name: str, class_name: str, words: tuple[Word, ...], number: YamlValue
) -> tuple[tuple[Filler, ...], int]:
    """Return the fillers of a slot: nouns in each number, singular first, unless the slot fixes one."""
    allowed_numbers = numbers_of(document)
    if number is not None and number not in allowed_numbers:
        fix = f"Write {' or '.join(allowed_numbers)}." + (
            "" if "dual" in allowed_numbers else " To use other numbers, add 'numbers: [sing, dual, plur]'."
        )
        raise document.error(f"{number!r} is not a grammatical number.", "slots", name, "number", fix=fix)
    if not class_name.startswith("noun."):
        if number is not None:
            fix = "Delete 'number', and inflect the word in the sentence: {{ " + name + " | agree(...) }}."
            message = f"the slot {name!r} fixes a number, but {class_name!r} is not a class of nouns."
            raise document.error(message, "slots", name, "number", fix=fix)
        return words, 1
    numbers = allowed_numbers if number is None else (str(number),)
    inflected = gathered(partial(word.inflected, each) for word in words for each in numbers)
    return tuple(inflected), len(numbers)


def numbers_of(document: YamlDocument) -> tuple[str, ...]:
    """Return the numbers that the nouns of a grammar have."""
    stated = document.data.get("numbers")
    if stated is None:
        return NUMBERS
    numbers = stated if isinstance(stated, list) else []
    if len(numbers) < 2 or [number for number in ALL_NUMBERS if number in numbers] != numbers:
        fix = f"Write two or more of [{', '.join(ALL_NUMBERS)}], in this order."
        raise document.error(f"'numbers' is {describe(stated)}.", "numbers", fix=fix)
    return tuple(map(str, numbers))


def _repeat(document: YamlDocument, name: str, repeat: YamlValue) -> int | None:
    if repeat is None:
        return None
    if not isinstance(repeat, int) or isinstance(repeat, bool) or not 1 <= repeat <= _MAX_REPEAT:
        fix = "Write for example 'repeat: 2', or the name of an earlier slot."
        message = f"'repeat' must be a whole number from 1 to {_MAX_REPEAT}, or a slot with such numbers."
        raise document.error(message, "slots", name, "repeat", fix=fix)
    return repeat


def _differing(
    document: YamlDocument, slot: Slot, options: Mapping[str, YamlValue], earlier: dict[str, Slot]
) -> Slot:
    """Read `differs_from` and `distinct`: the entries that a slot or its other places exclude."""
    stated = options.get("differs_from", [])
    names = tuple(map(str, stated if isinstance(stated, list) else [stated]))
    keys = ("slots", slot.name, "differs_from")
    for name in names:
        other = earlier.get(name)
        if other is None:
            message = f"'differs_from' names {name!r}, which is not an earlier slot."
            fix = suggest(name, earlier, "Earlier slots")
            fix = f"Write a list: [{name}]." if "," in name else fix
            raise document.error(message, *keys, fix=fix)
        if other.class_name != slot.class_name:
            message = f"{slot.name!r} can differ only from slots of the same class, not from {name!r}."
            raise document.error(message, *keys, fix=f"Give both slots the class {slot.class_name!r}.")
        if other.repeated_by is not None:
            message = f"the number of words in {name!r} changes from item to item."
            fix = f"Move {name!r} below {slot.name!r}, with differs_from: {slot.name}."
            raise document.error(message, *keys, fix=fix)
    # If the words of a repeated slot differ from another slot, they differ from each other too by default.
    distinct = options.get("distinct", bool(names) and slot.repeat is not None)
    if not isinstance(distinct, bool) or (distinct and slot.repeat is None):
        message = (
            f"'distinct' is {describe(distinct)}, and the slot is {'' if slot.repeat else 'not '}repeated."
        )
        fix = "Write 'distinct: true' for a repeated slot whose words differ from each other."
        raise document.error(message, "slots", slot.name, "distinct", fix=fix)
    n_taken = _count_taken([earlier[name] for name in names])
    slot = replace(slot, differs_from=names, distinct=distinct, n_taken=n_taken)
    needed = (1 if n_taken is None else n_taken) + (slot.repeat if distinct and slot.repeat else 1)
    if (names or distinct) and slot.n_entries < needed:
        message = (
            f"{needed} different words are needed up to {slot.name!r}, "
            f"and the class {slot.class_name!r} has {slot.n_entries}."
        )
        raise document.error(message, *keys, fix="Add words to the class, or repeat the slot less often.")
    return slot


def _count_taken(others: Sequence[Slot]) -> int | None:
    """Count the entries that other slots take together; None if two places may have the same entry."""
    for place, other in enumerate(others):
        if other.repeat is not None and not other.distinct:
            return None
        for before in others[:place]:
            if not {before.name, other.name} & {*before.differs_from, *other.differs_from}:
                return None
    return sum(other.repeat or 1 for other in others)
