"""Write the pages of a board from its entries: `README.md` for people, `board.json` for programs."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, replace
from fractions import Fraction
from math import ceil, floor, isnan
from pathlib import Path
from shlex import quote
from statistics import fmean, stdev
from typing import TYPE_CHECKING
from urllib.parse import quote as urlquote

from tabulate import tabulate

from tseval.analysis.counts import N_HALF_KNOWN
from tseval.analysis.estimate_cache import estimates_kept
from tseval.analysis.means import cut
from tseval.analysis.rows import row_sets
from tseval.boards.dates import is_date
from tseval.boards.definition import Definition, read_definition
from tseval.boards.entry import About, Entry, read_entry
from tseval.boards.entry_folders import (
    ENTRY_FOLDERS,
    entry_on_board,
    entry_runs,
    ranked_folders,
    readable_entries,
)
from tseval.boards.maintainer import BoardChecks, read_checks
from tseval.boards.published import published_board, published_entry
from tseval.errors import BoardError, plain, suggest
from tseval.files import write_text
from tseval.report import Table, build_table, render
from tseval.report.analyses.seeds import seeds_table
from tseval.report.columns import Column, Key, column_of, columns_of, refuse_unlike
from tseval.report.numbers import (
    format_interval,
    format_mean_rank,
    format_rank_set,
    format_share,
    spread_beside,
)
from tseval.report.opened import for_analysis
from tseval.report.published import (
    BUNDLED_BOARDS,
    Board,
    BoardEntry,
    BoardModel,
    BoardRow,
    Retraction,
    board_text,
    bundled_boards,
    read_board,
)
from tseval.report.table import of_board
from tseval.report.writers.markdown import code, markdown, markdown_link
from tseval.runs.cache import cache_runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tseval.report.document import Document
    from tseval.runs.run import Run


ACCURACIES, BOARD_PAGE = "board.json", "README.md"
WRITTEN = "Written by `tseval board`; do not edit."
# The beginning of an HTML tag, in texts that may contain Markdown.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def pages(board: Path, definition: Definition, runs: Sequence[Run], *, feed: bool = True) -> dict[str, str]:
    """Return the texts of the files that follow from definition and entries, by name.

    Without `feed`, `board.json` has no single entries, as an earlier tseval wrote it.
    """
    if definition.seeds:  # a second table uses them
        runs = [cached.for_table() for cached in cache_runs(runs)]
    columns = {run.name: column_of(run) for run in runs}
    checks = BoardChecks() if definition.published else read_checks(board)
    entries = {
        name: entry_on_board(board / ENTRY_FOLDERS / name, definition, checks)
        for name in (*columns, *checks.retracted)
    }
    numbers = _numbers(board, definition, columns, entries, checks)
    if numbers is not None and not feed:
        numbers = replace(numbers, digest=None, entries=())
    page = "\n\n".join(_page(board, definition, runs, columns, numbers, entries)) + "\n"
    return {BOARD_PAGE: page} | ({} if numbers is None else {ACCURACIES: board_text(numbers)})


def write_pages(board: Path, definition: Definition) -> None:
    """Write these files."""
    folders = [] if definition.published else ranked_folders(board, definition)
    with estimates_kept(f"{board.resolve()} README.md"):
        texts = pages(board, definition, entry_runs(folders))
    for name, text in texts.items():
        write_text(board / name, text)


def _numbers(
    board: Path,
    definition: Definition,
    columns: Mapping[str, Column],
    entries: Mapping[str, Entry],
    known: BoardChecks,
) -> Board | None:
    """Return the content of `board.json`; None if there are no entries."""
    if definition.published:
        return published_board(board, definition)
    if not columns:
        return None
    groups = in_groups(definition, columns)
    of_seeds = {heading: [columns[name] for name in names] for heading, names in groups.items()}
    numbers = accuracies(board.resolve().name, definition, of_seeds)
    listed = [
        _board_entry(entry, columns.get(name), known.retracted.get(name)) for name, entry in entries.items()
    ]
    return replace(numbers, digest=definition.digest, entries=tuple(listed))


def _board_entry(entry: Entry, column: Column | None, retraction: Retraction | None) -> BoardEntry:
    """Return an entry's part of `board.json`; for a retracted entry, without numbers."""
    about = asdict(entry.about)
    listed = BoardEntry(
        id=entry.name,
        name=entry.about.display_name or entry.name,
        fingerprint=entry.fingerprint,
        signature=entry.signature,
        date=entry.about.date or next((check.on for check in entry.checks if is_date(check.on)), None),
        about={key: value for key, value in about.items() if value and key not in ("display_name", "date")},
        checks=tuple(asdict(check) for check in entry.checks),
        aliases=entry.aliases,
        retracted=retraction,
    )
    if column is None:
        return listed
    correct, n_tied, undecidable = (
        tuple(map(int, column.rows[name])) for name in ("n_correct", "n_tied", "n_undecidable")
    )
    low, high = (
        tuple(None if isnan(end) else round_end(end * 1000) / 1000 for end in column.rows[name].astype(float))
        for name, round_end in (("low", floor), ("high", ceil))
    )
    return replace(
        listed, n_correct=correct, n_tied=n_tied, n_undecidable=undecidable, low=low, high=high
    )  # fmt: skip


