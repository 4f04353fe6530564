"""`tseval verify`."""

from __future__ import annotations

import json
import sys

import click

from tseval.cli.model_options import MODEL_ARGS, open_chosen
from tseval.cli.options import DEVICE
from tseval.cli.progress import progress_bar
from tseval.errors import RunError


class Share(click.ParamType[float]):
    """A share of sentences: `1%`, `0.5%` or `all`."""

    name = "SHARE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a share; 1 for all."""
        if isinstance(value, float):
            return value
        text = str(value)
        try:
            share = 1.0 if text == "all" else float(text.removesuffix("%")) / (100 if text[-1:] == "%" else 0)
        except (ValueError, ZeroDivisionError):
            share = 0.0
        if not 0 < share <= 1:
            self.fail(f"{text!r} is no share: write 1%, 0.5% or all", param, ctx)
        return share


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--suite", help="Where the suite is; else the name that the run states.")
@click.option("--model", "spec", help="Ask the model again: checkpoint, or SCHEME:REST.")
@MODEL_ARGS
@DEVICE
@click.option("--rescore", "share", type=Share(),
              help="How many sentences the model is asked about, chosen by hash: 1% (default) to all.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the reports as JSON.")
def command(
    runs: tuple[str, ...], suite: str | None, spec: str | None, model_args: str, device: str,
    share: float | None, as_json: bool,
) -> None:  # fmt: skip
    """Check that runs are whole, follow from suite and evidence, and can be.

    With --model the model is asked again about a share of the sentences that nobody could choose. Exits with
    1 if anything is wrong.
    """
    from tseval.verifying import verify_run

    if spec is None and share is not None:
        raise RunError("--rescore needs the model: name it with --model")
    model = None if spec is None else open_chosen(spec, model_args, device)
    reports = []
    for run in runs:
        with progress_bar(f"asking {spec} about {run}") as progress:
            report = verify_run(run, suite=suite, model=model, share=share or 0.01, progress=progress)
        reports.append(report)
        if not as_json:
            click.echo(str(report))
    if as_json:
        click.echo(json.dumps([report.to_mapping() for report in reports], indent=2, ensure_ascii=False))
    if not all(report.ok for report in reports):
        sys.exit(1)
