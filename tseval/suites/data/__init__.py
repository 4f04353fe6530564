"""Suites from data: sets of minimal pairs that were published as files rather than as grammars.

A table is read in three steps, whatever its format: its columns get roles (`roles.py`), its rows become
items by the layout that these imply (`pairs.py`, `layouts.py`, `ratings.py`), and what was read is said, file
by file. Sets with a format of their own have readers of their own.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from tseval.errors import SuiteError, TsevalError, counted, quoted_text
from tseval.files import beyond
from tseval.formats import bare_name, read_lines, stem_of
from tseval.items import first_too_long
from tseval.questions.regions import Regions
from tseval.suites.agreement.gold_files import gold_of
from tseval.suites.data.alternatives import SEVERAL_WORDS
from tseval.suites.data.candidates import fills
from tseval.suites.data.entries import DataSet, TableReading
from tseval.suites.data.gulordava import GULORDAVA, HEADINGS, has_patterns, read_gulordava
from tseval.suites.data.layouts import (
    ALTERNATING,
    layout_of,
    read_entries,
    read_table_of,
    sentences_in,
)
from tseval.suites.data.pairs import (
    BLIMP_METHODS,
    BLIMP_SOURCE,
    CLAMS_SOURCE,
    FEATURES,
    LANGUAGES,
    LINZEN,
    find_roles,
    pair_entries,
    read_agreement,
    read_arrays,
    read_blimp,
    read_clams,
    read_linzen,
)
from tseval.suites.data.ratings import rated_columns, read_ratings
from tseval.suites.data.readings import follows_note
from tseval.suites.data.records import columns_of, encoding_of, header_of, json_kind
from tseval.suites.data.regions import CONTEXT_COLUMNS, SYNTAXGYM_SOURCE, read_contexts, read_syntaxgym
from tseval.suites.data.roles import check_columns, is_known_name, refuse_columns
from tseval.tables import is_table
from tseval.writing import BOUNDARY, single_spaced, without_boundaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tseval.items import Case
    from tseval.suites.data.entries import DataItem


# Of two files of one name the first kind is read.
DATA_ENDINGS = (".jsonl", ".tsv", ".parquet", ".json", ".csv", ".xlsx", ".tab", ".text", ".txt")
TABLES = (".jsonl", ".json", ".tsv", ".csv", ".parquet", ".xlsx", ".tab")
# What lies beside data and is none, whatever its ending.
_ABOUT = re.compile(
    r"(licen[cs]e|copying|notice|readme|changelog|changes|citation|authors|contributing|requirements|"
    r"dataset_infos?|metadata|croissant|config|package)", re.IGNORECASE,
)  # fmt: skip
NOT_READ = "not read: "
MOST_UNUSED = 12  # columns of a file that are named
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")


def is_data(path: Path) -> bool:
    """Whether a path is a file of data, or a folder of such files rather than of grammars."""
    if path.is_dir():
        grammars = any(path.glob("*.jinja")) or (path / "suite.yaml").exists()
        return not grammars and any(_why_not(file) is None for file in _walk(path))
    return bare_name(path).endswith(DATA_ENDINGS)


def not_a_suite(path: Path) -> SuiteError:
    """Say that a file is no suite by its ending, and under which name its content would be read."""
    try:
        line = next(read_lines(path), ("", ""))[1]
    except TsevalError:
        line = ""
    endings = {"\t": ".tsv", ",": ".csv", ";": ".csv"}
    ending = next((ending for mark, ending in endings.items() if mark in line), "")
    copy = (
        f"\n  Its first line may be the header of a table: name a copy {path.stem}{ending}." if ending else ""
    )
    return SuiteError(
        f"{path}: tseval cannot read this file as a suite.\n"
        "  Give a .jinja grammar, a folder of such grammars, or a table "
        f"({', '.join(DATA_ENDINGS)}; docs/datasets.md).{copy}"
    )


def read_data(path: Path, method: str | None = None, columns: Mapping[str, str] | None = None) -> DataSet:
    """Read a data set, a file or a folder of files; what its user says of its tables is in `columns`.

    Of a set with several methods (`methods_of`) the first is taken where none is named.
    """
    how = dict(columns or {})
    check_columns(how)
    files, said = _files(path) if path.is_dir() else ({path: _stem(path)}, {})
    kinds: dict[str, dict[Path, str]] = {}
    for file, stem in files.items():
        if kind := kind_of(file, how):
            kinds.setdefault(kind, {})[file] = stem
        else:
            said[_name(file, path)] = f"{NOT_READ}no column names sentences that can be compared"
    if not kinds:
        _refuse_unknown(next(iter(files)), how)
    name = next(iter(files.values())) if path.is_file() else stem_of(path.resolve())
    parts = []
    for kind, own in kinds.items():
        reading = TableReading(own, name, method, how)
        part = _READERS[kind](reading)
        reading.unused |= _beside(kind, own, how)
        _refuse_useless(part, kind, how, path)
        said |= {_name(file, path): _read_as(kind, file, reading) for file in own}
        parts.append(replace(part, notes=tuple(reading.notes)))
    data = replace(_as_one(parts, path, name), files=dict(sorted(said.items())))
    if (joined := _joined_without_space(data.cases)) is not None:
        note = f"parts are joined without a space, as in {joined} (--columns join=space puts one)"
        data = replace(data, notes=(*data.notes, note))
    data = replace(data, notes=(*data.notes, *_odd_words(data.cases)))
    if not data.cases:
        raise SuiteError(
            f"{path}: tseval found no pair of sentences.\n"
            "  Add at least one row with a grammatical and an ungrammatical sentence."
        )
    for case in data.cases:
        for label in case.labels:
            if (item := first_too_long(case.sentences[label])) >= 0:
                where = f"{path}: case {case.name!r}, item {item}"
                raise beyond("sentence_chars", where, f"the {label} sentence has too many characters")
    return data


def _read_as(kind: str, file: Path, reading: TableReading) -> str:
    """Say how a file was read, and which of its columns were not used."""
    names = reading.unused.get(str(file), [])
    shown = [*names[:MOST_UNUSED], *([f"{len(names) - MOST_UNUSED} more"] if names[MOST_UNUSED:] else [])]
    unused = f"; not used: {', '.join(shown)}" if names else ""
    several = f"; alternatives={reading.how['alternatives']}" if "alternatives" in reading.how else ""
    return f"{kind}, {counted(reading.items[str(file)], 'item')}{several}{unused}"


# Columns that are used of tables with a format of their own.
_USED = {
    "gulordava": {*HEADINGS},
    "agreement": {
        "sentence",
        "verb_index",
        "number",
        "verb_form",
        "opp_verb_form",
        "split",
        *FEATURES.values(),
    },
}


def _beside(kind: str, files: Mapping[Path, str], how: Mapping[str, str]) -> dict[str, list[str]]:
    """Name the columns of each table that its format knows nothing of."""
    tables = [file for file in files if kind in _USED and not bare_name(file).endswith(".text")]
    return {
        str(file): [name for name in columns_of(file, how)[1] if name not in _USED[kind]] for file in tables
    }


def _refuse_useless(part: DataSet, kind: str, how: Mapping[str, str], path: Path) -> None:
    """Refuse what a user says of conditions where the files of a kind have none."""
    if "predict" in how and not all(isinstance(case.question, Regions) for case in part.cases):
        raise SuiteError(
            f"{path}: the setting predict= of --columns compares surprisals under conditions. "
            f"But tseval reads this file as {kind}, which have no conditions.\n"
            "  Leave predict= out, or name the columns: --columns sentence=NAME,item=NAME,condition=NAME."
        )
    if "alternatives" in how and kind != "pairs":
        raise SuiteError(
            f"{path}: alternatives= is for two continuations of a prefix, but the file has {kind}.\n"
            "  Leave alternatives= out, or name the columns: --columns prefix=NAME,good=NAME,bad=NAME."
        )
    if "fill" in how and kind != "sentences":
        raise SuiteError(
            f"{path}: fill= puts words into the mask of a sentence a row, but the file has {kind}.\n"
            "  Leave fill= out, or name the columns: --columns sentence=NAME,item=NAME,condition=NAME."
        )
    if "where" in how and kind in {"blimp", "agreement"}:
        raise SuiteError(
            f"{path}: where= chooses rows of a table, but the file has {kind}, which is read whole.\n"
            "  Leave where= out, and choose with --case, or write the rows into a file of their own."
        )
    if "contradictions" in how and kind != "ratings":
        raise SuiteError(
            f"{path}: contradictions= is for sentences with ratings, but the file has {kind}.\n"
            "  Leave contradictions= out, or name the ratings: --columns rating=NAME."
        )
    if "better" in how and kind in {"pairs", "candidates", "ratings"}:
        raise SuiteError(
            f"{path}: the setting better={how['better']} of --columns names a condition. "
            f"But tseval reads this file as {kind}, which have no conditions.\n"
            "  Leave better= out, or name the columns: --columns sentence=NAME,item=NAME,condition=NAME."
        )


def _joined_without_space(cases: Sequence[Case]) -> str | None:
    """Quote a text whose parts were joined without a space; None where there is none."""
    for case in cases:
        for label in case.labels:
            column = case.sentences[label]
            found = column.filter(pc.match_substring(column, BOUNDARY))
            if len(found):
                return quoted_text(without_boundaries(str(found[0])), 60)
    return None


# What sentences may hold that nobody wrote as a word, and what tseval does with it.
_ODD = {
    SEVERAL_WORDS.pattern: "tseval scores the mark | unchanged",
    r"(^|\s)(#?N/?A|NaN|NULL)(\s|$)": "tseval scores the mark of a missing value (NA, NaN) as a word",
}


def _odd_words(cases: Sequence[Case]) -> Iterator[str]:
    """Say how many sentences hold several words in one place, or the mark of a missing value; quote one."""
    columns = [case.sentences[label] for case in cases for label in case.labels]
    for pattern, said in _ODD.items():
        found = [column.filter(pc.match_substring_regex(column, pattern)) for column in columns]
        if n_found := sum(map(len, found)):
            first = quoted_text(str(next(column[0] for column in found if len(column))), 60)
            yield f"{said}, in {counted(n_found, 'sentence')} such as {first}"


def _as_one(parts: Sequence[DataSet], path: Path, name: str) -> DataSet:
    if len(parts) == 1:
        return parts[0]
    cases = tuple(case for one in parts for case in one.cases)
    if len({one.score for one in parts}) > 1:
        scores = " and ".join(f"{one.cases[0].name} by {one.score!r}" for one in parts)
        raise SuiteError(
            f"{path}: the files of this folder need different ways of scoring: {scores}.\n"
            "  Give each file separately: --suite FILE1 --suite FILE2."
        )
    if twice := [case for case, times in Counter(case.name for case in cases).items() if times > 1]:
        raise SuiteError(
            f"{path}: two files of this folder have a case with the name {twice[0]!r}.\n"
            "  Rename one of the cases, or give each file separately: --suite FILE1 --suite FILE2."
        )
    notes = tuple(note for one in parts for note in one.notes)
    return DataSet(name, name, None, parts[0].score, cases, notes=notes)


def methods_of(path: Path) -> tuple[str, ...]:
    """Name the methods that a set was published with, where there are several (BLiMP)."""
    if not is_data(path):
        return ()
    first = next(iter(_files(path)[0])) if path.is_dir() else path
    return tuple(BLIMP_METHODS) if kind_of(first, {}) == "blimp" else ()


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of those below it, by name; hidden ones are left out."""
    seen: set[str] = set()
    for root, folders, files in os.walk(folder, followlinks=True):
        if (real := os.path.realpath(root)) in seen:  # a link to a folder above
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        yield from (Path(root, name) for name in sorted(files) if not name.startswith("."))


