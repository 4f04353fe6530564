"""The accuracies of a board: counted from evidence, averaged over seeds."""

from __future__ import annotations

from fractions import Fraction
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from tseval.analysis import cut, row_sets
from tseval.report.boards import (
    Board,
    BoardModel,
    BoardRow,
)
from tseval.report.columns import refuse_unlike
from tseval.report.comparisons import seeds_table
from tseval.report.document import spread_beside
from tseval.report.opened import for_analysis

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tseval.boards import (
        Definition,
    )
    from tseval.report.columns import Column, Key
    from tseval.report.document import Document
    from tseval.runs import Run


def in_groups(definition: Definition, entries: Iterable[str]) -> dict[str, list[str]]:
    """Put a board's entries under the headings of its table: seeds together, others alone."""
    heading = {name: arch for arch, names in definition.seeds.items() for name in names}
    groups: dict[str, list[str]] = {}
    for name in entries:
        groups.setdefault(heading.get(name, name), []).append(name)
    return groups


def means_over_seeds(definition: Definition, runs: Sequence[Run]) -> Document | None:
    """Tabulate a board's entries as means over seeds, if two are of one architecture."""
    of_name = {run.name: run for run in runs}
    groups = in_groups(definition, of_name)
    if len(groups) == len(runs):
        return None
    flat = for_analysis([of_name[name] for several in groups.values() for name in several])
    names = iter(flat.verdicts)
    return seeds_table(flat, {arch: [next(names) for _ in several] for arch, several in groups.items()})


def accuracies(name: str, definition: Definition, groups: Mapping[str, Sequence[Column]]) -> Board:
    """Make the board of runs, with accuracies cut to its decimals; of several the mean is taken."""
    flat = [column for several in groups.values() for column in several]
    refuse_unlike(flat)
    exact = {heading: [column.exact(()) for column in several] for heading, several in groups.items()}
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
                heading, _mean_perplexity(several), several[0].parameters, _spread_of_means(several, decimals)
            )
            for heading, several in groups.items()
        ),
        rows=tuple(_row(key, n_items, exact, decimals) for key, n_items in rows),
        notes=(*definition.notes, *_notes(groups)),
    )


def _row(
    key: Key, n_items: int, exact: Mapping[str, Sequence[Mapping[Key, Fraction | None]]], decimals: int
) -> BoardRow:
    """Average the exact accuracies of one row over seeds; where a seed has none there is no mean."""
    dependency, phenomenon, construction, contrast = key
    seeds = {heading: _known([one.get(key) for one in several]) for heading, several in exact.items()}
    return BoardRow(
        dependency=None if dependency is None else str(dependency),
        phenomenon=str(phenomenon),
        construction=str(construction),
        contrast=str(contrast),
        n_items=int(n_items),
        accuracy={name: _printed(_mean(own), decimals) for name, own in seeds.items() if own},
        spread={name: _printed(_spread(own), decimals) for name, own in seeds.items() if len(own) > 1},
    )


def _spread_of_means(columns: Sequence[Column], decimals: int) -> dict[str, str]:
    """Give the spread between seeds of the mean accuracy over each set of rows that a table averages."""
    keys = columns[0].keys(())
    exact = [column.exact(()) for column in columns]
    spreads = {}
    for over, rows in row_sets(columns[0].rows):
        own = [_known([one[keys[row]] for row in rows]) for one in exact]
        if len(own) > 1 and all(own):
            spreads[over] = _printed(_spread([_mean(values) for values in own]), decimals)
    return spreads


def _known(values: Sequence[Fraction | None]) -> list[Fraction]:
    """Give the values, or none where one is missing."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _spread(values: Sequence[Fraction]) -> Fraction:
    return Fraction(stdev(map(float, values)))


def _printed(value: Fraction, decimals: int) -> str:
    return f"{float(cut(value, decimals)):.{decimals}f}"


def _mean_perplexity(columns: Sequence[Column]) -> str | None:
    known = [float(column.perplexity) for column in columns if column.perplexity is not None]
    if len(known) < len(columns):
        return None
    mean = f"{fmean(known):.2f}"
    return mean if len(known) == 1 else spread_beside(mean, f"{stdev(known):.2f}")


def _notes(columns: Mapping[str, Sequence[Column]]) -> Iterator[str]:
    """Say what a reader must know: parameters, seeds, ties, undecidable items."""
    flat = [column for several in columns.values() for column in several]
    yield from dict.fromkeys(note for column in flat for note in column.notes)
    if len(flat) > len(columns):
        counts = ", ".join(f"{name} {len(several)}" for name, several in columns.items())
        yield (
            f"Accuracies and perplexities are means over seeds: {counts}. ± is the standard deviation "
            "between seeds."
        )
    for column in flat:
        tied, undecidable = (int(column.rows[name].sum()) for name in ("n_tied", "n_undecidable"))
        if tied or undecidable:
            yield (
                f"{column.heading}: {tied:,} contrasts are ties, counted as wrong, and {undecidable:,} are "
                "undecidable, left out of accuracy."
            )
