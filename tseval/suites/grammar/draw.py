"""Choose which combinations of fillers are items: by a condition (`where`) or a balanced draw (`draw`).

A cell is a combination of the slots under `for_each`. In every cell each filler of each other slot is used
equally often, so no cell favours a word or number. Chance decides which fillers go together; the same seed
gives the same items. If a condition binds fillers together, they are used as evenly as it allows.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from tseval.errors import suggest
from tseval.suites.grammar.slots import Slot, codes_of, fillers_of, skip_taken, slot_codes
from tseval.suites.grammar.source import composed, describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.errors import GrammarError
    from tseval.suites.grammar.source import YamlDocument, YamlValue
    from tseval.suites.grammar.template import Code, Sentences

    Column = NDArray[np.int64]

LARGEST_DRAW = 2_000_000
LARGEST_CODE = (1 << 63) - 1
_OPTIONS = ("items", "for_each", "where", "seed")
_MAX_CELLS = 10_000
_ROUNDS = 200  # attempts to exchange fillers until no two items of a cell are equal
_LOOKED_AT = 4_000  # combinations that are compared before one is chosen


@dataclass(frozen=True, slots=True)
class Draw:
    """A draw: its cells, and the number of items in each cell."""

    items: int  # number of items in each cell
    for_each: tuple[str, ...]  # slots whose combinations are the cells
    cells: tuple[tuple[int, ...], ...]  # the cells, as codes of those slots
    seed: int | None = None  # seed for the draw; None if the grammar states no seed
    # For each cell, the combinations that the condition allows for the slots that it binds: codes by slot.
    pools: tuple[dict[str, Column], ...] | None = field(default=None, compare=False)

    @property
    def n_items(self) -> int:
        """Number of items over all cells."""
        return self.items * len(self.cells)


def read_draw(document: YamlDocument, slots: Sequence[Slot], sentences: Sentences) -> Draw | None:
    """Read `draw` from a grammar's front matter; None if it has none."""
    if "draw" not in document.data:
        for slot in slots:
            _check_repeats(document, slot, ())
        return None
    options = document.mapping("draw")
    for option in options:
        if option not in _OPTIONS:
            fix = suggest(option, _OPTIONS, "Known options")
            raise document.error(f"'draw' names {option!r}.", "draw", option, fix=fix)
    items, seed = options.get("items"), options.get("seed")
    if not isinstance(items, int) or isinstance(items, bool) or items < 1:
        fix = "Write how many items to draw: draw: {items: 100}."
        raise document.error("'draw' needs the key 'items' with a whole number.", "draw", fix=fix)
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise document.error(
            "'seed' must be a whole number.",
            "draw",
            "seed",
            fix="Write a whole number, for example 'seed: 2'.",
        )
    chosen = _for_each(document, options.get("for_each", []), slots)
    for slot in slots:
        _check_repeats(document, slot, [slot.name for slot in chosen])
        if slot.n_bindings > LARGEST_CODE:
            message = f"the slot {slot.name!r} has more than 9 quintillion values."
            raise document.error(
                message, "slots", slot.name, fix="Lower the number of times that the slot repeats."
            )
    draw = _with_cells(document, Draw(items, tuple(slot.name for slot in chosen), (), seed), slots, sentences)
    if draw.n_items > LARGEST_DRAW:
        message = f"'draw' asks for {draw.n_items:,} items, but at most {LARGEST_DRAW:,} are allowed."
        raise document.error(message, "draw", fix="Draw fewer.")
    for place, cell in enumerate(draw.cells):
        fixed = dict(zip(draw.for_each, cell, strict=True))
        pool = None if draw.pools is None else draw.pools[place]
        n_distinct = _count_items(slots, fixed, pool)
        if n_distinct < items:
            why = "words allow" if pool is None else "words and 'where' allow"
            message = (
                f"'draw' asks for {items:,} items{_of_cell(slots, fixed)}, but the {why} only {n_distinct:,}."
            )
            raise document.error(message, "draw", fix="Draw fewer items, or add words to the lexicon.")
    return draw


