"""Commands that score or check: run, sweep, babylm, verify."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from shlex import quote
from shutil import get_terminal_size, which
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tseval.cli.console import busy, print_hanging, progress_bar
from tseval.cli.options import (
    BY,
    CASE,
    COLUMNS_OPTION,
    COUNT,
    DEVICE,
    FILE,
    MODEL,
    MODEL_ARGS,
    NOTES,
    QUIET,
    RUN,
    SCORE_NAMES,
    SUITE,
    TEXT,
    UNKNOWN_OPTION,
    VERBOSE,
    Command,
    model_options,
    open_chosen,
    read_arguments,
    say_warnings,
    take_all,
    with_precision,
)
from tseval.errors import LimitError, RunError, SuiteError, counted, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tseval.babylm import TaskResult
    from tseval.items import Suite
    from tseval.questions import Score
    from tseval.questions.normalisation import Normalised
    from tseval.questions.unknown import UnknownRule
    from tseval.runs import Run
    from tseval.scoring.protocol import Model
    from tseval.sweeps import UnitState, Workforce
    from tseval.sweeps.units import SweepUnit
    from tseval.verifying import Verification
    from tseval.writing import Form

    _Verifier = Callable[[Path, Callable[[int, int], None] | None], Verification]


RUNS = Path("runs")
how_suites_are_read = take_all([
    click.option("--case", "cases", type=CASE, multiple=True,
                 help="Use only the case (part of the suite) with this name. Repeatable (default: all "
                      "cases)."),
    click.option("--limit", type=COUNT, metavar="N",
                 help="Use only the first N items of each case of the suite (default: all items)."),
    click.option("--sample", type=COUNT, metavar="N",
                 help="Use only N random items of each case of the suite (default: all items). The same "
                      "--seed draws the same items."),
    click.option("--seed", type=int, default=0, show_default=True,
                 help="Random seed for the items that --sample draws, and for the items that "
                      "SUITE:judgement draws."),
    click.option("--tokenise", is_flag=True,
                 help="Split punctuation and clitics off the words of data sets, as word-level models need: "
                      "can't help himself. becomes ca n't help himself ."),
    click.option("--cluster", "clusters", multiple=True, metavar="COLUMN",
                 help="Treat items with the same value in COLUMN as dependent when tseval computes "
                      "confidence intervals. Repeatable."),
    COLUMNS_OPTION,
    TEXT,
    click.option("--exclude", metavar="known-errors or FILE",
                 help="Items of a data set to leave out. known-errors: the errors that are known in this "
                      "data set. FILE: a table of items with the columns paradigm and pairID (default: "
                      "leave out none)."),
])  # fmt: skip
how_sentences_are_compared = take_all([
    click.option("--score", type=SCORE_NAMES,
                 help="Part of the sentences to compare: sentence (all words), critical (the first "
                      "different word), ending (the last words), regions, choices (single symbols) or "
                      "mean (all words, divided by their number). The default is the published method of "
                      "the suite."),
    click.option("--normalise", default="none", show_default=True, metavar="NAME",
                 help="Correction of log-probabilities for sentence length: none, words, tokens, "
                      "characters, bytes, slor, penlp or alpha=A. For continuations of a prefix: none, "
                      "characters (acc_norm of lm-eval) or bytes."),
    click.option("--unigrams", type=FILE, metavar="FILE",
                 help="File with token frequencies for --normalise slor: a table with the columns token "
                      "and count (default: none)."),
    click.option("--precision", type=click.Choice(["float32", "bfloat16"]), default="float32",
                 show_default=True, help="Number format of matrix products when the model is a tseval "
                                         "checkpoint: float32, or bfloat16 (faster, rounded). Sums are "
                                         "always float32."),
    UNKNOWN_OPTION,
    click.option("--too-long", type=click.Choice(["skip", "refuse"]), default="skip", show_default=True,
                 help="Treatment of sentences longer than the model's context. skip: count their pairs as "
                      "undecidable. refuse: stop with an error."),
])  # fmt: skip


@click.command(cls=Command)
@model_options
@click.option("--suite", "suites", type=SUITE, multiple=True, default=["marvin_linzen"], show_default=True,
              help="Suite to score: its name, or the path of its grammars or data. To use the same items "
                   "for another task, add :METHOD, such as marvin_linzen:profile. Repeatable.",
)  # fmt: skip
@how_suites_are_read
@how_sentences_are_compared
@BY
@click.option("-o", "--out", type=FILE, help="Folder for the run (default: a new folder in runs/).")
@click.option("--resume", is_flag=True, help="Continue the interrupted run in the folder of --out.")
@click.option("--quiet", is_flag=True, help="Print only the table and errors.")
@NOTES
@VERBOSE
def run_command(
    spec: str, model_args: str, suites: tuple[str, ...], clusters: tuple[str, ...], text: Form,
    score: Score | None, normalise: str, unigrams: Path | None, precision: str, unknown: UnknownRule,
    too_long: str, by: tuple[str, ...], device: str, out: Path | None, resume: bool, quiet: bool,
    **reading: Any,
) -> None:  # fmt: skip
    """Score a model on a suite, save the results as a run, and print the table of accuracies."""
    from tseval.analysis.features import check_features
    from tseval.suites import load_suite, taken_before, what_was_read
    from tseval.suites.data.critical import cluster_data, with_critical
    from tseval.suites.scores import chosen_score

    if out == Path():
        raise RunError("--out is empty. Name a folder for the run, such as --out runs/a.")
    with busy(f"reading {', '.join(suites)}", quiet):
        loaded = [with_critical(cluster_data(load_suite(name, **reading), clusters)) for name in suites]
    for name in suites:
        if (said := taken_before(name)) and not quiet:
            click.echo(said, err=True)
    for suite in loaded:
        check_features(suite, by)
        if suite.left_out and not quiet:
            several = f"{len(suite.left_out)} cases, which compare more than two sentences"
            left_out = ", ".join(suite.left_out)
            click.echo(f"{suite.name}: tseval leaves out {several}: {left_out}", err=True)
    chosen = chosen_score(score, normalise, unigrams, loaded)
    names = [suite.name for suite in loaded]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise SuiteError(
            f"two suites have the name {min(repeated)!r}, so one run cannot hold both. Run "
            "tseval once for each of them."
        )
    # Adapters bring torch along; unknown suites and features are told without waiting for it.
    model = open_chosen(spec, model_args, device, precision, quiet)
    if too_long == "refuse":
        from tseval.evaluation import refuse_too_long

        for suite in loaded:
            refuse_too_long(model, suite)
    for suite in loaded:
        where = out / suite.name if out and len(loaded) > 1 else out
        run, path = _score(model, suite, text, chosen, unknown, where, resume, quiet)
        _print(run, path, by, quiet, what_was_read(suite) if suite.files else None)


def _score(
    model: Model,
    suite: Suite,
    text: Form,
    score: Score | Normalised | None,
    unknown: UnknownRule,
    out: Path | None,
    resume: bool,
    quiet: bool,
) -> tuple[Run, Path]:
    """Score one suite into its directory, saying how to go on if the user stops it."""
    from tseval.evaluation import as_read, evaluate, refuse_other_clusters, run_key
    from tseval.runs import clear_begun, find_interrupted, fresh_directory

    key = run_key(as_read(model, suite, text), suite, score, unknown)
    if out is None:
        clear_begun(RUNS)
        interrupted = find_interrupted(RUNS, key) if resume else None
        out = interrupted or fresh_directory(RUNS, key, datetime.now())
    try:
        with progress_bar(f"{model.card.name} on {suite.name}", quiet) as progress:
            run = evaluate(
                model, suite, score=score, text=text, unknown=unknown,
                out=out, resume=resume, progress=progress,
            )  # fmt: skip
    except KeyboardInterrupt:
        said = f"\nFinished scores are saved. To continue, add --resume --out {out}"
        click.echo(shortened(said), err=True)
        raise
    refuse_other_clusters(run, out, suite)
    return run, out


def _print(run: Run, path: Path, by: tuple[str, ...], quiet: bool, read: str | None) -> None:
    from tseval.cli.console import print_or_write, screen_of
    from tseval.report import document_of

    with busy("making the table", quiet):
        table = document_of([run], by)
    print_or_write(table)
    if quiet:
        return
    if read:
        click.echo(read, err=True)
    counts, seconds = run.manifest.counts, run.manifest.timings.scoring_seconds
    took = f"{counts.sentences:,} sentences, {counts.contexts:,} contexts, {seconds:.1f} s"
    click.echo(f"{took}\n{path}", err=True)
    if screen_of(sys.stdout) is None:  # on a terminal it stands below the table
        click.echo(run.manifest.signature, err=True)
    for warning in run.manifest.warnings:
        click.echo(f"warning: {warning}", err=True)
    if sys.stderr.isatty():
        beside = run.manifest.suite.name == "marvin_linzen" and run.manifest.suite.complete and not run.rated
        then = f"table {quote(str(path))} bhatt2020" if beside else f"report {quote(str(path))} -o page.html"
        # As it was called, where it is not installed for all.
        program = "tseval" if which("tseval") or not sys.argv[0].endswith("tseval") else sys.argv[0]
        line = f"next: {program} {then}"
        # A command that a terminal wraps cannot be copied; on a line of its own it is six columns shorter.
        click.echo(line if len(line) <= get_terminal_size().columns else f"next:\n{line[6:]}", err=True)


@click.command(cls=Command)
@model_options
@click.option("--data", type=FILE, required=True,
              help="Path of the folder full_eval or fast_eval, a part of the evaluation data of BabyLM.",
)  # fmt: skip
@click.option("-o", "--out", type=FILE, default=Path("results"), show_default=True,
              help="Folder for the predictions. Inside, tseval makes the subfolders that the BabyLM "
                   "pipeline expects.")  # fmt: skip
@QUIET
@click.pass_context
def babylm_command(
    context: click.Context, spec: str, model_args: str, device: str, data: Path, out: Path, quiet: bool
) -> None:
    """Score the zero-shot tasks of BabyLM and write predictions for its pipeline.

    If the folder of a task is missing from --data, tseval scores the other tasks, names the missing
    folder and exits with code 1.
    """
    from tseval import babylm

    with busy(f"reading {data}", quiet):
        tasks, missing = babylm.load_tasks(data)
    options = babylm.PIPELINE_OPTIONS.get(spec.partition(":")[0], {}) | read_arguments(model_args)
    arguments = ",".join(f"{key}={value}" for key, value in options.items())
    model = open_chosen(spec, arguments, device, quiet=quiet)
    where = babylm.results_folder(out, spec, options.get("revision", "main"))
    results: dict[str, TaskResult] = {}
    for planned in babylm.plan_tasks(model, tasks, where):
        folder = planned.loaded.folder
        with progress_bar(f"{model.card.name} on {folder}", quiet) as progress:
            results[folder] = babylm.score_task(planned, progress)
    babylm.write_summary(model, results, where)
    if not quiet:
        click.echo(_table(results))
        click.echo(str(where), err=True)
    say_warnings(model)
    for folder, result in results.items():
        if 100 * result.n_tied > result.n_items:
            said = (
                f"{folder}: {result.n_tied:,} of {result.n_items:,} items are ties, which BabyLM counts as "
                "right"
            )
            click.echo(f"warning: {said}", err=True)
    for name in missing:
        click.echo(
            f"missing: the folder {data / name} does not exist, so tseval wrote no predictions for this task",
            err=True,
        )
    if (data / "reading").is_dir():
        click.echo(
            f"left out: {data / 'reading'}: tseval does not score this task, because the pipeline of "
            "BabyLM scores it itself (docs/babylm.md)",
            err=True,
        )
    if missing:
        context.exit(1)


def _table(results: Mapping[str, TaskResult]) -> str:
    from tabulate import tabulate

    from tseval.report.document import NONE, format_count, format_share

    rows = []
    for folder, result in results.items():
        score = NONE if result.score is None else format_share(result.score)
        ties = format_count(result.n_tied)
        rows.append((folder, format_count(result.n_items), result.measure, score, ties))
    headings, align = (
        ["Task", "Items", "Measure", "Score", "Ties"],
        ("left", "right", "left", "right", "right"),
    )
    return tabulate(rows, headings, tablefmt="pipe", colalign=align, disable_numparse=True)


_STATUS = "status"


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar=f"[{_STATUS}] [PLAN]")
@click.option("--model", "models", type=MODEL, metavar="MODEL", multiple=True,
              help="Model to score, as for tseval run, or a pattern for several: step*.pt or "
                   "hf:ID@step{1000,2000}. Repeatable.",
)  # fmt: skip
@MODEL_ARGS
@click.option("--suite", "suites", type=SUITE, multiple=True, default=["marvin_linzen"], show_default=True,
              help="Suite to score, as for tseval run. Repeatable.")  # fmt: skip
@how_suites_are_read
@how_sentences_are_compared
@DEVICE
@click.option("--engine", "engine_name", type=click.Choice(["local", "slurm", "ray"]), default="local",
              show_default=True, help="Start the processes that score here: local (this machine), slurm "
                                      "(a SLURM queue) or ray (a Ray cluster).")  # fmt: skip
@click.option(
    "--workers",
    type=COUNT,
    help="Number of processes that score at the same time (default: one for each GPU; without a GPU, one "
    "for each core).",
)
@click.option("-o", "--out", type=FILE,
              help="Folder for the runs (default: a folder in runs/ with the name of the plan).")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print only failed runs and errors.")
def sweep_command(
    words: tuple[str, ...], models: tuple[str, ...], model_args: str, suites: tuple[str, ...],
    cases: tuple[str, ...], clusters: tuple[str, ...], unigrams: Path | None, precision: str,
    engine_name: str, workers: int | None, out: Path | None, quiet: bool, **reading: Any,
) -> None:  # fmt: skip
    """Score many models on many suites, in parallel.

    Name the models and suites in PLAN, a YAML file, or with --model and --suite. Each model is scored on
    each suite, and each result is one run in the folder of --out. If you stop a sweep, repeat the
    same command: it continues and repeats no finished run. The exit code is 1 if a run failed. tseval
    sweep status PLAN prints the progress and scores nothing.
    """
    from tseval.sweeps import STATE, Workforce, states_of
    from tseval.sweeps.engines import find_engine
    from tseval.sweeps.units import ModelEntry, Options, Records, SweepPlan, plan_units, read_plan

    asks, files = words[:1] == (_STATUS,), [word for i, word in enumerate(words) if i or word != _STATUS]
    if len(files) + bool(models) != 1:
        wrong = "the command must name the models to score. Name one PLAN, or the models with --model MODEL."
        raise click.UsageError(wrong)
    if files:
        context, besides = click.get_current_context(), {"words", "engine_name", "workers", "out", "quiet"}
        for one in context.command.params:
            given = context.get_parameter_source(str(one.name)) is ParameterSource.COMMANDLINE
            if given and one.name not in besides:
                raise click.UsageError(
                    f"{one.opts[0]} cannot be combined with a plan, which has its own options. Write the "
                    f"option into the file {files[0]}."
                )
        plan = read_plan(Path(files[0]))
    else:
        arguments = with_precision(read_arguments(model_args), precision)
        counted_in = None if unigrams is None else str(unigrams)
        options = Options(case=cases, cluster=clusters, unigrams=counted_in, **reading)
        plan = SweepPlan(
            tuple(ModelEntry(model, arguments) for model in models), suites, options, str(RUNS / "sweep")
        )
    if out is not None:
        plan = replace(plan, out=str(out))
    units = plan_units(plan)
    folder = Path(str(plan.out))
    if asks:
        _tell(states_of(units, Records(folder / STATE)))
        return
    force = Workforce(find_engine(engine_name), workers, plan.settings(engine_name))
    sweep_and_tell(units, folder, force, quiet)
    if not quiet:
        click.echo(f"tseval table {folder}", err=True)


def sweep_and_tell(units: Sequence[SweepUnit], folder: Path, force: Workforce, quiet: bool = False) -> None:
    """Sweep, show how it goes, and name all that failed, with its log."""
    from tseval.cli.console import counts_of, ended_in_order, say_progress, watching
    from tseval.sweeps import STATE, sweep
    from tseval.sweeps.units import ENDED, Records

    place = Records(folder / STATE)
    with ended_in_order(folder), watching(quiet, say_progress) as watch:
        swept = sweep(units, place, force, watch)
    if not quiet:
        before = sum(state.was_done for state in swept.states)
        click.echo(
            counts_of(swept.states) + (f" ({before:,} of them finished earlier)" if before else ""), err=True
        )
    failed = [state for state in swept.states if state.record.stage == "failed"]
    left = [state for state in swept.states if state.record.stage not in ENDED]
    for state in failed:
        said = f"tseval: {state.unit.name} failed: {state.record.said}\n  Log: {place.log(state.unit)}"
        click.echo(shortened(said), err=True)
    for complaint in dict.fromkeys(swept.complaints):
        click.echo(shortened(f"tseval: {complaint}"), err=True)
    if left:
        said = f"tseval: {counted(len(left), 'unit')} not finished, such as {left[0].unit.name}.\n"
        click.echo(f"{said}  To continue, repeat the same command.", err=True)
    if failed or left:
        raise click.exceptions.Exit(1)


def _tell(states: Sequence[UnitState]) -> None:
    from tseval.cli.console import counts_of, say_progress

    width = max(len(state.unit.name) for state in states)
    for state in states:
        line = f"{state.unit.name:<{width}}  {state.record.stage:<8}  {say_progress(state)}"
        click.echo(line.partition("\n")[0].rstrip())
    click.echo(counts_of(states))


class Share(click.ParamType[float]):
    """A share of sentences: `1%`, `0.5%` or `all`."""

    name = "SHARE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a share; 1 for all."""
        if isinstance(value, float):
            return value
        text = str(value)
        try:
            share = 1.0 if text == "all" else float(text.removesuffix("%")) / (100 if text[-1:] == "%" else 0)
        except (ValueError, ZeroDivisionError):
            share = 0.0
        if not 0 < share <= 1:
            self.fail(
                f"{text!r} is not a share of sentences. Write a percentage, such as 1% or 0.5%, or the "
                "word all.",
                param,
                ctx,
            )
        return share


