"""The page of `tseval report`: runs and boards in one file, with a part for each suite."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tseval.boards.sources import open_sources
from tseval.errors import RunError, SuiteError, counted, first_line
from tseval.files import write_text
from tseval.report.analyses.published_beside import published_columns
from tseval.report.analyses.seeds import seeds_table
from tseval.report.opened import for_analysis
from tseval.report.published import Board
from tseval.report.suite_tables import by_suite, names_across_suites, summary_of_tables
from tseval.runs.suite import load_stated_suite
from tseval.web.facts import facts_of
from tseval.web.item_blocks import MOST_CHARACTERS
from tseval.web.pages import AllItems, index_page, suites_page
from tseval.web.row_pages import ItemPages
from tseval.web.tables import tabulate_once
from tseval.web.topic import PageTopic
from tseval.web.trajectory import by_step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tseval.report.document import Document
    from tseval.report.opened import RunSet
    from tseval.report.table import Table
    from tseval.runs import CachedRun, Run
    from tseval.web.trajectory import TrainingCurve

    GroupRuns = Callable[[RunSet], tuple[RunSet, Mapping[str, Sequence[str]]]]


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of the page for one suite. `lacking` says why there are no items."""

    table: Table
    means: Document | None
    text: str
    lacking: str | None


def write_report(
    names: Sequence[str],
    output: Path,
    spec: str | None = None,
    title: str | None = None,
    group_runs: GroupRuns | None = None,
    command: str | None = None,
) -> str | None:
    """Write the page of runs and boards. Return why items are missing, for all suites or for some."""
    sources = open_sources(names, items=group_runs is not None)
    page, reason = report_page(sources, names, spec, title, group_runs, command)
    write_text(output, page)
    return reason


def report_page(
    sources: Sequence[Run | Board],
    names: Sequence[str],
    spec: str | None = None,
    title: str | None = None,
    group_runs: GroupRuns | None = None,
    command: str | None = None,
) -> tuple[str, str | None]:
    """Return the page of runs and boards, with a part for each suite.

    Args:
        sources: Opened runs and boards.
        names: Their names in commands on the page.
        spec: Name or path of the runs' suite, for their items; None: the name in the runs.
        group_runs: Groups of runs on one suite, whose means the page also shows.
        command: The command that prints the table; None for `tseval table` with these names.

    Returns:
        The page, and why items are missing (for all suites or for some); None if none are missing.
    """
    of_suites = by_suite(sources)
    if spec is not None and len(of_suites) > 1:
        raise SuiteError(
            f"--suite {spec}: the runs are on {len(of_suites)} suites: {', '.join(of_suites)}.\n"
            "  Name runs on one suite, or leave out --suite."
        )
    command = command or shlex.join(["tseval", "table", *names])
    # Each name is one run, so the page's commands can use the name.
    name_of = dict(zip(map(id, sources), names, strict=True)) if _one_run_each(sources, names) else {}
    is_single = len(of_suites) == 1
    parts: dict[str, _Part] = {}
    for number, (suite, members) in enumerate(of_suites.items()):
        runs = [member for member in members if not isinstance(member, Board)]
        boards = [member for member in members if isinstance(member, Board)]
        curves: tuple[TrainingCurve, ...] = ()
        means = None
        accurate = bool(runs) and not any(run.rated for run in runs)
        if accurate:
            runs, curves = by_step(runs)
            if group_runs is not None:
                opened, groups = group_runs(for_analysis(runs))
                means = seeds_table(opened, groups, published=published_columns(boards, runs, list(groups)))
            members[:] = [*runs, *boards] if curves else members
        default_title = f"{counted(_n_models(members), 'model')} on {suite}"
        topic = PageTopic(
            name="report" if is_single else f"report-{suite}",
            title=(title or default_title) if is_single else suite,
            command=command,
            curves=curves,
            at="" if is_single else f"s{number}-",
        )
        named = [name_of.get(id(member)) for member in members]
        parts[suite] = _part(members, named, topic, spec, means, len(of_suites))
    reasons = [part.lacking for part in parts.values() if part.lacking is not None]
    if is_single:
        (part,) = parts.values()
        return part.text, part.lacking
    topic = PageTopic(
        name="report",
        title=title or f"{len(parts)} suites: {', '.join(parts)}",
        command=command,
    )
    page = suites_page(topic, _summary(parts, of_suites), {s: p.text for s, p in parts.items()})
    return page, "; ".join(dict.fromkeys(reasons)) or None


