"""Scoring of sentences shard by shard, with saved results reused; also counts of their tokens.

The log-probabilities are those of sentence-by-sentence scoring, up to float32 rounding. Only computations
that are identical for two sentences are shared.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import pyarrow as pa

from tseval.errors import ModelError, shortened
from tseval.questions.inflection import AskedForms
from tseval.questions.normalisation import LENGTHS, text_length
from tseval.scoring.protocol import model_errors, refuse_above_zero

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tseval.formats import Json
    from tseval.questions.choices import Asked
    from tseval.questions.normalisation import Normalised
    from tseval.scoring.answer_scorer import AnswerScorer
    from tseval.scoring.protocol import Answer
    from tseval.scoring.scorer import Scorer


# Sentences that are scored and saved at a time. Sorted neighbours share prefixes, so only the few prefixes
# at a shard's border are computed twice.
SHARD = 16_384
# For questions inside sentences: strings of symbols are long and share little.
ASKED_SHARD = 1_024


@dataclass(frozen=True, slots=True)
class Part:
    """A scored shard: one row per sentence, and the number of contexts computed for it."""

    table: pa.Table
    n_contexts: int


@dataclass(frozen=True, slots=True)
class Scored:
    """All sentences with their scores."""

    table: pa.Table  # one row per sentence, in order, as returned by `Scorer.score` or `Scorer.answer`
    n_contexts: int  # computed for them, including earlier sessions
    n_resumed: int  # sentences that were saved in earlier sessions
    protocol: Mapping[str, Json] = field(default_factory=dict)  # parts that only scoring reveals


class Saved(Protocol):
    """A store of scored parts, from which an interrupted run continues."""

    def load_part(self, i: int) -> Part | None:
        """Return a saved part, or None if it is missing."""

    def save_part(self, i: int, part: Part) -> None:
        """Save a part."""

    def load_answers(self) -> dict[str, Answer]:
        """Return the answered questions with their answers."""

    def save_answer(self, question: str, answer: Answer) -> None:
        """Save an answer as soon as it arrives."""


def shards(sentences: pa.StringArray, size: int | None = None) -> list[pa.StringArray]:
    """Split sorted sentences into the slices that are scored and saved one by one, by default of `SHARD`."""
    size = size or SHARD
    return [sentences.slice(start, size) for start in range(0, len(sentences), size)]


def score_all(
    scorer: Scorer,
    sentences: pa.StringArray,
    asked: Asked | AskedForms | None = None,
    saved: Saved | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Scored:
    """Score distinct, sorted sentences, and answer the questions inside them (`asked`), if any.

    `progress` is called with the number of finished sentences and of all sentences.
    """
    if scorer.only_answers:
        return _ask_all(cast("AnswerScorer", scorer), sentences, saved, progress)
    parts: list[Part] = []
    n_done, n_resumed = 0, 0
    if progress:
        progress(0, len(sentences))
    cut = shards(sentences, ASKED_SHARD if asked else None)
    with ThreadPoolExecutor(1) as thread:
        for i, shard in enumerate(cut):
            part = saved.load_part(i) if saved else None
            if part is None:
                if i + 1 < len(cut):
                    scorer.encode_ahead(cut[i + 1], thread)
                part = _score(scorer, shard, asked, n_done)
                if saved:
                    saved.save_part(i, part)
            else:
                n_resumed += part.table.num_rows
            parts.append(part)
            n_done += len(shard)
            if progress:
                progress(n_done, len(sentences))
    table = pa.concat_tables([part.table for part in parts])
    return Scored(table, sum(part.n_contexts for part in parts), n_resumed)


def _score(scorer: Scorer, shard: pa.StringArray, asked: Asked | AskedForms | None, start: int) -> Part:
    from tseval.scoring.precision import stated_precision  # noqa: PLC0415 - runs are read without torch

    before = scorer.n_contexts
    with stated_precision(), model_errors(scorer.card.name, shard):
        if asked is None:
            table = scorer.score(shard)
        elif isinstance(asked, AskedForms):
            table = scorer.inflect(shard, asked)
        else:
            table = scorer.answer(shard, asked.take(range(start, start + len(shard))))
    refuse_above_zero(table, scorer.card.name)
    return Part(table, scorer.n_contexts - before)


def _ask_all(
    scorer: AnswerScorer,
    questions: pa.StringArray,
    saved: Saved | None,
    progress: Callable[[int, int], None] | None,
) -> Scored:
    """Ask the questions without a saved answer, and save every answer as it arrives."""
    from tseval.scoring.answer_scorer import refuse_another_model, served_by  # noqa: PLC0415 - brings torch

    answered = saved.load_answers() if saved else {}
    answers = {text: answered[text] for text in questions.to_pylist() if text in answered}
    n_resumed = len(answers)
    served = next((answer.model for answer in answers.values() if answer.model), None)
    if progress:
        progress(n_resumed, len(questions))
    with model_errors(scorer.card.name, questions):
        for question, answer in scorer.ask(questions, answers):
            refuse_another_model(served, answer, scorer.card.name)
            served = served or answer.model
            if saved:
                saved.save_answer(question, answer)
            answers[question] = answer
            if progress:
                progress(len(answers), len(questions))
    table = scorer.lay_out(questions, answers)
    return Scored(table, len(answers), n_resumed, served_by(answers))


_SHOWN = 5


def lengths_of_texts(texts: Sequence[str], unit: str) -> pa.Table:
    """Count the characters or bytes of texts, in one column with the name from `LENGTHS`."""
    return pa.table(
        {LENGTHS[unit]: pa.array([max(1, text_length(text, unit)) for text in texts], pa.int32())}
    )


def lengths_of(scorer: Scorer, sentences: pa.StringArray, normalised: Normalised) -> pa.Table:
    """Count the tokens of sentences that have a log-probability.

    Returns:
        One row per sentence: `n_tokens`, at least 1, and, if there are unigrams, `unigram_logprob`, the sum
        over these tokens (nats, float64).
    """
    encoded = scorer.encoded(sentences)
    counts = encoded.token_counts
    # A first token without context has no log-probability, so it is not counted.
    skipped = int(scorer.card.protocol.get("first_token") == "unscored")
    columns: dict[str, pa.Array[Any]] = {"n_tokens": pa.array(np.maximum(counts - skipped, 1), pa.int32())}
    if normalised.unigrams is not None:
        logprobs, tokens = normalised.unigrams.logprobs, scorer.token_keys(encoded)
        if missing := dict.fromkeys(token for token in tokens if token not in logprobs):
            remainder = f" and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else ""
            listing = ", ".join(repr(shortened(token, 40)) for token in list(missing)[:_SHOWN])
            raise ModelError(
                f"the file of --unigrams has no counts for some tokens of {scorer.card.name}: "
                f"{listing}{remainder}.\n"
                "  Add a line for every token of the sentences, and for <unk>, as docs/scoring.md "
                "describes."
            )
        values = np.array([logprobs[token] for token in tokens])
        starts = np.cumsum(counts) - counts
        if skipped:
            values[starts] = 0.0
        columns["unigram_logprob"] = pa.array(np.add.reduceat(values, starts), pa.float64())
    return pa.table(columns)
