"""`tseval check-model`."""

from __future__ import annotations

import json
import sys
from typing import TextIO

import click

from tseval.cli.model_options import MODEL_ARGS, open_chosen
from tseval.cli.options import DEVICE, FiniteRange, read_open_text
from tseval.cli.progress import progress_bar


@click.command(help="Check that a model's numbers can be believed: the same in any batch, finite, and more.")
@click.argument("spec")
@MODEL_ARGS
@DEVICE
@click.option("--sentences", "file", type=click.File(encoding="utf-8", errors="strict"),
              help="Text to check with, tokenised, one sentence a line, of words that the model knows; "
                   "else 288 English sentences.")  # fmt: skip
@click.option("--tolerance", type=FiniteRange(min=0), default=1e-3, show_default=True,
              help="Largest difference, in nats, between numbers that should be equal.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def check_model_command(
    spec: str, model_args: str, device: str, file: TextIO | None, tolerance: float, as_json: bool
) -> None:
    """Check the model SPEC, a checkpoint or SCHEME:REST; exit with 1 if anything fails."""
    sentences = None if file is None else [line for line in read_open_text(file).splitlines() if line.strip()]
    model = open_chosen(spec, model_args, device)
    from tseval.testing import check_model

    with progress_bar(f"checking {spec}") as progress:
        report = check_model(model, sentences, tolerance=tolerance, progress=progress)
    click.echo(json.dumps(report.to_mapping(), indent=2, ensure_ascii=False) if as_json else str(report))
    if not report.ok:
        sys.exit(1)
