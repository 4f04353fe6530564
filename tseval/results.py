"""Results of runs in Python: the output of `tseval table`, `table --against` and `report` as objects."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from tseval.analysis.comparisons import DEFAULT_MARGIN
from tseval.analysis.rows import as_names
from tseval.boards.sources import open_items, open_sources
from tseval.errors import RunError
from tseval.files import write_text
from tseval.report.analyses.differences import differences_table
from tseval.report.document import Document
from tseval.report.layout import lay_out
from tseval.report.opened import for_analysis
from tseval.report.sources import document_of
from tseval.report.suite_tables import SuiteTables, by_suite
from tseval.runs import Run
from tseval.web.report_page import report_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tseval.report.published import Board

# A run in memory, or an argument of the commands: a folder of runs, or a leaderboard by folder or name.
Source: TypeAlias = Run | Path | str


def table(runs: Source | Iterable[Source], by: str | Sequence[str] = ()) -> pd.DataFrame:
    """Return the table that `tseval table` prints, with the cells of `--format csv`.

    It has one line for each model and row, and numbers have full precision. Columns that are tuples or
    dictionaries in `Run.table` are texts here. For runs on several suites, the first column is `suite`.

    Args:
        runs: Runs in memory, folders of runs, or leaderboards by folder or by name (`"bhatt2020"`).
        by: Feature, or several, whose values divide each row (`--by`).

    Raises:
        RunError: There is no such run or leaderboard, or runs on the same suite have different items.
    """
    of_suites = by_suite(_opened(runs, items=bool(by)))
    documents = {suite: _document(members, by) for suite, members in of_suites.items()}
    if len(documents) == 1:
        return _as_numbers(next(iter(documents.values())).records)
    return _as_numbers(SuiteTables(None, documents).records)


def _document(members: Sequence[Run | Board], by: str | Sequence[str]) -> Document:
    document = document_of(members, by)
    return document if isinstance(document, Document) else lay_out(document)


@dataclass(frozen=True)
class PairedComparison:
    """A paired comparison of two models, item by item, as printed by `tseval table A B --against B`.

    Attributes:
        first: Name of the first model.
        second: Name of the second model, whose accuracy is subtracted.
        document: The printed table with its notes.
    """

    first: str
    second: str
    document: Document

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One line for each row of the table.

        `difference` is the accuracy of the first model minus that of the second, on the items that both can
        decide. `low` and `high` are the ends of its interval. `p` tests that it is 0; `p_holm` is corrected
        for the number of rows. `outcome` is the conclusion, such as `better` or `equivalent`.
        """
        records = self.document.records
        return self._without_empty(records[records["over"].isna()])

    @cached_property
    def means(self) -> pd.DataFrame:
        """One line for each mean over rows (`over`), with the columns of `rows`. The last is over all."""
        records = self.document.records
        return self._without_empty(records[records["over"].notna()])

    @staticmethod
    def _without_empty(records: pd.DataFrame) -> pd.DataFrame:
        keys = [name for name in ("dependency", "phenomenon", "construction", "contrast", "over", "n_rows")
                if name in records and records[name].isna().all()]  # fmt: skip
        return _as_numbers(records.drop(columns=keys))

    def __repr__(self) -> str:
        total = self.means.iloc[-1]
        return (
            f"<PairedComparison {self.first} minus {self.second}: {total['difference']:+.3f} over all rows, "
            f"interval {total['low']:.3f} to {total['high']:.3f}, {total['outcome']}>"
        )

    def _repr_html_(self) -> str:
        return self.document._repr_html_()


