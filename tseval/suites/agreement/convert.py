"""Make a table of agreement examples from treebanks, from the table of Linzen et al. or from gold files."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.formats import bare_name, read_lines
from tseval.suites.agreement.examples import (
    NEEDED_COLUMNS,
    Example,
    gather_examples,
)
from tseval.suites.agreement.forms import SeenForms
from tseval.suites.agreement.gold_files import read_target_pairs
from tseval.suites.agreement.linzen_table import PUBLISHED_COLUMNS, read_linzen_table
from tseval.suites.agreement.rare_words import Frequent, frequent_words, with_tags
from tseval.suites.agreement.summary import Tally, reasons_listed
from tseval.suites.agreement.treebank import (
    find_examples,
    read_treebank,
)
from tseval.suites.endings import TREES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from tseval.suites.agreement.splits import Shares


REPEATED = "the same verb in the same sentence, again"
SOURCES = {
    "treebank": "a treebank in CoNLL-U",
    "linzen": "a table of Linzen et al. 2016",
    "pairs": "sentences with pairs of forms",
}


def convert(
    files: Sequence[Path], shares: Shares, source: str | None = None, frequent: Frequent | None = None
) -> tuple[pa.Table, Tally]:
    """Make a table of agreement examples from files of one kind, and count what was read.

    The files are treebanks in CoNLL-U, tables of Linzen et al. 2016, or texts with gold files; all may be
    compressed. The content shows the kind. `source` names the source; by default it is the name of each file.
    `frequent` replaces rare words of treebanks by Penn tags. The table has the format of `read_examples`,
    with each verb of a sentence once.
    """
    kinds = [_kind(file) for file in files]
    for file, kind in zip(files, kinds, strict=True):
        if kind != kinds[0]:
            first_file, first_kind, other_kind = files[0], SOURCES[kinds[0]], SOURCES[kind]
            raise SuiteError(
                f"{file} is {other_kind}, but {first_file} is {first_kind}.\n"
                "  Run tseval data agreement once for each kind of file: the kinds give different columns."
            )
    if frequent and kinds[0] != "treebank":
        raise SuiteError(
            f"{files[0]} is {SOURCES[kinds[0]]}, but --frequent replaces rare words only in treebanks.\n"
            "  Leave --frequent out."
        )
    tally = Tally()
    named = [(file, source or Path(bare_name(file)).stem) for file in files]
    if kinds[0] == "treebank":
        examples = _from_treebanks(named, shares, frequent, tally)
    else:
        read = read_linzen_table if kinds[0] == "linzen" else read_target_pairs
        examples = (example for file, name in named for example in read(file, name, shares, tally))
    table = gather_examples(_once(examples, tally))
    if not table.num_rows:
        reasons = reasons_listed(tally.left_out)
        raise SuiteError(
            f"{', '.join(map(str, files))}: tseval found no agreement examples in the {tally.n_sentences:,} "
            "sentences.\n"
            f"  Left out: {reasons or 'nothing; no present-tense verb has a common noun as its subject'}.\n"
            "  Choose a treebank with more sentences."
        )
    return table, tally


def _kind(path: Path) -> str:
    """Return the kind of a file by its first line. The name shows a treebank too, for better messages."""
    name = bare_name(path)
    if name.endswith(".text"):
        return "pairs"
    if not (first := next((line for _, line in read_lines(path)), None)):
        raise SuiteError(f"{path}: is empty")
    cells = first.split("\t")
    if set(PUBLISHED_COLUMNS) <= set(cells):
        return "linzen"
    if first.startswith("#") or len(cells) == 10 or name.endswith(TREES):
        return "treebank"
    if set(NEEDED_COLUMNS) <= set(cells):
        raise SuiteError(
            f"{path}: this file is already a table of agreement examples.\n  Score a model on the table: "
            f"tseval run --model MODEL --suite {path}"
        )
    raise SuiteError(
        f"{path}: tseval cannot make agreement examples from this file.\n  Give "
        f"{', '.join(SOURCES.values())} (NAME.text and NAME.gold)."
    )


def _from_treebanks(
    named: Sequence[tuple[Path, str]], shares: Shares, frequent: Frequent | None, tally: Tally
) -> Iterator[Example]:
    forms, files = SeenForms("treebank", "Number"), [file for file, _ in named]
    for file in files:  # collect attested verb forms, which replace rules in treebanks without Penn tags
        for sentence in takewhile(lambda sentence: not sentence.penn, read_treebank(file)):
            for word in sentence.words:
                if word.verb is not None:
                    forms.add(word)
    kept_words = frequent_words(files, frequent) if frequent else None
    for file, name in named:
        for sentence in read_treebank(file):
            tally.n_sentences += 1
            for example in find_examples(sentence, name, shares, forms, tally.left_out):
                yield example if kept_words is None else with_tags(example, sentence, kept_words)


def _once(examples: Iterator[Example], tally: Tally) -> Iterator[Example]:
    seen: set[int] = set()
    for example in examples:
        key = hash((example.sentence, example.verb_index))
        if key in seen:
            tally.left_out[REPEATED] += 1
            continue
        seen.add(key)
        yield example
