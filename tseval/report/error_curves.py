"""Error on suites and formal languages during training, as data frames and as panels.

The panels show error against loss, and loss and error on a formal language by epoch, as in Figures 2a, 3a, 3c
and 3d of Bernardy & Lappin 2022. Trainings whose names end in `-seed1`, `-seed2` and so on are one line:
their mean, with the standard deviation between seeds on both sides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from tseval.errors import TrainingError, first_line
from tseval.formats import ContentError
from tseval.report.curves import (
    ERRORS,
    LOSSES,
    MARGIN,
    MARKED,
    STRINGS,
    TALLEST,
    ceiling,
    read_curves,
    training_name,
)
from tseval.report.families import MOST_TOGETHER, without_seed
from tseval.report.panels import Axis, Panel, Series
from tseval.tables import read_parquet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tseval.report.looks import Look


COLUMNS: dict[str, pa.DataType] = {"step": pa.int64(), "suite": pa.string(), "accuracy": pa.float64()}


def read_error_curves(path: Path) -> pd.DataFrame:
    """Read learning curves, and the accuracies in the file next to them, `NAME.accuracy.parquet`.

    The error of a suite is 1 minus its mean accuracy, with each row of the table counted once.

    Returns:
        One row per step and suite: `model`, `suite`, `training_loss` (nats per token), `error`.
    """
    curves = read_curves(path)
    losses = dict(zip(curves.get("step", ()), curves[LOSSES[0]], strict=False))
    rows = _read_accuracies(path, COLUMNS)
    means = rows.group_by(["suite", "step"], use_threads=False).aggregate([("accuracy", "mean")]).to_pylist()
    points_of_suites: dict[str, list[tuple[str, str, float, float]]] = {}
    for mean in sorted(means, key=lambda row: row["step"] or 0):
        loss, accuracy, suite = losses.get(mean["step"]), mean["accuracy_mean"], mean["suite"] or ""
        if not pd.isna(loss) and accuracy is not None:
            points_of_suites.setdefault(suite, []).append((training_name(path), suite, loss, 1 - accuracy))
    if not points_of_suites:
        raise TrainingError(
            f"{_accuracy_path(path)}: no training step has both an accuracy in this file and a loss in "
            f"{path}.\n"
            "  Train the model again with tseval train lm --eval-suite SUITE."
        )
    points = [point for of_suite in points_of_suites.values() for point in of_suite]
    return pd.DataFrame(points, columns=["model", "suite", LOSSES[0], "error"])


def _read_accuracies(path: Path, columns: Mapping[str, pa.DataType]) -> pa.Table:
    """Read the accuracies that were measured during the training of these curves."""
    file = _accuracy_path(path)
    try:
        return read_parquet(file, columns, others=False)
    except FileNotFoundError:
        raise TrainingError(
            f"{file}: this file does not exist. If you train with --eval-suite, tseval writes the accuracies "
            "during the training into this file.\n"
            "  Train the model again with tseval train lm --eval-suite SUITE."
        ) from None
    except (OSError, ContentError) as error:
        reason = first_line(error)
        raise TrainingError(
            f"{file}: this file does not have the accuracies that --eval-suite measures during a "
            f"training ({reason}).\n"
            "  Train the model again with tseval train lm --eval-suite SUITE."
        ) from None


def _accuracy_path(path: Path) -> Path:
    return path.with_name(f"{training_name(path)}.accuracy.parquet")


def error_panels(curves: Sequence[pd.DataFrame]) -> tuple[list[Panel], Look]:
    """Return a panel for each suite: error against training loss, which falls to the right."""
    names = list(dict.fromkeys(frame["model"].iloc[0] for frame in curves))
    series_of: dict[str, list[Series]] = {}
    for frame in curves:
        for suite, rows in frame.groupby("suite", sort=False):
            name = rows["model"].iloc[0]
            x, y = (rows[column].tolist() for column in (LOSSES[0], "error"))
            series_of.setdefault(str(suite), []).append(Series(names.index(name), name, x, y))
    panels = []
    for suite, series in series_of.items():
        losses = [line.x for line in series]
        lowest, highest = min(map(min, losses)), ceiling(losses, TALLEST)
        margin = MARGIN * (highest - lowest) or MARGIN
        limits = lowest - margin, highest + margin
        loss = Axis("training loss, nats per token, falling", limits, falling=True)
        panels.append(Panel(suite, series, loss, _up_from_zero(series), rings=True))
    return panels, replace(ERRORS, across=len(panels))


MEASURES = "string_loss", "headline_error"
STRING_COLUMNS: dict[str, pa.DataType] = {
    "step": pa.int64(), "suite": pa.string(), **dict.fromkeys(MEASURES, pa.float64())
}  # fmt: skip


def read_string_curves(paths: Sequence[Path]) -> pd.DataFrame:
    """Read learning curves, and the measurements on a formal language during training.

    Returns:
        `model`, `epoch`, `n_seeds`, then `string_loss` and `headline_error` (means over seeds),
        `string_loss_spread` and `headline_error_spread` (standard deviations between seeds), `suite`.
    """
    frames = []
    for path in paths:
        curves = read_curves(path)
        epochs = dict(zip(curves["step"], curves.get("epoch", ()), strict=False))
        rows = _read_accuracies(path, STRING_COLUMNS).to_pandas().dropna(subset=list(MEASURES))
        if rows.empty:
            raise TrainingError(
                f"{path}: the model was not evaluated on a formal language during its training.\n"
                "  Train the model again with --eval-suite LANGUAGE, such as --eval-suite "
                "'generalised_dyck()'."
            )
        frames.append(rows.assign(epoch=rows["step"].map(epochs), model=without_seed(training_name(path))))
    rows = pd.concat(frames, ignore_index=True).dropna(subset="epoch")
    if len(suites := sorted(rows["suite"].unique())) > 1:
        raise TrainingError(
            f"the models were evaluated on several formal languages ({', '.join(suites)}), but one figure "
            "shows only one. Draw one figure for each language."
        )
    groups = rows.groupby(["model", "epoch"], sort=False)
    measured = groups.size().rename("n_seeds").to_frame()
    for name in MEASURES:
        measured[name] = groups[name].mean()
        measured[f"{name}_spread"] = groups[name].std()
    return measured.reset_index().astype({"epoch": "int64"}).assign(suite=suites[0])


def string_panels(rows: pd.DataFrame) -> tuple[list[Panel], Look]:
    """Return panels of loss on strings and error by epoch, and of error against loss."""
    series: tuple[list[Series], list[Series], list[Series]] = [], [], []
    by_loss, by_error, error_by_loss = series
    for index, (name, model_rows) in enumerate(rows.groupby("model", sort=False)):
        style = {"markevery": max(1, len(model_rows) // MARKED)}
        epochs, loss, error = (model_rows[column].tolist() for column in ("epoch", *MEASURES))
        for measure, by_epoch in zip(MEASURES, series[:2], strict=True):
            spread = model_rows[f"{measure}_spread"].fillna(0)
            values = ((model_rows[measure] + sign * spread).tolist() for sign in (0, -1, 1))
            by_epoch.append(Series(index, str(name), epochs, *values, style=style))
        error_by_loss.append(Series(index, str(name), loss, error, style=style))
    epoch, falling = Axis("epoch", most=9), Axis("loss on test strings, falling", falling=True)
    panels = [
        Panel("Loss on test strings", by_loss, epoch, Axis("nats per symbol")),
        Panel(f"Error on {rows['suite'].iloc[0]}", by_error, epoch, _up_from_zero(by_error)),
        Panel("Error against loss", error_by_loss, falling, _up_from_zero(error_by_loss), rings=True),
    ]
    return panels, STRINGS if len(by_loss) <= 2 * MOST_TOGETHER else replace(STRINGS, legend="")


def _up_from_zero(series: Sequence[Series]) -> Axis:
    """Return the axis of errors, from 0 and high enough for all bands."""
    highest = max(value for line in series for value in line.high or line.y)
    return Axis("error", (0, (1 + MARGIN) * highest or 1))
