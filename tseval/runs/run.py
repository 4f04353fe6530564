"""A scored suite: its manifest, sentences and verdicts, and the table that counts them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from tseval.analysis.counts import ANSWERS, ItemsByRow, no_accuracy, tally
from tseval.analysis.features import refuse_unknown_features
from tseval.analysis.inflection import InflectedContexts, compared_verbs, with_inflection
from tseval.analysis.measures import correlate, effects, with_effects
from tseval.analysis.rows import ROW, as_names
from tseval.errors import as_html, counted, one_line
from tseval.items import ENTRY
from tseval.questions.context_forms import ContextForms
from tseval.questions.inflection import NUMBER, WORDS_BEFORE
from tseval.runs.logged_means import logged_means, mean_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tseval.analysis.correctness import Correctness
    from tseval.runs.manifest import Manifest


@dataclass(frozen=True)
class Run:
    """A scored suite.

    Attributes:
        name: Name of the run's directory; without a directory, the name of the model.
        manifest: What was scored, with which model and settings.
        load_sentences: Loads the scored sentences.
        load_verdicts: Loads the verdicts.
        path: The run's directory, as the user named it; None for a run in memory.
        document: The table from `tseval.report.document_of`, if it was just made.
    """

    name: str
    manifest: Manifest
    load_sentences: Callable[[], pa.Table]
    load_verdicts: Callable[[], pa.Table]
    path: Path | None = None
    document: object | None = None

    def __repr__(self) -> str:
        key, n_sentences = self.manifest.key, self.manifest.counts.sentences
        title = f"{key.model} on {key.suite}"
        return one_line(self, self.name, title, counted(n_sentences, "sentence"), f"score {key.score}")

    def _repr_html_(self) -> str:
        table = self.table().drop(columns=["se", "df", "clusters", "fixed"], errors="ignore")
        rows = table.round(3).astype(str).itertuples(index=False, name=None)
        return as_html(f"{self!r} {self.manifest.signature}", list(map(str, table.columns)), rows)

    @classmethod
    def of(cls, manifest: Manifest, scored: pa.Table, verdicts: pa.Table) -> Run:
        """Make a run in memory."""
        return cls(manifest.key.model, manifest, lambda: scored, lambda: verdicts)

    @cached_property
    def sentences(self) -> pd.DataFrame:
        """One row per distinct sentence: `sentence`, `seen`, `logprob`, `words` (nats), `n_unknown`."""
        return _frame(self.load_sentences())

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """One row per item and contrast, with all features."""
        return _frame(self.load_verdicts())

    @cached_property
    def rated(self) -> bool:
        """Whether the sentences are rated, so that no verdict is right or wrong."""
        counts = self.manifest.counts
        if counts.correct or counts.tied or not counts.contrasts:
            return False
        return self.load_verdicts()["correct"].null_count == counts.contrasts

    def tally(self, by: str | Sequence[str] = ()) -> tuple[pd.DataFrame, Correctness]:
        """Count verdicts as `table` does, and return also the correctness and the row of each item.

        If regions are compared, rows have also the columns of `tseval.analysis.measures.EFFECT`. If all verbs
        of a list are compared, they have those of `tseval.analysis.inflection.INFLECTED`, and `n_lemmas`.
        Only the necessary columns of verdicts are read.

        Raises:
            SuiteError: The suite does not have this feature.
            RunError: The sentences are rated, so there is no accuracy.
        """
        if self.rated:
            raise no_accuracy(self.name)
        table = self.load_verdicts()
        refuse_unknown_features(as_names(by), table.column_names)
        regions = self.manifest.key.score == "regions"
        needed = {*ROW, *as_names(by), "correct", "tie", "undecidable", "half_known"}
        needed |= {"better_score", "worse_score"} if regions else set()
        needed |= set(ANSWERS) if self.manifest.key.score == "prompt" else set()
        needed |= set() if self.manifest.suite.lexicon is None else {WORDS_BEFORE, NUMBER}
        names = [name for name in table.column_names if name in needed or name.endswith(ENTRY)]
        grouping = _grouping_of(table, as_names(by))
        if self.manifest.suite.lexicon is None and not regions:
            shared = {*ROW, *as_names(by)}
            names = [name for name in names if name not in shared and not name.endswith(ENTRY)]
        verdicts = _frame(table.select(names))
        rows, answers = tally(verdicts, by, grouping)
        if self.manifest.suite.lexicon is not None:
            return with_inflection(rows, self.inflected(verdicts, answers.rows)), answers
        return with_effects(rows, answers, effects(verdicts)) if regions else rows, answers

    def inflected(self, verdicts: pd.DataFrame, rows: NDArray[np.int64]) -> InflectedContexts:
        """Return the contexts of verdicts on a list of verbs; `rows` has the table row of each verdict."""
        pairs = [(sing, plur) for sing, plur, _ in compared_verbs(self.manifest.suite.lexicon or ())]
        return InflectedContexts.of(verdicts, rows, ContextForms(self.load_sentences()), pairs)

    def table(self, by: str | Sequence[str] = ()) -> pd.DataFrame:
        """Count verdicts per construction, and per value of one or more features, as `tally` does.

        For rated sentences, correlate scores with ratings (`tseval.analysis.measures.correlate`).

        Raises:
            SuiteError: The suite does not have this feature.
        """
        return correlate(self.verdicts, by) if self.rated else self.tally(by)[0]

    def mean(self) -> float | None:
        """Return the mean accuracy over the rows of the table, each row counted once.

        None if a row has no decidable item. For rated sentences, Spearman's correlation over all of them.
        """
        return mean_of(self)

    def means(self) -> dict[str, float]:
        """Return the mean, each phenomenon and each row, named for loggers.

        The names are `tseval/SUITE/mean`, `tseval/SUITE/PHENOMENON`, `tseval/SUITE/PHENOMENON/CONSTRUCTION`.
        Rows without a decidable item, and means over such rows, are left out.
        """
        return logged_means(self)


# With these types, whole numbers and truth values stay unchanged next to missing values.
_NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}


def _frame(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas(types_mapper=_NULLABLE.get)


_last: tuple[pa.Table, tuple[str, ...], ItemsByRow] | None = None


def _grouping_of(verdicts: pa.Table, by: Sequence[str]) -> ItemsByRow:
    """Group the items of a run; reuse the grouping of the last run if its items are the same."""
    global _last  # noqa: PLW0603 - runs over one suite follow one another
    names = [*ROW, *by, *(name for name in verdicts.column_names if name.endswith(ENTRY) and name not in by)]
    keys = verdicts.select(names)
    if _last is None or _last[1] != tuple(by) or not _last[0].equals(keys):
        _last = keys, tuple(by), ItemsByRow.of(_frame(keys), by)
    return _last[2]
