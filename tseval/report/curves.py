"""Learning curves as data frames and as panels: losses, and the validation measure.

Decay rates are drawn as in Figure 5 of Bhatt et al. 2020.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tseval.errors import TrainingError, first_line, shortened
from tseval.formats import ContentError
from tseval.report.families import MOST_TOGETHER
from tseval.report.figures import GREY, write_figure
from tseval.report.looks import Look
from tseval.report.panels import Axis, Panel, Series
from tseval.tables import read_parquet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


WATCHED = re.compile(r"(?P<name>\D+)_(?P<layer>\d+)")
CURVES_SUFFIX = ".curves"
LOSSES = "training_loss", "validation_loss"
TALLEST, TALLEST_PERPLEXITY = 1.6, 5.0  # a curve is shown up to this many times its best value
MARGIN = 0.07  # of the range of an axis
MARKED = 16  # epochs with a marker, if there are many
DASHES = ((1.0, 0.0), (5.0, 1.5), (1.2, 1.2), (6.0, 1.5, 1.2, 1.5), (3.0, 3.0))  # strokes and gaps, by layer
ALPHA = "Decay rate α of each layer", Axis("α, share of the state that is kept", (0, 1))
TRAINING: Mapping[str, Any] = {"linewidth": 1, "alpha": 0.45, "marker": ""}
LEARNING = Look("band", (3.6, 3.9), (0.4, 0), columns=8, gap=0.075, marker=3.5, stroke=1.6)
ERRORS = Look("band", (5.2, 3.9), (0.6, 0), legend="ends", gap=0.075, marker=3.5, stroke=1.6)
STRINGS = replace(ERRORS, size=(4.2, 3.9), margin=(0, 0), across=3, families=False)


@dataclass(frozen=True, slots=True)
class TrainingKind:
    """The curves of one kind of model.

    `time` has the column of the x-axis, its divisor and its name; `goal` is the column of the validation
    measure.
    """

    model: str
    time: tuple[str, float, str]
    loss: str
    goal: str


LANGUAGE_MODEL = TrainingKind(
    "a language model", ("tokens", 1e6, "training tokens (millions)"), "nats per token",
    "validation_perplexity",
)  # fmt: skip
CLASSIFIER = TrainingKind("a classifier", ("epoch", 1, "epochs"), "nats per example", "validation_accuracy")


def read_curves(path: Path) -> pd.DataFrame:
    """Read the learning curves of a model: one row per measurement, `model` and the logged columns.

    The model has the name of its file.
    """
    try:
        table = read_parquet(path, {})
        columns = {name: table[name].cast(pa.float64()).to_pandas() for name in table.column_names}
    except FileNotFoundError:
        raise TrainingError(
            f"{path}: this file does not exist.\n"
            "  Name a file of learning curves that tseval train wrote, such as MODEL.curves.parquet."
        ) from None
    except (pa.ArrowException, OSError, ContentError) as error:
        reason = shortened(first_line(error), 150)
        raise TrainingError(
            f"{path}: this file is not a learning curve of tseval ({reason}).\n"
            "  Name a file of learning curves that tseval train wrote, such as MODEL.curves.parquet."
        ) from None
    kind = _kind(columns)
    if missing := [name for name in (kind.time[0], *LOSSES, kind.goal) if name not in columns]:
        raise TrainingError(
            f"{path}: this file is not a learning curve of tseval, because the column {missing[0]!r} is "
            "missing.\n"
            "  Name a file of learning curves that tseval train wrote, such as MODEL.curves.parquet."
        )
    if not table.num_rows:
        raise TrainingError(
            f"{path}: the learning curve in this file has no points, because the table has no rows.\n"
            "  Name a file of learning curves that tseval train wrote, such as MODEL.curves.parquet."
        )
    columns.pop("model", None)
    return pd.DataFrame({"model": training_name(path), **columns})


def _kind(columns: Iterable[object]) -> TrainingKind:
    return CLASSIFIER if CLASSIFIER.goal in columns else LANGUAGE_MODEL


def training_name(path: Path) -> str:
    """Return the name of the training of a file of curves."""
    return path.stem.removesuffix(CURVES_SUFFIX)


def curve_numbers(curves: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return learning curves in one table, without the seconds, which differ between equal trainings."""
    # `read_curves` returns floats only; steps and tokens become whole numbers again.
    return pd.concat(curves, ignore_index=True).drop(columns="seconds", errors="ignore").convert_dtypes()