def compare(
    a: Source, b: Source, by: str | Sequence[str] = (), *, margin: float = DEFAULT_MARGIN
) -> PairedComparison:
    """Compare run `a` with run `b`: paired differences, intervals and p-values for each row.

    Args:
        a: A run in memory, or its folder.
        b: A run on the same items.
        by: Feature, or several, whose values divide each row.
        margin: The largest difference that counts as negligible, for the outcome `equivalent`.

    Raises:
        RunError: A name does not mean exactly one run, or the runs have different items.
    """
    first, second = _single(a), _single(b)
    runs = for_analysis([second, first])
    names = list(runs.verdicts)
    return PairedComparison(names[1], names[0], differences_table(runs, None, as_names(by), margin))


@dataclass(frozen=True)
class Page:
    """The web page of `tseval report`: one file that any browser opens without a network.

    Attributes:
        html: The HTML of the page.
        lacking: Why the page does not show single items; None if it does.
    """

    html: str
    lacking: str | None

    def save(self, path: str | Path) -> Path:
        """Write the page into a file, such as `page.html`, and return its path."""
        write_text(Path(path), self.html)
        return Path(path)

    def _repr_html_(self) -> str:
        """Show the page in an iframe, so that the page and the notebook do not affect each other."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="tseval report" sandbox="allow-scripts '
            'allow-downloads" style="width: 100%; height: 40rem; border: 1px solid #ccc"></iframe>'
        )


def report(
    runs: Source | Iterable[Source],
    path: str | Path | None = None,
    *,
    suite: str | None = None,
    title: str | None = None,
) -> Page:
    """Return the web page of `tseval report`, which notebooks display; if there is a path, write it.

    Args:
        runs: Runs in memory, folders of runs, or leaderboards by folder or by name.
        path: File for the page, such as `page.html`; None writes none.
        suite: Name or path of the suite (default: the name in the runs).
        title: Title at the top of the page (default: the name of the suite).

    Raises:
        RunError: There is no such run or leaderboard, or the runs have different items.
        SuiteError: The runs are on another suite than `suite`.
    """
    sources = _listed(runs)
    names = [str(run.path or run.name) if isinstance(run, Run) else str(run) for run in sources]
    html, missing = report_page(_opened(sources), names, suite, title)
    page = Page(html, missing)
    if path is not None:
        page.save(path)
    return page


def _as_numbers(records: pd.DataFrame) -> pd.DataFrame:
    """Give numeric dtypes to object columns of numbers, as after reading them from a file."""
    records = records.reset_index(drop=True).infer_objects()
    numbers = [
        name
        for name, kind in records.dtypes.items()
        if kind is np.dtype(object)
        and all(isinstance(value, int | float) for value in records[name].dropna())
    ]
    for name in numbers:
        records[name] = pd.to_numeric(records[name])
    return records


def _listed(runs: Source | Iterable[Source]) -> list[Source]:
    sources = [runs] if isinstance(runs, Run | Path | str) else list(runs)
    for run in sources:
        if not isinstance(run, Run | Path | str):
            raise RunError(
                f"an argument has the type {type(run).__name__}, but must be a run, a path or a string.\n"
                "  Use what tseval.evaluate or tseval.read_run returns, or name the folder of a run."
            )
    if not sources:
        raise RunError("the list of runs is empty.\n  Name at least one run or leaderboard.")
    return sources


def _opened(runs: Source | Iterable[Source], *, items: bool = False) -> list[Run | Board]:
    """Open the sources in their order. Runs in memory stay as they are."""
    sources: list[Run | Board] = []
    for in_memory, group in groupby(_listed(runs), lambda run: isinstance(run, Run)):
        members = list(group)
        if in_memory:
            sources += [run for run in members if isinstance(run, Run)]
        else:
            sources += open_sources([str(name) for name in members], items=items)
    return sources


def _single(run: Source) -> Run:
    if isinstance(run, Run):
        return run
    members = open_items([str(name) for name in _listed(run)])
    if len(members) != 1:
        raise RunError(
            f"{run} has {len(members)} runs, but `compare` needs exactly one run on each side.\n"
            f"  Name one of them, such as {members[0].path}"
        )
    return members[0]
