"""Formal languages as suites: `dyck(k=2,m=3)` and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tseval.items import Suite, refuse_unknown_cases, suite_digest
from tseval.suites.formal.cases import draw_test, language_case
from tseval.suites.formal.languages import STOP, names_language, parse_language
from tseval.suites.opened import ItemStream, Request, Selection, SuiteKind, all_labels

if TYPE_CHECKING:
    from pathlib import Path


class FormalSuite(SuiteKind):
    """The test strings of a formal language, as one case."""

    def __init__(self, request: Request) -> None:
        request.refuse_settings_of_data()
        self.language = parse_language(str(request.place))

    @classmethod
    def opens(cls, place: str | Path) -> bool:
        """Return whether a text is the name of a formal language, with or without its settings."""
        return isinstance(place, str) and names_language(place)

    def load(self, selection: Selection) -> Suite:
        """Draw the selected strings; with a limit and no sample, draw no more than the limit."""
        language = self.language
        refuse_unknown_cases(language.name, [language.name], selection.cases)
        strings = draw_test(language, selection.limit if selection.sample is None else None)
        rows = np.array(selection.rows(len(strings)), dtype=np.int64)
        case = language_case(language, strings.take(rows), rows)
        return Suite(
            name=language.name,
            title=language.title,
            source=language.source,
            terminator=STOP,
            cases=(case,),
            digest=suite_digest(STOP, [case]),
            complete=selection.has_all_items,
            score="choices",
        )

    def stream(self, selection: Selection) -> ItemStream:
        """Yield the single case. Its items are all items of the suite, so it need not be drawn whole."""
        suite = self.load(selection)
        labels = all_labels(case.labels for case in suite.cases)
        return ItemStream(suite.n_items, labels, suite.notes, iter(suite.cases))
