"""Subject-verb agreement in running text: the test sets of Linzen et al. 2016 and Gulordava et al. 2018.

Both ask whether the right form of a verb is more probable after the words before it than the wrong one. An
item is therefore the sentence up to the verb, ending in either form; what follows the verb is not scored.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.formats import is_count, read_lines
from tseval.suites.agreement.targets import read_targets
from tseval.suites.datasets.entries import AGREEMENT, DataItem, first_places

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINZEN = "Linzen, Dupoux & Goldberg 2016, TACL 4, as filtered by Gulordava et al. 2018"
GULORDAVA = "Gulordava et al. 2018, Colorless Green Recurrent Networks Dream Hierarchically, NAACL"
PAIR = ("correct", "wrong")
# Feature to column: the original sentence, which of its versions, and how many attractors.
NUMBER_FEATURES = {"sentence": "constr_id", "variant": "sent_id", "n_attractors": "n_attr"}
SENTENCE_TYPES = {"original": "Original sentences", "generated": "Nonce sentences"}
HEADINGS = ("pattern", "constr_id", "sent_id", "correct_number", "form", "class", "type", "prefix", "n_attr")


def read_linzen(text: Path) -> Iterator[DataItem]:
    """Read `NAME.text` and `NAME.gold` into items that end at the verb.

    Raises:
        SuiteError: As `read_targets` does.
    """
    targets = list(read_targets(text))
    sentences = first_places(" ".join(target.words) for target in targets)
    for target, sentence in zip(targets, sentences, strict=True):
        prefix, attractors = target.words[: target.position], target.attractors
        counts = "no attractors" if attractors == 0 else f"{attractors} attractor{'s'[: attractors > 1]}"
        row = f"attractors_{attractors}", counts[0].upper() + counts[1:], AGREEMENT, None
        forms = {"correct": " ".join([*prefix, target.right]), "wrong": " ".join([*prefix, target.wrong])}
        features = {"n_attractors": attractors, "position": target.position}
        # The file does not say which form is the singular.
        singular = max((target.right, target.wrong), key=lambda form: (form.endswith("s"), len(form)))
        yield DataItem(target.place, row, forms, features, verb_entries(sentence, singular))


def read_gulordava(path: Path) -> Iterator[DataItem]:
    """Read `generated.tab`: two rows for each item, the correct form first.

    Raises:
        SuiteError: A column is missing, or a row is without its twin.
    """
    rows = list(read_tab(path))
    if len(rows) % 2:
        raise SuiteError(f"{rows[-1][0]}: a row without its twin")
    for (place, right), (_, wrong) in zip(rows[::2], rows[1::2], strict=True):
        if (right["class"], wrong["class"]) != PAIR or right["prefix"] != wrong["prefix"]:
            raise SuiteError(
                f"{place}: this row and the next are not the correct and the wrong form of one item"
            )
        if right["type"] not in SENTENCE_TYPES:
            raise SuiteError(f"{place}: neither {' nor '.join(SENTENCE_TYPES)}, but {right['type']!r}")
        singular = (right if right["correct_number"] == "sing" else wrong)["form"]
        numbers = {feature: _whole(place, right, name) for feature, name in NUMBER_FEATURES.items()}
        yield DataItem(
            place,
            (right["type"], SENTENCE_TYPES[right["type"]], AGREEMENT, None),
            {form["class"]: f"{form['prefix']} {form['form']}" for form in (right, wrong)},
            {"pattern": right["pattern"], "number": right["correct_number"], **numbers},
            # The nonce versions of a sentence have its words in all other places.
            verb_entries(f"{right['pattern']} {right['constr_id']}", singular),
        )


def verb_entries(sentence: str, singular: str) -> dict[str, str]:
    """Name what verbs in running text may share: the sentence, and the verb, by its singular."""
    return {"sentence": sentence, "verb": singular.lower()}


def _whole(place: str, row: dict[str, str], name: str) -> int:
    if not is_count(row[name]):
        raise SuiteError(f"{place}: {name} is no whole number, but {row[name]!r}")
    return int(row[name])


def read_tab(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Give the rows of a `.tab` file, where texts with quotes in them are quoted as in CSV.

    Raises:
        SuiteError: A column is missing.
    """
    lines = list(read_lines(path))
    table = csv.DictReader((line for _, line in lines), delimiter="\t")
    try:
        rows = list(table)
    except csv.Error as error:
        raise SuiteError(f"{path}:{table.line_num + 1}: {error}") from None
    if missing := [name for name in HEADINGS if name not in (table.fieldnames or ())]:
        raise SuiteError(f"{path}: no agreement table: there is no column {missing[0]!r}")
    for (place, _), row in zip(lines[1:], rows, strict=False):
        if None in row or None in row.values():
            raise SuiteError(f"{place}: another number of columns than the header")
        yield place, row
    if len(rows) < len(lines) - 1:
        raise SuiteError(f"{path}: a quoted text goes over several lines")
