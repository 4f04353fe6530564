"""Scatter plots: a dot for each sentence, its score from left to right, its rating upwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.report.figures import LONGEST, colour, new_figure, set_title
from tseval.report.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 3.4, 3.2  # inches of a panel
_ACROSS = 3  # panels beside each other
_MANY = 300  # of more dots each is smaller and lets others through


@dataclass(frozen=True, slots=True)
class ScatterPanel:
    """One set of axes.

    Attributes:
        name: Of the model, above it; text from outside.
        said: What stands behind the name.
        x: Of each sentence, its score.
        y: Its rating.
        errors: The standard error of that, 0 where it is not known.
    """

    name: str
    said: str
    x: Sequence[float]
    y: Sequence[float]
    errors: Sequence[float]


def draw_scatter(panels: Sequence[ScatterPanel], x_label: str, y_label: str) -> Figure:
    """Draw one panel for each model, over one axis of ratings; standard errors as thin lines."""
    across = min(_ACROSS, len(panels))
    down = -(-len(panels) // across)
    figure = new_figure(_WIDTH * across + 0.4, _HEIGHT * down)
    grid = figure.subplots(down, across, squeeze=False, sharey=True)
    for place, axes in enumerate(grid.flat):
        if place >= len(panels):
            axes.remove()
            continue
        panel, shade = panels[place], colour(place)
        size, alpha = (14, 0.75) if len(panel.x) <= _MANY else (5, 0.4)
        if any(panel.errors):
            low, high = (
                [y + sign * e for y, e in zip(panel.y, panel.errors, strict=True)] for sign in (-1, 1)
            )
            axes.vlines(panel.x, low, high, color=shade, linewidth=0.6, alpha=0.4)
        axes.scatter(panel.x, panel.y, s=size, color=shade, alpha=alpha, linewidths=0)
        set_title(axes, f"{plain(panel.name)[:LONGEST]}{panel.said}", 2 * LONGEST)
        axes.set_xlabel(x_label)
        if place % across == 0:
            axes.set_ylabel(y_label)
    return figure
