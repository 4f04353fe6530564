"""Designs: items whose sentences differ in conditions, and whose regions are compared.

The user's formula is the prediction. Without one, each condition is compared with the first condition, in the
critical region. If four conditions cross two factors, their interaction is tested too. A table does not say
which condition is harder; the sign of an effect does.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from tseval.errors import SuiteError, quoted_text, suggest
from tseval.questions.regions import Prediction, Regions
from tseval.suites.data.roles import PAIR_LABELS
from tseval.suites.data.syntaxgym import check_formula

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.questions import Question
    from tseval.suites.data.entries import DataItem, TableReading
    from tseval.suites.data.roles import Header


# Names of regions that are compared by default.
_CRITICAL = ("critical", "crit", "target", "disambiguation", "disambiguating", "disamb", "disambig")
# Columns of published tables that are regions, with their template.
_PUBLISHED = {
    # Jurayj, Rudman & Eickhoff 2022, Garden Path Traversal in GPT-2, BlackboxNLP.
    ("Start", "Transitive", "Intransitive", "NP", "Verb", "Rest"):
        "Start {Transitive|Intransitive} {,|} NP *Verb Rest",
}  # fmt: skip


def as_name(text: str) -> str:
    """Convert the text of a condition or region to a name for formulas.

    >>> as_name("sub-no matrix"), as_name(","), as_name(""), as_name("2nd")
    ('sub_no_matrix', 'comma', 'none', 'c2nd')
    """
    name = "_".join(re.findall(r"\w+", text)) or {"": "none", ",": "comma"}.get(text.strip(), "mark")
    return name if not name[0].isdecimal() else f"c{name}"


def distinct_names(names: Sequence[str]) -> list[str]:
    """Convert texts to distinct names for formulas; if two names are equal, the second gets a number."""
    distinct: list[str] = []
    for name in map(as_name, names):
        numbered = (name, *(f"{name}_{n}" for n in range(2, len(names) + 1)))
        distinct.append(next(candidate for candidate in numbered if candidate not in distinct))
    return distinct


def template_of(columns: Header) -> str | None:
    """Return the template of a table whose columns are regions: the user's, or that of a published table."""
    published = next((text for names, text in _PUBLISHED.items() if {*names} <= {*columns.names}), None)
    return columns.options.get("layout", published)


def read_template(columns: Header) -> Iterator[tuple[str, list[tuple[str, bool]], bool]]:
    """Yield each region of a template: its name, its alternatives, and whether it is compared."""
    template = template_of(columns) or ""
    marked = False
    for part in re.finditer(r'(\*?)(?:\{([^{}]*)\}|"([^"]+)"|([^\s{}"]+))', template):
        star, alternatives, quoted, plain = part.groups()
        several = [quoted or plain]
        if alternatives is not None:
            several = [alternative.strip(' "') for alternative in alternatives.split("|")]
        names = [(alternative, alternative in columns.names) for alternative in several]
        if alternatives is None and not names[0][1]:
            raise SuiteError(
                f"{columns.place}: --layout names the column {several[0]!r}, but the table has no such "
                "column.\n"
                f"  {suggest(several[0], columns.names, 'Columns')} "
                "If it is a word of the sentence, write it in braces: {WORD}."
            )
        marked |= bool(star)
        yield as_name("_".join(filter(None, several))), names, bool(star)
    if not template:
        raise columns.unknown()
    if not marked and "predict" not in columns.options:
        raise SuiteError(
            f"--layout: {quoted_text(template)} does not say which region to compare.\n"
            "  Put a star before that region, as in 'Start {Transitive|Intransitive} {,|} NP *Verb'."
        )


def ask_design(entries: Sequence[DataItem], reading: TableReading) -> Question:
    """Return the question of a case: the user's predictions, or the effects of its conditions."""
    lengths, region_numbers = {}, {}
    for label in entries[0].regions:
        order = _order(entries, label)
        region_lengths = [dict(entry.regions[label]) for entry in entries]
        lengths[label] = pa.array(
            [[by_name.get(name, 0) for name in order] for by_name in region_lengths], pa.list_(pa.int64())
        )
        region_numbers[label] = {name: number for number, name in enumerate(distinct_names(order), 1)}
    _refuse_empty(entries, region_numbers, lengths, reading)
    formula = reading.options.get("predict")
    formulas = [part.strip() for part in (formula or "").split(";") if part.strip()]
    crossed = "+" in reading.options.get("condition", "")
    predictions = [Prediction(text, text) for text in formulas]
    predictions = predictions or _effects(entries[0], region_numbers, reading.compared, crossed)
    region_ids: dict[str, list[int | str]] = {
        label: [*numbers, *numbers.values()] for label, numbers in region_numbers.items()
    }
    for prediction in predictions:
        check_formula("--columns", prediction.formula, region_ids)
    if not formula:
        formulas_text = "; ".join(prediction.formula for prediction in predictions)
        reading.notes.append(f"prediction: {formulas_text} (to change it: --columns 'predict=...')")
    return Regions(tuple(predictions), pa.table(lengths), named=region_numbers)


