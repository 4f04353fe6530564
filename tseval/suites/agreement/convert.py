"""Write examples as a table, and count what it holds and what was left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from tseval.errors import SuiteError
from tseval.formats import bare_name
from tseval.suites.agreement import NEEDED_COLUMNS, PLURAL, SINGULAR, gather_examples
from tseval.suites.agreement.published import (
    PUBLISHED_COLUMNS,
    frequent_words,
    open_lines,
    read_linzen_table,
    read_target_pairs,
    with_tags,
)
from tseval.suites.agreement.treebank import Forms, find_examples, read_treebank

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from tseval.suites.agreement import Example, Shares
    from tseval.suites.agreement.published import Frequent


REPEATED = "the same verb in the same sentence, again"
SOURCES = {
    "treebank": "a treebank in CoNLL-U",
    "linzen": "a table of Linzen et al. 2016",
    "pairs": "sentences with pairs of forms",
}


@dataclass(slots=True)
class Tally:
    """What was read, and what of it made no example.

    Attributes:
        n_sentences: Sentences read.
        left_out: How often each reason kept a verb and its subject from being an example.
    """

    n_sentences: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def convert(
    files: Sequence[Path], shares: Shares, source: str | None = None, frequent: Frequent | None = None
) -> tuple[pa.Table, Tally]:
    """Find the agreement examples of files of one kind, which their content tells.

    Args:
        files: Treebanks in CoNLL-U; tables of Linzen et al. 2016; or texts with gold files beside them.
            All may be gzip-compressed.
        shares: Of the splits.
        source: Name of the source; None for the name of each file.
        frequent: Which words of treebanks stay, where Penn tags are to stand in for the others.

    Returns:
        The examples, as `read_examples` would give them, and what was counted. The same verb in the same
        sentence is taken once.
    """
    kinds = [_kind(file) for file in files]
    for file, kind in zip(files, kinds, strict=True):
        if kind != kinds[0]:
            raise SuiteError(
                f"{file} is {SOURCES[kind]}, but {files[0]} is {SOURCES[kinds[0]]}.\n"
                "  Make a table of each: they know different things about a verb."
            )
    if frequent and kinds[0] != "treebank":
        raise SuiteError(
            f"{files[0]} is {SOURCES[kinds[0]]}: tags stand in for rare words of treebanks only.\n"
            "  Leave --frequent out."
        )
    tally = Tally()
    if kinds[0] == "treebank":
        found = _from_treebanks(files, shares, source, frequent, tally)
    else:
        found = _published(files, kinds[0], shares, source, tally)
    table = gather_examples(_once(found, tally))
    if not table.num_rows:
        reasons = ", ".join(f"{reason} ({n:,})" for reason, n in tally.left_out.most_common())
        raise SuiteError(
            f"{', '.join(map(str, files))}: no agreement examples in {tally.n_sentences:,} sentences.\n"
            f"  Left out: {reasons or 'nothing; no present-tense verb has a common noun as its subject'}."
        )
    return table, tally


def _kind(path: Path) -> str:
    """Tell what a file is by its beginning; a treebank's name may tell too, for a message about its lines."""
    name = bare_name(path)
    if name.endswith(".text"):
        return "pairs"
    with open_lines(path) as lines:
        first = next((line.strip("\r\n") for line in lines if line.strip()), None)
    if first is None:
        raise SuiteError(f"{path}: is empty")
    cells = first.split("\t")
    if set(PUBLISHED_COLUMNS) <= set(cells):
        return "linzen"
    if first.startswith("#") or len(cells) == 10 or name.endswith(".conllu"):
        return "treebank"
    if set(NEEDED_COLUMNS) <= set(cells):
        raise SuiteError(f"{path}: is a table of examples already.\n  Score it: tseval run --suite {path}")
    raise SuiteError(f"{path}: neither {' nor '.join(SOURCES.values())} (NAME.text with NAME.gold beside it)")


