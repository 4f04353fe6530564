"""Accuracy during training: at each step, and when it rises above chance."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from tseval.analysis.comparisons import Emergence, RowsAndMeans, emergence, trajectory
from tseval.analysis.features import require_features
from tseval.analysis.intervals import error_percent
from tseval.errors import RunError
from tseval.report.document import INTERVAL_HEADING, Document, Field, Grid
from tseval.report.layout import in_full, labelled, row_labels, rows_and_means
from tseval.report.numbers import RUN_DECIMALS, format_count, format_interval, format_share
from tseval.report.opened import RunSet, interval_note
from tseval.report.panels import Axis, Panel
from tseval.report.rows_along import row_panels
from tseval.runs import CLOCKS, Clock, progress_of, training_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tseval.runs.manifest import Manifest


CHANCE_OF_PAIRS = 0.5
UNEVEN = 8  # if half of the steps are in the first eighth of the training, its axis is logarithmic
# Scores that do not choose between two sentences, so chance accuracy is unknown.
_NO_PAIRS = {"regions", "choices", "prompt"}
# Properties that checkpoints of one training share.
_OF_A_TRAINING = ("architecture", "parameters", "vocabulary", "training", "folder")


@dataclass(frozen=True, slots=True)
class Training:
    """The runs of one training by step, ascending; `chance` is None if chance accuracy is unknown."""

    name: str
    runs: Mapping[int, str]
    along: RowsAndMeans[int]
    chance: float | None

    def emergences(self, measured: Mapping[int, pd.DataFrame]) -> list[Emergence | None]:
        """Return when each line rises above chance; None if chance is unknown."""
        n_lines = len(next(iter(measured.values())))
        if self.chance is None:
            return [None] * n_lines
        return [
            emergence({moment: frame.iloc[index] for moment, frame in measured.items()}, self.chance)
            for index in range(n_lines)
        ]


def find_trainings(
    opened: RunSet, over: Clock = "step", by: Sequence[str] = ()
) -> tuple[list[Training], list[str]]:
    """Group runs by the training that their models are checkpoints of.

    Returns:
        The trainings, in the order of their first runs, and the runs with an unknown training step.
    """
    require_features(next(iter(opened.verdicts.values())), by)
    runs_of: dict[str, dict[int, str]] = {}
    names: dict[str, str] = {}
    left_out = []
    for name, manifest in opened.manifests.items():
        moment = progress_of(manifest.model, over)
        if moment is None:
            left_out.append(opened.folders[name])
            continue
        training = key_of_training(manifest)
        names[training] = training_of(manifest.model)
        moments = runs_of.setdefault(training, {})
        if moment in moments:
            raise RunError(
                f"{opened.folders[moments[moment]]} and {opened.folders[name]} are two runs of the training "
                f"{names[training]} at the same {over}, {moment:,}.\n"
                "  Leave out one run. If the checkpoints belong to different trainings, give them "
                "different names, such as a-step100.pt and b-step100.pt."
            )
        moments[moment] = name
    if not runs_of:
        models = [manifest.model for manifest in opened.manifests.values()]
        clocks = [clock for clock in CLOCKS if any(progress_of(model, clock) is not None for model in models)]
        fix = f"Name the training {over} in the name of each checkpoint, such as drnn-{over}1000.pt"
        if over == "tokens":  # names of checkpoints cannot state them
            fix = "Save the checkpoints with tseval, which writes the training tokens into them"
        raise RunError(
            f"no run states the training {over} of its checkpoint.\n"
            f"  {fix}. Then score the checkpoints again."
            + "".join(
                f"\n  Some runs state the training {clock} instead: to use it, add --over {clock}."
                for clock in clocks
            )
        )
    trainings = []
    for training, name in _distinct(names).items():
        runs = dict(sorted(runs_of[training].items()))
        manifest = opened.manifests[next(iter(runs.values()))]
        accuracies = trajectory({moment: opened.verdicts[model] for moment, model in runs.items()}, by)
        chance = None if manifest.key.score in _NO_PAIRS else CHANCE_OF_PAIRS
        trainings.append(Training(name, runs, accuracies, chance))
    return trainings, left_out


def key_of_training(manifest: Manifest) -> str:
    """Return a text that is equal for all runs of one training that were scored in the same way."""
    card = manifest.model
    facts = [card.details.get(fact) for fact in _OF_A_TRAINING]
    return repr((training_of(card), card.kind, sorted(card.protocol.items()), facts, manifest.key.score))


def _distinct(names: Mapping[str, str]) -> dict[str, str]:
    """Return a unique name for every training; equal names get a number."""
    shared, counts = Counter(names.values()), Counter[str]()
    distinct = {}
    for training, name in names.items():
        counts[name] += 1
        distinct[training] = f"{name} #{counts[name]}" if shared[name] > 1 else name
    return distinct


_SAID: dict[Clock, str] = {"step": "step", "tokens": "number of tokens", "epoch": "epoch"}


def over_steps(opened: RunSet, trainings: Sequence[Training], over: Clock = "step") -> Document:
    """Return accuracy at each step, with a table for each training."""
    grids = [_moments(training, opened.suite, over) for training in trainings]
    notes = [f"Columns: {over}. For intervals and tests against chance: --format csv or json."]
    return _document(opened, trainings, over, grids, notes)


def rises(opened: RunSet, trainings: Sequence[Training], over: Clock = "step") -> Document:
    """Return when each row rises above chance, with a table for each training."""
    grids = [_rises(training, opened.suite, over) for training in trainings]
    notes = []
    if any(training.chance is not None for training in trainings):
        notes += [
            f"First above chance: the first measured {_SAID[over]} with an accuracy significantly above "
            f"{CHANCE_OF_PAIRS} ({error_percent()} for each row, Holm's correction over all measurements).",
            f"Always above chance from: from this {_SAID[over]} on, every measurement is above chance.",
            "These tests generalise to other words of the same kind, not to other training seeds.",
        ]
    notes += _unlearnt(trainings)
    if any(training.chance is None for training in trainings):
        notes.append("These items are no choice between two sentences, so there is no test against chance.")
    return _document(opened, trainings, over, grids, notes)


def _unlearnt(trainings: Sequence[Training]) -> Iterator[str]:
    """Yield notes on rows that are above chance before the first step, so not because of training."""
    for training in trainings:
        labels = row_labels(training.along.rows)
        rises_of_rows = zip(labels, training.emergences(training.along.of_rows), strict=True)
        early_labels = [label for label, rise in rises_of_rows if rise is not None and rise.first == 0]
        if early_labels:
            yield (
                f"{training.name}: above chance at 0, before any training, because of the words in which all "
                f"pairs differ: {', '.join(early_labels)}."
            )


def _moments(training: Training, suite: str, over: Clock) -> Grid:
    fields = [Field(f"{training.name} on {suite}", align="left")]
    fields += [Field(format_count(moment), ("accuracy",), format_share) for moment in training.runs]

    def cells(_: pd.DataFrame, measured: Mapping[int, pd.DataFrame]) -> list[list[object]]:
        return [field.values(frame) for field, frame in zip(fields[1:], measured.values(), strict=True)]

    return Grid(fields, rows_and_means(training.along, cells), f"{training.name} by {_SAID[over]}")


_RISE = (
    Field("First above chance", ("first",), lambda step: format_count(int(step))),
    Field("Accuracy then", ("accuracy",), format_share),
    Field(INTERVAL_HEADING, ("low", "high"), format_interval),
    Field("Always above chance from", ("settled",), lambda step: format_count(int(step))),
    Field("At the end", ("last_accuracy",), format_share),
    Field(INTERVAL_HEADING, ("last_low", "last_high"), format_interval),
)


def _rises(training: Training, suite: str, over: Clock) -> Grid:
    last = format_count(max(training.runs))
    fields = [Field(f"{training.name} on {suite}", align="left"), *_RISE]

    def cells(_: pd.DataFrame, measured: Mapping[int, pd.DataFrame]) -> list[list[object]]:
        frame = _of_rises(training, measured)
        return [field.values(frame) for field in _RISE]

    return Grid(fields, rows_and_means(training.along, cells), f"{training.name}, up to {over} {last}")


def trajectory_panels(trainings: Sequence[Training], over: Clock) -> list[Panel]:
    """Return a panel for each row of the table, with a line for each training; the last is over all rows."""
    moments = {moment for training in trainings for moment in training.runs}
    return row_panels([(training.name, training.along) for training in trainings], time_axis(moments, over))


def time_axis(moments: Collection[int], over: str) -> Axis:
    """Return the x-axis of a training; logarithmic after its start if most steps are early.

    This is so if steps double, or if checkpoints were saved less and less often.
    """
    ascending = sorted(moments)
    if UNEVEN * ascending[len(ascending) // 2] < ascending[-1]:
        return Axis(over, log_from=next(moment for moment in ascending if moment))
    return Axis(over, most=4)


def _of_rises(training: Training, measured: Mapping[int, pd.DataFrame]) -> pd.DataFrame:
    """Return for each line the step at which it rises, and the accuracy then and at the end."""
    moments = list(measured)
    rows = []
    for index, rise in enumerate(training.emergences(measured)):
        first, settled = (None, None) if rise is None else (rise.first, rise.settled)
        previous = None if first is None else max((m for m in moments if m < first), default=None)
        row = pd.Series(dtype=object) if first is None else measured[first].iloc[index]
        end = measured[moments[-1]].iloc[index]
        rows.append(
            {
                "first": first,
                "before": previous,
                **{name: row.get(name) for name in ("accuracy", "low", "high")},
                "settled": settled,
                **{f"last_{name}": end[name] for name in ("accuracy", "low", "high")},
            }
        )
    frame = pd.DataFrame(rows, dtype=object)  # keeps whole numbers next to missing values
    for low, high in (("low", "high"), ("last_low", "last_high")):
        frame[[low, high]] = frame[[low, high]].astype("float64")  # intervals are formatted as floats
    return frame


def _document(
    opened: RunSet, trainings: Sequence[Training], over: Clock, grids: Sequence[Grid], notes: Sequence[str]
) -> Document:
    records = _records(trainings, over)
    all_frames = pd.concat(
        frame for training in trainings for _, frames in training.along.parts for frame in frames.values()
    )
    notes = [
        *opened.notes,
        *_undecided(trainings),
        interval_note(all_frames),
        *notes,
        f"Accuracies are truncated, not rounded, to {RUN_DECIMALS} decimals.",
    ]
    signatures = [
        (f"{training.name}, {over} {moment:,}", opened.signatures[model])
        for training in trainings
        for moment, model in training.runs.items()
    ]
    content = {
        "analysis": "trajectory",
        "over": over,
        "rows": records,
        "rises": in_full(
            labelled(heads, _of_rises(training, measured), training=training.name)
            for training in trainings
            for heads, measured in training.along.parts
        ),
        "notes": notes,
        "signatures": dict(signatures),
    }
    return Document(grids, records.drop(columns=["clusters", "fixed"]), content, notes, signatures)


def _undecided(trainings: Sequence[Training]) -> Iterator[str]:
    """Yield notes on the largest numbers of ties and of undecidable items."""
    for training in trainings:
        totals = pd.DataFrame([frame.sum(numeric_only=True) for frame in training.along.of_rows.values()])
        n_tied, n_undecidable = int(totals["n_tied"].max()), int(totals["n_undecidable"].max())
        if n_tied or n_undecidable:
            yield (
                f"{training.name}: of {int(totals['n_items'].max()):,} items up to {n_tied:,} are ties "
                f"(counted as wrong), up to {n_undecidable:,} are undecidable (not counted)."
            )


def _records(trainings: Sequence[Training], over: Clock) -> pd.DataFrame:
    frames = []
    for training in trainings:
        for heads, measured in training.along.parts:
            rises_of_rows = training.emergences(measured)
            for index, (moment, frame) in enumerate(measured.items()):
                rows = labelled(heads, frame, training=training.name, **{over: moment})
                for name in ("p", "p_holm", "above"):
                    rows[name] = [
                        None if rise is None else getattr(rise, name)[index] for rise in rises_of_rows
                    ]
                frames.append(rows)
    return in_full(frames)
