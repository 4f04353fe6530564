"""`tseval board`: leaderboards as folders."""

from __future__ import annotations

import sys
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from tseval.cli.groups import Group
from tseval.cli.model_options import DEVICE, open_chosen
from tseval.cli.names import SUITE
from tseval.cli.options import COLUMNS_OPTION, CONFIDENCE, COUNT, FILE, SCORE_NAMES, Share, take_all
from tseval.cli.progress import progress_bar
from tseval.errors import ModelError, first_line

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.questions import Score
    from tseval.runs.board_suite import SplitSuite


@click.group(
    cls=Group,
    purposes={
        "Submit": ("submit",),
        "Maintain": ("new", "add", "check", "rescore", "retract", "rename", "hidden", "renew"),
        "Publish": ("write", "build"),
    },
)
def board_command() -> None:
    """Create and maintain leaderboards: folders of entries that anyone can check."""


@board_command.command("new")
@click.argument("board", type=FILE)
@click.option("--suite", "suites", type=SUITE, required=True, multiple=True,
              help="Suite of the leaderboard: its name or path. Repeatable, but only together "
                   "with --repository.")  # fmt: skip
@click.option("--title", help="Title at the top of the leaderboard (default: the title of the suite).")
@click.option(
    "--score",
    type=SCORE_NAMES,
    help="Method of scoring, such as sentence (all words) or critical (the first different word). tseval run "
    "--help explains the methods (default: the published method of the suite).",
)
@click.option("--prompt", metavar="NAME or FILE",
              help="Question to every model, if the leaderboard has --score prompt. The values are those "
                   "of tseval run --prompt (default: grammatical).")  # fmt: skip
@COLUMNS_OPTION
@click.option("--evidence", metavar="URL",
              help="Web address of the files with the per-token scores of entries, such as "
                   "https://example.org/{sha256}.parquet. tseval replaces {sha256} by the digest of each "
                   "file (default: store the files inside the leaderboard).",
)  # fmt: skip
@click.option("--repository", is_flag=True,
              help="Make BOARD a git repository with one leaderboard for each --suite, and with automatic "
                   "checks for pull requests.")  # fmt: skip
def new(
    board: Path, suites: tuple[str, ...], title: str | None, score: Score | None,
    columns: dict[str, str] | None, evidence: str | None, repository: bool, prompt: str | None,
) -> None:  # fmt: skip
    """Create a leaderboard in a new folder, or a repository of leaderboards with --repository."""
    from tseval.boards.folder import new_board, new_repository

    if len(suites) > 1 and (not repository or title is not None):
        raise click.UsageError(
            f"--suite names {len(suites)} suites, but a leaderboard has only one. To create one "
            "leaderboard for each suite, leave out --title and add --repository."
            if title is None or not repository
            else f"--title names one leaderboard, but {len(suites)} suites need {len(suites)} "
            "leaderboards. Leave out --title, or create the leaderboards one by one."
        )
    if repository:
        boards = new_repository(board, suites, title, score, columns, evidence, prompt=prompt)
    else:
        new_board(board, suites[0], title, score, columns, evidence, prompt=prompt)
        boards = [board]
    for folder in boards:
        click.echo(
            f"{folder}: tseval created this leaderboard. "
            f"To add a run: tseval board add {quote(str(folder))} RUN",
            err=True,
        )


