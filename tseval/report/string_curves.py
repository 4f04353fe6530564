"""What models learn of a formal language by epochs: loss on its strings, and the error its paper reports.

After Figures 2a, 3a, 3c and 3d of Bernardy & Lappin 2022. Trainings whose names end in `-seed1`, `-seed2` and
so on are one line: their mean, with the standard deviation between seeds on either side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from tseval.errors import TrainingError
from tseval.report.curves import LABEL_HEIGHT, read_curves
from tseval.report.error_curves import MARGIN, read_beside
from tseval.report.families import MOST_TOGETHER, without_seed
from tseval.report.figures import colour, marker, name_lines, new_figure, set_title, write_figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
