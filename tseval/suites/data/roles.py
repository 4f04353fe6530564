"""Step one of reading a table: its columns get roles, by known names or as the user says.

The user's description of a table maps roles to columns (`good=Satz`), and a few settings to values:

    layout    how rows become items, if the columns do not show it (`tseval.suites.data.layouts`)
    predict   what should hold of the conditions of an item: a formula over surprisals of regions
    better    the label or condition that is better
    where     the rows to read: `where=COLUMN:VALUE`, or several values, `VALUE|VALUE`
    join      the separator between the parts of a text: `auto`, `space` or `none`
    encoding  the encoding of the file, if it is not UTF-8
    sheet     the sheet of an Excel file

    alternatives  the meaning of `hit|hurt|seen` in a cell of continuations: `any` compares the most probable
                  one, `sum` adds their probabilities
    contradictions  what happens to a sentence with two ratings: `drop` leaves out all its rows
    fill      the word for the mask of a sentence, by a column: `fill=gender:m>he,f>she`

`condition=NAME:suffix` reads items such as `61-a` and `61-b`: the condition follows the last mark.
A role may have several columns: `item=topic+number` joins their values, `rating=first-second` is the
difference, and `sentence=sent+target` joins texts. Candidates may be the same for all rows:
`candidates=he|she`. A role that the user names never removes a role that is known by its name; `ignore`
removes columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from tseval.errors import LONGEST_MESSAGE, SuiteError, suggest
from tseval.suites.data.joining import join_parts
from tseval.suites.endings import TABLES
from tseval.writing import BOUNDARY, single_spaced

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from tseval.formats import Json
    from tseval.items import Feature

    DataRecord = Mapping[str, Json] | Mapping[str, Feature]


PAIR_LABELS = ("good", "bad")
ROW_NAMES = ("case", "construction", "phenomenon", "dependency")
ROLES = (
    *PAIR_LABELS, "sentence", "prefix", "context", "target", "candidates", "item", "condition", "label",
    "rating", "rating_se", "n", "rater", "ratings", "answer", "region", "word", "order", "critical",
    "Context1", "Context2", "Target1", "Target2", *ROW_NAMES, "cluster", "lang", "ignore",
)  # fmt: skip
ALIASES = {"grammatical": "good", "ungrammatical": "bad", "group": "phenomenon"}
SETTINGS = (
    "layout", "predict", "better", "fill", "alternatives", "contradictions", "where", "join", "encoding",
    "sheet",
)  # fmt: skip
USAGE = "--columns good=NAME,bad=NAME."
_SENTENCES = "One sentence per row: --columns sentence=NAME,item=NAME,label=NAME. No header: write numbers."
_TABLES = f"{', '.join(TABLES[:-2])} and {TABLES[-2]}"  # without .tab, which few know


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """Column names that tseval understands without help, if a table has them all."""

    roles: Mapping[str, str]  # role to column
    title: str | None = None  # the published set, if only it has these columns
    source: str | None = None  # its reference
    besides: frozenset[str] = frozenset()  # further columns that distinguish the set from others


# The first entry whose columns a table has is used. `good` is always the sentence that people accept.
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
# Words that distinguish the column of the better sentence from that of the worse sentence.
OPPOSITES = (
    ("good", "bad"), ("grammatical", "ungrammatical"), ("acceptable", "unacceptable"), ("gram", "ungram"),
    ("correct", "incorrect"), ("correct", "wrong"), ("right", "wrong"), ("valid", "invalid"),
    ("legal", "illegal"), ("plausible", "implausible"), ("felicitous", "infelicitous"),
    ("licensed", "unlicensed"), ("expected", "unexpected"), ("congruent", "incongruent"),
    ("consistent", "inconsistent"), ("match", "mismatch"), ("matched", "mismatched"),
    ("better", "worse"), ("gramm", "ungramm"),
    ("agree", "unagree"), ("agree", "disagree"), ("agreement", "disagreement"), ("wellformed", "illformed"),
)  # fmt: skip
_WHOLE = frozenset({"", "sentence", "sentences", "sent", "sen", "text", "stimulus", "example", "utterance"})
_PART = frozenset(
    {"", "word", "verb", "form", "token", "target", "continuation", "completion", "ending", "option"}
    | {"candidate"}
)
# Names of the columns of each role: words in lower case, joined by _. Names after | are used only if there is
# no column with a name before it.
_SPELT = {
    "sentence": "sentence sentences sent text stimulus stimuli sentence_text stimulus_text utterance "
    "text_masked masked_text masked_sentence sentence_masked masked cloze",
    "prefix": "prefix prompt preamble",
    "context": "context | context_had",
    "target": "target continuation completion ending",
    "candidates": "candidates options choices completions continuations alternatives",
    "item": "item item_id item_no item_num item_nr item_number itemid itemnum itemno itemnumber pair pair_id "
    "pairid pair_no pair_number minimal_pair minimal_pair_id mp_id set_id | sentence_frame frame",
    "condition": "condition cond condition_name condition_id | plausibility",
    "label": "label grammaticality grammatical is_grammatical gram acceptability acceptable is_acceptable "
    "judgment judgement well_formed | correctness correct is_correct",
    "rating": "rating mean_rating rating_mean avg_rating average_rating acceptability_rating "
    "mean_acceptability",
    "region": "region region_name roi | region_number",
    "word": "word token content region_content region_text",
    "order": "word_index word_number word_no word_num word_id word_position word_pos token_index "
    "token_number | position | region_number region_index",
    "case": "case paradigm uid",
    "phenomenon": "phenomenon group linguistic_phenomenon",
    "answer": "answer correct_answer gold gold_answer answer_index correct_index correct label",
    "number": "sentid sent_index sentence_index sent_id sentence_id sent_no sentence_no sent_num "
    "sentence_num sentence_number | sentence sent",
    "critical": "critical critical_word critical_position critical_index critical_region disamb "
    "disambiguation disamb_position disamb_index disambiguating_word disamb_position_0idx "
    "disamb_position_amb region",
}
# Roles of columns that describe rows; they are never regions of a sentence.
_ABOUT_ROWS = ("item", "condition", "label", "rating", "case", "phenomenon", "number")
LONGEST_LAYOUT = 240  # characters of a layout that a message suggests
SOME_NAMES = 3  # columns that a message names if it suggests a long layout


def read_columns(text: str) -> dict[str, str]:
    """Read the roles and settings of `--columns`: `good=sen,bad=wrong_sen`."""
    columns: dict[str, str] = {}
    for part in text.split(","):
        role, equals, name = (piece.strip() for piece in part.partition("="))
        if not equals and ">" in role and "fill" in columns:  # another value of fill=COLUMN:VALUE>WORD,...
            columns["fill"] += f",{role}"
            continue
        if not equals or not name:
            raise SuiteError(
                f"--columns: {part.strip()!r} does not have the form ROLE=NAME.\n"
                "  Write the role and the name of its column, as in --columns good=sen,bad=wrong_sen."
            )
        if role in columns:
            raise SuiteError(
                f"--columns gives the role {role!r} to two columns: {columns[role]!r} and {name!r}.\n"
                f"  To join both columns, write {role}={columns[role]}+{name}. To use one, leave the other "
                "out."
            )
        columns[role] = name
    check_columns(columns)
    return columns


def check_columns(columns: Mapping[str, str]) -> None:
    """Refuse unknown roles, and one column for both sentences."""
    role_names = (*ROLES, *ALIASES, *SETTINGS)
    for role in columns:
        if role not in role_names:
            raise SuiteError(
                f"--columns: {role!r} is neither a role nor a setting.\n"
                f"  {suggest(role, role_names, 'Roles and settings')}"
            )
    column_by_role = roles_given(columns)
    if column_by_role.get("good") is not None and column_by_role.get("good") == column_by_role.get("bad"):
        raise SuiteError(
            f"--columns: the column {column_by_role['good']!r} cannot have both the good and the bad "
            "sentences.\n"
            f"  Name two different columns: {USAGE}"
        )


def refuse_columns(suite: object, columns: Mapping[str, str] | None) -> None:
    """Refuse `--columns` for a suite that is not a table."""
    if columns:
        raise SuiteError(
            f"{suite}: --columns names columns, but this suite is not a table and has no columns.\n"
            f"  Leave --columns out: it works for tables in {_TABLES}."
        )


def roles_given(options: Mapping[str, str]) -> dict[str, str]:
    """Return the roles that the user states, with their columns."""
    return {ALIASES.get(role, role): name for role, name in options.items() if role not in SETTINGS}


def columns_given(options: Mapping[str, str]) -> set[str]:
    """Return all columns that the user names; joined columns are split."""
    return {part for name in roles_given(options).values() for part in name.split("+")}


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of a table and their roles."""

    place: str  # place of the header, for messages
    names: Sequence[str]
    options: Mapping[str, str]  # the user's roles and settings
    first: DataRecord  # the first record; empty if there is none
    given: Mapping[str, str]  # role to column, as stated by the user
    known: KnownColumns | None  # the known set of column names, if the table has one
    no_roles: frozenset[tuple[str, str]] = frozenset()  # (role, column) pairs with misleading names
    unused: list[str] = field(default_factory=list)  # columns without a role, once features are chosen

    def of(self, role: str) -> str | None:
        """Return the column of a role, from the user or by its name; refuse several candidates."""
        if role in self.given:
            return self.given[role]
        taken = {part for name in self.given.values() for part in parts_of(name, self.names)}
        free = [name for name in self.names if name not in taken and (role, name) not in self.no_roles]
        ranks = ([name for name in free if _words(name) in rank] for rank in _spelt(role))
        matches = next(filter(None, ranks), [])
        if exact := [name for name in matches if name == role]:
            return exact[0]
        if len(matches) > 1:
            lines = " or ".join(f"--columns {role}={name}" for name in matches)
            raise SuiteError(
                f"{self.place}: tseval does not know which column has the role {role!r}: "
                f"{' or '.join(map(repr, matches))}.\n  Add {lines}."
            )
        return matches[0] if matches else None

    def pair(self) -> tuple[str, str] | None:
        """Return the columns of the better and the worse sentence, or of the parts in which they differ."""
        columns = {**(self.known.roles if self.known else {}), **self.given}
        if {*PAIR_LABELS} & columns.keys():
            return (columns["good"], columns["bad"]) if {*PAIR_LABELS} <= columns.keys() else None
        pairs = _opposite(self.names)
        if len(pairs) > 1:
            lines = " or ".join(f"--columns good={good},bad={bad}" for good, bad in pairs)
            raise SuiteError(
                f"{self.place}: several pairs of columns could have the good and the bad sentences.\n"
                f"  Choose a pair: add {lines}."
            )
        return pairs[0] if pairs else None

    @property
    def says_pair(self) -> bool:
        """Whether the user names both columns of a pair."""
        return {*PAIR_LABELS} <= {*self.given}

    def unknown(self) -> SuiteError:
        """Return the error for a table that no reader fits, with advice on what to type."""
        lacking_label = next((label for label in PAIR_LABELS if label not in self.given), None)
        lacking_label = lacking_label if {*PAIR_LABELS} & {*self.given} else None
        lacking = f"{lacking_label} sentence" if lacking_label else "pair of sentences"
        names = f"The columns are {', '.join(map(repr, self.names)) or 'none'}."
        pairs = f"\n  Rename the columns good and bad, or name them: {USAGE}"
        if lacking_label:
            return SuiteError(f"{self.place}: no {lacking} found in this table. {names}{pairs}")
        rated = f" For rated sentences, name two columns sentence and rating.\n  {_SENTENCES}"
        layout = self._layout()
        # Long messages are cut in the middle. The line to type must stay whole.
        message = f"{self.place}: no {lacking} found in this table. {names}{pairs}{rated}{layout}"
        if len(message) > LONGEST_MESSAGE and layout:
            some = ", ".join(map(repr, self.names[:SOME_NAMES]))
            message = (
                f"{self.place}: no {lacking} found in {len(self.names)} columns: {some}, ...{pairs}{layout}"
            )
        return SuiteError(message)

    def _layout(self) -> str:
        """Return advice with a layout that makes each text column a region; empty for up to two columns."""
        regions = [name for name in self.names if not self.is_about_rows(name)]
        if len(regions) <= 2:
            return ""
        *others, last = (name if name.isidentifier() else f'"{name}"' for name in regions)
        offered = f"--layout '{' '.join(others)} *{last}'"
        if len(offered) > LONGEST_LAYOUT:
            offered = (
                "--layout with the names of all regions, in their order, and * before the one to compare"
            )
        return f"\n  One region per column: {offered}, with {{A|B}} for conditions."

    def is_about_rows(self, name: str) -> bool:
        """Check whether a column describes the row (its item, condition or case) instead of holding text."""
        given_columns = (self.given.get(role, "") for role in (*_ABOUT_ROWS, "ignore", "cluster"))
        if any(name in parts_of(columns, self.names) for columns in given_columns):
            return True
        return any(_words(name) in rank for role in _ABOUT_ROWS for rank in _spelt(role))

    def rows(self, spelt: bool = False) -> dict[str, str]:
        """Map the names of `ROW_NAMES` that the table has to their columns.

        With `spelt`, other names are recognised too. Pairs do not use it: their columns were always features.
        """
        columns = {
            name: name for name in ROW_NAMES if name in self.names and (name, name) not in self.no_roles
        }
        if spelt:
            columns |= {name: column for name in ROW_NAMES if (column := self.of(name)) is not None}
        columns |= {**(self.known.roles if self.known else {}), **self.given}
        return {name: columns[name] for name in ROW_NAMES if name in columns}

    def of_items(self) -> set[str]:
        """Return the columns whose cells stay texts if rows are parts of items."""
        roles = [role for role in _SPELT if role not in {"rating", "answer", "candidates"}]
        spellings = set[str]().union(*(rank for role in roles for rank in _spelt(role)))
        known_columns = (name for name in self.names if _words(name) in spellings)
        given_columns = (part for name in self.given.values() for part in parts_of(name, self.names))
        return {*known_columns, *ROW_NAMES, *given_columns}

    def features(self, used: Iterable[str], spelt: bool = False) -> dict[str, str]:
        """Map features to columns: all columns without a role, in the order of the table.

        `used` names further columns with roles; `spelt` is as in `rows`. If the user gives another column
        for a row name, the column with that name is left out.
        """
        lang, cluster = self.given.get("lang"), self.given.get("cluster")
        rows = self.rows(spelt)
        excluded = {*rows.values(), *ROW_NAMES} - {cluster}
        excluded |= {part for name in used for part in parts_of(name, self.names)}
        ignored = {*parts_of(self.given.get("ignore", ""), self.names)}
        excluded |= ignored
        if lang is not None:
            excluded |= {"lang"} - {lang}
        self.unused[:] = [name for name in self.names if name not in excluded or name in ignored]
        return {"lang" if name == lang else name: name for name in self.names if name not in excluded}

    def without(self, role: str, column: str) -> Header:
        """Return the same columns, but without the role that one column's name implies."""
        return replace(self, no_roles=self.no_roles | {(role, column)}, unused=[])