_about = take_all([
    click.option("--model", "spec", metavar="MODEL",
                 help="Model that other people can open: the web address of a file, or KIND:NAME, such as "
                      "hf:gpt2 (default: the model in the run, without its folder)."),
    click.option("--model-args", metavar="KEY=VALUE,...",
                 help="Settings with which others open the model (default: as in the run)."),
    click.option("--name", help="Name of the model in the leaderboard (default: the name in the run)."),
    click.option("--revision", help="Version of the model that was scored, such as a commit or a training "
                                    "step (default: unknown)."),
    click.option("--paper", help="Paper that describes the model: a web address or a reference (default: "
                                 "none)."),
    click.option("--weights", help="Source of the model's weights: a web address, or a sentence that says "
                                   "how to get them (default: unknown)."),
    click.option("--licence", help="Licence of the model's weights, such as Apache-2.0 (default: unknown)."),
    click.option("--training-data", help="Data that the model was trained on (default: unknown)."),
    click.option("--contains-suite", type=click.Choice(["yes", "no", "unknown"]), default="unknown",
                 show_default=True, help="Answer to the question: do the training data of the model "
                                         "contain sentences of the suite? yes, no or unknown."),
    click.option("--seeds-tried", type=COUNT, metavar="N",
                 help="Number of models that you trained with different seeds, this model included "
                      "(default: unknown)."),
    click.option("--submitter", help="Name of the person who submits the entry (default: none)."),
    click.option("--contact", help="Address for questions about the entry, such as an e-mail address "
                                   "(default: none)."),
    click.option("--evidence", "url", metavar="URL",
                 help="Web address (https) at which you will store the per-token scores of the run "
                      "(default: store them inside the leaderboard)."),
])  # fmt: skip


@board_command.command("add")
@click.argument("board", type=FILE)
@click.argument("runs", type=FILE, nargs=-1, required=True, metavar="RUN...")
@_about
@click.option("--replace", metavar="ENTRY",
              help="Name of an entry that the new entry replaces. Its page then redirects to the new "
                   "entry (default: replace none).")  # fmt: skip
def add(
    board: Path, runs: tuple[Path, ...], replace: str | None, **about: str | int | None
) -> None:  # fmt: skip
    """Add runs to a leaderboard, if all of them pass its checks. The options apply to every RUN."""
    _add(board, runs, replace, about)


@board_command.command("submit")
@click.argument("runs", type=FILE, nargs=-1, required=True, metavar="RUN...")
@click.argument("board", type=FILE)
@_about
def submit(runs: tuple[Path, ...], board: Path, **about: str | int | None) -> None:
    """Add runs to your clone of a leaderboard, and print the text for the pull request."""
    from tseval.boards.readme import request_text

    click.echo(request_text(_add(board, runs, None, about)), nl=False)


def _add(board: Path, runs: tuple[Path, ...], instead_of: str | None, about: dict[str, Any]) -> list[Path]:
    from tseval.boards import About, read_entry
    from tseval.boards.entries import add_entries
    from tseval.evidence import stored_evidence
    from tseval.runs.opened import Opened

    spec, arguments, name, url = (about.pop(key) for key in ("spec", "model_args", "name", "url"))
    if arguments is not None and spec is None:
        raise click.UsageError("--model-args has the settings of --model. Add --model MODEL.")
    opened = None if spec is None else Opened(spec, arguments or "")
    folders = add_entries(board, runs, About(**about), name, url, instead_of, opened)
    for folder in folders:
        click.echo(folder, err=True)
        if (evidence := read_entry(folder).evidence) is not None:
            click.echo(f"put {stored_evidence(evidence.sha256)} at {evidence.url}", err=True)
    return folders


@board_command.command("check")
@click.argument("board", type=FILE)
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
@click.option("--changed", "base", metavar="BASE",
              help="Check only what changed since the git commit BASE. Only new entries are allowed. "
                   "Print a summary in Markdown with the new ranks (default: check everything).")  # fmt: skip
