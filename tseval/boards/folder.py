"""Write a board: begin one, add entries, its page and numbers, the repository of a public one."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import metadata, version
from pathlib import Path
from shlex import quote
from statistics import fmean, stdev
from string import Template
from typing import TYPE_CHECKING

from tabulate import tabulate

from tseval.analysis import cut, row_sets
from tseval.boards import (
    BOARD_FILES_FORMAT,
    DEFINITION,
    ENTRY_FILE,
    ENTRY_FOLDERS,
    ENTRY_NAME,
    EVIDENCE,
    About,
    Checked,
    Definition,
    Entry,
    checked_entry,
    entry_folders,
    entry_runs,
    published_board,
    published_entry,
    read_definition,
    read_entry,
    rows_of,
    suite_spec,
    write_definition,
    write_entry,
)
from tseval.errors import BoardError, LimitError, plain, suggest
from tseval.evidence import (
    LARGEST_EVIDENCE,
    EvidenceAddress,
    check_address,
    evidence_bytes,
    gather,
    keep_evidence,
)
from tseval.files import PARTIAL, remove_lock, sync_directory, take_lock, to_utf8, write_text, write_whole
from tseval.report import Table, build_table, render
from tseval.report.boards import (
    BUNDLED_BOARDS,
    Board,
    BoardModel,
    BoardRow,
    board_text,
    bundled_boards,
    read_board,
)
from tseval.report.columns import Column, Key, column_of, refuse_unlike
from tseval.report.comparisons import seeds_table
from tseval.report.document import (
    Document,
    code,
    format_interval,
    format_mean_rank,
    format_rank_set,
    format_share,
    markdown,
    spread_beside,
)
from tseval.report.opened import for_analysis
from tseval.runs import Run, cache_runs, read_run
from tseval.runs.directory import digest
from tseval.runs.manifest import NAME as MANIFEST
from tseval.runs.manifest import dump_manifest
from tseval.suites import afresh, available_suites, load_suite
from tseval.verifying import verify_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tseval.questions import Score


ACCURACIES, BOARD_PAGE = "board.json", "README.md"
WRITTEN = "Written by `tseval board`; do not edit."
# What begins a tag of HTML, in texts that are Markdown on purpose.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def pages(board: Path, definition: Definition, runs: Sequence[Run]) -> dict[str, str]:
    """Give the texts of the files that follow from definition and entries, by name."""
    runs = [one.for_table() for one in cache_runs(runs)]  # several tables read them
    columns = {run.name: column_of(run) for run in runs}
    numbers = _numbers(board, definition, columns)
    page = "\n\n".join(_page(board, definition, runs, columns, numbers)) + "\n"
    return {BOARD_PAGE: page} | ({} if numbers is None else {ACCURACIES: board_text(numbers)})


def write_pages(board: Path, definition: Definition) -> None:
    """Write these files."""
    folders = [] if definition.published else entry_folders(board, definition.order)
    for name, text in pages(board, definition, entry_runs(folders)).items():
        write_text(board / name, text)


def _numbers(board: Path, definition: Definition, columns: Mapping[str, Column]) -> Board | None:
    """Give what stands in `board.json`; None while there are no entries."""
    if definition.published:
        return published_board(board, definition)
    if not columns:
        return None
    groups = in_groups(definition, columns)
    of_seeds = {heading: [columns[name] for name in names] for heading, names in groups.items()}
    return accuracies(board.resolve().name, definition, of_seeds)


def _page(
    board: Path,
    definition: Definition,
    runs: Sequence[Run],
    columns: Mapping[str, Column],
    numbers: Board | None,
) -> Iterator[str]:
    name = board.resolve().name
    yield f"# {markdown(definition.title)}"
    yield WRITTEN
    if definition.text:
        # The Markdown of whoever keeps the board, and nothing that a browser or a terminal would obey.
        yield "\n".join(_TAG.sub("&lt;", plain(line)) for line in definition.text.strip().splitlines())
    yield f"Suite: {code(definition.suite)}, digest {code(definition.digest)}, score `{definition.score}`."
    if definition.source:
        yield f"Source: {markdown(definition.source)}"
    if definition.rules:
        yield "## Rules\n\n" + "\n".join(f"- {markdown(rule)}" for rule in definition.rules)
    if numbers is not None:
        yield from _results(name, definition, runs, columns, numbers)
        shown = numbers.models if definition.published else runs
        told = {one.name: _about_entry(board / ENTRY_FOLDERS / one.name, definition) for one in shown}
        if facts := [{"model": markdown(name), **facts} for name, facts in told.items() if facts]:
            yield "## The entries"
            yield tabulate(facts, headers="keys", tablefmt="pipe", disable_numparse=True)
    yield "## Check it"
    yield f"    tseval verify {quote(name)}"
    if definition.published:
        yield "It says that the entries are whole: of published accuracies, nothing else can be known."
    else:
        yield "With a model at hand, `--model MODEL` asks it again."


def _results(
    name: str, definition: Definition, runs: Sequence[Run], columns: Mapping[str, Column], numbers: Board
) -> Iterator[str]:
    of_seeds = means_over_seeds(definition, runs)
    shown = [numbers] if definition.published or of_seeds is not None else list(columns.values())
    table = build_table(shown)
    yield "## The table"
    yield f"    tseval table {quote(name)}"
    yield render(table).rstrip()
    if of_seeds is not None:
        yield "## Seeds"
        yield (
            "Means over seeds, ± the standard deviation between them; intervals hold for other words, and "
            "for other seeds where there are several."
        )
        yield render(of_seeds).rstrip()
    if table.ranking is not None:
        yield from _ranks(table)
    if definition.beside is not None:
        if definition.beside not in bundled_boards():
            known = suggest(definition.beside, bundled_boards(), "Boards")
            raise BoardError(f"{name}: beside: there is no board {definition.beside!r}.\n  {known}")
        paper = read_board(BUNDLED_BOARDS / definition.beside)
        yield "## Beside the paper"
        yield f"    tseval table {quote(name)} {definition.beside}"
        yield render(build_table([*shown, paper])).rstrip()


def _ranks(table: Table) -> Iterator[str]:
    """Write which ranks are known; a mean over several seeds has no verdicts to tell them by."""
    found, means = table.ranking, table.means[-1]
    assert found is not None
    rows = []
    for place, column in enumerate(table.columns):
        accuracy, rank, overall = means.accuracy[place], means.rank[place], table.overall[place]
        if accuracy is None or rank is None or overall is None:
            continue  # a model that decides nothing in some row has no mean, and no rank
        known = format_rank_set(overall, found.overall.low[place], found.overall.high[place])
        sure = format_interval((found.low[place], found.high[place]), 2)
        rows.append((column.heading, format_share(accuracy), known, format_mean_rank(rank), sure))
    headings = ("model", "mean accuracy", "rank by it", "mean arithmetic rank", "95% interval")
    yield "## Which ranks are known"
    yield (
        "In brackets stand the ranks that a model may have, all of them right together with 95% confidence: "
        "for other words of the same kind, and these very models. Another seed may change them."
    )
    yield tabulate(
        rows, headers=headings, tablefmt="pipe", colalign=("left", *["right"] * 4), disable_numparse=True
    )


def _about_entry(folder: Path, definition: Definition) -> dict[str, str]:
    """Tell what is said of an entry, and how far it was checked; nothing where nothing is said."""
    if definition.published:
        about = published_entry(folder, definition).about
        return {} if about == About() else _about(about)
    entry = checked_entry(folder)
    last = entry.checks[-1] if entry.checks else None
    checked = f"{last.level}, {markdown(last.by)}, {markdown(last.on)}" if last else "–"
    return {**_about(entry.about), "fingerprint": markdown(entry.fingerprint[:16]), "checked": checked}


def _about(about: About) -> dict[str, str]:
    return {
        "licence": markdown(about.licence or "–"),
        "trained on": markdown(about.training_data or "–"),
        "holds the suite": about.contains_suite,
        "contact": markdown(about.contact or "–"),
    }


def in_groups(definition: Definition, entries: Iterable[str]) -> dict[str, list[str]]:
    """Put a board's entries under the headings of its table: seeds together, others alone."""
    heading = {name: arch for arch, names in definition.seeds.items() for name in names}
    groups: dict[str, list[str]] = {}
    for name in entries:
        groups.setdefault(heading.get(name, name), []).append(name)
    return groups


