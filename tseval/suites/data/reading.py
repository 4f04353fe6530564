"""Read a data set: a file, or a folder of files."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from tseval.errors import SuiteError, counted, quoted_text
from tseval.files import beyond
from tseval.formats import bare_name, stem_of
from tseval.items import Suite, first_too_long
from tseval.questions.regions import Regions
from tseval.suites.data.agreement_examples import FEATURES
from tseval.suites.data.alternatives import SEVERAL_WORDS
from tseval.suites.data.entries import DataSet, TableReading
from tseval.suites.data.folders import NOT_READ, data_files, name_in, set_name_of
from tseval.suites.data.gulordava import HEADINGS
from tseval.suites.data.kinds import READERS, kind_of
from tseval.suites.data.records import columns_of, header_of, json_kind
from tseval.suites.data.roles import check_columns
from tseval.suites.data.syntaxgym import read_syntaxgym
from tseval.writing import BOUNDARY, without_boundaries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.items import Case


MOST_UNUSED = 12  # unused columns of a file that a note names


def read_data(path: Path, method: str | None = None, columns: Mapping[str, str] | None = None) -> DataSet:
    """Read a data set, a file or a folder of files; `columns` holds the user's roles and settings.

    If a set has several methods (`methods_of`) and `method` is None, the first one is used.
    """
    options = dict(columns or {})
    check_columns(options)
    files, file_notes = data_files(path) if path.is_dir() else ({path: set_name_of(path)}, {})
    kinds: dict[str, dict[Path, str]] = {}
    for file, stem in files.items():
        if kind := kind_of(file, options):
            kinds.setdefault(kind, {})[file] = stem
        else:
            file_notes[name_in(file, path)] = f"{NOT_READ}no column names sentences that can be compared"
    if not kinds:
        _refuse_unknown(next(iter(files)), options)
    name = next(iter(files.values())) if path.is_file() else stem_of(path.resolve())
    parts = []
    for kind, kind_files in kinds.items():
        reading = TableReading(kind_files, name, method, options)
        part = READERS[kind](reading)
        reading.unused |= _unused_columns(kind, kind_files, options)
        _refuse_useless(part, kind, options, path)
        file_notes |= {name_in(file, path): _read_as(kind, file, reading) for file in kind_files}
        parts.append(replace(part, notes=tuple(reading.notes)))
    data = replace(_as_one(parts, path, name), files=dict(sorted(file_notes.items())))
    if (example := _joined_without_space(data.cases)) is not None:
        note = f"parts are joined without a space, as in {example} (--columns join=space puts one)"
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
    """Return how a file was read, and which of its columns were not used."""
    names = reading.unused.get(str(file), [])
    named_columns = [
        *names[:MOST_UNUSED],
        *([f"{len(names) - MOST_UNUSED} more"] if names[MOST_UNUSED:] else []),
    ]
    unused = f"; not used: {', '.join(named_columns)}" if names else ""
    several = f"; alternatives={reading.options['alternatives']}" if "alternatives" in reading.options else ""
    return f"{kind}, {counted(reading.items[str(file)], 'item')}{several}{unused}"


# The columns that readers of special table formats use.
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


def _unused_columns(kind: str, files: Mapping[Path, str], options: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the columns of each table that its format does not use."""
    tables = [file for file in files if kind in _USED and not bare_name(file).endswith(".text")]
    return {
        str(file): [name for name in columns_of(file, options)[1] if name not in _USED[kind]]
        for file in tables
    }


def _refuse_useless(part: DataSet, kind: str, options: Mapping[str, str], path: Path) -> None:
    """Refuse settings that have no effect on files of a kind."""
    if "predict" in options and not all(isinstance(case.question, Regions) for case in part.cases):
        raise SuiteError(
            f"{path}: the setting predict= of --columns compares surprisals under conditions. "
            f"But tseval reads this file as {kind}, which have no conditions.\n"
            "  Leave predict= out, or name the columns: --columns sentence=NAME,item=NAME,condition=NAME."
        )
    if "alternatives" in options and kind != "pairs":
        raise SuiteError(
            f"{path}: alternatives= works only for files with a prefix and two continuations, but this file "
            f"has {kind}.\n"
            "  Leave alternatives= out, or name the columns: --columns prefix=NAME,good=NAME,bad=NAME."
        )
    if "fill" in options and kind != "sentences":
        raise SuiteError(
            f"{path}: fill= works only for files with one sentence in each row, but this file has {kind}.\n"
            "  Leave fill= out, or name the columns: --columns sentence=NAME,item=NAME,condition=NAME."
        )
    if "where" in options and kind in {"blimp", "agreement"}:
        raise SuiteError(
            f"{path}: where= chooses rows of a table, but the file has {kind}, which is read whole.\n"
            "  Leave where= out, and choose with --case, or write the rows into a file of their own."
        )
    if "contradictions" in options and kind != "ratings":
        raise SuiteError(
            f"{path}: contradictions= is for sentences with ratings, but the file has {kind}.\n"
            "  Leave contradictions= out, or name the ratings: --columns rating=NAME."
        )
    if "better" in options and kind in {"pairs", "candidates", "ratings"}:
        raise SuiteError(
            f"{path}: the setting better={options['better']} of --columns names a condition. "
            f"But tseval reads this file as {kind}, which have no conditions.\n"
            "  Leave better= out, or name the columns: --columns sentence=NAME,item=NAME,condition=NAME."
        )