def find_columns(place: str, names: Sequence[str], options: Mapping[str, str], first: DataRecord) -> Header:
    """Return the columns of a table with their roles, from the user's options and known names."""
    column_by_role = roles_given(options)
    column, _ = chosen_rows(options)
    if column is not None and column not in names:
        raise SuiteError(
            f"{place}: --columns where={options['where']} names the column {column!r}, but the table has no "
            f"such column.\n  {suggest(column, names, 'Columns')}"
        )
    if "fill" in options:
        fillers(options["fill"], place, names)
    for role, name in column_by_role.items():
        name = name.removesuffix(SUFFIX) if role == "condition" else name  # noqa: PLW2901 - the column of both
        if role == "candidates" and name not in names and len(name.split("|")) > 1:
            continue  # the candidates themselves
        for part in parts_of(name, names):
            if part not in names:
                typed = next((typed for typed in options if options[typed] == name), role)
                raise SuiteError(
                    f"{place}: --columns {typed}={name} names the column {part!r}, but the table has no such "
                    f"column.\n  {suggest(part, names, 'Columns')}"
                )
    layout = next(
        (layout for layout in _KNOWN if {*layout.roles.values(), *layout.besides} <= {*names}), None
    )
    return Header(place, names, options, first, column_by_role, layout)


