"""Learning curves as data frames and as panels: losses, what a validation is judged by, error on suites.

Decay rates after Figure 5 of Bhatt et al. 2020; error against loss, and what models learn of a formal
language by epochs, after Figures 2a, 3a, 3c and 3d of Bernardy & Lappin 2022. There trainings whose names end
in `-seed1`, `-seed2` and so on are one line: their mean, with the standard deviation between seeds on either
side.
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
from tseval.report.figures import (
    GREY,
    MOST_TOGETHER,
    Axis,
    Look,
    Panel,
    Series,
    without_seed,
    write_figure,
)
from tseval.tables import read_parquet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


WATCHED = re.compile(r"(?P<name>\D+)_(?P<layer>\d+)")
CURVES_SUFFIX = ".curves"
LOSSES = "training_loss", "validation_loss"
TALLEST, TALLEST_PERPLEXITY = 1.6, 5.0  # times its best value, up to which a curve is shown
MARGIN = 0.07  # of the range of an axis
MARKED = 16  # epochs with a marker, of many
DASHES = ((1.0, 0.0), (5.0, 1.5), (1.2, 1.2), (6.0, 1.5, 1.2, 1.5), (3.0, 3.0))  # strokes and gaps, by layer
ALPHA = "Decay rate α of each layer", Axis("α, share of the state that is kept", (0, 1))
TRAINING: Mapping[str, Any] = {"linewidth": 1, "alpha": 0.45, "marker": ""}
LEARNING = Look("band", (3.6, 3.9), (0.4, 0), columns=8, gap=0.075, marker=3.5, stroke=1.6)
ERRORS = Look("band", (5.2, 3.9), (0.6, 0), legend="ends", gap=0.075, marker=3.5, stroke=1.6)
STRINGS = replace(ERRORS, size=(4.2, 3.9), margin=(0, 0), across=3, families=False)


@dataclass(frozen=True, slots=True)
class TrainingKind:
    """What the curves of one kind of model show.

    `time` is the column that they run along, the number it is divided by, and its name; `goal` the column of
    what a validation is judged by.
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
    """Read the learning curves of a model: a row a moment, `model` and what was written along the training.

    The model is called as its file.
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
    return pd.DataFrame({"model": _name(path), **columns})


def _kind(columns: Iterable[object]) -> TrainingKind:
    return CLASSIFIER if CLASSIFIER.goal in columns else LANGUAGE_MODEL


def _name(path: Path) -> str:
    return path.stem.removesuffix(CURVES_SUFFIX)


def curve_numbers(curves: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put learning curves into one table, without the seconds: the same training takes others each time."""
    # `read_curves` makes floats of all; steps and tokens are whole again.
    return pd.concat(curves, ignore_index=True).drop(columns="seconds", errors="ignore").convert_dtypes()


def write_curves_figure(curves: Sequence[pd.DataFrame], paths: Sequence[Path]) -> None:
    """Draw learning curves into files, SVG or PNG by their names. The same curves give the same SVG."""
    (first, name), *others = ((_kind(one), one["model"].iloc[0]) for one in curves)
    for kind, other in others:
        if kind != first:
            raise TrainingError(
                f"{other} is {kind.model}, but {name} is {first.model}, so one figure "
                "cannot show both. Draw one figure for each kind."
            )
    write_figure(*curve_panels(curves), paths, TrainingError)


def curve_panels(curves: Sequence[pd.DataFrame]) -> tuple[list[Panel], Look]:
    """Return a panel for each watched scalar, one for the losses and one for perplexity or accuracy.

    Few models share the panels and a legend. Of many, each family has a row of its own, with names at
    the ends of lines.
    """
    kind = _kind(curves[0])
    time = Axis(kind.time[2], (0, None))
    layers = [{column: m for column in map(str, one) if (m := WATCHED.fullmatch(column))} for one in curves]
    watched = []
    for name in sorted({m["name"] for own in layers for m in own.values()}):
        series = [
            _series(one, column, index, linestyle=_dash(m["layer"]), linewidth=1.8, marker="")
            for index, (one, own) in enumerate(zip(curves, layers, strict=True))
            for column, m in own.items()
            if m["name"] == name
        ]
        title, axis = ALPHA if name == "alpha" else (name, Axis())
        watched.append(Panel(title, series, time, axis))
    loss, goal = _loss(curves, kind, time), _goal(curves, kind, time)
    numbers = sorted({int(m["layer"]) for own in layers for m in own.values()})
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
    known = np.isfinite(x + y)
    name = curves["model"].iloc[0] if named else ""
    return Series(index, name, x[known].tolist(), y[known].tolist(), style=style)