def check_board(board: Path, entries: tuple[str, ...], base: str | None) -> None:
    """Check a leaderboard, or some of its entries, and list every problem.

    BOARD is the folder of a leaderboard, or a folder with several. The exit code is 1 if tseval finds a
    problem.
    """
    from tseval.boards.changes import check_changes, summary
    from tseval.boards.check import warnings_of, wrong_with_board
    from tseval.boards.sources import boards_below

    boards = boards_below(board) or [board]
    if base is not None:
        if entries:
            raise click.UsageError(
                "--changed finds the changed entries itself, so you cannot name "
                f"{entries[0]} as well. Leave out the names of entries."
            )
        changes = check_changes(boards, base)
        click.echo(summary(changes), nl=False)
        sys.exit(1 if changes.wrong else 0)
    wrong = False
    for folder in boards:
        problems = wrong_with_board(folder, entries)
        prefix = f"{folder}: " if len(boards) > 1 else ""
        for problem in problems:
            click.echo(f"{prefix}{problem}")
        if not problems:
            for problem in warnings_of(folder, entries):
                click.echo(f"warning: {prefix}{problem}", err=True)
            click.echo(f"{folder}: no problems found")
        wrong = wrong or bool(problems)
    if wrong:
        sys.exit(1)


@board_command.command("rescore")
@click.argument("board", type=FILE)
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
@click.option("--share", type=Share(),
              help="Share of the sentences that each model scores again: a percentage, such as 5%, or the "
                   "word all (default: 1%, and at least 20 sentences).")  # fmt: skip
@click.option("--weights", type=FILE, metavar="DIR",
              help="Folder with weights that you have downloaded: files and folders with the names that the "
                   "entries record (default: none).")  # fmt: skip
@click.option("--record", metavar="NAME", default="tseval board rescore",
              show_default=True,
              help="Name that the leaderboard shows next to the check.")  # fmt: skip
@DEVICE
def rescore_board(
    board: Path, entries: tuple[str, ...], share: float | None, weights: Path | None, record: str, device: str
) -> None:
    """Score a new random sample of each entry's sentences with its model, and record which entries pass.

    An entry passes if the new scores agree with its own. tseval opens each model with the name and the
    arguments that the entry records. BOARD is the folder of a leaderboard or of one entry. At the end, tseval
    lists entries whose weights it cannot get, with the reason. The exit code is 1 if the scores of an entry
    disagree, or if tseval cannot rescore an entry that you named.
    """
    from tseval.boards.check import board_suite, record_check, verify_entry
    from tseval.boards.entry import read_entry
    from tseval.boards.rescoring import (
        NoWeightsError,
        entries_to_rescore,
        find_model,
        share_to_rescore,
    )
    from tseval.runs import ENTRY_FILE

    folders = entries_to_rescore(board, entries)
    reasons: dict[str, str] = {}
    n_wrong = 0
    suites: dict[Path, SplitSuite] = {}
    for folder, entry in [(folder, read_entry(folder)) for folder in folders]:
        parent = folder.resolve().parents[1]
        try:
            source = find_model(entry, weights)
            model = open_chosen(source.model, source.model_args, device)
        except NoWeightsError as error:
            reasons[folder.name] = str(error)
            continue
        except ModelError as error:
            reasons[folder.name] = first_line(error)
            continue
        if parent not in suites:
            suites = {parent: board_suite(parent)}
        with progress_bar(f"rescoring {folder.name}") as progress:
            report = verify_entry(
                folder,
                suite=suites[parent],
                model=model,
                share=share or share_to_rescore(folder),
                progress=progress,
            )
        last = report.checks[-1]
        click.echo(
            f"{folder.name}: {last.level if last.ok else f'does not pass ({last.level})'}: {last.found}"
        )
        if report.ok:
            record_check(folder, report, record)
        n_wrong += not report.ok
    for name, reason in reasons.items():
        click.echo(f"{name}: not rescored: {reason}")
    n_done = len(folders) - len(reasons)
    outcome = f"; {n_wrong} {'does' if n_wrong == 1 else 'do'} not pass" if n_wrong else "; all pass"
    click.echo(f"{n_done} of {len(folders)} entries rescored{outcome if n_done else ''}", err=True)
    named = bool(entries) or (board / ENTRY_FILE).is_file()
    if n_wrong or (reasons and named):
        sys.exit(1)


