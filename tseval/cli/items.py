"""`tseval items`: list the single items of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tseval.cli.groups import Command
from tseval.cli.names import CASE, RUN, SUITE
from tseval.cli.options import COUNT, FILE, FORMAT, JSON_FORMAT, VERBOSE, feature_values
from tseval.cli.printing import print_or_write
from tseval.cli.progress import busy

if TYPE_CHECKING:
    from pathlib import Path

    from tseval.report import Format
    from tseval.report.items import ItemOrder


@click.command("items", cls=Command)
@click.argument("runs", type=RUN, nargs=-1, required=True, metavar="RUN...")
@click.option("--wrong", is_flag=True, help="List only items that the model gets wrong. Ties count as wrong.")
@click.option(
    "--case",
    "cases",
    type=CASE,
    multiple=True,
    metavar="NAME",
    help="List only items of this case. Repeatable (default: all cases).",
)
@click.option(
    "--where",
    multiple=True,
    metavar="FEATURE=VALUE",
    help="List only items with this value of a feature. Repeatable (default: all items).",
)
@click.option(
    "--sort",
    "order",
    type=click.Choice(["suite", "margin"]),
    default="suite",
    show_default=True,
    help="Order of the items: suite (as in the suite), margin (the most wrong items first).",
)
@click.option(
    "--limit",
    type=COUNT,
    default=20,
    show_default=True,
    help="Print only the first N items. A file of --out always has all items.",
)
@click.option("--suite", type=SUITE, help="Name or path of the suite (default: the name in the runs).")
@FORMAT
@JSON_FORMAT
@click.option(
    "-o",
    "--out",
    "output",
    type=FILE,
    metavar="FILE",
    help="File for all items: .csv, .tsv, .xlsx or .jsonl (default: print).",
)
@VERBOSE
def items_command(
    runs: tuple[str, ...], wrong: bool, cases: tuple[str, ...], where: tuple[str, ...], order: ItemOrder,
    limit: int, suite: str | None, form: Format, output: Path | None,
) -> None:  # fmt: skip
    """List single items: both sentences, scores, margin, what differs, unknown words, features.

    RUN is the folder of a run. The items of several runs are listed one run after the other.
    """
    from tseval.boards.sources import open_items
    from tseval.report.items import item_table, items_document, save_items
    from tseval.runs.suite import suite_of_run

    with busy("reading runs"):
        opened = open_items(runs)
        chosen = [("case", case) for case in cases] + feature_values(where)
        rows = item_table(opened, suite_of_run(opened[0].manifest, suite), chosen, wrong=wrong, order=order)
    if output is not None:
        save_items(rows, output)
        click.echo(f"{output}: {len(rows):,} items", err=True)
        return
    print_or_write(items_document(rows, None if form in ("csv", "json") else limit), form)