def _why_not(file: Path) -> str | None:
    """Say why a file is not looked into; None for one that may hold data."""
    name = bare_name(file)
    if name.endswith(".gold"):
        return "it belongs to a .text"
    if (about := _ABOUT.match(name)) and Path(name).suffix in {"", ".txt", ".json", ".md", ".rst"}:
        return f"a {about[0].lower()}"
    return None if name.endswith(DATA_ENDINGS) else "the ending is not one of a data file"


def _files(folder: Path) -> tuple[dict[Path, str], dict[str, str]]:
    """Return the files of data in a folder with what each is called, and why others are not read.

    Programs write what they were given in other formats: of files that differ in their endings, one is read.
    """
    said, by_name = {}, dict[Path, Path]()
    for file in _walk(folder):
        if why := _why_not(file):
            said[_name(file, folder)] = f"{NOT_READ}{why}"
            continue
        plain = file.with_name(_without_ending(file))
        other = by_name.setdefault(plain, file)
        if other is not file:
            better, worse = sorted((other, file), key=_rank)
            by_name[plain] = better
            said[_name(worse, folder)] = f"{NOT_READ}{better.name} has the same name"
    for text in by_name.values():  # each is read with its `.gold`
        if text.name.endswith(".text"):
            said.pop(_name(gold_of(text), folder), None)
    return _called(folder, list(by_name.values())), said