SUFFIX = ":suffix"  # after a column of items whose last part is the condition


def item_and_condition(place: str, text: str) -> tuple[str, str]:
    """Split `61-b` into the item 61 and the condition b."""
    match = re.fullmatch(r"(.*[^-_./ ])[-_./ ]+([^-_./ ]+)", text)
    if match is None:
        raise SuiteError(
            f"{place}: tseval cannot split {text!r} into an item and a condition.\n"
            "  Write ITEM-CONDITION, such as 61-b, or name the column of conditions: "
            "--columns condition=NAME."
        )
    return match[1], match[2]


def chosen_rows(options: Mapping[str, str]) -> tuple[str | None, frozenset[str]]:
    """Read `where=COLUMN:VALUE|VALUE`; the column is None if all rows are read."""
    if "where" not in options:
        return None, frozenset()
    column, _, values = options["where"].partition(":")
    chosen = frozenset(value.strip() for value in values.split("|") if value.strip())
    if not column.strip() or not chosen:
        raise SuiteError(
            f"--columns: the setting where={options['where']} does not have the form COLUMN:VALUE.\n"
            "  Write where=COLUMN:VALUE, or where=COLUMN:VALUE|VALUE for several values."
        )
    return column.strip(), chosen


def fillers(text: str, place: str, names: Collection[str]) -> tuple[str, dict[str, str]]:
    """Read `gender:m>he,f>she`: the column, and the word for each of its values."""
    column, colon, rest = text.partition(":")
    words = dict(part.split(">", 1) for part in rest.split(",") if ">" in part)
    column = column.strip()
    if not colon or not words or column not in names:
        raise SuiteError(
            f"{place}: the setting fill={text} of --columns must name a column of the table, and a word for "
            "each value of this column.\n"
            f"  Write fill=COLUMN:VALUE>WORD,VALUE>WORD. {suggest(column, names, 'Columns')}"
        )
    return column, {value.strip(): word.strip() for value, word in words.items()}