def _joined_without_space(cases: Sequence[Case]) -> str | None:
    """Return a quoted text whose parts were joined without a space; None if there is none."""
    for case in cases:
        for label in case.labels:
            column = case.sentences[label]
            matches = column.filter(pc.match_substring(column, BOUNDARY))
            if len(matches):
                return quoted_text(without_boundaries(str(matches[0])), 60)
    return None


# Strings that are probably not words, and the note about each.
_ODD = {
    SEVERAL_WORDS.pattern: "tseval scores the mark | unchanged",
    r"(^|\s)(#?N/?A|NaN|NULL)(\s|$)": "tseval scores the mark of a missing value (NA, NaN) as a word",
}


def _odd_words(cases: Sequence[Case]) -> Iterator[str]:
    """Yield notes on sentences with several words in one place, or with the mark of a missing value."""
    columns = [case.sentences[label] for case in cases for label in case.labels]
    for pattern, explanation in _ODD.items():
        matches = [column.filter(pc.match_substring_regex(column, pattern)) for column in columns]
        if n_matches := sum(map(len, matches)):
            first = quoted_text(str(next(column[0] for column in matches if len(column))), 60)
            yield f"{explanation}, in {counted(n_matches, 'sentence')} such as {first}"


def _as_one(parts: Sequence[DataSet], path: Path, name: str) -> DataSet:
    if len(parts) == 1:
        return parts[0]
    cases = tuple(case for part in parts for case in part.cases)
    if len({part.score for part in parts}) > 1:
        scores = " and ".join(f"{part.cases[0].name} by {part.score!r}" for part in parts)
        raise SuiteError(
            f"{path}: the files of this folder need different ways of scoring: {scores}.\n"
            "  Give each file separately: --suite FILE1 --suite FILE2."
        )
    if repeated := [case for case, times in Counter(case.name for case in cases).items() if times > 1]:
        raise SuiteError(
            f"{path}: two files of this folder have a case with the name {repeated[0]!r}.\n"
            "  Rename one of the cases, or give each file separately: --suite FILE1 --suite FILE2."
        )
    notes = tuple(note for part in parts for note in part.notes)
    return DataSet(name, name, None, parts[0].score, cases, notes=notes)


def _refuse_unknown(file: Path, options: Mapping[str, str]) -> None:
    if bare_name(file).endswith(".json") and json_kind(file) != "table":
        read_syntaxgym(file, TableReading({}, ""))
    if bare_name(file).endswith(".txt"):
        raise SuiteError(
            f"{file}: the first line has no tab, so tseval finds no columns in this .txt file.\n"
            "  If each bad sentence is followed by its good sentence, add --layout alternating.\n"
            "  Otherwise give a table: a .tsv, .csv or .jsonl file."
        )
    raise header_of(file, options).unknown()


def what_was_read(suite: Suite) -> str:
    """Return one line on the files of a data set: what was read, what was not read and why, and all notes."""
    read: list[str] = []
    skipped: list[str] = []
    for name, content in (suite.files or {}).items():
        (skipped if content.startswith(NOT_READ) else read).append(
            f"{name} ({content.removeprefix(NOT_READ)})"
        )
    not_read = [f"not read: {_some(skipped)}"] if skipped else []
    sentences = [f"{suite.name}: read {_some(read)}", *not_read, *suite.notes]
    pairs = (case.sentences for case in suite.cases if {"good", "bad"} <= {*case.labels})
    if equal := sum(len(pc.indices_nonzero(pc.equal(pair["good"], pair["bad"]))) for pair in pairs):
        sentences.append(f"in {counted(equal, 'item')} the file has the same sentence twice")
    return "; ".join(sentences)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5:,} more" if len(names) > 6 else ""
    return ", ".join(names[:5] if more else names) + more
