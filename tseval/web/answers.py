"""The verdicts on a model's answers, item by item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.evidence import whole_column
from tseval.items import CONTEXT, ENTRY, HALF_KNOWN
from tseval.questions.forced_choice import BETTER_FIRST
from tseval.report.items import BY_ORDER, HALF_KNOWN_OUTCOME, NO_ANSWER, UNDECIDABLE
from tseval.writing import IN_CONTEXT

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The verdicts on one model, in the order of the suite, (verdicts,).

    `better` and `worse` are the scores of the better and the worse sentence, in nats. They are NaN if nothing
    was compared.
    """

    case: pa.StringArray
    item: NDArray[np.int64]
    contrast: pa.StringArray
    better: NDArray[np.float64]
    worse: NDArray[np.float64]
    correct: NDArray[np.bool_]
    tie: NDArray[np.bool_]
    undecidable: NDArray[np.bool_]
    half_known: NDArray[np.bool_]
    contexts: tuple[str, ...] = ()  # the number of each verdict's context; empty without contexts
    chosen: NDArray[np.int64] | None = None  # choices of better and worse, (verdicts, 2)

    @classmethod
    def of(cls, table: pa.Table, *, in_context: bool = False) -> Verdicts:
        """Read verdicts from a table of `tseval.verdicts.judge`, with or without scores."""
        unknown = np.broadcast_to(np.nan, len(table))
        better, worse = (
            table[name].to_numpy() if name in table.column_names else unknown
            for name in ("better_score", "worse_score")
        )
        correct, tie, undecidable = (table[name].to_numpy() for name in ("correct", "tie", "undecidable"))
        case, contrast = (whole_column(table, name) for name in ("case", "contrast"))
        all_false = np.zeros(len(table), dtype=np.bool_)
        is_prompt = BETTER_FIRST in table.column_names
        half_known = table[HALF_KNOWN].to_numpy() if HALF_KNOWN in table.column_names else all_false
        return cls(
            case, table["item"].to_numpy(), contrast, better, worse, correct, tie, undecidable, half_known,
            tuple(map(str, table[f"{CONTEXT}{ENTRY}"].to_pylist())) if in_context else (),
            np.stack([better, worse], axis=1).astype(np.int64) if is_prompt else None,
        )  # fmt: skip

    def margins(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the score of the better sentence minus the score of the worse one, in nats."""
        return self.better[indices] - self.worse[indices]

    def scored_text(self, index: int, text: str) -> str:
        """Return a sentence of a verdict in the form of the run's scored sentences."""
        return f"{self.contexts[index]}{IN_CONTEXT}{text}" if self.contexts else text

    def answer(self, index: int) -> tuple[str, float | None]:
        """Return the outcome of a verdict, and the margin in nats, if scores were compared."""
        if self.chosen is not None:  # the scores are counts of choices, not log-probabilities
            outcome = "right" if self.correct[index] else "wrong"
            decided = BY_ORDER if self.tie[index] else outcome
            return NO_ANSWER if self.undecidable[index] else decided, None
        margin = float(self.better[index] - self.worse[index])
        if self.undecidable[index]:
            return HALF_KNOWN_OUTCOME if self.half_known[index] else UNDECIDABLE, None
        outcome = "tie" if self.tie[index] else "right" if self.correct[index] else "wrong"
        return outcome, None if np.isnan(margin) else margin
