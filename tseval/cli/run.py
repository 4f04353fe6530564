"""`tseval run`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tseval.analysis.accuracy import check_features
from tseval.cli.model_options import model_options, open_chosen
from tseval.cli.options import BY, COLUMNS_OPTION, COUNT, FILE
from tseval.cli.progress import busy, progress_bar
from tseval.errors import RunError, SuiteError, shortened
from tseval.items import cluster_by
from tseval.questions import SCORES
from tseval.questions.scored import Normalised
from tseval.suites import load_suite
from tseval.suites.data.ratings import read_unigrams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.items import Suite
    from tseval.questions import Score
    from tseval.runs import Run
    from tseval.scoring.protocol import Model

RUNS = Path("runs")


@click.command()
@model_options
@click.option("--suite", "suites", multiple=True, default=["marvin_linzen"], show_default=True,
              help="Name of a suite, or path of grammars or data; with :METHOD, something else about it.",
)  # fmt: skip
@click.option("--case", "cases", multiple=True, help="Only these cases.")
@click.option("--limit", type=COUNT, help="Only the first N items of each case.")
@click.option("--sample", type=COUNT, metavar="N",
              help="Only N items of each case, drawn at random; the same ones at any time.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of --sample, and of :judgement.")
@click.option("--tokenise", is_flag=True,
              help="Split punctuation and clitics off the words of data, for word-level models.")  # fmt: skip
@click.option("--cluster", "clusters", multiple=True, metavar="COLUMN",
              help="Items with the same value are not independent, whatever the suite says; may be repeated.",
)  # fmt: skip
@COLUMNS_OPTION
@click.option("--score", type=click.Choice(SCORES),
              help="Compare whole sentences, the first word that differs, endings, or means per word; "
                   "else what the suite was published with.")  # fmt: skip
@click.option("--normalise", default="none", show_default=True, metavar="NAME",
              help="What log-probabilities of whole sentences are divided by: none, words, tokens, slor, "
                   "penlp or alpha=A.")  # fmt: skip
@click.option("--unigrams", type=FILE, metavar="FILE",
              help="How often single tokens occur, for slor: a table of token,count.")  # fmt: skip
@click.option("--precision", type=click.Choice(["float32", "bfloat16"]), default="float32", show_default=True,
              help="Of products in tseval's own checkpoints; sums stay in float32.")  # fmt: skip
@click.option("--too-long", type=click.Choice(["skip", "refuse"]), default="skip", show_default=True,
              help="Where a sentence is longer than the model reads, count its pairs as undecidable, or "
                   "refuse the run.")  # fmt: skip
@BY
@click.option("--out", type=FILE, help="Directory for the run.")
@click.option("--resume", is_flag=True, help="Go on with an interrupted run.")
@click.option("--quiet", is_flag=True, help="Print the table and errors only.")
def run_command(
    spec: str, model_args: str, suites: tuple[str, ...], cases: tuple[str, ...], limit: int | None,
    sample: int | None, seed: int, tokenise: bool, clusters: tuple[str, ...],
    columns: dict[str, str] | None, score: Score | None, normalise: str, unigrams: Path | None,
    precision: str, too_long: str, by: tuple[str, ...], device: str, out: Path | None, resume: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Score a model on a suite, write the run, print the table."""
    if out == Path():
        raise RunError("--out is empty: name a directory for the run")
    with busy(f"reading {', '.join(suites)}", quiet):
        loaded = [
            cluster_by(
                load_suite(
                    name,
                    cases=cases,
                    limit=limit,
                    sample=sample,
                    seed=seed,
                    tokenise=tokenise,
                    columns=columns,
                ),
                clusters,
            )
            for name in suites
        ]
    for suite in loaded:
        check_features(suite, by)
        if suite.left_out and not quiet:
            several = f"{suite.name}: {len(suite.left_out)} cases compare more than two sentences"
            click.echo(f"{several}, and are left out: {', '.join(suite.left_out)}", err=True)
    chosen = _chosen_score(score, normalise, unigrams, loaded)
    names = [suite.name for suite in loaded]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise SuiteError(f"two suites are called {min(repeated)!r}: run them one by one")
    # Adapters bring torch along; unknown suites and features are told without waiting for it.
    model = open_chosen(spec, model_args, device, precision, quiet)
    if too_long == "refuse":
        _refuse_too_long(model, loaded)
    for suite in loaded:
        where = out / suite.name if out and len(loaded) > 1 else out
        run, path = _score(model, suite, chosen, where, resume, quiet)
        _print(run, path, by, quiet)


def _refuse_too_long(model: Model, suites: Sequence[Suite]) -> None:
    from tseval.evaluation import refuse_too_long

    for suite in suites:
        refuse_too_long(model, suite)


def _chosen_score(
    score: Score | None, by: str, unigrams: Path | None, suites: Sequence[Suite]
) -> Score | Normalised | None:
    """Make one of the options on scores; the mean per word is a score by itself."""
    if by == "none":
        if unigrams is not None:
            raise SuiteError("--unigrams is for --normalise slor.\n  Add that, or leave it out.")
        return score
    for suite in suites:
        if (compared := score or suite.score) != "sentence":
            raise SuiteError(
                f"--normalise is for whole sentences, and {suite.name} is compared by {compared!r}.\n"
                "  Add --score sentence, or leave out --normalise."
            )
    if by == "words" and unigrams is None:
        return "mean"
    return Normalised(by, None if unigrams is None else read_unigrams(unigrams))


def _score(
    model: Model, suite: Suite, score: Score | Normalised | None, out: Path | None, resume: bool, quiet: bool
) -> tuple[Run, Path]:
    """Score one suite into its directory, saying how to go on if the user stops it."""
    from tseval.evaluation import evaluate, refuse_other_clusters, run_key
    from tseval.runs import clear_begun, find_interrupted, fresh_directory

    key = run_key(model, suite, score)
    if out is None:
        clear_begun(RUNS)
        interrupted = find_interrupted(RUNS, key) if resume else None
        out = interrupted or fresh_directory(RUNS, key, datetime.now())
    try:
        with progress_bar(f"{model.card.name} on {suite.name}", quiet) as progress:
            run = evaluate(model, suite, score=score, out=out, resume=resume, progress=progress)
    except KeyboardInterrupt:
        said = f"\nWhat was scored is saved: add --resume --out {out} to go on."
        click.echo(shortened(said), err=True)
        raise
    refuse_other_clusters(run, out, suite)
    return run, out


def _print(run: Run, path: Path, by: tuple[str, ...], quiet: bool) -> None:
    """Print the table, and on standard error where the run is and what it took."""
    from tseval.cli.printing import print_or_write
    from tseval.report import told_of

    with busy("making the table", quiet):
        table = told_of([run], by)
    print_or_write(table)
    if quiet:
        return
    counts, seconds = run.manifest.counts, run.manifest.timings.scoring_seconds
    took = f"{counts.sentences:,} sentences, {counts.contexts:,} contexts, {seconds:.1f} s"
    click.echo(f"{took}\n{path}\n{run.manifest.signature}", err=True)
    for warning in run.manifest.warnings:
        click.echo(f"warning: {warning}", err=True)