@board_command.command("retract")
@click.argument("entry", type=FILE)
@click.option(
    "--reason", required=True, help="Reason for the retraction. The leaderboard shows it to all readers."
)
@click.option(
    "--link", metavar="URL", help="Web address at which the retraction is discussed (default: none)."
)
def retract(entry: Path, reason: str, link: str | None) -> None:
    """Retract an entry: remove it from tables and ranks, and list it as retracted.

    ENTRY is the folder of the entry, BOARD/entries/NAME.
    """
    from tseval.boards.entries import retract_entry

    retract_entry(entry, reason, link)
    click.echo(f"{entry}: retracted", err=True)


@board_command.command("rename")
@click.argument("entry", type=FILE)
@click.argument("name")
def rename(entry: Path, name: str) -> None:
    """Rename an entry of a leaderboard. The old name then redirects to the new name.

    ENTRY is the folder of the entry, BOARD/entries/OLD. NAME is the new name.
    """
    from tseval.boards.entries import rename_entry

    rename_entry(entry, name)
    click.echo(entry.parent / name, err=True)


@board_command.command("hidden")
@click.argument("board", type=FILE)
@click.argument("runs", type=FILE, nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--suite",
    type=SUITE,
    required=True,
    help="Folder of the hidden version of the suite, written by the command tseval suites twin.",
)
def hidden(board: Path, runs: tuple[Path, ...], suite: str) -> None:
    """Record the accuracy of entries on a hidden version of the suite.

    RUN is the folder of a run in which the model of one entry was scored on the hidden version.
    """
    from tseval.boards.hidden import record_hidden

    for name, result in record_hidden(board, runs, suite).items():
        low, high = result.difference_interval
        suffix = ", worse" if result.worse else ""
        click.echo(f"{name}: {result.mean:.3f}, {result.difference:+.3f} ({low:.3f} to {high:.3f}){suffix}")


@board_command.command("renew")
@click.argument("board", type=FILE)
@click.option(
    "-o",
    "--out",
    type=FILE,
    metavar="DIR",
    help="Folder for the new leaderboard (default: a folder next to the old one, named BOARD-DIGEST after "
    "the digest of the new suite).",
)
def renew(board: Path, out: Path | None) -> None:
    """When a suite has changed, create a leaderboard for its new version and archive the old leaderboard."""
    from tseval.boards.definition import read_definition
    from tseval.boards.readme import not_yet_run
    from tseval.boards.renewal import renew_board

    new = renew_board(board, out)
    click.echo(new)
    for name in not_yet_run(new, read_definition(new)):
        click.echo(f"{name}: this model of the old leaderboard has no run on the new suite yet")


@board_command.command("write")
@click.argument("board", type=FILE)
def write(board: Path) -> None:
    """Write the files README.md and board.json of a leaderboard again, from its entries.

    BOARD is the folder of a leaderboard, or a folder with several.
    """
    from tseval.boards.definition import read_definition
    from tseval.boards.sources import boards_below
    from tseval.boards.transaction import board_transaction

    for folder in boards_below(board) or [board]:
        read_definition(folder)
        with board_transaction(folder, "write") as change:
            change.commit()


@board_command.command("build")
@click.argument("board")
@click.option("-o", "--out", "site", type=FILE, required=True,
              help="Folder in which to write the pages: a new folder, or a folder with pages that tseval "
                   "wrote before.")  # fmt: skip
@CONFIDENCE
def build_page(board: str, site: Path) -> None:
    """Write web pages of a leaderboard: the table, and one page for each entry with its items.

    BOARD is the folder of a leaderboard, a folder with several leaderboards, or the name of a leaderboard
    that comes with tseval. The pages open in any browser, from disk or from a server, without a network.
    """
    from tseval.cli.progress import busy
    from tseval.runs.cache import return_memory
    from tseval.web import build_board

    return_memory()
    with busy("reading entries"):
        page = build_board(board, site)
    click.echo(f"{page}", err=True)