def _rank(file: Path) -> int:
    return next(rank for rank, ending in enumerate(DATA_ENDINGS) if bare_name(file).endswith(ending))


def _name(file: Path, path: Path) -> str:
    return file.relative_to(path).as_posix() if path.is_dir() else file.name


def _without_ending(file: Path) -> str:
    return bare_name(file).removesuffix(Path(bare_name(file)).suffix)


def _stem(file: Path) -> str:
    return _SHARD.sub("", stem_of(file))


def _called(folder: Path, files: Sequence[Path]) -> dict[Path, str]:
    """Tell files apart by names; by folders where all have the same name (`eng/data.tsv`); else by paths.

    The parts that a table was cut into, as on the Hugging Face hub, are one.
    """
    whole = {file: file.with_name(_SHARD.sub("", _without_ending(file))) for file in files}
    n_files = len({*whole.values()})
    for names in ({file: _stem(file) for file in files}, {file: file.parent.name for file in files}):
        if len({*names.values()}) == n_files:
            return names
    return {file: one.relative_to(folder).as_posix() for file, one in whole.items()}


def kind_of(file: Path, how: Mapping[str, str]) -> str | None:
    """Name what a file holds, one of the readers below; None where nothing in it says what could be asked."""
    ending, kind = Path(bare_name(file)).suffix, "table"
    if ending == ".json":
        kind = json_kind(file) or ""
    elif ending == ".text":
        kind = "gulordava" if has_patterns(file) else "linzen"
    elif ending == ".tab" and {"constr_id", "class", "form"} <= {*columns_of(file, how)[1]}:
        kind = "gulordava"
    elif ending == ".txt" and how.get("layout") not in ALTERNATING:
        _, line = next(read_lines(file, encoding_of(how)), ("", ""))
        kind = "clams" if re.match(r"(True|False)\t", line) else "table" if "\t" in line else ""
    if kind == "table":
        return _by_columns(file, how)
    if kind:
        refuse_columns(file, how)
    return kind or None


