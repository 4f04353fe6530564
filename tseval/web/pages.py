"""The kinds of pages: of a table, an entry, the pairs of a model, several boards, and an entry that moved."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING

from tseval.analysis.comparisons import DEFAULT_MARGIN
from tseval.boards.flags import NOT_DETECTABLE
from tseval.report import render
from tseval.web.breakdown import MOST_VALUES
from tseval.web.citation import bibtex
from tseval.web.facts import BADGES, ModelFacts
from tseval.web.item_choice import N_CLOSEST, N_DRAWN, N_WORST
from tseval.web.lead import lead
from tseval.web.lines import N_SHADES, PageLine, hidden_lines, mean_lines, page_lines, people_of
from tseval.web.pairs import OUTCOMES, Cell, compare_pairs
from tseval.web.rendering import render_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tseval.boards import Retraction
    from tseval.report.document import Document
    from tseval.report.table import Table
    from tseval.web.row_pages import RowPage
    from tseval.web.topic import PageTopic


@dataclass(frozen=True, slots=True)
class AllItems:
    """The items of a page: the row pages of some models, by column, and all items as blocks."""

    sections: Mapping[int, Sequence[RowPage]] = field(default_factory=dict)
    blocks: Mapping[str, str] = field(default_factory=dict)
    with_words: bool = True


def index_page(
    about: PageTopic,
    table: Table,
    models: Sequence[ModelFacts],
    means: Document | None = None,
    items: AllItems | None = None,
) -> str:
    """Return the page of a table. For some columns, it also contains the items of the rows."""
    items = items or AllItems()
    lines, column = [*page_lines(table), *hidden_lines(models, len(people_of(table)))], table.columns[0]
    of_index = list(dict.fromkeys(name for model in models for name in model.facts))
    suite = f"Suite {column.suite}" + (f", digest {column.digest}" if column.digest else "")
    note = f"{suite}; {about.command}"
    return render_page(
        "index.html",
        {
            **_frame(about),
            "layout": "bare.html" if about.at else "base.html",
            "level": 3 if about.at else 2,
            "trajectory": about.curves,
            "table": table,
            "lines": lines,
            "models": models,
            "people": people_of(table),
            "means": means,
            "mean_lines": [] if means is None else mean_lines(means),
            "fact_names": of_index,
            "lead": lead(about, table),
            "has_items": any(model.items and model.items[0] for model in models),
            "not_detectable": NOT_DETECTABLE,
            "badges": BADGES,
            "margin": f"{DEFAULT_MARGIN:g}",
            "on_demand": False,
            "n_shades": N_SHADES,
            "sections": items.sections,
            "blocks": items.blocks,
            "with_words": items.with_words,
            "citation": bibtex(about.name, about.title, about.source, note, about.cited),
            "data": _data(about, table, lines, models)
            | _inline(table, about.files)
            | ({"order": "board"} if about.curves else {}),
        },
    )


def suites_page(about: PageTopic, summary: Document, parts: Mapping[str, str]) -> str:
    """Return the page of several suites: the summary, then the part of each suite (`index_page`)."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    context = {
        **_frame(about),
        "grid": summary.grids[0],
        "notes": summary.notes,
        "parts": {suite: Markup(part) for suite, part in parts.items()},  # noqa: S704 - rendered by us
    }
    return render_page("suites.html", context)


def entry_page(about: PageTopic, model: ModelFacts, rows: Sequence[RowPage]) -> str:
    """Return the page of one model, with its items."""
    return render_page("entry.html", {**_frame(about), "model": model, "rows": rows})


def pair_pages(
    about: PageTopic, table: Table, models: Sequence[ModelFacts], with_tests: bool
) -> Iterator[tuple[str, str]]:
    """Yield the name and text of a page for each model, which compares it with any other model.

    If there are too many pairs for tests, the page has the command that tests a pair.
    """
    pairs = compare_pairs(table) if with_tests else None
    lines = page_lines(table)
    data = _data(about, table, lines, models)
    data |= {"texts": [[cell.text for cell in line.cells] for line in lines if line.kind == "row"]}
    for number, model in enumerate(models):
        pairs_of_model = (
            None
            if pairs is None
            else _numbers_of({key: comparisons for key, comparisons in pairs.items() if number in key})
        )
        context = {
            **_frame(about),
            "model": model,
            "margin": f"{DEFAULT_MARGIN:g}",
            "on_demand": not with_tests,
        }
        page = {**data, "pairs": pairs_of_model, "first": number, "tested": with_tests}
        yield model.heading, render_page("pair.html", {**context, "data": page})


def write_list(title: str, boards: Sequence[tuple[str, PageTopic, int]]) -> str:
    """Return the page of several boards, with the folder, suite and number of models of each."""
    return render_page("boards.html", {"title": title, "boards": boards, "version": version("tseval")})


def moved_page(about: PageTopic, address: str, name: str, retracted: Retraction | None) -> str:
    """Return the page at the old address of a renamed or retracted entry."""
    context = {"about": about, "address": address, "name": name, "retracted": retracted}
    return render_page("moved.html", context)


def _frame(about: PageTopic) -> dict[str, object]:
    return {
        "about": about,
        "at": about.at,
        "drawn": N_DRAWN,
        "closest": N_CLOSEST,
        "worst": N_WORST,
        "most_values": MOST_VALUES,
        "version": version("tseval"),
    }


def _data(
    about: PageTopic, table: Table, lines: Sequence[PageLine], models: Sequence[ModelFacts]
) -> dict[str, object]:
    """Return the data for the script of a page: values, intervals, ranks and addresses of each line."""
    rows = [line for line in lines if line.kind == "row"]
    return {
        "name": about.name,
        "models": [model.heading for model in models],
        "people": people_of(table),
        "where": [model.where for model in models],
        "against": [shlex.quote(model.heading) for model in models],
        "links": [model.link for model in models],
        "flags": [bool(model.flags) for model in models],
        "lines": [
            {"kind": line.kind, "part": line.part, "label": line.label, "group": line.group} for line in lines
        ],
        "values": [
            [None if cell.value is None else round(cell.value, 6) for cell in line.cells] for line in rows
        ],
        "intervals": [line.of_cells("interval") for line in rows],
        "ranks": [line.of_cells("rank") for line in rows],
        # On a page of many models, effective sample sizes would be long: each model has its own.
        "items": [line.of_cells("n_items" if about.files else "items") for line in rows],
        "outcomes": OUTCOMES,
    }


def _inline(table: Table, files: Mapping[str, str] | None) -> dict[str, object]:
    """Return the data inside a page without other files: pairs in thousandths, and downloads."""
    if files is not None:
        return {"pairs": None, "files": {}, "apart": True}
    pairs = compare_pairs(table)
    return {
        "pairs": None if pairs is None else _numbers_of(pairs),
        "files": {"csv": render(table, "csv"), "tex": render(table, "latex")},
    }


def _numbers_of(pairs: Mapping[tuple[int, int], Sequence[Cell]]) -> dict[str, list[int | None]]:
    return {
        f"{first}-{second}": [number for cell in cells for number in (cell or (None,) * 4)]
        for (first, second), cells in pairs.items()
    }
