"""EW and MW of the rows of a table, with intervals for other subjects and other verbs.

Both are means over contexts and over lemmas. Contexts share nouns, and all contexts share the lemmas, so
there are two crossed random factors. Let V_S be the variance of the mean over contexts, clustered by their
words (`Design.spread`), and V_L the variance over lemmas:

    V = V_S + V_L,    V_L = Σ_l (ψ_l / (1 - h_l))²

h_l is the weight of a lemma in the score: the mean over contexts of 1 / L (EW) or of the lemma's share of the
probability (MW). ψ_l is the influence of the lemma on the score: the mean over contexts of its weight times
its distance from the score. A few verbs, such as *is*, have most of the probability. So the degrees of
freedom are not L - 1 but 1 / Σ h² - 1, the number of lemmas with equal weights that would count as much; or
those of V_S if they are fewer. The part that both factors share is not subtracted, so intervals are a little
too wide rather than too narrow.

Source: Cameron, Gelbach & Miller 2011, "Robust inference with multiway clustering", JBES 29(2); for leaving
out the common part, Davezies, D'Haultfoeuille & Guyonvarch 2021, "Empirical process results for exchangeable
arrays", Annals of Statistics 49(2), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.analysis.design import Design, Factors
from tseval.analysis.estimates import Average, in_columns, worth
from tseval.analysis.intervals import quantile, score_interval
from tseval.errors import RunError, shortened
from tseval.questions.inflection import (
    CONTEXTS_AT_ONCE,
    EW,
    MW,
    NUMBER,
    SINGULAR,
    WORDS_BEFORE,
    Lemmas,
    RightAndWrong,
    at_mass,
    equal_votes,
    probabilities,
    weighted_votes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from tseval.questions.context_forms import ContextForms

    Values = NDArray[np.float64]


# The measures in tables.
MEASURES = (EW, MW)
INFLECTED = tuple(f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high", "_se"))


@dataclass(frozen=True, slots=True)
class InflectedContexts:
    """The distinct contexts of each row of a table, with the log-probabilities of all lemmas after them.

    Attributes:
        row: The row of the table for each context, counted from 0, (contexts,).
        place: Its row among the scored sentences, (contexts,).
        singular: Whether the singular form is right, (contexts,).
        factors: Lexicon entries of its words, (contexts, factors), without those of the published verb.
        forms: The model's log-probabilities of forms after all contexts.
        lemmas: Places of the two forms of all lemmas that the model knows, (lemmas, 2).
        listed: The places of these lemmas in the list, (lemmas,).
    """

    row: NDArray[np.int64]
    place: NDArray[np.int64]
    singular: NDArray[np.bool_]
    factors: Factors
    forms: ContextForms
    lemmas: NDArray[np.int64]
    listed: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        verdicts: pd.DataFrame,
        rows: NDArray[np.int64],
        forms: ContextForms,
        pairs: Sequence[tuple[str, str]],
    ) -> InflectedContexts:
        """Find the contexts of verdicts; `rows` has the row of the table for each verdict, (verdicts,)."""
        lemmas = Lemmas.of(pairs)
        places = forms.find(verdicts[WORDS_BEFORE].tolist())
        singular = (verdicts[NUMBER] == SINGULAR).to_numpy(bool)
        was_scored = (places >= 0) & (verdicts[NUMBER] != "").to_numpy(bool)
        keys = np.stack((rows, places, singular), axis=1)[was_scored]
        distinct, first, of_key = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        factors = _of_contexts(Factors.of_verdicts(verdicts).take(was_scored), of_key.reshape(-1), first)
        is_known = forms.known()[lemmas.places].all(axis=1)
        return cls(
            row=distinct[:, 0].astype(np.int64),
            place=distinct[:, 1].astype(np.int64),
            singular=distinct[:, 2].astype(bool),
            factors=factors,
            forms=forms,
            lemmas=lemmas.places[is_known],
            listed=np.flatnonzero(is_known),
        )

    def tiles(self) -> Iterator[tuple[slice, RightAndWrong]]:
        """Yield the log-probabilities of right and wrong forms, for some contexts at a time."""
        for tile in self._slices():
            yield tile, self._parted(self.forms.logprobs(self.place[tile]), tile)

    def tiles_with_masses(self) -> Iterator[tuple[slice, RightAndWrong, RightAndWrong]]:
        """Yield the same, and the probability of all tokens that are more probable than each form."""
        for tile in self._slices():
            numbers = self.forms.logprobs(self.place[tile]), self.forms.before(self.place[tile])
            yield tile, *(self._parted(values, tile) for values in numbers)  # type: ignore[misc]

    def _slices(self) -> Iterator[slice]:
        for start in range(0, len(self.row), CONTEXTS_AT_ONCE):
            yield slice(start, start + CONTEXTS_AT_ONCE)

    def _parted(self, values: Values, here: slice) -> RightAndWrong:
        return RightAndWrong.of(values, self.lemmas, self.singular[here])


def _of_contexts(factors: Factors, context: NDArray[np.int64], first: NDArray[np.int64]) -> Factors:
    """Keep the factors with one entry per context; those of the published verb have several."""
    n_contexts = len(first)
    constant = [
        place
        for place in range(len(factors.names))
        if len(np.unique(np.stack((context, factors.codes[:, place]), axis=1), axis=0)) == n_contexts
    ]
    return factors.keep(constant).take(first)


@dataclass(frozen=True, slots=True)
class Votes:
    """Scores of contexts, and the influence of each lemma on the score of each row.

    Attributes:
        values: Score of each context, (contexts,).
        moved: The influence of each lemma on the sum over the contexts of a row, (rows, lemmas).
        weights: The weight of each lemma in that sum, (rows, lemmas).
    """

    values: Values
    moved: Values
    weights: Values


def count_votes(contexts: InflectedContexts) -> dict[str, Votes]:
    """Score all contexts by EW and MW, with the influence of each lemma."""
    n_rows, n_lemmas = int(contexts.row.max(initial=-1)) + 1, len(contexts.lemmas)
    values = {name: np.full(len(contexts.row), np.nan) for name in MEASURES}
    moved, weights = ({name: np.zeros((n_rows, n_lemmas)) for name in MEASURES} for _ in range(2))
    for tile, logprobs in contexts.tiles() if n_lemmas else ():
        values[EW][tile], values[MW][tile] = equal_votes(logprobs), weighted_votes(logprobs)
        mass = probabilities(logprobs)
        total = (mass.right + mass.wrong).sum(axis=1, keepdims=True)
        shares = (mass.right + mass.wrong) / total
        equal = ((logprobs.right > logprobs.wrong) - values[EW][tile, None]) / n_lemmas
        for name, part, weight in (
            (EW, equal, np.full_like(shares, 1 / n_lemmas)),
            (MW, mass.right / total - values[MW][tile, None] * shares, shares),
        ):
            np.add.at(moved[name], contexts.row[tile], part)
            np.add.at(weights[name], contexts.row[tile], weight)
    return {name: Votes(values[name], moved[name], weights[name]) for name in MEASURES}


def estimate_votes(contexts: InflectedContexts, votes: Votes, rows: Sequence[int]) -> Average | None:
    """Estimate the mean over rows of the scores of their contexts; each row counts once.

    Returns:
        None if no context was scored, or if the model knows no lemma.
    """
    is_inside = np.isin(contexts.row, rows) & ~np.isnan(votes.values)
    if not is_inside.any():
        return None
    values = votes.values[is_inside, None]
    design = Design.of(contexts.factors.take(is_inside), contexts.row[is_inside])
    spread, value = design.spread(values), float(design.means(values)[0])
    present = [row for row in rows if (contexts.row[is_inside] == row).any()]
    sizes = np.array([(contexts.row[is_inside] == row).sum() for row in present])
    moved, weights = ((sums[present] / sizes[:, None]).mean(axis=0) for sums in (votes.moved, votes.weights))
    of_lemmas, df = _of_lemmas(moved, weights)
    variance = float(spread.variances[0]) + of_lemmas
    df = min(df, spread.df)
    value = min(1.0, max(0.0, value))
    low, high = score_interval(value, worth(values, variance, design), quantile(df))
    return Average(
        value, float(np.sqrt(variance)), low, high, df, len(values),
        {**design.clusters, "lemma": len(moved)}, design.fixed,
    )  # fmt: skip


def _of_lemmas(moved: Values, weights: Values) -> tuple[float, float]:
    """Return the variance over lemmas and its degrees of freedom, few if few lemmas have most weight."""
    if len(moved) == 1:  # nothing shows how lemmas vary
        return 0.0, 1.0
    variance = float(((moved / np.maximum(1 - weights, 1 / len(moved))) ** 2).sum())
    return variance, max(1 / float((weights**2).sum()) - 1, 1.0)


def with_inflection(rows: pd.DataFrame, contexts: InflectedContexts) -> pd.DataFrame:
    """Add EW and MW to the rows of a table, with their intervals, and the number of lemmas."""
    votes = count_votes(contexts)
    for name in MEASURES:
        averages = [estimate_votes(contexts, votes[name], [row]) for row in range(len(rows))]
        table = in_columns(averages, ("value", "low", "high", "se", "clusters", "fixed"), rows.index)
        columns = [name, f"{name}_low", f"{name}_high", f"{name}_se"]
        rows = rows.join(table[["value", "low", "high", "se"]].set_axis(columns, axis=1))
    return rows.assign(n_lemmas=len(contexts.lemmas))


def scores_at_mass(contexts: InflectedContexts, mass: float, *, least: bool) -> dict[str, Values]:
    """Score contexts, (contexts,), over the most or the least likely part of the probability mass."""
    scores = {name: np.full(len(contexts.row), np.nan) for name in MEASURES}
    for tile, logprobs, before in contexts.tiles_with_masses():
        scores[EW][tile], scores[MW][tile] = at_mass(logprobs, before, mass, least=least)
    return scores


def shares_of_lemmas(contexts: InflectedContexts) -> tuple[Values, Values]:
    """Return the share of contexts in which each lemma is right, and its probability share, (lemmas,).

    Both are means over the rows of the table, each counted once.
    """
    n_rows = int(contexts.row.max(initial=-1)) + 1
    weights = 1 / (len(np.unique(contexts.row)) * np.bincount(contexts.row, minlength=n_rows)[contexts.row])
    right, shares = np.zeros((2, len(contexts.lemmas)))
    for tile, logprobs in contexts.tiles() if len(contexts.lemmas) else ():
        mass = probabilities(logprobs)
        masses = mass.right + mass.wrong
        right += weights[tile] @ (logprobs.right > logprobs.wrong)
        shares += weights[tile] @ (masses / masses.sum(axis=1, keepdims=True))
    return right, shares


def compared_verbs(lexicon: Sequence[str]) -> list[tuple[str, str, int]]:
    """Parse the verbs in a manifest: singular form, plural form, count.

    Raises:
        RunError: A row does not have this form.
    """
    verbs = []
    for row in lexicon:
        sing, plur, count = [*row.split(" "), "", ""][:3]
        if row.count(" ") != 2 or not (sing and plur and count.isascii() and count.isdigit()):
            raise RunError(
                f"the list of verbs in the manifest has {shortened(repr(row))}, not a singular form, "
                "a plural form and a count.\n  Score the model again, or leave out this run."
            )
        verbs.append((sing, plur, int(count)))
    return verbs
