"""What models learn of a formal language by epochs: loss on its strings, and the error its paper reports.

After Figures 2a, 3a, 3c and 3d of Bernardy & Lappin 2022. Trainings whose names end in `-seed1`, `-seed2` and
so on are one line: their mean, with the standard deviation between seeds on either side.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from tseval.errors import TrainingError, first_line, shortened
from tseval.formats import ContentError
from tseval.report.figures import (
    BEHIND,
    GREY,
    MOST_TOGETHER,
    add_legend,
    ceiling,
    colour,
    in_families,
    marker,
    name_lines,
    new_figure,
    set_title,
    without_seed,
    write_figure,
)
from tseval.tables import read_parquet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WATCHED = re.compile(r"(?P<name>\D+)_(?P<layer>\d+)")
CURVES_SUFFIX = ".curves"
LOSS, GOAL = "loss", "goal"  # panels, besides those of watched scalars
SHOWN_LOSSES = "training_loss", "validation_loss"
TALLEST, TALLEST_PERPLEXITY = 1.6, 5.0  # times its best value, up to which a curve is shown
LABEL_HEIGHT = 0.075  # least distance of two names, as a share of the axis
DASHES = ((1.0, 0.0), (5.0, 1.5), (1.2, 1.2), (6.0, 1.5, 1.2, 1.5), (3.0, 3.0))  # strokes and gaps, by layer


@dataclass(frozen=True, slots=True)
class TrainingKind:
    """What the curves of one kind of model show.

    Attributes:
        model: The kind, for messages.
        time: Column that the curves run along, the number it is divided by, and its name.
        loss: What the loss is measured in.
        goal: Column of what a validation is judged by.
    """

    model: str
    time: tuple[str, float, str]
    loss: str
    goal: str

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns without which there is nothing to draw."""
        return self.time[0], "training_loss", "validation_loss", self.goal


LANGUAGE_MODEL = TrainingKind(
    "a language model",
    time=("tokens", 1e6, "training tokens (millions)"),
    loss="nats per token",
    goal="validation_perplexity",
)
CLASSIFIER = TrainingKind(
    "a classifier", time=("epoch", 1, "epochs"), loss="nats per example", goal="validation_accuracy"
)


@dataclass(frozen=True, slots=True)
class Curves:
    """The learning curves of one model.

    Attributes:
        name: For the legend; text from outside.
        columns: What was written along the training, column by column; None where nothing was measured.
    """

    name: str
    columns: Mapping[str, Sequence[float | None]]

    @property
    def kind(self) -> TrainingKind:
        """What kind of model it is of."""
        return CLASSIFIER if CLASSIFIER.goal in self.columns else LANGUAGE_MODEL

    def points(self, column: str) -> tuple[list[float], list[float]]:
        """Give the moments of training, in the kind's unit, and values of a column, where it has any."""
        name, unit, _ = self.kind.time
        pairs = zip(self.columns[name], self.columns[column], strict=True)
        known = [(x / unit, y) for x, y in pairs if x is not None and y is not None and math.isfinite(x + y)]
        return [x for x, _ in known], [y for _, y in known]

    def layers(self, watched: str) -> dict[int, str]:
        """Map the layers that a watched scalar has to their columns."""
        found = {column: WATCHED.fullmatch(column) for column in self.columns}
        return {int(m["layer"]): column for column, m in found.items() if m and m["name"] == watched}


def read_curves(path: Path) -> Curves:
    """Read the learning curves of a model; its name is that of the file.

    Raises:
        TrainingError: If the file is missing or holds something else.
    """
    try:
        table = read_parquet(path, {})
        columns = {name: table[name].cast(pa.float64()).to_pylist() for name in table.column_names}
    except FileNotFoundError:
        raise TrainingError(f"{path}: no such file of learning curves") from None
    except (pa.ArrowException, OSError, ContentError) as error:
        reason = shortened(first_line(error), 150)
        raise TrainingError(f"{path}: cannot be read as learning curves ({reason})") from None
    curves = Curves(path.stem.removesuffix(CURVES_SUFFIX), columns)
    if missing := [needed for needed in curves.kind.needed if needed not in columns]:
        raise TrainingError(f"{path}: no learning curves of tseval: there is no column {missing[0]!r}")
    return curves