def _dash(layer: str | int) -> tuple[float, tuple[float, ...]]:
    return 0.0, DASHES[(int(layer) - 1) % len(DASHES)]


def _loss(curves: Sequence[pd.DataFrame], kind: TrainingKind, time: Axis) -> Panel:
    series: list[Series] = []
    values: list[Sequence[float]] = []
    for index, one in enumerate(curves):
        training = _series(one, LOSSES[0], index, named=False, **TRAINING)
        validation = _series(one, LOSSES[1], index)
        series += [training, validation]
        # Each by its own lowest value: a classifier's training loss falls far below that of validation.
        values += [own.y for own in (training, validation) if own.y and validation.y]
    limits: tuple[float | None, float | None] = (None, None)
    if values:
        lowest, highest = min(map(min, values)), ceiling(values, TALLEST)
        margin = 0.05 * (highest - lowest)
        limits = lowest - margin, highest + margin
    return Panel("Loss", series, time, Axis(kind.loss, limits))


def _goal(curves: Sequence[pd.DataFrame], kind: TrainingKind, time: Axis) -> Panel:
    series = [_series(one, kind.goal, index) for index, one in enumerate(curves)]
    if kind is CLASSIFIER:
        return Panel("Validation accuracy", series, time, Axis("share of correct answers"))
    values = [one.y for one in series if one.y]
    highest = 1.1 * ceiling(values, TALLEST_PERPLEXITY) if values else None
    axis = Axis("perplexity per token (log scale)", (None, highest), log_from=0, in_full=True)
    return Panel("Validation perplexity", series, time, axis)


def ceiling(curves: Iterable[Sequence[float]], times: float) -> float:
    """Return the height up to which falling curves are worth showing: so many times the lowest value of each.

    A model may explode at the start and recover; that must not flatten all that follows, here or of others.
    """
    return max(min(max(values), times * min(values)) for values in curves)


COLUMNS: dict[str, pa.DataType] = {"step": pa.int64(), "suite": pa.string(), "accuracy": pa.float64()}


def read_error_curves(path: Path) -> pd.DataFrame:
    """Read learning curves, and the accuracies that stand beside them, `NAME.accuracy.parquet`.

    The error of a suite is 1 minus its mean accuracy, each row of the table counted once.

    Returns:
        One row a moment, suite by suite: `model`, `suite`, `training_loss` (nats a token), `error`.
    """
    curves = read_curves(path)
    losses = dict(zip(curves.get("step", ()), curves[LOSSES[0]], strict=False))
    rows = _read_beside(path, COLUMNS)
    means = rows.group_by(["suite", "step"], use_threads=False).aggregate([("accuracy", "mean")]).to_pylist()
    found: dict[str, list[tuple[str, str, float, float]]] = {}
    for mean in sorted(means, key=lambda row: row["step"] or 0):
        loss, accuracy, suite = losses.get(mean["step"]), mean["accuracy_mean"], mean["suite"] or ""
        if not pd.isna(loss) and accuracy is not None:
            found.setdefault(suite, []).append((_name(path), suite, loss, 1 - accuracy))
    if not found:
        raise TrainingError(
            f"{_beside(path)}: no accuracy in this file was measured at a training step for which {path} "
            "has a loss.\n"
            "  Train the model again with tseval train lm --eval-suite SUITE."
        )
    points = [point for own in found.values() for point in own]
    return pd.DataFrame(points, columns=["model", "suite", LOSSES[0], "error"])


def _read_beside(path: Path, columns: Mapping[str, pa.DataType]) -> pa.Table:
    """Read the accuracies that were measured along the training of these curves."""
    beside = _beside(path)
    try:
        return read_parquet(beside, columns, others=False)
    except FileNotFoundError:
        raise TrainingError(
            f"{beside}: this file does not exist. It has the accuracies that --eval-suite measures during "
            "the training.\n"
            "  Train the model again with tseval train lm --eval-suite SUITE."
        ) from None
    except (OSError, ContentError) as error:
        reason = first_line(error)
        raise TrainingError(
            f"{beside}: this file does not have the accuracies that --eval-suite measures during a "
            f"training ({reason}).\n"
            "  Train the model again with tseval train lm --eval-suite SUITE."
        ) from None