def means_over_seeds(definition: Definition, runs: Sequence[Run]) -> Document | None:
    """Tabulate a board's entries as means over seeds, if two are of one architecture."""
    of_name = {run.name: run for run in runs}
    groups = in_groups(definition, of_name)
    if len(groups) == len(runs):
        return None
    flat = for_analysis([of_name[name] for several in groups.values() for name in several])
    names = iter(flat.verdicts)
    return seeds_table(flat, {arch: [next(names) for _ in several] for arch, several in groups.items()})


def accuracies(name: str, definition: Definition, groups: Mapping[str, Sequence[Column]]) -> Board:
    """Make the board of runs, with accuracies cut to its decimals; of several the mean is taken."""
    flat = [column for several in groups.values() for column in several]
    refuse_unlike(flat)
    exact = {heading: [column.exact(()) for column in several] for heading, several in groups.items()}
    rows = zip(flat[0].keys(()), flat[0].rows["n_items"], strict=True)
    decimals = definition.decimals
    return Board(
        name=name,
        title=definition.title,
        source=definition.source or definition.title,
        suite=flat[0].suite,
        score=definition.score,
        decimals=decimals,
        models=tuple(
            BoardModel(
                heading, _mean_perplexity(several), several[0].parameters, _spread_of_means(several, decimals)
            )
            for heading, several in groups.items()
        ),
        rows=tuple(_row(key, n_items, exact, decimals) for key, n_items in rows),
        notes=(*definition.notes, *_notes(groups)),
    )


