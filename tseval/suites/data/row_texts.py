"""Read the texts in the rows of a table, for commands that score single texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import TsevalError
from tseval.formats import bare_name, read_lines
from tseval.suites.data.arrays import read_arrays
from tseval.suites.data.entries import TableReading
from tseval.suites.data.folders import set_name_of
from tseval.suites.data.gulordava import read_gulordava
from tseval.suites.data.kinds import kind_of
from tseval.suites.data.layouts import read_entries
from tseval.suites.data.pair_tables import pair_entries
from tseval.suites.data.readings import follows_note
from tseval.suites.data.records import header_of
from tseval.suites.data.roles import is_known_name
from tseval.suites.data.sentences import sentences_in
from tseval.suites.endings import TABLES
from tseval.writing import single_spaced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class TableText:
    """A sentence in a row of a table, and which of its words are scored."""

    row: int  # number of the row
    what: str  # its item, condition and label, as far as it has them
    text: str  # the whole sentence
    before: int  # number of words before the scored words
    length: int  # number of scored words


def table_texts(path: Path, columns: Mapping[str, str] | None = None) -> list[TableText]:
    """Return the texts of each row: a sentence or its critical words, both sentences of a pair, or a word."""
    options = dict(columns or {})
    kind, name = kind_of(path, options), set_name_of(path)
    readers = {"pairs": pair_entries, "candidates": read_entries, "arrays": read_arrays}
    if kind == "clams":
        lines = ((place, *line.partition("\t")) for place, line in read_lines(path))
        return [_row_text(place, label, text, ()) for place, label, _, text in lines]
    if kind == "gulordava":
        texts = []
        for item in read_gulordava(path):
            for label, text in item.sentences.items():
                regions = [("", len(text.split()) - 1), ("", 1)]
                texts.append(_row_text(item.place, label, text, regions))
        return texts
    if kind in readers:
        reading = TableReading({path: name}, name, None, options)
        return [
            _row_text(item.place, label, text, item.regions.get(label, ()))
            for item in readers[kind](path, name, reading)
            for label, text in item.sentences.items()
        ]
    texts = []
    for sentence in sentences_in(path, name, header_of(path, options), apart=True):
        description = " ".join(filter(None, (sentence.item, sentence.condition, sentence.label)))
        pieces = [(region, len(text.split())) for region, text in sentence.pieces]
        if kind == "words":
            texts += [
                _row_text(place, description, sentence.text, pieces, at)
                for at, (place, _) in enumerate(pieces)
            ]
            continue
        compared = [at for at, (region, _) in enumerate(pieces) if region in {"critical", "continuation"}]
        texts.append(
            _row_text(sentence.place, description, sentence.text, pieces if compared else (), *compared[:1])
        )
    return texts


def holds_table(path: Path) -> bool:
    """Return whether a file is a table, by its name; a `.txt` file by its first line."""
    name = bare_name(path)
    if not name.endswith(".txt"):
        return name.endswith(TABLES)
    try:
        _, line = next(read_lines(path), ("", ""))
    except TsevalError:  # reported later, when the texts are read
        return False
    cells = line.split("\t")
    return len(cells) > 1 and (cells[0] in {"True", "False"} or any(map(is_known_name, cells)))


def reading_taken(path: Path, columns: Mapping[str, str] | None = None) -> str | None:
    """Return a note if a table has two possible readings: the chosen one, and how to choose the other."""
    options = dict(columns or {})
    header = header_of(path, options) if kind_of(path, options) == "sentences" else None
    return None if header is None else follows_note(header)


def _row_text(
    place: str, what: str, text: str, regions: Sequence[tuple[str, int]], at: int = -1
) -> TableText:
    """Return a text and its scored words: those of one region (by default the last), or all."""
    row, lengths = int(place.rpartition(":")[2]), [length for _, length in regions] or [len(text.split())]
    at %= len(lengths)
    return TableText(row, what, single_spaced(text), sum(lengths[:at]), lengths[at])
