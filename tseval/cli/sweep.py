"""`tseval sweep`: score many models on many suites, in parallel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tseval.cli.groups import Command
from tseval.cli.model_options import (
    DEVICE,
    MODEL_ARGS,
    asked_options,
    read_arguments,
    with_precision,
    with_prompt,
)
from tseval.cli.names import MODEL, SUITE
from tseval.cli.options import COUNT, FILE
from tseval.cli.scoring_options import RUNS, comparison_options, context_options, suite_options
from tseval.cli.sweep_lines import print_results, progress_lines
from tseval.errors import counted, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.sweeps import UnitState, Workforce
    from tseval.sweeps.units import SweepUnit


_STATUS = "status"


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar=f"[{_STATUS}] [PLAN]")
@click.option("--model", "models", type=MODEL, metavar="MODEL", multiple=True,
              help="Model to score, as for tseval run, or a pattern for several: step*.pt or "
                   "hf:ID@step{1000,2000}. Repeatable.",
)  # fmt: skip
@MODEL_ARGS
@asked_options
@click.option("--suite", "suites", type=SUITE, multiple=True, default=["marvin_linzen"], show_default=True,
              help="Suite to score, as for tseval run. Repeatable.")  # fmt: skip
@suite_options
@comparison_options
@context_options
@DEVICE
@click.option("--engine", "engine_name", type=click.Choice(["local", "slurm", "ray"]), default="local",
              show_default=True, help="Place where the scoring processes run: local (this machine), "
                                      "slurm (a SLURM queue) or ray (a Ray cluster).")  # fmt: skip
@click.option(
    "--workers",
    type=COUNT,
    help="Number of processes that score at the same time (default: one for each GPU; without a GPU, one "
    "for each core).",
)
@click.option("-o", "--out", type=FILE,
              help="Folder for the runs (default: a folder in runs/ with the name of the plan).")  # fmt: skip
@click.option(
    "--resume",
    is_flag=True,
    help="Continue the sweep in the folder of --out. This is always so: the option changes nothing.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the progress and the result of each run as JSON lines."
)
@click.option("--quiet", is_flag=True, help="Print only failed runs and errors.")
def sweep_command(
    words: tuple[str, ...], models: tuple[str, ...], model_args: str, suites: tuple[str, ...],
    cases: tuple[str, ...], clusters: tuple[str, ...], unigrams: Path | None, precision: str,
    n_contexts: int, engine_name: str, workers: int | None, out: Path | None, resume: bool, as_json: bool,
    quiet: bool, prompt: str | None, parallel: int | None,
    **reading: Any,
) -> None:  # fmt: skip
    """Score many models on many suites, in parallel.

    Name the models and suites in PLAN, a YAML file, or with --model and --suite. Each model is scored on
    each suite, and each result is one run in the folder of --out. If you stop a sweep, repeat the
    same command: it continues and repeats no finished run. The exit code is 1 if a run failed.

    tseval sweep status PLAN prints the state of each run, its seconds and its sentences per second. It scores
    nothing. Its exit code is 1 if a run failed.
    """
    del resume  # a sweep always continues
    from tseval.sweeps import STATE, Workforce, states_of
    from tseval.sweeps.engines import find_engine
    from tseval.sweeps.units import ModelEntry, Options, Records, SweepPlan, plan_units, read_plan

    is_status, files = words[:1] == (_STATUS,), [word for i, word in enumerate(words) if i or word != _STATUS]
    if len(files) + bool(models) != 1:
        wrong = "the command must name the models to score. Name one PLAN, or the models with --model MODEL."
        raise click.UsageError(wrong)
    if files:
        context, allowed = click.get_current_context(), {
            "words", "engine_name", "workers", "out", "resume", "as_json", "quiet",
        }  # fmt: skip
        for param in context.command.params:
            is_typed = context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
            if is_typed and param.name not in allowed:
                raise click.UsageError(
                    f"{param.opts[0]} cannot be combined with a plan, which has its own options. Write the "
                    f"option into the file {files[0]}."
                )
        plan = read_plan(Path(files[0]))
    else:
        chosen = with_prompt(models, read_arguments(model_args), prompt, parallel)
        arguments = with_precision(chosen, precision)
        count_file = None if unigrams is None else str(unigrams)
        options = Options(case=cases, cluster=clusters, unigrams=count_file, contexts=n_contexts, **reading)
        plan = SweepPlan(
            tuple(ModelEntry(model, arguments) for model in models), suites, options, str(RUNS / "sweep")
        )
    if out is not None:
        plan = replace(plan, out=str(out))
    units = plan_units(plan)
    folder = Path(str(plan.out))
    if is_status:
        states = states_of(units, Records(folder / STATE))
        if as_json:
            print_results(states)
        else:
            _print_status(states)
        if any(state.record.stage == "failed" for state in states):
            raise click.exceptions.Exit(1)
        return
    force = Workforce(find_engine(engine_name), workers, plan.settings(engine_name))
    sweep_and_report(units, folder, force, quiet, as_json=as_json)
    if not quiet and not as_json:
        quoted = quote(str(folder))
        click.echo(f"tseval table {quoted}\ntseval report {quoted} -o {quote(f'{folder}.html')}", err=True)


def sweep_and_report(
    units: Sequence[SweepUnit],
    folder: Path,
    force: Workforce,
    quiet: bool = False,
    *,
    as_json: bool = False,
) -> None:
    """Run a sweep, show its progress, and print each failed unit with its log."""
    from tseval.cli.interrupts import ended_in_order
    from tseval.cli.progress import counts_of, say_progress, watching
    from tseval.sweeps import STATE, sweep
    from tseval.sweeps.units import ENDED, Records

    records = Records(folder / STATE)
    with ended_in_order(folder), watching(quiet or as_json, say_progress) as watch:
        swept = sweep(units, records, force, progress_lines() if as_json else watch)
    if as_json:
        print_results(swept.states)
    elif not quiet:
        n_done = sum(state.was_done for state in swept.states)
        click.echo(
            counts_of(swept.states) + (f" ({n_done:,} of them finished earlier)" if n_done else ""), err=True
        )
    failed = [state for state in swept.states if state.record.stage == "failed"]
    pending = [state for state in swept.states if state.record.stage not in ENDED]
    for state in failed:
        message = f"tseval: {state.unit.name} failed: {state.record.said}\n  Log: {records.log(state.unit)}"
        click.echo(shortened(message), err=True)
    for state in swept.states:
        if state.record.stage == "done" and state.record.coverage == 0:
            click.echo(
                f"warning: {state.unit.name}: for this model, every item of {state.unit.suite} is "
                "undecidable, so the unit measures nothing",
                err=True,
            )
    for problem in dict.fromkeys(swept.complaints):
        click.echo(shortened(f"tseval: {problem}"), err=True)
    if pending:
        message = f"tseval: {counted(len(pending), 'unit')} not finished, such as {pending[0].unit.name}.\n"
        click.echo(f"{message}  To continue, repeat the same command.", err=True)
    if failed or pending:
        raise click.exceptions.Exit(1)


def _print_status(states: Sequence[UnitState]) -> None:
    from tseval.cli.progress import counts_of, say_progress

    width = max(len(state.unit.name) for state in states)
    for state in states:
        line = f"{state.unit.name:<{width}}  {state.record.stage:<8}  {say_progress(state)}"
        click.echo(line.partition("\n")[0].rstrip())
    click.echo(counts_of(states))