def curve_numbers(curves: Sequence[Curves]) -> pd.DataFrame:
    """Give learning curves as one table.

    Returns:
        One row a point: `model`, then what was written along the training. The seconds are left out: the same
        training takes others each time.
    """
    frames = [pd.DataFrame({"model": one.name, **one.columns}) for one in curves]
    # `read_curves` makes floats of all; steps and tokens are whole again.
    return pd.concat(frames, ignore_index=True).drop(columns="seconds", errors="ignore").convert_dtypes()


def write_curves_figure(curves: Sequence[Curves], paths: Sequence[Path]) -> None:
    """Draw learning curves into files, SVG or PNG by their names. The same curves give the same SVG.

    Raises:
        TrainingError: If matplotlib is not installed, a file has another ending, or the curves are of
            different kinds of model.
        OSError: If a file cannot be written.
    """
    for one in curves:
        if one.kind != curves[0].kind:
            raise TrainingError(
                f"{one.name} is {one.kind.model}, {curves[0].name} {curves[0].kind.model}: draw them apart"
            )
    write_figure(lambda: draw_curves(curves), paths, TrainingError)


def draw_curves(curves: Sequence[Curves]) -> Figure:
    """Draw a panel for each watched scalar, one for the losses and one for perplexity or accuracy.

    Few models share the panels and a legend. Of many, each family has a row of its own, with the others grey
    behind it and names at the ends of lines.
    """
    families = in_families([one.name for one in curves])
    few = len(families) == 1
    watched = sorted({m["name"] for one in curves for c in one.columns if (m := WATCHED.fullmatch(c))})
    kinds = [*watched, LOSS, GOAL] if few else [GOAL, LOSS, *watched]
    figure = new_figure(3.6 * len(kinds) + (0.4 if few else 1.6), 3.9 if few else 3.1 * len(families) + 0.6)
    grid = figure.subplots(len(families), len(kinds), squeeze=False)
    for row, (family, places) in zip(grid, families, strict=True):
        own = [curves[place] for place in places]
        others = [one for place, one in enumerate(curves) if place not in places]
        for axes, kind in zip(row, kinds, strict=True):
            if kind in watched and not few and not any(one.layers(kind) for one in own):
                axes.remove()  # nothing to see of this family
                continue
            _draw_panel(axes, kind, own, others)
            if family:
                axes.set_title(f"{family}: {axes.get_title('left') or axes.get_title()}")
                name_lines(axes, _ends(own, kind), LABEL_HEIGHT)
    _explain(figure, curves, watched, named=few)
    return figure


def _draw_panel(axes: Axes, kind: str, own: Sequence[Curves], others: Sequence[Curves]) -> None:
    """Draw one kind of curve of some models, and grey that of the others."""
    training = own[0].kind
    for one in others:
        for column in _columns(one, kind):
            axes.plot(*one.points(column), color=BEHIND, linewidth=1, zorder=1)
    if kind == LOSS:
        _draw_losses(axes, own, others)
    elif kind != GOAL:
        _draw_watched(axes, own, kind)
    elif training is CLASSIFIER:
        _draw_accuracy(axes, own)
    else:
        _draw_perplexity(axes, own, others)
    axes.set_xlabel(training.time[2])
    axes.set_xlim(left=0)


def _columns(one: Curves, kind: str) -> list[str]:
    """Name the columns that a panel shows of a model."""
    if kind in (LOSS, GOAL):
        return ["validation_loss" if kind == LOSS else one.kind.goal]
    return list(one.layers(kind).values())


def _ends(own: Sequence[Curves], kind: str) -> list[tuple[float, str, int | None]]:
    """Say where the lines of a panel end, and what they are called."""
    ends: list[tuple[float, str, int | None]] = []
    for index, one in enumerate(own):
        for column in _columns(one, kind):
            if values := one.points(column)[1]:
                ends.append((values[-1], one.name, index))
    return ends


