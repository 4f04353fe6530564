"""Commands about suites: suites, expand, lint, new, export."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import IO, TYPE_CHECKING, TextIO, cast

import click

from tseval.cli.console import busy, print_table, progress_bar
from tseval.cli.options import (
    CASE,
    COLUMNS_OPTION,
    COUNT,
    FILE,
    MODEL,
    MODEL_ARGS,
    QUIET,
    RUN,
    SUITE,
    Command,
    Group,
    text_option,
)
from tseval.errors import SuiteError, TsevalError, counted, suggest
from tseval.files import write_output, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tseval.items import Case


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
        here = [name for name in CATALOGUE if (data_folder() / name).exists()]
        for name in here:
            suite = load_suite(name)
            title = f"{CATALOGUE[name].title}, {CATALOGUE[name].licence}"
            sizes.append((name, title, len(suite.cases), suite.n_items, suite.n_contrasts))
    rows = [(name, title, *(f"{count:,}" for count in counts)) for name, title, *counts in sizes]
    headings, align = ("name", "title", "cases", "items", "contrasts"), ("left", "left", *["right"] * 3)
    print_table(rows, headings, align)
    absent = [
        (name, published.title, f"{published.n_cases:,}", f"{published.n_items:,}", published.licence)
        for name, published in CATALOGUE.items() if name not in here
    ]  # fmt: skip
    if absent:
        click.echo("\nSuites that you can download with tseval suites fetch NAME:\n")
        headings, align = ("name", "title", "cases", "items", "licence"), (*align[:4], "left")
        print_table(absent, headings, align)
    click.echo("\nSuites to download with git clone ADDRESS (then: --suite ./FOLDER):\n")
    away = [(other.address, other.title, other.licence) for other in ELSEWHERE.values()]
    print_table(away, ("address", "title", "licence"))
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
            about = f"{CATALOGUE[name].title}, {CATALOGUE[name].licence}"
            click.echo(f"{name}: {about}; the digest {digest[:12]} is that of the published files", err=True)


@suites_command.command("twin")
@click.argument("suite", type=SUITE)
@click.option("--lexicon", type=FILE, required=True, metavar="FILE",
              help="File with the secret words: a lexicon with the same word classes as the lexicon of "
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
        twin = load_suite(out)
    except TsevalError:
        shutil.rmtree(out)
        raise
    about = f"{counted(twin.n_items, 'item')}, digest {twin.digest[:12]}"
    click.echo(f"{out}: {about}. Keep this folder secret: its words must not become public", err=True)


_LONG = 200_000  # items, from which on a bar is worth showing


@click.command(cls=Command, help="Print the items of a suite, or write them to a file.")
@click.argument("suite", type=SUITE)
@click.option(
    "--case",
    "cases",
    type=CASE,
    multiple=True,
    metavar="NAME",
    help="Use only the case (part of the suite) with this name. Repeatable (default: all cases).",
)
@click.option("--format", "format_", type=click.Choice(["tsv", "jsonl", "parquet"]), default="tsv",
              show_default=True,
              help="Format of the items: tsv, jsonl or parquet. The columns of tsv are the case and one "
                   "column for each label, such as grammatical (for formal languages, also the features).",
)  # fmt: skip
@click.option(
    "--no-header", is_flag=True, help="Leave out the first line, with the column names, of --format tsv."
)
@click.option(
    "--limit", type=COUNT, metavar="N", help="Print only the first N items of each case (default: all items)."
)
@click.option(
    "--sample",
    type=COUNT,
    metavar="N",
    help="Print only N random items of each case, in their order in the suite (default: all items).",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Random seed for the items that --sample draws."
)
@COLUMNS_OPTION
@text_option(None, of="a grammar's sentences with their final mark")
@click.option(
    "-o",
    "--out",
    "output",
    type=FILE,
    metavar="FILE",
    help="File in which to write the items (default: print them).",
)
@click.option("--quiet", is_flag=True, help="Do not show a progress bar.")
def expand_command(
    suite: str, cases: tuple[str, ...], format_: str, no_header: bool, limit: int | None, sample: int | None,
    seed: int, columns: dict[str, str] | None, text: str | None, output: Path | None, quiet: bool,
) -> None:  # fmt: skip
    """Write out the items of SUITE, a bundled name or a path."""
    if format_ == "parquet" and output is None:
        raise click.UsageError(
            "--format parquet writes a binary file, which a terminal cannot show. Add -o FILE.parquet."
        )

    from tseval.suites import stream_cases, terminator_of, writing_of
    from tseval.suites.writing_items import write_items

    notes: list[str] = []
    labels: list[str] = []
    with busy(f"reading {suite}", quiet):
        n_items, blocks = stream_cases(
            suite, cases=cases, limit=limit, sample=sample, seed=seed, columns=columns, notes=notes,
            labels=labels,
        )  # fmt: skip
        if text == "natural":
            rules, terminator = writing_of(suite)
            blocks = (case.written(rules, terminator) for case in blocks)
        elif text is not None:
            mark = terminator_of(suite)
            blocks = (case.ended(mark) for case in blocks)
    header = None if no_header else labels
    for note in () if quiet else notes:
        click.echo(f"{suite}: {note}", err=True)
    if n_items >= _LONG:
        blocks = _with_progress(blocks, n_items, quiet)
    screen = sys.stdout  # a bar would put itself before it
    if output is not None:
        write_output(output, lambda out: write_items(blocks, format_, out, header))
    elif screen.isatty():
        write_items(blocks, format_, cast("IO[bytes]", _Decoded(screen)), header)
    else:
        write_items(blocks, format_, screen.buffer, header)
        screen.buffer.flush()


class _Decoded:
    """Bytes of a file, written to a screen as text: a bar above it is moved out of the way then."""

    def __init__(self, screen: TextIO) -> None:
        self._screen = screen

    def write(self, rows: bytes | memoryview) -> int:
        """Write whole lines."""
        return self._screen.write(bytes(rows).decode())


def _with_progress(blocks: Iterable[Case], n_items: int, quiet: bool) -> Iterator[Case]:
    done = 0
    with progress_bar("items", quiet) as progress:
        for case in blocks:
            yield case
            done += case.n_items
            if progress:
                progress(done, n_items)


@click.command(
    cls=Command,
    help="Check grammars and data sets for mistakes.\n"
    "\n"
    "The exit code is 1 if tseval finds a mistake. Notes are not mistakes.",
)
@click.argument("suites", type=SUITE, nargs=-1, required=True, metavar="SUITE...")
@click.option("--vocab", metavar="FILE or MODEL",
              help="Vocabulary in which to look up the words of the suite: a text file with one word per "
                   "line, or a model as for tseval run (default: none). Unknown words are listed with the "
                   "number of pairs that they make undecidable.")  # fmt: skip
@click.option(
    "--model",
    "spec",
    type=MODEL,
    metavar="MODEL",
    help="Model that reads ten items of each suite. tseval prints the model's tokens and marks unknown "
    "words (default: none).",
)
@click.option(
    "--all",
    "name_all",
    is_flag=True,
    help="List all words of the suite that are missing from the vocabulary (default: the first few).",
)
@MODEL_ARGS
@click.option("--sample", type=COUNT, metavar="N",
              help="Check only N random items of each grammar that has more than N (default: all items).",
)  # fmt: skip
@COLUMNS_OPTION
@click.option(
    "--quiet", is_flag=True, help="Do not print the table with the numbers of items and words at the end."
)
def lint_command(
    suites: tuple[str, ...], vocab: str | None, spec: str | None, name_all: bool, model_args: str,
    sample: int | None, columns: dict[str, str] | None, quiet: bool,
) -> None:  # fmt: skip
    """Check each SUITE, a name or a path; exit with 1 if there is anything but notes to report."""
    from tseval.cli.reading import readings
    from tseval.cli.vocabulary import known_words
    from tseval.suites import find_suite
    from tseval.suites.data.folders import is_data
    from tseval.suites.data.roles import refuse_columns
    from tseval.suites.lint import lint, lint_data
    from tseval.suites.overview import write_overview

    if vocab is None and (name_all or (model_args and spec is None)):
        raise SuiteError(
            f"{'--all' if name_all else '--model-args'} is about unknown words, which need a "
            "vocabulary. Add --vocab FILE or --vocab MODEL."
        )
    knows = None if vocab is None else known_words(vocab, model_args)
    paths = [find_suite(suite) for suite in suites]
    with busy(f"checking {', '.join(suites)}"):
        found = []
        for path in paths:
            if not is_data(path):
                refuse_columns(path, columns)
            found.append(
                lint_data(path, knows, columns, name_all=name_all)
                if is_data(path)
                else lint(path, knows, sample, name_all=name_all)
            )
    findings = list(chain.from_iterable(found))
    for finding in findings:
        click.echo(str(finding))
    items = counted(sum(one.n_items for one in found), "item")
    severe = [finding for finding in findings if finding.severity != "note" and finding.counts]
    weak = "Notes only" if all(finding.severity == "note" for finding in findings) else "Nothing that fails"
    how_many = counted(len(severe), "finding") if severe else weak if findings else "No findings"
    click.echo(f"{how_many} in {items}.", err=True)
    for line in () if quiet else write_overview([case for one in found for case in one.cases]):
        click.echo(line)
    if spec is not None:
        with busy(f"reading {', '.join(suites)}"):
            lines = list(readings(spec, model_args, paths))
        for line in lines:
            click.echo(line)
    if severe:
        sys.exit(1)


GRAMMAR_OF_ONES_OWN = """\
---
construction: {title}
phenomenon: {title}
lexicon: lexicon.yaml
slots:
  subject:   noun.person      # either number: the plural adds -s, or is spelled out in the lexicon
  attractor: noun.thing
  verb:      verb.main