def _by_columns(file: Path, how: Mapping[str, str]) -> str | None:
    """Name the layout that the columns of a table imply; what was always read as something stays that."""
    columns = header_of(file, how)
    names = columns.names
    if {"sentence", "verb_index"} <= {*names} and bare_name(file).endswith((".tsv", ".parquet")):
        return "agreement"
    exact = "sentence" in names and {"rating", "ratings"} & {*names}
    if (exact or {"rating", "ratings"} & {*columns.given}) and rated_columns(columns):
        return "ratings"
    published = columns.known is not None and columns.known.title is not None
    if {"UID", "pairID"} <= {*names} and not (is_table(file) or columns.given or published):
        return "blimp"
    if {*CONTEXT_COLUMNS} <= {*names, *columns.given}:
        return "contexts"
    said = "layout" in how or "candidates" in columns.given
    if not said and not fills(columns) and find_roles(columns):
        return "pairs"
    layout = layout_of(columns)
    rated = layout == "sentences" and columns.of("label") is None and rated_columns(columns)
    return "ratings" if rated else layout


@dataclass(frozen=True, slots=True)
class TableText:
    """What a row of a table holds to be scored: a sentence, and the words of it that are asked about."""

    row: int  # its number
    what: str  # its item, condition and label, as far as it has them
    text: str  # the whole sentence
    before: int  # words before those that are asked about
    length: int  # how many these are


