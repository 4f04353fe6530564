"""What BabyLM asks: which of several texts or continuations is the most probable? The right one is first."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, cast

from tseval.errors import SuiteError
from tseval.suites.data.continuations import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.suites.data.pairs import DataRecord

    Reader = Callable[[str, DataRecord, str], "Choice"]

COMPS_FILES = {
    "comps_base": "base",
    "comps_wugs": "wugs",
    "comps_wugs_dist-before": "wugs_dist_before",
    "comps_wugs_dist-in-between": "wugs_dist_in_between",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the texts of a choice.

    Attributes:
        prefix: What is given, as it stands before the rest; empty where the whole text is compared.
        rest: What is compared.
        answer: What the pipeline writes down where this one is chosen.
    """

    prefix: str
    rest: str
    answer: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One item of a task.

    Attributes:
        place: `file:line`, for messages.
        subset: Over which accuracy is counted first; the `UID` of the pipeline.
        options: The right one first.
        ratio: How often people chose the first, where that is known.
    """

    place: str
    subset: str
    options: tuple[Candidate, ...]
    ratio: float | None = None


def read_blimp_pair(place: str, record: DataRecord, stem: str) -> Choice:
    """Read a pair of filtered BLiMP, or of its supplement, whose records name no paradigm."""
    subset = text_of(place, record, "UID") if "field" in record else stem
    texts = [text_of(place, record, name) for name in ("sentence_good", "sentence_bad")]
    return Choice(place, subset, tuple(Candidate("", text, text) for text in texts))


def read_ewok_line(place: str, record: DataRecord, stem: str) -> Choice:
    """Read half an item of EWoK, two targets after the first context; the other half has its own line."""
    context, subset = text_of(place, record, "Context1"), text_of(place, record, "Domain")
    targets = [f" {text_of(place, record, name)}" for name in ("Target1", "Target2")]
    return Choice(place, subset, tuple(Candidate(context, target, target) for target in targets))


def read_boxes(place: str, record: DataRecord, stem: str) -> Choice:
    """Read an item of entity tracking: what a box contains, after so many operations."""
    prefix, options = text_of(place, record, "input_prefix"), record.get("options")
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise SuiteError(f"{place}: options are no list of texts, but {options!r}")
    number = record.get("numops")
    if not isinstance(number, int):
        raise SuiteError(f"{place}: numops is no whole number, but {number!r}")
    texts = cast("list[str]", options)
    return Choice(place, f"{stem}_{number}_ops", tuple(Candidate(prefix, text, text) for text in texts))


def read_wug(place: str, record: DataRecord, stem: str) -> Choice:
    """Read two forms of a made-up word, with the share of people who chose the first."""
    texts = text_of(place, record, "sentences").split("\t")
    ratio = record.get("ratio")
    try:
        share = float(cast("str", ratio))
        if not isfinite(share):
            raise ValueError
    except (OverflowError, TypeError, ValueError):
        raise SuiteError(f"{place}: ratio is no number, but {ratio!r}") from None
    return Choice(place, stem, tuple(Candidate("", text, text) for text in texts), share)


def read_comps_pair(place: str, record: DataRecord, stem: str) -> Choice:
    """Read a property after two concepts."""
    if stem not in COMPS_FILES:
        raise SuiteError(f"{place}: no file of COMPS is called {stem}.\n  Files: {', '.join(COMPS_FILES)}.")
    prefixes = [text_of(place, record, f"prefix_{what}") for what in ("acceptable", "unacceptable")]
    rest = f" {text_of(place, record, 'property_phrase')}"
    return Choice(
        place, COMPS_FILES[stem], tuple(Candidate(prefix, rest, prefix + rest) for prefix in prefixes)
    )
