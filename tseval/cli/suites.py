"""`tseval suites`: list the suites, and download those that are data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tseval.cli.options import QUIET
from tseval.cli.progress import busy, progress_bar

if TYPE_CHECKING:
    from pathlib import Path


@click.group(invoke_without_command=True, help="List the suites.")
@click.pass_context
def suites_command(context: click.Context) -> None:
    """List the bundled suites with their sizes, those that can be fetched, and formal languages."""
    if context.invoked_subcommand is not None:
        return
    from tabulate import tabulate

    from tseval.files import data_folder
    from tseval.suites import available_suites, bundled_sizes, load_suite
    from tseval.suites.data.catalogue import CATALOGUE, ELSEWHERE
    from tseval.suites.formal.languages import FORMAL_LANGUAGES, usage

    with busy("counting items"):
        sizes = [(name, *bundled_sizes(name)) for name in available_suites()]
        here = [name for name in CATALOGUE if (data_folder() / name).exists()]
        for name in here:
            suite = load_suite(name)
            title = f"{CATALOGUE[name].title}, {CATALOGUE[name].licence}"
            sizes.append((name, title, len(suite.cases), suite.n_items, suite.n_contrasts))
    rows = [(name, title, *(f"{count:,}" for count in counts)) for name, title, *counts in sizes]
    headings, align = ("name", "title", "cases", "items", "contrasts"), ("left", "left", *["right"] * 3)
    click.echo(tabulate(rows, headings, colalign=align, disable_numparse=True))
    absent = [
        (name, published.title, f"{published.n_cases:,}", f"{published.n_items:,}", published.licence)
        for name, published in CATALOGUE.items() if name not in here
    ]  # fmt: skip
    if absent:
        click.echo("\nTo download with tseval suites fetch NAME:\n")
        headings, align = ("name", "title", "cases", "items", "licence"), (*align[:4], "left")
        click.echo(tabulate(absent, headings, colalign=align, disable_numparse=True))
    click.echo("\nTo download with git clone ADDRESS, and to open with --suite ./FOLDER:\n")
    away = [(other.address, other.title, other.licence) for other in ELSEWHERE.values()]
    click.echo(tabulate(away, ("address", "title", "licence"), disable_numparse=True))
    click.echo("\nFormal languages, drawn when they are used:\n")
    languages = [(usage(name), kind.source.partition(", ")[0]) for name, kind in FORMAL_LANGUAGES.items()]
    click.echo(tabulate(languages, ("name and settings", "source"), disable_numparse=True))


@suites_command.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@QUIET
def fetch(names: tuple[str, ...], quiet: bool) -> None:
    """Download data sets from where they are published, and check them."""
    from tseval.errors import SuiteError, suggest
    from tseval.suites.data.catalogue import CATALOGUE, refuse_elsewhere

    for name in names:
        refuse_elsewhere(name)
        if name not in CATALOGUE:
            raise SuiteError(f"there is no data set {name!r}.\n  {suggest(name, CATALOGUE, 'Data sets')}")
    for name in names:
        _fetch(name, quiet)


def _fetch(name: str, quiet: bool) -> None:
    """Download one data set with a bar, and say what came."""
    from tseval.files import data_folder
    from tseval.suites import load_suite
    from tseval.suites.data.catalogue import CATALOGUE, fetch_files

    published = CATALOGUE[name]

    def digest_of(folder: Path) -> str:
        return load_suite(folder).digest

    with progress_bar(f"fetching {name}", quiet) as progress:
        digest = fetch_files(name, published, data_folder() / name, digest_of, progress)
    if not quiet:
        about = f"{published.title}, {published.licence}"
        click.echo(f"{name}: {about}; digest {digest[:12]}, as published", err=True)
