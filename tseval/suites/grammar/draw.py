"""Draws: a balanced part of all combinations, where a grammar has far more of them than anyone needs.

In every cell (a combination of the slots under `for_each`) each filler of each other slot is used equally
often; which go together is left to chance, always the same. So no word or number is favoured in any cell.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from tseval.errors import suggest
from tseval.suites.grammar.slots import skip_taken

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.suites.grammar.slots import Slot
    from tseval.suites.grammar.source import YamlDocument, YamlValue
    from tseval.suites.grammar.template import Sentences

LARGEST_DRAW = 2_000_000
LARGEST_CODE = (1 << 63) - 1
_OPTIONS = ("items", "for_each", "where")
_MAX_CELLS = 10_000
_ROUNDS = 200  # of exchanging fillers until no two items of a cell are the same


@dataclass(frozen=True, slots=True)
class Draw:
    """How many items are drawn in each cell.

    Attributes:
        items: Items in each cell.
        for_each: Slots whose combinations are the cells.
        cells: The combinations, as codes of those slots.
    """

    items: int
    for_each: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]

    @property
    def n_items(self) -> int:
        """Number of items over all cells."""
        return self.items * len(self.cells)


def read_draw(document: YamlDocument, slots: Sequence[Slot], sentences: Sentences) -> Draw | None:
    """Read `draw` of a grammar's front matter; None where there is none.

    Raises:
        GrammarError: A malformed draw, too many cells or items; a slot that is repeated as another one
            says, where that one is not the same in all items of a cell.
    """
    if "draw" not in document.data:
        for slot in slots:
            _check_repeats(document, slot, ())
        return None
    options = document.mapping("draw")
    for option in options:
        if option not in _OPTIONS:
            fix = suggest(option, _OPTIONS, "It may hold")
            raise document.error(f"'draw' names {option!r}.", "draw", option, fix=fix)
    items = options.get("items")
    if not isinstance(items, int) or isinstance(items, bool) or items < 1:
        fix = "Say how many items are drawn: draw: {items: 100}."
        raise document.error("'draw' needs a whole number of 'items'.", "draw", fix=fix)
    chosen = _for_each(document, options.get("for_each", []), slots)
    for slot in slots:
        _check_repeats(document, slot, [slot.name for slot in chosen])
        if slot.n_bindings > LARGEST_CODE:
            message = f"the slot {slot.name!r} has more values than can be numbered (9 quintillion)."
            raise document.error(message, "slots", slot.name, fix="Repeat it less often.")
    draw = Draw(items, tuple(slot.name for slot in chosen), _cells(document, chosen, sentences))
    if draw.n_items > LARGEST_DRAW:
        message = f"'draw' asks for {draw.n_items:,} items; {LARGEST_DRAW:,} are allowed."
        raise document.error(message, "draw", fix="Draw fewer.")
    return draw


def _for_each(document: YamlDocument, names: YamlValue, slots: Sequence[Slot]) -> list[Slot]:
    """Find the slots that make the cells, in the order of the front matter."""
    free = {slot.name: slot for slot in slots if slot.differs_from is None and slot.repeated_by is None}
    for name in names if isinstance(names, list) else [None]:
        if name not in free:
            fix = f"List slots, none that depends on another. {suggest(str(name), free, 'Slots')}"
            raise document.error(f"'for_each' names {name!r}.", "draw", "for_each", fix=fix)
    wanted = names if isinstance(names, list) else []
    return [slot for name, slot in free.items() if name in wanted]


def _check_repeats(document: YamlDocument, slot: Slot, for_each: Sequence[str]) -> None:
    if slot.repeated_by is not None and slot.repeated_by not in for_each:
        fix = f"Add 'draw: {{items: 100, for_each: [{slot.repeated_by}]}}'."
        message = f"{slot.name!r} is repeated as {slot.repeated_by!r} says, so that must be fixed in a draw."
        raise document.error(message, "slots", slot.name, "repeat", fix=fix)


def _cells(
    document: YamlDocument, slots: Sequence[Slot], sentences: Sentences
) -> tuple[tuple[int, ...], ...]:
    """List the combinations of the slots under `for_each` for which `where` holds."""
    if math.prod(slot.n_bindings for slot in slots) > _MAX_CELLS:
        message = f"'for_each' makes more than {_MAX_CELLS:,} combinations."
        raise document.error(message, "draw", "for_each", fix="Name fewer slots.")
    cells = product(*(range(slot.n_bindings) for slot in slots))
    where = document.mapping("draw").get("where")
    if where is None:
        return tuple(cells)
    condition = sentences.expression(str(where), document.line("draw", "where"))
    names = [slot.name for slot in slots]
    if other := [name for name in condition.slots if name not in names]:
        fix = "Add it to 'for_each'."
        raise document.error(f"'where' depends on {other[0]!r}.", "draw", "where", fix=fix)
    kept = []
    for cell in cells:
        fillers = {slot.name: slot.binding(code) for slot, code in zip(slots, cell, strict=True)}
        if condition.value({name: fillers[name] for name in condition.slots}):
            kept.append(cell)
    if not kept:
        raise document.error("'where' holds for no combination.", "draw", "where", fix="Change it.")
    return tuple(kept)


def drawn_codes(slots: Sequence[Slot], draw: Draw, document: YamlDocument) -> dict[str, NDArray[np.int64]]:
    """Tell which value every slot has in every item, as `slot_codes` does for all combinations.

    Args:
        slots: All slots of the grammar, in order.
        draw: How many items of which cells.
        document: The front matter, for messages; its file's name is the seed.

    Returns:
        Slot name to codes for `Slot.binding`, (items,) each; cell after cell.

    Raises:
        GrammarError: A cell has not as many different items.
    """
    codes: dict[str, list[int]] = {slot.name: [] for slot in slots}
    free = [slot for slot in slots if slot.name not in draw.for_each]
    for cell in draw.cells:
        fixed = dict(zip(draw.for_each, cell, strict=True))
        chance = random.Random(f"{document.path.stem} {cell}")  # noqa: S311 - not cryptography
        places = {
            slot.name: [
                _evenly(slot.n_choices, draw.items, chance) for _ in range(_n_places(slot, slots, fixed))
            ]
            for slot in free
        }
        words = [column for slot in free if not slot.is_numeric for column in places[slot.name]]
        if not _made_distinct(words, draw.items, chance):
            message = f"no {draw.items:,} items with different words were found in a cell of the draw."
            raise document.error(message, "draw", fix="Draw fewer items, or add words to the lexicon.")
        for name, code in fixed.items():
            codes[name] += [code] * draw.items
        for slot in free:
            codes[slot.name] += [slot.code(digits) for digits in zip(*places[slot.name], strict=True)]
    return skip_taken(slots, {name: np.array(values, np.int64) for name, values in codes.items()})


def _n_places(slot: Slot, slots: Sequence[Slot], fixed: Mapping[str, int]) -> int:
    """Tell how many fillers a slot holds at once in a cell."""
    if slot.repeated_by is None:
        return slot.repeat or 1
    (counting,) = (other for other in slots if other.name == slot.repeated_by)
    length = counting.fillers[fixed[counting.name]]
    assert isinstance(length, int)
    return length


def _evenly(n_choices: int, n_items: int, chance: random.Random) -> list[int]:
    """Give every choice to as many items as any other, or to one more, in any order."""
    choices = list(range(n_choices)) * (n_items // n_choices)
    choices += chance.sample(range(n_choices), n_items % n_choices)
    chance.shuffle(choices)
    return choices


def _made_distinct(columns: list[list[int]], n_items: int, chance: random.Random) -> bool:
    """Exchange fillers between items until no two are the same; counts of fillers do not change."""
    for _ in range(_ROUNDS):
        seen: set[tuple[int, ...]] = set()
        repeated = []
        for row in range(n_items):
            words = tuple(column[row] for column in columns)
            if words in seen:
                repeated.append(row)
            seen.add(words)
        if not repeated:
            return True
        if not columns:
            return False
        for row in repeated:
            column, other = chance.choice(columns), chance.randrange(n_items)
            column[row], column[other] = column[other], column[row]
    return False
