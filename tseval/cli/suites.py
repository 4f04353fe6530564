"""`tseval suites`: list suites, download them, write their hidden versions."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from tseval.cli.groups import Group
from tseval.cli.names import SUITE
from tseval.cli.options import FILE, QUIET
from tseval.cli.printing import print_table
from tseval.cli.progress import busy, progress_bar
from tseval.errors import SuiteError, TsevalError, counted, suggest


@click.group(
    cls=Group,
    purposes={"Published data sets": ("fetch",), "Hidden test sets": ("twin",)},
    invoke_without_command=True,
    help="List all suites: those that come with tseval, data sets to download, and formal languages.",
)
@click.pass_context
def suites_command(context: click.Context) -> None:
    """List the bundled suites with their sizes, those that can be fetched, and formal languages."""
    if context.invoked_subcommand is not None:
        return
    from tseval.files import data_folder
    from tseval.suites import available_suites, bundled_sizes, load_suite
    from tseval.suites.data.catalogue import CATALOGUE, ELSEWHERE
    from tseval.suites.formal.languages import FORMAL_LANGUAGES, usage

    with busy("counting items"):
        sizes = [(name, *bundled_sizes(name)) for name in available_suites()]
        downloaded = [name for name in CATALOGUE if (data_folder() / name).exists()]
        for name in downloaded:
            suite = load_suite(name)
            title = f"{CATALOGUE[name].title}, {CATALOGUE[name].licence}"
            sizes.append((name, title, len(suite.cases), suite.n_items, suite.n_contrasts))
    rows = [(name, title, *(f"{count:,}" for count in counts)) for name, title, *counts in sizes]
    headings, align = ("name", "title", "cases", "items", "contrasts"), ("left", "left", *["right"] * 3)
    print_table(rows, headings, align)
    downloadable = [
        (name, published.title, f"{published.n_cases:,}", f"{published.n_items:,}", published.licence)
        for name, published in CATALOGUE.items() if name not in downloaded
    ]  # fmt: skip
    if downloadable:
        click.echo("\nSuites that you can download with tseval suites fetch NAME:\n")
        headings, align = ("name", "title", "cases", "items", "licence"), (*align[:4], "left")
        print_table(downloadable, headings, align)
    click.echo("\nSuites to download with git clone ADDRESS (then: --suite ./FOLDER):\n")
    repositories = [(entry.address, entry.title, entry.licence) for entry in ELSEWHERE.values()]
    print_table(repositories, ("address", "title", "licence"))
    click.echo("\nFormal languages (tseval generates the strings):\n")
    languages = [(usage(name), kind.source.partition(", ")[0]) for name, kind in FORMAL_LANGUAGES.items()]
    print_table(languages, ("name and settings", "source"))


@suites_command.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@QUIET
def fetch(names: tuple[str, ...], quiet: bool) -> None:
    """Download published data sets, and check that each file has the right digest."""
    from tseval.suites import fetch_suite
    from tseval.suites.data.catalogue import CATALOGUE, refuse_elsewhere

    for name in names:
        refuse_elsewhere(name)
        if name not in CATALOGUE:
            raise SuiteError(
                f"no data set that tseval can download has the name {name!r}.\n"
                f"  {suggest(name, CATALOGUE, 'Data sets')}"
            )
    for name in names:
        with progress_bar(f"fetching {name}", quiet) as progress:
            digest = fetch_suite(name, progress)
        if not quiet:
            label = f"{CATALOGUE[name].title}, {CATALOGUE[name].licence}"
            click.echo(f"{name}: {label}; the digest {digest[:12]} is that of the published files", err=True)


@suites_command.command("twin")
@click.argument("suite", type=SUITE)
@click.option("--lexicon", type=FILE, required=True, metavar="FILE",
              help="File with the hidden words: a lexicon with the same word classes as the lexicon of "
                   "the suite, and as many words in each class.")  # fmt: skip
@click.option(
    "-o",
    "--out",
    type=FILE,
    metavar="DIR",
    help="Folder in which to write the hidden version (default: SUITE_hidden).",
)
def write_twin_command(suite: str, lexicon: Path, out: Path | None) -> None:
    """Write a hidden version of a suite: the same grammars with other words, which you keep secret.

    The maintainer of a leaderboard uses the hidden version to detect models that were trained on the
    public items.
    """
    from tseval.suites import load_suite, locate_suite
    from tseval.suites.grammar.withheld_words import write_twin

    path, _ = locate_suite(suite)
    out = out or Path(f"{path.stem}_hidden")
    write_twin(path, lexicon, out)
    try:
        hidden_suite = load_suite(out)
    except TsevalError:
        shutil.rmtree(out)
        raise
    description = f"{counted(hidden_suite.n_items, 'item')}, digest {hidden_suite.digest[:12]}"
    click.echo(f"{out}: {description}. Keep this folder secret: its words must not become public", err=True)
