"""Data sets as suites: files with sentences, and folders of such files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tseval.errors import counted
from tseval.items import Suite, cluster_by, refuse_unknown_cases, suite_digest
from tseval.suites.data.catalogue import columns_at, published_at
from tseval.suites.data.exclusions import leave_out
from tseval.suites.data.folders import is_data
from tseval.suites.data.reading import read_data
from tseval.suites.opened import Request, Selection, SuiteKind
from tseval.suites.penn_tokens import tokenise_case


class DataSuite(SuiteKind):
    """A data set: a file, or a folder of files."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.path = Path(request.place)
        self.columns = columns_at(self.path, request.columns)

    @classmethod
    def opens(cls, place: str | Path) -> bool:
        """Return whether a path is a data file, or a folder with data files and no grammars."""
        return is_data(Path(place))

    def load(self, selection: Selection) -> Suite:
        """Read the whole set, and return the selected items."""
        suite = self._read(selection)
        if not self.request.tokenise:
            return suite
        tokenised = tuple(map(tokenise_case, suite.cases))
        return replace(suite, cases=tokenised, digest=suite_digest(None, tokenised), tokenise=True)

    def _read(self, selection: Selection) -> Suite:
        data = read_data(self.path, self.request.method, self.columns)
        refuse_unknown_cases(data.name, [case.name for case in data.cases], selection.cases)
        chosen = [case for case in data.cases if not selection.cases or case.name in selection.cases]
        label, listed, notes = None, None, data.notes
        if self.request.exclude is not None:
            n_before = sum(case.n_items for case in chosen)
            label, listed, chosen = leave_out(data, chosen, self.request.exclude)
            n_left_out = n_before - sum(case.n_items for case in chosen)
            notes = (*notes, f"left out: {counted(n_left_out, 'item')} of {n_before:,} (exclude:{label})")
        cases = tuple(case.take(selection.rows(case.n_items)) for case in chosen)
        suite = Suite(
            name=data.name,
            title=data.title,
            source=data.source,
            terminator=None,
            cases=cases,
            digest=suite_digest(None, cases),
            complete=selection.is_whole_suite,
            score=data.score,
            columns=self.columns,
            exclude=label,
            excluded=listed,
            files=data.files,
            notes=notes,
        )
        if note := self._note_of_digest(suite):
            suite = replace(suite, notes=(*notes, note))
        if self.columns and "cluster" in self.columns:
            shared = self.columns["cluster"]
            return cluster_by(suite, ["item" if self.columns.get("item") == shared else shared])
        return suite

    def _note_of_digest(self, suite: Suite) -> str | None:
        """Return a note if a whole fetched set differs from the published one, by its digest."""
        published = published_at(self.path)
        is_whole = suite.complete and self.request.exclude is None and self.request.method is None
        if not (published and is_whole and published.columns == (self.columns or {})):
            return None
        if not published.digest or published.digest == suite.digest:
            return None
        return (
            f"this is not the published set: the digest is {suite.digest[:12]}, not {published.digest[:12]}"
        )
