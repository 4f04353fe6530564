"""Agreement in running text (Linzen et al. 2016, Gulordava et al. 2018): `.text` and `.gold` files.

The right form of the verb should be more probable than the wrong form. An item is the sentence up to the
verb, with either form as its last word; the words after the verb are not scored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tseval.errors import counted
from tseval.suites.agreement.gold_files import read_targets
from tseval.suites.data.entries import AGREEMENT, DataItem, DataSet, first_places

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tseval.suites.data.entries import TableReading


LINZEN = "Linzen, Dupoux & Goldberg 2016, TACL 4, as filtered by Gulordava et al. 2018"


def read_linzen(text: Path) -> Iterator[DataItem]:
    """Read `NAME.text` and `NAME.gold` into items that end at the verb."""
    targets = list(read_targets(text))
    sentences = first_places(" ".join(target.words) for target in targets)
    for target, sentence in zip(targets, sentences, strict=True):
        prefix, n = target.words[: target.position], target.attractors
        named = "Attractors unknown" if n is None else counted(n, "attractor") if n else "No attractors"
        row = (f"attractors_{'unknown' if n is None else n}", named, AGREEMENT, None)
        forms = {"correct": " ".join([*prefix, target.right]), "wrong": " ".join([*prefix, target.wrong])}
        features = {"n_attractors": n, "position": target.position}
        # The file does not say which form is the singular.
        singular = max((target.right, target.wrong), key=lambda form: (form.endswith("s"), len(form)))
        place = f"{text}:{target.place.rpartition(':')[2]}"  # both files have the same lines
        yield DataItem(place, row, forms, features, verb_entries(sentence, singular))


def verb_entries(sentence: str, singular: str) -> dict[str, str]:
    """Return the lexical factors of a verb in running text: its sentence, and its singular form."""
    return {"sentence": sentence, "verb": singular.lower()}


def linzen_set(reading: TableReading) -> DataSet:
    """Read files of Linzen et al. as a set."""
    items = (item for file in reading.files for item in read_linzen(file))
    return DataSet(reading.name, "Agreement in Wikipedia", LINZEN, "sentence", reading.build(items))
