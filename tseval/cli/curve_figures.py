"""Draw the learning curves of a model into files next to its checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.cli.progress import busy
from tseval.errors import TsevalError
from tseval.report.curves import read_curves, write_curves_figure
from tseval.training.curves import curves_path

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console


def draw_curves(out: Path, console: Console) -> None:
    """Draw the curves of a model next to it. An error is printed and does not stop the training command."""
    try:
        with busy("drawing", console.quiet):
            write_curves_figure([read_curves(curves_path(out))], figures_of(out))
    except (TsevalError, OSError) as error:
        console.out(f"no figure: {error}")


def figures_of(out: Path) -> list[Path]:
    """Return the paths of the figures of a checkpoint's curves, in the order in which they are written."""
    return [curves_path(out).with_suffix(ending) for ending in (".svg", ".png")]
