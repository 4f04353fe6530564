"""Error on suites against the training loss, from accuracies measured along trainings.

A model can go on lowering its loss without getting better at a construction; two models of equal loss may
differ in it. After the comparison of error and loss in Bernardy & Lappin 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from tseval.checked import ContentError
from tseval.errors import TrainingError, first_line
from tseval.parquet import read_parquet
from tseval.report.curves import CURVES_SUFFIX, LABEL_HEIGHT, TALLEST, read_curves
from tseval.report.families import in_families
from tseval.report.figures import (
    BEHIND,
    ceiling,
    colour,
    marker,
    name_lines,
    new_figure,
    set_title,
    write_figure,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARGIN = 0.07  # of the range of an axis
COLUMNS: dict[str, pa.DataType] = {"step": pa.int64(), "suite": pa.string(), "accuracy": pa.float64()}


@dataclass(frozen=True, slots=True)
class ErrorCurve:
    """How a model's error on one suite goes with its training loss.

    Attributes:
        name: Of the model; text from outside.
        suite: Name of the suite; likewise.
        points: Training loss (nats per token) and error, in the order of training.
    """

    name: str
    suite: str
    points: tuple[tuple[float, float], ...]


def read_error_curves(path: Path) -> list[ErrorCurve]:
    """Read learning curves, and the accuracies along the same training that stand beside them.

    The error of a suite is 1 minus its mean accuracy, each row of the table counted once.

    Args:
        path: `NAME.curves.parquet`, with `NAME.accuracy.parquet` in the same folder.

    Returns:
        One curve for each suite.

    Raises:
        TrainingError: If one of the files is missing or holds something else, or they share no moment.
    """
    curves = read_curves(path)
    steps = curves.columns.get("step", ())
    losses = dict(zip(steps, curves.columns["training_loss"], strict=False))
    rows = read_beside(path, COLUMNS)
    means = rows.group_by(["suite", "step"], use_threads=False).aggregate([("accuracy", "mean")]).to_pylist()
    found: dict[str, list[tuple[float, float]]] = {}
    for mean in sorted(means, key=lambda row: row["step"] or 0):
        loss, accuracy = losses.get(mean["step"]), mean["accuracy_mean"]
        if loss is not None and accuracy is not None:
            found.setdefault(mean["suite"] or "", []).append((loss, 1 - accuracy))
    if not found:
        raise TrainingError(f"{_beside(path)}: no accuracy belongs to a loss in {path}")
    return [ErrorCurve(curves.name, suite, tuple(points)) for suite, points in found.items()]


def read_beside(path: Path, columns: Mapping[str, pa.DataType]) -> pa.Table:
    """Read the accuracies that were measured along a training.

    Args:
        path: Its learning curves, `NAME.curves.parquet`.
        columns: What must be there.

    Raises:
        TrainingError: If `NAME.accuracy.parquet` is missing or holds something else.
    """
    beside = _beside(path)
    try:
        return read_parquet(beside, columns, others=False)
    except FileNotFoundError:
        raise TrainingError(
            f"{beside}: no such file of accuracies along the training.\n"
            "  tseval train lm writes one beside the curves with --eval-suite SUITE."
        ) from None
    except (OSError, ContentError) as error:
        reason = first_line(error)
        raise TrainingError(f"{beside}: cannot be read as accuracies along a training ({reason})") from None


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.stem.removesuffix(CURVES_SUFFIX)}.accuracy.parquet")


def error_numbers(curves: Sequence[ErrorCurve]) -> pd.DataFrame:
    """Give curves as one table.

    Returns:
        One row a point: `model`, `suite`, `training_loss` (nats a token), `error`.
    """
    rows = [(curve.name, curve.suite, *point) for curve in curves for point in curve.points]
    return pd.DataFrame(rows, columns=["model", "suite", "training_loss", "error"])


def write_error_figure(curves: Sequence[ErrorCurve], path: Path) -> None:
    """Draw error against training loss, one panel for each suite, one line for each model.

    Raises:
        TrainingError: If matplotlib is not installed, or the file is neither SVG nor PNG.
        OSError: If the file cannot be written.
    """
    write_figure(lambda: draw_errors(curves), [path], TrainingError)


def draw_errors(curves: Sequence[ErrorCurve]) -> Figure:
    """Draw the panels; the loss falls to the right, as training goes. A ring marks where a model ends.

    Many models stand in rows of panels, a family each, with the others grey behind it.
    """
    suites = list(dict.fromkeys(curve.suite for curve in curves))
    names = list(dict.fromkeys(curve.name for curve in curves))
    families = in_families(names)
    figure = new_figure(5.2 * len(suites) + 0.6, 3.9 * len(families))
    grid = figure.subplots(len(families), len(suites), squeeze=False)
    for row, (family, places) in zip(grid, families, strict=True):
        own = {names[place]: index for index, place in enumerate(places)}
        for axes, suite in zip(row, suites, strict=True):
            _draw_suite(axes, [curve for curve in curves if curve.suite == suite], own)
            set_title(axes, f"{family}: {suite}" if family else suite)
    return figure


def _draw_suite(axes: Axes, curves: Sequence[ErrorCurve], own: Mapping[str, int]) -> None:
    """Draw the curves on one suite; those of the models in `own` in colour and with names."""
    ends = []
    for curve in curves:
        x, y = zip(*curve.points, strict=True)
        if curve.name not in own:
            axes.plot(x, y, color=BEHIND, linewidth=1, zorder=1)
            continue
        shade, mark = colour(own[curve.name]), marker(own[curve.name])
        axes.plot(x, y, color=shade, marker=mark, markersize=3.5, linewidth=1.6)
        axes.plot(x[-1:], y[-1:], "o", markersize=9, fillstyle="none", color=shade)
        ends.append((y[-1], curve.name, own[curve.name]))
    losses = [[loss for loss, _ in curve.points] for curve in curves]
    lowest, highest = min(map(min, losses)), ceiling(losses, TALLEST)
    margin = MARGIN * (highest - lowest) or MARGIN
    axes.set_xlim(highest + margin, lowest - margin)
    axes.set_ylim(0, (1 + MARGIN) * max(max(error for _, error in curve.points) for curve in curves) or 1)
    axes.set_xlabel("training loss, nats per token, falling")
    axes.set_ylabel("error")
    name_lines(axes, ends, LABEL_HEIGHT)
