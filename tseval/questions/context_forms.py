"""Log-probabilities of the forms of all verbs after contexts, in the form of scored sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ContextForms:
    """Scored contexts, one row each: `sentence`, and the lists `forms` and `before` of equal lengths."""

    table: pa.Table

    @property
    def n_words(self) -> int:
        """Number of forms after each context."""
        return len(self.table["forms"][0].values)

    @property
    def gives_masses(self) -> bool:
        """Whether the model gave the probabilities of its whole vocabulary."""
        return (
            "before" in self.table.column_names and self.table["before"][0].values.null_count < self.n_words
        )

    def find(self, contexts: Sequence[str]) -> Places:
        """Return the row of each context, -1 for one that was not scored, (contexts,)."""
        rows = pc.index_in(pa.array(contexts, pa.string()), value_set=self.table["sentence"])
        return cast("Places", rows.fill_null(-1).to_numpy().astype(np.int64))

    def logprobs(self, rows: Places) -> Values:
        """Return the log-probabilities of forms after contexts, (contexts, forms), in nats.

        A form that the model does not know has NaN.
        """
        return self._numbers("forms", rows)

    def before(self, rows: Places) -> Values:
        """Return the total probability of all tokens more probable than each form, (contexts, forms)."""
        return self._numbers("before", rows)

    def _numbers(self, name: str, rows: Places) -> Values:
        lists: Any = self.table[name].take(pa.array(rows, pa.int64())).combine_chunks()
        values = lists.flatten().to_numpy(zero_copy_only=False).astype(np.float64)
        return cast("Values", values.reshape(len(rows), -1))

    def known(self) -> NDArray[np.bool_]:
        """Return which forms the model knows after every context, (forms,)."""
        is_known = np.ones(self.n_words, dtype=np.bool_)
        for chunk in self.table["forms"].chunks:
            values: Any = cast("Any", chunk).flatten()
            if values.null_count:
                is_known &= (
                    values.is_valid().to_numpy(zero_copy_only=False).reshape(-1, self.n_words).all(axis=0)
                )
        return is_known
