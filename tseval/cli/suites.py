"""`tseval suites`: list the suites."""

from __future__ import annotations

import click


@click.command(help="List the suites.")
def command() -> None:
    """List the bundled suites with their sizes."""
    from tabulate import tabulate

    from tseval.suites import available_suites, load_suite

    suites = [load_suite(name) for name in available_suites()]
    rows = [
        (suite.name, suite.title, f"{len(suite.cases):,}", f"{suite.n_items:,}", f"{suite.n_contrasts:,}")
        for suite in suites
    ]
    align = ("left", "left", "right", "right", "right")
    click.echo(
        tabulate(
            rows, ("name", "title", "cases", "items", "contrasts"), colalign=align, disable_numparse=True
        )
    )