def write_curves_figure(curves: Sequence[pd.DataFrame], paths: Sequence[Path]) -> None:
    """Draw learning curves into SVG or PNG files; the same curves always give the same SVG."""
    (first, name), *rest = ((_kind(frame), frame["model"].iloc[0]) for frame in curves)
    for kind, model in rest:
        if kind != first:
            raise TrainingError(
                f"{model} is {kind.model}, but {name} is {first.model}, so one figure "
                "cannot show both. Draw one figure for each kind."
            )
    write_figure(*curve_panels(curves), paths, TrainingError)


def curve_panels(curves: Sequence[pd.DataFrame]) -> tuple[list[Panel], Look]:
    """Return a panel for each watched scalar, one for the losses and one for perplexity or accuracy.

    Few models share the panels and a legend. If there are many, each family has a row, with names at the ends
    of lines.
    """
    kind = _kind(curves[0])
    time = Axis(kind.time[2], (0, None))
    layers = [
        {column: m for column in map(str, frame) if (m := WATCHED.fullmatch(column))} for frame in curves
    ]
    watched = []
    for name in sorted({m["name"] for matches in layers for m in matches.values()}):
        series = [
            _series(frame, column, index, linestyle=_dash(m["layer"]), linewidth=1.8, marker="")
            for index, (frame, matches) in enumerate(zip(curves, layers, strict=True))
            for column, m in matches.items()
            if m["name"] == name
        ]
        title, axis = ALPHA if name == "alpha" else (name, Axis())
        watched.append(Panel(title, series, time, axis))
    loss, goal = _loss(curves, kind, time), _goal(curves, kind, time)
    numbers = sorted({int(m["layer"]) for matches in layers for m in matches.values()})
    keys = [
        *(({"color": GREY, "linestyle": _dash(n)}, f"layer {n}") for n in numbers),
        ({"color": GREY, **TRAINING}, "training"),
        ({"color": GREY, "marker": "o", "markersize": 4}, "validation"),
    ]
    panels, look = [*watched, loss, goal], replace(LEARNING, keys=keys, across=2 + len(watched))
    if len(curves) <= MOST_TOGETHER:
        return panels, look
    return [goal, loss, *watched], replace(look, size=(3.6, 3.1), margin=(1.6, 0.6), legend="ends")


def _series(curves: pd.DataFrame, column: str, index: int, *, named: bool = True, **style: Any) -> Series:
    time, unit, _ = _kind(curves).time
    x, y = curves[time] / unit, curves[column]
    is_finite = np.isfinite(x + y)
    name = curves["model"].iloc[0] if named else ""
    return Series(index, name, x[is_finite].tolist(), y[is_finite].tolist(), style=style)


def _dash(layer: str | int) -> tuple[float, tuple[float, ...]]:
    return 0.0, DASHES[(int(layer) - 1) % len(DASHES)]


def _loss(curves: Sequence[pd.DataFrame], kind: TrainingKind, time: Axis) -> Panel:
    series: list[Series] = []
    values: list[Sequence[float]] = []
    for index, frame in enumerate(curves):
        training = _series(frame, LOSSES[0], index, named=False, **TRAINING)
        validation = _series(frame, LOSSES[1], index)
        series += [training, validation]
        # Each loss by its lowest value: a classifier's training loss falls far below its validation loss.
        values += [line.y for line in (training, validation) if line.y and validation.y]
    limits: tuple[float | None, float | None] = (None, None)
    if values:
        lowest, highest = min(map(min, values)), ceiling(values, TALLEST)
        margin = 0.05 * (highest - lowest)
        limits = lowest - margin, highest + margin
    return Panel("Loss", series, time, Axis(kind.loss, limits))


def _goal(curves: Sequence[pd.DataFrame], kind: TrainingKind, time: Axis) -> Panel:
    series = [_series(item, kind.goal, index) for index, item in enumerate(curves)]
    if kind is CLASSIFIER:
        return Panel("Validation accuracy", series, time, Axis("share of correct answers"))
    values = [item.y for item in series if item.y]
    highest = 1.1 * ceiling(values, TALLEST_PERPLEXITY) if values else None
    axis = Axis("perplexity per token (log scale)", (None, highest), log_from=0, in_full=True)
    return Panel("Validation perplexity", series, time, axis)


def ceiling(curves: Iterable[Sequence[float]], times: float) -> float:
    """Return the height up to which falling curves are shown: at most `times` the lowest value of each.

    A model may diverge at the start and recover. This must not flatten the rest of its curve, or other
    curves.
    """
    return max(min(max(values), times * min(values)) for values in curves)
