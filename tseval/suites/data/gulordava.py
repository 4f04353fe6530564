"""Gulordava et al.'s colourless green sentences: a form that agrees and a form that does not, after a prefix.

Each language has a table, `generated.tab`, with two rows for each item, the correct form first. The same
items are in `generated.text`, with one line each in `generated.gold`. They differ in words that the table
writes as `<unk>`, and in the number of attractors, which only the table has.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, quoted_text
from tseval.formats import is_count, read_lines, whole_number
from tseval.suites.agreement.gold_files import gold_of
from tseval.suites.data.entries import AGREEMENT, DataItem, DataSet
from tseval.suites.data.linzen import verb_entries
from tseval.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tseval.suites.data.entries import TableReading


GULORDAVA = "Gulordava et al. 2018, Colorless Green Recurrent Networks Dream Hierarchically, NAACL"
PAIR = ("correct", "wrong")
# Feature to column: the original sentence, the version of it, and the number of attractors.
NUMBER_FEATURES = {"sentence": "constr_id", "variant": "sent_id", "n_attractors": "n_attr"}
SENTENCE_TYPES = {"original": "Original sentences", "generated": "Nonce sentences"}
HEADINGS = ("pattern", "constr_id", "sent_id", "correct_number", "form", "class", "type", "prefix", "n_attr")
# Last words of patterns that do not end in a verb: `L__DET_ADJ_NOUN` (Italian, Hebrew and Russian).
_NOMINAL = ("NOUN", "ADJ", "DET", "PRON", "PROPN", "NUM")


def _phenomenon(patterns: Iterable[str]) -> str:
    """Return the phenomenon of a file: subject-verb agreement only if all its patterns end in a verb."""
    return "Agreement" if any(pattern.rpartition("_")[2] in _NOMINAL for pattern in patterns) else AGREEMENT


def read_gulordava(path: Path) -> Iterator[DataItem]:
    """Read `generated.tab`, or `generated.text` together with `generated.gold`."""
    return _of_gold(path) if path.name.endswith(".text") else _of_table(path)


def _of_table(path: Path) -> Iterator[DataItem]:
    rows = list(read_table(path, quotes=True))
    phenomenon = _phenomenon(row.get("pattern", "") for _, row in rows)
    if missing := [name for name in HEADINGS if rows and name not in rows[0][1]]:
        raise SuiteError(
            f"{path}: a table of agreement items needs the column {missing[0]!r}, but this table does not "
            f"have it.\n  Add the column {missing[0]!r}."
        )
    if len(rows) % 2:
        raise SuiteError(
            f"{rows[-1][0]}: each item needs two rows, but the last row has no partner.\n"
            "  Add the row with the other form of the verb."
        )
    for (place, right), (_, wrong) in zip(rows[::2], rows[1::2], strict=True):
        if (right["class"], wrong["class"]) != PAIR or right["prefix"] != wrong["prefix"]:
            raise SuiteError(
                f"{place}: this row and the next row are not the correct and the wrong form of one item.\n"
                "  Write the row of class correct first, and the row of class wrong after it."
            )
        if right["type"] not in SENTENCE_TYPES:
            raise SuiteError(
                f"{place}: the column 'type' has {right['type']!r}.\n"
                f"  Write one of these: {', '.join(SENTENCE_TYPES)}."
            )
        singular = (right if right["correct_number"] == "sing" else wrong)["form"]
        numbers = {
            feature: whole_number(place, name, right[name]) for feature, name in NUMBER_FEATURES.items()
        }
        yield DataItem(
            place,
            (right["type"], SENTENCE_TYPES[right["type"]], phenomenon, None),
            {form["class"]: f"{form['prefix']} {form['form']}" for form in (right, wrong)},
            {"pattern": right["pattern"], "number": right["correct_number"], **numbers},
            # The nonce versions of a sentence keep its words in all other positions.
            verb_entries(f"{right['pattern']} {right['constr_id']}", singular),
        )


# Cells of a line of `generated.gold`: pattern with both numbers, original sentence, version, position of the
# form, part of speech, features, form, wrong form and lemma. The last three cells are the start of the
# pattern, its first tag, and its words.
_CELLS = 12
_TYPES = {True: "original", False: "generated"}  # True: the version is the original sentence


def has_patterns(text: Path) -> bool:
    """Return whether the `.gold` file of a `.text` file has the patterns of Gulordava et al."""
    gold = gold_of(text)
    _, line = next(read_lines(gold), ("", "")) if gold.exists() else ("", "")
    return line.count("\t") == _CELLS - 1


def _of_gold(text: Path) -> Iterator[DataItem]:
    sentences, lines = list(read_lines(text)), list(read_lines(gold_of(text)))
    if len(sentences) != len(lines):
        raise SuiteError(
            f"{gold_of(text)}: the file has {len(lines)} lines, but {text} has {len(sentences)} sentences.\n"
            "  Write one line for each sentence."
        )
    gold = [_gold_line(place, line) for place, line in lines]
    phenomenon = _phenomenon(pattern for pattern, *_ in gold)
    for (place, sentence), (pattern, original, version, at, number, right, wrong) in zip(
        sentences, gold, strict=True
    ):
        words = sentence.split()
        if at >= len(words):
            raise SuiteError(
                f"{place}: the sentence has {len(words)} words, but {gold_of(text).name} has the form at "
                f"word {at}, counted from 0.\n  Correct the position."
            )
        kind = _TYPES[version == 0]
        singular = right if number == "sing" else wrong
        yield DataItem(
            place,
            (kind, SENTENCE_TYPES[kind], phenomenon, None),
            {label: " ".join([*words[:at], form]) for label, form in zip(PAIR, (right, wrong), strict=True)},
            {"pattern": pattern, "number": number, "sentence": original, "variant": version},
            verb_entries(f"{pattern} {original}", singular),
        )


def _gold_line(place: str, line: str) -> tuple[str, int, int, int, str, str, str]:
    """Return pattern, original sentence, version, position and number of the form, and both forms."""
    cells = line.split("\t")
    number = re.search(r"\bNumber=(Sing|Plur)\b", cells[5]) if len(cells) == _CELLS else None
    if number is None or not all(map(is_count, cells[1:4])):
        raise SuiteError(
            f"{place}: this line is {quoted_text(line, 60)}.\n"
            f"  Write {_CELLS} cells with tabs between them: the pattern, three numbers, the part of "
            "speech, features with Number=Sing or Number=Plur, both forms, and four more."
        )
    pattern = "__".join(cells[0].split("!")[:2])
    original, version, at = map(int, cells[1:4])
    return pattern, original, version, at, number[1].lower(), cells[6], cells[7]


def gulordava_set(reading: TableReading) -> DataSet:
    """Read files of Gulordava et al. as a set."""
    items = (item for file in reading.files for item in read_gulordava(file))
    return DataSet(reading.name, "Colourless green agreement", GULORDAVA, "sentence", reading.build(items))
