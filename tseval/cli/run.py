"""`tseval run`: score a model on suites, save the runs, print the tables."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from shlex import quote
from shutil import get_terminal_size, which
from typing import TYPE_CHECKING, Any

import click

from tseval.cli.coverage import REQUIRE_COVERAGE, exit_if_undecided, warn_if_undecided
from tseval.cli.groups import Command
from tseval.cli.model_options import (
    asked_options,
    model_options,
    open_chosen,
    read_arguments,
    with_precision,
)
from tseval.cli.names import SUITE
from tseval.cli.options import BY, FILE, MASS_OPTION, NOTES, VERBOSE
from tseval.cli.progress import busy, progress_bar
from tseval.cli.scoring_options import RUNS, comparison_options, context_options, suite_options
from tseval.cli.sending import confirm_sending
from tseval.errors import RunError, SuiteError, counted, plain, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tseval.items import Suite
    from tseval.questions import Score
    from tseval.questions.normalisation import Normalised
    from tseval.questions.unknown import UnknownRule
    from tseval.runs import Run
    from tseval.runs.opened import Opened
    from tseval.scoring.protocol import Model
    from tseval.suites.context import ContextRequest
    from tseval.writing import Form


@click.command(cls=Command)
@model_options
@asked_options
@click.option(
    "--yes",
    is_flag=True,
    help="For prompt:URL: send the requests at once (default: on a terminal, ask for confirmation first).",
)
@click.option("--suite", "suites", type=SUITE, multiple=True, default=["marvin_linzen"], show_default=True,
              help="Suite to score: its name, or the path of its grammars or data. To use the same items "
                   "for another task, add :METHOD, such as marvin_linzen:profile. Repeatable.",
)  # fmt: skip
@suite_options
@comparison_options
@MASS_OPTION
@context_options
@BY
@click.option("-o", "--out", type=FILE, help="Folder for the run (default: a new folder in runs/).")
@click.option("--resume", is_flag=True, help="Continue the interrupted run in the folder of --out.")
@REQUIRE_COVERAGE
@click.option("--quiet", is_flag=True, help="Print only the table and errors.")
@NOTES
@VERBOSE
def run_command(
    spec: str, model_args: str, suites: tuple[str, ...], clusters: tuple[str, ...], text: Form,
    score: Score | None, normalise: str, unigrams: Path | None, precision: str, unknown: UnknownRule,
    too_long: str, masses: tuple[float, ...], context: str | None, context_words: str | None,
    context_seed: int, n_contexts: int, by: tuple[str, ...], device: str, out: Path | None, resume: bool,
    require_coverage: float | None, quiet: bool, prompt: str | None, parallel: int | None, yes: bool,
    **reading: Any,
) -> None:  # fmt: skip
    """Score a model on a suite, save the results as a run, and print the table of accuracies.

    The exit code is 0 if the run is complete, and 1 if the share of items that the model
    can decide is below --require-coverage. If the model can decide no item, tseval prints a warning.
    """
    from tseval.analysis.features import check_features
    from tseval.runs.opened import how_opened
    from tseval.suites import load_suite, taken_before, what_was_read
    from tseval.suites.context import context_requests
    from tseval.suites.data.critical import cluster_data, with_critical
    from tseval.suites.scores import chosen_score

    if out == Path():
        raise RunError("--out is empty. Name a folder for the run, such as --out runs/a.")
    requests = context_requests(context, context_words, context_seed, n_contexts)
    with busy(f"reading {', '.join(suites)}", quiet):
        loaded = [with_critical(cluster_data(load_suite(name, **reading), clusters)) for name in suites]
    for name in suites:
        if (note := taken_before(name)) and not quiet:
            click.echo(note, err=True)
    for suite in loaded:
        check_features(suite, by)
        _check_masses(suite, masses)
    if not quiet:
        _print_left_out(loaded)
    chosen = chosen_score(score, normalise, unigrams, loaded)
    names = [suite.name for suite in loaded]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise SuiteError(
            f"two suites have the name {min(repeated)!r}, so one run cannot hold both. Run "
            "tseval once for each of them."
        )
    in_contexts = [
        _in_contexts(suite, name, requests, reading, quiet)
        for suite, name in zip(loaded, suites, strict=True)
    ]
    # Adapters import torch. Unknown suites and features are reported before this slow import.
    model = open_chosen(spec, model_args, device, precision, quiet, prompt, parallel)
    opened = how_opened(spec, with_precision(read_arguments(model_args), precision))
    if too_long == "refuse":
        from tseval.evaluation import refuse_too_long

        for suite in (suite for variants in in_contexts for suite in variants.values()):
            refuse_too_long(model, suite)
    manifests = []
    for spec_of_suite, variants in zip(suites, in_contexts, strict=True):
        parent = out / next(iter(variants.values())).name if out and len(suites) > 1 else out
        scored = [
            _score(
                model,
                suite,
                text,
                chosen,
                unknown,
                _folder(parent, name, variants),
                resume,
                quiet,
                yes,
                opened,
            )
            for name, suite in variants.items()
        ]
        runs = [run for run, _ in scored]
        notes = _print_tables(runs, by, masses, quiet)
        for run in runs:
            warn_if_undecided(run.manifest, spec_of_suite, spec)
        if not quiet:
            suite = next(iter(variants.values()))
            _print_facts(scored, notes, what_was_read(suite) if suite.files else None)
        manifests += [run.manifest for run in runs]
    exit_if_undecided(manifests, require_coverage)


def _check_masses(suite: Suite, masses: tuple[float, ...]) -> None:
    """Refuse parts of the probability mass for a suite that does not compare verbs."""
    if masses and suite.lexicon is None:
        raise SuiteError(
            f"--mass is about the verbs of SUITE:inflection, but the suite is {suite.name!r}.\n"
            "  Add :inflection to the suite, or leave out --mass."
        )


def _print_left_out(suites: Sequence[Suite]) -> None:
    """Name the cases that the task of a suite cannot use."""
    for suite in suites:
        if suite.left_out:
            reason = "have no verb with a number" if suite.lexicon else "compare more than two sentences"
            cases = f"{counted(len(suite.left_out), 'case')}, which {reason}"
            click.echo(f"{suite.name}: tseval leaves out {cases}: {', '.join(suite.left_out)}", err=True)


def _in_contexts(
    suite: Suite, name: str, requests: Sequence[ContextRequest], reading: Mapping[str, Any], quiet: bool
) -> dict[str, Suite]:
    """Return the suite in contexts of each length; the keys are the names of the run folders."""
    if not requests:
        return {"": suite}
    from tseval.suites import load_suite
    from tseval.suites.context import in_context
    from tseval.suites.data.critical import with_critical

    with busy("choosing contexts", quiet):
        of_whole = {"cases": (), "limit": None, "sample": None}
        is_whole = (suite.complete and not suite.clusters) or not requests[0].needs_whole_suite
        whole_suite = suite if is_whole else with_critical(load_suite(name, **{**reading, **of_whole}))
        return {
            f"context-{'text' if request.words is None else request.words}": in_context(
                suite, request, whole_suite, tokenise=reading["tokenise"]
            )
            for request in requests
        }


def _folder(where: Path | None, name: str, variants: Mapping[str, Suite]) -> Path | None:
    """Return the folder of a run: a subfolder if there are several lengths of context."""
    return where / name if where and len(variants) > 1 else where


def _score(
    model: Model,
    suite: Suite,
    text: Form,
    score: Score | Normalised | None,
    unknown: UnknownRule,
    out: Path | None,
    resume: bool,
    quiet: bool,
    yes: bool,
    opened: Opened,
) -> tuple[Run, Path]:
    """Score one suite and save the run in its folder. If the user stops it, print how to continue."""
    from tseval.evaluation import as_read, make_plan, refuse_other_clusters, run_key, run_plan
    from tseval.runs import clear_begun, find_interrupted, fresh_directory

    read = as_read(model, suite, text)
    key = run_key(read, suite, score, unknown)
    if out is None:
        clear_begun(RUNS)
        interrupted = find_interrupted(RUNS, key) if resume else None
        out = interrupted or fresh_directory(RUNS, key, datetime.now())
    if suite.lexicon is not None and getattr(model, "word_beginnings", None) is not None and not quiet:
        click.echo(
            "If a verb form has several sub-word pieces, it needs its own forward pass in every context. "
            "This takes long. To compare only verbs of one piece, add --model-args words=pieces",
            err=True,
        )
    plan = replace(make_plan(read, suite, score, unknown), opened=opened)
    confirm_sending(read, plan, out if resume else None, yes=yes, quiet=quiet)
    try:
        with progress_bar(f"{model.card.name} on {suite.name}", quiet) as progress:
            run = run_plan(plan, out, resume=resume, progress=progress)
    except KeyboardInterrupt:
        message = f"\nFinished scores are saved. To continue, add --resume --out {out}"
        click.echo(shortened(message), err=True)
        raise
    refuse_other_clusters(run, out, suite)
    return run, out


def _print_tables(runs: list[Run], by: tuple[str, ...], masses: tuple[float, ...], quiet: bool) -> list[str]:
    """Print the tables of runs on one suite; return the notes below the first table."""
    from tseval.cli.printing import print_or_write
    from tseval.report import document_of

    with busy("making the table", quiet):
        table = document_of(runs, by)
    notes = print_or_write(table)
    if masses:
        from tseval.report.analyses.inflection import inflection
        from tseval.report.opened import for_analysis

        print_or_write(inflection(for_analysis(runs), masses))
    return notes


def _print_facts(scored: Sequence[tuple[Run, Path]], notes: Sequence[str], read: str | None) -> None:
    """Print what was read and scored, the folders and warnings of the runs, and the next command."""
    if read:
        click.echo(read, err=True)
    for run, path in scored:
        _print_run(run, path, notes)
    if sys.stderr.isatty():
        _print_next(*scored[-1])


def _print_run(run: Run, path: Path, notes: Sequence[str]) -> None:
    """Print the size, the time, the folder and the warnings of a run."""
    from tseval.cli.printing import screen_of

    counts, seconds = run.manifest.counts, run.manifest.timings.scoring_seconds
    summary = f"{counts.sentences:,} sentences, {counts.contexts:,} contexts, {seconds:.1f} s"
    click.echo(f"{summary}\n{path}", err=True)
    on_screen = screen_of(sys.stdout) is not None
    if not on_screen:  # on a terminal, the signature is below the table
        click.echo(run.manifest.signature, err=True)
    for warning in run.manifest.warnings:
        # On a terminal, the user sees the warning below the table. Otherwise, a file or pipe has the table.
        if on_screen and any(plain(warning).rstrip(".") in note for note in notes):
            continue
        click.echo(f"warning: {warning}", err=True)


def _print_next(run: Run, path: Path) -> None:
    """Print a suggestion for the next command."""
    comparable = run.manifest.suite.name == "marvin_linzen" and run.manifest.suite.complete and not run.rated
    args = f"table {quote(str(path))} bhatt2020" if comparable else f"report {quote(str(path))} -o page.html"
    # Write tseval as the user did if it is not on the PATH.
    program = "tseval" if which("tseval") or not sys.argv[0].endswith("tseval") else sys.argv[0]
    line = f"next: {program} {args}"
    # A wrapped command cannot be copied. On a separate line, it needs six columns less.
    click.echo(line if len(line) <= get_terminal_size().columns else f"next:\n{line[6:]}", err=True)