@click.command(cls=Command)
@click.argument("paths", type=RUN, nargs=-1, required=True, metavar="RUN_OR_BOARD...")
@click.option(
    "--suite",
    type=SUITE,
    help="Name or path of the suite that the model was scored on (default: the name in the run).",
)
@click.option(
    "--model",
    "spec",
    type=MODEL,
    metavar="MODEL",
    help="Model of the run, with which tseval scores some sentences again and compares the scores "
    "(default: check without a model).",
)
@MODEL_ARGS
@DEVICE
@click.option("--rescore", "share", type=Share(),
              help="Share of the run's sentences that --model scores again: a percentage, such as 5%, or "
                   "the word all (default: 1%).",
)  # fmt: skip
@click.option(
    "--draw",
    help='Text after "drawn by" in an earlier report, to score the same sentences again as that report '
    "(default: draw new random sentences).",
)
@click.option("--record", metavar="NAME",
              help="If the entries of a leaderboard pass, record in the leaderboard that NAME verified "
                   "them (default: record nothing).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the reports in JSON format.")
def verify_command(
    paths: tuple[str, ...], suite: str | None, spec: str | None, model_args: str, device: str,
    share: float | None, draw: str | None, record: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Verify runs: files intact, numbers recomputed from the evidence, scores confirmed by the model.

    Without --model, tseval checks that the files of a run are unchanged and recomputes its numbers from
    the stored per-token scores. With --model, tseval also scores a random share of the sentences again
    and compares the scores. The exit code is 1 if a check fails.
    """
    from tseval.boards.check import record_check
    from tseval.boards.definition import read_definition
    from tseval.runs import ENTRY_FILE

    for option, given in (("--rescore", share), ("--draw", draw)):
        if spec is None and given is not None:
            raise RunError(
                f"{option} is about scoring sentences again, which needs the model of the run. "
                "Add --model MODEL."
            )
    chosen = _runs_and_entries(paths)
    model = (
        None
        if spec is None
        else open_chosen(spec, model_args, device, _claimed_precision(chosen, model_args))
    )
    if not chosen:
        click.echo(f"{', '.join(paths)}: no entries", err=True)
    reports = []
    verify = _verifier(suite, model, share or 0.01, draw)
    if record is not None:
        _refuse_to_record(chosen)
    boards: set[Path] = set()
    for path in chosen:
        board = path.resolve().parents[1]
        of_a_board = str(path) not in paths and (path / ENTRY_FILE).is_file()
        if of_a_board and not as_json and board not in boards:
            boards.add(board)
            click.echo(f"{board.name}: {read_definition(board).title}")
        with progress_bar(f"verifying {path}") as progress:
            report = verify(path, progress)
        reports.append(report)
        if record is not None and report.ok:
            record_check(path, report, record)
        if not as_json:
            print_hanging(str(report), 14)
    if as_json:
        click.echo(json.dumps([report.to_mapping() for report in reports], indent=2, ensure_ascii=False))
    if not all(report.ok for report in reports):
        sys.exit(1)


def _claimed_precision(paths: Sequence[Path], model_args: str) -> str:
    """Return the precision that the first of several claims states, unless the user says which."""
    from tseval.runs.manifest import load_manifest

    if "precision" in read_arguments(model_args):
        return "float32"
    try:
        return str(load_manifest(paths[0]).key.protocol.get("precision", "float32"))
    except (RunError, LimitError):
        return "float32"  # what is wrong with it is said where it is verified


def _refuse_to_record(paths: Sequence[Path]) -> None:
    from tseval.boards.definition import read_definition
    from tseval.runs import ENTRY_FILE

    for path in paths:
        if not (path / ENTRY_FILE).is_file():
            raise RunError(
                f"--record: {path} is not an entry of a leaderboard. Name an entry, BOARD/entries/NAME, or "
                "leave out --record."
            )
        if read_definition(path.resolve().parents[1]).published:
            raise RunError(
                f"--record: {path} has only published accuracies, so there are no scores to verify. Leave "
                "out --record."
            )


def _runs_and_entries(names: tuple[str, ...]) -> list[Path]:
    """List what is to be verified; a board stands for all its entries, a folder for the runs in it."""
    from tseval.boards import ranked_folders
    from tseval.boards.definition import read_definition
    from tseval.boards.sources import boards_below, lacks_evidence, not_shipped
    from tseval.report.boards import BUNDLED_BOARDS
    from tseval.runs import runs_below

    found: list[Path] = []
    for name in names:
        path = Path(name)
        if not path.exists() and (BUNDLED_BOARDS / name).exists():
            path = BUNDLED_BOARDS / name
        boards = boards_below(path)
        for board in boards:
            definition = read_definition(board)
            if not definition.published and lacks_evidence(board):
                raise not_shipped(board)
            own = ranked_folders(board, definition)
            found += own
        if not boards:
            found += runs_below(path)[0] or [path]
    return found


def _verifier(suite: str | None, model: Model | None, share: float, draw: str | None) -> _Verifier:
    from tseval.boards.check import board_suite, verify_entry
    from tseval.boards.definition import read_definition
    from tseval.runs import ENTRY_FILE
    from tseval.verifying import verify_run

    suite_of_board = lru_cache(maxsize=1)(board_suite)  # the entries of a board follow one another

    def verify(path: Path, progress: Callable[[int, int], None] | None) -> Verification:
        if not (path / ENTRY_FILE).is_file():
            return verify_run(path, suite=suite, model=model, share=share, draw=draw, progress=progress)
        board = path.resolve().parents[1]
        split = None if read_definition(board).published else suite_of_board(board)
        return verify_entry(path, suite=split, model=model, share=share, draw=draw, progress=progress)

    return verify
