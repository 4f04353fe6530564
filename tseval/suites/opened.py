"""The interface of suites: the methods that formal languages, data and grammars have in common.

Each kind is a `SuiteKind` in `formal/suite.py`, `data/suite.py` or `grammar/suite.py`, and says which names
or files it opens. `loading.py` lists the kinds and tries them in turn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.errors import SuiteError
from tseval.items import choose_rows
from tseval.suites.data.exclusions import refuse_exclusion
from tseval.suites.data.roles import refuse_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.items import Case, Suite
    from tseval.suites.data.exclusions import Exclude


@dataclass(frozen=True, slots=True)
class Selection:
    """The items of a suite that a user wants."""

    cases: Sequence[str] = ()  # names of cases; empty for all cases
    limit: int | None = None  # use the first `limit` items
    sample: int | None = None  # draw this many items without replacement, in item order
    seed: int = 0  # seed for the draw

    @property
    def has_all_items(self) -> bool:
        """Whether no limit and no sample is set."""
        return self.limit is None and self.sample is None

    @property
    def is_whole_suite(self) -> bool:
        """Whether all items of all cases are wanted."""
        return not self.cases and self.has_all_items

    def rows(self, n_items: int) -> Sequence[int]:
        """Choose items by position among `n_items`, ascending."""
        return choose_rows(n_items, self.limit, self.sample, self.seed)

    def check(self) -> None:
        """Refuse a limit or a sample below 1."""
        for name, count in (("limit", self.limit), ("sample", self.sample)):
            if count is not None and count < 1:
                raise SuiteError(
                    f"the number of items, {name}={count}, must be 1 or more.\n  To use all items, leave "
                    f"{name} out."
                )


@dataclass(frozen=True, slots=True)
class Request:
    """A suite, and how to read it."""

    spec: str | Path  # as the user wrote it, for messages
    place: str | Path  # the name of a formal language, or the path of files
    method: str | None = None  # the chosen method of a data set with several methods (`blimp:one_prefix`)
    columns: Mapping[str, str] | None = None  # roles of columns and settings (`tseval.suites.data.roles`)
    exclude: Exclude | None = None  # items to leave out (`tseval.suites.data.exclusions`)
    tokenise: bool = False  # whether to write the sentences of data as Penn Treebank tokens

    def refuse_settings_of_data(self) -> None:
        """Refuse the settings `columns` and `exclude`, which only data sets have."""
        refuse_columns(self.spec, self.columns)
        refuse_exclusion(self.spec, self.exclude)


@dataclass(frozen=True, slots=True)
class ItemStream:
    """The items of a suite in blocks."""

    n_items: int
    labels: tuple[str, ...]  # the labels of all cases, each once
    notes: tuple[str, ...]  # notes for the user on how the items were read
    blocks: Iterator[Case]  # a large case comes in several blocks


class OpenedSuite(ABC):
    """A suite that has been located but not yet loaded."""

    @abstractmethod
    def load(self, selection: Selection) -> Suite:
        """Load the suite; limit and sample count the items of each case."""

    def stream(self, selection: Selection) -> ItemStream:
        """Yield the items in blocks; limit and sample count the items of all cases together."""
        suite = self.load(Selection(selection.cases, seed=selection.seed))
        rows = selection.rows(suite.n_items)
        ends = np.cumsum([case.n_items for case in suite.cases]).tolist()
        blocks = (
            case.take(rows_between(rows, end - case.n_items, end))
            for case, end in zip(suite.cases, ends, strict=True)
        )
        return ItemStream(len(rows), all_labels(case.labels for case in suite.cases), suite.notes, blocks)


class SuiteKind(OpenedSuite):
    """An abstract kind of suite, made from a request."""

    @abstractmethod
    def __init__(self, request: Request) -> None:
        """Store the request; refuse settings that this kind of suite does not have."""

    @classmethod
    @abstractmethod
    def opens(cls, place: str | Path) -> bool:
        """Return whether this kind of suite has this name, or consists of these files."""


def all_labels(of_cases: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the labels of all cases, each once, in the order of the case that has the most."""
    cases = sorted(of_cases, key=len, reverse=True)
    return tuple(dict.fromkeys(label for labels in cases for label in labels))


def rows_between(rows: Sequence[int], start: int, end: int) -> Sequence[int]:
    """Return the ascending rows in [start, end), each minus start."""
    if isinstance(rows, range):
        return range(max(rows.start, start) - start, max(min(rows.stop, end), start) - start)
    return [row - start for row in rows if start <= row < end]