def _page(
    board: Path,
    definition: Definition,
    runs: Sequence[Run],
    columns: Mapping[str, Column],
    numbers: Board | None,
    entries: Mapping[str, Entry],
) -> Iterator[str]:
    name = board.resolve().name
    yield f"# {markdown(definition.title)}"
    yield WRITTEN
    if definition.text:
        # The maintainer's Markdown, without code that a browser or a terminal would execute.
        yield "\n".join(_TAG.sub("&lt;", plain(line)) for line in definition.text.strip().splitlines())
    yield f"Suite: {code(definition.suite)}, digest {code(definition.digest)}, score `{definition.score}`."
    if definition.source:
        yield f"Source: {markdown(definition.source)}"
    if definition.rules:
        yield "## Rules\n\n" + "\n".join(f"- {markdown(rule)}" for rule in definition.rules)
    if definition.renewed_by:
        yield (
            "Archived: the suite has a newer version, with the leaderboard "
            f"{_board_link(definition.renewed_by)}."
        )
    if definition.renews:
        yield f"For a new version of the suite; the earlier leaderboard is {_board_link(definition.renews)}."
    if numbers is not None:
        yield from _results(name, definition, runs, columns, numbers)
        names_of_columns = {id(column): name for name, column in columns.items()}
        best = [names_of_columns[id(column)] for column in best_first(columns.values())]
        about: dict[str, dict[str, str]] = {name: _about_entry(entries[name], definition) for name in best}
        if definition.published:
            folders = (board / ENTRY_FOLDERS / model.name for model in numbers.models)
            descriptions = ((folder.name, published_entry(folder, definition).about) for folder in folders)
            about = {name: {} if about == About() else _about(about) for name, about in descriptions}
        if facts := [{"model": markdown(name), **facts} for name, facts in about.items() if facts]:
            names = dict.fromkeys(key for row in facts for key in row)
            yield "## The entries"
            yield tabulate(
                [[row.get(key, "") for key in names] for row in facts],
                headers=[*names], tablefmt="pipe", disable_numparse=True,
            )  # fmt: skip
    if not definition.published:
        yield from _of_the_maintainer(board, definition)
    yield "## Check it"
    yield f"    tseval verify {quote(name)}"
    if definition.published:
        yield "It checks that the files are intact; published accuracies have no evidence to recompute."
    else:
        yield f"To score a new sample of the sentences with the models: `tseval board rescore {quote(name)}`"


def _board_link(other: str) -> str:
    return f"[{markdown(Path(other).name)}]({urlquote(other)}/{BOARD_PAGE})"


