"""Tables that can be read in two ways: how their columns are read, and which tables are refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.suites.data.roles import text_in

if TYPE_CHECKING:
    from tseval.suites.data.roles import Header


def follows(columns: Header) -> str | None:
    """Return the column of words that continue a sentence without being part of it; None if there is none.

    The columns must be recognised by their names. If the user names one of them, the user decides.
    """
    sentence, target = columns.of("sentence"), columns.of("target") or columns.of("word")
    if sentence is None or target is None or {"sentence", "target", "word", "prefix"} & {*columns.given}:
        return None
    if "fill" in columns.options or columns.of("critical") or columns.of("prefix") or columns.of("context"):
        return None
    text, words = (text_in(columns.first.get(name)) for name in (sentence, target))
    inside = f" {words.lower()} " in " ".join(["", *re.findall(r"\w+", text.lower()), ""])
    return target if text and words and not inside and not re.search(r"\d", words) else None


def follows_note(columns: Header) -> str | None:
    """Return a note that a column is read as a continuation, and how to score only the sentence."""
    if (target := follows(columns)) is None:
        return None
    sentence = columns.of("sentence")
    return (
        f"tseval reads {target} as the continuation of {sentence} (to score "
        f"{sentence} alone: --columns ignore={target})"
    )


def refuse_names(columns: Header, context: str | None) -> None:
    """Refuse a column `context` that holds names or numbers, such as 7 or frame1, instead of text."""
    first = text_in(columns.first.get(context or ""))
    if context is not None and context not in columns.given.values() and re.fullmatch(r"\w*\d\w*", first):
        raise SuiteError(
            f"{columns.place}: by its name, the column {context!r} has the words before the sentence, but "
            f"its first cell is {first!r}, which looks like the name or number of an item.\n"
            f"  If the column has the names of items, add --columns item={context}. If not, add --columns "
            f"ignore={context}."
        )


def refuse_between(columns: Header, before: str | None, sentence: str | None) -> None:
    """Refuse a prefix and a continuation, both recognised by name, if columns between them hold text."""
    if before is None or sentence is None or columns.of("target") != sentence:
        return
    if not {before, sentence} <= {*columns.names}:
        return
    if {before, sentence} & {*columns.given.values()}:
        return
    start, end = columns.names.index(before), columns.names.index(sentence)
    between = [name for name in columns.names[start + 1 : end] if not columns.is_about_rows(name)]
    texts = [name for name in between if re.search(r"[^\W\d]", text_in(columns.first.get(name)))]
    if texts:
        layout = " ".join([before, *between, f"*{sentence}"])
        raise SuiteError(
            f"{columns.place}: columns with text are between {before!r} and {sentence!r}: "
            f"{', '.join(map(repr, texts))}.\n"
            f"  If these columns are parts of the sentence, add --layout '{layout}'.\n"
            f"  If they are not, add --columns prefix={before},target={sentence}."
        )
