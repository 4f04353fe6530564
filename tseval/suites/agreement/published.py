"""Tables of agreement examples: read, published sets among them, and made of treebanks and other files.

Rare words may stand as their parts of speech, as in the training data of Linzen et al. 2016.

Source: TalLinzen/rnn_agreement, collect_agreement.py, by which their table was made: words are in lower
case, the 10,000 most frequent ones of the corpus stay, every other one becomes its Penn tag, subject and verb
too: NN and NNS, VBZ and VBP tell the number. The other form of VBZ is VBP. Departure: so it is where the verb
stays and its other form is rare, which else would be known as the wrong one by being unknown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import SuiteError, quoted_text, reason
from tseval.formats import ContentError, bare_name, numbered_lines, read_lines, whole_number
from tseval.suites.agreement import (
    EXAMPLE_COLUMNS,
    EXAMPLE_NUMBERS,
    NEEDED_COLUMNS,
    NO_NOUN,
    PLURAL,
    SINGULAR,
    Example,
    counts_and_reasons,
    filled,
    gather_examples,
    read_targets,
    reasons_listed,
    split_of,
)
from tseval.suites.agreement.forms import SeenForms
from tseval.suites.agreement.requests import XPOS
from tseval.suites.agreement.treebank import (
    DIFFERENT,
    NO_OPPOSITE,
    NOUN_TAGS,
    TAGS,
    VERB_TAGS,
    find_examples,
    number_of,
    opposite_form,
    read_treebank,
)
from tseval.tables import read_parquet, read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from tseval.suites.agreement import Shares
    from tseval.suites.agreement.treebank import Sentence

    Place = Callable[[int], str]


# The columns that are read of `agr_50_mostcommon_10K.tsv`; it has more.
WHOLE_NUMBERS = ("subj_index", "verb_index", "n_intervening", "n_diff_intervening")
PUBLISHED_COLUMNS = ("sentence", "subj_pos", "verb_pos", "last_intervening", *WHOLE_NUMBERS)
SAME_FORM = "right and wrong form are the same, or not of one verb"
END = "<eos>"


def read_linzen_table(path: Path, source: str, shares: Shares, tally: Tally) -> Iterator[Example]:
    """Read the table of Linzen et al. 2016, line by line.

    Positions in it count from 1. In its column `sentence`, which is the one taken, tags stand in for rare
    words, verbs too: the opposite of `VBZ` is `VBP`. It is quoted as CSV.
    """
    for place, row in read_table(path, quotes=True):
        tally.n_sentences += 1
        numbers = (whole_number(place, name, row[name]) for name in WHOLE_NUMBERS)
        subject, verb, n_intervening, n_attractors = numbers
        words = row["sentence"].split()
        if not 1 <= subject < verb <= len(words) or n_attractors > n_intervening:
            raise SuiteError(
                f"{place}: subject {subject} and verb {verb} of {len(words)} words, {n_attractors} "
                f"attractors of {n_intervening} intervening nouns: these numbers contradict each other.\n"
                "  Correct the row."
            )
        for name, tags in (("subj_pos", NOUN_TAGS), ("verb_pos", VERB_TAGS)):
            if row[name] not in tags:
                raise SuiteError(f"{place}: {name} is {row[name]!r}.\n  Write {' or '.join(tags)}.")
        form, number = words[verb - 1], VERB_TAGS[row["verb_pos"]]
        opposite = (TAGS[form], "tag") if form in TAGS else opposite_form(form, number)
        if NOUN_TAGS[row["subj_pos"]] != number or opposite is None:
            tally.left_out[NO_OPPOSITE if NOUN_TAGS[row["subj_pos"]] == number else DIFFERENT] += 1
            continue
        yield Example(
            sentence=" ".join(words),
            subj_index=subject - 1,
            verb_index=verb - 1,
            subj_form=words[subject - 1],
            verb_form=form,
            number=number,
            opp_verb_form=opposite[0],
            n_intervening=n_intervening,
            n_attractors=n_attractors,
            n_non_attractors=n_intervening - n_attractors,
            distance=verb - subject,
            last_intervening=NOUN_TAGS.get(row["last_intervening"], NO_NOUN),
            source=source,
            # A sentence is its own document: no sentence is in two splits.
            split=split_of(" ".join(words), shares),
            opp_how=opposite[1],
        )


def read_target_pairs(path: Path, source: str, shares: Shares, tally: Tally) -> Iterator[Example]:
    """Read `NAME.text` with `NAME.gold` beside it."""
    for target in read_targets(path):
        if target.attractors is None:
            raise SuiteError(
                f"{target.place}: the line has no number of attractors.\n  Write the number of attractors "
                "as the fourth cell of the line."
            )
        tally.n_sentences += 1
        number = number_of(target.right, target.wrong)
        if number is None:
            tally.left_out[SAME_FORM] += 1
            continue
        sentence = " ".join(target.words[:-1] if target.words[-1] == END else target.words)
        yield Example(
            sentence=sentence,
            verb_index=target.position,
            verb_form=target.right,
            number=number,
            opp_verb_form=target.wrong,
            n_attractors=target.attractors,
            source=source,
            split=split_of(sentence, shares),
            opp_how="published",
        )


@dataclass(frozen=True, slots=True)
class Frequent:
    """Which words stay."""

    n: int  # the most frequent ones, so many
    texts: tuple[Path, ...] = ()  # counted in these, a sentence a line; none for the treebanks themselves


def frequent_words(files: Sequence[Path], frequent: Frequent) -> frozenset[str]:
    """Find the most frequent words, in lower case; among equally frequent ones the first by alphabet."""
    counts: Counter[str] = Counter()
    for text in frequent.texts:
        before = counts.total()
        for _, line in numbered_lines(text, "text_bytes", rows=False):
            counts.update(line.lower().split())
        if counts.total() == before:
            raise SuiteError(f"{text}: is empty")
    if not frequent.texts:
        for file in files:
            for sentence in read_treebank(file):
                counts.update(word.form.lower() for word in sentence.words)
    return frozenset(sorted(counts, key=lambda word: (-counts[word], word))[: frequent.n])


def with_tags(example: Example, sentence: Sentence, kept: Collection[str]) -> Example:
    """Write an example of a sentence with tags in place of rare words; `kept` are in lower case."""
    if not sentence.penn:
        raise SuiteError(
            f"{example.source}: --frequent replaces rare words by Penn tags, but column 5 of this treebank "
            "has no Penn tags (VBZ, VBP).\n  Leave --frequent out."
        )
    words = []
    for word in sentence.words:
        form, tag = word.form.lower(), "_".join(word.values.get(XPOS, "").split())
        if form not in kept and not tag:
            raise SuiteError(
                f"{sentence.name}: --frequent replaces rare words by Penn tags, but the rare word "
                f"{quoted_text(word.form)} has no tag in column 5.\n  Write a tag in column 5, or leave "
                "--frequent out."
            )
        words.append(form if form in kept else tag)
    verb, opposite, how = words[example.verb_index], example.opp_verb_form.lower(), example.opp_how
    if verb in TAGS or opposite not in kept:
        opposite, how = TAGS[sentence.words[example.verb_index].values[XPOS]], "tag"
    assert example.subj_index is not None
    return replace(
        example,
        sentence=" ".join(words),
        subj_form=words[example.subj_index],
        verb_form=verb,
        opp_verb_form=opposite,
        opp_how=how,
    )


def read_examples(path: Path) -> pa.Table:
    """Read and check a table of examples: `.parquet`, or `.tsv` with a header and no quoting, also `.gz`.

    One row per example. The columns of `NEEDED_COLUMNS` are there; those of the other `EXAMPLE_COLUMNS`
    that the file fills; no others. `n_non_attractors` is worked out where the file counts the nouns.
    """
    table, place = _read_parquet(path) if path.name.endswith(".parquet") else _read_tsv(path)
    if not table.num_rows:
        raise SuiteError(
            f"{path}: the table has no rows with examples.\n  Make a table of examples: tseval data "
            f"agreement TREEBANK -o {path}"
        )
    table = filled(table)
    if missing := [name for name in NEEDED_COLUMNS if name not in table.column_names]:
        raise SuiteError(
            f"{path}: a table of agreement examples needs values in the column {missing[0]!r}, but the "
            f"column is empty.\n  Write a value in the column {missing[0]!r} of every row."
        )
    for name in table.column_names:
        if table[name].null_count:
            row = pc.index(pc.is_null(table[name]), True).as_py()
            raise SuiteError(
                f"{place(row)}: the cell in the column {name!r} is empty, but other rows have a value.\n  "
                "Write a value in this cell, or delete the whole column."
            )
    _check_words(table, place)
    for row, number in enumerate(_values(table, "number")):
        if number not in EXAMPLE_NUMBERS:
            raise SuiteError(
                f"{place(row)}: the column 'number' has {number!r}.\n  Write sing or plur in this cell."
            )
    for row, opposite in enumerate(_values(table, "opp_verb_form")):
        if len(opposite.split()) != 1:
            raise SuiteError(
                f"{place(row)}: the column 'opp_verb_form' has {opposite!r}, but must have one word.\n  "
                "Write one word in this cell."
            )
    return _with_non_attractors(table, place)


def _require(path: Path, names: Iterable[str]) -> None:
    present = set(names)
    if missing := [name for name in NEEDED_COLUMNS if name not in present]:
        hint = ""
        if "verb_pos" in present:
            hint = (
                "\n  If this is the table of Linzen et al., convert it first: tseval data "
                f"agreement {path} -o FILE"
            )
        raise SuiteError(
            f"{path}: a table of agreement examples needs the column {missing[0]!r}, but this table does "
            f"not have it.{hint}"
        )


def _read_parquet(path: Path) -> tuple[pa.Table, Place]:
    try:
        table = read_parquet(path, EXAMPLE_COLUMNS, needed=(), others=False)
    except OSError as error:
        raise SuiteError(
            f"{path}: tseval cannot read this file ({reason(error)}).\n  Check the name of the file, and "
            "that it is a Parquet file."
        ) from None
    except ContentError as error:
        said = f"cannot be read ({error})" if error.what.startswith("not a") else error
        raise SuiteError(f"{path}: {said}") from None
    _require(path, table.column_names)
    present = [name for name in EXAMPLE_COLUMNS if name in table.column_names]
    return table.select(present), lambda row: f"{path}, row {row + 1}"


def _read_tsv(path: Path) -> tuple[pa.Table, Place]:
    places: list[str] = []
    cells: dict[str, list[str | None]] = {}
    for place, row in read_table(path, quotes=False):
        if not places:
            _require(path, row)
            cells = {name: [] for name in EXAMPLE_COLUMNS if name in row}
        places.append(place)
        for name, column in cells.items():
            column.append(row[name] or None)
    columns: dict[str, pa.Array[Any]] = {}
    for name, texts in cells.items():
        values: list[Any] = texts
        if EXAMPLE_COLUMNS[name] == pa.int64():
            rows = zip(places, texts, strict=True)
            values = [None if text is None else whole_number(place, name, text) for place, text in rows]
        columns[name] = pa.array(values, EXAMPLE_COLUMNS[name])
    return pa.table(columns), places.__getitem__


def _check_words(table: pa.Table, place: Place) -> None:
    """Hold every row to its sentence: the forms stand where it says."""
    words = [sentence.split() for sentence in _values(table, "sentence")]
    for which in ("subj", "verb"):
        if not {f"{which}_index", f"{which}_form"} <= set(table.column_names):
            continue
        columns = (_values(table, f"{which}_{what}") for what in ("index", "form"))
        for row, (index, form) in enumerate(zip(*columns, strict=True)):
            if not 0 <= index < len(words[row]):
                last = len(words[row]) - 1
                raise SuiteError(
                    f"{place(row)}: the column '{which}_index' has {index}, but the words of the sentence "
                    f"are numbered from 0 to {last}.\n  Write a number from 0 to {last}."
                )
            if words[row][index] != form:
                raise SuiteError(
                    f"{place(row)}: the column '{which}_form' has {form!r}, but word {index} of the "
                    f"sentence, counted from 0, is {words[row][index]!r}.\n  Correct '{which}_form' or "
                    f"'{which}_index' in this row."
                )
    if (row := pc.index(table["verb_index"], 0).as_py()) >= 0:
        raise SuiteError(
            f"{place(row)}: the verb is the first word, so no word before it shows its number.\n"
            "  Remove this row from the table."
        )


def _values(table: pa.Table, name: str) -> list[Any]:
    values: list[Any] = table[name].to_pylist()
    return values


def _with_non_attractors(table: pa.Table, place: Place) -> pa.Table:
    """Count the intervening nouns of the subject's number where the file counts the others."""
    if not {"n_intervening", "n_attractors"} <= set(table.column_names):
        return table
    rest = pc.subtract(table["n_intervening"], table["n_attractors"])
    if (row := pc.index(pc.less(rest, pa.scalar(0)), True).as_py()) >= 0:
        raise SuiteError(
            f"{place(row)}: the row has more attractors than intervening nouns.\n  Correct the number in "
            "the column n_attractors or n_intervening."
        )
    if "n_non_attractors" not in table.column_names:
        table = table.append_column("n_non_attractors", rest)
    return table.select([name for name in EXAMPLE_COLUMNS if name in table.column_names])


