"""Published boards: accuracies as a paper printed them, to stand beside our own runs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tseval.errors import BoardError

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 1
BUNDLED = Path(__file__).parents[1] / "leaderboards"
PRINTED = re.compile(r"(?:0(?:\.(\d+))?|1(?:\.(0+))?)")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BoardModel:
    """A model of the board; perplexity and parameters as printed, None where the paper gives none."""

    name: str
    validation_perplexity: str | None
    parameters: str | None


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One row of the published table.

    Attributes:
        dependency: `short`, `long` or None.
        phenomenon: As the suite names it.
        construction: As the suite names it.
        contrast: `grammatical > intrusive`, for example.
        n_items: Number of items behind the row.
        accuracy: Model name to the fraction as printed; a model without a value is absent.
    """

    dependency: str | None
    phenomenon: str
    construction: str
    contrast: str
    n_items: int
    accuracy: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Board:
    """A published table.

    Attributes:
        name: Short name, the folder's.
        title: As a reader would cite it.
        source: Full reference.
        suite: Name of the suite the models were scored on.
        score: How sentences were scored: `sentence`, `critical`, `ending` or `mean`.
        decimals: Decimals the accuracies are cut to (not rounded).
        models: In the order of the columns.
        rows: In the order of the table.
        notes: What a reader must know about the printed values.
    """

    name: str
    title: str
    source: str
    suite: str
    score: str
    decimals: int
    models: tuple[BoardModel, ...]
    rows: tuple[BoardRow, ...]
    notes: tuple[str, ...]


def bundled_boards() -> list[str]:
    """Name the boards that come with tseval."""
    return sorted(path.parent.name for path in BUNDLED.glob("*/board.json"))


def read_board(path: Path) -> Board:
    """Read a board's file, or the `board.json` of a folder.

    Raises:
        BoardError: The file cannot be read or does not hold a board; names file and field.
    """
    file = path / "board.json" if path.is_dir() else path
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BoardError(f"{file}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise BoardError(f"{file}: not a JSON file ({error}).") from None
    return _Reader(file).board(content)


class _Reader:
    """Takes the fields of one file, each checked, each named in the error when it is wrong."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def wrong(self, where: str, what: str) -> BoardError:
        return BoardError(f"{self.file}: {where}: {what}.")

    def field(self, mapping: object, name: str, kind: type[T], where: str = "") -> T:
        """Take one field of a mapping, of the one type it may have."""
        if not isinstance(mapping, dict):
            raise self.wrong(where.rstrip(".") or "the file", "should be a mapping")
        if name not in mapping:
            raise self.wrong(where + name, "is missing")
        value = mapping[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.wrong(where + name, f"should be {_KINDS[kind]}, not {json.dumps(value)[:60]}")
        return value

    def optional(self, mapping: dict[str, object], name: str, where: str) -> str | None:
        """Take a text that may be absent or null."""
        return None if mapping.get(name) is None else self.field(mapping, name, str, where)

    def board(self, content: object) -> Board:
        version = self.field(content, "format", int)
        if version != FORMAT:
            raise self.wrong("format", f"is {version}, but this tseval reads format {FORMAT}")
        decimals = self.field(content, "decimals", int)
        if decimals < 1:
            raise self.wrong("decimals", f"should be at least 1, not {decimals}")
        models = tuple(
            self.model(entry, f"models[{i}].") for i, entry in enumerate(self.field(content, "models", list))
        )
        names = [model.name for model in models]
        if not names or len(set(names)) < len(names):
            raise self.wrong("models", "should name each model once, and at least one")
        rows = tuple(
            self.row(entry, f"rows[{i}].", names, decimals)
            for i, entry in enumerate(self.field(content, "rows", list))
        )
        keys = [(row.dependency, row.phenomenon, row.construction, row.contrast) for row in rows]
        if repeated := [i for i, key in enumerate(keys) if key in keys[:i]]:
            raise self.wrong(f"rows[{repeated[0]}]", "repeats an earlier row")
        notes = self.field(content, "notes", list)
        texts = {name: self.field(content, name, str) for name in _TEXTS}
        return Board(**texts, decimals=decimals, models=models, rows=rows, notes=tuple(map(str, notes)))

    def model(self, entry: dict[str, object], where: str) -> BoardModel:
        return BoardModel(
            name=self.field(entry, "name", str, where),
            validation_perplexity=self.optional(entry, "validation_perplexity", where),
            parameters=self.optional(entry, "parameters", where),
        )

    def row(self, entry: dict[str, object], where: str, models: list[str], decimals: int) -> BoardRow:
        accuracy = self.field(entry, "accuracy", dict, where)
        for name in accuracy:
            if name not in models:
                raise self.wrong(f"{where}accuracy.{name}", "is not one of the board's models")
            printed = self.field(accuracy, name, str, f"{where}accuracy.")
            match = PRINTED.fullmatch(printed)
            if match is None or len(match[1] or match[2] or "") > decimals:
                raise self.wrong(
                    f"{where}accuracy.{name}",
                    f"should be a fraction from 0 to 1 with at most {decimals} decimals, not {printed!r}",
                )
        return BoardRow(
            dependency=self.optional(entry, "dependency", where),
            phenomenon=self.field(entry, "phenomenon", str, where),
            construction=self.field(entry, "construction", str, where),
            contrast=self.field(entry, "contrast", str, where),
            n_items=self.field(entry, "n_items", int, where),
            accuracy=accuracy,
        )


_TEXTS = ("name", "title", "source", "suite", "score")
_KINDS: dict[type, str] = {str: "a text in quotes", int: "a whole number", list: "a list", dict: "a mapping"}
