"""An overview for the author: the number of items, three items of each case, and word frequencies.

Wrong items are easy to see there. The overview is short: few values of a slot, and if there are many cases,
one line per case.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tseval.errors import counted, shortened
from tseval.writing import without_boundaries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.items import Case
    from tseval.suites.grammar.slots import Slot


MOST_CASES = 8  # up to this many cases are shown with items; if there are more, each has one line
_MOST_VALUES = 6  # shown values of a slot
_WIDTH = 100  # characters of a sentence, a value list or a line of a case


@dataclass(frozen=True, slots=True)
class CaseOverview:
    """The overview of a case."""

    name: str
    n_items: int  # number of checked items
    n_all: int  # number of all items
    items: Mapping[int, Mapping[str, str]]  # first, middle and last item: number to sentences by label
    values: Mapping[str, Counter[str]] = field(default_factory=dict)  # frequencies of the values of each slot


def overview_of(case: Case, slots: Sequence[Slot] = (), n_all: int | None = None) -> CaseOverview:
    """Sum up a case. `slots` are the slots of its grammar; each repetition of a repeated slot counts."""
    places = sorted({0, case.n_items // 2, max(case.n_items - 1, 0)}) if case.n_items else []
    items = {
        int(case.index[place].as_py()) + 1: {
            label: without_boundaries(str(case.sentences[label][place].as_py())) for label in case.labels
        }
        for place in places
    }
    values: dict[str, Counter[str]] = {}
    for slot in slots:
        for name in (slot.name, f"{slot.name}_number") if slot.has_number else (slot.name,):
            column = case.features[name].to_pylist()
            if slot.repeat is None:
                counts = Counter(column)
                if slot.is_numeric:
                    counts = Counter(dict(sorted(counts.items())))
                values[name] = Counter({_as_text(value): count for value, count in counts.items()})
            else:
                values[name] = Counter(text for texts in column for text in str(texts).split(", "))
    return CaseOverview(case.name, case.n_items, case.n_items if n_all is None else n_all, items, values)


def write_overview(cases: Sequence[CaseOverview]) -> Iterator[str]:
    """Yield the lines of the overview."""
    if len(cases) > MOST_CASES:
        width = max(len(case.name) for case in cases)
        digits = max(len(f"{case.n_items:,}") for case in cases)
        for case in cases:
            first = " / ".join(next(iter(case.items.values()), {}).values())
            yield f"{case.name:{width}}  {case.n_items:{digits},}  {shortened(first, _WIDTH)}"
        yield "To see three items and how often each word occurs, give one grammar or file: tseval lint FILE."
        return
    for case in cases:
        of_all = f" of {case.n_all:,}" if case.n_all > case.n_items else ""
        yield f"{case.name}: {case.n_items:,}{of_all} {counted(case.n_all, 'item').partition(' ')[2]}"
        rows = [
            (f"{number:,}" if place == 0 else "", label, shortened(text, _WIDTH))
            for number, texts in case.items.items()
            for place, (label, text) in enumerate(texts.items())
        ]
        rows += [(name, "", _frequencies(values)) for name, values in case.values.items()]
        number_width = max((len(number) for number, label, _ in rows if label), default=0)
        label_width = max((len(label) for _, label, _ in rows), default=0)
        name_width = max((len(name) for name, label, _ in rows if not label), default=0)
        name_width = max(name_width, number_width + label_width + 2)
        for name, label, text in rows:
            head = f"{name:>{number_width}}  {label}" if label else name
            yield f"  {head:{name_width}}  {text}"


def _frequencies(values: Counter[str]) -> str:
    """List values with their frequencies; only the first values if there are many."""
    named = list(values.items())
    more = f", … {len(named) - _MOST_VALUES:,} more" if len(named) > _MOST_VALUES else ""
    if len(named) > 1 and len(set(values.values())) == 1:
        return f"{', '.join(value for value, _ in named[:_MOST_VALUES])}{more}: {named[0][1]:,} each"
    uneven = f" (from {min(values.values()):,} to {max(values.values()):,} times)" if more else ""
    return ", ".join(f"{value} {count:,}×" for value, count in named[:_MOST_VALUES]) + more + uneven


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
