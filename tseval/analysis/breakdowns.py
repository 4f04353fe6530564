"""Accuracy as papers break it down: attractors, confidence word by word, formal languages.

Source: Bhatt et al. 2020, Figures 2 and 3 and Table 2; numbers of nouns between subject and verb, and of
attractors among them, are defined by Linzen et al. 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from tseval.analysis.comparisons import count_clustered, marks, seed_means
from tseval.analysis.counts import COUNTS, ESTIMATED
from tseval.analysis.design import Design, Factors
from tseval.analysis.differences import average
from tseval.analysis.estimates import estimate, in_columns
from tseval.analysis.features import require_features
from tseval.errors import RunError, SuiteError
from tseval.items import POSITION, WORD

if TYPE_CHECKING:
    from collections.abc import Sequence


N, ATTRACTORS, OTHERS = "n_intervening", "n_attractors", "n_non_attractors"
_FIX = "Use a suite with this feature: agreement, or a file from tseval data agreement."


def joint_grid(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Count verdicts for every number of intervening nouns and of attractors among them.

    A row for every n up to the largest there is and every k from 0 to n, without items too, in the columns of
    `count_clustered`. Items that do not say how many are left out.
    """
    known = _known(verdicts)
    cells = [(n, k) for n in range(int(known[N].max()) + 1) for k in range(n + 1)]
    return _count(known, [N, ATTRACTORS], cells)


