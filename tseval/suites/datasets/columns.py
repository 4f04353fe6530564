"""Which columns of a table hold what: names that are known, and names that a user gives (`--columns`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

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
    """Read `good=sen,bad=wrong_sen`.

    Raises:
        SuiteError: It is no such list.
    """
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
    """Refuse columns for what a pair does not have, and one column for both sentences.

    Raises:
        SuiteError: Names it.
    """
    for role in columns:
        if role not in ROLES:
            hint = suggest(role, ROLES, "What a column can be")
            raise SuiteError(f"--columns: there is no {role!r}.\n  {hint}")
    if columns.get("good") is not None and columns.get("good") == columns.get("bad"):
        raise SuiteError(f"--columns: {columns['good']!r} cannot be both good and bad.")


def refuse_columns(suite: str | Path, columns: Mapping[str, str] | None) -> None:
    """Refuse to say what the columns of a suite are that has none.

    Raises:
        SuiteError: Columns were named.
    """
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

    Raises:
        SuiteError: A column that was given is not there, or there is no pair of sentences.
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