def _row(
    key: Key, n_items: int, exact: Mapping[str, Sequence[Mapping[Key, Fraction | None]]], decimals: int
) -> BoardRow:
    """Average the exact accuracies of one row over seeds; where a seed has none there is no mean."""
    dependency, phenomenon, construction, contrast = (str(part) for part in key)
    seeds = {heading: _known([one.get(key) for one in several]) for heading, several in exact.items()}
    return BoardRow(
        dependency=None if key[0] is None else dependency,
        phenomenon=phenomenon,
        construction=construction,
        contrast=contrast,
        n_items=int(n_items),
        accuracy={name: _printed(_mean(own), decimals) for name, own in seeds.items() if own},
        spread={name: _printed(_spread(own), decimals) for name, own in seeds.items() if len(own) > 1},
    )


def _spread_of_means(columns: Sequence[Column], decimals: int) -> dict[str, str]:
    """Give the spread between seeds of the mean accuracy over each set of rows that a table averages."""
    keys = columns[0].keys(())
    exact = [column.exact(()) for column in columns]
    spreads = {}
    for over, rows in row_sets(columns[0].rows):
        own = [_known([one[keys[row]] for row in rows]) for one in exact]
        if len(own) > 1 and all(own):
            spreads[over] = _printed(_spread([_mean(values) for values in own]), decimals)
    return spreads


def _known(values: Sequence[Fraction | None]) -> list[Fraction]:
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _spread(values: Sequence[Fraction]) -> Fraction:
    return Fraction(stdev(map(float, values)))


def _printed(value: Fraction, decimals: int) -> str:
    return f"{float(cut(value, decimals)):.{decimals}f}"


def _mean_perplexity(columns: Sequence[Column]) -> str | None:
    known = [float(column.perplexity) for column in columns if column.perplexity is not None]
    if len(known) < len(columns):
        return None
    mean = f"{fmean(known):.2f}"
    return mean if len(known) == 1 else spread_beside(mean, f"{stdev(known):.2f}")


def _notes(columns: Mapping[str, Sequence[Column]]) -> Iterator[str]:
    flat = [column for several in columns.values() for column in several]
    yield from dict.fromkeys(note for column in flat for note in column.notes)
    if len(flat) > len(columns):
        counts = ", ".join(f"{name} {len(several)}" for name, several in columns.items())
        yield (
            f"Accuracies and perplexities are means over seeds: {counts}. ± is the standard deviation "
            "between seeds."
        )
    for column in flat:
        tied, undecidable = (int(column.rows[name].sum()) for name in ("n_tied", "n_undecidable"))
        if tied or undecidable:
            yield (
                f"{column.heading}: {tied:,} contrasts are ties, counted as wrong, and {undecidable:,} are "
                "undecidable, left out of accuracy."
            )


BOARD_LOCK = ".lock"
ADDED_BY = "tseval board add"


def new_board(
    board: Path,
    suite: str,
    title: str | None = None,
    score: Score | None = None,
    columns: Mapping[str, str] | None = None,
) -> None:
    """Begin a board over a whole suite.

    Args:
        suite: As for `tseval run`; a path is best given as seen from the board's folder.
        columns: What the columns of the suite's tables are, as `load_suite` takes it.
    """
    if board.exists() and (not board.is_dir() or any(board.iterdir())):
        raise BoardError(f"{board} is not empty.\n  Name a new folder for the board.")
    spec = suite_spec(suite, board)
    if spec == suite and suite not in available_suites() and Path(suite).exists():
        raise BoardError(
            f"seen from {board} there is no {suite}.\n"
            f"  Name it as it is seen from there: --suite {os.path.relpath(suite, board)}"
        )
    loaded = load_suite(spec, columns=columns)
    if not loaded.has_accuracy:
        raise BoardError(
            f"{loaded.name} has ratings of sentences, and a board holds accuracies.\n"
            "  Print correlations side by side: tseval table RUN..."
        )
    definition = Definition(
        format=BOARD_FILES_FORMAT,
        title=title or f"A leaderboard of {loaded.title}",
        suite=suite,
        digest=loaded.digest,
        score=score or loaded.score,
        source=loaded.source,
        columns=dict(columns or {}),
    )
    (board / ENTRY_FOLDERS).mkdir(parents=True)
    write_text(board / DEFINITION, write_definition(definition))
    write_pages(board, definition)


