"""Accuracy by the length and the kind of the context, after Figure 2 of Sinha et al. 2023."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.analysis.comparisons import RowsAndMeans, trajectory
from tseval.errors import RunError, counted
from tseval.report.document import Document, Field, Grid
from tseval.report.layout import in_full, labelled, rows_and_means
from tseval.report.numbers import NOT_ROUNDED, format_share
from tseval.report.opened import RunSet, analysis_document, interval_note
from tseval.report.panels import Axis
from tseval.report.rows_along import row_panels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from tseval.report.panels import Panel
    from tseval.runs.manifest import Manifest


CONTEXT, WORDS, NO_CONTEXT = "context", "words", "no context"


@dataclass(frozen=True, slots=True)
class InContext:
    """The runs of one model with contexts of one kind, by length of the contexts, ascending.

    A run without context belongs to every kind, with length 0.
    """

    model: str
    kind: str
    runs: Mapping[int, str]
    along: RowsAndMeans[int]


def find_contexts(opened: RunSet) -> list[InContext]:
    """Return the runs of each model and kind of context, in order of first appearance.

    Raises:
        RunError: No run has a context, or two runs of a model have the same context.
    """
    models: dict[tuple[str, str], dict[str | None, dict[int, str]]] = {}
    for name, manifest in opened.manifests.items():
        kinds = models.setdefault(_model_of(manifest), {})
        context = manifest.suite.context
        kind, words = (None, 0) if context is None else (context.source, context.words)
        of_kind = kinds.setdefault(kind, {})
        if words in of_kind:
            label = NO_CONTEXT if context is None else f"{counted(words, 'word')} ({kind})"
            raise RunError(
                f"{opened.folders[of_kind[words]]} and {opened.folders[name]} are two runs of "
                f"{manifest.model.name} with the same context ({label}).\n  Leave out one of the two runs."
            )
        of_kind[words] = name
    if all(kind is None for kinds in models.values() for kind in kinds):
        raise RunError(
            "no run has a context, so there is no accuracy by context to print.\n"
            "  Score the suite in context: tseval run --model MODEL --context same --context-words 0,100,400"
        )
    results = []
    for (model, _), kinds in models.items():
        without_context = kinds.pop(None, {})
        for kind, of_kind in (kinds or {NO_CONTEXT: {}}).items():
            runs = dict(sorted((without_context | of_kind).items()))
            by_words = trajectory({words: opened.verdicts[run] for words, run in runs.items()})
            results.append(InContext(model, str(kind), runs, by_words))
    return results


def _model_of(manifest: Manifest) -> tuple[str, str]:
    """Return the identity of a model apart from contexts: name, weights, protocol and score."""
    protocol = {
        part: value
        for part, value in manifest.key.protocol.items()
        if not part.startswith(CONTEXT) and part != "first_token"
    }
    return manifest.model.name, repr((manifest.key.fingerprint, sorted(protocol.items()), manifest.key.score))


def by_context(opened: RunSet, contexts: Sequence[InContext]) -> Document:
    """Return accuracy by context length, with a table for each model and kind of context."""
    records = _records(contexts)
    notes = [
        interval_note(records),
        "Columns: words of context. For intervals: --format csv or json.",
        f"Accuracies are {NOT_ROUNDED}.",
    ]
    grids = [_grid(in_context, opened.suite) for in_context in contexts]
    return analysis_document(opened, CONTEXT, records, grids, notes)


def _grid(in_context: InContext, suite: str) -> Grid:
    title = f"{in_context.model} on {suite}, by words of context ({in_context.kind})"
    fields = [Field(title, align="left")]
    fields += [Field(f"{words:,}", ("accuracy",), format_share) for words in in_context.runs]

    def cells(_: pd.DataFrame, measured: Mapping[int, pd.DataFrame]) -> list[list[object]]:
        return [field.values(frame) for field, frame in zip(fields[1:], measured.values(), strict=True)]

    return Grid(fields, rows_and_means(in_context.along, cells), title)


def _records(contexts: Sequence[InContext]) -> pd.DataFrame:
    return in_full(
        labelled(heads, frame, model=in_context.model, context=in_context.kind, words=words)
        for in_context in contexts
        for heads, measured in in_context.along.parts
        for words, frame in measured.items()
    )


def context_panels(contexts: Sequence[InContext]) -> list[Panel]:
    """Return a panel for the mean over all rows, then one for each row; lines are models and kinds."""
    models = {in_context.model for in_context in contexts}
    named = [
        (in_context.kind if len(models) == 1 else f"{in_context.model}: {in_context.kind}", in_context.along)
        for in_context in contexts
    ]
    return row_panels(named, Axis("words of context", most=4), mean_first=True)