def parts_of(name: str, names: Collection[str]) -> list[str]:
    """Return the columns of one role: one column, or several that are joined or subtracted."""
    if name in names or not name:
        return [name] if name else []
    return name.split("+") if "+" in name or "-" not in name else name.split("-", 1)


def value_of(record: DataRecord, column: str | None) -> Json:
    """Return a record's value in one or several columns; None if it has none."""
    if column is None:
        return None
    if column in record:
        return record[column]
    parts = [record.get(part) for part in parts_of(column, record)]
    if "+" in column:
        return "_".join(filter(None, map(text_in, parts)))
    try:
        first, second = (float(part) for part in parts)  # type: ignore[arg-type] # refused if it is no number
    except (TypeError, ValueError):
        return None
    return first - second


def text_in(value: Json) -> str:
    """Return a value as text, for names of items, conditions and the like."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else single_spaced(str(value).replace(BOUNDARY, " "))


def text_of(place: str, record: DataRecord, column: str) -> str:
    """Return a text from a record; refuse other values."""
    if column not in record:
        raise SuiteError(
            f"{place}: the column {column!r} is missing. The columns are {', '.join(map(repr, record))}.\n"
            f"  Add the column {column!r}."
        )
    text = record[column]
    if not isinstance(text, str):
        raise SuiteError(
            f"{place}: the column {column!r} has {text!r}, but must have a text.\n  Write a text in quotes."
        )
    return text


def running_text(record: DataRecord, column: str, join: str = "auto") -> str:
    """Return the text of a column, or of several columns in sequence, such as a context and a prefix."""
    return join_parts([text_in(record.get(part)) for part in parts_of(column, record)], join)


@cache
def _words(name: str) -> str:
    """Return the name of a column as words in lower case: `ItemNum` as `item_num`."""
    underscored = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return "_".join(re.findall(r"[^\W_]+", underscored)).lower()


def is_known_name(name: str) -> bool:
    """Return whether a column with this name gets a role automatically."""
    return any(_words(name) in rank for role in _SPELT for rank in _spelt(role))


@cache
def _spelt(role: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(rank.split()) for rank in _SPELT.get(role, role).split("|"))


def _opposite(names: Sequence[str]) -> list[tuple[str, str]]:
    """Find pairs of columns whose names differ as good and bad; columns of whole sentences come first."""
    candidates: list[tuple[str, str, str]] = []
    by_words = {_words(name): name for name in reversed(names)}
    for better, worse in OPPOSITES:
        for words, name in by_words.items():
            parts = words.split("_")
            if better in parts:
                other = "_".join(worse if part == better else part for part in parts)
                if other in by_words:
                    rest = "_".join(part for part in parts if part != better)
                    candidates.append((rest, name, by_words[other]))
    for kinds in (_WHOLE, _PART):
        if pairs := [(good, bad) for rest, good, bad in candidates if rest in kinds]:
            return sorted({*pairs}, key=lambda pair: names.index(pair[0]))
    return []