@afresh()  # what is written there is what anyone finds who expands the suite
def add_entries(
    board: Path, paths: Sequence[Path], about: About, name: str | None = None, url: str | None = None
) -> list[Path]:
    """Add runs to a board, if all of them hold as far as they can be verified without their models.

    Args:
        name: What the board calls the model of a single run; None for the name that the run states.
        url: Where the evidence of a single run will lie, instead of in the folder; it is kept in the cache
            meanwhile.
    """
    definition = read_definition(board)
    if definition.published:
        raise BoardError(
            f"{board} is of published accuracies: its entries have no evidence.\n"
            f"  Write {ENTRY_FOLDERS}/NAME/{ENTRY_FILE} as docs/boards.md says, then tseval board write."
        )
    if len(paths) > 1 and (name is not None or url is not None):
        raise BoardError("several runs cannot share one name, or one address: add such a run alone.")
    if url is not None:
        check_address(url)
    checks = (Checked("plausible", ADDED_BY, f"{datetime.now(UTC):%Y-%m-%d}"),)
    suite = str(suite_spec(definition.suite, board))
    added: dict[Path, dict[str, bytes]] = {}
    added_entries: dict[Path, Entry] = {}
    for path in paths:
        entry, files = entry_files(definition, suite, path, name)
        if url is not None:
            content = files.pop(EVIDENCE)
            entry = replace(entry, evidence=EvidenceAddress(url, digest(content), len(content)))
            keep_evidence(content)
        files[ENTRY_FILE] = to_utf8(write_entry(replace(entry, about=about, checks=checks)))
        folder = board / ENTRY_FOLDERS / entry.name
        if _is_taken(folder, added):
            raise BoardError(f"two of the runs are of {entry.name!r}: add one of them alone, with --name.")
        added[folder], added_entries[folder] = files, entry
    with changing(board):
        there = list((board / ENTRY_FOLDERS).glob("*"))
        known = {entry.identity: entry for entry in _entries_in(there)}
        for folder, entry in added_entries.items():
            if _is_taken(folder, there):
                raise BoardError(f"{folder} exists.\n  Name the entry otherwise with --name.")
            twin = known.setdefault(entry.identity, entry)
            if twin is not entry:
                raise BoardError(
                    f"{entry.name} has the weights and the protocol of {twin.name}, which is on the board.\n"
                    "  One model is one entry, whatever its file is called."
                )
        for folder, files in added.items():
            write_beside(folder, files).rename(folder)
            sync_directory(folder.parent)
        write_pages(board, definition)
    return list(added)


def entry_files(
    definition: Definition, suite: str, path: Path, name: str | None = None
) -> tuple[Entry, dict[str, bytes]]:
    """Make the entry of a run, if it holds as far as it can be verified without its model.

    Returns:
        The entry, of which nothing is said yet, and its files but for `entry.yaml`, by name.
    """
    run = read_run(path)
    name = name or run.manifest.key.model
    if not ENTRY_NAME.fullmatch(name):
        raise BoardError(
            f"{name!r} cannot be the name of an entry.\n"
            "  Name it with --name: letters, digits, dots, dashes, at most 60 of them."
        )
    if refusal := unfit(definition, run):
        raise BoardError(f"{path} cannot be on the board: {refusal}.")
    found = verify_run(path, suite=suite)
    if not found.ok:
        raise BoardError(f"{path} does not hold: {found.checks[-1].found}.\n  See tseval verify {path}")
    content = evidence_bytes(gather(run.load_sentences(), definition.digest))
    if len(content) > LARGEST_EVIDENCE:
        raise BoardError(f"{path}: its evidence has {len(content):,} bytes, more than {LARGEST_EVIDENCE:,}")
    entry = Entry(
        format=BOARD_FILES_FORMAT,
        name=name,
        signature=run.manifest.signature,
        fingerprint=run.manifest.key.fingerprint,
        about=About(),
        rows=rows_of(run.verdicts),
    )
    manifest = replace(run.manifest, seal=None).sealed({EVIDENCE: digest(content)})
    return entry, {EVIDENCE: content, MANIFEST: dump_manifest(manifest)}


