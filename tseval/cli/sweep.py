"""`tseval sweep`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from click.core import ParameterSource

from tseval.cli.model_options import MODEL_ARGS, read_arguments
from tseval.cli.options import COLUMNS_OPTION, COUNT, DEVICE, FILE
from tseval.cli.run import RUNS
from tseval.errors import counted, shortened
from tseval.questions import SCORES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tseval.questions import Score
    from tseval.sweeps import UnitState, Workforce
    from tseval.sweeps.units import SweepUnit

_STATUS = "status"


@click.command()
@click.argument("words", nargs=-1, metavar=f"[{_STATUS}] [PLAN]")
@click.option("--model", "models", multiple=True,
              help="As tseval run takes it, or several: step*.pt, hf:ID@step{1000,2000}.")  # fmt: skip
@MODEL_ARGS
@click.option("--suite", "suites", multiple=True, default=["marvin_linzen"], show_default=True,
              help="As tseval run takes it, or several.")  # fmt: skip
@click.option("--case", "cases", multiple=True, help="Only these cases.")
@click.option("--limit", type=COUNT, help="Only the first N items of each case.")
@click.option("--tokenise", is_flag=True,
              help="Split punctuation and clitics off the words of data, for word-level models.")  # fmt: skip
@click.option("--cluster", "clusters", multiple=True, metavar="COLUMN",
              help="Items with the same value are not independent, whatever the suite says; may be repeated.",
)  # fmt: skip
@COLUMNS_OPTION
@click.option("--score", type=click.Choice(SCORES), help="What sentences are compared by.")
@click.option("--too-long", type=click.Choice(["skip", "refuse"]), default="skip", show_default=True,
              help="Where a sentence is longer than the model reads.")  # fmt: skip
@DEVICE
@click.option("--engine", "engine_name", type=click.Choice(["local", "slurm", "ray"]), default="local",
              show_default=True, help="Where workers are started.")  # fmt: skip
@click.option("--workers", type=COUNT, help="How many; else one for each GPU, or for each core.")
@click.option("-o", "--out", type=FILE, help="Folder of the runs; else runs/ and the name of the plan.")
@click.option("--quiet", is_flag=True, help="Print failures and errors only.")
def sweep_command(
    words: tuple[str, ...], models: tuple[str, ...], model_args: str, suites: tuple[str, ...],
    cases: tuple[str, ...], limit: int | None, tokenise: bool, clusters: tuple[str, ...],
    columns: dict[str, str] | None, score: Score | None, too_long: Literal["skip", "refuse"], device: str,
    engine_name: str, workers: int | None, out: Path | None, quiet: bool,
) -> None:  # fmt: skip
    """Score many models on many suites, by as many workers as there are.

    What is swept stands in PLAN, a YAML file, or in --model, --suite and the options of tseval run. Every
    model and suite gives a run in the folder. The same command goes on where it was stopped: what is done is
    not done again. Exits with 1 if anything failed. With the word status it only says how far everything is.
    """
    from tseval.sweeps import STATE, Workforce, states_of
    from tseval.sweeps.engines import find_engine
    from tseval.sweeps.units import ModelEntry, Options, SweepPlace, SweepPlan, plan_units, read_plan

    asks, files = words[:1] == (_STATUS,), [word for i, word in enumerate(words) if i or word != _STATUS]
    if len(files) + bool(models) != 1:
        raise click.UsageError("name one plan, or models with --model.")
    if files:
        _refuse_beside_plan(click.get_current_context())
        plan = read_plan(Path(files[0]))
    else:
        arguments = read_arguments(model_args)
        options = Options(cases, limit, tokenise, clusters, score, too_long, device, columns)
        plan = SweepPlan(
            tuple(ModelEntry(model, arguments) for model in models), suites, options, str(RUNS / "sweep")
        )
    if out is not None:
        plan = replace(plan, out=str(out))
    units = plan_units(plan)
    folder = Path(str(plan.out))
    if asks:
        _tell(states_of(units, SweepPlace(folder / STATE)))
        return
    force = Workforce(find_engine(engine_name), workers, plan.settings(engine_name))
    sweep_and_tell(units, folder, force, quiet)
    if not quiet:
        click.echo(f"tseval table {folder}", err=True)


def sweep_and_tell(units: Sequence[SweepUnit], folder: Path, force: Workforce, quiet: bool = False) -> None:
    """Sweep, show how it goes, and name all that failed, with its log.

    Args:
        units: To do.
        folder: Of the sweep; what is known of the units stands below it.
        force: Who does them.
        quiet: Say nothing but what failed.

    Raises:
        Exit: With 1, if anything failed or is left.
    """
    from tseval.cli.watching import counts_of, ended_in_order, say_progress, watching
    from tseval.sweeps import STATE, sweep
    from tseval.sweeps.units import ENDED, SweepPlace

    place = SweepPlace(folder / STATE)
    with ended_in_order(folder), watching(quiet, say_progress) as watch:
        swept = sweep(units, place, force, watch)
    if not quiet:
        before = sum(state.was_done for state in swept.states)
        click.echo(counts_of(swept.states) + (f" ({before:,} of them before)" if before else ""), err=True)
    failed = [state for state in swept.states if state.record.stage == "failed"]
    left = [state for state in swept.states if state.record.stage not in ENDED]
    for state in failed:
        said = f"tseval: {state.unit.name} failed: {state.record.said}\n  See {place.log(state.unit)}."
        click.echo(shortened(said), err=True)
    for complaint in dict.fromkeys(swept.complaints):
        click.echo(shortened(f"tseval: {complaint}"), err=True)
    if left:
        said = f"tseval: {counted(len(left), 'unit')} left, {left[0].unit.name} first.\n"
        click.echo(f"{said}  The same command goes on.", err=True)
    if failed or left:
        raise click.exceptions.Exit(1)


def _refuse_beside_plan(context: click.Context) -> None:
    """Refuse options that would say something else than a plan does."""
    allowed = {"words", "engine_name", "workers", "out", "quiet"}
    for parameter in context.command.params:
        given = context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
        if given and parameter.name not in allowed:
            raise click.UsageError(f"{parameter.opts[0]} stands in the plan, if there is one.")


def _tell(states: Sequence[UnitState]) -> None:
    """Print how far everything is: a line for each unit, then how many are at which stage."""
    from tseval.cli.watching import counts_of, say_progress

    width = max(len(state.unit.name) for state in states)
    for state in states:
        line = f"{state.unit.name:<{width}}  {state.record.stage:<8}  {say_progress(state)}"
        click.echo(line.partition("\n")[0].rstrip())
    click.echo(counts_of(states))