features:
  condition:     subject.number ~ "_" ~ attractor.number
  n_intervening: 1
  n_attractors:  0 if attractor.number == subject.number else 1
expect:
  items:         32
  grammatical:   the author near the box laughs
  ungrammatical: the author near the box laugh
---
grammatical:   the {{{{ subject }}}} near the {{{{ attractor }}}} {{{{ verb | agree(subject) }}}}
ungrammatical: the {{{{ subject }}}} near the {{{{ attractor }}}} {{{{ verb | disagree(subject) }}}}
"""
LEXICON_OF_ONES_OWN = """\
noun:
  person: [author, guard]
  thing:  [{sing: box, plur: boxes}, table]
verb:
  main: [laughs, waits]
"""


@click.command("new", cls=Command)
@click.argument("name", metavar="PHENOMENON")
@click.option(
    "--language", metavar="LANGUAGE",
    help="Language of the example grammar, by name or ISO code: Arabic, English, German, Hindi, Japanese, "
         "Russian, Turkish (default: English).",
)  # fmt: skip
def new_command(name: str, language: str | None) -> None:
    """Create a suite: a folder with a working example grammar and lexicon.

    Then change the words, the sentences and the block `expect` (which states the expected items) in the
    new files. docs/grammars.md describes them.
    """
    from tseval.suites.starter import starter_files, starter_language

    folder = Path(name)
    case = folder.name.replace("-", "_")
    if not re.fullmatch(r"[A-Za-z]\w*", case, re.ASCII):
        raise SuiteError(
            f"{name!r} cannot be the name of a suite.\n"
            "  Choose a name of letters, digits and _ only, such as my_agreement."
        )
    title = case.replace("_", " ").capitalize()
    if language is None:
        files = {
            f"{case}.jinja": GRAMMAR_OF_ONES_OWN.format(title=title),
            "lexicon.yaml": LEXICON_OF_ONES_OWN,
            "suite.yaml": f"title: {title}\nsource: Your name and the year\nlanguage: english\n",
        }
    else:
        language = starter_language(language)
        files = starter_files(language, case)
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise SuiteError(
            f"{folder}: a file or folder with this name exists already.\n"
            "  Choose another name, or remove the file or folder."
        ) from None
    for file, text in files.items():
        write_text(folder / file, text)
        click.echo(folder / file, err=True)
    here = quote(name if folder.is_absolute() else f"./{name}")
    model = "bundled:lstm" if language in (None, "english") else "hf:MODEL"
    click.echo(f"next: tseval lint {here}\nthen: tseval run --model {model} --suite {here}", err=True)
    if model == "hf:MODEL":
        click.echo(
            f"hf:MODEL: a model that knows {str(language).capitalize()}, from huggingface.co or a folder. "
            "The bundled models know English only.",
            err=True,
        )


@click.group(cls=Group, purposes={"Suites": ("lm-eval",), "Runs": ("glmm", "eee")})
def export_command() -> None:
    """Export suites and runs to other tools: lm-eval, R, Every Eval Ever."""


@export_command.command("lm-eval")
@click.argument("suite", type=SUITE)
@click.option(
    "-o",
    "--out",
    "output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="Folder in which to write the task files of lm-eval.",
)
@click.option(
    "--limit",
    type=COUNT,
    metavar="N",
    help="Use only the first N items of each case of the suite (default: all items).",
)
@click.option(
    "--tokenise",
    is_flag=True,
    help="Split punctuation and clitics off the words of data "
    "sets: can't help himself. becomes ca n't help himself .",
)
@COLUMNS_OPTION
@text_option("natural", of="a grammar's sentences (data sets stay unchanged)")
@QUIET
def lm_eval(
    suite: str, output: Path, limit: int | None, tokenise: bool, columns: dict[str, str] | None, text: str,
    quiet: bool,
) -> None:  # fmt: skip
    """Write a suite as a group of tasks for lm-eval: one task for each row of the suite's table."""
    from tseval.report.exports import write_tasks
    from tseval.suites import load_suite

    with busy(f"writing {suite}", quiet):
        loaded = load_suite(suite, limit=limit, tokenise=tokenise, columns=columns)
        if text != "natural":
            loaded = replace(loaded, writing=None)
        group, *tasks = write_tasks(loaded, output)
    if not quiet:
        click.echo(f"{output}: {group}, {len(tasks)} tasks", err=True)
        click.echo(f"lm_eval --include_path {quote(str(output))} --tasks {group} ...", err=True)