def _one_run_each(sources: Sequence[Run | Board], names: Sequence[str]) -> bool:
    return len(sources) == len(names) == _n_models(sources)


def _n_models(members: Sequence[Run | Board]) -> int:
    return sum(len(member.models) if isinstance(member, Board) else 1 for member in members)


def _summary(parts: Mapping[str, _Part], of_suites: Mapping[str, Sequence[Run | Board]]) -> Document:
    """Return the means of all suites, over groups if there are any."""
    grouped = any(part.means is not None for part in parts.values())
    members = {
        suite: [member for member in sources if not (grouped and isinstance(member, Board))]
        for suite, sources in of_suites.items()
    }
    blocks = {suite: part.means or part.table for suite, part in parts.items()}
    summary = summary_of_tables(blocks, names_across_suites(members))
    assert summary is not None, "tables have means"
    return summary


def _part(
    members: Sequence[Run | Board],
    named: Sequence[str | None],
    about: PageTopic,
    spec: str | None,
    means: Document | None,
    n_suites: int,
) -> _Part:
    """Return the part of the page for one suite. `named` has the name of each run or board in commands."""
    runs, table = tabulate_once(members)
    quoted = [None if name is None else shlex.quote(name) for name in named]
    is_named = len(quoted) == len(table.columns)
    models = [
        facts_of(column, None, quoted[index] if is_named else None, on_a_board=False)
        for index, column in enumerate(table.columns)
    ]
    items, reason = _items(table, runs, spec, about.at, n_suites)
    models = [
        replace(model, items=("", f"{about.at}m{index}-") if index in items.sections else None)
        for index, model in enumerate(models)
    ]
    text = index_page(replace(about, lacking=reason), table, models, means, items)
    return _Part(table, means, text, reason)


def _items(
    table: Table, runs: Sequence[CachedRun | None], spec: str | None, at: str, n_suites: int
) -> tuple[AllItems, str | None]:
    """Return the row pages of each run with all items, and why items are missing.

    The page's size limit is divided among its suites. `at` is the prefix of this suite's names.
    """
    try:
        if not any(runs):
            return AllItems(), None
        facts = next(cached.run.manifest.suite for cached in runs if cached is not None)
        if len({cached.run.manifest.counts.contrasts for cached in runs if cached is not None}) > 1:
            raise RunError(
                "the runs have different numbers of contexts for each item. Write a page for each number"
            )
        suite = load_stated_suite(facts, spec)
        if facts.complete and suite.digest != facts.digest:  # a part's items are searched one at a time
            raise SuiteError(
                f"the suite {suite.name} on this machine has the digest {suite.digest[:8]}, but the "
                f"runs used the digest {facts.digest[:8]}: use the version of the suite that the runs scored"
            )
        pages = ItemPages(table, suite, runs, at)
        blocks, with_words = pages.blocks(MOST_CHARACTERS // n_suites)
        sections = {
            index: pages.with_blocks(index, pages.rows(index)) for index, run in enumerate(runs) if run
        }
        return AllItems(sections, blocks, with_words), None
    except (RunError, SuiteError) as error:
        message = first_line(error).removesuffix(".")
        if spec is not None:
            raise SuiteError(
                f"--suite {spec}: {message}.\n  Name the suite that the runs scored with --suite."
            ) from None
        return AllItems(), message