def _refuse_empty(
    entries: Sequence[DataItem],
    region_numbers: Mapping[str, Mapping[str, int]],
    lengths: Mapping[str, pa.Array[Any]],
    reading: TableReading,
) -> None:
    """Refuse to compare a starred region that is empty under some conditions but not under others."""
    region = reading.compared
    if (
        region is None
        or "predict" in reading.options
        or not all(region in numbers for numbers in region_numbers.values())
    ):
        return
    counts = {
        label: [
            n_words[region_numbers[label][region] - 1]
            for n_words in cast("list[list[int]]", column.to_pylist())
        ]
        for label, column in lengths.items()
    }
    empty = {
        label: item_counts.index(0) if 0 in item_counts else None for label, item_counts in counts.items()
    }
    without = [label for label, index in empty.items() if index is not None]
    if without and len(without) < len(empty):
        raise SuiteError(
            f"{entries[empty[without[0]] or 0].place}: the region {region!r} is empty under the condition "
            f"{without[0]!r}, but has words under others, so the comparison is not fair.\n"
            "  Put the star of --layout before another region. "
            "Or name the regions to compare: --columns 'predict=A.REGION > B.REGION'."
        )


def _order(entries: Sequence[DataItem], label: str) -> list[str]:
    """Return the regions of a condition in order; single items may lack some of them."""
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
                    f"{entry.place}: the region {name!r} is in another position than in earlier items.\n"
                    "  Put the regions in the same order in all items, or give this region another name."
                )
            last = order.index(name)
    return order


def _effects(
    entry: DataItem,
    region_numbers: Mapping[str, Mapping[str, int]],
    compared: str | None,
    crossed: bool = False,
) -> list[Prediction]:
    """Compare each condition with the first; for four conditions in two factors, add the interaction.

    If the user crosses factors, `condition=A+B`, each level of B is compared with the first level of B,
    within one level of A.
    """
    shared = [
        name
        for name in next(iter(region_numbers.values()))
        if all(name in numbers for numbers in region_numbers.values())
    ]
    matches = (name for critical_name in _CRITICAL for name in shared if name.lower() == critical_name)
    critical, labels = compared or next(matches, None), list(region_numbers)
    if critical is None:
        last = shared[-1] if shared else "*"
        example = f"{labels[1]}.{last} > {labels[0]}.{last}"
        raise SuiteError(
            f"{entry.place}: tseval does not know which region to compare, because no region has the name "
            f"critical. The regions are {', '.join(map(repr, shared))}.\n"
            f"  Name the regions to compare, as in --columns 'predict={example}'."
        )
    if labels == [*PAIR_LABELS]:
        return [Prediction("good > bad", f"good.{critical} < bad.{critical}")]

    def effect(other: str, reference: str) -> Prediction:
        return Prediction(f"{other} > {reference}", f"{other}.{critical} > {reference}.{critical}")

    grid = _grid(labels)
    if grid is not None and len(labels) == 4:
        (aa, ab), (ba, bb) = grid
        interaction = f"({ab}.{critical} - {aa}.{critical}) > ({bb}.{critical} - {ba}.{critical})"
        return [effect(ab, aa), effect(bb, ba), Prediction("interaction", interaction)]
    if crossed and grid is not None:
        return [effect(other, row[0]) for row in grid for other in row[1:]]
    return [effect(other, labels[0]) for other in labels[1:]]


def _grid(labels: Sequence[str]) -> list[list[str]] | None:
    """Arrange conditions by the levels of their first factor; None if they are not a full crossing."""
    levels = [label.split("_") for label in labels]
    for cut in range(1, max(map(len, levels))):
        first = list(dict.fromkeys("_".join(parts[:cut]) for parts in levels))
        second = list(dict.fromkeys("_".join(parts[cut:]) for parts in levels))
        rows = [[f"{a}_{b}" for b in second] for a in first]
        if min(len(first), len(second)) > 1 and sorted(chain(*rows)) == sorted(labels):
            return rows
    return None
