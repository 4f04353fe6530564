"""The user's options for contexts: their source, their length, and their number for each item."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, reason
from tseval.files import read_bytes
from tseval.suites.data.catalogue import CATALOGUE
from tseval.suites.data.folders import is_data
from tseval.suites.endings import LINES
from tseval.suites.lookup import available_suites

if TYPE_CHECKING:
    from collections.abc import Iterator

SAME, OTHER = "same", "other"
DEFAULT_WORDS = 100
MOST_WORDS, MOST_EACH = 100_000, 1_000


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """The contexts of one run, as requested by the user.

    Attributes:
        source: `SUITE`, `same`, `other`, each perhaps with `#LABEL`, or the path of a text file.
        words: Length of each context in words; None for the whole of a text file.
        seed: Random seed for the choice of the texts.
        each: Number of contexts that each item is scored in.
    """

    source: str
    words: int | None = None
    seed: int = 0
    each: int = 1

    def __post_init__(self) -> None:
        if not self.source:
            raise SuiteError(
                "--context is empty.\n"
                "  Name a suite (marvin_linzen), a label of it (marvin_linzen#grammatical), same, other, "
                "or a text file."
            )
        for option, value, least, most in (
            ("--context-words", self.words, 0, MOST_WORDS),
            ("--contexts", self.each, 1, MOST_EACH),
        ):
            if value is not None and not least <= value <= most:
                raise SuiteError(
                    f"{option} {value}: the number must be from {least} to {most:,}.\n"
                    f"  Write a number in this range, such as {option} {100 if least == 0 else 5}."
                )

    @property
    def name(self) -> str:
        """The source's name in tables and signatures; for a text file, the name of the file."""
        return Path(self.source).name if self.is_text else self.source

    @property
    def is_text(self) -> bool:
        """Whether the contexts come from a text file, not from a suite."""
        path = Path(self.source)
        if is_known_source(self.source):  # names of suites have priority over files with the same name
            return False
        return path.is_file() and (path.suffix in LINES or not (is_data(path) or path.suffix == ".jinja"))

    @property
    def needs_whole_suite(self) -> bool:
        """Whether the contexts come from the scored suite itself."""
        return self.source.partition("#")[0] in (SAME, OTHER)

    @property
    def place_and_label(self) -> tuple[str, str | None]:
        """The suite and the label of its sentences; None for sentences that are better in some pair."""
        if "#" not in self.source or (not is_known_source(self.source) and Path(self.source).exists()):
            return self.source, None
        place, _, label = self.source.rpartition("#")
        if not place or not label:
            missing = "suite before" if not place else "label after"
            raise SuiteError(
                f"--context {self.source}: there is no {missing} the sign #.\n"
                "  Write SUITE#LABEL, such as marvin_linzen#grammatical."
            )
        return place, label

    def lines(self) -> list[list[str]]:
        """Return the words of each line of a text file, without blank lines."""
        try:
            text = read_bytes(Path(self.source)).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SuiteError(
                f"--context {self.source}: tseval cannot read this file as a text ({reason(error)}).\n"
                "  Name a text file in UTF-8 with one sentence a line."
            ) from None
        return [words for line in text.removeprefix("\ufeff").split("\n") if (words := line.split())]


def is_known_source(source: str) -> bool:
    """Return whether a source is known by its name on every machine.

    Runs and boards from other people contain only names: they must not decide which local file is read.
    """
    return source.partition("#")[0] in {SAME, OTHER, *CATALOGUE, *available_suites()}


def context_requests(source: str | None, lengths: str | None, seed: int, each: int) -> list[ContextRequest]:
    """Return a request for each of the user's lengths, such as `0,100,400`; none without a source.

    Raises:
        SuiteError: A length is not a number or is repeated, or there are lengths without a source.
    """
    if source is None:
        if lengths is not None:
            raise SuiteError(
                "--context-words sets the length of contexts, but --context is missing.\n"
                "  Add --context SOURCE, such as --context same, or leave out --context-words."
            )
        return []
    if lengths is None:
        request = ContextRequest(source, None, seed, each)
        return [request if request.is_text else ContextRequest(source, DEFAULT_WORDS, seed, each)]
    words = list(_numbers(lengths))
    if repeated := sorted({number for number in words if words.count(number) > 1}):
        raise SuiteError(
            f"--context-words {lengths}: the list has the length {repeated[0]} twice.\n"
            f"  Write each length once: --context-words {','.join(map(str, dict.fromkeys(words)))}"
        )
    return [ContextRequest(source, number, seed, each) for number in words]


def _numbers(lengths: str) -> Iterator[int]:
    for part in lengths.split(","):
        text = part.strip()
        if not (text.isascii() and text.isdigit()) or len(text) > 9:
            problem = f"{text!r} is not a number of words" if text else "the list has an empty entry"
            raise SuiteError(
                f"--context-words {lengths}: {problem}.\n"
                "  Write whole numbers with commas between them, such as --context-words 0,100,400."
            )
        yield int(text)
