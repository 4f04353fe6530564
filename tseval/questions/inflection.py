"""Inflection: how many verbs does a model put into the right form after a context, and how likely?

A minimal pair tests only the verb that its author chose. Here every lemma l of a list has a right form r and
a wrong form w after a context c, and there are two measures:

    EW(c) = share of the lemmas with p(r | c) > p(w | c)               each lemma counts once
    MW(c) = Σ_l p(r | c) / Σ_l [p(r | c) + p(w | c)]                   each counts by its probability

EW is the share of verbs that the model inflects by the rule (systematicity). MW is the share of right verbs
among those that one would sample from the model (likely behaviour).

Both can be restricted to the most likely forms, those in the first m of the probability mass of the
vocabulary, or to the least likely ones. The cut-off falls on one entry of the vocabulary. The score mixes
those without and with this entry, by the part of its probability inside the cut-off.

Source: Newman, Ang, Gong & Hewitt 2021, "Refining Targeted Syntactic Evaluation of Language Models", NAACL;
for cuts, their program (bnewm0609/refining-tse). Departure: forms are words, which may have several pieces;
the sums are float64.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tseval.errors import SuiteError
from tseval.questions.columns import hash_column
from tseval.questions.question import Decided, Question

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tseval.questions.question import RowsByLabel
    from tseval.questions.scored import ScoredSentences
    from tseval.questions.scores import Score

    Values = NDArray[np.float64]
    Mask = NDArray[np.bool_]


WORDS_BEFORE = "context"  # the only label, and a feature of every verdict: the words before the verb
NUMBER, SINGULAR = "number", "sing"
PUBLISHED = "published verb"  # the contrast, for tables
# Features of a verdict: both measures over all lemmas that the model knows, and the number of these lemmas.
EW, MW, N_LEMMAS = "ew", "mw", "n_lemmas"
CONTEXTS_AT_ONCE = 512  # contexts whose forms are compared together: about 30 MB for 3,000 forms


@dataclass(frozen=True, slots=True)
class Lemmas:
    """Verbs in two forms, as indices of distinct words.

    Attributes:
        words: Distinct forms, in the order of the list.
        places: For each lemma, the indices of its singular and its plural form, (lemmas, 2).
    """

    words: tuple[str, ...]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> Lemmas:
        """Assign an index to each distinct form of verbs, given as pairs of singular and plural."""
        words = tuple(dict.fromkeys(form for pair in pairs for form in pair))
        place = {word: index for index, word in enumerate(words)}
        places = np.array([[place[form] for form in pair] for pair in pairs], dtype=np.int64).reshape(-1, 2)
        return cls(words, places)


@dataclass(frozen=True, slots=True)
class RightAndWrong:
    """Numbers or truth values of the right and the wrong forms of lemmas, (contexts, lemmas)."""

    right: NDArray[Any]
    wrong: NDArray[Any]

    @classmethod
    def of(cls, values: Values, places: NDArray[np.int64], singular: Mask) -> RightAndWrong:
        """Split the numbers of words, (contexts, words); `singular` is true if the singular is right."""
        sing, plur = values[:, places[:, 0]], values[:, places[:, 1]]
        is_singular = singular[:, None]
        return cls(np.where(is_singular, sing, plur), np.where(is_singular, plur, sing))


def probabilities(logprobs: RightAndWrong) -> RightAndWrong:
    """Return probabilities divided by the largest of each context, so that none underflows."""
    top = np.maximum(logprobs.right.max(axis=1), logprobs.wrong.max(axis=1))[:, None]
    return RightAndWrong(np.exp(logprobs.right - top), np.exp(logprobs.wrong - top))


def equal_votes(logprobs: RightAndWrong) -> Values:
    """Return EW of each context, (contexts,); a tie is wrong."""
    votes: Values = (logprobs.right > logprobs.wrong).mean(axis=1)
    return votes


def weighted_votes(logprobs: RightAndWrong) -> Values:
    """Return MW of each context, (contexts,)."""
    mass = probabilities(logprobs)
    right = mass.right.sum(axis=1)
    votes: Values = right / (right + mass.wrong.sum(axis=1))
    return votes


def at_mass(
    logprobs: RightAndWrong, before: RightAndWrong, mass: float, *, least: bool
) -> tuple[Values, Values]:
    """Return EW and MW of each context over a part of the probability mass; NaN if no form is in it.

    Over the most likely forms, EW counts a lemma if either form is within the mass, and MW counts each form
    within it. Over the least likely, both count a lemma if both its forms are within the mass.

    Args:
        logprobs: Log-probabilities of the forms, in nats.
        before: Total probability of all tokens that are more probable than a form.
        mass: From 0 to 1.
        least: Begin with the least likely entry of the vocabulary, not with the most likely one.
    """
    sizes = RightAndWrong(np.exp(logprobs.right), np.exp(logprobs.wrong))
    starts = before
    if least:
        starts = RightAndWrong(*(np.maximum(0.0, 1 - start - size) for start, size in _both(before, sizes)))
    ends = RightAndWrong(*(start + size for start, size in _both(starts, sizes)))
    full = mass >= 1  # then no form is cut off
    within = [RightAndWrong(*((end < mass) | full for end in (ends.right, ends.wrong))),
              RightAndWrong(*((start < mass) | full for start in (starts.right, starts.wrong)))]  # fmt: skip
    cut = [inside & ~outside for outside, inside in zip(*(_pair(part) for part in within), strict=True)]
    share = _share_of_cut(cut, _pair(starts), _pair(sizes), mass)
    is_right = logprobs.right > logprobs.wrong
    (first_ew, first_mw), (second_ew, second_mw) = (
        _scores_within(counted, sizes, is_right, least=least) for counted in within
    )
    return _mixed(first_ew, second_ew, share), _mixed(first_mw, second_mw, share)


def _pair(values: RightAndWrong) -> tuple[Any, Any]:
    return values.right, values.wrong


def _both(first: RightAndWrong, second: RightAndWrong) -> Iterator[tuple[Any, Any]]:
    return zip(_pair(first), _pair(second), strict=True)


def _share_of_cut(
    cut: Sequence[Mask], starts: Sequence[Values], sizes: Sequence[Values], mass: float
) -> Values:
    """Return the part of the form at the cut-off that is inside it, (contexts,); 0 if no form is there."""
    share = np.zeros(len(cut[0]))
    for is_cut, start, size in zip(cut, starts, sizes, strict=True):
        rows, columns = np.nonzero(is_cut)
        share[rows] = (mass - start[rows, columns]) / size[rows, columns]
    return np.clip(share, 0.0, 1.0)


def _scores_within(
    counted: RightAndWrong, sizes: RightAndWrong, is_right: Mask, *, least: bool
) -> tuple[Values, Values]:
    """Return EW and MW over the counted forms; NaN if there are none."""
    lemmas = (counted.right & counted.wrong) if least else (counted.right | counted.wrong)
    right, wrong = (lemmas, lemmas) if least else _pair(counted)
    with np.errstate(invalid="ignore", divide="ignore"):
        votes = (is_right & lemmas).sum(axis=1) / lemmas.sum(axis=1)
        mass_right = np.where(right, sizes.right, 0.0).sum(axis=1)
        mass_wrong = np.where(wrong, sizes.wrong, 0.0).sum(axis=1)
        return votes, mass_right / (mass_right + mass_wrong)


def _mixed(without: Values, with_cut: Values, share: Values) -> Values:
    """Mix the scores without and with the form at the cut-off; if one has no forms, return the other."""
    first = np.where(np.isnan(without), with_cut, without)
    second = np.where(np.isnan(with_cut), without, with_cut)
    mixed: Values = (1 - share) * first + share * second
    return mixed


@dataclass(frozen=True, slots=True)
class AskedForms:
    """Words to score after every sentence of a suite."""

    words: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]  # two forms to compare; every word is in a pair

    def take(self, rows: Sequence[int]) -> AskedForms:
        """Return the words of some of the sentences: the same."""
        return self


@dataclass(frozen=True, slots=True)
class Inflection(Question):
    """All verbs of a list after the context of every item; the only label is the words before the verb.

    A verdict is about the published verb: right if its right form is more probable than its wrong one. It
    also has EW and MW of the context. The feature `number` names the right form of the other verbs. If it is
    empty, the item is undecidable.
    """

    pairs: tuple[tuple[str, str], ...]  # forms of all lemmas, the singular one first
    right: pa.StringArray  # right form of the published verb, (items,)
    wrong: pa.StringArray  # its wrong form, (items,)

    def refusal(self, score: Score, features: pa.Table) -> str | None:
        """Return an error text for every score but `inflection`."""
        if score == "inflection":
            return None
        return (
            f"compares all verbs of a list after the same words, so --score {score} is not possible.\n"
            "  Leave out --score."
        )

    def n_verdicts(self, n_items: int) -> int:
        """Count one verdict for each item."""
        return n_items

    def decide(
        self, scored: ScoredSentences, rows: RowsByLabel, features: pa.Table, score: Score
    ) -> Iterator[Decided]:
        """Compare the published verb of each item, and all verbs of the list once for each context."""
        lemmas, words = Lemmas.of(self.pairs), scored.asked_words
        place = {word: index for index, word in enumerate(words)}
        right, wrong = (
            np.array([place[str(form)] for form in column.to_pylist()], dtype=np.int64)
            for column in (self.right, self.wrong)
        )
        (of_item,) = rows.values()
        numbers = features[NUMBER].to_pylist()
        singular = np.array([number == SINGULAR for number in numbers], dtype=np.bool_)
        numberless = np.array([not number for number in numbers], dtype=np.bool_)
        better, worse, votes, mass = np.full((4, len(of_item)), np.nan)
        keys, first, of_key = np.unique(
            np.stack((of_item, singular), axis=1), axis=0, return_index=True, return_inverse=True
        )
        of_key = of_key.reshape(-1)
        is_known = scored.forms.known()[lemmas.places].all(axis=1)
        order = np.argsort(of_key, kind="stable")
        for start in range(0, len(keys), CONTEXTS_AT_ONCE):
            chunk = slice(start, min(start + CONTEXTS_AT_ONCE, len(keys)))
            values = scored.forms.logprobs(keys[chunk, 0])
            items = order[slice(*np.searchsorted(of_key[order], [chunk.start, chunk.stop]).tolist())]
            row = of_key[items] - start
            better[items], worse[items] = values[row, right[items]], values[row, wrong[items]]
            if is_known.any():
                compared = RightAndWrong.of(values, lemmas.places[is_known], singular[first[chunk]])
                votes[items], mass[items] = equal_votes(compared)[row], weighted_votes(compared)[row]
        better[numberless], worse[numberless], votes[numberless], mass[numberless] = (np.nan,) * 4
        unknown = np.isnan(better) | np.isnan(worse)
        yield Decided(
            PUBLISHED, better, worse, better > worse, unknown,
            features=pa.table({
                EW: pa.array(votes, from_pandas=True), MW: pa.array(mass, from_pandas=True),
                N_LEMMAS: pa.array(np.full(len(of_item), int(is_known.sum())), pa.int64()),
            }),
            half_known=np.isnan(better) != np.isnan(worse),
        )  # fmt: skip

    def describe(self) -> list[list[str]]:
        """Return the name of the contrast."""
        return [[PUBLISHED]]

    def hash_into(self, digest: hashlib._Hash) -> None:
        """Add the list of verbs, and the published verb of every item."""
        digest.update(json.dumps(self.pairs).encode())
        for column in (self.right, self.wrong):
            hash_column(digest, column)

    def feature_types(self) -> list[pa.Field[Any]]:
        """Return the types of the measures of a verdict."""
        return [pa.field(EW, pa.float64()), pa.field(MW, pa.float64()), pa.field(N_LEMMAS, pa.int64())]

    def take(self, rows: pa.Int64Array) -> Inflection:
        """Return the question for some of the items."""
        return replace(self, right=self.right.take(rows), wrong=self.wrong.take(rows))


def asked_forms(questions: Sequence[Question]) -> AskedForms | None:
    """Return all words that inflection questions compare, or None if there are no such questions.

    Words of the list come first, then published verbs outside the list, in alphabetical order.
    """
    inflections = [question for question in questions if isinstance(question, Inflection)]
    if not inflections:
        return None
    if len(inflections) < len(questions) or len({question.pairs for question in inflections}) > 1:
        raise SuiteError(
            "the cases of this suite compare different verbs. Score each case alone: --case NAME"
        )
    words, pairs = Lemmas.of(inflections[0].pairs).words, inflections[0].pairs
    published = {
        (str(right), str(wrong))
        for question in inflections
        for right, wrong in zip(question.right.to_pylist(), question.wrong.to_pylist(), strict=True)
    }
    extra_forms = sorted({form for pair in published for form in pair} - set(words))
    return AskedForms((*words, *extra_forms), (*pairs, *sorted(published)))