def _of_the_maintainer(board: Path, definition: Definition) -> Iterator[str]:
    """Write the sections on hidden words, retracted entries, and models that must be run again."""
    checks = read_checks(board)
    if checks.hidden:
        yield "## Hidden words"
        yield (
            "The same grammars with other words, which only the maintainers know. Means over all rows with "
            "95% intervals; *worse*: the whole interval of the difference is below 0."
        )
        rows = [
            (markdown(name), format_share(hidden.mean), format_interval(hidden.interval),
             f"{hidden.difference:+.3f}", format_interval(hidden.difference_interval),
             "worse" if hidden.worse else "", markdown(hidden.on))
            for name, hidden in sorted(checks.hidden.items()) if name not in checks.retracted
        ]  # fmt: skip
        headings = ("model", "hidden", "95% interval", "difference", "95% interval", "", "on")
        yield tabulate(rows, headers=headings, tablefmt="pipe", disable_numparse=True)
    if checks.retracted:
        yield "## Retracted"
        retracted = [
            (markdown(name), markdown(record.reason), markdown(record.on), markdown_link(record.link))
            for name, record in sorted(checks.retracted.items())
        ]
        yield tabulate(
            retracted, headers=("model", "why", "on", "see"), tablefmt="pipe", disable_numparse=True
        )
    if definition.renews and (waiting := not_yet_run(board, definition)):
        yield "## No run on this version yet"
        yield ", ".join(markdown(name) for name in waiting)


def not_yet_run(board: Path, definition: Definition) -> list[str]:
    """List the entries of the previous board whose models have no run on this board."""
    if definition.renews is None:
        return []
    old = Path(os.path.normpath(board.absolute() / definition.renews))  # the board may not exist yet
    identities = {entry.model_identity for entry in readable_entries(ranked_folders(board, definition))}
    old_entries = readable_entries(ranked_folders(old, read_definition(old)))
    return [entry.name for entry in old_entries if entry.model_identity not in identities]


def _results(
    name: str, definition: Definition, runs: Sequence[Run], columns: Mapping[str, Column], numbers: Board
) -> Iterator[str]:
    of_seeds = means_over_seeds(definition, runs)
    printed_columns: list[Column | Board]
    if definition.published:  # in the order of the publication, so that readers can compare
        printed_columns = [numbers]
    elif of_seeds is not None:
        printed_columns = [replace(numbers, models=_models_best_first(numbers))]
    else:
        printed_columns = [*best_first(columns.values())]
    table = of_board(build_table(printed_columns))
    yield "## The table"
    yield f"    tseval table {quote(name)}"
    yield render(table).rstrip()
    if of_seeds is not None:
        yield "## Seeds"
        yield (
            "Means over seeds, ± the standard deviation between seeds. Intervals generalise to other words, "
            "and with several seeds also to other seeds."
        )
        yield render(of_seeds).rstrip()
    if table.ranking is not None:
        yield from _ranks(table)
    if definition.beside is not None:
        if definition.beside not in bundled_boards():
            fix = suggest(definition.beside, bundled_boards(), "Boards")
            raise BoardError(
                f"{name}: the key `beside` names {definition.beside!r}, but no leaderboard "
                "that comes with tseval has this name.\n"
                f"  {fix}"
            )
        paper = read_board(BUNDLED_BOARDS / definition.beside)
        yield "## With the published models"
        yield f"    tseval table {quote(name)} {definition.beside}"
        yield render(build_table([*printed_columns, paper])).rstrip()


def best_first(columns: Iterable[Column]) -> list[Column]:
    """Sort models by their mean accuracy over rows, as tables rank them; equal ones by name."""

    def key(column: Column) -> tuple[bool, Fraction, str]:
        shares = list(column.ranked_by(()).values())
        numbers = [share for share in shares if share is not None]
        is_complete = bool(numbers) and len(numbers) == len(shares)
        return not is_complete, -_mean(numbers) if is_complete else Fraction(0), column.heading

    return sorted(columns, key=key)


def _models_best_first(board: Board) -> tuple[BoardModel, ...]:
    columns = columns_of(board)
    models = {id(column): model for column, model in zip(columns, board.models, strict=True)}
    return tuple(models[id(column)] for column in best_first(columns))


def _ranks(table: Table) -> Iterator[str]:
    """Write the sets of possible ranks. A mean over several seeds has none, because it has no verdicts."""
    ranking, means = table.ranking, table.means[-1]
    assert ranking is not None
    rows: list[tuple[str, ...]] = []
    for index, column in enumerate(table.columns):
        accuracy, rank, overall = means.accuracy[index], means.rank[index], table.overall[index]
        if accuracy is None or rank is None or overall is None:
            continue  # a model without a decidable item in a row has no mean and no rank
        rank_set = format_rank_set(overall, ranking.overall.low[index], ranking.overall.high[index])
        interval = format_interval((ranking.low[index], ranking.high[index]), 2)
        rows.append((column.heading, format_share(accuracy), rank_set, format_mean_rank(rank), interval))
    headings: tuple[str, ...] = ("model", "mean accuracy", "rank", "mean rank over rows", "95% interval")
    if len(table.rows) == 1:  # the mean of the board itself
        headings, rows = ("model", "accuracy", "rank"), [row[:3] for row in rows]
    yield "## Which ranks are known"
    yield (
        "In brackets: the possible ranks of each model, with 95% confidence for all models together, for "
        "other words of the same kind. Other training seeds may change them."
    )
    yield tabulate(
        rows,
        headers=headings,
        tablefmt="pipe",
        colalign=("left", *["right"] * (len(headings) - 1)),
        disable_numparse=True,
    )