def _draw_watched(axes: Axes, curves: Sequence[Curves], name: str) -> None:
    for index, one in enumerate(curves):
        for layer, column in one.layers(name).items():
            axes.plot(*one.points(column), color=colour(index), linestyle=_dash(layer), linewidth=1.8)
    if name == "alpha":
        axes.set_title("Decay rate α of each layer")
        axes.set_ylabel("α, share of the state that is kept")
        axes.set_ylim(0, 1)
    else:
        set_title(axes, name)


def _draw_losses(axes: Axes, curves: Sequence[Curves], others: Sequence[Curves]) -> None:
    for index, one in enumerate(curves):
        axes.plot(*one.points("training_loss"), color=colour(index), linewidth=1, alpha=0.45)
        _plot_validations(axes, one, "validation_loss", index)
    validated = [one for one in (*curves, *others) if one.points("validation_loss")[1]]
    # Each by its own lowest value: a classifier's training loss falls far below that of validation.
    shown = [y for one in validated for column in SHOWN_LOSSES if (y := one.points(column)[1])]
    if shown:
        lowest, highest = min(map(min, shown)), ceiling(shown, TALLEST)
        margin = 0.05 * (highest - lowest)
        axes.set_ylim(lowest - margin, highest + margin)
    axes.set_title("Loss")
    axes.set_ylabel(curves[0].kind.loss)


def _draw_accuracy(axes: Axes, curves: Sequence[Curves]) -> None:
    for index, one in enumerate(curves):
        _plot_validations(axes, one, CLASSIFIER.goal, index)
    axes.set_title("Validation accuracy")
    axes.set_ylabel("share of right answers")


def _draw_perplexity(axes: Axes, curves: Sequence[Curves], others: Sequence[Curves]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter  # noqa: PLC0415 - an optional dependency

    for index, one in enumerate(curves):
        _plot_validations(axes, one, LANGUAGE_MODEL.goal, index)
    axes.set_title("Validation perplexity")
    axes.set_ylabel("perplexity per token (log scale)")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if shown := [values for one in (*curves, *others) if (values := one.points(LANGUAGE_MODEL.goal)[1])]:
        high = min(high, 1.1 * ceiling(shown, TALLEST_PERPLEXITY))
        axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high > 20 * low else (1, 1.5, 2, 3, 5, 7)))
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())


def _plot_validations(axes: Axes, one: Curves, column: str, index: int) -> None:
    shade, mark = colour(index), marker(index)
    axes.plot(*one.points(column), color=shade, linewidth=1.6, marker=mark, markersize=3.5)


def _dash(layer: int) -> tuple[float, tuple[float, ...]]:
    return 0.0, DASHES[(layer - 1) % len(DASHES)]


