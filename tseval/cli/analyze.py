"""`tseval analyze`: analyse runs, one command for each analysis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tseval.cli.grouping import GROUP_OPTIONS, grouped, read_groups
from tseval.cli.groups import Group
from tseval.cli.names import CASE, RUN
from tseval.cli.options import (
    BY,
    CLOCK_NAMES,
    CONFIDENCE,
    COUNT,
    FILE,
    FORMAT,
    JSON_FORMAT,
    MARGIN_OPTION,
    MASS_OPTION,
    NOTES,
    VERBOSE,
    feature_values,
    take_all,
)
from tseval.cli.printing import print_or_write
from tseval.cli.progress import busy
from tseval.cli.trainings import trainings_of_runs
from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tseval.report import Format, Table
    from tseval.report.analyses.trajectory import Training
    from tseval.report.document import Document
    from tseval.report.looks import Look
    from tseval.report.opened import RunSet
    from tseval.report.panels import Panel
    from tseval.report.published import Board
    from tseval.runs import Clock, Run

    GroupsOfRuns = Mapping[str, Sequence[str]]


NOTHING_TO_DRAW = (
    "no model could decide any of the chosen items, so the figure would be empty.\n"
    "  Choose other items with --case or --where."
)
NEW_FILE = click.Path(path_type=Path, dir_okay=False)
run_options = take_all([
    click.argument("runs", type=RUN, nargs=-1, required=True, metavar="RUN..."),
    click.option("--case", "cases", type=CASE, multiple=True, metavar="NAME",
                 help="Use only the case (part of the suite) with this name. Repeatable (default: all "
                      "cases)."),
    click.option("--where", "where", multiple=True, metavar="FEATURE=VALUE",
                 help="Use only items whose FEATURE has this VALUE, such as n_intervening=2. Repeatable "
                      "(default: all items)."),
    FORMAT,
    JSON_FORMAT,
    click.option("-o", "--out", "output", type=NEW_FILE, metavar="FILE",
                 help="File in which to write the numbers (default: print them)."),
    CONFIDENCE,
    NOTES,
    VERBOSE,
])  # fmt: skip
FIGURE = click.option("--figure", "figures", type=NEW_FILE, multiple=True, metavar="FILE",
                      help="File in which to draw the result as a figure: .svg, .pdf or .png. Repeatable "
                           "(default: no figure).")  # fmt: skip


@click.group(cls=Group, purposes={
    "Any runs": ("rows", "pairwise", "robustness", "trajectory", "context"),
    "Agreement": ("attractors", "profile", "inflection"),
    "Designs, ratings, formal languages": ("effects", "ratings", "formal"),
})  # fmt: skip
def analyze_command() -> None:
    """Analyse runs by row, attractors, words, pairs of models, ratings, training steps or contexts."""


@dataclass(frozen=True, slots=True)
class ChosenRuns:
    """The values of the options that all analyses share."""

    runs: tuple[str, ...]
    cases: tuple[str, ...]
    where: tuple[str, ...]
    form: Format
    output: Path | None
    figures: tuple[Path, ...] = ()

    group: bool = False
    group_by: str | None = None

    def open(
        self, names: Sequence[str], *, rated: bool, alike: bool = True
    ) -> dict[str, tuple[RunSet, Sequence[Run | Board]]]:
        """Open the runs of each suite, with the items that `--case` and `--where` choose."""
        from tseval.boards.sources import open_items
        from tseval.report.figures import check_figure_names
        from tseval.report.opened import for_analysis
        from tseval.report.suite_tables import by_suite

        check_figure_names(self.figures, RunError)
        chosen = [*(("case", case) for case in self.cases), *feature_values(self.where)]
        of_suites = by_suite(open_items(names))
        return {
            suite: (for_analysis(runs, chosen, rated=rated, alike=alike), runs)
            for suite, runs in of_suites.items()
        }

    def analyse(
        self,
        make: Callable[[RunSet], Document],
        panels: Callable[[RunSet, Document], Sequence[Panel]] | None = None,
        look: Look | None = None,
        *,
        rated: bool = False,
        alike: bool = True,
    ) -> None:
        """Analyse runs without groups, as `analyse_groups` does with groups."""
        self.analyse_groups(
            lambda opened, _: make(opened),
            None if panels is None else lambda opened, document, _: panels(opened, document),
            look,
            rated=rated,
            alike=alike,
            can_group=False,
        )

    def analyse_groups(
        self,
        make: Callable[[RunSet, GroupsOfRuns | None], Document],
        panels: Callable[[RunSet, Document, GroupsOfRuns | None], Sequence[Panel]] | None = None,
        look: Look | None = None,
        *,
        rated: bool = False,
        alike: bool = True,
        can_group: bool = True,
    ) -> None:
        """Analyse the runs, draw the panels into the files of `--figure`, and print or write the numbers.

        Runs on several suites are analysed suite by suite. `look` is a look of `tseval.report.looks`. `rated`
        and `alike` are arguments of `tseval.report.opened.for_analysis`.
        """
        from tseval.report.figures import write_figure
        from tseval.report.suite_tables import tables_of

        names, grouping = read_groups(self.runs, group=self.group, group_by=self.group_by)
        if grouping.named and not can_group:
            raise click.UsageError(
                "this analysis has no groups, so GROUP=RUN cannot be used. Name the runs alone."
            )
        with busy("analysing runs"):
            opened_suites = self.open(names, rated=rated, alike=alike)
            documents: dict[str, Document | Table] = {}
            drawable: list[Panel] = []
            for suite, (opened, _) in opened_suites.items():
                noted, groups = grouped(opened, grouping) if grouping else (opened, None)
                documents[suite] = document = make(noted, groups)
                if self.figures and panels is not None and look is not None:
                    of_suite = panels(noted, document, groups)
                    has_suites = len(opened_suites) > 1
                    drawable += [in_suite(panel, suite) for panel in of_suite] if has_suites else of_suite
            if self.figures and panels is not None and look is not None:
                if not any(panel.series for panel in drawable):
                    raise RunError(NOTHING_TO_DRAW)
                write_figure(drawable, look, self.figures, RunError)
            runs = {suite: runs for suite, (_, runs) in opened_suites.items()}
        print_or_write(tables_of(documents, runs), self.form, self.output)


def in_suite(panel: Panel, suite: str) -> Panel:
    """Return a panel with the suite in its title, for a figure of several suites."""
    return panel if suite in panel.title else replace(panel, title=f"{suite}: {panel.title}")


@analyze_command.command("attractors")
@run_options
@FIGURE
@click.option(
    "--distance",
    type=int,
    metavar="N",
    help="Use only items with N words between the subject and the verb (default: all items).",
)
@click.option("--attractors", "n_attractors", type=int, metavar="K",
              help="Use only items with exactly K attractors: nouns between subject and verb that differ "
                   "from them in number (singular or plural). The table then has a row for each count of "
                   "other nouns between subject and verb (default: all items).")  # fmt: skip
def attractors_command(distance: int | None, n_attractors: int | None, **options: Any) -> None:
    """Print accuracy by two numbers: nouns between subject and verb, and attractors among these nouns."""
    from tseval.report.analyses import attractors
    from tseval.report.looks import SMALL_LINES

    make, panels = attractors.attractors, attractors.attractor_panels
    if n_attractors is not None:
        make, panels = attractors.non_attractors, attractors.non_attractor_panels
    fixed = {"distance": distance, "n_attractors": n_attractors}
    options["where"] += tuple(f"{name}={value}" for name, value in fixed.items() if value is not None)
    ChosenRuns(**options).analyse(make, lambda _, document: panels(document), SMALL_LINES)


@analyze_command.command("rows")
@run_options
@FIGURE
@BY
@GROUP_OPTIONS
def rows_command(by: tuple[str, ...], **options: Any) -> None:
    """Print the accuracy of each row with its confidence interval, or draw it as dots.

    With groups, a figure has a dot for the mean of each group and an open circle for each of its runs.
    """
    from tseval.report.analyses.row_dots import row_panels
    from tseval.report.analyses.seeds import seeds_table
    from tseval.report.looks import ROW_DOTS

    def as_groups(opened: RunSet, groups: Mapping[str, Sequence[str]] | None) -> Mapping[str, Sequence[str]]:
        return groups or {name: [name] for name in opened.verdicts}

    ChosenRuns(**options).analyse_groups(
        lambda opened, groups: seeds_table(opened, as_groups(opened, groups), by),
        lambda opened, document, groups: row_panels(opened, document, as_groups(opened, groups), by),
        ROW_DOTS,
    )


@analyze_command.command("profile")
@run_options
@FIGURE
@click.option(
    "--words",
    type=COUNT,
    metavar="N",
    help="Use only items with N words before the verb (default: all items).",
)
def profile_command(words: int | None, **options: Any) -> None:
    """Print the mean probability of the correct verb number after each word of the sentence."""
    from tseval.report.analyses.profile import profile_panels, profiles
    from tseval.report.looks import LONG_LINES

    ChosenRuns(**options).analyse(
        lambda opened: profiles(opened, words), lambda _, document: profile_panels(document), LONG_LINES
    )


@analyze_command.command("inflection")
@run_options
@FIGURE
@MASS_OPTION
def inflection_command(masses: tuple[float, ...], **options: Any) -> None:
    """Print EW and MW of all verbs by row, by probability mass and by frequency of the verb.

    RUN is a run on SUITE:inflection. EW is the share of the verbs of a list that get the right form; MW
    counts each verb by its probability.
    """
    from tseval.report.analyses.inflection import inflection, mass_panels
    from tseval.report.looks import MASSES

    ChosenRuns(**options).analyse(
        lambda opened: inflection(opened, masses), lambda _, document: mass_panels(document), MASSES
    )


@analyze_command.command("pairwise")
@run_options
@click.option("--by", metavar="FEATURE",
              help="Feature of the items, such as n_intervening: tseval prints one more table for each of "
                   "its values (default: only the table over all items).")  # fmt: skip
@MARGIN_OPTION
@GROUP_OPTIONS
def pairwise_command(by: str | None, margin: float, **options: Any) -> None:
    """Compare every two models: difference, its interval, and items that only one of them gets right.

    With groups, tseval compares the means over their runs.
    """
    from tseval.report.analyses.pairwise import pairs

    ChosenRuns(**options).analyse_groups(lambda opened, groups: pairs(opened, by, margin, groups))


@analyze_command.command("robustness")
@run_options
@FIGURE
@click.option("--counts-from", "texts", type=FILE, multiple=True, metavar="TEXT",
              help="Text in which to count words: tseval prints how accuracy depends on word frequency. "
                   "Repeatable (default: none).",
)  # fmt: skip
def robustness_command(texts: tuple[Path, ...], **options: Any) -> None:
    """Print how much each row of the table depends on single words, and which words widen its interval."""
    from tseval.report.analyses.robustness import analyse_words, word_panels
    from tseval.report.looks import ACCURACY_DOTS

    def make(opened: RunSet) -> Document:
        if not texts:
            return analyse_words(opened)
        from tseval.training.corpus import count_words  # imports torch

        return analyse_words(opened, count_words(texts, lowercase=True))

    ChosenRuns(**options).analyse(make, lambda _, document: word_panels(document), ACCURACY_DOTS)


@analyze_command.command("effects")
@run_options
@FIGURE
def effects_command(**options: Any) -> None:
    """Print the size of each predicted effect in bits, and the mean surprisal in each condition."""
    from tseval.report.analyses.effects import design_effects, surprisal_panels
    from tseval.report.looks import DOTS

    ChosenRuns(**options).analyse(design_effects, lambda _, document: surprisal_panels(document), DOTS)


@analyze_command.command("trajectory")
@run_options
@FIGURE
@click.option("--over", type=CLOCK_NAMES, default="step", show_default=True,
              help="Unit in which the progress of the training is counted: step, tokens (read so far) or "
                   "epoch.")  # fmt: skip
def trajectory_command(over: Clock, **options: Any) -> None:
    """Print the training step at which the accuracy of each row rises above chance.

    RUN is a run of a checkpoint; give the runs of many checkpoints of one training.
    """
    from tseval.report.analyses.trajectory import rises, trajectory_panels
    from tseval.report.looks import TRAJECTORIES

    trainings: list[Training] = []

    def make(opened: RunSet) -> Document:
        trainings[:] = trainings_of_runs(opened, over)  # those of one suite, until the next call
        return rises(opened, trainings, over)

    ChosenRuns(**options).analyse(make, lambda *_: trajectory_panels(trainings, over), TRAJECTORIES)


@analyze_command.command("context")
@run_options
@FIGURE
def context_command(**options: Any) -> None:
    """Print the accuracy of each row by the length and the kind of the context.

    RUN is a run of tseval run --context, or a folder of such runs. To print the accuracy without
    context (length 0), also give a run without --context. A figure has a line with a band for each
    kind of context.
    """
    from tseval.report.analyses.context import InContext, by_context, context_panels, find_contexts
    from tseval.report.looks import TRAJECTORIES

    contexts: list[InContext] = []

    def make(opened: RunSet) -> Document:
        contexts[:] = find_contexts(opened)  # those of one suite, until the next call
        return by_context(opened, contexts)

    ChosenRuns(**options).analyse(make, lambda *_: context_panels(contexts), TRAJECTORIES, alike=False)


@analyze_command.command("ratings")
@run_options
@FIGURE
@BY
def ratings_command(by: tuple[str, ...], **options: Any) -> None:
    """Print correlations between model scores and human ratings, or draw a dot for each sentence."""
    from tseval.report.analyses.ratings import ratings, scatter_panels
    from tseval.report.looks import SCATTER

    ChosenRuns(**options).analyse(lambda opened: ratings(opened, by), scatter_panels, SCATTER, rated=True)


@analyze_command.command("formal")
@run_options
@FIGURE
@GROUP_OPTIONS
def formal_command(**options: Any) -> None:
    """Print the results on formal languages, by the measures that docs/formal_languages.md names."""
    from tseval.report.analyses.formal import formal, formal_of_seeds, formal_panel
    from tseval.report.looks import BANDS

    ChosenRuns(**options).analyse_groups(
        lambda opened, groups: formal(opened) if groups is None else formal_of_seeds(opened, groups),
        lambda opened, document, _: [formal_panel(opened, document)],
        BANDS,
    )
