"""SyntaxGym suites (Gauthier et al. 2020; Hu et al. 2020): items with conditions, divided into regions.

A prediction compares surprisals of regions. The suite's metric combines the surprisals of a region's words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from tseval.errors import SuiteError, quoted_text, suggest
from tseval.formats import ContentError, checked, fits, parse_data, read_text, stem_of
from tseval.questions.formulas import regions_in
from tseval.questions.regions import REGION_METRICS, Prediction, Regions, with_all
from tseval.suites.data.continuations import region_lengths
from tseval.suites.data.entries import DataItem, DataSet, TableReading
from tseval.suites.data.joining import BY_SCRIPT, join_parts
from tseval.writing import single_spaced

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from tseval.items import Case
    from tseval.questions.formulas import Region
    from tseval.questions.regions import Metric
    from tseval.suites.data.entries import TableReading


SYNTAXGYM_SOURCE = "Gauthier et al. 2020, SyntaxGym, ACL demonstrations"
SYNTAXGYM_PHENOMENON = "SyntaxGym"


class _Region(TypedDict):
    region_number: int
    content: str


class _Condition(TypedDict):
    condition_name: str
    regions: list[_Region]


class _Item(TypedDict):
    item_number: int
    conditions: list[_Condition]


class _Prediction(TypedDict):
    formula: str


class _Suite(TypedDict):
    meta: NotRequired[dict[str, object]]
    items: list[_Item]
    predictions: list[_Prediction]


def read_syntaxgym(path: Path, reading: TableReading) -> tuple[Case, ...]:
    """Read a suite; it becomes one case."""
    try:
        suite = checked(parse_data(read_text(path), str(path)), _Suite)
    except ContentError as error:
        raise SuiteError(
            f"{path}: tseval cannot read this file as a SyntaxGym suite: {error.where!r} {error.what}.\n"
            f"  Correct {error.where!r} in the file."
        ) from None
    meta = suite.get("meta", {})
    name = str(meta.get("name") or stem_of(path))
    metric = cast("Metric", str(meta.get("metric", "sum")))
    if metric not in REGION_METRICS:
        hint = suggest(metric, REGION_METRICS, "Metrics")
        raise SuiteError(f"{path}: unknown metric {quoted_text(metric)}.\n  {hint}")
    formulas = [prediction["formula"] for prediction in suite["predictions"]]
    items = [_item(path, name, item) for item in suite["items"]]
    if not items or not formulas:
        raise SuiteError(
            f"{path}: the SyntaxGym suite has {len(items)} items and {len(formulas)} predictions, but "
            "needs at least one of each.\n  Add entries under 'items' and 'predictions'."
        )
    n_regions = {label: len(regions) for label, regions in items[0].regions.items()}
    for place, item in enumerate(items):
        if {label: len(regions) for label, regions in item.regions.items()} != n_regions:
            first = items[0].features["number"]
            raise SuiteError(
                f"{item.place}: the conditions and numbers of regions differ from those of item {first}.\n"
                "  Give all items the same conditions, with the same number of regions."
            )
        items[place] = replace(item, sentences={label: item.sentences[label] for label in n_regions})
    region_numbers = {label: range(1, n + 1) for label, n in n_regions.items()}
    for formula in formulas:
        for region in check_formula(str(path), formula, region_numbers):
            for item in items if metric != "sum" else ():
                lengths = [length for _, length in item.regions[region.condition]]
                if not all([lengths[region.place - 1]] if isinstance(region.place, int) else lengths):
                    raise SuiteError(
                        f"{item.place}: the formula {formula!r} needs the {metric} surprisal of a region "
                        f"that is empty under the condition {region.condition!r}.\n"
                        "  Name another region in the formula, or use the metric 'sum'."
                    )
    predictions = with_all([Prediction(f"prediction {n}", formula) for n, formula in enumerate(formulas, 1)])
    return reading.build(items, lambda entries: Regions(predictions, region_lengths(entries), metric))


def _item(path: Path, suite: str, item: _Item) -> DataItem:
    number = item["item_number"]
    place = f"{path}: item {number}"
    if not fits(number):
        raise SuiteError(f"{place}: the item_number has more than 64 bits.\n  Write a smaller item_number.")
    texts: dict[str, list[str]] = {}
    for condition in item["conditions"]:
        label, regions = condition["condition_name"], condition["regions"]
        if [region["region_number"] for region in regions] != list(range(1, len(regions) + 1)):
            raise SuiteError(
                f"{place}: the regions of the condition {label!r} are not numbered 1, 2, 3, ... in order.\n"
                "  Correct the values of region_number."
            )
        texts[label] = [single_spaced(region["content"]) for region in regions]
        if not any(texts[label]):
            raise SuiteError(
                f"{place}: all regions of the condition {label!r} are empty.\n"
                "  Write words as the content of at least one region."
            )
    return DataItem(
        place,
        (suite, suite, SYNTAXGYM_PHENOMENON, None),
        # SyntaxGym's own program also puts a space before marks.
        {label: join_parts(parts, BY_SCRIPT) for label, parts in texts.items()},
        {"number": number},
        # Every prediction is about every item. Item numbers start at the same number in every suite.
        {"item": f"{suite} {number}"},
        {label: [("", len(text.split())) for text in parts] for label, parts in texts.items()},
    )


def check_formula(where: str, formula: str, known: Mapping[str, Collection[int | str]]) -> set[Region]:
    """Return the regions that a formula uses; refuse an invalid formula (`regions_in`)."""
    try:
        return regions_in(formula, known)
    except ValueError as error:
        explanation = ".\n  ".join(error.args)
        raise SuiteError(f"{where}: in {formula!r}, {explanation}") from None


def syntaxgym_set(reading: TableReading) -> DataSet:
    """Read SyntaxGym suites as one set."""
    cases = tuple(case for file in reading.files for case in read_syntaxgym(file, reading))
    names = Counter(case.name for case in cases)
    if repeated := [name for name, times in names.items() if times > 1]:
        raise SuiteError(
            f"two SyntaxGym suites have the name {min(repeated)!r}.\n"
            "  Change meta.name in one of their files, or leave one of the files out."
        )
    return DataSet(reading.name, reading.name, SYNTAXGYM_SOURCE, "regions", cases)
