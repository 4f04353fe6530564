"""`tseval board`: leaderboards as folders."""

from __future__ import annotations

import sys
from shlex import quote
from typing import TYPE_CHECKING

import click

from tseval.cli.options import COLUMNS_OPTION, FILE, SCORE_NAMES, SUITE, Group

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.questions import Score


@click.group(cls=Group, purposes={"Entries": ("new", "add", "check"), "Pages": ("write", "build")})
def board_command() -> None:
    """Keep a leaderboard: a folder of entries that anyone can check."""


@board_command.command("new")
@click.argument("board", type=FILE)
@click.option(
    "--suite", type=SUITE, required=True, help="Name of a suite, or its path as seen from the board's folder."
)
@click.option("--title", help="As a reader would cite it; else that of the suite.")
@click.option("--score", type=SCORE_NAMES, help="What sentences are compared by.")
@COLUMNS_OPTION
@click.option("--repository", is_flag=True,
              help="A folder that a forge can host: the board is in its folder board.")  # fmt: skip
def new(
    board: Path, suite: str, title: str | None, score: Score | None, columns: dict[str, str] | None,
    repository: bool,
) -> None:  # fmt: skip
    """Begin a board in a new folder."""
    from tseval.boards.folder import new_board, new_repository

    if repository:
        board = new_repository(board, suite, title, score, columns)
    else:
        new_board(board, suite, title, score, columns)
    click.echo(f"{board}: add runs with tseval board add {quote(str(board))} RUN", err=True)


@board_command.command("add")
@click.argument("board", type=FILE)
@click.argument("runs", type=FILE, nargs=-1, required=True, metavar="RUN...")
@click.option("--name", help="What the board calls the model of a single run; else the name in the run.")
@click.option("--revision", help="Of the model, where there are several.")
@click.option("--licence", help="Of the model's weights.")
@click.option("--training-data", help="What the model was trained on.")
@click.option("--contains-suite", type=click.Choice(["yes", "no", "unknown"]), default="unknown",
              show_default=True, help="Whether that holds sentences of the suite.")  # fmt: skip
@click.option("--contact", help="Whom to ask.")
@click.option("--evidence", "url", metavar="URL",
              help="Where the evidence will lie, instead of in the board: an https address.")  # fmt: skip
def add(
    board: Path, runs: tuple[Path, ...], name: str | None, url: str | None, **about: str | None
) -> None:  # fmt: skip
    """Add each RUN to a BOARD, if all hold. What is said of the model is said of each."""
    from tseval.boards import About, read_entry
    from tseval.boards.folder import add_entries
    from tseval.evidence import stored_evidence

    for folder in add_entries(board, runs, About(**about), name, url):  # type: ignore[arg-type]
        click.echo(folder, err=True)
        if (elsewhere := read_entry(folder).evidence) is not None:
            click.echo(f"put {stored_evidence(elsewhere.sha256)} at {elsewhere.url}", err=True)


@board_command.command("check")
@click.argument("board", type=FILE)
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
def check_board(board: Path, entries: tuple[str, ...]) -> None:
    """Name everything that is wrong with a BOARD, or with some entries; exit with 1 if anything is."""
    from tseval.boards.check import wrong_with_board

    found = wrong_with_board(board, entries)
    for line in found:
        click.echo(line)
    if found:
        sys.exit(1)
    click.echo(f"{board}: nothing is wrong")


@board_command.command("write")
@click.argument("board", type=FILE)
def write(board: Path) -> None:
    """Write README.md and board.json of a BOARD again."""
    from tseval.boards import read_definition
    from tseval.boards.folder import changing, write_pages
    from tseval.suites import afresh

    definition = read_definition(board)
    with changing(board), afresh():
        write_pages(board, definition)


@board_command.command("build")
@click.argument("board")
@click.option("-o", "--out", "site", type=FILE, required=True,
              help="Folder of the page: new, or of an earlier one.")  # fmt: skip
def build_page(board: str, site: Path) -> None:
    """Write the page of a BOARD: its folder, or the name of one that comes with tseval.

    SITE/index.html opens in any browser, from a disk as from a server, and asks no network for anything;
    SITE/entries/ has a page for each entry with evidence, with its items.
    """
    from tseval.cli.console import busy
    from tseval.pages import build_board

    with busy("reading entries"):
        page = build_board(board, site)
    click.echo(f"{page}", err=True)
