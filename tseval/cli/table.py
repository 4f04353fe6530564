"""Commands that show runs: table, analyze, report, cite."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tseval.cli.console import busy, print_or_write
from tseval.cli.options import (
    BY,
    CASE,
    CLOCK_NAMES,
    CONFIDENCE,
    COUNT,
    FILE,
    FORMAT,
    JSON_FORMAT,
    MARGIN_OPTION,
    NOTES,
    RUN,
    SUITE,
    VERBOSE,
    Command,
    Group,
    feature_values,
    take_all,
)
from tseval.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tseval.report import Format, Table
    from tseval.report.document import Document
    from tseval.report.figures import Panel
    from tseval.report.opened import RunSet
    from tseval.report.trajectories import Training
    from tseval.runs import Clock


SEEDS_TOGETHER = click.option(
    "--group",
    is_flag=True,
    help="Join models that differ only in their seed: print the mean accuracy of "
    "each architecture and its spread over seeds.",
)


@click.command("table", cls=Command)
@click.argument("sources", type=RUN, nargs=-1, required=True, metavar="RUN_OR_BOARD...")
@FORMAT
@JSON_FORMAT
@BY
@click.option("--against", metavar="MODEL",
              help="Print how much the other models differ from MODEL, the name of a model or the folder "
                   "of a run. With --group, MODEL is the name of an architecture (default: print "
                   "accuracies).")  # fmt: skip
@MARGIN_OPTION
@SEEDS_TOGETHER
@click.option("--over", type=CLOCK_NAMES,
              help="Print one column for each checkpoint of a training, in the order of its training "
                   "step, tokens or epoch (default: one column for each model).")  # fmt: skip
@click.option("--human", type=FILE, metavar="FILE",
              help="File with human accuracies, which tseval prints in a separate column. It is a table "
                   "with the columns case and accuracy, and n (number of answers) if you know it "
                   "(default: none).",
)  # fmt: skip
@click.option(
    "-o", "--out", "output", type=FILE, help="File in which to write the output (default: print it)."
)
@CONFIDENCE
@NOTES
@VERBOSE
@click.pass_context
def table_command(
    context: click.Context, sources: tuple[str, ...], form: Format, by: tuple[str, ...],
    against: str | None, margin: float, group: bool, over: Clock | None, human: Path | None,
    output: Path | None,
) -> None:  # fmt: skip
    """Print the accuracies of runs and leaderboards side by side, with ranks.

    RUN_OR_BOARD is the folder of a run, a folder with several runs, the folder of a leaderboard, or the
    name of a leaderboard that comes with tseval (bhatt2020).
    """
    if against is None and context.get_parameter_source("margin") is not ParameterSource.DEFAULT:
        raise click.UsageError(
            "--margin is about differences between models, which only --against "
            "prints. Add --against MODEL, or leave out --margin."
        )
    if over is not None and (group or against is not None):
        raise click.UsageError(
            "--over cannot be combined with --group or --against. Leave out --over, or "
            "leave out --group and --against."
        )
    if human is not None and (group or by or over is not None or against is not None):
        raise click.UsageError(
            "--human cannot be combined with --by, --group, --against or --over. Leave out these options, "
            "or leave out --human."
        )
    from tseval.boards.sources import open_against, open_runs, open_sources
    from tseval.report import document_of
    from tseval.runs import runs_below

    for path in (path for name in sources for path in runs_below(Path(name))[1]):
        click.echo(
            f"{path}: tseval leaves this run out, because it is not finished. To finish the run, repeat "
            f"its command with --resume --out {path}",
            err=True,
        )
    with busy("reading runs"):
        if against is not None:
            from tseval.report.comparisons import differences_table

            told: Document | Table = differences_table(
                *open_against(sources, against), by, margin, grouped=group
            )
        elif over is not None:
            from tseval.report.trajectories import over_steps

            opened = open_runs(sources)
            told = over_steps(opened, _trainings(opened, over, by), over)
        elif group:
            from tseval.report.comparisons import seeds_of, seeds_table

            opened = open_runs(sources)
            told = seeds_table(opened, seeds_of(opened), by)
        else:
            told = document_of(open_sources(sources, items=bool(by)), by, human)
    print_or_write(told, form, output)


def _trainings(opened: RunSet, over: Clock, by: tuple[str, ...] = ()) -> list[Training]:
    """Find the trainings that runs are of, and say which runs join none."""
    from tseval.report.trajectories import find_trainings

    trainings, left_out = find_trainings(opened, over, by)
    for run in left_out:
        click.echo(
            f"{run}: tseval leaves this run out, because it does not state the training {over} of "
            "its checkpoint",
            err=True,
        )
    alone = [training.name for training in trainings if len(training.runs) == 1]
    if alone and len(trainings) > 1:
        joined = "tseval joins runs whose models differ only in the number in their name"
        click.echo(f"each of these trainings has only one run: {', '.join(alone)} ({joined})", err=True)
    return trainings


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
    "Any runs": ("rows", "pairwise", "robustness", "trajectory"),
    "Agreement": ("attractors", "profile"),
    "Designs, ratings, formal languages": ("effects", "ratings", "formal"),
})  # fmt: skip
def analyze_command() -> None:
    """Analyse runs by row, attractors, words, pairs of models, human ratings or training steps."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the options of every analysis say."""

    runs: tuple[str, ...]
    cases: tuple[str, ...]
    where: tuple[str, ...]
    form: Format
    output: Path | None
    figures: tuple[Path, ...] = ()

    def open(self, *, rated: bool) -> RunSet:
        """Open the runs, with the items that `--case` and `--where` choose."""
        from tseval.boards.sources import open_runs
        from tseval.report.figures import check_figure_names

        check_figure_names(self.figures, RunError)
        chosen = [("case", case) for case in self.cases]
        return open_runs(self.runs, [*chosen, *feature_values(self.where)], rated=rated)

    def analyse(
        self,
        make: Callable[[RunSet], Document],
        panels: Callable[[RunSet, Document], Sequence[Panel]] | None = None,
        look: str = "",
        *,
        rated: bool = False,
    ) -> None:
        """Analyse the runs, draw panels into the files of `--figure`, and print the numbers, or write them.

        Panels are drawn in a look of `tseval.report.figures`; `rated` are runs over ratings of sentences.
        """
        from tseval.report import figures

        with busy("analysing runs"):
            opened = self.open(rated=rated)
            found = make(opened)
            if self.figures and panels is not None:
                drawable = panels(opened, found)
                if not any(panel.series for panel in drawable):
                    raise RunError(NOTHING_TO_DRAW)
                figures.write_figure(drawable, getattr(figures, look), self.figures, RunError)
        print_or_write(found, self.form, self.output)


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
              help="Use only items with K attractors (nouns before the verb that do not have its "
                   "number). The table then goes by the other nouns (default: all items).")  # fmt: skip
