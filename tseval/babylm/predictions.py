"""Predictions as the pipeline collects them, and its scores, from a run.

The first of several equal scores is chosen, as in the pipeline: where the right one is among them, a tie is
right. The verdicts of the run count it as wrong, as everywhere in tseval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy.stats import spearmanr

from tseval.babylm.tasks import BOX_SPLITS
from tseval.questions.regions import Region, Regions
from tseval.questions.scored import ScoredSentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from tseval.babylm.choices import Choice
    from tseval.babylm.tasks import LoadedTask
    from tseval.items import Case
    from tseval.runs import Run

    Answer = dict[str, str | float]


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What came out of a task.

    Attributes:
        predictions: Subset to its answers, as the pipeline writes them.
        measure: `accuracy`, or `spearman`: the rank correlation with what people chose.
        score: Mean over the subsets, or over the splits of entity tracking and the subsets in each; a
            correlation is over all items, and None where all numbers of one side are equal.
        subsets: Accuracy of each subset; none of a correlation.
        n_items: Number of items.
        n_tied: Of these, how many have another option as probable as the first, and none more probable.
    """

    predictions: Mapping[str, list[Answer]]
    measure: str
    score: float | None
    subsets: Mapping[str, float]
    n_items: int
    n_tied: int


def predict(loaded: LoadedTask, run: Run) -> TaskResult:
    """Choose the most probable option of every item.

    Args:
        loaded: The task.
        run: On its suite.
    """
    scored = ScoredSentences(run.load_sentences())
    answered, subsets, n_tied = {}, {}, 0
    first, human, model = 0, [], []
    for case in loaded.suite.cases:
        own = loaded.choices[first : first + case.n_items]
        first += case.n_items
        scores = _scores(case, scored)
        chosen = scores.argmax(axis=1)
        n_tied += int(((scores == scores[:, :1]).sum(axis=1) > 1)[chosen == 0].sum())
        answered[case.name] = list(_answers(case.name, own, chosen))
        subsets[case.name] = float((chosen == 0).mean())
        if loaded.task.correlates:
            shares = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))[:, 0]
            for answer, share in zip(answered[case.name], shares.tolist(), strict=True):
                answer["prob"] = share
            human += [choice.ratio for choice in own if choice.ratio is not None]
            model += shares.tolist()
    if loaded.task.correlates:
        score = float(spearmanr(model, human).statistic) if len(set(model)) > 1 < len(set(human)) else None
        return TaskResult(answered, "spearman", score, {}, len(loaded.choices), n_tied)
    splits = BOX_SPLITS if loaded.task.name == "entity_tracking" else ("",)
    return TaskResult(answered, "accuracy", _mean(subsets, splits), subsets, len(loaded.choices), n_tied)


def _scores(case: Case, scored: ScoredSentences) -> NDArray[np.float64]:
    """Give the log-probability of what is compared of every option, in nats, (items, options)."""
    question = case.question
    assert isinstance(question, Regions)
    columns = [
        scored.words.sums_within(
            scored.find(cast("pa.StringArray", case.sentences[label].combine_chunks())),
            *question.span(Region(2, label)),
        )
        for label in case.labels
    ]
    return np.stack(columns, axis=1)


def _answers(subset: str, choices: Sequence[Choice], chosen: NDArray[np.int64]) -> Iterator[Answer]:
    for number, (choice, at) in enumerate(zip(choices, chosen.tolist(), strict=True)):
        yield {"id": f"{subset}_{number}", "pred": choice.options[at].answer}


def _mean(subsets: Mapping[str, float], splits: Sequence[str]) -> float:
    """Average accuracies, those of subsets whose names begin alike first."""
    groups = [[value for name, value in subsets.items() if name.startswith(split)] for split in splits]
    return float(np.mean([np.mean(values) for values in groups if values]))