def _about_entry(entry: Entry, definition: Definition) -> dict[str, str]:
    """Return the facts about an entry, and how far it was checked."""
    last = entry.checks[-1] if entry.checks else None
    checked = f"{last.level}, {markdown(last.by)}, {markdown(last.on)}" if last else "–"
    facts = _about(entry.about)
    if chosen := chosen_among(entry, definition):
        facts["seeds"] = chosen
    return {**facts, "fingerprint": markdown(entry.fingerprint[:16]), "checked": checked}


def chosen_among(entry: Entry, definition: Definition) -> str | None:
    """Return from how many seeds an entry was chosen, if the board does not have all of them."""
    used = next((len(names) for names in definition.seeds.values() if entry.name in names), 1)
    n_tried = entry.about.seeds_tried or 0
    return None if n_tried <= used else f"best of {n_tried}" if used == 1 else f"best {used} of {n_tried}"


def _about(about: About) -> dict[str, str]:
    required = {
        "licence": about.licence or "–",
        "trained on": about.training_data or "–",
        "holds the suite": about.contains_suite,
        "contact": about.contact or "–",
    }
    names = {"called": "display_name", "paper": "paper", "weights": "weights", "submitted by": "submitter"}
    optional = {head: value for head, name in names.items() if (value := getattr(about, name))}
    return {name: markdown(text) for name, text in (required | optional).items()}


def in_groups(definition: Definition, entries: Iterable[str]) -> dict[str, list[str]]:
    """Group a board's entries by the columns of its table: seeds together, others alone."""
    heading = {name: arch for arch, names in definition.seeds.items() for name in names}
    groups: dict[str, list[str]] = {}
    for name in entries:
        groups.setdefault(heading.get(name, name), []).append(name)
    return groups


def means_over_seeds(definition: Definition, runs: Sequence[Run]) -> Document | None:
    """Make the table of means over seeds, if an architecture has two entries or more."""
    of_name = {run.name: run for run in runs}
    groups = in_groups(definition, of_name)
    if len(groups) == len(runs):
        return None
    flat = for_analysis([of_name[name] for seeds in groups.values() for name in seeds])
    names = iter(flat.verdicts)
    return seeds_table(flat, {arch: [next(names) for _ in seeds] for arch, seeds in groups.items()})


def accuracies(name: str, definition: Definition, groups: Mapping[str, Sequence[Column]]) -> Board:
    """Return the accuracies of all rows, truncated to the board's decimals; for several seeds, their mean."""
    flat = [column for seeds in groups.values() for column in seeds]
    refuse_unlike(flat)
    exact = {heading: [column.exact(()) for column in seeds] for heading, seeds in groups.items()}
    rows = zip(flat[0].keys(()), flat[0].rows["n_items"], strict=True)
    decimals = definition.decimals
    return Board(
        name=name,
        title=definition.title,
        source=definition.source or definition.title,
        suite=flat[0].suite,
        score=definition.score,
        decimals=decimals,
        models=tuple(
            BoardModel(
                heading, _mean_perplexity(seeds), seeds[0].parameters, _spread_of_means(seeds, decimals)
            )
            for heading, seeds in groups.items()
        ),
        rows=tuple(_row(key, n_items, exact, decimals) for key, n_items in rows),
        notes=(*definition.notes, *_notes(groups)),
    )