REPEATED = "the same verb in the same sentence, again"
SOURCES = {
    "treebank": "a treebank in CoNLL-U",
    "linzen": "a table of Linzen et al. 2016",
    "pairs": "sentences with pairs of forms",
}


@dataclass(slots=True)
class Tally:
    """What was read, and what of it made no example."""

    n_sentences: int = 0  # read
    left_out: Counter[str] = field(default_factory=Counter)  # reason to how often it was one


def convert(
    files: Sequence[Path], shares: Shares, source: str | None = None, frequent: Frequent | None = None
) -> tuple[pa.Table, Tally]:
    """Find the agreement examples of files of one kind, which their content tells, and count what was read.

    They are treebanks in CoNLL-U; tables of Linzen et al. 2016; or texts with gold files beside them, and may
    be compressed. Without a source each is one called like its file. In treebanks Penn tags may stand in for
    words that are not frequent. The examples are as `read_examples` gives them, each verb of a sentence once.
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
    """Tell what a file is by its beginning; a treebank's name may tell too, for a message about its lines."""
    name = bare_name(path)
    if name.endswith(".text"):
        return "pairs"
    if not (first := next((line for _, line in read_lines(path)), None)):
        raise SuiteError(f"{path}: is empty")
    cells = first.split("\t")
    if set(PUBLISHED_COLUMNS) <= set(cells):
        return "linzen"
    if first.startswith("#") or len(cells) == 10 or name.endswith(".conllu"):
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
    for file in files:  # the verbs whose opposite forms no rule gives
        for sentence in takewhile(lambda sentence: not sentence.penn, read_treebank(file)):
            for word in sentence.words:
                if word.verb is not None:
                    forms.add(word)
    kept = frequent_words(files, frequent) if frequent else None
    for file, name in named:
        for sentence in read_treebank(file):
            tally.n_sentences += 1
            for example in find_examples(sentence, name, shares, forms, tally.left_out):
                yield example if kept is None else with_tags(example, sentence, kept)


