"""`tseval train curves`: draw learning curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pandas as pd

from tseval.cli.groups import Command
from tseval.cli.options import FILE
from tseval.cli.progress import busy
from tseval.errors import TrainingError
from tseval.files import write_text
from tseval.report.curves import curve_numbers, read_curves, write_curves_figure
from tseval.report.error_curves import error_panels, read_error_curves, read_string_curves, string_panels
from tseval.report.figures import write_figure

if TYPE_CHECKING:
    from pathlib import Path


@click.command(cls=Command)
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "-o", "--out", type=FILE, required=True, help="File in which to draw the figure: .svg, .pdf or .png."
)
@click.option(
    "--error",
    is_flag=True,
    help="Draw the error on the suite of --eval-suite (vertical axis) "
    "against the training loss (horizontal axis).",
)
@click.option("--strings", is_flag=True,
              help="For models of a formal language: draw the loss, and the error on the suite of "
                   "--eval-suite, for each epoch. Files whose names end in -seed1, -seed2, ... become one "
                   "line.")  # fmt: skip
@click.option(
    "--numbers", type=FILE, help="CSV file in which to write the numbers of the figure (default: none)."
)
def curves_command(
    files: tuple[Path, ...], out: Path, error: bool, strings: bool, numbers: Path | None
) -> None:
    """Draw the learning curves of several models into one figure."""
    if error and strings:
        raise click.UsageError(
            "--error and --strings draw two different figures. Leave out --error or --strings."
        )
    with busy("drawing"):
        if strings:
            by_epoch = read_string_curves(files)
            write_figure(*string_panels(by_epoch), [out], TrainingError)
            rows = by_epoch.drop(columns="suite")
        elif error:
            by_loss = [read_error_curves(path) for path in files]
            write_figure(*error_panels(by_loss), [out], TrainingError)
            rows = pd.concat(by_loss)
        else:
            learning = [read_curves(path) for path in files]
            write_curves_figure(learning, [out])
            rows = curve_numbers(learning)
        if numbers:
            write_text(numbers, rows.to_csv(index=False))
