"""Suites of grammars: folders with `.jinja` files, or one such file. Expanded pairs are kept in a cache."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tseval.errors import SuiteError
from tseval.items import Suite, suite_digest
from tseval.suites.cache import load_cached, save_suite, suite_key
from tseval.suites.grammar.code_problems import note_of_errors
from tseval.suites.grammar.expand import LARGEST_INDEX, check_size, expand, expand_blocks
from tseval.suites.grammar.folders import read_folder
from tseval.suites.opened import ItemStream, Request, Selection, SuiteKind, all_labels, rows_between

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tseval.items import Case


# Larger suites are not cached.
CACHED_ITEMS = 1_000_000


class GrammarSuite(SuiteKind):
    """A folder of grammars, or one grammar."""

    def __init__(self, request: Request) -> None:
        request.refuse_settings_of_data()
        self.spec = request.spec
        self.path = Path(request.place)

    @classmethod
    def opens(cls, place: str | Path) -> bool:
        """Return whether the place is a path; `read_folder` reports a path without grammars."""
        return isinstance(place, Path)

    def load(self, selection: Selection) -> Suite:
        """Expand the selected items, or read the whole suite from the cache."""
        key = suite_key(self.path) if selection.is_whole_suite else None
        if key is not None and (cached := self._from_cache(key)):
            return cached
        folder = read_folder(self.path)
        grammars = folder.load(selection.cases)
        for grammar in grammars:
            check_size(grammar, None if selection.has_all_items else 0)
        cases = tuple(
            expand(grammar, folder.contrasts_of(grammar), selection.rows(grammar.n_items), folder.terminator)
            for grammar in grammars
        )
        errors = note_of_errors(grammars)
        suite = Suite(
            name=folder.name,
            title=folder.title,
            source=folder.source,
            terminator=folder.terminator,
            cases=cases,
            digest=suite_digest(folder.terminator, cases),
            complete=selection.is_whole_suite,
            writing=folder.writing,
            notes=(*folder.notes, *errors),
            score="sentence" if all(case.contrasts for case in cases) else "regions",
        )
        # Only pairs are cached, because they are slow. A mistake is reported every time, so it is not cached.
        if key is not None and not errors and suite.n_items <= CACHED_ITEMS and suite.score == "sentence":
            save_suite(suite, key)
        return suite

    def _from_cache(self, key: str) -> Suite | None:
        suite = load_cached(key)
        # Anyone can write into the cache (decision 9), so its content must match its digest.
        if suite is None or suite_digest(suite.terminator, suite.cases) != suite.digest:
            return None
        if suite.writing:
            return suite
        # No digest covers the rules of writing in the cache, so they are read from the file.
        folder = read_folder(self.path)
        if (folder.writing, folder.notes) == (suite.writing, suite.notes):
            return suite
        return replace(suite, writing=folder.writing, notes=folder.notes)

    def stream(self, selection: Selection) -> ItemStream:
        """Expand block by block. A grammar that cannot be expanded is refused when its block is made."""
        if selection.has_all_items:
            return super().stream(selection)
        folder = read_folder(self.path)
        grammars = folder.load(selection.cases)
        for grammar in grammars:
            check_size(grammar, 0)
        ends = np.cumsum([grammar.n_items for grammar in grammars], dtype=object)
        if ends[-1] > LARGEST_INDEX:
            raise SuiteError(
                f"{self.spec}: the suite has more than 9 quintillion items.\n  Choose fewer cases "
                "with --case."
            )
        rows = selection.rows(int(ends[-1]))

        def blocks() -> Iterator[Case]:
            for grammar, end in zip(grammars, ends, strict=True):
                chosen = rows_between(rows, end - grammar.n_items, end)
                yield from expand_blocks(grammar, folder.contrasts_of(grammar), chosen, folder.terminator)

        labels = all_labels(grammar.labels for grammar in grammars)
        return ItemStream(len(rows), labels, (), blocks())
