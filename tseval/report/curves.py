"""Learning curves as a figure: the decay rate of each layer, loss and perplexity or accuracy over training.

After Figure 5 of Bhatt et al. 2020, which shows the decay rate alone.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from tseval.checked import ContentError
from tseval.errors import TrainingError, first_line, shortened
from tseval.parquet import read_parquet
from tseval.report.families import in_families
from tseval.report.figures import (
    BEHIND,
    GREY,
    add_legend,
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