@export_command.command("glmm")
@click.argument("runs", type=RUN, nargs=-1, required=True, metavar="RUN...")
@click.option("-o", "--out", "output", type=click.Path(path_type=Path, dir_okay=False), required=True,
              metavar="FILE.csv", help="CSV file for the verdicts (right, wrong or undecidable), one row "
                                       "for each model and item.")  # fmt: skip
@QUIET
def glmm(runs: tuple[str, ...], output: Path, quiet: bool) -> None:
    """Write the verdicts of runs to a CSV file, and print R code that fits a mixed model (lme4) to them."""
    from tseval.boards.sources import open_runs
    from tseval.report.exports import in_r, mixed_model, write_verdicts

    with busy("writing verdicts", quiet):
        opened = open_runs(runs)
        model = mixed_model(opened)
        write_output(output, partial(write_verdicts, opened))
    click.echo(in_r(model, str(output)), nl=False)
    if quiet:
        return
    for note in (*opened.notes, *model.notes):
        click.echo(note, err=True)
    click.echo(f"{output}: {model.n_verdicts:,} verdicts", err=True)


@export_command.command("eee")
@click.argument("run", type=FILE)
@click.option("-o", "--out", "output", type=FILE, metavar="FILE.json|DIR",
              help="File for the record, or a folder in which tseval arranges the records as Every Eval "
                   "Ever stores them (default: print the record).",
)  # fmt: skip
@click.option(
    "--model-id",
    metavar="DEVELOPER/NAME",
    help="Name of the model on the hub that hosts it, such as openai-community/gpt2 (default: the name in "
    "the run).",
)
@click.option(
    "--organisation",
    default="unknown",
    show_default=True,
    help="Name of the organisation that scored the model.",
)
@click.option("--relationship", default="other", show_default=True,
              type=click.Choice(["first_party", "third_party", "collaborative", "other"]),
              help="Relationship between the organisation that scored the model and its developer: "
                   "first_party (the same), third_party, collaborative or other.")  # fmt: skip
