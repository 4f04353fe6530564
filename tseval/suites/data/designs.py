"""Designs: items whose sentences stand under conditions, and what is asked of the regions of these.

A formula is what the user predicts. Without one, the effect of every condition against the first is asked
for, in the region that is called critical; of four conditions in two factors, whether the effect of one is
larger under the first level of the other. Nothing in a table says which condition is harder: the sign of an
effect does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.errors import SuiteError, quoted_text, suggest
from tseval.questions.regions import Mark, Prediction, Regions, parse, regions_of
from tseval.suites.data.roles import PAIR_LABELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.questions import Question
    from tseval.suites.data.entries import DataItem, Reading
    from tseval.suites.data.roles import Header


# Regions that are compared where nothing else is said.
_CRITICAL = ("critical", "crit", "target", "disambiguation", "disambiguating", "disamb", "disambig")


# Columns that are regions, as published.
_PUBLISHED = {
    # Jurayj, Rudman & Eickhoff 2022, Garden Path Traversal in GPT-2, BlackboxNLP.
    ("Start", "Transitive", "Intransitive", "NP", "Verb", "Rest"):
        "Start {Transitive|Intransitive} {,|} NP *Verb Rest",
}  # fmt: skip


def as_name(text: str) -> str:
    """Write a condition or a region as formulas may name it.

    >>> as_name("sub-no matrix"), as_name(","), as_name(""), as_name("2nd")
    ('sub_no_matrix', 'comma', 'none', 'c2nd')
    """
    name = "_".join(re.findall(r"\w+", text)) or {"": "none", ",": "comma"}.get(text.strip(), "mark")
    return name if not name[0].isdecimal() else f"c{name}"


def distinct_names(names: Sequence[str]) -> list[str]:
    """Write names as formulas may have them; of two that become one, the second gets a number."""
    found: list[str] = []
    for name in map(as_name, names):
        found.append(
            next(one for one in (name, *(f"{name}_{n}" for n in range(2, 10**6))) if one not in found)
        )
    return found


def template_of(names: Sequence[str], how: Mapping[str, str]) -> str | None:
    """Give the template of a table whose columns are regions, of its user or as published."""
    published = next((text for columns, text in _PUBLISHED.items() if {*columns} <= {*names}), None)
    return how.get("layout", published)


def read_template(
    columns: Header, how: Mapping[str, str]
) -> Iterator[tuple[str, list[tuple[str, bool]], bool]]:
    """Read a template: each region's name, what may stand there, and whether it is compared."""
    template = template_of(columns.names, how) or ""
    marked = False
    for part in re.finditer(r'(\*?)(?:\{([^{}]*)\}|"([^"]+)"|([^\s{}"]+))', template):
        star, alternatives, quoted, plain = part.groups()
        several = (
            [one.strip(' "') for one in alternatives.split("|")]
            if alternatives is not None
            else [quoted or plain]
        )
        names = [(one, one in columns.names) for one in several]
        if alternatives is None and not names[0][1]:
            raise SuiteError(
                f"{columns.place}: there is no column {several[0]!r} (--layout).\n"
                f"  {suggest(several[0], columns.names, 'Columns')} Words stand in braces."
            )
        marked |= bool(star)
        yield as_name("_".join(filter(None, several))), names, bool(star)
    if not template:
        raise columns.unknown()
    if not marked and "predict" not in how:
        raise SuiteError(
            f"--layout: nothing in {quoted_text(template)} says which region is compared.\n"
            "  Put a star before it: 'Start {Transitive|Intransitive} {,|} NP *Verb'."
        )