def _from_treebanks(
    files: Sequence[Path], shares: Shares, source: str | None, frequent: Frequent | None, tally: Tally
) -> Iterator[Example]:
    forms = Forms()
    _learn_forms(files, forms)
    kept = frequent_words(files, frequent) if frequent else None
    for file in files:
        for sentence in read_treebank(file):
            tally.n_sentences += 1
            name = source or Path(bare_name(file)).stem
            for example in find_examples(sentence, name, shares, forms, tally.left_out):
                yield example if kept is None else with_tags(example, sentence, kept)


def _published(
    files: Sequence[Path], kind: str, shares: Shares, source: str | None, tally: Tally
) -> Iterator[Example]:
    read = read_linzen_table if kind == "linzen" else read_target_pairs
    for file in files:
        for example in read(file, source or Path(bare_name(file)).stem, shares, tally.left_out):
            tally.n_sentences += 1
            if example is not None:
                yield example


def _learn_forms(files: Sequence[Path], forms: Forms) -> None:
    """Gather the verbs of the treebanks whose opposite forms no rule gives."""
    for file in files:
        for sentence in read_treebank(file):
            if sentence.penn:
                break
            forms.add(sentence.words)


def _once(examples: Iterator[Example], tally: Tally) -> Iterator[Example]:
    """Leave out repeated verbs of repeated sentences."""
    seen: set[int] = set()
    for example in examples:
        key = hash((example.sentence, example.verb_index))
        if key in seen:
            tally.left_out[REPEATED] += 1
            continue
        seen.add(key)
        yield example


NUMBER_NAMES = {SINGULAR: "singular", PLURAL: "plural"}


def summarise(table: pa.Table, tally: Tally) -> str:
    """Count examples by number, split, intervening nouns and attractors, and what was left out."""
    numbers, splits = Counter(_column(table, "number")), Counter(_column(table, "split"))
    parts = [
        f"{tally.n_sentences:,} sentences, {table.num_rows:,} examples: "
        + ", ".join(f"{numbers[number]:,} {name}" for number, name in NUMBER_NAMES.items())
        + "; "
        + ", ".join(f"{splits[split]:,} {split}" for split in ("train", "valid", "test")),
        _grid(table),
    ]
    if tally.left_out:
        rows = [(f"{n:,}", reason) for reason, n in tally.left_out.most_common()]
        parts.append(tabulate(rows, ["Left out", ""], tablefmt="pipe", colalign=("right", "left")))
    return "\n\n".join(parts)


def warnings_about(table: pa.Table, shares: Shares) -> Iterator[str]:
    """Name what would keep a model from being trained or tested on the examples."""
    numbers, splits = set(_column(table, "number")), set(_column(table, "split"))
    for number, name in NUMBER_NAMES.items():
        if number not in numbers:
            yield f"no example is {name}: a model trained on these learns nothing about number"
    wanted = {"train": shares.train, "valid": shares.valid, "test": 100 - shares.train - shares.valid}
    for split, share in wanted.items():
        if share > 0 and split not in splits:
            yield f"no example is in the split {split}: too few documents for a share of {share:g}%"


def _grid(table: pa.Table) -> str:
    """Count examples by number of attractors, and by number of intervening nouns where it is known."""
    attractors = _column(table, "n_attractors")
    known = "n_intervening" in table.column_names
    intervening = _column(table, "n_intervening") if known else ["examples"] * len(attractors)
    counts = Counter(zip(intervening, attractors, strict=True))
    columns = sorted(set(attractors))
    rows = []
    for row in sorted({row for row, _ in counts}):
        cells = [counts[row, column] for column in columns]
        rows.append([row, *(f"{n:,}" if n else "" for n in cells), f"{sum(cells):,}"])
    headers = ["Intervening nouns" if known else "", *map(_attractors, columns), "all"]
    return tabulate(rows, headers, tablefmt="pipe", disable_numparse=True, stralign="right")


def _attractors(n: int) -> str:
    return f"{n} attractor{'' if n == 1 else 's'}"


def _column(table: pa.Table, name: str) -> list[Any]:
    values: list[Any] = table[name].to_pylist()
    return values
