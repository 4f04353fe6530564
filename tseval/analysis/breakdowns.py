"""Accuracy in the forms that papers report: by attractors, word by word, and for formal languages.

Source: Bhatt et al. 2020, Figures 2 and 3 and Table 2. Linzen et al. 2016 define the number of nouns between
subject and verb, and the number of attractors among them.
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

    Returns:
        A row for every n up to the largest and every k from 0 to n, also if it has no items. The columns
        are those of `count_clustered`. Items without these numbers are left out.
    """
    with_counts = _known(verdicts)
    cells = [(n, k) for n in range(int(with_counts[N].max()) + 1) for k in range(n + 1)]
    return _count(with_counts, [N, ATTRACTORS], cells)


def by_non_attractors(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Count verdicts for every number of intervening nouns that are no attractors, up to the largest."""
    with_counts = _known(verdicts)
    with_counts = with_counts.assign(**{OTHERS: with_counts[N] - with_counts[ATTRACTORS]})
    return _count(with_counts, [OTHERS], [(n,) for n in range(int(with_counts[OTHERS].max()) + 1)])


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
    """Keep the items of a profile that have this number of words before the verb."""
    require_features(verdicts, (POSITION, WORD), _PROFILE_FIX)
    lengths = verdicts.groupby(["case", "item"])[POSITION].transform("max").astype("int64")
    if not (lengths == words).any():
        choices = ", ".join(map(str, sorted(lengths.unique())))
        raise SuiteError(
            f"no item has {words} words before the verb.\n"
            f"  Choose a number of words that items have: {choices}."
        )
    return verdicts[lengths == words]


def profile(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Average the confidence in the correct answer, by case and number of words read.

    The confidence of one item is its share of the probability of both answers, the logistic function of
    `better_score - worse_score`. Undecidable verdicts are left out.

    Returns:
        One row per case and position, both in order: `n_items`, `confidence` (mean, 0 to 1), `word`, the
        word of the first item at this position, and `varies`, which is true if another item has another word.
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
    """Compare parsed examples with gold examples, by number of attractors.

    Two verbs are the same if their sentence and their position are equal. Two examples are equal if the
    position of the subject, the number and the number of attractors are equal too.

    Returns:
        A row for all examples (`n_attractors` missing) and one for each number of attractors. Gold examples
        are counted by the attractors of the gold tree, parsed examples by those of the parsed tree. Columns:
        counts, and for `verb` and `equal` precision and recall with intervals clustered by sentence, and
        `f1_...`, their harmonic mean. A value is missing if there is nothing to count.
    """
    gold, parsed = (frame[VERB + EQUAL].drop_duplicates(VERB) for frame in (gold, parsed))
    if not set(gold["sentence"]) & set(parsed["sentence"]):
        raise SuiteError(
            "no sentence has exactly the same words in both tables, so tseval cannot compare the tables.\n"
            "  Parse the gold treebank itself, so that the parser keeps its words: tseval data parse "
            "TREEBANK.conllu -o FILE.conllu\n"
            "  Then make the second table from this file: tseval data agreement FILE.conllu -o "
            "TABLE.parquet"
        )
    gold, parsed = _marked(gold, parsed), _marked(parsed, gold)
    kinds = sorted({*gold["n_attractors"], *parsed["n_attractors"]})
    rows = [_row(gold, parsed)]
    rows += [_row(*(frame[frame["n_attractors"] == kind] for frame in (gold, parsed))) for kind in kinds]
    attractors = pd.Series([None, *kinds], dtype="Int64", name="n_attractors")
    return pd.concat([attractors, pd.DataFrame(rows)], axis=1)


def _marked(own: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Mark the examples that the other table has: the verb, the verb with this number, and all fields."""
    merged = own.merge(others, on=VERB, how="left", suffixes=("", "_there"))
    is_same = {name: (merged[name] == merged[f"{name}_there"]).to_numpy() for name in EQUAL}
    verb = merged["number_there"].notna().to_numpy()
    return own.assign(verb=verb, same_number=is_same["number"], equal=np.all([*is_same.values()], axis=0))


def _row(gold: pd.DataFrame, parsed: pd.DataFrame) -> dict[str, int | float | None]:
    row: dict[str, int | float | None] = {
        "n_gold": len(gold),
        "n_parsed": len(parsed),
        "n_found": int(gold["verb"].sum()),
        "n_right": int(parsed["verb"].sum()),
        "n_same_number": int(gold["same_number"].sum()),
        "n_equal": int(gold["equal"].sum()),
    }
    for name in ("verb", "equal"):
        precision, recall = _share(parsed, name), _share(gold, name)
        for measure, values in (("precision", precision), ("recall", recall)):
            for end, value in zip(("", "_low", "_high"), values, strict=True):
                row[f"{measure}_{name}{end}"] = value
        row[f"f1_{name}"] = _harmonic(precision[0], recall[0])
    return row


def _share(examples: pd.DataFrame, what: str) -> tuple[float | None, float | None, float | None]:
    """Return the share of examples marked `what`, and its interval, clustered by sentence."""
    design = Design.of(Factors.of(examples[["sentence"]]))
    share = estimate(examples[what].to_numpy(bool), np.ones(len(examples), bool), design)
    return (None, None, None) if share is None else (share.value, share.low, share.high)


def _harmonic(precision: float | None, recall: float | None) -> float | None:
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@dataclass(frozen=True, slots=True)
class Measure:
    """The quantity that a paper reports for a formal language, by a feature.

    `summary` says how a run becomes one number: the mean of all rows, each counted once; the largest value;
    or the share of all verdicts.
    """

    feature: str
    of: str
    quantity: Literal["accuracy", "error"]
    summary: Literal["mean", "largest", "all"]
    source: str


# The keys are the beginnings of suite names.
MEASURES = {
    "dyck": Measure("distance", "Distance", "accuracy", "mean", "Hewitt et al. 2020"),
    "generalised_dyck": Measure("attractors", "Attractors", "error", "largest", "Bernardy & Lappin 2022"),
    "cross_serial": Measure("m_plus_n", "m + n", "error", "all", "Bernardy & Lappin 2022"),
}


def measure_of(suite: str) -> Measure:
    """Find the measure of a suite by the suite's name."""
    for name, measure in MEASURES.items():
        if suite.startswith(f"{name}_"):
            return measure
    raise RunError(
        f"these runs are on {suite}, which is not a formal language.\n"
        "  Score a model on a formal language, such as tseval run --suite 'dyck(k=4,m=3)', or print these "
        "runs with tseval table."
    )


def by_feature(verdicts: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    """Break down the verdicts of a run by the feature of the paper, with ascending values.

    Returns:
        A row for every value: the feature, `n_items`, `n_wrong`, `value` (accuracy or error), and the
        columns of `ESTIMATED` but the first.
    """
    require_features(verdicts, (measure.feature,))
    rows = count_clustered(verdicts, [measure.feature]).reset_index()
    rows = rows.sort_values(measure.feature, ignore_index=True)
    table = rows[[measure.feature, "n_items"]].assign(
        n_wrong=rows["n_items"] - rows["n_correct"], value=rows["accuracy"]
    )
    table = table.join(rows[[*ESTIMATED[1:]]])
    if measure.quantity == "accuracy":
        return table
    return table.assign(value=table["n_wrong"] / table["n_items"], low=1 - rows["high"], high=1 - rows["low"])


def by_feature_of_seeds(seeds: Sequence[pd.DataFrame], measure: Measure) -> pd.DataFrame:
    """Break down the mean over seeds by the feature of the paper; intervals cover other seeds too."""
    require_features(seeds[0], (measure.feature,))
    means = seed_means({"": seeds}, (measure.feature,))
    rows = means.rows[[measure.feature]].join(means.of_rows[""]).rename(columns={"accuracy": "value"})
    rows = rows.sort_values(measure.feature, ignore_index=True)
    if measure.quantity == "accuracy":
        return rows
    return rows.assign(value=1 - rows["value"], low=1 - rows["high"], high=1 - rows["low"])


def headline(rows: pd.DataFrame, measure: Measure) -> float:
    """Summarise the rows of a run in one number, the headline of the paper."""
    if measure.summary == "mean":
        return float(rows["value"].mean())
    if measure.summary == "largest":
        return float(rows["value"].max())
    return float(rows["n_wrong"].sum() / rows["n_items"].sum())


def headline_interval(verdicts: pd.DataFrame, measure: Measure) -> tuple[float, float] | None:
    """Compute the interval of the headline, for other strings drawn in the same way.

    Returns:
        None if the headline is the largest of several numbers, because it was chosen for its size. None too
        if no verdict is decidable.
    """
    require_features(verdicts, (measure.feature,))
    if measure.summary == "largest":
        return None
    correct, decidable = marks(verdicts)
    groups = np.unique(verdicts[measure.feature].to_numpy(), return_inverse=True)[1]
    rows = groups if measure.summary == "mean" else None
    result = estimate(correct, decidable, Design.of(Factors.of_verdicts(verdicts), rows))
    if result is None:
        return None
    return (result.low, result.high) if measure.quantity == "accuracy" else (1 - result.high, 1 - result.low)


def with_intervals(rows: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """Add the ends of an interval to the mean confidences of a profile.

    The interval is for the mean over items, clustered by lexicon entry. It is never narrower than
    Student's interval for independent items, and it is clipped to 0 and 1. It is missing for a single item.
    """
    decided = verdicts[~verdicts["undecidable"].astype(bool)]
    gaps = (decided["better_score"] - decided["worse_score"]).to_numpy("float64")
    confidence, factors = expit(gaps), Factors.of_verdicts(decided)
    case, position = decided["case"].to_numpy(), decided[POSITION].to_numpy("int64")
    averages = []
    for name, place in zip(rows["case"], rows[POSITION], strict=True):
        is_of_row = (case == name) & (position == place)
        averages.append(average(confidence[is_of_row], Design.of(factors.take(is_of_row))))
    columns = in_columns(averages, ("low", "high", "se", "clusters", "fixed"), rows.index)
    return rows.join(columns.assign(low=columns["low"].clip(lower=0.0), high=columns["high"].clip(upper=1.0)))