def _beside(path: Path) -> Path:
    return path.with_name(f"{_name(path)}.accuracy.parquet")


def error_panels(curves: Sequence[pd.DataFrame]) -> tuple[list[Panel], Look]:
    """Return error against training loss, which falls to the right: a panel for each suite."""
    names = list(dict.fromkeys(one["model"].iloc[0] for one in curves))
    found: dict[str, list[Series]] = {}
    for one in curves:
        for suite, own in one.groupby("suite", sort=False):
            name = own["model"].iloc[0]
            x, y = (own[column].tolist() for column in (LOSSES[0], "error"))
            found.setdefault(str(suite), []).append(Series(names.index(name), name, x, y))
    panels = []
    for suite, series in found.items():
        lowest, highest = min(min(one.x) for one in series), ceiling([one.x for one in series], TALLEST)
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
    """Read learning curves, and what was measured of a formal language along them.

    Returns:
        `model`, `epoch`, `n_seeds`, then `string_loss` and `headline_error`, each a mean over seeds, with
        `string_loss_spread` and `headline_error_spread`, the standard deviation between these; `suite`.
    """
    frames = []
    for path in paths:
        curves = read_curves(path)
        epochs = dict(zip(curves["step"], curves.get("epoch", ()), strict=False))
        rows = _read_beside(path, STRING_COLUMNS).to_pandas().dropna(subset=list(MEASURES))
        if rows.empty:
            raise TrainingError(
                f"{path}: the model was not evaluated on a formal language during its training.\n"
                "  Train the model again with --eval-suite LANGUAGE, such as --eval-suite "
                "'generalised_dyck()'."
            )
        frames.append(rows.assign(epoch=rows["step"].map(epochs), model=without_seed(_name(path))))
    rows = pd.concat(frames, ignore_index=True).dropna(subset="epoch")
    if len(suites := sorted(rows["suite"].unique())) > 1:
        raise TrainingError(
            f"the models were evaluated on several formal languages ({', '.join(suites)}), but one figure "
            "shows only one. Draw one figure for each language."
        )
    groups = rows.groupby(["model", "epoch"], sort=False)
    found = groups.size().rename("n_seeds").to_frame()
    for name in MEASURES:
        found[name] = groups[name].mean()
        found[f"{name}_spread"] = groups[name].std()
    return found.reset_index().astype({"epoch": "int64"}).assign(suite=suites[0])


def string_panels(rows: pd.DataFrame) -> tuple[list[Panel], Look]:
    """Return loss on strings and error by epoch, and error against loss."""
    series: tuple[list[Series], list[Series], list[Series]] = [], [], []
    by_loss, by_error, both = series
    for index, (name, own) in enumerate(rows.groupby("model", sort=False)):
        style = {"markevery": max(1, len(own) // MARKED)}
        epochs, loss, error = (own[column].tolist() for column in ("epoch", *MEASURES))
        for measure, by_epoch in zip(MEASURES, series[:2], strict=True):
            around = own[f"{measure}_spread"].fillna(0)
            values = ((own[measure] + sign * around).tolist() for sign in (0, -1, 1))
            by_epoch.append(Series(index, str(name), epochs, *values, style=style))
        both.append(Series(index, str(name), loss, error, style=style))
    epoch, falling = Axis("epoch", most=9), Axis("loss on test strings, falling", falling=True)
    panels = [
        Panel("Loss on test strings", by_loss, epoch, Axis("nats per symbol")),
        Panel(f"Error on {rows['suite'].iloc[0]}", by_error, epoch, _up_from_zero(by_error)),
        Panel("Error against loss", both, falling, _up_from_zero(both), rings=True),
    ]
    return panels, STRINGS if len(by_loss) <= 2 * MOST_TOGETHER else replace(STRINGS, legend="")


def _up_from_zero(series: Sequence[Series]) -> Axis:
    """Return the axis of errors, with all bands on it."""
    highest = max(value for one in series for value in one.high or one.y)
    return Axis("error", (0, (1 + MARGIN) * highest or 1))