def read_where(document: YamlDocument, slots: Sequence[Slot], sentences: Sentences) -> Column | None:
    """Read `where` from a grammar's front matter: the positions of the items; None if all are items."""
    source, loose = document.data.get("where"), [slot for slot in slots if slot.n_taken is None]
    if source is not None and "draw" in document.data:
        fix = "Move 'where' into 'draw', or delete one of the two."
        raise document.error("the grammar has both 'where' and 'draw'.", "where", fix=fix)
    if "draw" in document.data or (source is None and not loose):
        return None
    condition = None if source is None else _condition(document, sentences, source, "where")
    key = "slots" if condition is None else "where"
    n_all = math.prod(slot.size for slot in slots)
    if n_all > LARGEST_DRAW:
        fix = f"Draw a part of the items: 'draw: {{items: 200{', where: ...' if condition else ''}}}'."
        raise document.error(_too_many(n_all), key, fix=fix)
    codes = slot_codes(slots, np.arange(n_all))
    items = np.flatnonzero(_holds(condition, slots, codes))
    if not len(items):
        raise _holds_nowhere(document, sentences, key)
    return items


def _condition(document: YamlDocument, sentences: Sentences, source: YamlValue, *keys: str) -> Code:
    """Read a condition, which is one expression."""
    if isinstance(source, (list, dict)):
        message = f"'where' is {describe(source)}."
        raise document.error(
            message, *keys, fix="Write 'where' as one expression, with 'and' between its conditions."
        )
    return sentences.expression(str(source), document.line(*keys), is_condition=True)


def _too_many(n_all: int) -> str:
    return (
        f"a condition would have to check {n_all:,} combinations, but at most {LARGEST_DRAW:,} are allowed."
    )