def table_texts(path: Path, columns: Mapping[str, str] | None = None) -> list[TableText]:
    """Return what every row of a table holds: a sentence or its critical words, both of a pair, or a word."""
    how = dict(columns or {})
    kind = kind_of(path, how)
    readers = {"pairs": pair_entries, "candidates": read_entries, "arrays": read_arrays}
    if kind == "clams":
        lines = ((place, *line.partition("\t")) for place, line in read_lines(path))
        return [_asked(place, label, text, ()) for place, label, _, text in lines]
    if kind == "gulordava":
        items = list(read_gulordava(path))
        lengths = [[("", len(text.split()) - 1), ("", 1)] for one in items for text in one.sentences.values()]
        asked = [(one.place, label, text) for one in items for label, text in one.sentences.items()]
        return [_asked(*one, own) for one, own in zip(asked, lengths, strict=True)]
    if kind in readers:
        entries = readers[kind](path, _stem(path), TableReading({path: _stem(path)}, _stem(path), None, how))
        return [
            _asked(item.place, label, text, item.regions.get(label, ()))
            for item in entries
            for label, text in item.sentences.items()
        ]
    texts = []
    for one in sentences_in(path, _stem(path), header_of(path, how), apart=True):
        what = " ".join(filter(None, (one.item, one.condition, one.label)))
        pieces = [(name, len(text.split())) for name, text in one.pieces]
        if kind == "words":
            texts += [_asked(place, what, one.text, pieces, at) for at, (place, _) in enumerate(pieces)]
            continue
        compared = [at for at, (name, _) in enumerate(pieces) if name in {"critical", "continuation"}]
        texts.append(_asked(one.place, what, one.text, pieces if compared else (), *compared[:1]))
    return texts


def holds_table(path: Path) -> bool:
    """Return whether a file is a table rather than text: by its name, or a `.txt` by its first line."""
    name = bare_name(path)
    if not name.endswith(".txt"):
        return name.endswith(TABLES)
    try:
        _, line = next(read_lines(path), ("", ""))
    except TsevalError:  # the reader of texts says why
        return False
    cells = line.split("\t")
    return len(cells) > 1 and (cells[0] in {"True", "False"} or any(map(is_known_name, cells)))


def reading_taken(path: Path, columns: Mapping[str, str] | None = None) -> str | None:
    """Say which of two readings of a table was taken, and how to choose the other; None if there is one."""
    how = dict(columns or {})
    header = header_of(path, how) if kind_of(path, how) == "sentences" else None
    return None if header is None else follows_note(header)


def _asked(place: str, what: str, text: str, regions: Sequence[tuple[str, int]], at: int = -1) -> TableText:
    """Say which words of a text are asked about: a region, by default the last, or all."""
    row, lengths = int(place.rpartition(":")[2]), [length for _, length in regions] or [len(text.split())]
    at %= len(lengths)
    return TableText(row, what, single_spaced(text), sum(lengths[:at]), lengths[at])


