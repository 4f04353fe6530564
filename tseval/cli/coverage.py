"""The warning about runs that decide no item, and the option --require-coverage."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

import click

from tseval.cli.options import FiniteRange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tseval.runs.manifest import Manifest


REQUIRE_COVERAGE = click.option(
    "--require-coverage", type=FiniteRange(0, 1), metavar="SHARE",
    help="Exit with code 1 if a model decides less than this share of the items of a suite, such as 0.9. "
         "The table is printed anyway (default: any share).",
)  # fmt: skip


def warn_if_undecided(manifest: Manifest, suite: str, model: str) -> None:
    """Print a warning if a run decides no item, because such a run measures nothing.

    Args:
        manifest: The manifest of the run.
        suite: The suite as the user named it. A file is opened by its path, not by the name of its suite.
        model: The model as the user named it.
    """
    counts = manifest.counts
    if counts.contrasts and counts.undecidable == counts.contrasts:
        click.echo(
            f"warning: {manifest.model.name} decides none of the {counts.contrasts:,} contrasts of "
            f"{manifest.suite.name}, so this run measures nothing. To see the words that the model does not "
            f"know: tseval lint {quote(suite)} --vocab {quote(model)} --all",
            err=True,
        )


def exit_if_undecided(manifests: Iterable[Manifest], least: float | None) -> None:
    """Exit with code 1 if a run decides less than the share `least` of its contrasts; name each such run.

    Raises:
        Exit: At least one run decides less.
    """
    if least is None:
        return
    below_least = [manifest for manifest in manifests if _coverage(manifest) < least]
    for manifest in below_least:
        counts = manifest.counts
        click.echo(
            f"tseval: {manifest.model.name} decides {counts.contrasts - counts.undecidable:,} of the "
            f"{counts.contrasts:,} contrasts of {manifest.suite.name} ({_coverage(manifest):.1%}), less than "
            f"--require-coverage {least:g}",
            err=True,
        )
    if below_least:
        raise click.exceptions.Exit(1)


def _coverage(manifest: Manifest) -> float:
    """Return the share of contrasts that a run decides; 1 if it has none."""
    counts = manifest.counts
    return 1 - counts.undecidable / counts.contrasts if counts.contrasts else 1.0
