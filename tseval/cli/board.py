"""`tseval board`: leaderboards as folders."""

from __future__ import annotations

import sys
from shlex import quote
from typing import TYPE_CHECKING

import click

from tseval.cli.options import COLUMNS_OPTION, COUNT, FILE, SCORE_NAMES, SUITE, Group, take_all

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.questions import Score


@click.group(
    cls=Group,
    purposes={
        "Submit": ("submit",),
        "Keep": ("new", "add", "check", "retract", "rename", "hidden", "renew"),
        "Show": ("write", "build"),
    },
)
def board_command() -> None:
    """Keep a leaderboard: a folder of entries that anyone can check."""


@board_command.command("new")
@click.argument("board", type=FILE)
@click.option("--suite", "suites", type=SUITE, required=True, multiple=True,
              help="Name of a suite, or its path as seen from the board's folder; several with "
                   "--repository.")  # fmt: skip
@click.option("--title", help="As a reader would cite it; else that of the suite.")
@click.option("--score", type=SCORE_NAMES, help="What sentences are compared by.")
@COLUMNS_OPTION
@click.option("--evidence", metavar="URL",
              help="Where evidence will lie, instead of in the board: an https address with {sha256} "
                   "in it.")  # fmt: skip
@click.option("--repository", is_flag=True,
              help="A folder that a forge can host: the board is in its folder board, or, of several, in "
                   "one of the suite's name.")  # fmt: skip
def new(
    board: Path, suites: tuple[str, ...], title: str | None, score: Score | None,
    columns: dict[str, str] | None, evidence: str | None, repository: bool,
) -> None:  # fmt: skip
    """Begin a board in a new folder; with --repository one for each suite, beside those that are there."""
    from tseval.boards.folder import new_board, new_repository

    if len(suites) > 1 and (not repository or title is not None):
        raise click.UsageError(
            "a board is over one suite. For a board of each, without --title: add --repository"
            if title is None or not repository
            else "--title is of one board: begin them one by one"
        )
    if repository:
        boards = new_repository(board, suites, title, score, columns, evidence)
    else:
        new_board(board, suites[0], title, score, columns, evidence)
        boards = [board]
    for one in boards:
        click.echo(f"{one}: add runs with tseval board add {quote(str(one))} RUN", err=True)


_about = take_all([
    click.option("--name", help="What the board calls the model of a single run; else the name in the run."),
    click.option("--revision", help="Of the model, where there are several."),
    click.option("--paper", help="That describes the model: an address, or a reference."),
    click.option("--weights", help="Where they are, or how they are had."),
    click.option("--licence", help="Of the model's weights."),
    click.option("--training-data", help="What the model was trained on, or the board's name for it."),
    click.option("--contains-suite", type=click.Choice(["yes", "no", "unknown"]), default="unknown",
                 show_default=True, help="Whether that holds sentences of the suite."),
    click.option("--seeds-tried", type=COUNT, metavar="N",
                 help="How many seeds were trained, of which this is one."),
    click.option("--submitter", help="Who submits it."),
    click.option("--contact", help="Whom to ask."),
    click.option("--evidence", "url", metavar="URL",
                 help="Where the evidence will lie, instead of in the board: an https address."),
])  # fmt: skip


@board_command.command("add")
@click.argument("board", type=FILE)
@click.argument("runs", type=FILE, nargs=-1, required=True, metavar="RUN...")
@_about
@click.option("--replace", metavar="ENTRY",
              help="An entry that the run takes the place of; its name goes on to lead there.")  # fmt: skip
def add(
    board: Path, runs: tuple[Path, ...], name: str | None, url: str | None, replace: str | None,
    **about: str | int | None,
) -> None:  # fmt: skip
    """Add each RUN to a BOARD, if all hold. What is said of the model is said of each."""
    _add(board, runs, name, url, replace, about)


@board_command.command("submit")
@click.argument("runs", type=FILE, nargs=-1, required=True, metavar="RUN...")
@click.argument("board", type=FILE)
@_about
def submit(
    runs: tuple[Path, ...], board: Path, name: str | None, url: str | None, **about: str | int | None
) -> None:
    """Write the entry of each RUN into a clone of a BOARD, and print the text of the request."""
    from tseval.boards.readme import request_text

    click.echo(request_text(_add(board, runs, name, url, None, about)), nl=False)


def _add(
    board: Path, runs: tuple[Path, ...], name: str | None, url: str | None, instead_of: str | None,
    about: dict[str, str | int | None],
) -> list[Path]:  # fmt: skip
    from tseval.boards import About, read_entry
    from tseval.boards.entries import add_entries
    from tseval.evidence import stored_evidence

    folders = add_entries(board, runs, About(**about), name, url, instead_of)  # type: ignore[arg-type]
    for folder in folders:
        click.echo(folder, err=True)
        if (elsewhere := read_entry(folder).evidence) is not None:
            click.echo(f"put {stored_evidence(elsewhere.sha256)} at {elsewhere.url}", err=True)
    return folders


