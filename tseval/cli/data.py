"""`tseval data`: make data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tseval.cli.groups import Group
from tseval.cli.options import COUNT, FILE, FORMAT, JSON_FORMAT, FiniteRange, output_option
from tseval.cli.printing import print_or_write
from tseval.cli.progress import busy, progress_bar
from tseval.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tseval.report import Format
    from tseval.suites.agreement.phenomenon import Phenomenon


@click.group(
    cls=Group,
    purposes={"Make examples": ("parse", "agreement", "pairs"), "Inspect examples": ("count", "compare")},
)
def data_command() -> None:
    """Make data sets from treebanks, texts and published files."""


@data_command.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=FILE)
@click.option("-o", "--out", "output", type=FILE, required=True, metavar="FILE",
              help="File in which to write the table of examples: .parquet, .tsv or .tsv.gz.")  # fmt: skip
@click.option(
    "--source",
    metavar="NAME",
    help="Text to write into the column `source` of every example (default: the name of its file).",
)
@click.option("--train", type=FiniteRange(0, 100), default=80.0, show_default=True, metavar="PERCENT",
              help="Percentage of the documents whose examples are for training.")  # fmt: skip
@click.option("--valid", type=FiniteRange(0, 100), default=10.0, show_default=True, metavar="PERCENT",
              help="Percentage of the documents whose examples are for validation. The documents that "
                   "neither --train nor --valid takes are for testing.")  # fmt: skip
@click.option("--frequent", type=COUNT, metavar="N",
              help="Keep the N most frequent words of the treebank, and replace each other word by its "
                   "Penn part-of-speech tag (default: keep all words).",
)  # fmt: skip
@click.option("--counts-from", "counted", type=FILE, multiple=True, metavar="TEXT",
              help="Tokenised text in which to count words for --frequent. Repeatable (default: count in "
                   "the treebanks).",
)  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print only warnings and errors.")
def agreement(
    files: tuple[Path, ...], output: Path, source: str | None, train: float, valid: float,
    frequent: int | None, counted: tuple[Path, ...], quiet: bool,
) -> None:  # fmt: skip
    """Find verbs that agree with a noun, and write them as a table of examples.

    FILE is a treebank in CoNLL-U, the table of Linzen et al. (2016), or a file NAME.text with sentences
    whose answers are in NAME.gold in the same folder. FILE may be compressed (.gz).
    """
    from tseval.suites.agreement.convert import convert
    from tseval.suites.agreement.example_tables import write_examples
    from tseval.suites.agreement.output import check_new_file
    from tseval.suites.agreement.rare_words import Frequent
    from tseval.suites.agreement.splits import Shares
    from tseval.suites.agreement.summary import summarise, warnings_about
    from tseval.suites.endings import EXAMPLE_ENDINGS

    check_new_file(output, EXAMPLE_ENDINGS, "table of examples")
    if train + valid > 100:
        raise click.UsageError(
            f"--train {train:g} and --valid {valid:g} add up to more than 100 percent. Lower --train or "
            "--valid."
        )
    if counted and frequent is None:
        raise click.UsageError(
            f"--counts-from {counted[0]}: tseval counts words only for --frequent, which is missing. Add "
            "--frequent N, where N is the number of words to keep."
        )
    shares = Shares(train, valid)
    with busy("finding verbs", quiet):
        table, tally = convert(files, shares, source, Frequent(frequent, counted) if frequent else None)
        write_examples(table, output)
    for warning in warnings_about(table, shares):
        click.echo(f"Warning: {warning}", err=True)
    if not quiet:
        click.echo(f"{summarise(table, tally)}\n")
        click.echo(output, err=True)


@data_command.command("pairs")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=FILE)
@click.option(
    "--request",
    metavar="FILE|TEXT",
    help="Pattern of words to search for in the trees: a file, or the text 'pattern { ... }' (default: "
    "none; use --phenomenon or --request).",
)
@click.option(
    "--change",
    metavar="NODE.FEATURE[=VALUE]",
    help="Feature to change in the word that the pattern calls NODE (default: the change that the pattern "
    "names). V.Number=Plur changes the number to Plur. V.Number makes one pair for each value that the word "
    "does not have.",
)
@click.option(
    "--phenomenon",
    "named",
    multiple=True,
    metavar="NAME",
    help="Name of a pattern that comes with tseval (default: none). --list lists the names. Repeatable: the "
    "file then has the pairs of each.",
)
@click.option(
    "--forms",
    multiple=True,
    metavar="FILE|unimorph:FILE",
    help="File with more word forms for the changed words: another treebank (.conllu) or a "
    "UniMorph table. If a changed word is also right according to this file, tseval leaves out the "
    "pair. Repeatable.",
)
@click.option("--strict/--lenient", default=True,
              help="Leave out pairs whose second sentence may be right, by the rules of each pattern; "
                   "--lenient leaves out fewer (default: --strict).",
)  # fmt: skip
@click.option(
    "--controller",
    metavar="NODE",
    help="Node that the changed node agrees with, such as S (default: the node whose feature must "
    "equal the changed feature, as in V.Number = S.Number).",
)
@click.option(
    "--per-cell",
    type=COUNT,
    metavar="N",
    help="Keep at most N random pairs for each combination of feature value and number of attractors "
    "(default: all pairs).",
)
@click.option(
    "--frequency",
    type=FILE,
    metavar="TEXT",
    help="Text in which to count how often each of the two forms of a pair occurs. tseval adds the counts as "
    "columns (default: none).",
)
@click.option(
    "--list",
    "listed",
    is_flag=True,
    help="List the patterns for --phenomenon, with the number of pairs that each finds in the treebank. "
    "Write no file.",
)
@click.option("-o", "--out", "output", type=FILE, metavar="FILE",
              help="File in which to write the pairs: .parquet, .tsv or .csv, or .tsv.gz or .csv.gz "
                   "(required without --list; default: none).")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print only warnings and errors.")
def pairs_command(
    files: tuple[Path, ...], request: str | None, change: str | None, named: tuple[str, ...],
    forms: tuple[str, ...], strict: bool, controller: str | None, per_cell: int | None,
    frequency: Path | None, listed: bool, output: Path | None, quiet: bool,
) -> None:  # fmt: skip
    """Make minimal pairs from a treebank: find words by a pattern, and change one of their features.

    FILE is a treebank in CoNLL-U, of any language, which may be compressed (.gz). tseval run --suite can
    read the file of pairs.
    """
    from pathlib import Path

    from tseval.suites.agreement import treebank_pairs
    from tseval.suites.agreement.output import check_new_file
    from tseval.suites.endings import PAIR_ENDINGS
    from tseval.suites.verb_lexicon import UNIMORPH

    if listed:
        if request or named or output:
            raise click.UsageError(
                "--list counts the pairs of all phenomena and writes no file, so it has no use for "
                "--request, --phenomenon and -o. Leave out these three options."
            )
        _list_phenomena(files, strict, quiet)
        return
    wanted = _wanted_phenomena(request, named, change, controller)
    if output is None:
        raise click.UsageError("the command does not name a file for the pairs. Add -o pairs.parquet.")
    check_new_file(output, PAIR_ENDINGS, "table of pairs")
    texts = [Path(name) for name in forms if not name.startswith(UNIMORPH)]
    tables = [Path(name.removeprefix(UNIMORPH)) for name in forms if name.startswith(UNIMORPH)]
    all_pairs = []
    with busy("finding pairs", quiet):
        for phenomenon in wanted:
            pairs = treebank_pairs.make_pairs(files, phenomenon, texts, tables, strict)
            if per_cell:
                pairs = treebank_pairs.draw_per_cell(pairs, per_cell)
            if frequency:
                pairs = treebank_pairs.count_forms(pairs, frequency)
            all_pairs.append(pairs)
        treebank_pairs.write_pairs(treebank_pairs.joined_table(all_pairs), output)
    for phenomenon in wanted:
        if controller is not None and phenomenon.governs:
            node, feature = phenomenon.node, phenomenon.feature
            click.echo(
                f"Warning: the request does not have {node}.{feature} = {controller}.{feature}, so tseval "
                f"assumes that {controller} governs {node}, just as a preposition governs the case of its "
                f"noun. If {node} agrees with {controller}, add {node}.{feature} = {controller}.{feature} to "
                "the pattern.",
                err=True,
            )
    if not quiet:
        for phenomenon, pairs in zip(wanted, all_pairs, strict=True):
            heading = f"{phenomenon.title}: " if len(wanted) > 1 else ""
            click.echo(f"{heading}{treebank_pairs.summarise_pairs(pairs)}\n")
        click.echo(output, err=True)


def _list_phenomena(files: Sequence[Path], strict: bool, quiet: bool) -> None:
    """Print for each phenomenon how many words match, how many pairs it has, and why words are left out."""
    from tabulate import tabulate

    from tseval.suites.agreement import treebank_pairs

    with busy("counting pairs", quiet):
        rows = [
            (
                pattern.name, pattern.title,
                f"{pairs.n_matches:,}" if pairs else "–", f"{pairs.table.num_rows:,}" if pairs else "–", note,
            )
            for pattern, pairs, note in treebank_pairs.list_phenomena(files, strict)
        ]  # fmt: skip
    headers = ("Phenomenon", "", "Matches", "Pairs", "Left out")
    sides = ("left", "left", "right", "right", "left")
    click.echo(tabulate(rows, headers, "pipe", disable_numparse=True, colalign=sides))


def _wanted_phenomena(
    request: str | None, named: Sequence[str], change: str | None, controller: str | None
) -> list[Phenomenon]:
    """Return the phenomena to search for: by name, from a file, or from the text of --request."""
    from pathlib import Path

    from tseval.formats import read_text
    from tseval.suites.agreement.phenomenon import open_phenomenon, read_phenomenon

    if request is not None and not named:
        if "{" in request:
            return [read_phenomenon(request, "pairs", "--request", change, controller)]
        path = Path(request)
        return [read_phenomenon(read_text(path), path.stem, request, change, controller)]
    if not named or request is not None:
        raise click.UsageError(
            "the command must name one pattern to search for. Add either --phenomenon NAME, or --request "
            "FILE and --change NODE.FEATURE."
        )
    if len({*named}) < len(named):
        repeated = next(name for name in named if named.count(name) > 1)
        raise click.UsageError(f"--phenomenon {repeated} is given twice. Give each phenomenon once.")
    return [open_phenomenon(name, change, controller) for name in named]


@data_command.command("parse")
@click.argument("text", type=FILE, metavar="TEXT")
@click.option("-o", "--out", "output", type=FILE, required=True, metavar="FILE",
              help="File in which to write the trees: .conllu or .conllu.gz.")  # fmt: skip
@click.option("--parser", "model", required=True, metavar="MODEL",
              help="spaCy model that parses the text: the name of an installed package, such as "
                   "en_core_web_sm, or a folder.")  # fmt: skip
@click.option("--untokenised", is_flag=True,
              help="Read text that is not tokenised, one paragraph a line: the parser finds its sentences "
                   "and words.",
)  # fmt: skip
@click.option(
    "--resume",
    is_flag=True,
    help="Continue an interrupted parse: keep the sentences that are already in the "
    "file of --out, and parse the rest.",
)
@click.option("--quiet", is_flag=True, help="Print only warnings and errors.")
def parse_command(text: Path, output: Path, model: str, untokenised: bool, resume: bool, quiet: bool) -> None:
    """Parse a text into trees, for tseval data agreement.

    TEXT is a text with one sentence a line and spaces between words, or a treebank in CoNLL-U, from which
    tseval takes only the words. TEXT may be compressed (.gz). Sentences for which the parser finds no
    tree are left out and counted. If you stop the command, run it again with --resume: the result is the
    same.
    """
    from tseval.suites.agreement.parse import check_trees_path, open_parser, open_source_text, parse_text

    check_trees_path(output, resume)
    with busy(f"reading {text.name}", quiet):
        opened = open_source_text(text, not untokenised)
    if opened.n_glued > opened.n_lines / 2:
        click.echo(
            f"Warning: {opened.n_glued:,} of {opened.n_lines:,} lines end in a word with a full stop, so "
            "the text may not be tokenised. If the text is not tokenised, add --untokenised.",
            err=True,
        )
    with busy(f"opening {model}", quiet):
        parser = open_parser(model)
    try:
        with progress_bar(f"parsing {text.name}", quiet) as progress:
            parsed = parse_text(opened, output, parser, progress)
    except KeyboardInterrupt:
        click.echo(
            "\nThe parsed sentences are saved. To continue, repeat the command with --resume.", err=True
        )
        raise
    if quiet:
        return
    if parsed is None:
        click.echo(f"{output}: finished already", err=True)
    else:
        summary = (
            f"{parsed.sentences:,} sentences, {parsed.words:,} words; {parsed.left_out:,} left out (the "
            f"parser found no tree)"
        )
        click.echo(f"{summary}\n{output}", err=True)


@data_command.command("count")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...", type=FILE)
@click.option(
    "--split",
    "splits",
    multiple=True,
    metavar="SPLIT",
    help="Count only the examples of this split: train, valid or test. Repeatable (default: all splits).",
)
@FORMAT
@JSON_FORMAT
@output_option("the numbers")
@click.option("--figure", "figures", type=FILE, multiple=True, metavar="FILE",
              help="File in which to draw the counts as bars: .svg, .pdf or .png. Repeatable (default: no "
                   "figure).")  # fmt: skip
def count_command(
    tables: tuple[Path, ...], splits: tuple[str, ...], form: Format, output: Path | None,
    figures: tuple[Path, ...],
) -> None:  # fmt: skip
    """Count examples by two numbers: nouns between subject and verb, and attractors among these nouns.

    TABLE is a table of examples from tseval data agreement. --figure draws bars: for one TABLE, each bar
    is split by the number of attractors; for several, each TABLE has its own bars.
    """
    from tseval.report.analyses.noun_counts import noun_count_bars, noun_counts
    from tseval.report.figures import check_figure_names, write_figure
    from tseval.report.looks import COUNT_BARS
    from tseval.suites.agreement.example_tables import read_examples

    check_figure_names(figures, SuiteError)
    if repeated := {path.name for path in tables if [table.name for table in tables].count(path.name) > 1}:
        raise SuiteError(
            f"two tables have the file name {min(repeated)!r}, so their bars would have the same label.\n"
            "  Rename one of the two files."
        )
    with busy("counting examples"):
        counts = noun_counts({path.name: read_examples(path) for path in tables}, splits)
        if figures:
            panel = noun_count_bars(counts, tables[0].name if len(tables) == 1 else "")
            write_figure([panel], COUNT_BARS, figures, SuiteError)
    print_or_write(counts, form, output)


@data_command.command("compare")
@click.argument("gold", type=FILE)
@click.argument("parsed", type=FILE)
@FORMAT
@JSON_FORMAT
@output_option("the output", "it")
def compare_command(gold: Path, parsed: Path, form: Format, output: Path | None) -> None:
    """Compare agreement examples from parsed and from gold trees, by the number of attractors.

    GOLD and PARSED are two tables from tseval data agreement for the same sentences: one made from gold
    trees, one from the parser's trees.
    """
    from tseval.analysis.breakdowns import EQUAL, compare_examples
    from tseval.report.analyses.parsed_examples import example_comparison
    from tseval.suites.agreement.example_tables import read_examples

    frames = []
    with busy("comparing examples"):
        for path in (gold, parsed):
            table = read_examples(path)
            if missing := [name for name in EQUAL if name not in table.column_names]:
                raise SuiteError(
                    f"{path}: the table has no column {missing[0]!r}.\n"
                    "  Make the table again with this version of tseval: tseval data agreement FILE -o "
                    "TABLE"
                )
            frames.append(table.to_pandas())
        document = example_comparison(compare_examples(*frames), gold.name, parsed.name)
    print_or_write(document, form, output)
