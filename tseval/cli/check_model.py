"""`tseval check-model`: check that a model keeps its promises."""

from __future__ import annotations

import json
import sys
from typing import TextIO

import click

from tseval.cli.groups import Command
from tseval.cli.model_options import DEVICE, MODEL_ARGS, open_chosen
from tseval.cli.names import MODEL
from tseval.cli.options import FiniteRange
from tseval.cli.printing import print_hanging
from tseval.cli.progress import progress_bar
from tseval.cli.texts import read_open_text


@click.command(
    cls=Command,
    help="Check a model: the same scores in any batch, no look-ahead to later words, finite "
    "scores, bounded memory.",
)
@click.argument("spec", type=MODEL)
@MODEL_ARGS
@DEVICE
@click.option("--sentences", "file", type=click.File(encoding="utf-8", errors="strict"),
              help="File with the sentences for the check: tokenised, one a line, with words that the "
                   "model knows (default: 288 English sentences).")  # fmt: skip
@click.option("--tolerance", type=FiniteRange(min=0), default=1e-3, show_default=True,
              help="Largest difference in nats between two log-probabilities that should be equal. A "
                   "larger difference fails the check.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the report in JSON format.")
def check_model_command(
    spec: str, model_args: str, device: str, file: TextIO | None, tolerance: float, as_json: bool
) -> None:
    """Check the model SPEC, a checkpoint or SCHEME:REST; exit with 1 if anything fails."""
    sentences = None if file is None else [line for line in read_open_text(file).splitlines() if line.strip()]
    model = open_chosen(spec, model_args, device)
    from tseval.testing import check_model

    with progress_bar(f"checking {spec}") as progress:
        report = check_model(model, sentences, tolerance=tolerance, progress=progress)
    if as_json:
        click.echo(json.dumps(report.to_mapping(), indent=2, ensure_ascii=False))
    else:
        print_hanging(str(report), 42)
    if not report.ok:
        sys.exit(1)