def unfit(definition: Definition, run: Run) -> str | None:
    """Say why a run is none of what a board is over, if so."""
    key, suite = run.manifest.key, run.manifest.suite
    if suite.digest != definition.digest:
        return f"it is over {suite.name}@{suite.digest[:8]}, the board over {definition.digest[:8]}"
    if not suite.complete or run.manifest.counts.too_long:
        return "it is over a part of the suite"
    if suite.clusters:
        return f"its items are clustered by {', '.join(suite.clusters)}, not as the suite says"
    if key.score != definition.score:
        return f"its sentences are compared by {key.score!r}, the board's by {definition.score!r}"
    # Products in another precision than the weights' are stated where there are any.
    stated = {
        **key.protocol,
        "precision": key.protocol.get("precision", key.protocol.get("dtype", "float32")),
    }
    if "dtype" in stated:
        stated["dtype"] = stated["precision"]
    for name, value in definition.protocol.items():
        if stated.get(name) != value:
            return f"its {name} is {stated.get(name)!r}, the board's {value!r}"
    return None


def _entries_in(folders: Iterable[Path]) -> Iterator[Entry]:
    """Read entries; what cannot be read is for `tseval board check` to say."""
    for folder in folders:
        with suppress(BoardError, LimitError):
            yield read_entry(folder)


def _is_taken(folder: Path, others: Iterable[Path]) -> bool:
    """Tell whether another has the name, in whatever case: some disks do not tell these apart."""
    return folder.name.lower() in {one.name.lower() for one in others}


def write_beside(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write the files of an entry into a folder beside its place, from which it is then moved there."""
    partial = folder.with_name(f"{folder.name}{PARTIAL}")
    if partial.exists():  # a kill left it
        shutil.rmtree(partial)
    partial.mkdir(parents=True)
    for name, content in files.items():
        write_whole(partial / name, content)
    return partial


def links_in(folder: Path) -> list[str]:
    """Name what is a link: it would be read from elsewhere, where it may change, and written to."""
    return sorted(one.name for one in folder.iterdir() if one.is_symlink())


@contextmanager
def changing(board: Path) -> Iterator[None]:
    """Hold a board: no two entries are added at once."""
    if links := links_in(board):
        raise BoardError(
            f"{board / links[0]} is a link, and what is written there would land elsewhere.\n"
            "  Put a file or a folder in its place."
        )
    held = take_lock(board / BOARD_LOCK)
    if held is None:
        raise BoardError(f"{board} is being changed by another tseval.\n  Try again when it has ended.")
    try:
        yield
    finally:
        remove_lock(board / BOARD_LOCK, held)


BOARD_FOLDER = "board"
_TEMPLATES = Path(__file__).with_name("public")
# Where each text lies in the repository.
_TEXTS = {
    "README.md": "README.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    ".github/pull_request_template.md": "pull_request_template.md",
    ".github/workflows/board.yml": "board.yml",
}


def new_repository(
    folder: Path,
    suite: str,
    title: str | None = None,
    score: Score | None = None,
    columns: Mapping[str, str] | None = None,
) -> Path:
    """Begin a board in a folder that others can clone, with what a public one needs around it.

    What else lies in the folder stays as it is: a suite, a licence, what git keeps. The suite is named as it
    is seen from the board's folder: `../pairs.jsonl` lies in the repository.
    """
    # This version as pip takes it: by its tag in the repository, as no index has it yet.
    urls = dict(url.split(", ", 1) for url in metadata("tseval").get_all("Project-URL", []))
    this_version = f"tseval @ git+{urls['Homepage']}@v{version('tseval')}"
    # git would write other ends of lines on Windows, and other bytes have other digests.
    others = {
        ".gitattributes": "* -text\n",
        ".gitignore": "/site/\n/runs/\n",
        "requirements.txt": f"{this_version}\n",
    }
    for name in (*_TEXTS, *others):
        if (folder / name).exists():
            raise BoardError(f"{folder / name} exists.\n  Name another folder, or move the file away.")
    board = folder / BOARD_FOLDER
    new_board(board, suite, title, score, columns)
    shown = plain(read_definition(board).title)
    texts = {
        name: Template((_TEMPLATES / file).read_text("utf-8")).safe_substitute(title=shown)
        for name, file in _TEXTS.items()
    }
    for name, text in (texts | others).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(folder / name, text)
    return board