def attractors_command(distance: int | None, n_attractors: int | None, **given: Any) -> None:
    """Print accuracy by the number of nouns between subject and verb, and of attractors among them."""
    from tseval.report import analyses

    make, panels = analyses.attractors, analyses.attractor_panels
    if n_attractors is not None:
        make, panels = analyses.non_attractors, analyses.non_attractor_panels
    fixed = {"distance": distance, "n_attractors": n_attractors}
    given["where"] += tuple(f"{name}={value}" for name, value in fixed.items() if value is not None)
    Chosen(**given).analyse(make, lambda _, found: panels(found), "SMALL_LINES")


@analyze_command.command("rows")
@run_options
@FIGURE
@BY
@SEEDS_TOGETHER
def rows_command(by: tuple[str, ...], group: bool, **given: Any) -> None:
    """Print the accuracy of each row with its confidence interval, or draw it as bars."""
    from tseval.report.comparisons import row_bars, seeds_of, seeds_table

    def make(opened: RunSet) -> Document:
        groups = seeds_of(opened) if group else {name: [name] for name in opened.verdicts}
        return seeds_table(opened, groups, by)

    Chosen(**given).analyse(
        make, lambda opened, found: [row_bars(found, f"Accuracy on {opened.suite}")], "BARS"
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
def profile_command(words: int | None, **given: Any) -> None:
    """Print the mean probability of the correct verb number after each word of the sentence."""
    from tseval.report.analyses import profile_panels, profiles

    Chosen(**given).analyse(
        lambda opened: profiles(opened, words), lambda _, found: profile_panels(found), "LONG_LINES"
    )


@analyze_command.command("pairwise")
@run_options
@click.option(
    "--by",
    metavar="FEATURE",
    help="Feature of the items: tseval prints one more table for each of its values (default: "
    "n_intervening, if the items have this feature).",
)
@MARGIN_OPTION
def pairwise_command(by: str | None, margin: float, **given: Any) -> None:
    """Compare every two models: difference, its interval, and items that only one of them gets right."""
    from tseval.report.comparisons import pairs

    Chosen(**given).analyse(lambda opened: pairs(opened, by, margin))


@analyze_command.command("robustness")
@run_options
@FIGURE
@click.option("--counts-from", "texts", type=FILE, multiple=True, metavar="TEXT",
              help="Text in which to count words: tseval prints how accuracy depends on word frequency. "
                   "Repeatable (default: none).",
)  # fmt: skip
def robustness_command(texts: tuple[Path, ...], **given: Any) -> None:
    """Print how much each row depends on single words, and which words make its confidence interval wide."""
    from tseval.report.robustness import analyse_words, word_panels

    def make(opened: RunSet) -> Document:
        if not texts:
            return analyse_words(opened)
        from tseval.training.corpus import count_words  # brings torch along

        return analyse_words(opened, count_words(texts, lowercase=True))

    Chosen(**given).analyse(make, lambda _, found: word_panels(found), "ACCURACY_DOTS")


@analyze_command.command("effects")
@run_options
@FIGURE
def effects_command(**given: Any) -> None:
    """Print the size of each predicted effect in bits, and the mean surprisal in each condition."""
    from tseval.report.analyses import design_effects, surprisal_panels

    Chosen(**given).analyse(design_effects, lambda _, found: surprisal_panels(found), "DOTS")


@analyze_command.command("trajectory")
@run_options
@FIGURE
@click.option("--over", type=CLOCK_NAMES, default="step", show_default=True,
              help="Unit in which the progress of the training is counted: step, tokens (read so far) or "
                   "epoch.")  # fmt: skip
def trajectory_command(over: Clock, **given: Any) -> None:
    """Print the training step at which the accuracy of each row rises above chance.

    RUN is a run of a checkpoint; give the runs of many checkpoints of one training.
    """
    from tseval.report.trajectories import rises, trajectory_panels

    trainings: list[Training] = []

    def make(opened: RunSet) -> Document:
        trainings.extend(_trainings(opened, over))
        return rises(opened, trainings, over)

    Chosen(**given).analyse(make, lambda *_: trajectory_panels(trainings, over), "TRAJECTORIES")


@analyze_command.command("ratings")
@run_options
@FIGURE
@BY
def ratings_command(by: tuple[str, ...], **given: Any) -> None:
    """Print correlations between model scores and human ratings, or draw a dot for each sentence."""
    from tseval.report.analyses import ratings, scatter_panels

    Chosen(**given).analyse(lambda opened: ratings(opened, by), scatter_panels, "SCATTER", rated=True)


@analyze_command.command("formal")
@run_options
@FIGURE
@SEEDS_TOGETHER
def formal_command(group: bool, **given: Any) -> None:
    """Print the results on formal languages, each by the measure of its paper (docs/formal_languages.md)."""
    from tseval.report.analyses import formal, formal_of_seeds, formal_panel
    from tseval.report.comparisons import seeds_of

    def make(opened: RunSet) -> Document:
        return formal_of_seeds(opened, seeds_of(opened)) if group else formal(opened)

    Chosen(**given).analyse(make, lambda opened, found: [formal_panel(opened, found)], "BANDS")


@click.command("report", cls=Command)
@click.argument("sources", type=RUN, nargs=-1, required=True, metavar="RUN_OR_BOARD...")
@click.option(
    "-o",
    "--out",
    "output",
    type=FILE,
    required=True,
    help="File in which to write the page, such as page.html.",
)
@click.option(
    "--suite",
    type=SUITE,
    help="Name or path of the suite that the models were scored on (default: the name in the runs).",
)
@click.option("--title", help="Title at the top of the page (default: the name of the suite).")
@CONFIDENCE
def report_command(sources: tuple[str, ...], output: Path, suite: str | None, title: str | None) -> None:
    """Write a web page about runs: table of accuracies, comparisons of two models, single items.

    RUN_OR_BOARD is a folder with one or several runs, the folder of a leaderboard, or the name of a
    leaderboard that comes with tseval. The page is a single file, which opens in any browser without a
    network.
    """
    from tseval.pages import write_report

    with busy("reading runs"):
        lacking = write_report(sources, output, suite, title)
    if lacking is not None:
        click.echo(
            f"{output}: tseval wrote this page without single items: {lacking}. To add the items, name the "
            "suite with --suite.",
            err=True,
        )
    else:
        click.echo(output, err=True)


PAPER_FILES = ("references.bib", "methods.tex", "table.tex")


@click.command("cite", cls=Command)
@click.argument("runs", type=RUN, nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--intervals", is_flag=True, help="Add the confidence interval of each accuracy to the LaTeX table."
)
@CONFIDENCE
@click.option("-o", "--out", "output", type=FILE, metavar="DIR",
              help=f"Folder for the files {', '.join(PAPER_FILES)} (default: print them).")  # fmt: skip
def cite_command(runs: tuple[str, ...], intervals: bool, output: Path | None) -> None:
    """Write BibTeX, a paragraph on methods and a LaTeX table for a paper.

    The BibTeX entries cite the software, the suite and the methods of the runs. The paragraph states the
    settings of the runs. The LaTeX code needs the packages natbib and booktabs.
    """
    from tseval.boards.sources import open_runs
    from tseval.files import write_text
    from tseval.report.paper import write_up

    with busy("reading runs"):
        paper = write_up(open_runs(runs), intervals=intervals)
    if output is None:
        click.echo(str(paper), nl=False)
        return
    output.mkdir(parents=True, exist_ok=True)
    for name, text in zip(PAPER_FILES, (paper.references, paper.methods, paper.table), strict=True):
        write_text(output / name, text)
        click.echo(output / name, err=True)
