"""`tseval verify`."""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tseval.cli.model_options import MODEL_ARGS, open_chosen
from tseval.cli.options import DEVICE
from tseval.cli.progress import progress_bar
from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tseval.scoring.protocol import Model
    from tseval.verifying import Verification

    _Verifier = Callable[[Path, Callable[[int, int], None] | None], Verification]


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
@click.argument("paths", nargs=-1, required=True, metavar="RUN_OR_BOARD...")
@click.option("--suite", help="Where the suite is; else the name that the run states.")
@click.option("--model", "spec", help="Ask the model again: checkpoint, or SCHEME:REST.")
@MODEL_ARGS
@DEVICE
@click.option("--rescore", "share", type=Share(),
              help="How many sentences the model is asked about: 1% (default) to all.",
)  # fmt: skip
@click.option("--draw", help="Ask about the sentences that a report drew, which names this; else drawn anew.")
@click.option("--json", "as_json", is_flag=True, help="Print the reports as JSON.")
def verify_command(
    paths: tuple[str, ...], suite: str | None, spec: str | None, model_args: str, device: str,
    share: float | None, draw: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Check that runs are whole, follow from suite and evidence, and can be.

    With --model the model is asked again about a share of the sentences, drawn anew. Exits with 1 if anything
    is wrong.
    """
    for option, given in (("--rescore", share), ("--draw", draw)):
        if spec is None and given is not None:
            raise RunError(f"{option} needs the model: name it with --model")
    model = None if spec is None else open_chosen(spec, model_args, device)
    reports = []
    verify = _verifier(suite, model, share or 0.01, draw)
    for path in _runs_and_entries(paths):
        with progress_bar(f"verifying {path}") as progress:
            report = verify(path, progress)
        reports.append(report)
        if not as_json:
            click.echo(str(report))
    if as_json:
        click.echo(json.dumps([report.to_mapping() for report in reports], indent=2, ensure_ascii=False))
    if not all(report.ok for report in reports):
        sys.exit(1)


def _runs_and_entries(names: tuple[str, ...]) -> list[Path]:
    """List what is to be verified; a board stands for all its entries."""
    from tseval.boards import DEFINITION, entry_folders, read_definition
    from tseval.boards.sources import lacks_evidence, not_shipped
    from tseval.report.table import BUNDLED_BOARDS

    found: list[Path] = []
    for name in names:
        path = Path(name)
        if not path.exists() and (BUNDLED_BOARDS / name).exists():
            path = BUNDLED_BOARDS / name
        if (path / DEFINITION).is_file():
            definition = read_definition(path)
            if not definition.published and lacks_evidence(path):
                raise not_shipped(path)
            found += entry_folders(path, definition.order)
        else:
            found.append(path)
    return found


def _verifier(suite: str | None, model: Model | None, share: float, draw: str | None) -> _Verifier:
    """Make what verifies a run or an entry; the suite of a board is expanded once for all its entries."""
    from tseval.boards import ENTRY_FILE, read_definition
    from tseval.boards.check import board_suite, verify_entry
    from tseval.verifying import verify_run

    suite_of_board = lru_cache(maxsize=1)(board_suite)  # the entries of a board follow one another

    def verify(path: Path, progress: Callable[[int, int], None] | None) -> Verification:
        if not (path / ENTRY_FILE).is_file():
            return verify_run(path, suite=suite, model=model, share=share, draw=draw, progress=progress)
        board = path.resolve().parents[1]
        split = None if read_definition(board).published else suite_of_board(board)
        return verify_entry(path, suite=split, model=model, share=share, draw=draw, progress=progress)

    return verify