def ask_design(entries: Sequence[DataItem], reading: Reading) -> Question:
    """Ask what should hold of the regions of a case: what the user predicts, or effects of its conditions."""
    lengths, named = {}, {}
    for label in entries[0].regions:
        order = _order(entries, label)
        own = [dict(entry.regions[label]) for entry in entries]
        lengths[label] = pa.array([[one.get(name, 0) for name in order] for one in own], pa.list_(pa.int64()))
        named[label] = {name: place for place, name in enumerate(distinct_names(order), 1)}
    formula = reading.how.get("predict")
    found = [Prediction(formula, formula)] if formula else _effects(entries[0], named, reading.compared)
    for prediction in found:
        try:
            regions = regions_of(parse(prediction.formula))
        except ValueError as error:
            raise SuiteError(f"--columns: the formula {prediction.formula!r} {error}.") from None
        for region in regions:
            _refuse_unknown(region.condition, named, "condition")
            if isinstance(region.place, Mark):
                _refuse_unknown(region.place.name, named[region.condition], "region")
    if not formula:
        asked = "; ".join(prediction.formula for prediction in found)
        reading.notes.append(f"asked: {asked} (--columns 'predict=...' asks something else)")
    return Regions(tuple(found), pa.table(lengths), named=named)


def _refuse_unknown(name: str, known: Mapping[str, object], what: str) -> None:
    if name not in known:
        hint = suggest(name, known, f"{what.title()}s")
        raise SuiteError(f"--columns: predict names a {what} {name!r} that is not there.\n  {hint}")


def _order(entries: Sequence[DataItem], label: str) -> list[str]:
    """Order the regions of a condition as they stand in its items, some of which may lack some."""
    order: list[str] = []
    seen: set[tuple[str, ...]] = set()
    for entry in entries:
        names = tuple(name for name, _ in entry.regions[label])
        if names in seen:
            continue
        seen.add(names)
        last = -1
        for name in names:
            if name not in order:
                order.insert(last + 1, name)
            if order.index(name) <= last or names.count(name) > 1:
                raise SuiteError(
                    f"{entry.place}: the region {name!r} stands elsewhere than in the items before it.\n"
                    "  Give regions of other places other names."
                )
            last = order.index(name)
    return order


def _effects(
    entry: DataItem, named: Mapping[str, Mapping[str, int]], compared: str | None
) -> list[Prediction]:
    """Ask for the effect of each condition against the first; of two factors, for their interaction too.

    Args:
        entry: An item.
        named: Condition to its regions.
        compared: The region that is compared; None for the one that is called critical.
    """
    shared = [name for name in next(iter(named.values())) if all(name in own for own in named.values())]
    critical = compared or next(
        (name for known in _CRITICAL for name in shared if name.lower() == known), None
    )
    labels = list(named)
    if critical is None:
        example = f"{labels[1]}.{shared[-1] if shared else '*'} > {labels[0]}.{shared[-1] if shared else '*'}"
        raise SuiteError(
            f"{entry.place}: none of the regions {', '.join(map(repr, shared))} is called critical.\n"
            f"  Say what is compared: --columns 'predict={example}'."
        )
    if labels == [*PAIR_LABELS]:
        return [Prediction("good > bad", f"good.{critical} < bad.{critical}")]

    def effect(other: str, one: str) -> Prediction:
        return Prediction(f"{other} > {one}", f"{other}.{critical} > {one}.{critical}")

    if len(labels) == 4 and (square := _square(labels)):
        (aa, ab), (ba, bb) = square
        interaction = f"({ab}.{critical} - {aa}.{critical}) > ({bb}.{critical} - {ba}.{critical})"
        return [effect(ab, aa), effect(bb, ba), Prediction("interaction", interaction)]
    return [effect(other, labels[0]) for other in labels[1:]]


def _square(labels: Sequence[str]) -> list[list[str]] | None:
    """Arrange four conditions by two factors: those of the first level of one, then those of the second."""
    levels = [label.split("_") for label in labels]
    for cut in range(1, max(map(len, levels))):
        first = list(dict.fromkeys("_".join(one[:cut]) for one in levels))
        second = list(dict.fromkeys("_".join(one[cut:]) for one in levels))
        rows = [[f"{a}_{b}" for b in second] for a in first]
        if len(first) == len(second) == 2 and sorted([*rows[0], *rows[1]]) == sorted(labels):
            return rows
    return None
