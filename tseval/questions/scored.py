"""Scored sentences, by column: the data that questions are decided from.

All operations are on whole columns, because a suite has hundreds of thousands of sentences.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import ModelError
from tseval.questions.answers import ANSWER, read_answers
from tseval.questions.context_forms import ContextForms
from tseval.questions.normalisation import LENGTHS, normalise
from tseval.questions.unknown import Unknown, UnknownWords
from tseval.questions.word_scores import WordScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]
    Sums = NDArray[np.float64]


class ScoredSentences:
    """Distinct sentences with the log-probabilities of their words.

    Args:
        table: One row per sentence: `sentence`, `seen` (its words as the model reads them), `logprob` (nats,
            float64) and `words` (nats, float32, one per word of `seen`). If single symbols are compared, also
            `right` and `wrong` (nats, float64, one per word). If the model leaves first tokens unscored, also
            these as `unscored`.
        too_long: Sentences that were not scored because they are too long for the model.
        by: The normalisation of log-probabilities (`tseval.questions.normalisation`), or None. With it the
            table has `n_tokens` or a length of the text, and for `slor` also `unigram_logprob`.
        region_length: The length, one of `LENGTHS`, to divide surprisals of continuations by, or None.
        unknown: The model's sign of unknown words, and the rule for half-known pairs; by default the usual
            signs, and these pairs are undecidable.
        asked_words: Words whose log-probabilities after each sentence are in the column `forms`.
    """

    def __init__(
        self,
        table: pa.Table,
        too_long: pa.StringArray | None = None,
        by: str | None = None,
        region_length: str | None = None,
        unknown: Unknown | None = None,
        asked_words: tuple[str, ...] = (),
    ) -> None:
        self.table = table
        self.asked_words = asked_words
        self.by = by if region_length is None else None
        self.region_length = region_length
        unknown = unknown or Unknown()
        self.compares_half_known = unknown.rule == "score"
        self.unknown_words = UnknownWords(table, unknown)
        self.too_long = pa.array([], pa.string()) if too_long is None else too_long

    def check_finite(self) -> None:
        """Raise an error for scores that are infinite or NaN, because they cannot be compared."""
        wrong = np.flatnonzero(~np.isfinite(self.sums))
        if len(wrong):
            sentence, value = (self.table[name][int(wrong[0])].as_py() for name in ("sentence", "logprob"))
            others = f" (and {len(wrong) - 1:,} more)" if len(wrong) > 1 else ""
            raise ModelError(
                f"the model gives the log-probability {value} to {sentence!r}{others}, but tseval can "
                "compare only finite numbers.\n"
                "  Check the checkpoint for overflow. If an n-gram model gives a word the probability 0, "
                "smooth the model."
            )

    def find(self, sentences: pa.StringArray) -> Rows:
        """Return the row of each sentence, -1 for a sentence that is too long, (sentences,)."""
        # Call this once for a whole suite: each call indexes all scored sentences again.
        rows = pc.index_in(sentences, value_set=self.table["sentence"])
        is_too_long = pc.is_in(sentences.filter(rows.is_null()), value_set=self.too_long)
        assert pc.all(is_too_long, min_count=0).as_py(), "a sentence of the suite was not scored"
        return rows.fill_null(-1).to_numpy().astype(np.int64)

    @cached_property
    def sums(self) -> Sums:
        """Log-probability of each sentence, in nats, normalised if `by` is given, (sentences,)."""
        logprobs = cast("Sums", self.table["logprob"].to_numpy())
        if self.by is None:
            return logprobs
        unigrams = self.table["unigram_logprob"].to_numpy() if self.by == "slor" else None
        lengths = self.table[LENGTHS.get(self.by, "n_tokens")].to_numpy().astype(np.int64)
        return normalise(self.by, logprobs, lengths, unigrams)

    @cached_property
    def means(self) -> Sums:
        """Log-probability per word, in nats, (sentences,)."""
        return cast("Sums", self.sums / pc.list_value_length(self.table["words"]).to_numpy())

    @cached_property
    def looks(self) -> Rows:
        """A number for each sentence, equal if sentences look the same to the model, (sentences,)."""
        if self.table["seen"].equals(self.table["sentence"]):  # sentences are distinct
            return np.arange(len(self.table))
        return cast("Rows", self.table["seen"].combine_chunks().dictionary_encode().indices.to_numpy())

    def begin_apart(self, *rows: Rows) -> NDArray[np.bool_]:
        """Return the items whose sentences begin with different unscored tokens, (items,).

        Comparisons that include the first words are undecidable then. `rows` has the rows of each label,
        (items,).
        """
        if "unscored" not in self.table.column_names:
            return np.zeros(len(rows[0]), dtype=np.bool_)
        first, *others = (self.table["unscored"].to_numpy()[label] for label in rows)
        differs = np.zeros(len(first), dtype=np.bool_)
        for other in others:
            differs |= first != other
        return differs

    @cached_property
    def words(self) -> WordScores:
        """The log-probabilities of single words."""
        return WordScores(self.table)

    def inside(self, rows: Rows, positions: Rows) -> tuple[Sums, Sums]:
        """Return the values of the right and of the wrong symbols before words of sentences.

        `rows` are those of the sentences, `positions` the number of words before each choice, (asks,) each.
        """
        lengths = pc.list_value_length(self.table["words"]).to_numpy()
        indices = (np.cumsum(lengths) - lengths)[rows] + positions
        right, wrong = (pc.list_flatten(self.table[name]).to_numpy()[indices] for name in ("right", "wrong"))
        return right, wrong

    def check_forms(self) -> None:
        """Raise an error if the column `forms` does not have one number for each of `asked_words`."""
        lengths = pc.list_value_length(self.table["forms"])
        if not pc.all(pc.equal(lengths, pa.scalar(len(self.asked_words), lengths.type)), min_count=0).as_py():
            raise ModelError(
                f"the run must have {len(self.asked_words):,} log-probabilities after every context, one "
                "for each verb form, but some contexts have another number.\n  Score the suite again with "
                "this version of tseval."
            )

    @cached_property
    def choices(self) -> Rows:
        """The answer to each prompt: 1, 2, or 0 for an answer that is neither, (sentences,)."""
        if ANSWER not in self.table.column_names:
            raise ModelError(
                "this suite asks which of two sentences is better, but the run has no answers.\n"
                "  Score the suite again, with a prompt model: --model prompt:hf:FOLDER"
            )
        return read_answers(self.table[ANSWER])

    @property
    def forms(self) -> ContextForms:
        """The forms of verbs after each sentence."""
        return ContextForms(self.table)