def _row(
    key: Key, n_items: int, exact: Mapping[str, Sequence[Mapping[Key, Fraction | None]]], decimals: int
) -> BoardRow:
    """Return the mean of one row's exact accuracies over seeds. If a seed has none, there is no mean."""
    dependency, phenomenon, construction, contrast = (str(part) for part in key)
    seeds = {
        heading: _known([exact_of_seed.get(key) for exact_of_seed in of_seeds])
        for heading, of_seeds in exact.items()
    }
    return BoardRow(
        dependency=None if key[0] is None else dependency,
        phenomenon=phenomenon,
        construction=construction,
        contrast=contrast,
        n_items=int(n_items),
        accuracy={name: _printed(_mean(values), decimals) for name, values in seeds.items() if values},
        spread={
            name: _printed(_spread(values), decimals) for name, values in seeds.items() if len(values) > 1
        },
    )


def _spread_of_means(columns: Sequence[Column], decimals: int) -> dict[str, str]:
    """Return the standard deviation between seeds of each mean over rows in the table."""
    keys = columns[0].keys(())
    exact = [column.exact(()) for column in columns]
    spreads = {}
    for name, rows in row_sets(columns[0].rows):
        by_seed = [_known([exact_of_seed[keys[row]] for row in rows]) for exact_of_seed in exact]
        if len(by_seed) > 1 and all(by_seed):
            spreads[name] = _printed(_spread([_mean(values) for values in by_seed]), decimals)
    return spreads


def _known(values: Sequence[Fraction | None]) -> list[Fraction]:
    numbers = [value for value in values if value is not None]
    return numbers if len(numbers) == len(values) else []


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _spread(values: Sequence[Fraction]) -> Fraction:
    return Fraction(stdev(map(float, values)))


def _printed(value: Fraction, decimals: int) -> str:
    return f"{float(cut(value, decimals)):.{decimals}f}"


def _mean_perplexity(columns: Sequence[Column]) -> str | None:
    numbers = [float(column.perplexity) for column in columns if column.perplexity is not None]
    if len(numbers) < len(columns):
        return None
    mean = f"{fmean(numbers):.2f}"
    return mean if len(numbers) == 1 else spread_beside(mean, f"{stdev(numbers):.2f}")


def _notes(columns: Mapping[str, Sequence[Column]]) -> Iterator[str]:
    flat = [column for seeds in columns.values() for column in seeds]
    yield from dict.fromkeys(note for column in flat for note in column.notes)
    if len(flat) > len(columns):
        counts = ", ".join(f"{name} {len(seeds)}" for name, seeds in columns.items())
        yield (
            f"Accuracies and perplexities are means over seeds ({counts}), ± the standard deviation between "
            "seeds."
        )
    for column in flat:
        n_tied, undecidable = (int(column.rows[name].sum()) for name in ("n_tied", "n_undecidable"))
        if n_tied or undecidable:
            yield (
                f"{column.heading}: {n_tied:,} contrasts are ties (counted as wrong), {undecidable:,} are "
                "undecidable (not counted in accuracy)."
            )
        if N_HALF_KNOWN in column.rows and (n_half_known := int(column.rows[N_HALF_KNOWN].sum())):
            yield (
                f"{column.heading}: {n_half_known:,} contrasts are half known: the model knows only one "
                "of their two forms."
            )


def opening_options(entry: Entry) -> str:
    """Return the options that open an entry's model, as a user types them."""
    arguments = f" --model-args {quote(entry.model_args)}" if entry.model_args else ""
    return f"--model {quote(entry.model)}{arguments}" if entry.model else "--model MODEL"


def request_text(folders: Sequence[Path]) -> str:
    """Return the text of a pull request that adds entries, as Markdown."""
    entries = [read_entry(folder) for folder in folders]
    lines = [f"# {', '.join(markdown(entry.about.display_name or entry.name) for entry in entries)}", ""]
    for folder, entry in zip(folders, entries, strict=True):
        about = entry.about
        lines += [
            f"- Model: {markdown(entry.name)}; weights: {markdown(about.weights or 'where?')}; "
            f"licence: {markdown(about.licence or 'which?')}",
            f"- Training data: {markdown(about.training_data or 'what?')}; "
            f"with sentences of the suite: {about.contains_suite}",
            f"- Seeds tried: {about.seeds_tried or 'how many?'}",
            f"- `tseval verify {quote(str(folder))} {opening_options(entry)} --rescore all` says: ?",
            "",
        ]
    lines.append("With this request I confirm the promises in CONTRIBUTING.md.")
    return "\n".join(lines) + "\n"
