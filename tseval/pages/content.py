"""What a page shows: facts of models, lines of a table, the numbers that the page itself works with."""

from __future__ import annotations

import re
import shlex
from base64 import b64encode
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from itertools import combinations
from math import ceil, floor, isnan, trunc
from numbers import Real
from typing import TYPE_CHECKING, Literal

from tseval.analysis.comparisons import DEFAULT_MARGIN, differences
from tseval.analysis.correctness import factors_of_any
from tseval.analysis.differences import Difference, compare
from tseval.analysis.intervals import confidence_percent, error_percent
from tseval.errors import plain
from tseval.pages.items import MOST_VALUES, N_CLOSEST, N_DRAWN, N_WORST, RowPage
from tseval.report import build_table, render
from tseval.report.layout import RANK_LABEL, grid_of_columns, recorded
from tseval.report.numbers import NONE, format_interval, format_n_eff, format_rank_set, format_share
from tseval.report.published import Board
from tseval.report.writers.latex import latex
from tseval.runs import CachedRun, Run, cache_runs

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from jinja2 import Environment
    from markupsafe import Markup

    from tseval.boards import Entry, Hidden, Retraction
    from tseval.report.columns import Column
    from tseval.report.document import Document
    from tseval.report.table import Table


Badge = Literal["published", "reported", "recomputed", "rescored", "re-run"]
BADGES: dict[Badge, str] = {
    "published": "published accuracies, without evidence to recompute them",
    "reported": "evidence is available, but nobody has verified it",
    "recomputed": "numbers recomputed from suite and evidence",
    "rescored": "the model scored a random share of the sentences again",
    "re-run": "the model scored all sentences again",
}
# What levels of verification (`tseval.verifying.levels`) are shown as, the lowest first.
_SHOWN: dict[str, Badge] = {
    "published": "published", "whole": "reported", "recomputed": "recomputed", "plausible": "recomputed",
    "rescored": "rescored", "rerun": "re-run",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model of a page.

    No badge says how far it was checked on a page of one's own runs. `where` names it in commands; `items`
    are shown in a file, under names that begin so.
    """

    heading: str
    badge: Badge | None
    checked: str
    facts: dict[str, str]
    signature: str | None
    where: str | None
    items: tuple[str, str] | None = None
    label: str | None = None
    hidden: Hidden | None = None
    citation: str | None = None

    @property
    def link(self) -> str | None:
        """Begin the address of its items of a row, whose number follows."""
        return None if self.items is None else f"{self.items[0]}#{self.items[1]}r"


def facts_of(
    column: Column, entry: Entry | None, where: str | None, *, on_a_board: bool, seeds: str | None = None
) -> ModelFacts:
    """Gather what is known of a model, and on a board how far its numbers were checked."""
    facts = {"Parameters": column.parameters, "Validation perplexity": column.perplexity}
    checked = None
    if entry is not None:
        about = entry.about
        facts |= {
            "Seeds": seeds,
            "Revision": about.revision,
            "Paper": about.paper,
            "Weights": about.weights,
            "Licence": about.licence,
            "Trained on": about.training_data,
            "Contains the suite": about.contains_suite,
            "Submitted by": about.submitter,
            "On": about.date,
            "Contact": about.contact,
            "Fingerprint": entry.fingerprint[:16],
        }
        levels = list(_SHOWN)  # of equal checks the last
        checked = max(reversed(entry.checks), key=lambda one: levels.index(one.level), default=None)
    badge: Badge = "published" if column.published else "reported"
    if checked is not None:
        badge = _SHOWN[checked.level]
    return ModelFacts(
        heading=column.heading,
        badge=badge if on_a_board else None,
        checked="" if checked is None else plain(f"{checked.by}, {checked.on}"),
        signature=None if column.signature is None else plain(column.signature),
        facts={name: plain(str(text)) for name, text in facts.items() if text},
        where=where,
        label=None if entry is None or entry.about.display_name is None else plain(entry.about.display_name),
    )


def bibtex(
    name: str, title: str, source: str | None, note: str, more: Mapping[str, str | None] | None = None
) -> str:
    """Return a BibTeX entry for the numbers of a page; `more` are fields, those that are known."""
    fields = {"title": title, "howpublished": "tseval, targeted syntactic evaluation", "note": note}
    if source and source != title:
        fields["note"] = f"{note}. Source: {source}"
    fields |= {field: text for field, text in (more or {}).items() if text}
    url = fields.pop("url", None)
    # BibTeX counts braces even where LaTeX does not.
    braced = {field: latex(text.replace("{", "(").replace("}", ")")) for field, text in fields.items()}
    lines = [f"  {field} = {{{text}}}," for field, text in braced.items()]
    if url is not None:
        lines.append(f"  url = {{{url.replace('{', '').replace('}', '')}}},")
    key = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "board"
    return "\n".join([f"@misc{{tseval-{key},", *lines, "}"]) + "\n"


def render_page(template: str, context: Mapping[str, object]) -> str:
    """Render a page.

    All texts are escaped; data stand in a block that is no script, in which `<` is escaped as well. The
    policy allows the style and the script of this package, by their hashes, and no request.
    """
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    style, script = _text("page.css"), _text("page.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    # Our own, and without `</`: nothing in them can end the element that they stand in.
    own = {"style": Markup(style), "script": Markup(script), "policy": policy}  # noqa: S704 - own files
    return (
        _environment()
        .get_template(template)
        .render(**context, **own, confidence=confidence_percent(), error_rate=error_percent())
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - tables need none

    environment = Environment(
        loader=PackageLoader("tseval.pages", "web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_made_plain,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = _markdown
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment


@cache
def _text(name: str) -> str:
    text = (files("tseval.pages") / "web" / name).read_text("utf-8")
    return text.replace("\r\n", "\n")  # as a browser reads it, so that hashes agree


def _made_plain(value: object) -> object:
    """Make a text plain, line by line, before it is escaped; what is HTML already stays."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "\n".join(map(plain, value.split("\n")))


def _markdown(text: str) -> Markup:
    """Render what people wrote of a board; HTML in it is shown, not obeyed, and images would ask a server."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - tables need none
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = reader.parse(str(_made_plain(text)))
    for token in tokens:
        token.attrs.pop("style", None)  # which the policy forbids
    return Markup(reader.renderer.render(tokens, reader.options, {}))  # noqa: S704 - escaped by the renderer


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def tabulate_once(sources: Sequence[Run | Board]) -> tuple[list[CachedRun | None], Table]:
    """Make the table of runs and boards."""
    runs = iter(cache_runs([source for source in sources if not isinstance(source, Board)]))
    kept: list[CachedRun | None] = []
    read: list[Run | Board] = []
    for source in sources:
        if isinstance(source, Board):
            kept += [None] * len(source.models)
            read.append(source)
        else:
            run = next(runs)
            kept.append(run)
            read.append(run.for_table())
    return kept, build_table(read)


OUTCOMES = ("better", "worse", "equivalent", "undecided", "same verdicts")
# The difference and the ends of its interval, in thousandths, and the place of its word in `OUTCOMES`.
Cell = tuple[int, int, int, int] | None


def compare_pairs(table: Table) -> dict[tuple[int, int], list[Cell]] | None:
    """Compare all pairs of the models of a table, as `tseval table ONE OTHER --against OTHER` does each.

    Tests are corrected by Holm over the rows of a pair, and likewise over its means. Told is of the first on
    each row, then on each mean; nothing where it is not known which items a model got right.
    """
    models = [column.answers for column in table.columns if column.answers is not None]
    if len(models) < len(table.columns) or len(models) < 2:
        return None
    sets = [*([place] for place in range(len(table.rows))), *(list(mean.rows) for mean in table.means)]
    marked = {str(place): (one.correct, one.decidable) for place, one in enumerate(models)}
    rows, n_rows = (factors_of_any(models), models[0].rows, sets), len(table.rows)
    found = differences(marked, rows, list(combinations(marked, 2)))
    return {
        (int(one), int(other)): [*_cells(own[:n_rows]), *_cells(own[n_rows:])]
        for (one, other), own in found.items()
    }


def _cells(found: Sequence[Difference | None]) -> list[Cell]:
    """Cut what is known of each as tables do: differences towards 0, intervals outwards."""
    words = iter(compare([one for one in found if one is not None], DEFAULT_MARGIN))
    return [
        None
        if one is None
        else (
            trunc(round(one.value * 1000, 6)),
            floor(one.low * 1000),
            ceil(one.high * 1000),
            OUTCOMES.index(next(words).word),
        )
        for one in found
    ]


N_SHADES = 11  # of the heat map; the middle one is chance


@dataclass(frozen=True, slots=True)
class PageCell:
    """What stands in a cell, and what is sorted by; no shade of the heat map where that is no accuracy."""

    text: str
    shade: int | None = None
    interval: str | None = None
    rank: str | None = None
    items: str | None = None
    value: float | None = None


@dataclass(frozen=True, slots=True)
class PageLine:
    """A line of the table on a page: in the `body`, of `means`, `ranks`, `facts`, or means over `seeds`."""

    kind: str
    part: str
    label: str
    group: str
    row: int | None = None
    cells: tuple[PageCell, ...] = ()

    def of_cells(self, name: str) -> str | list[str | None] | None:
        """Return what each cell says under a name; once, where all say the same."""
        said = [getattr(cell, name) for cell in self.cells]
        return said if len({*said}) > 1 else said[0] if said else None


def page_lines(table: Table) -> list[PageLine]:
    """Return the lines of a table as `tseval table` prints it: Table 4 of Bhatt et al. 2020."""
    grid = grid_of_columns(table)
    n_rows, n_means = len(table.rows), len(table.means)
    parts = [*["body"] * n_rows, *["means"] * n_means, *["ranks"] * n_means]
    exact = [*_body(table), *_means(table)]
    lines: list[PageLine] = []
    seen, group = 0, ""
    for line in grid.lines:
        label, *texts = map(plain, grid.texts(line))
        part = parts[seen] if seen < len(parts) else "facts"
        if line.kind != "row":
            group = label if line.kind == "group" else ""
            lines.append(PageLine(line.kind, part, label, group))
            continue
        if label == RANK_LABEL:
            part = "rank"
        cells = exact[seen] if seen < len(exact) else []
        cells += [_of_number(value, part) for value in line.cells[1 + len(cells) :]]
        cells += [PageCell("")] * (len(texts) - len(cells))
        shown = (replace(cell, text=text) for cell, text in zip(cells, texts, strict=True))
        lines.append(PageLine("row", part, label, group, seen if part == "body" else None, tuple(shown)))
        seen += 1
    return lines


def hidden_lines(models: Sequence[ModelFacts], n_people: int) -> list[PageLine]:
    """Return the lines of means on withheld words, and of their differences; none where there are none."""
    if not any(model.hidden for model in models):
        return []
    means, differences = [], []
    for one in (model.hidden for model in models):
        if one is None:
            means.append(PageCell(NONE))
            differences.append(PageCell(NONE))
            continue
        worse = ", worse" if one.worse else ""
        means.append(
            PageCell(format_share(one.mean), shade(one.mean), format_interval(one.interval), value=one.mean)
        )
        differences.append(
            PageCell(
                f"{one.difference:+.3f}{worse}",
                interval=format_interval(one.difference_interval),
                value=one.difference,
            )
        )
    nobody = [PageCell("")] * n_people
    return [
        PageLine("section", "hidden", "Hidden words", ""),
        PageLine("row", "hidden", "Mean (hidden)", "", cells=(*means, *nobody)),
        PageLine("row", "hidden", "Hidden minus public", "", cells=(*differences, *nobody)),
    ]


def mean_lines(means: Document) -> list[PageLine]:
    """Return the lines of means over seeds (`tseval.report.analyses.seeds`), with intervals in the cells."""
    (grid,) = means.grids
    lines = []
    for line in grid.lines:
        label, *texts = grid.texts(line)
        cells = []
        for place, ends in grid.parts[1:]:
            value = line.cells[place] if line.kind == "row" else None
            mean = value[0] if isinstance(value, tuple) and not isnan(value[0]) else None
            cells.append(
                PageCell(
                    text=texts[place - 1],
                    shade=None if mean is None else shade(mean),
                    interval=None if mean is None else texts[ends - 1],
                )
            )
        lines.append(PageLine(line.kind, "seeds", label, "", cells=tuple(cells)))
    return lines


def people_of(table: Table) -> list[str]:
    """Name the columns behind the models: what people get right, which is shown and takes no rank."""
    return [field.title for field in grid_of_columns(table).fields[1 + len(table.columns) :]]


def _body(table: Table) -> Iterator[list[PageCell]]:
    columns = []
    for place, column in enumerate(table.columns):
        rows = recorded(table, place).to_dict("records")
        columns.append(dict(zip(column.keys(()), map(_cell, rows), strict=True)))
    for key in table.rows.itertuples(index=False, name=None):
        yield [cells.get(key, PageCell(NONE)) for cells in columns]


def _cell(row: Mapping[Hashable, object]) -> PageCell:
    known = {str(name): float(value) for name, value in row.items() if isinstance(value, Real)}
    known = {name: value for name, value in known.items() if not isnan(value)}
    if "accuracy" not in known:
        return PageCell(NONE)
    items = f"{known['n_items']:,.0f} items" if "n_items" in known else None
    if items and row["clusters"] and "n_eff" in known:  # where items are independent, each is worth one
        items += f", {format_n_eff(known['n_eff'], fixed=bool(row['fixed']))} eff. items"
    if items and known.get("n_half_known"):
        items += f", {known['n_half_known']:,.0f} half known"
    return PageCell(
        text="",
        shade=shade(known["accuracy"]),
        interval=format_interval((known["low"], known["high"])) if "low" in known else None,
        rank=_rank(known),
        items=items,
        value=known["accuracy"],
    )


def _rank(known: Mapping[str, float]) -> str | None:
    if "rank" not in known:
        return None
    if "rank_low" not in known:
        return f"{known['rank']:.0f}"
    return format_rank_set(Fraction(known["rank"]), int(known["rank_low"]), int(known["rank_high"]))


def _means(table: Table) -> Iterator[list[PageCell]]:
    for mean in table.means:
        cells = []
        for value, known in zip(mean.accuracy, mean.estimates, strict=True):
            ends = None if known is None else format_interval((known.low, known.high))
            exact = None if value is None else float(value)
            cells.append(PageCell("", None if exact is None else shade(exact), ends, value=exact))
        yield cells
    for mean in table.means:
        yield [PageCell("", value=None if rank is None else float(rank)) for rank in mean.rank]


def _of_number(value: object, part: str) -> PageCell:
    """Return a cell of which no more is known than its value; sorted by are those that are numbers."""
    number = _number(value)
    return PageCell(
        "", shade(number) if number is not None and part in ("body", "means") else None, value=number
    )


def _number(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def shade(accuracy: float) -> int:
    """Return the shade of an accuracy: as far from the middle one as it is from chance, .5."""
    return min(int(accuracy * N_SHADES), N_SHADES - 1)


@dataclass(frozen=True, slots=True)
class PageTopic:
    """What a page is over, as others wrote it; `verify` works every number out again.

    `cited` are fields of its BibTeX, `retracted` what was, `waiting` entries of the board that this one
    renews and has no run of; `beside` says what another board of this life is, with its address. `lacking`
    is why there are no items; `files` are what may be downloaded, by address, where that lies beside the page
    instead of in it: pairs of models are then compared on pages of their own.
    """

    name: str
    title: str
    command: str
    text: str = ""
    source: str | None = None
    rules: tuple[str, ...] = ()
    verify: str | None = None
    cited: Mapping[str, str | None] = field(default_factory=dict)
    retracted: Mapping[str, Retraction] = field(default_factory=dict)
    waiting: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    lacking: str | None = None
    files: Mapping[str, str] | None = None


def index_page(
    about: PageTopic,
    table: Table,
    models: Sequence[ModelFacts],
    means: Document | None = None,
    sections: Mapping[int, Sequence[RowPage]] | None = None,
) -> str:
    """Return the page of a table; of some columns the rows from near by stand on the same page."""
    lines, column = [*page_lines(table), *hidden_lines(models, len(people_of(table)))], table.columns[0]
    over = f"Suite {column.suite}" + (f", digest {column.digest}" if column.digest else "")
    note = f"{over}; {about.command}"
    return render_page(
        "index.html",
        {
            **_frame(about),
            "table": table,
            "lines": lines,
            "models": models,
            "people": people_of(table),
            "means": means,
            "mean_lines": [] if means is None else mean_lines(means),
            "fact_names": list(dict.fromkeys(name for model in models for name in model.facts)),
            "badges": BADGES,
            "over": over,
            "margin": f"{DEFAULT_MARGIN:g}",
            "n_shades": N_SHADES,
            "sections": sections or {},
            "citation": bibtex(about.name, about.title, about.source, note, about.cited),
            "data": _data(about, table, lines, models) | _inline(table, about.files),
        },
    )


def entry_page(about: PageTopic, model: ModelFacts, rows: Sequence[RowPage]) -> str:
    """Return the page of one model from near by."""
    return render_page("entry.html", {**_frame(about), "model": model, "rows": rows})


def pair_pages(about: PageTopic, table: Table, models: Sequence[ModelFacts]) -> Iterator[tuple[str, str]]:
    """Yield a page for each model, on which it is compared with any other: name and page."""
    pairs = compare_pairs(table)
    lines = page_lines(table)
    data = _data(about, table, lines, models)
    data |= {"texts": [[cell.text for cell in line.cells] for line in lines if line.kind == "row"]}
    for place, model in enumerate(models):
        own = None if pairs is None else _numbers_of({key: one for key, one in pairs.items() if place in key})
        context = {**_frame(about), "model": model, "margin": f"{DEFAULT_MARGIN:g}"}
        page = {**data, "pairs": own, "first": place}
        yield model.heading, render_page("pair.html", {**context, "data": page})


def write_list(title: str, boards: Sequence[tuple[str, PageTopic, int]]) -> str:
    """Return the page of several boards: the folder of each, what it is over, and how many models it has."""
    return render_page("boards.html", {"title": title, "boards": boards, "version": version("tseval")})


def moved_page(about: PageTopic, address: str, name: str, retracted: Retraction | None) -> str:
    """Return the page that stands where an entry was: under another name, or before it was retracted."""
    context = {"about": about, "address": address, "name": name, "retracted": retracted}
    return render_page("moved.html", context)


def _frame(about: PageTopic) -> dict[str, object]:
    return {
        "about": about,
        "drawn": N_DRAWN,
        "closest": N_CLOSEST,
        "worst": N_WORST,
        "most_values": MOST_VALUES,
        "version": version("tseval"),
    }


def _data(
    about: PageTopic, table: Table, lines: Sequence[PageLine], models: Sequence[ModelFacts]
) -> dict[str, object]:
    """Return what the script of a page works with: values, intervals, ranks and addresses, line by line."""
    rows = [line for line in lines if line.kind == "row"]
    return {
        "name": about.name,
        "models": [model.heading for model in models],
        "people": people_of(table),
        "where": [model.where for model in models],
        "against": [shlex.quote(model.heading) for model in models],
        "links": [model.link for model in models],
        "lines": [
            {"kind": line.kind, "part": line.part, "label": line.label, "group": line.group} for line in lines
        ],
        "values": [
            [None if cell.value is None else round(cell.value, 6) for cell in line.cells] for line in rows
        ],
        "intervals": [line.of_cells("interval") for line in rows],
        "ranks": [line.of_cells("rank") for line in rows],
        "items": [_how_many(line) if about.files else line.of_cells("items") for line in rows],
        "outcomes": OUTCOMES,
    }


def _how_many(line: PageLine) -> str | None:
    """Return how many items a row has; what they are worth differs between models, and is long of many."""
    return next((cell.items.partition(", worth")[0] for cell in line.cells if cell.items), None)


def _inline(table: Table, files: Mapping[str, str] | None) -> dict[str, object]:
    """Return what stands on the page itself where nothing lies beside it: pairs in thousandths, downloads."""
    if files is not None:
        return {"pairs": None, "files": {}, "apart": True}
    pairs = compare_pairs(table)
    return {
        "pairs": None if pairs is None else _numbers_of(pairs),
        "files": {"csv": render(table, "csv"), "tex": render(table, "latex")},
    }


def _numbers_of(pairs: Mapping[tuple[int, int], Sequence[Cell]]) -> dict[str, list[int | None]]:
    return {
        f"{one}-{other}": [number for cell in own for number in (cell or (None,) * 4)]
        for (one, other), own in pairs.items()
    }
