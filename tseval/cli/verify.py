"""`tseval verify`: check that the numbers of runs hold."""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tseval.cli.groups import Command
from tseval.cli.model_options import DEVICE, MODEL_ARGS, PROMPT, open_chosen, read_arguments
from tseval.cli.names import MODEL, RUN, SUITE
from tseval.cli.options import Share
from tseval.cli.printing import print_hanging
from tseval.cli.progress import progress_bar
from tseval.errors import LimitError, RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tseval.scoring.protocol import Model
    from tseval.verifying import Verification

    _Verifier = Callable[[Path, Callable[[int, int], None] | None], Verification]


@click.command(cls=Command)
@click.argument("paths", type=RUN, nargs=-1, required=True, metavar="RUN_OR_BOARD...")
@click.option(
    "--suite",
    type=SUITE,
    help="Name or path of the suite that the model was scored on (default: the name in the run).",
)
@click.option(
    "--context",
    metavar="SOURCE",
    help="Name or path of the source of the contexts, as for tseval run (default: the name in the run).",
)
@click.option(
    "--model",
    "spec",
    type=MODEL,
    metavar="MODEL",
    help="Model of the run, with which tseval scores some sentences again and compares the scores "
    "(default: check without a model).",
)
@MODEL_ARGS
@PROMPT
@DEVICE
@click.option("--rescore", "share", type=Share(),
              help="Share of the run's sentences that --model scores again: a percentage, such as 5%, or "
                   "the word all (default: 1%).",
)  # fmt: skip
@click.option(
    "--draw",
    help='Text after "drawn by" in an earlier report, to score the same sentences again as that report '
    "(default: draw new random sentences).",
)
@click.option("--record", metavar="NAME",
              help="If the entries of a leaderboard pass, record in the leaderboard that NAME verified "
                   "them (default: record nothing).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the reports in JSON format.")
def verify_command(
    paths: tuple[str, ...], suite: str | None, context: str | None, spec: str | None, model_args: str,
    prompt: str | None, device: str, share: float | None, draw: str | None, record: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Verify runs: files intact, numbers recomputed from the evidence, scores confirmed by the model.

    Without --model, tseval checks that the files of a run are unchanged and recomputes its numbers from
    the stored per-token scores. With --model, tseval also scores a random share of the sentences again
    and compares the scores. The exit code is 1 if a check fails.
    """
    from tseval.boards.check import record_check
    from tseval.boards.definition import read_definition
    from tseval.runs import ENTRY_FILE

    for option, value in (("--rescore", share), ("--draw", draw)):
        if spec is None and value is not None:
            raise RunError(
                f"{option} is about scoring sentences again, which needs the model of the run. "
                "Add --model MODEL."
            )
    chosen = _runs_and_entries(paths)
    model = (
        None
        if spec is None
        else open_chosen(spec, model_args, device, _claimed_precision(chosen, model_args), prompt=prompt)
    )
    if not chosen:
        click.echo(f"{', '.join(paths)}: no entries", err=True)
    reports = []
    verify = _verifier(suite, context, model, share or 0.01, draw)
    if record is not None:
        _refuse_to_record(chosen)
    boards: set[Path] = set()
    for path in chosen:
        board = path.resolve().parents[1]
        of_a_board = str(path) not in paths and (path / ENTRY_FILE).is_file()
        if of_a_board and not as_json and board not in boards:
            boards.add(board)
            click.echo(f"{board.name}: {read_definition(board).title}")
        with progress_bar(f"verifying {path}") as progress:
            report = verify(path, progress)
        reports.append(report)
        if record is not None and report.ok:
            record_check(path, report, record)
        if not as_json:
            print_hanging(str(report), 14)
    if as_json:
        click.echo(json.dumps([report.to_mapping() for report in reports], indent=2, ensure_ascii=False))
    if not all(report.ok for report in reports):
        sys.exit(1)


def _claimed_precision(paths: Sequence[Path], model_args: str) -> str:
    """Return the precision that the first run states; float32 if --model-args has a precision."""
    from tseval.runs.manifest import load_manifest

    if "precision" in read_arguments(model_args):
        return "float32"
    try:
        return str(load_manifest(paths[0]).key.protocol.get("precision", "float32"))
    except (RunError, LimitError):
        return "float32"  # the verification will report the error


def _refuse_to_record(paths: Sequence[Path]) -> None:
    from tseval.boards.definition import read_definition
    from tseval.runs import ENTRY_FILE

    for path in paths:
        if not (path / ENTRY_FILE).is_file():
            raise RunError(
                f"--record: {path} is not an entry of a leaderboard. Name an entry, BOARD/entries/NAME, or "
                "leave out --record."
            )
        if read_definition(path.resolve().parents[1]).published:
            raise RunError(
                f"--record: {path} has only published accuracies, so there are no scores to verify. Leave "
                "out --record."
            )


def _runs_and_entries(names: tuple[str, ...]) -> list[Path]:
    """List the folders to verify. A board stands for all its entries, a folder for the runs in it."""
    from tseval.boards import ranked_folders
    from tseval.boards.definition import read_definition
    from tseval.boards.sources import boards_below, lacks_evidence, not_shipped
    from tseval.report.published import BUNDLED_BOARDS
    from tseval.runs import runs_below

    paths: list[Path] = []
    for name in names:
        path = Path(name)
        if not path.exists() and (BUNDLED_BOARDS / name).exists():
            path = BUNDLED_BOARDS / name
        boards = boards_below(path)
        for board in boards:
            definition = read_definition(board)
            if not definition.published and lacks_evidence(board):
                raise not_shipped(board)
            entries = ranked_folders(board, definition)
            paths += entries
        if not boards:
            paths += runs_below(path)[0] or [path]
    return paths


def _verifier(
    suite: str | None, context: str | None, model: Model | None, share: float, draw: str | None
) -> _Verifier:
    from tseval.boards.check import board_suite, verify_entry
    from tseval.boards.definition import read_definition
    from tseval.runs import ENTRY_FILE
    from tseval.verifying import verify_run

    suite_of_board = lru_cache(maxsize=1)(board_suite)  # enough, because entries are sorted by board

    def verify(path: Path, progress: Callable[[int, int], None] | None) -> Verification:
        if not (path / ENTRY_FILE).is_file():
            return verify_run(
                path, suite=suite, context=context, model=model, share=share, draw=draw, progress=progress
            )
        board = path.resolve().parents[1]
        split = None if read_definition(board).published else suite_of_board(board)
        return verify_entry(path, suite=split, model=model, share=share, draw=draw, progress=progress)

    return verify
