"""What an author would want to know of the sentences of a case before trusting the numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from tseval.errors import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tseval.items import Case

_SHOWN = 8
Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class LintFinding:
    """Something to look at in a grammar or a data set.

    Attributes:
        severity: `error` where items are not what they claim, `warning` where they may mislead, `note` where
            some uses would stumble over them.
        path: The file.
        line: The line in it, or None.
        message: What was found.
    """

    severity: Severity
    path: Path
    line: int | None
    message: str

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line is not None else f"{self.path}"
        return shortened(f"{where}: {self.severity}: {self.message}")


@dataclass(frozen=True, slots=True)
class Found:
    """A finding before it is known where in a file it stands: it is about the sentences of one label."""

    severity: Severity
    label: str
    message: str


def check_sentences_of(
    case: Case, terminator: str | None, knows: Callable[[str], bool] | None = None
) -> Iterator[Found]:
    """Check what can be told from the sentences of a case alone.

    Args:
        case: Its items.
        terminator: The token that is added to each sentence when it is scored, if there is one.
        knows: Tells whether a model knows a word, where that is to be checked.
    """
    columns = {label: [str(text) for text in case.sentences[label].to_pylist()] for label in case.labels}
    items = list(zip(*columns.values(), strict=True))
    pairs = {
        str(contrast): list(zip(columns[contrast.better], columns[contrast.worse], strict=True))
        for contrast in case.contrasts
    }
    yield from _equal(case, items, pairs)
    yield from _repeated_items(case, items)
    yield from _repeated_pairs(case, items, pairs)
    if terminator is not None:
        yield from _terminated(columns, terminator)
    yield from _unequal_lengths(case, pairs)
    if knows is not None:
        yield from _undecided(case, pairs, knows)


def missing_words(
    words: Sequence[str], path: Path, knows: Callable[[str], bool] | None
) -> Iterator[LintFinding]:
    """Name the words that a model does not know, where that is to be checked."""
    if knows is not None and (missing := [word for word in words if not knows(word)]):
        message = f"words missing from the vocabulary ({len(missing)}): {some(missing)}."
        yield LintFinding("warning", path, None, message)


def some(values: Sequence[str]) -> str:
    """List the first of some values, and count the others."""
    more = f", and {len(values) - _SHOWN:,} more" if len(values) > _SHOWN else ""
    return ", ".join(values[:_SHOWN]) + more


_Texts = tuple[str, ...]
_Pairs = dict[str, list[tuple[str, str]]]


def _equal(case: Case, items: list[_Texts], pairs: _Pairs) -> Iterator[Found]:
    contrasts = zip(*pairs.values(), strict=True)
    equal = [
        item for item, compared in zip(items, contrasts, strict=False) if any(a == b for a, b in compared)
    ]
    if equal:
        message = f"{len(equal):,} of {len(items):,} items have a contrast between equal sentences"
        yield Found("error", case.labels[1], f"{message}, for example {quoted_texts(equal[0])}.")


def _repeated_items(case: Case, items: list[_Texts]) -> Iterator[Found]:
    counts = Counter(items)
    if repeated := len(items) - len(counts):
        (texts, count), *_ = counts.most_common(1)
        example = f"{texts[0]!r} ({count} times)"
        message = f"{repeated:,} of {len(items):,} items repeat another, for example {example}."
        yield Found("error", case.labels[0], message)


def _repeated_pairs(case: Case, items: list[_Texts], pairs: _Pairs) -> Iterator[Found]:
    """Report pairs that count several times in one row of the table, in items that differ elsewhere."""
    for contrast, compared in pairs.items():
        distinct = dict.fromkeys(zip(items, compared, strict=True))
        counts = Counter(pair for _, pair in distinct)
        if repeated := len(distinct) - len(counts):
            (pair, count), *_ = counts.most_common(1)
            message = f"{repeated:,} of {len(distinct):,} pairs of {contrast!r} repeat another"
            message += f", for example {quoted_texts(pair)} ({count} times)."
            yield Found("warning", case.labels[0], message)


def _terminated(columns: dict[str, list[str]], terminator: str) -> Iterator[Found]:
    """Report sentences that have the final token already; an abbreviation such as `U.S.` may end one."""
    for label, texts in columns.items():
        written = [
            text
            for text in dict.fromkeys(texts)
            if text.endswith(terminator) and terminator not in text.split()[-1].removesuffix(terminator)
        ]
        if written:
            message = (
                f"{len(written):,} sentences end in {terminator!r}, for example {written[0]!r}: it would be "
            )
            yield Found("error", label, f"{message}scored twice, since {terminator!r} is added to every one.")


def _unequal_lengths(case: Case, pairs: _Pairs) -> Iterator[Found]:
    for contrast, compared in pairs.items():
        unequal = [pair for pair in compared if len(pair[0].split()) != len(pair[1].split())]
        if unequal:
            message = (
                f"{len(unequal):,} of {len(compared):,} pairs of {contrast!r} have unequal numbers of words"
            )
            message += f", for example {quoted_texts(unequal[0])}: their sums are not of equally many terms."
            yield Found("note", case.labels[1], message)


def _undecided(case: Case, pairs: _Pairs, knows: Callable[[str], bool]) -> Iterator[Found]:
    """Report pairs that look alike once unknown words are replaced."""

    @cache
    def seen(word: str) -> str | None:
        return word if knows(word) else None

    def alike(one: str, other: str) -> bool:
        return one != other and [*map(seen, one.split())] == [*map(seen, other.split())]

    for contrast, compared in pairs.items():
        undecided = [pair for pair in compared if alike(*pair)]
        if undecided:
            message = (
                f"{len(undecided):,} of {len(compared):,} pairs of {contrast!r} are undecidable with this "
            )
            message += f"vocabulary: all that differs is unknown, for example {quoted_texts(undecided[0])}."
            yield Found("warning", case.labels[0], message)


def quoted_texts(texts: Sequence[str]) -> str:
    """Quote the sentences of an item side by side."""
    return " / ".join(map(repr, texts))