def _holds(condition: Code | None, slots: Sequence[Slot], codes: Mapping[str, Column]) -> NDArray[np.bool_]:
    """Return for each combination whether the condition and every `differs_from` hold, (combinations,)."""
    n_all = len(next(iter(codes.values())))
    holds = np.ones(n_all, np.bool_)
    by_name = {slot.name: slot for slot in slots}
    for slot in slots:
        if slot.n_taken is None and slot.name in codes:
            entries = [filler // slot.numbers for filler in fillers_of(slot, codes[slot.name])]
            for other in (by_name[name] for name in slot.differs_from):
                for entry, filler in product(entries, fillers_of(other, codes[other.name])):
                    holds &= entry != filler // other.numbers
    if condition is None:
        return holds
    used = [slot for slot in slots if slot.name in condition.slots]
    columns = np.stack([codes[slot.name] for slot in used] or [np.zeros(n_all, np.int64)], axis=1)
    distinct, places = np.unique(columns, axis=0, return_inverse=True)
    bindings = (
        {slot.name: slot.binding(int(n)) for slot, n in zip(used, row, strict=False)} for row in distinct
    )
    values = np.array([bool(condition.value(binding)) for binding in bindings], np.bool_)
    holds &= values[places.reshape(-1)]
    return holds


def _for_each(document: YamlDocument, names: YamlValue, slots: Sequence[Slot]) -> list[Slot]:
    """Find the slots that define the cells, in the order of the front matter."""
    free = {slot.name: slot for slot in slots if not slot.differs_from and slot.repeated_by is None}
    for name in names if isinstance(names, list) else [None]:
        if name not in free:
            fix = f"List only slots that depend on no other slot. {suggest(str(name), free, 'Slots')}"
            raise document.error(f"'for_each' names {name!r}.", "draw", "for_each", fix=fix)
    wanted = names if isinstance(names, list) else []
    return [slot for name, slot in free.items() if name in wanted]


def _check_repeats(document: YamlDocument, slot: Slot, for_each: Sequence[str]) -> None:
    if slot.repeated_by is not None and slot.repeated_by not in for_each:
        fix = f"Add 'draw: {{items: 100, for_each: [{slot.repeated_by}]}}'."
        message = f"{slot.repeated_by!r} sets how often {slot.name!r} repeats, so a draw must fix it."
        raise document.error(message, "slots", slot.name, "repeat", fix=fix)


def _with_cells(document: YamlDocument, draw: Draw, slots: Sequence[Slot], sentences: Sentences) -> Draw:
    """List the cells in which `where` holds, or in which some combination fulfils it."""
    fixed = [slot for slot in slots if slot.name in draw.for_each]
    if math.prod(slot.n_bindings for slot in fixed) > _MAX_CELLS:
        message = f"'for_each' makes more than {_MAX_CELLS:,} combinations."
        fix = "Name fewer slots under 'for_each'. 'where' may use the other slots."
        raise document.error(message, "draw", "for_each", fix=fix)
    cells = list(product(*(range(slot.n_bindings) for slot in fixed)))
    where = document.mapping("draw").get("where")
    condition = None if where is None else _condition(document, sentences, where, "draw", "where")
    bound = _bound_together(slots, draw, () if condition is None else condition.slots)
    if not bound:
        if condition is not None:
            columns = zip(*cells, strict=True) if draw.for_each else ()
            codes = {
                slot.name: np.array(column, np.int64) for slot, column in zip(fixed, columns, strict=True)
            }
            is_allowed = _holds(condition, slots, codes or {"": np.zeros(1, np.int64)})
            cells = [cell for cell, holds in zip(cells, is_allowed, strict=True) if holds]
        return _not_empty(document, sentences, Draw(draw.items, draw.for_each, tuple(cells), draw.seed))
    pools, kept_cells = [], []
    for cell in cells:
        pool = _pool(document, slots, bound, condition, dict(zip(draw.for_each, cell, strict=True)))
        if pool is not None:
            pools.append(pool)
            kept_cells.append(cell)
    cut = Draw(draw.items, draw.for_each, tuple(kept_cells), draw.seed, tuple(pools))
    return _not_empty(document, sentences, cut)


def _not_empty(document: YamlDocument, sentences: Sentences, draw: Draw) -> Draw:
    if not draw.cells:
        raise _holds_nowhere(document, sentences, "draw", "where")
    return draw


def _holds_nowhere(document: YamlDocument, sentences: Sentences, *keys: str) -> GrammarError:
    why = sentences.conditions.impossible_at(document.line(*keys))
    fix = "Change it." if why is None else f"{why[:1].upper()}{why[1:]}"
    return document.error("'where' is true for no combination of words.", *keys, fix=fix)


def _bound_together(slots: Sequence[Slot], draw: Draw, wanted: Sequence[str]) -> list[Slot]:
    """Find the slots outside `for_each` whose fillers are bound together by `where` or `differs_from`.

    If a slot differs from others, these are included: its choices depend on them.
    """
    names = {name for name in wanted if name not in draw.for_each}
    names |= {slot.name for slot in slots if slot.n_taken is None}
    for slot in reversed(slots):
        if slot.name in names:
            names |= {*slot.differs_from} - {*draw.for_each}
    return [slot for slot in slots if slot.name in names]


def _pool(
    document: YamlDocument,
    slots: Sequence[Slot],
    bound: Sequence[Slot],
    condition: Code | None,
    fixed: Mapping[str, int],
) -> dict[str, Column] | None:
    """List the combinations of bound slots that a condition allows in a cell; None if it allows none."""
    lengths = {slot.name: _n_places(slot, slots, fixed) for slot in bound}
    sizes = [slot.n_choices(place) for slot in bound for place in range(lengths[slot.name])]
    n_all = math.prod(sizes)
    if n_all > LARGEST_DRAW:
        raise document.error(
            _too_many(n_all), "draw", "where", fix="Use fewer slots in the condition 'where'."
        )
    choices = iter(np.unravel_index(np.arange(n_all), sizes)) if sizes else iter(())
    codes = {name: np.full(n_all, code, np.int64) for name, code in fixed.items()}
    fillers = {slot.name: fillers_of(slot, codes[slot.name]) for slot in slots if slot.name in fixed}
    for slot in bound:
        chosen = [np.asarray(next(choices), np.int64) for _ in range(lengths[slot.name])]
        fillers[slot.name] = skip_taken(slot, chosen, slots, fillers)
        codes[slot.name] = codes_of(slot, fillers[slot.name])
    rows = np.flatnonzero(_holds(condition, slots, codes))
    return {slot.name: codes[slot.name][rows] for slot in bound} if len(rows) else None


def _count_items(slots: Sequence[Slot], fixed: Mapping[str, int], pool: dict[str, Column] | None) -> int:
    """Count the possible items of a cell with different words."""
    bound = {} if pool is None else pool
    free = [slot for slot in slots if slot.name not in fixed and slot.name not in bound]
    words = [slot for slot in free if not slot.is_numeric]
    choices = [slot.n_choices(place) for slot in words for place in range(_n_places(slot, slots, fixed))]
    if any(choice < 1 for choice in choices):
        return 0
    return math.prod(choices) * (1 if pool is None else len(next(iter(pool.values()))))


def _of_cell(slots: Sequence[Slot], fixed: Mapping[str, int]) -> str:
    """Return a description of a cell, for a message."""
    by_name = {slot.name: slot for slot in slots}
    values = [f"{name} {_name_of(by_name[name].binding(code))}" for name, code in fixed.items()]
    return f" where {', '.join(values)}" if values else ""


def _name_of(binding: object) -> str:
    return getattr(binding, "lemma", None) or str(binding)


def codes_of_draw(slots: Sequence[Slot], draw: Draw, document: YamlDocument) -> dict[str, Column]:
    """Return the value of every slot in every item: codes for `Slot.binding`, (items,) each.

    Items are sorted by cell. The seed is made of the file's name, the cell and the seed of the draw.
    """
    codes: dict[str, list[Column]] = {slot.name: [] for slot in slots}
    bound = {} if draw.pools is None else draw.pools[0]
    free = [slot for slot in slots if slot.name not in draw.for_each and slot.name not in bound]
    seed = "" if draw.seed is None else f" seed {draw.seed}"
    for number, cell in enumerate(draw.cells):
        fixed = dict(zip(draw.for_each, cell, strict=True))
        chance = random.Random(f"{composed(document.path.stem)} {cell}{seed}")  # noqa: S311 - not cryptography
        places = {
            slot.name: [
                _evenly(slot.n_choices(place), draw.items, chance)
                for place in range(_n_places(slot, slots, fixed))
            ]
            for slot in free
        }
        words = [column for slot in free if not slot.is_numeric for column in places[slot.name]]
        rows = [] if draw.pools is None else _balanced(draw.pools[number], slots, draw.items, chance)
        columns = [rows, *words] if draw.pools is not None else words
        if not _made_distinct(columns, draw.items, chance):
            message = (
                f"in a cell of the draw, tseval does not find {draw.items:,} items with different words."
            )
            raise document.error(message, "draw", fix="Draw fewer items, or add words to the lexicon.")
        drawn_codes = {name: np.full(draw.items, code, np.int64) for name, code in fixed.items()}
        if draw.pools is not None:
            drawn_codes |= {name: column[rows] for name, column in draw.pools[number].items()}
        fillers = {
            slot.name: fillers_of(slot, drawn_codes[slot.name]) for slot in slots if slot.name in drawn_codes
        }
        for slot in free:
            chosen = [np.array(column, np.int64) for column in places[slot.name]]
            fillers[slot.name] = skip_taken(slot, chosen, slots, fillers)
            drawn_codes[slot.name] = codes_of(slot, fillers[slot.name])
        for name, column in drawn_codes.items():
            codes[name].append(column)
    return {name: np.concatenate(columns) for name, columns in codes.items()}


def _n_places(slot: Slot, slots: Sequence[Slot], fixed: Mapping[str, int]) -> int:
    """Return how many fillers a slot has at once in a cell."""
    if slot.repeated_by is None:
        return slot.repeat or 1
    (counting,) = (other for other in slots if other.name == slot.repeated_by)
    length = counting.fillers[fixed[counting.name]]
    assert isinstance(length, int)
    return length


def _evenly(n_choices: int, n_items: int, chance: random.Random) -> list[int]:
    """Distribute choices evenly over items, in random order; frequencies differ by at most one."""
    choices = list(range(n_choices)) * (n_items // n_choices)
    choices += chance.sample(range(n_choices), n_items % n_choices)
    chance.shuffle(choices)
    return choices


def _balanced(
    pool: Mapping[str, Column], slots: Sequence[Slot], n_items: int, chance: random.Random
) -> list[int]:
    """Choose combinations so that the fillers of every slot are as evenly frequent as the pool allows.

    Each step takes the combination whose fillers have been used least, relative to an even distribution.
    Chance decides between equals. No combination is used twice before all have been used once.
    """
    columns = [
        np.unique(filler, return_inverse=True)[1]
        for slot in slots
        if slot.name in pool
        for filler in fillers_of(slot, pool[slot.name])
    ]
    size = len(columns[0])
    rows = list(range(size)) * (n_items // size)
    sizes = [int(column.max()) + 1 for column in columns]
    counts = [np.zeros(n) for n in sizes]
    remaining_rows = np.arange(size)
    numbers = np.random.default_rng(chance.getrandbits(64))
    for _ in range(n_items % size):
        sample = numbers.choice(remaining_rows, min(len(remaining_rows), _LOOKED_AT), replace=False)
        cost = np.zeros(len(sample))
        for n, counted, column in zip(sizes, counts, columns, strict=True):
            cost += n * counted[column[sample]]
        row = int(sample[numbers.choice(np.flatnonzero(cost == cost.min()))])
        rows.append(row)
        remaining_rows = remaining_rows[remaining_rows != row]
        for counted, column in zip(counts, columns, strict=True):
            counted[column[row]] += 1
    chance.shuffle(rows)
    return rows


def _made_distinct(columns: list[list[int]], n_items: int, chance: random.Random) -> bool:
    """Exchange fillers between items until no two items are equal; the frequency of each filler stays."""
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
