"""The texts for a paper about some runs: BibTeX, a methods paragraph and a table, in LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from tseval.analysis.intervals import confidence_percent
from tseval.report.analyses.seeds import seeds_table
from tseval.report.methods import describe_items, digest_comments, methods_paragraph
from tseval.report.numbers import TRUNCATED
from tseval.report.references import as_key, bibtex, citation_keys
from tseval.report.writers.latex import latex
from tseval.report.writers.latex_float import as_latex_floats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from tseval.report.document import Grid
    from tseval.report.opened import RunSet


@dataclass(frozen=True, slots=True)
class Paper:
    """Three texts for a paper: BibTeX, a LaTeX paragraph, and a floating table with caption and label."""

    references: str
    methods: str
    table: str

    def __str__(self) -> str:
        parts = ("references.bib", self.references), ("methods.tex", self.methods), ("table.tex", self.table)
        return "\n".join(f"% {name}\n{text}" for name, text in parts)


def write_up(
    opened: RunSet, groups: Mapping[str, Sequence[str]] | None = None, *, intervals: bool = False
) -> Paper:
    """Return the texts for a paper about runs on one suite.

    Args:
        opened: The runs.
        groups: The runs of each column of the table; several are seeds. None for one run per column.
        intervals: Whether the table shows confidence intervals.
    """
    groups = groups or {name: [name] for name in opened.verdicts}
    document = seeds_table(opened, groups)
    rows = cast("pd.DataFrame", document.content["rows"])
    manifests = list(opened.manifests.values())
    keys = citation_keys(manifests, clustered=bool(rows["clusters"].map(bool).any()))
    return Paper(
        bibtex(keys, manifests),
        methods_paragraph(opened, rows, keys, groups),
        suite_table(opened, document.grids[0], groups, intervals=intervals),
    )


def suite_table(
    opened: RunSet, grid: Grid, groups: Mapping[str, Sequence[str]], *, intervals: bool = False
) -> str:
    """Return the accuracies on one suite as floating tables; the caption describes the sample."""
    if not intervals:
        grid = grid.only([index for index, field in enumerate(grid.fields) if not field.joined])
    title = next(iter(opened.manifests.values())).suite.title
    sentences = [f"Accuracy on {latex(title)}: {describe_items(opened)}."]
    if any(len(seeds) > 1 for seeds in groups.values()):
        seeds = ", ".join(f"{name} {len(runs)}" for name, runs in groups.items())
        sentences.append(f"Mean $\\pm$ standard deviation over seeds ({latex(seeds)}).")
    if len(groups) > 1:
        sentences.append("The best accuracy of a row is bold if no other model equals it.")
    if intervals:
        sentences.append(f"Below each accuracy: its {latex(confidence_percent())} confidence interval.")
    sentences.append(f"Accuracies are {TRUNCATED}.")
    return as_latex_floats(grid, " ".join(sentences), as_key(opened.suite), digest_comments(opened))
