"""Subject-verb agreement in running text: one example, its split, and what stands in for its verb.

Examples stand one a row: a sentence, its target verb, the verb's number and its opposite form. They are kept
as parquet or as tab-separated values, where quotes are ordinary characters.
"""

from __future__ import annotations

import gzip
import hashlib
from collections import Counter
from dataclasses import asdict, dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tseval.errors import SuiteError, counted
from tseval.files import write_whole
from tseval.formats import is_count, read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path


SINGULAR, PLURAL = "sing", "plur"
EXAMPLE_NUMBERS = (SINGULAR, PLURAL)
NO_NOUN = "none"  # last_intervening where no noun intervenes
EXAMPLE_ENDINGS = (".parquet", ".tsv", ".tsv.gz")
NEEDED_COLUMNS = ("sentence", "verb_index", "verb_form", "number", "opp_verb_form")
_CHUNK = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One target verb in a sentence as it was found; what a source does not say is None."""

    sentence: str  # words joined by single spaces
    subj_index: int | None = None  # position of the subject's head, from 0
    verb_index: int  # position of the target verb, from 0
    subj_form: str | None = None
    verb_form: str  # as found
    number: str  # the verb's and its subject's, `sing` or `plur`
    opp_verb_form: str  # the verb in the other number
    n_intervening: int | None = None  # common nouns strictly between subject and verb
    n_attractors: int  # those of the other number
    n_non_attractors: int | None = None  # those of the subject's number
    distance: int | None = None  # verb_index - subj_index
    last_intervening: str | None = None  # number of the noun nearest to the verb; `none` where there is none
    source: str  # the treebank or file
    sent_id: str | None = None  # the sentence's name in its treebank
    split: str  # `train`, `valid` or `test`
    opp_how: str  # how the opposite form was found
    verb_role: str | None = None  # `main`, `aux`, `auxpass` or `cop`
    subj_deprel: str | None = None  # the subject's relation


EXAMPLE_COLUMNS: dict[str, pa.DataType] = {
    column.name: pa.int64() if str(column.type).startswith("int") else pa.string()
    for column in fields(Example)
}


def gather_examples(examples: Iterable[Example]) -> pa.Table:
    """Put examples of one source into a table; columns that the source does not fill are left out."""
    rest, schema = iter(examples), pa.schema(list(EXAMPLE_COLUMNS.items()))
    parts = [schema.empty_table()]
    while chunk := list(islice(rest, _CHUNK)):
        parts.append(pa.Table.from_pylist(list(map(asdict, chunk)), schema=schema))
    return filled(pa.concat_tables(parts))


def filled(table: pa.Table) -> pa.Table:
    """Leave out the columns that hold nothing."""
    held = [name for name in table.column_names if table[name].null_count < table.num_rows]
    return table.select(held) if table.num_rows else table


def check_new_file(output: Path, endings: Sequence[str], file_kind: str, resume: bool = False) -> None:
    """Refuse to write a file where one cannot be written, or must not."""
    if not output.name.endswith(tuple(endings)):
        raise SuiteError(
            f"{output}: the name of a {file_kind} must end in {' or '.join(endings)}.\n  Change the name "
            "after -o."
        )
    if not output.absolute().parent.is_dir():
        raise SuiteError(
            f"{output.parent}: this folder does not exist.\n  Make the folder: mkdir -p {output.parent}"
        )
    if output.exists() and not resume:
        raise SuiteError(
            f"{output}: this file exists already.\n  Name another file after -o, or remove {output}."
        )


def write_examples(table: pa.Table, path: Path) -> None:
    """Write a table of examples, as its ending says: `.parquet`, `.tsv` or `.tsv.gz`."""
    write_as_named(table, path, _as_tsv)


def write_as_named(table: pa.Table, path: Path, as_text: Callable[[pa.Table], bytes]) -> None:
    """Write a table as its ending says: parquet, or else as a text, which `.gz` compresses."""
    if path.name.endswith(".parquet"):
        write_whole(path, lambda file: pq.write_table(table, file))
    elif path.name.endswith(".gz"):
        # Without a time stamp: the same rows give the same bytes.
        write_whole(path, gzip.compress(as_text(table), mtime=0))
    else:
        write_whole(path, as_text(table))


def reasons_listed(left_out: Counter[str]) -> str:
    """Write on one line what was left out and how often, the most frequent first."""
    return ", ".join(f"{reason} ({n:,})" for reason, n in left_out.most_common())


def counts_and_reasons(
    told: str, counted_by: Iterable[tuple[Any, int | None]], left_out: Counter[str], heading: str = "",
    align: str = "left",
) -> str:  # fmt: skip
    """Say in tables how many there are, by something and the number of attractors, and what was left out."""
    from tabulate import tabulate  # noqa: PLC0415 - slow to import, and who reads tables needs none

    counts = Counter(counted_by)
    columns = sorted({attractors for _, attractors in counts if attractors is not None})
    rows = []
    for name in sorted({name for name, _ in counts}):
        cells = [*(counts[name, n] for n in columns), sum(n for (one, _), n in counts.items() if one == name)]
        rows.append([name, *(f"{n:,}" if n else "" for n in cells)])
    headers = [heading, *(counted(n, "attractor") for n in columns), "all"]
    sides = (align, *["right"] * (len(headers) - 1))
    parts = [told, tabulate(rows, headers, "pipe", disable_numparse=True, colalign=sides)]
    if left_out:
        reasons = [(f"{n:,}", reason) for reason, n in left_out.most_common()]
        parts.append(tabulate(reasons, ["Left out", ""], "pipe", colalign=("right", "left")))
    return "\n\n".join(parts)


def _as_tsv(table: pa.Table) -> bytes:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    # There is no quoting, so what would end a cell becomes a space.
    ends = dict.fromkeys(map(ord, "\t\n\r"), " ")
    cells = (table.column_names, *((str(value).translate(ends) for value in row) for row in rows))
    return "".join("\t".join(row) + "\n" for row in cells).encode()


@dataclass(frozen=True, slots=True)
class Shares:
    """How much of the documents is for training and for validation, in percent; the rest is for testing."""

    train: float = 80
    valid: float = 10


def split_of(document: str, shares: Shares) -> str:
    """Return whether a document is for `train`, `valid` or `test`: the same on every machine and for ever.

    A larger share of training text takes in the smaller one.
    """
    digest = hashlib.sha256(document.encode()).digest()
    percent = int.from_bytes(digest[:8], "big") / 2**64 * 100
    if percent < shares.train:
        return "train"
    return "valid" if percent < shares.train + shares.valid else "test"


@dataclass(frozen=True, slots=True)
class Target:
    """A verb in a sentence of `NAME.text`, as `NAME.gold` tells."""

    place: str  # `file:line` of the gold file
    words: Sequence[str]  # the whole sentence
    position: int  # of the verb, from 0
    right: str  # the verb as it stands there
    wrong: str  # in the other number
    attractors: int | None  # how many; None where the file says that it does not know


# What the generator of Lakretz et al. 2019 writes for a number of attractors that it does not count.
UNKNOWN_ATTRACTORS = "-999"


def gold_of(text: Path) -> Path:
    """Name the file that says which word of each sentence is the verb."""
    return text.with_name(text.name.replace(".text", ".gold", 1))


def read_targets(text: Path) -> Iterator[Target]:
    """Read `NAME.text` with `NAME.gold` beside it: position of the verb, right form, wrong form, attractors.

    The forms are lower-cased as the text is; four of the published ones are not.
    """
    sentences, gold = list(read_lines(text)), list(read_lines(gold_of(text)))
    if len(sentences) != len(gold):
        raise SuiteError(
            f"{gold_of(text)}: the file has {len(gold)} lines, but {text} has {len(sentences)} sentences.\n"
            "  Write one line for each sentence of the .text file."
        )
    for (_, sentence), (place, line) in zip(sentences, gold, strict=True):
        cells, words = line.split("\t"), sentence.split()
        unknown = cells[3:] == [UNKNOWN_ATTRACTORS]
        if len(cells) != 4 or not (is_count(cells[0]) and (unknown or is_count(cells[3]))):
            raise SuiteError(
                f"{place}: a line must have 4 cells with tabs between them, but this line is {line!r}.\n  "
                "Write the position of the verb, its right form, its wrong form and the number of attractors."
            )
        position, right, wrong = int(cells[0]), cells[1].lower(), cells[2].lower()
        if position >= len(words) or words[position] != right:
            raise SuiteError(
                f"{place}: word {position} of the sentence is not the form {right!r} that this line "
                "gives.\n  Correct the position or the right form on this line."
            )
        yield Target(place, words, position, right, wrong, None if unknown else int(cells[3]))