def _refuse_unknown(file: Path, how: Mapping[str, str]) -> None:
    if bare_name(file).endswith(".json") and json_kind(file) != "table":
        read_syntaxgym(file, TableReading({}, ""))
    if bare_name(file).endswith(".txt"):
        raise SuiteError(
            f"{file}: the first line has no tab, so tseval finds no columns in this .txt file.\n"
            "  If each bad sentence is followed by its good sentence, add --layout alternating.\n"
            "  Otherwise give a table: a .tsv, .csv or .jsonl file."
        )
    raise header_of(file, how).unknown()


def _known_pairs(reading: TableReading) -> DataSet:
    cases = read_table_of(pair_entries, reading)
    columns = header_of(next(iter(reading.files)), reading.how)
    known = None if columns.says_pair else columns.known
    data = _set(reading, cases)
    return replace(data, title=known.title or data.title, source=known.source) if known else data


def _set(reading: TableReading, cases: tuple[Case, ...]) -> DataSet:
    """Make a set of cases, which is called as its file is where nobody called it otherwise."""
    regions = any(isinstance(case.question, Regions) for case in cases)
    return DataSet(reading.name, reading.name, None, "regions" if regions else "sentence", cases)


def _blimp(reading: TableReading) -> DataSet:
    method = reading.method or "full"
    # A file of one paradigm is BLiMP too; the method is a part of the name, as it changes the items.
    title = "BLiMP" if method == "full" else f"BLiMP, {method.replace('_', '-')} method"
    name = reading.name if reading.method is None else f"{reading.name}_{method}"
    cases = reading.build(read_blimp(list(reading.files), method))
    return DataSet(name, title, BLIMP_SOURCE, BLIMP_METHODS[method], cases)


def _clams(reading: TableReading) -> DataSet:
    code = reading.name.removesuffix("_evalset")
    title = f"CLAMS, {LANGUAGES[code]}" if code in LANGUAGES else "CLAMS"
    cases = reading.build(read_clams(list(reading.files)))
    return DataSet(f"clams_{code}", title, CLAMS_SOURCE, "sentence", cases)


def _syntaxgym(reading: TableReading) -> DataSet:
    cases = tuple(case for file in reading.files for case in read_syntaxgym(file, reading))
    names = Counter(case.name for case in cases)
    if repeated := [name for name, times in names.items() if times > 1]:
        raise SuiteError(
            f"two SyntaxGym suites have the name {min(repeated)!r}.\n"
            "  Change meta.name in one of their files, or leave one of the files out."
        )
    return DataSet(reading.name, reading.name, SYNTAXGYM_SOURCE, "regions", cases)


def _published(
    read: Callable[[Path], Iterator[DataItem]], title: str, source: str
) -> Callable[[TableReading], DataSet]:
    """Return the reader of sets whose files are read item by item."""
    return lambda reading: DataSet(
        reading.name,
        title,
        source,
        "sentence",
        reading.build(item for file in reading.files for item in read(file)),
    )


_READERS: dict[str, Callable[[TableReading], DataSet]] = {
    "blimp": _blimp,
    "clams": _clams,
    "linzen": _published(read_linzen, "Agreement in Wikipedia", LINZEN),
    "gulordava": _published(read_gulordava, "Colourless green agreement", GULORDAVA),
    "agreement": lambda reading: replace(_set(reading, read_agreement(reading)), score="critical"),
    "syntaxgym": _syntaxgym,
    "contexts": lambda reading: _set(reading, read_contexts(reading)),
    "ratings": lambda reading: _set(reading, read_ratings(reading)),
    "pairs": _known_pairs,
    "arrays": lambda reading: _set(reading, read_table_of(read_arrays, reading)),
    **dict.fromkeys(
        ("candidates", "sentences", "words", "regions", "alternating"),
        lambda reading: _set(reading, read_table_of(read_entries, reading)),
    ),
}
