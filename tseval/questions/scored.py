"""Scored sentences, by column: what questions are decided from.

Everything here works on whole columns; a suite has hundreds of thousands of sentences.

Log-probabilities of sentences of unequal lengths, made comparable.

With log P the log-probability of a sentence, n the number of tokens that it is a sum over, and log P_u the
sum of the unigram log-probabilities of these tokens, all in nats:

    tokens    log P / n
    alpha=A   log P / n^A                     SLLN-LP (Liu et al. 2024)
    penlp     log P / ((5 + n) / (5 + 1))^0.8 PenLP (Lau et al. 2020, after Wu et al. 2016)
    slor      (log P - log P_u) / n           SLOR (Pauls & Klein 2012; Lau, Clark & Lappin 2017)

    characters  log P / letters of the text, code points of Unicode  (acc_norm of lm-eval)
    bytes       log P / bytes of the text in UTF-8                   (acc_bytes of lm-eval)

The last two are also for continuations of a text, whose log-probability given that text is divided by their
own length. Division by the number of words is the score `mean`.

Source: the reference scripts, jhlau/acceptability-prediction-in-context, `compute_model_score.py`, and
sjtu-compling/ZhoBLiMP, `metrics.py`. Departure: none; both count the tokens that have a log-probability.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import ModelError, SuiteError
from tseval.questions.unknown import Unknown, UnknownWords
from tseval.writing import UNFINISHED, without_boundaries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Rows = NDArray[np.int64]
    Sums = NDArray[np.float64]


NORMALISATIONS = ("tokens", "characters", "bytes", "slor", "penlp", "alpha=A")
# Lengths of the text itself, and the columns of scored sentences that hold them.
LENGTHS = {"characters": "n_characters", "bytes": "n_bytes"}
# Between the score and what it is normalised by, in the key of a run: `sentence/penlp`.
OVER = "/"
_ALPHA = re.compile(r"alpha=(\d+\.?\d*|\.\d+)")


@dataclass(frozen=True, slots=True)
class Unigrams:
    """Unigram log-probabilities of the tokens of a model, in nats.

    A token is a word as the model sees it; of a model of pieces, the piece's number in its vocabulary.
    """

    logprobs: Mapping[str, float]

    @property
    def digest(self) -> str:
        """SHA-256 of tokens and numbers, in hex."""
        lines = (f"{token}\t{value!r}\n" for token, value in sorted(self.logprobs.items()))
        return hashlib.sha256("".join(lines).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Normalised:
    """A score: the log-probability of a sentence, normalised."""

    by: str  # one of `NORMALISATIONS`; A of `alpha=A` is above 0, at most 1
    unigrams: Unigrams | None = None  # what `slor` subtracts; else None
    of: Literal["sentence", "regions"] = "sentence"  # whole sentences, or continuations of a text

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", _checked(self.by))
        if self.of == "regions" and self.by not in LENGTHS:
            raise SuiteError(
                f"--normalise {self.by} works only with whole sentences, but this suite compares "
                "continuations of a text.\n"
                f"  Write --normalise {' or '.join(LENGTHS)}, or add --score sentence."
            )
        if (self.by == "slor") != (self.unigrams is not None):
            raise SuiteError(
                "--normalise slor needs the frequency of each token, which a model does not store.\n"
                "  Name a table of token counts: --unigrams FILE. docs/scoring.md describes the table."
                if self.by == "slor"
                else f"--unigrams names token counts, but --normalise {self.by} does not use them.\n"
                "  Leave out --unigrams, or write --normalise slor."
            )

    def __str__(self) -> str:
        """Name the score as in the key of a run: `sentence/penlp`."""
        return f"{self.of}{OVER}{self.by}" + (f"@{self.unigrams.digest[:16]}" if self.unigrams else "")


def split_measure(measure: str) -> tuple[str, str | None]:
    """Take the score of a run apart: what is compared, and what it is normalised by, None for nothing.

    >>> split_measure("sentence/slor@0123456789abcdef")
    ('sentence', 'slor')
    """
    score, _, by = measure.partition(OVER)
    return score, by.partition("@")[0] or None


def _checked(by: str) -> str:
    """Return a normalisation as signatures name it: `alpha=.50` is `alpha=0.5`."""
    found = _ALPHA.fullmatch(by)
    if found and 0 < float(found[1]) <= 1:
        return f"alpha={float(found[1])!r}"
    if by not in NORMALISATIONS[:-1]:
        raise SuiteError(
            f"--normalise {by}: there is no normalisation with this name.\n"
            f"  Choose none, words, {', '.join(NORMALISATIONS)}. A is a number above 0 and at most 1, such "
            "as alpha=0.5."
        )
    return by


def normalise(by: str, logprobs: Sums, n_tokens: NDArray[np.int64], unigrams: Sums | None) -> Sums:
    """Normalise the log-probabilities of sentences, (sentences,), as `Normalised.by` has it.

    Log-probabilities and sums of unigrams (for `slor` alone) are in nats, and sums over `n_tokens`.
    """
    if by == "slor":
        assert unigrams is not None
        return (logprobs - unigrams) / n_tokens
    if by == "penlp":
        return logprobs / ((5 + n_tokens) / (5 + 1)) ** 0.8
    alpha = 1.0 if by in {"tokens", *LENGTHS} else float(by.removeprefix("alpha="))
    return logprobs / n_tokens**alpha


class ScoredSentences:
    """Distinct sentences with the log-probabilities of their words.

    Args:
        table: One row per sentence: `sentence`, `seen` (its words as the model sees them), `logprob` (nats,
            float64), `words` (nats, float32, one per word of `seen`); where single symbols were asked for,
            `right` and `wrong` (nats, float64, one per word); where the model leaves first tokens unscored,
            these as `unscored`.
        too_long: Sentences that were not scored, because the model does not read so far.
        by: What log-probabilities are normalised by (`tseval.questions.scored`); None for nothing. The
            table then holds `n_tokens`, or a length of the text, and for `slor` `unigram_logprob`.
        region_length: What the surprisals of continuations are divided by, one of `LENGTHS`; None for
            nothing.
        unknown: How the model shows unknown words, and what happens to half-known pairs; by default as usual,
            and they are undecidable.
    """

    def __init__(
        self,
        table: pa.Table,
        too_long: pa.StringArray | None = None,
        by: str | None = None,
        region_length: str | None = None,
        unknown: Unknown | None = None,
    ) -> None:
        self.table = table
        self.by = by if region_length is None else None
        self.region_length = region_length
        unknown = unknown or Unknown()
        self.compares_half_known = unknown.rule == "score"
        self.unknown_words = UnknownWords(table, unknown)
        self.too_long = pa.array([], pa.string()) if too_long is None else too_long

    def check_finite(self) -> None:
        """Refuse scores that are infinite or not a number: comparing them would decide nothing."""
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
        """Return the row of each sentence, -1 for one that was too long, (sentences,)."""
        # One look-up for a whole suite: each would index all scored sentences anew.
        rows = pc.index_in(sentences, value_set=self.table["sentence"])
        known = pc.is_in(sentences.filter(rows.is_null()), value_set=self.too_long)
        assert pc.all(known, min_count=0).as_py(), "a sentence of the suite was not scored"
        return rows.fill_null(-1).to_numpy().astype(np.int64)

    @cached_property
    def sums(self) -> Sums:
        """Log-probability of each sentence, in nats, normalised if that is asked for, (sentences,)."""
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
        """A number for each sentence, equal for those that look alike to the model, (sentences,)."""
        if self.table["seen"].equals(self.table["sentence"]):  # which are distinct
            return np.arange(len(self.table))
        return cast("Rows", self.table["seen"].combine_chunks().dictionary_encode().indices.to_numpy())

    def begin_apart(self, *rows: Rows) -> NDArray[np.bool_]:
        """Tell where sentences begin with different tokens that nothing says the probability of, (items,).

        Whatever counts their first words cannot be compared then. Rows are those of each label, (items,).
        """
        if "unscored" not in self.table.column_names:
            return np.zeros(len(rows[0]), dtype=np.bool_)
        first, *others = (self.table["unscored"].to_numpy()[label] for label in rows)
        apart = np.zeros(len(first), dtype=np.bool_)
        for other in others:
            apart |= first != other
        return apart

    @cached_property
    def words(self) -> WordScores:
        """The log-probabilities of single words."""
        return WordScores(self.table)

    def inside(self, rows: Rows, positions: Rows) -> tuple[Sums, Sums]:
        """Return what was answered before words of sentences: the right symbols and the wrong ones.

        Rows are those of the sentences, positions how many words stand before the place, (asks,) each.
        """
        lengths = pc.list_value_length(self.table["words"]).to_numpy()
        at = (np.cumsum(lengths) - lengths)[rows] + positions
        right, wrong = (pc.list_flatten(self.table[name]).to_numpy()[at] for name in ("right", "wrong"))
        return right, wrong


class WordScores:
    """The words of all scored sentences end to end, with where each sentence starts."""

    def __init__(self, table: pa.Table) -> None:
        split = pc.split_pattern(table["seen"].combine_chunks(), " ")
        self.unfinished = unfinished_words(table)
        words = split.flatten()
        if self.unfinished.any():  # what is seen of such a word depends on the words beside it
            texts = pc.utf8_split_whitespace(table["sentence"].combine_chunks()).flatten()
            words = pc.if_else(pa.array(self._shares_piece()), texts, words)
        self.ids = words.dictionary_encode().indices.to_numpy()
        self.logprobs = pc.list_flatten(table["words"]).to_numpy()
        assert len(self.ids) == len(self.logprobs), "log-probabilities do not align with the words seen"
        self.sentences, self.texts = table["seen"], table["sentence"]
        self.totals = table["logprob"].to_numpy()
        self.lengths = pc.list_value_length(split).to_numpy()
        self.starts = np.cumsum(self.lengths) - self.lengths

    def critical(self, better: Rows, worse: Rows, decidable: NDArray[np.bool_]) -> tuple[Sums, Sums]:
        """Score the first word at which each pair differs, (pairs,); not a number where none does."""
        scores = np.full((2, len(better)), np.nan)
        pairs = np.flatnonzero(decidable)
        position = 0
        while len(pairs):  # one turn per word position; pairs that have differed drop out
            b, w = better[pairs], worse[pairs]
            ended = position >= np.minimum(self.lengths[b], self.lengths[w])
            if ended.any():
                first = int(np.flatnonzero(ended)[0])
                raise SuiteError(
                    f"{self.sentences[int(b[first])].as_py()!r} and "
                    f"{self.sentences[int(w[first])].as_py()!r} have no critical word (first different "
                    "word), because one sentence is the beginning of the other.\n"
                    "  To compare whole sentences, write --score sentence."
                )
            at_b, at_w = self.starts[b] + position, self.starts[w] + position
            differ = self.ids[at_b] != self.ids[at_w]
            scores[0, pairs[differ]] = self.logprobs[at_b[differ]]
            scores[1, pairs[differ]] = self.logprobs[at_w[differ]]
            shared = self._shares_piece()
            for pair in pairs[differ & (shared[at_b] | shared[at_w])].tolist():
                scores[:, pair] = self._from_common_piece(int(better[pair]), int(worse[pair]), position)
            pairs, position = pairs[~differ], position + 1
        return scores[0], scores[1]

    def _shares_piece(self) -> NDArray[np.bool_]:
        """Tell which words have a piece in common with the word before or behind them, (words,)."""
        # No last word of a sentence is unfinished.
        shared: NDArray[np.bool_] = self.unfinished | np.append(False, self.unfinished[:-1])
        return shared

    def _from_common_piece(self, better: int, worse: int, position: int) -> tuple[float, float]:
        """Score the word at a position with the pieces that hold a letter of it, and all that they hold.

        Where such a piece also holds a part of a later word nothing says the probability: not a number.
        """
        starts = [int(self.starts[row]) for row in (better, worse)]
        if any(self.unfinished[start + position] for start in starts):
            return np.nan, np.nan
        first = position
        while first and any(self.unfinished[start + first - 1] for start in starts):
            first -= 1
        one, other = (
            float(self.logprobs[start + first : start + position + 1].astype(np.float64).sum())
            for start in starts
        )
        return one, other

    def ending(self, rows: Rows, length: Rows) -> Sums:
        """Sum the log-probabilities of the last words of sentences, in float64, (sentences,).

        Not a number where a piece holds letters of the ending and of what is before it; so for all stretches.
        """
        wrong = np.flatnonzero((length < 1) | (length > self.lengths[rows]))
        if len(wrong):
            sentence = self.sentences[int(rows[wrong[0]])].as_py()
            raise SuiteError(
                f"the feature `ending` of {sentence!r} is {length[wrong[0]]}, but it must be the number of "
                "words at the end to compare.\n"
                "  Write a whole number from 1 to the number of words in the sentence."
            )
        return self._sums(self.starts[rows] + self.lengths[rows] - length, length)

    def lengths_within(self, rows: Rows, before: Rows, lengths: Rows, unit: str) -> Rows:
        """Count the characters or bytes of a stretch of words, as `sums_within` takes it, (sentences,)."""
        found = []
        for row, start, length in zip(rows.tolist(), before.tolist(), lengths.tolist(), strict=True):
            text = str(self.texts[row].as_py())
            spans = [one.span() for one in re.finditer(r"\S+", text)]
            stretch = text[spans[start][0] : spans[start + length - 1][1]] if length else ""
            found.append(text_length(without_boundaries(stretch), unit))
        return np.maximum(np.array(found, dtype=np.int64), 1)

    def sums_within(self, rows: Rows, before: Rows, lengths: Rows) -> Sums:
        """Sum a stretch of words of sentences, behind so many `before` it, in float64, (sentences,)."""
        return self._sums(self.starts[rows] + before, lengths)

    def within(self, rows: Rows, before: Rows, lengths: Rows) -> list[NDArray[np.float64]]:
        """Return the log-probabilities of a stretch of words, as `sums_within` takes it, (words,) each."""
        spans = zip(self.starts[rows] + before, lengths, strict=True)
        found = [self.logprobs[start : start + length].astype(np.float64) for start, length in spans]
        if not self.unfinished.any():
            return found
        starts, shared = (self.starts[rows] + before).tolist(), self._shares_piece()
        for start, values in zip(starts, found, strict=True):
            values[shared[start : start + len(values)]] = np.nan
        return found

    def _sums(self, starts: Rows, lengths: Rows) -> Sums:
        """Sum runs of words; an empty run is 0."""
        # Differences of one running sum would be quicker, but equal runs must have equal sums.
        spans = np.stack((starts, starts + lengths), axis=1).ravel()
        sums = np.add.reduceat(np.append(self.logprobs.astype(np.float64), 0.0), spans)[::2]
        sums = np.where(lengths == 0, 0.0, sums)
        if self.unfinished.any():
            ends = np.append(False, self.unfinished)
            sums[(lengths > 0) & (ends[starts] | ends[starts + lengths])] = np.nan
        return sums


def text_length(text: str, unit: str) -> int:
    """Count the characters of a text, code points of Unicode, or its bytes in UTF-8."""
    return len(text) if unit == "characters" else len(text.encode())


def unfinished_words(table: pa.Table) -> NDArray[np.bool_]:
    """Tell which words of all sentences, end to end, end inside a piece of a later word, (words,).

    Such a word has no probability of its own, and no more has the next.
    """
    seen = pc.split_pattern(table["seen"].combine_chunks(), " ").flatten()
    if not pc.any(pc.ends_with(seen, UNFINISHED), min_count=0).as_py():
        return np.zeros(len(seen), dtype=np.bool_)
    texts = pc.utf8_split_whitespace(table["sentence"].combine_chunks()).flatten()
    if len(texts) != len(seen):  # an adapter that shows other words than there are
        return np.zeros(len(seen), dtype=np.bool_)
    marked = pc.and_not(pc.ends_with(seen, UNFINISHED), pc.ends_with(texts, UNFINISHED))
    return cast("NDArray[np.bool_]", marked.to_numpy(zero_copy_only=False))