@click.option("--availability", type=click.Choice(["open_weights", "closed_weights", "unknown"]),
              default="unknown", show_default=True,
              help="Availability of the model's weights to everyone: open_weights, closed_weights or "
                   "unknown.")  # fmt: skip
@QUIET
def eee(run: Path, output: Path | None, quiet: bool, **said: str | None) -> None:  # fmt: skip
    """Write runs as records in the format of Every Eval Ever, a public store of evaluations.

    RUN is the folder of a run, of an entry of a leaderboard, or of a whole leaderboard.
    """
    from tseval.boards.sources import entries_with_ids, open_run
    from tseval.report.exports import Submission, make_record, write_record
    from tseval.runs import DEFINITION

    submission = Submission(**said)  # type: ignore[arg-type] # click holds them to their choices
    named = [(run, submission)]
    if (run / DEFINITION).is_file():
        if output is None or output.suffix == ".json" or submission.model_id is not None:
            raise click.UsageError(
                f"{run} is a leaderboard, whose entries become several records. Name a folder with -o, and "
                "leave out --model-id."
            )
        named = [(folder, replace(submission, model_id=one)) for folder, one in entries_with_ids(run)]
    notes: dict[str, None] = {}
    written: list[Path] = []
    for path, submitted in named:
        with busy(f"reading {path}", quiet):
            record = make_record(open_run(path), path, submitted)
        notes |= dict.fromkeys(record.notes)
        if output is None:
            click.echo(str(record), nl=False)
        else:
            written.append(write_record(record, output))
    for line in () if quiet else (*notes, *written):
        click.echo(line, err=True)
