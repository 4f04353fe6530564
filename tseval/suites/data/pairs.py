"""Any table of pairs by its columns; BLiMP and CLAMS as they were published.

BLiMP (Warstadt et al. 2020, TACL): 67 paradigms of 1,000 pairs, and three methods to compare them.

`full` compares whole sentences (the paper's simple LM method). `one_prefix` compares two endings of the same
prefix, `two_prefix` the same ending of two prefixes; not every paradigm allows them.

CLAMS (Mueller et al. 2020, ACL): agreement in English, French, German, Hebrew and Russian.

A folder for each language (`en_evalset`), a text file for each construction. Every line holds `True` or
`False`, a tab, and a sentence; a grammatical sentence is followed by its ungrammatical twins.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING, cast

from tseval.errors import SuiteError, suggest
from tseval.formats import bare_name, fits, is_count, read_jsonl, read_lines
from tseval.questions.pairs import ENDING
from tseval.suites.data.entries import AGREEMENT, DataItem
from tseval.tables import is_table, open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tseval.formats import Json
    from tseval.items import Feature
    from tseval.questions import Score
    from tseval.suites.data.entries import TableRow

    DataRecord = Mapping[str, Json] | Mapping[str, Feature]


PAIR_LABELS = ("good", "bad")
ROW_NAMES = ("case", "construction", "phenomenon", "dependency")
ROLES = (*PAIR_LABELS, *ROW_NAMES, "cluster", "lang")
_TABLES = ".jsonl, .tsv and .csv"
_USAGE = "--columns good=NAME,bad=NAME."


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """Names of columns that are understood by themselves, where a table has them all.

    Attributes:
        roles: Role to column.
        title: Of the published set that alone has them, or None.
        source: Its reference.
        besides: Columns that tell it from other sets.
    """

    roles: Mapping[str, str]
    title: str | None = None
    source: str | None = None
    besides: frozenset[str] = field(default_factory=frozenset)


# The first whose columns a table has is meant. In all of them good is what people accept.
_KNOWN = (
    KnownColumns(
        {"good": "sentence_good", "bad": "sentence_bad", "case": "UID", "phenomenon": "phenomenon"},
        "ZhoBLiMP",
        "Liu et al. 2025, Language Models with Linguistic Minimal Pairs in Chinese, arXiv 2411.06096",
        frozenset({"pairID"}),
    ),
    KnownColumns(
        {"good": "source_sentence", "bad": "target_sentence", "case": "PID", "phenomenon": "phenomenon",
         "dependency": "level"},
        "RuBLiMP",
        "Taktasheva et al. 2024, RuBLiMP: Russian Benchmark of Linguistic Minimal Pairs, EMNLP",
    ),
    KnownColumns(
        {"good": "good_sentence", "bad": "bad_sentence", "case": "paradigm", "phenomenon": "phenomenon"},
        "JBLiMP",
        "Someya & Oseki 2023, JBLiMP: Japanese Benchmark of Linguistic Minimal Pairs, Findings of EACL",
    ),
    KnownColumns(
        {"good": "good_sentence", "bad": "bad_sentence", "phenomenon": "phenomenon"},
        "TurBLiMP",
        "Başar et al. 2025, TurBLiMP: A Turkish Benchmark of Linguistic Minimal Pairs, arXiv 2506.13487",
        frozenset({"critical_region"}),
    ),
    KnownColumns(
        {"good": "sen", "bad": "wrong_sen"},
        "MultiBLiMP",
        "Jumelet, Weissweiler & Bisazza 2025, MultiBLiMP 1.0, arXiv 2504.02768",
    ),
    *(
        KnownColumns({"good": good, "bad": bad})
        for good, bad in (
            ("good", "bad"), ("sentence_good", "sentence_bad"), ("grammatical", "ungrammatical"),
            ("good_sentence", "bad_sentence"), ("source_sentence", "target_sentence"),
        )
    ),
)  # fmt: skip


def known_columns(names: Collection[str]) -> KnownColumns | None:
    """Give the known columns that a table has, or None."""
    return next((known for known in _KNOWN if {*known.roles.values(), *known.besides} <= {*names}), None)


def read_columns(text: str) -> dict[str, str]:
    """Read `good=sen,bad=wrong_sen`."""
    columns: dict[str, str] = {}
    for part in text.split(","):
        role, equals, name = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            raise SuiteError(f"--columns: {part.strip()!r} is not ROLE=NAME, as in good=sen,bad=wrong_sen.")
        if role in columns:
            raise SuiteError(f"--columns names {role} twice: {columns[role]!r} and {name!r}.")
        columns[role] = name
    check_columns(columns)
    return columns


def check_columns(columns: Mapping[str, str]) -> None:
    """Refuse columns for what a pair does not have, and one column for both sentences."""
    for role in columns:
        if role not in ROLES:
            hint = suggest(role, ROLES, "What a column can be")
            raise SuiteError(f"--columns: there is no {role!r}.\n  {hint}")
    if columns.get("good") is not None and columns.get("good") == columns.get("bad"):
        raise SuiteError(f"--columns: {columns['good']!r} cannot be both good and bad.")


def refuse_columns(suite: str | Path, columns: Mapping[str, str] | None) -> None:
    """Refuse to say what the columns of a suite are that has none."""
    if columns:
        raise SuiteError(f"{suite}: there are no columns to name.\n  --columns is for pairs in {_TABLES}.")


@dataclass(frozen=True, slots=True)
class Roles:
    """What the columns of a table are.

    Attributes:
        sentences: The columns of the good and the bad sentence.
        rows: Each of `ROW_NAMES` that there is to its column.
        features: Feature to column, in the order of the table.
    """

    sentences: tuple[str, str]
    rows: Mapping[str, str]
    features: Mapping[str, str]


def find_roles(names: Collection[str], given: Mapping[str, str], place: str) -> Roles:
    """Say what the columns of a table are: what is given comes first, then known names.

    A column that is called like a role, while another one is given for it, is left out.

    Args:
        names: Of the columns.
        given: Role to column, as the user says; empty where nothing is said.
        place: `file:line`, for messages.
    """
    for role, name in given.items():
        if name not in names:
            raise SuiteError(
                f"{place}: there is no column {name!r} (--columns {role}={name}).\n"
                f"  {suggest(name, names, 'Columns')}"
            )
    known = known_columns(names)
    found = {name: name for name in ROW_NAMES if name in names}
    found |= {**(known.roles if known else {}), **given}
    if not {*PAIR_LABELS} <= found.keys():
        one = next(
            (label for label in PAIR_LABELS if label not in found and {*PAIR_LABELS} & found.keys()), None
        )
        lacking = f"{one} sentence" if one else "pair of sentences"
        rated = "" if one else " Of rated sentences, call them sentence and rating."
        raise SuiteError(
            f"{place}: no {lacking}: there are {', '.join(map(repr, names)) or 'no columns'}.\n"
            f"  Call the columns good and bad, or say which they are: {_USAGE}{rated}"
        )
    sentences = found["good"], found["bad"]
    if sentences[0] == sentences[1]:
        raise SuiteError(f"{place}: {sentences[0]!r} cannot be good and bad.\n  Say which they are: {_USAGE}")
    rows = {name: found[name] for name in ROW_NAMES if name in found}
    lang = given.get("lang")
    apart = {*sentences, *rows.values(), *ROW_NAMES} - {given.get("cluster")}
    if lang is not None:
        apart |= {"lang"} - {lang}
    features = {"lang" if name == lang else name: name for name in names if name not in apart}
    return Roles(sentences, rows, features)


def read_pairs(path: Path, stem: str, columns: Mapping[str, str]) -> Iterator[DataItem]:
    """Read a file of pairs.

    Columns `case`, `construction`, `phenomenon` and `dependency`, where there are any, say which row of the
    table a pair belongs to; the file's name stands in for them. A case of several phenomena, and no
    constructions, is cut into one for each. All other columns are features.

    Args:
        path: The file.
        stem: What it is called among the files of its set.
        columns: Role to column, as the user says (`columns.ROLES`); names that are known need not be given.
    """
    read = _of_table if is_table(path) else _of_lines
    records = list(read(path, columns))
    rows = [table_row(record, stem, roles.rows) for _, record, roles in records]
    phenomena: dict[str, set[str]] = {}
    for (_, record, roles), (case, *_) in zip(records, rows, strict=True):
        named = _text(record, roles.rows, "phenomenon")
        phenomena.setdefault(case, set()).update([named] if named else [])
    for (place, record, roles), row in zip(records, rows, strict=True):
        split = len(phenomena[row[0]]) > 1 and row[0] == row[1]
        yield _entry(place, record, roles, (f"{row[0]}_{row[2]}", *row[1:]) if split else row)


def _of_lines(path: Path, columns: Mapping[str, str]) -> Iterator[tuple[str, DataRecord, Roles]]:
    """Read JSON lines; each may have other names than the one before, as far as its case allows it."""
    found: dict[tuple[str, ...], Roles] = {}
    for place, record in read_jsonl(path):
        names = tuple(record)
        if names not in found:
            found[names] = find_roles(names, columns, place)
        yield place, record, found[names]


def _of_table(path: Path, columns: Mapping[str, str]) -> Iterator[tuple[str, DataRecord, Roles]]:
    """Read a table, whose sentences and names of rows stay texts."""
    where, names, rows = open_table(path)
    roles = find_roles(names, columns, where)
    for place, record in _typed(names, rows, {*roles.sentences, *roles.rows.values()}):
        yield place, record, roles


def read_records(path: Path, texts: Collection[str] = ()) -> Iterator[tuple[str, DataRecord]]:
    """Give every record of JSON lines, or row of a table with its columns typed, with its place.

    Args:
        path: The file.
        texts: Columns of a table whose cells stay texts.
    """
    if not is_table(path):
        yield from read_jsonl(path)
        return
    _, names, rows = open_table(path)
    yield from _typed(names, rows, texts)


def _typed(
    names: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], texts: Collection[str]
) -> Iterator[tuple[str, DataRecord]]:
    """Give rows as records; columns become numbers or truth values if all their cells are."""
    # Most columns hold few different cells: equal ones are kept once.
    kept: dict[str, str] = {}
    places, cells = [], []
    for place, row in rows:
        places.append(place)
        cells.append([kept.setdefault(cell, cell) for cell in row])
    values: list[Sequence[Feature]] = [
        column if name in texts else as_typed(column)
        for name, column in zip(names, zip(*cells, strict=True), strict=False)  # there may be no row
    ]
    for place, row_values in zip(places, zip(*values, strict=True), strict=True):
        yield place, dict(zip(names, row_values, strict=True))


def _entry(place: str, record: DataRecord, roles: Roles, row: TableRow) -> DataItem:
    sentences = {label: record[name] for label, name in zip(PAIR_LABELS, roles.sentences, strict=True)}
    for label, text in sentences.items():
        if not isinstance(text, str):
            raise SuiteError(f"{place}: the {label} sentence is no text, but {text!r}")
    features = features_of(place, record, roles.features)
    return DataItem(place, row, sentences, features)  # type: ignore[arg-type] # checked above


def features_of(place: str, record: DataRecord, columns: Mapping[str, str]) -> dict[str, Feature]:
    """Give the features of a record.

    Args:
        place: `file:line`, for messages.
        record: It.
        columns: Feature to column.
    """
    features: dict[str, Feature] = {}
    for feature, name in columns.items():
        value = record[name]
        if not isinstance(value, str | int | float | None):
            raise SuiteError(
                f"{place}: {name} is {value!r}.\n"
                "  A feature is a text, a number, true or false; leave others out."
            )
        features[feature] = value  # type: ignore[assignment] # some sets say null
    return features


def table_row(record: DataRecord, stem: str, columns: Mapping[str, str]) -> TableRow:
    """Say where a record stands in the table; what is not said is taken from the next wider name.

    Args:
        record: It.
        stem: Of its file.
        columns: Each of `ROW_NAMES` that there is to its column.
    """
    case, construction, phenomenon, dependency = (_text(record, columns, name) for name in ROW_NAMES)
    case = case or stem
    return case, construction or case, phenomenon or stem, dependency


def _text(record: DataRecord, columns: Mapping[str, str], name: str) -> str | None:
    """Give one of the names of the row that a record stands in, or None where there is none."""
    value = record[columns[name]] if name in columns else None
    return None if value is None else str(value).strip() or None


def as_typed(texts: Sequence[str]) -> Sequence[Feature]:
    """Give a column the narrowest type that holds it: truth values, whole numbers, numbers, texts."""
    truth = {"true": True, "false": False}
    if all(text.lower() in truth for text in texts):
        return [truth[text.lower()] for text in texts]
    for kind in (int, float):
        try:
            return [_number(kind, text) for text in texts]
        except ValueError:
            continue
    return texts


def _number(kind: Callable[[str], int | float], text: str) -> int | float:
    # `1_000` and `infinity` are numbers to Python alone.
    if not text.strip().lstrip("+-").replace(".", "", 1).isdecimal():
        raise ValueError(text)
    value = kind(text)
    if not (isfinite(value) if isinstance(value, float) else fits(value)):
        raise ValueError(text)
    return value


BLIMP_SOURCE = "Warstadt et al. 2020, BLiMP: The Benchmark of Linguistic Minimal Pairs for English, TACL 8"
# What each method compares: the sums of two sentences that share a prefix differ as their endings do.
BLIMP_METHODS: dict[str, Score] = {"full": "sentence", "one_prefix": "sentence", "two_prefix": "ending"}

# As the paper prints them (Table 2). Two paradigms carry `s-selection` in the data and stand under argument
# structure in the paper and in the published results.
PHENOMENA = {
    "anaphor_agreement": "Anaphor agreement",
    "argument_structure": "Argument structure",
    "s-selection": "Argument structure",
    "binding": "Binding",
    "control_raising": "Control/raising",
    "determiner_noun_agreement": "Determiner-noun agreement",
    "ellipsis": "Ellipsis",
    "filler_gap_dependency": "Filler-gap dependency",
    "irregular_forms": "Irregular forms",
    "island_effects": "Island effects",
    "npi_licensing": "NPI licensing",
    "quantifiers": "Quantifiers",
    "subject_verb_agreement": "Subject-verb agreement",
}
# One paradigm spells its field with a slash.
FIELDS = {
    "morphology": "Morphology",
    "syntax": "Syntax",
    "semantics": "Semantics",
    "syntax_semantics": "Syntax & semantics",
    "syntax/semantics": "Syntax & semantics",
}
BLIMP_FIELDS = ("UID", "pairID", "field", "linguistics_term", "sentence_good", "sentence_bad")


def read_blimp(paths: Sequence[Path], method: str) -> Iterator[DataItem]:
    """Read paradigms, from one file or several.

    Items are in the order of paradigm names and pair numbers, however the files are cut.
    """
    records = [found for path in paths for found in read_jsonl(path)]
    for place, record in records:
        if missing := [name for name in BLIMP_FIELDS if name not in record]:
            raise SuiteError(f"{place}: no BLiMP record: there is no {missing[0]!r}")
        if not is_count(str(record["pairID"])):
            raise SuiteError(f"{place}: pairID is no number, but {record['pairID']!r}")
    records.sort(key=lambda found: (str(found[1]["UID"]), int(cast("str", found[1]["pairID"]))))
    chosen = [found for found in records if method == "full" or found[1].get(f"{method}_method")]
    if not chosen:
        raise SuiteError(
            f"{paths[0]}: no paradigm allows the method {method}.\n  Methods: {', '.join(BLIMP_METHODS)}."
        )
    return (_blimp_entry(place, record, method) for place, record in chosen)


def _blimp_entry(place: str, record: dict[str, Json], method: str) -> DataItem:
    texts = {name: value for name, value in record.items() if isinstance(value, str)}
    try:
        good, bad = _sentences(texts, method)
        row = texts["UID"], texts["UID"], PHENOMENA[texts["linguistics_term"]], FIELDS[texts["field"]]
    except KeyError as error:
        raise SuiteError(f"{place}: {error} is missing, or none of BLiMP's") from None
    features: dict[str, Feature] = {"pair": int(cast("str", record["pairID"]))}
    if BLIMP_METHODS[method] == "ending":
        features[ENDING] = len(texts["two_prefix_word"].split())
    return DataItem(place, row, {"good": good, "bad": bad}, features)


def _sentences(texts: dict[str, str], method: str) -> tuple[str, str]:
    """Give what is compared."""
    if method == "one_prefix":
        prefix = texts["one_prefix_prefix"]
        return f"{prefix} {texts['one_prefix_word_good']}", f"{prefix} {texts['one_prefix_word_bad']}"
    if method == "two_prefix":
        word = texts["two_prefix_word"]
        return f"{texts['two_prefix_prefix_good']} {word}", f"{texts['two_prefix_prefix_bad']} {word}"
    return texts["sentence_good"], texts["sentence_bad"]


CLAMS_SOURCE = "Mueller et al. 2020, Cross-Linguistic Syntactic Evaluation of Word Prediction Models, ACL"
REFLEXIVES = "Reflexive anaphora"
NPI = "Negative polarity items"
ANIMACY = {"anim": "animate", "inanim": "inanimate"}
# File name without its animacy: phenomenon and dependency, as in the table of Marvin & Linzen.
CONSTRUCTIONS = {
    "simple_agrmt": ("Simple", AGREEMENT, "short"),
    "sent_comp": ("Sentential complement", AGREEMENT, "short"),
    "vp_coord": ("Short VP coordination", AGREEMENT, "short"),
    "obj_rel_within": ("In an object RC", AGREEMENT, "short"),
    "obj_rel_no_comp_within": ("In an object RC (no that)", AGREEMENT, "short"),
    "long_vp_coord": ("Long VP coordination", AGREEMENT, "long"),
    "prep": ("Across a PP", AGREEMENT, "long"),
    "subj_rel": ("Across a subject RC", AGREEMENT, "long"),
    "obj_rel_across": ("Across an object RC", AGREEMENT, "long"),
    "obj_rel_no_comp_across": ("Across an object RC (no that)", AGREEMENT, "long"),
    "simple_reflexives": ("Simple", REFLEXIVES, "short"),
    "reflexive_sent_comp": ("Sentential complement", REFLEXIVES, "short"),
    "reflexives_across": ("Across a RC", REFLEXIVES, "long"),
    "simple_npi": ("Simple", NPI, "short"),
    "npi_across": ("Across a RC", NPI, "long"),
}
LANGUAGES = {"en": "English", "fr": "French", "de": "German", "he": "Hebrew", "ru": "Russian"}


def read_clams(files: Sequence[Path]) -> Iterator[DataItem]:
    """Read the constructions of one language."""
    for file in files:
        case = bare_name(file).removesuffix(".txt")
        stem, _, animacy = case.rpartition("_")
        known, features = CONSTRUCTIONS.get(case), {}
        if known is None and animacy in ANIMACY:
            known, features = CONSTRUCTIONS.get(stem), {"animacy": ANIMACY[animacy]}
        if known is None:
            raise SuiteError(
                f"{file}: no construction of CLAMS is called {case!r}, and .txt is what CLAMS comes as.\n"
                "  A table of pairs is read as .tsv, .csv or .jsonl: give the file that ending."
            )
        construction, phenomenon, dependency = known
        pairs = list(_pairs(file, (case, construction, phenomenon, dependency), features))
        # Items may share a sentence with several twins; which words they share the files do not say.
        shares = len({pair.entries["sentence"] for pair in pairs}) < len(pairs)
        yield from pairs if shares else (replace(pair, entries={}) for pair in pairs)


def _pairs(file: Path, row: TableRow, features: Mapping[str, str]) -> Iterator[DataItem]:
    """Pair every ungrammatical sentence with the grammatical one before it."""
    good, good_place = None, ""
    for place, line in read_lines(file):
        label, tab, sentence = line.partition("\t")
        if label not in {"True", "False"} or not tab:
            raise SuiteError(f"{place}: neither True nor False, a tab and a sentence: {line[:60]!r}")
        if label == "True":
            good, good_place = sentence, f"{file.name}:{place.rpartition(':')[2]}"
        elif good is None:
            raise SuiteError(f"{place}: an ungrammatical sentence before any grammatical one")
        else:
            forms = {"grammatical": good, "ungrammatical": sentence}
            yield DataItem(place, row, forms, features, {"sentence": good_place})
