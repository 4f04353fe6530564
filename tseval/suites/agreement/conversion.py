"""From treebanks and published sets to one table of examples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.formats import bare_name
from tseval.suites.agreement.examples import NEEDED_COLUMNS, gather_examples
from tseval.suites.agreement.extraction import Forms, find_examples
from tseval.suites.agreement.published import (
    PUBLISHED_COLUMNS,
    open_lines,
    read_linzen_table,
    read_target_pairs,
)
from tseval.suites.agreement.rare_words import frequent_words, with_tags
from tseval.suites.agreement.treebank import read_treebank

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from tseval.suites.agreement.examples import Example
    from tseval.suites.agreement.rare_words import Frequent
    from tseval.suites.agreement.splitting import Shares

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

    Raises:
        SuiteError: A file is of no known kind or malformed, the files are of several kinds, there is no
            example, or no tag that could stand in for a word.
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