def _once(examples: Iterator[Example], tally: Tally) -> Iterator[Example]:
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
    numbers, splits = Counter(_values(table, "number")), Counter(_values(table, "split"))
    by_number = ", ".join(f"{numbers[number]:,} {name}" for number, name in NUMBER_NAMES.items())
    by_split = ", ".join(f"{splits[split]:,} {split}" for split in ("train", "valid", "test"))
    counts = f"{tally.n_sentences:,} sentences, {table.num_rows:,} examples: {by_number}; {by_split}"
    attractors = _values(table, "n_attractors")
    known = "n_intervening" in table.column_names
    intervening = _values(table, "n_intervening") if known else ["examples"] * len(attractors)
    heading = "Intervening nouns" if known else ""
    return counts_and_reasons(
        counts, zip(intervening, attractors, strict=True), tally.left_out, heading, "right"
    )


def warnings_about(table: pa.Table, shares: Shares) -> Iterator[str]:
    """Name what would keep a model from being trained or tested on the examples."""
    numbers, splits = set(_values(table, "number")), set(_values(table, "split"))
    for number, name in NUMBER_NAMES.items():
        if number not in numbers:
            yield f"no example is {name}: a model trained on these examples learns nothing about number"
    wanted = {"train": shares.train, "valid": shares.valid, "test": 100 - shares.train - shares.valid}
    for split, share in wanted.items():
        if share > 0 and split not in splits:
            yield f"no example is in the split {split}: too few documents for a share of {share:g}%"
