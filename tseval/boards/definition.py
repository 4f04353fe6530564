"""`board.yaml`: what a leaderboard is over, and what its entries must keep to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import yaml

from tseval.checked import ContentError, Json, checked, read_yaml
from tseval.errors import BoardError, reason
from tseval.questions.scores import Score  # noqa: TC001 - likewise
from tseval.suites.load import available_suites, load_suite

if TYPE_CHECKING:
    from tseval.suites.items import Suite

DEFINITION = "board.yaml"
BOARD_FILES_FORMAT = 1
LONGEST_TEXT = 4_000  # characters of a text that people write
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Definition:
    """What a leaderboard is over.

    Attributes:
        format: Of the file.
        title: As a reader would cite it.
        suite: Name of a bundled or fetched suite, or its path, seen from the board's folder.
        digest: Of the suite.
        score: What sentences are compared by.
        text: What a reader should know, in Markdown.
        source: Reference, or None.
        protocol: What the protocol of every entry must hold: `{words: corrected}`. Empty allows any.
        rules: What submitters promise, one sentence each; shown, not checked.
    """

    format: int
    title: str
    suite: str
    digest: str
    score: Score
    text: str = ""
    source: str | None = None
    protocol: Mapping[str, Json] = field(default_factory=dict)
    rules: tuple[str, ...] = ()


def read_definition(board: Path) -> Definition:
    """Read what a board is over.

    Raises:
        BoardError: The file cannot be read, or a field of it is wrong; names both.
    """
    file = board / DEFINITION
    try:
        definition = read_written(file, Definition)
    except FileNotFoundError:
        raise BoardError(
            f"{board} is no board: it has no {DEFINITION}.\n"
            f"  Make one: tseval board new {board} --suite SUITE"
        ) from None
    except (OSError, ContentError) as error:
        raise BoardError(f"{file}: {reason(error)}.") from None
    return definition


def read_written(file: Path, kind: type[T]) -> T:
    """Read a YAML file of a board that people write, or that is sent in.

    Raises:
        OSError: It cannot be read.
        ContentError: It is of another format, or a field of it is missing, wrong or too long.
    """
    content = read_yaml(file)
    version = content.get("format") if isinstance(content, dict) else None
    if isinstance(version, int) and version != BOARD_FILES_FORMAT:
        raise ContentError(f"is {version}, but this tseval reads format {BOARD_FILES_FORMAT}", "format")
    check_texts(content if isinstance(content, dict) else {})
    found = checked(content, kind)
    refuse_strangers(content, found)
    return found


def refuse_strangers(content: object, found: object, where: str = "") -> None:
    """Refuse fields that no reader knows: whoever looks into the file would believe them.

    Raises:
        ContentError: Names the first.
    """
    if isinstance(content, dict) and is_dataclass(found):
        known = {part.name for part in fields(found)}
        for name, value in content.items():
            if name not in known:
                raise ContentError("is no field of this file", f"{where}{name}")
            refuse_strangers(value, getattr(found, name), f"{where}{name}.")
    elif isinstance(content, list) and isinstance(found, list | tuple):
        for i, (value, entry) in enumerate(zip(content, found, strict=True)):
            refuse_strangers(value, entry, f"{where.removesuffix('.')}[{i}].")


def write_definition(definition: Definition) -> str:
    """Give the text of `board.yaml`."""
    return yaml.safe_dump(
        asdict(definition) | {"rules": list(definition.rules)}, sort_keys=False, allow_unicode=True
    )


def suite_of(definition: Definition, board: Path) -> Suite:
    """Load the suite of a board.

    Raises:
        SuiteError: It is not here.
        BoardError: It is another one than the board says.
    """
    suite = load_suite(suite_spec(definition.suite, board))
    if suite.digest != definition.digest:
        raise BoardError(
            f"{board / DEFINITION}: the suite {definition.suite} here has the digest {suite.digest[:8]}, "
            f"but the board is over {definition.digest[:8]}.\n"
            "  Take the version of the suite, or of tseval, that the board was made with."
        )
    return suite


def suite_spec(suite: str, board: Path) -> str | Path:
    """Find a suite that stands beside its board; any other is found by its name.

    The names of bundled suites come first: nothing that lies beside a board is taken for one of them.
    """
    if suite in available_suites():
        return suite
    beside = Path(os.path.normpath(board.absolute() / suite))
    return beside if beside.exists() else suite


def check_texts(content: Mapping[str, Json], where: str = "") -> None:
    """Refuse texts that are too long, and half characters, which no table can hold.

    Raises:
        ContentError: Names the field.
    """
    for name, value in content.items():
        at = f"{where}{name}"
        for text in [name, *(value if isinstance(value, list | tuple) else [value])]:
            if isinstance(text, Mapping):
                check_texts(text, f"{at}.")
            elif isinstance(text, str):
                if len(text) > LONGEST_TEXT:
                    raise ContentError(f"has {len(text):,} characters, more than {LONGEST_TEXT:,}", at)
                if any("\ud800" <= letter <= "\udfff" for letter in text):
                    raise ContentError("has half a character", at)