@board_command.command("check")
@click.argument("board", type=FILE)
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
@click.option("--changed", "base", metavar="BASE",
              help="Only what has changed since this commit, which new entries alone may; prints a summary "
                   "in Markdown, with new entries beside their neighbours.")  # fmt: skip
def check_board(board: Path, entries: tuple[str, ...], base: str | None) -> None:
    """Name everything that is wrong with a BOARD, or with some entries; exit with 1 if anything is.

    A folder stands for all boards in it.
    """
    from tseval.boards.changes import check_changes, summary
    from tseval.boards.check import warnings_of, wrong_with_board
    from tseval.boards.sources import boards_below

    boards = boards_below(board) or [board]
    if base is not None:
        if entries:
            raise click.UsageError("--changed finds the entries itself: name none.")
        changes = check_changes(boards, base)
        click.echo(summary(changes), nl=False)
        sys.exit(1 if changes.wrong else 0)
    wrong = False
    for one in boards:
        found = wrong_with_board(one, entries)
        where = f"{one}: " if len(boards) > 1 else ""
        for line in found:
            click.echo(f"{where}{line}")
        if not found:
            for line in warnings_of(one, entries):
                click.echo(f"warning: {where}{line}", err=True)
            click.echo(f"{one}: nothing is wrong")
        wrong = wrong or bool(found)
    if wrong:
        sys.exit(1)


@board_command.command("retract")
@click.argument("entry", type=FILE)
@click.option("--reason", required=True, help="Why, for all to read.")
@click.option("--link", metavar="URL", help="Where that was discussed.")
def retract(entry: Path, reason: str, link: str | None) -> None:
    """Take an ENTRY, BOARD/entries/NAME, out of tables and ranks; it stays listed as retracted."""
    from tseval.boards.entries import retract_entry

    retract_entry(entry, reason, link)
    click.echo(f"{entry}: retracted", err=True)


@board_command.command("rename")
@click.argument("entry", type=FILE)
@click.argument("name")
def rename(entry: Path, name: str) -> None:
    """Give an ENTRY, BOARD/entries/OLD, another NAME; the old one goes on to lead to it."""
    from tseval.boards.entries import rename_entry

    rename_entry(entry, name)
    click.echo(entry.parent / name, err=True)


@board_command.command("hidden")
@click.argument("board", type=FILE)
@click.argument("runs", type=FILE, nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--suite", type=SUITE, required=True, help="The twin, of tseval suite twin, that the runs are over."
)
def hidden(board: Path, runs: tuple[Path, ...], suite: str) -> None:
    """Record what entries of a BOARD got right on a hidden twin of its suite: a RUN for each."""
    from tseval.boards.entries import record_hidden

    for name, found in record_hidden(board, runs, suite).items():
        low, high = found.difference_interval
        worse = ", worse" if found.worse else ""
        click.echo(f"{name}: {found.mean:.3f}, {found.difference:+.3f} ({low:.3f} to {high:.3f}){worse}")


@board_command.command("renew")
@click.argument("board", type=FILE)
@click.option("-o", "--out", type=FILE, metavar="DIR", help="The new board; else BOARD-DIGEST, beside it.")
def renew(board: Path, out: Path | None) -> None:
    """Begin a board over the new version of the suite of a BOARD, which is then archived."""
    from tseval.boards.definition import read_definition
    from tseval.boards.entries import renew_board
    from tseval.boards.readme import not_yet_run

    new = renew_board(board, out)
    click.echo(new)
    for name in not_yet_run(new, read_definition(new)):
        click.echo(f"not yet run on it: {name}")


@board_command.command("write")
@click.argument("board", type=FILE)
def write(board: Path) -> None:
    """Write README.md and board.json of a BOARD again; a folder stands for all boards in it."""
    from tseval.boards.definition import read_definition
    from tseval.boards.sources import boards_below
    from tseval.boards.transaction import board_transaction

    for one in boards_below(board) or [board]:
        read_definition(one)
        with board_transaction(one, "write") as change:
            change.commit()


@board_command.command("build")
@click.argument("board")
@click.option("-o", "--out", "site", type=FILE, required=True,
              help="Folder of the page: new, or of an earlier one.")  # fmt: skip
def build_page(board: str, site: Path) -> None:
    """Write the page of a BOARD: its folder, a folder of several, or the name of one that comes with tseval.

    SITE/index.html opens in any browser, from a disk as from a server, and asks no network for anything;
    SITE/entries/ has a page for each entry with evidence, with its items.
    """
    from tseval.cli.console import busy
    from tseval.pages import build_board

    with busy("reading entries"):
        page = build_board(board, site)
    click.echo(f"{page}", err=True)