def _explain(figure: Figure, curves: Sequence[Curves], watched: Sequence[str], named: bool) -> None:
    """Say below the panels which line is what, and, where they are `named` here, which is whose."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - an optional dependency

    entries = [
        (Line2D([], [], color=colour(i), marker=marker(i), markersize=4), one.name)
        for i, one in enumerate(curves)
        if named
    ]
    layers = sorted({layer for one in curves for name in watched for layer in one.layers(name)})
    entries += [(Line2D([], [], color=GREY, linestyle=_dash(n)), f"layer {n}") for n in layers]
    entries += [
        (Line2D([], [], color=GREY, linewidth=1, alpha=0.45), "training"),
        (Line2D([], [], color=GREY, marker="o", markersize=4), "validation"),
    ]
    add_legend(figure, entries, min(len(entries), 8), stroke=2.6)


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


LOSS_ON_STRINGS, ERROR_OF_PAPER = "string_loss", "headline_error"
_MEASURED = (LOSS_ON_STRINGS, ERROR_OF_PAPER)
MARKED = 16  # epochs with a marker, of many
_COLUMNS: dict[str, pa.DataType] = {
    "step": pa.int64(), "suite": pa.string(), **dict.fromkeys(_MEASURED, pa.float64())
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StringCurves:
    """Models along their trainings.

    Attributes:
        suite: Name of the language; text from outside.
        rows: `model`, `epoch`, `n_seeds`, then `string_loss` and `headline_error`, each a mean over seeds,
            with `string_loss_spread` and `headline_error_spread`, the standard deviation between these.
    """

    suite: str
    rows: pd.DataFrame


def read_string_curves(paths: Sequence[Path]) -> StringCurves:
    """Read learning curves, and what was measured of a formal language along them.

    Args:
        paths: `NAME.curves.parquet`, each with `NAME.accuracy.parquet` in its folder.

    Raises:
        TrainingError: A file is missing or holds something else, or the trainings are of several languages.
    """
    frames = []
    for path in paths:
        curves = read_curves(path)
        epochs = dict(zip(curves.columns["step"], curves.columns.get("epoch", ()), strict=False))
        rows = read_beside(path, _COLUMNS).to_pandas().dropna(subset=list(_MEASURED))
        if rows.empty:
            raise TrainingError(
                f"{path}: nothing of a formal language was measured along this training.\n"
                "  tseval train lm does with --eval-suite 'generalised_dyck()' or another one."
            )
        frames.append(rows.assign(epoch=rows["step"].map(epochs), model=without_seed(curves.name)))
    rows = pd.concat(frames, ignore_index=True).dropna(subset="epoch")
    if len(suites := sorted(rows["suite"].unique())) > 1:
        raise TrainingError(
            f"these trainings are of several languages ({', '.join(suites)}): draw them apart"
        )
    groups = rows.groupby(["model", "epoch"], sort=False)
    found = groups.size().rename("n_seeds").to_frame()
    for name in _MEASURED:
        found[name] = groups[name].mean()
        found[f"{name}_spread"] = groups[name].std()
    return StringCurves(suites[0], found.reset_index().astype({"epoch": "int64"}))


def write_string_figure(curves: StringCurves, path: Path) -> None:
    """Draw loss and error by epoch, and error against loss.

    Raises:
        TrainingError: If matplotlib is not installed, or the file is neither SVG nor PNG.
        OSError: If the file cannot be written.
    """
    write_figure(lambda: draw_strings(curves), [path], TrainingError)


def draw_strings(curves: StringCurves) -> Figure:
    """Draw the three panels. A ring marks where a model ends."""
    figure = new_figure(12.6, 3.9)
    by_loss, by_error, both = figure.subplots(1, 3)
    ends: list[list[tuple[float, str, int | None]]] = [[], [], []]
    for index, (name, own) in enumerate(curves.rows.groupby("model", sort=False)):
        epochs, loss, error = (own[column].tolist() for column in ("epoch", *_MEASURED))
        every = max(1, len(own) // MARKED)
        shade = colour(index)
        look = {"marker": marker(index), "markevery": every, "markersize": 3.5, "linewidth": 1.6}
        for axes, values, column in ((by_loss, loss, LOSS_ON_STRINGS), (by_error, error, ERROR_OF_PAPER)):
            axes.plot(epochs, values, color=shade, **look)
            around = own[f"{column}_spread"].fillna(0)
            axes.fill_between(
                epochs, own[column] - around, own[column] + around, color=shade, alpha=0.13, linewidth=0
            )
        both.plot(loss, error, color=shade, **look)
        both.plot(loss[-1:], error[-1:], "o", markersize=9, fillstyle="none", color=shade)
        for place, value in enumerate((loss[-1], error[-1], error[-1])):
            ends[place].append((value, str(name), index))
    _finish(by_loss, "Loss on test strings", "epoch", "nats per symbol", ends[0])
    _finish(by_error, f"Error on {curves.suite}", "epoch", "error", ends[1])
    both.invert_xaxis()
    _finish(both, "Error against loss", "loss on test strings, falling", "error", ends[2])
    return figure


def _finish(
    axes: Axes, title: str, x_label: str, y_label: str, ends: Sequence[tuple[float, str, int | None]]
) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - an optional dependency

    set_title(axes, title)
    if x_label == "epoch":
        axes.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=True))
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if y_label == "error":
        axes.set_ylim(0, (1 + MARGIN) * axes.get_ylim()[1])
    if len(ends) <= 2 * MOST_TOGETHER:
        name_lines(axes, ends, LABEL_HEIGHT)