def by_non_attractors(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Count verdicts for every number of intervening nouns that are no attractors, up to the largest."""
    known = _known(verdicts)
    known = known.assign(**{OTHERS: known[N] - known[ATTRACTORS]})
    return _count(known, [OTHERS], [(n,) for n in range(int(known[OTHERS].max()) + 1)])


def _known(verdicts: pd.DataFrame) -> pd.DataFrame:
    require_features(verdicts, (N, ATTRACTORS), _FIX)
    return verdicts.dropna(subset=[N, ATTRACTORS])


def _count(verdicts: pd.DataFrame, by: list[str], cells: Sequence[tuple[int, ...]]) -> pd.DataFrame:
    counts = count_clustered(verdicts, by)
    counts.index = pd.MultiIndex.from_frame(counts.index.to_frame(index=False).astype("int64"))
    counts = counts.reindex(pd.MultiIndex.from_tuples(cells, names=by))
    return counts.fillna(dict.fromkeys(COUNTS, 0)).astype(dict.fromkeys(COUNTS, "int64")).reset_index()


VARIES = "varies"
_PROFILE_FIX = (
    "A profile needs a run of a suite's :profile (language models) or :number_profile (classifiers):\n"
    "  tseval run --model MODEL --suite agreement:profile --case pp"
)


def with_words(verdicts: pd.DataFrame, words: int) -> pd.DataFrame:
    """Keep the items of a profile with so many words before the verb, so that places mean the same in all."""
    require_features(verdicts, (POSITION, WORD), _PROFILE_FIX)
    lengths = verdicts.groupby(["case", "item"])[POSITION].transform("max").astype("int64")
    if not (lengths == words).any():
        known = ", ".join(map(str, sorted(lengths.unique())))
        raise SuiteError(
            f"no item has {words} words before the verb.\n"
            f"  Choose a number of words that items have: {known}."
        )
    return verdicts[lengths == words]


def profile(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Average the confidence in the correct answer, by case and number of words read.

    The confidence of one item is its share of the probability of both answers, the logistic function of
    `better_score - worse_score`. Undecidable verdicts are left out.

    Returns:
        One row per case and position, both in order: `n_items`, `confidence` (mean, 0 to 1), `word`, the
        word that the first item has there, and `varies`, whether others have another one.
    """
    require_features(verdicts, (POSITION, WORD), _PROFILE_FIX)
    decided = verdicts[~verdicts["undecidable"].astype(bool)]
    if decided.empty:
        raise SuiteError(
            "no item of these runs can be decided: neither of its two answers is in the model's vocabulary.\n"
            "  If the model is a language model, score it on SUITE:profile. If it is a "
            "classifier, score it on SUITE:number_profile."
        )
    confidence = expit((decided["better_score"] - decided["worse_score"]).astype("float64"))
    groups = decided.assign(confidence=confidence).groupby(["case", POSITION], sort=False)
    rows = groups.agg(
        n_items=("confidence", "size"),
        confidence=("confidence", "mean"),
        word=(WORD, "first"),
        varies=(WORD, "nunique"),
    ).reset_index()
    rows[VARIES] = rows[VARIES] > 1
    order = {case: place for place, case in enumerate(verdicts["case"].unique())}
    rows = rows.assign(order=rows["case"].map(order)).sort_values(["order", POSITION])
    return rows.drop(columns="order").astype({POSITION: "int64"}).reset_index(drop=True)


VERB = ["sentence", "verb_index"]
EQUAL = ["subj_index", "number", "n_attractors"]


def compare_examples(gold: pd.DataFrame, parsed: pd.DataFrame) -> pd.DataFrame:
    """Count what was found of the gold examples, and what of the found ones is right, by attractors.

    A verb is the same if its sentence and its position are. An example is equal if besides the subject's
    position, the number and the number of attractors are.

    Returns:
        A row for all examples (`n_attractors` missing) and one for each number of attractors, that of the
        gold tree for what is counted of gold examples, and of the parsed tree for parsed ones: counts, and
        for `verb` and for `equal` precision and recall with intervals, in which the examples of a
        sentence go together, and `f1_...`, their harmonic mean; missing where nothing can be counted.
    """
    gold, parsed = (frame[VERB + EQUAL].drop_duplicates(VERB) for frame in (gold, parsed))
    if not set(gold["sentence"]) & set(parsed["sentence"]):
        raise SuiteError(
            "the two tables have no sentence with exactly the same words, so there is nothing to "
            "compare.\n"
            "  Let the parser read the words of the gold treebank: tseval data parse TREEBANK.conllu -o "
            "FILE.conllu"
        )
    gold, parsed = _marked(gold, parsed), _marked(parsed, gold)
    kinds = sorted({*gold["n_attractors"], *parsed["n_attractors"]})
    rows = [_row(gold, parsed)]
    rows += [_row(*(frame[frame["n_attractors"] == kind] for frame in (gold, parsed))) for kind in kinds]
    attractors = pd.Series([None, *kinds], dtype="Int64", name="n_attractors")
    return pd.concat([attractors, pd.DataFrame(rows)], axis=1)


def _marked(own: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Say of each example whether the others have its verb, its verb with this number, and all of it."""
    both = own.merge(others, on=VERB, how="left", suffixes=("", "_there"))
    same = {name: (both[name] == both[f"{name}_there"]).to_numpy() for name in EQUAL}
    verb = both["number_there"].notna().to_numpy()
    return own.assign(verb=verb, same_number=same["number"], equal=np.all([*same.values()], axis=0))


def _row(gold: pd.DataFrame, parsed: pd.DataFrame) -> dict[str, int | float | None]:
    row: dict[str, int | float | None] = {
        "n_gold": len(gold),
        "n_parsed": len(parsed),
        "n_found": int(gold["verb"].sum()),
        "n_right": int(parsed["verb"].sum()),
        "n_same_number": int(gold["same_number"].sum()),
        "n_equal": int(gold["equal"].sum()),
    }
    for what in ("verb", "equal"):
        precision, recall = _share(parsed, what), _share(gold, what)
        for measure, values in (("precision", precision), ("recall", recall)):
            for end, value in zip(("", "_low", "_high"), values, strict=True):
                row[f"{measure}_{what}{end}"] = value
        row[f"f1_{what}"] = _harmonic(precision[0], recall[0])
    return row


def _share(examples: pd.DataFrame, what: str) -> tuple[float | None, float | None, float | None]:
    """Return the share of examples that are so, and the ends of its interval, clustered by sentence."""
    design = Design.of(Factors.of(examples[["sentence"]]))
    found = estimate(examples[what].to_numpy(bool), np.ones(len(examples), bool), design)
    return (None, None, None) if found is None else (found.value, found.low, found.high)


def _harmonic(precision: float | None, recall: float | None) -> float | None:
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@dataclass(frozen=True, slots=True)
class Measure:
    """What a paper reports of a language, by a feature.

    `summary` makes it one number: the mean of all rows, each counted once; the largest of them; or the share
    of all verdicts.
    """

    feature: str
    of: str
    quantity: Literal["accuracy", "error"]
    summary: Literal["mean", "largest", "all"]
    source: str


# By the beginning of the suite's name.
MEASURES = {
    "dyck": Measure("distance", "Distance", "accuracy", "mean", "Hewitt et al. 2020"),
    "generalised_dyck": Measure("attractors", "Attractors", "error", "largest", "Bernardy & Lappin 2022"),
    "cross_serial": Measure("m_plus_n", "m + n", "error", "all", "Bernardy & Lappin 2022"),
}


def measure_of(suite: str) -> Measure:
    """Find what is reported of a suite, by its name."""
    for name, measure in MEASURES.items():
        if suite.startswith(f"{name}_"):
            return measure
    raise RunError(
        f"these runs are on {suite}, which is not a formal language.\n"
        "  Score a model on a formal language, such as tseval run --suite 'dyck(k=4,m=3)', or print these "
        "runs with tseval table."
    )


def by_feature(verdicts: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Break the verdicts of a run down as the paper does: a row for every value of the feature, ascending.

    With `n_items`, `n_wrong`, then `value`, accuracy or error, and what `count_clustered` tells of it.
    """
    require_features(verdicts, (measure.feature,))
    rows = count_clustered(verdicts, [measure.feature]).reset_index()
    rows = rows.sort_values(measure.feature, ignore_index=True)
    found = rows[[measure.feature, "n_items"]].assign(
        n_wrong=rows["n_items"] - rows["n_correct"], value=rows["accuracy"]
    )
    found = found.join(rows[[*ESTIMATED[1:]]])
    if measure.quantity == "accuracy":
        return found
    return found.assign(value=found["n_wrong"] / found["n_items"], low=1 - rows["high"], high=1 - rows["low"])


def by_feature_of_seeds(seeds: Sequence[pd.DataFrame], measure: Measure) -> pd.DataFrame:
    """Break the verdicts of several seeds down as the paper does: means over seeds, for other seeds too."""
    require_features(seeds[0], (measure.feature,))
    found = seed_means({"": seeds}, (measure.feature,))
    rows = found.rows[[measure.feature]].join(found.of_rows[""]).rename(columns={"accuracy": "value"})
    rows = rows.sort_values(measure.feature, ignore_index=True)
    if measure.quantity == "accuracy":
        return rows
    return rows.assign(value=1 - rows["value"], low=1 - rows["high"], high=1 - rows["low"])


def headline(rows: pd.DataFrame, measure: Measure) -> float:
    """Make the rows of a run one number, the headline of the paper."""
    if measure.summary == "mean":
        return float(rows["value"].mean())
    if measure.summary == "largest":
        return float(rows["value"].max())
    return float(rows["n_wrong"].sum() / rows["n_items"].sum())


def headline_interval(verdicts: pd.DataFrame, measure: Measure) -> tuple[float, float] | None:
    """Compute the interval of the headline, for other strings drawn alike.

    None where it is the largest of several numbers, chosen for being so, and where no verdict counts.
    """
    require_features(verdicts, (measure.feature,))
    if measure.summary == "largest":
        return None
    correct, decidable = marks(verdicts)
    each = np.unique(verdicts[measure.feature].to_numpy(), return_inverse=True)[1]
    rows = each if measure.summary == "mean" else None
    found = estimate(correct, decidable, Design.of(Factors.of_verdicts(verdicts), rows))
    if found is None:
        return None
    return (found.low, found.high) if measure.quantity == "accuracy" else (1 - found.high, 1 - found.low)


def with_intervals(rows: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Add the ends of an interval to the mean confidences of a profile.

    The interval of the mean over items, clustered by lexicon entry and never narrower than Student's for
    items that are independent; cut to 0 and 1. Missing where there is one item only.
    """
    decided = verdicts[~verdicts["undecidable"].astype(bool)]
    gaps = (decided["better_score"] - decided["worse_score"]).to_numpy("float64")
    confidence, factors = expit(gaps), Factors.of_verdicts(decided)
    case, position = decided["case"].to_numpy(), decided[POSITION].to_numpy("int64")
    found = []
    for name, place in zip(rows["case"], rows[POSITION], strict=True):
        own = (case == name) & (position == place)
        found.append(average(confidence[own], Design.of(factors.take(own))))
    told = in_columns(found, ("low", "high", "se", "clusters", "fixed"), rows.index)
    return rows.join(told.assign(low=told["low"].clip(lower=0.0), high=told["high"].clip(upper=1.0)))
