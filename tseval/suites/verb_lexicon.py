"""Lists of verbs with a singular and a plural form; `SUITE:inflection` compares them in every context."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, suggest
from tseval.formats import is_count, read_lines
from tseval.tables import open_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


LEXICONS = Path(__file__).parent / "lexicons"
ENGLISH = LEXICONS / "english_verbs.csv"
UNIMORPH = "unimorph:"
SING, PLUR, COUNT = "sing", "plur", "count"
# The advice in messages about a table.
_TABLE = f"Write a table with the columns {SING},{PLUR}: one verb in each row, such as laughs,laugh."
# Needed and allowed tags of UniMorph, if the suite's own verbs do not decide: present third person.
_DEFAULT = ({"V", "3", "PRS"}, {"IND", "ACT", "POS", "FIN", "NOM", "IPFV"})
_SINGULAR, _PLURAL = "SG", "PL"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: its singular form, its plural form, and its count (0 if it was not counted)."""

    sing: str
    plur: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class VerbLexicon:
    """A list of verbs; no two verbs have the same forms.

    `name` is for messages: a path, or `english`.
    """

    name: str
    verbs: tuple[Verb, ...]

    @classmethod
    def from_rows(cls, rows: Iterable[str], name: str = "the list in the run") -> VerbLexicon:
        """Return the list from a manifest."""
        verbs = []
        for row in rows:
            cells = row.split()
            if len(cells) != 3 or not is_count(cells[2]) or cells[0] == cells[1]:
                raise SuiteError(
                    f"{name}: {row[:80]!r} is not a verb.\n  Write two forms and a count: laughs laugh 732."
                )
            verbs.append(Verb(cells[0], cells[1], int(cells[2])))
        return cls(name, tuple(verbs))

    @property
    def rows(self) -> tuple[str, ...]:
        """The list in the form for a manifest: `laughs laugh 732`."""
        return tuple(f"{verb.sing} {verb.plur} {verb.count}" for verb in self.verbs)

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Both forms of every verb, the singular first."""
        return frozenset((verb.sing, verb.plur) for verb in self.verbs)


def open_lexicon(spec: str | Path | None, published: Sequence[tuple[str, str]]) -> VerbLexicon:
    """Open a list of verbs.

    Args:
        spec: Path of a table with the columns `sing` and `plur` (and perhaps `count`), `unimorph:FILE`, or
            None for the English list that comes with tseval.
        published: Forms of the suite's own verbs, the singular first. In a UniMorph table they determine the
            relevant tags.
    """
    if spec is None:
        return read_verbs(ENGLISH, "english")
    text = str(spec)
    if not text or text == UNIMORPH:
        raise SuiteError(
            f"--lexicon is {text!r}, which names no file.\n"
            f"  Name a table of verbs, such as --lexicon verbs.csv or --lexicon {UNIMORPH}deu."
        )
    if text.startswith(UNIMORPH):
        return read_unimorph_verbs(Path(text.removeprefix(UNIMORPH)), published)
    return read_verbs(Path(text))


@cache
def english_pairs() -> frozenset[tuple[str, str]]:
    """Return the forms of the English verbs that come with tseval, the singular first."""
    return read_verbs(ENGLISH, "english").pairs


def read_verbs(path: Path, name: str | None = None) -> VerbLexicon:
    """Read a table of verbs, `.csv` or `.tsv`; refuse a verb without two different forms."""
    _check_file(path)
    place, names, rows = open_table(path)
    for column in (SING, PLUR):
        if column not in names:
            raise SuiteError(
                f"{place}: the list of verbs has no column {column!r}. {suggest(column, names, 'Columns')}\n"
                f"  {_TABLE}"
            )
    verbs: dict[tuple[str, str], Verb] = {}
    for place, cells in rows:
        row = dict(zip(names, cells, strict=True))
        sing, plur = (_form(place, column, row[column]) for column in (SING, PLUR))
        verb = Verb(sing, plur, _count(place, row))
        if verb.sing == verb.plur:
            raise SuiteError(
                f"{place}: the verb {verb.sing!r} has one form only, but tseval compares two.\n"
                "  Write the singular and the plural form, or remove the row."
            )
        verbs.setdefault((verb.sing, verb.plur), verb)
    return VerbLexicon(name or str(path), _held(path, verbs.values()))


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise SuiteError(
            f"{path}: this list of verbs does not exist.\n"
            "  Name a file with --lexicon, or leave out --lexicon to use the English list of tseval."
        )


def _form(place: str, column: str, text: str) -> str:
    form = text.strip()
    if not form:
        raise SuiteError(
            f"{place}: the cell in the column {column!r} is empty.\n"
            "  Write both forms of the verb, or remove the row."
        )
    if re.search(r"\s", form):
        raise SuiteError(
            f"{place}: the form {form!r} in the column {column!r} has several words.\n"
            "  Write one word, or remove the row."
        )
    return form


def _count(place: str, row: Mapping[str, str]) -> int:
    text = row.get(COUNT, "").strip()
    if not text:
        return 0
    if not is_count(text):
        raise SuiteError(
            f"{place}: the column {COUNT!r} has the value {text!r}, but a count is a whole number.\n"
            "  Write a whole number, or leave the cell empty."
        )
    return int(text)


def _held(path: Path, verbs: Iterable[Verb]) -> tuple[Verb, ...]:
    listed = tuple(verbs)
    if not listed:
        raise SuiteError(f"{path}: the list of verbs is empty.\n  {_TABLE}")
    return listed


def read_unimorph_verbs(path: Path, published: Sequence[tuple[str, str]]) -> VerbLexicon:
    """Read the verbs of a UniMorph table: lemma, form and tags, separated by tabs.

    Two forms of a lemma are a pair if their tags differ only in number. The suite's own verbs determine the
    tags: those of most of its verbs that are in the table. If the table has none of them, the tags are the
    present of the third person (`V;3;PRS`; otherwise only `IND`, `ACT`, `POS`, `FIN`, `NOM` and `IPFV`). If a
    lemma has no plural form with any tags, as in English, its plural is the infinitive (`NFIN`) of one word.
    """
    _check_file(path)
    forms: dict[str, list[tuple[str, frozenset[str]]]] = defaultdict(list)
    for place, line in read_lines(path):
        cells = line.split("\t")
        if len(cells) < 3 or not cells[2].strip():
            raise SuiteError(
                f"{place}: a line of a UniMorph list has three cells, but this line is {line[:80]!r}.\n"
                "  Write the lemma, the form and the UniMorph tags, with tabs between them."
            )
        lemma, form, tags = (cell.strip() for cell in cells[:3])
        if tags.startswith("V") and form and " " not in form:
            forms[lemma].append((form, frozenset(re.split(r"[;(),+]+", tags.rstrip(")")))))
    chosen = _tags_of(forms, published)
    verbs: dict[tuple[str, str], Verb] = {}
    for listed in forms.values():
        pair = _pair_of(listed, chosen)
        if pair is not None:
            verbs.setdefault(pair, Verb(*pair))
    if not verbs:
        tags_text = "V;PRS;3;SG and V;PRS;3;PL" if chosen is None else ";".join(sorted(chosen))
        raise SuiteError(
            f"{path}: this UniMorph list has no verb with a singular and a plural form ({tags_text}).\n"
            "  Name the UniMorph list of the suite's language. Or name a table with the columns "
            f"{SING},{PLUR} and one verb in each row, such as laughs,laugh."
        )
    return VerbLexicon(f"{UNIMORPH}{path}", tuple(verbs.values()))


def _tags_of(
    forms: Mapping[str, Sequence[tuple[str, frozenset[str]]]], published: Sequence[tuple[str, str]]
) -> frozenset[str] | None:
    """Return the tags, without number, of most of the suite's verbs; None if the table has none of them."""
    wanted = set(published)
    if not wanted:
        return None
    votes: Counter[frozenset[str]] = Counter()
    for listed in forms.values():
        plural = defaultdict(set)
        for form, tags in listed:
            if _PLURAL in tags:
                plural[tags - {_PLURAL}].add(form)
        for form, tags in listed:
            if _SINGULAR in tags:
                rest = tags - {_SINGULAR}
                votes.update(rest for other in plural[rest] if (form, other) in wanted)
    if not votes:
        return None
    most = max(votes.values())
    return min((tags for tags, n in votes.items() if n == most), key=lambda tags: (len(tags), sorted(tags)))


def _pair_of(
    listed: Sequence[tuple[str, frozenset[str]]], chosen: frozenset[str] | None
) -> tuple[str, str] | None:
    """Return the two forms of a lemma, or None if it has no two different forms."""

    def are_meant(tags: frozenset[str]) -> bool:
        if chosen is not None:
            return tags == chosen
        needed, allowed = _DEFAULT
        return needed <= tags and tags - needed <= allowed

    singulars = [form for form, tags in listed if _SINGULAR in tags and are_meant(tags - {_SINGULAR})]
    plurals = [form for form, tags in listed if _PLURAL in tags and are_meant(tags - {_PLURAL})]
    if singulars and not plurals and not any(_PLURAL in tags for _, tags in listed):
        plurals = [form for form, tags in listed if "NFIN" in tags]
    pairs = ((sing, plur) for sing in singulars for plur in plurals if sing != plur)
    return next(pairs, None)
