"""The curve of a training on a page: mean accuracy of its checkpoints by training step."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from tseval.report.analyses.trajectory import find_trainings, key_of_training
from tseval.report.numbers import NONE, format_count, format_interval, format_share
from tseval.report.opened import for_analysis
from tseval.runs import progress_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.report.analyses.trajectory import Training
    from tseval.runs import Run


LEFT, RIGHT, TOP, BOTTOM = 50, 610, 10, 200  # of the axes, in units of the drawing
MOST_LABELS = 8  # steps with a label below the axis


@dataclass(frozen=True, slots=True)
class TrainingCurve:
    """The curve of a training: coordinates in units of the drawing, and numbers as texts."""

    name: str
    curve: str
    band: str
    dots: list[tuple[float, float]]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    chance: float
    numbers: list[tuple[str, str, str]]


def by_step(runs: Sequence[Run]) -> tuple[list[Run], tuple[TrainingCurve, ...]]:
    """Sort runs by training and step, and return the curve of each training with several runs.

    Runs without a step come last. If no training has several checkpoints, the order does not change.
    """
    places = [_place(run) for run in runs]
    present = [place for place in places if place is not None]
    trainings = list(dict.fromkeys(training for training, _ in present))
    # Two runs of one checkpoint (such as with two treatments of unknown words) make no curve.
    if len({*present}) < len(present) or len(present) == len(trainings):
        return list(runs), ()
    curves = [curve for curve in find_trainings(for_analysis(runs))[0] if len(curve.runs) > 1]
    last = len(trainings), 0
    order = sorted(
        range(len(runs)),
        key=lambda index: last if (pair := places[index]) is None else (trainings.index(pair[0]), pair[1]),
    )
    return [runs[index] for index in order], tuple(map(_curve, curves))


def _place(run: Run) -> tuple[str, int] | None:
    """Return the training and the step of a run, if it states its step."""
    step = progress_of(run.manifest.model)
    return None if step is None else (key_of_training(run.manifest), step)


def _curve(training: Training) -> TrainingCurve:
    """Return the curve of the mean over all rows."""
    values: list[tuple[int, float, float, float]] = []
    for step, frame in training.along.of_means.items():
        last = frame[["accuracy", "low", "high"]].astype("float64").iloc[-1]
        values.append((step, float(last["accuracy"]), float(last["low"]), float(last["high"])))
    first, end = values[0][0], values[-1][0]

    def x(step: int) -> float:
        return round(LEFT + (RIGHT - LEFT) * (step - first) / (end - first), 1)

    def y(share: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * share, 1)

    present = [value for value in values if not isnan(value[1])]
    upper = [(x(step), y(high)) for step, _, _, high in present]
    lower = [(x(step), y(low)) for step, _, low, _ in reversed(present)]
    labelled = values[:: -(-len(values) // MOST_LABELS)]
    return TrainingCurve(
        name=training.name,
        curve=_points([(x(step), y(share)) for step, share, *_ in present]),
        band=_points([*upper, *lower]),
        dots=[(x(step), y(share)) for step, share, *_ in present],
        x_ticks=[(x(step), format_count(step)) for step, *_ in labelled],
        y_ticks=[(y(share), f"{share:g}") for share in (0, 0.25, 0.5, 0.75, 1)],
        chance=y(0.5),
        numbers=[
            (
                format_count(step),
                NONE if isnan(share) else format_share(share),
                NONE if isnan(share) else format_interval((low, high)),
            )
            for step, share, low, high in values
        ],
    )


def _points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in places)
