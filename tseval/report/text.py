"""Names from outside (models, suites, features) made harmless in every output format."""

from __future__ import annotations

import re
import unicodedata

# Marks that turn the direction of text and so can make a name read as another.
TURNS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
# Within a word `_` starts no emphasis, and `n_attractors` reads better as it is.
MARKDOWN = re.compile(r"[\\`*|\[\]<>&]|(?<![^\W_])_|_(?![^\W_])")
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    **{mark: "\\" + mark for mark in "&%$#_{}"},
}


def plain(text: str) -> str:
    """Replace what is not text: control characters, line breaks, broken bytes, marks that turn it round."""
    return "".join("\ufffd" if _is_control(mark) else mark for mark in text)


def _is_control(mark: str) -> bool:
    return mark in TURNS or unicodedata.category(mark) in {"Cc", "Cs", "Zl", "Zp"}


def markdown(text: str) -> str:
    """Escape what Markdown or HTML would act on, with a backslash before it."""
    return MARKDOWN.sub(lambda match: "\\" + match[0], plain(text))


def code(text: str) -> str:
    """Set a text as Markdown code, in which nothing is acted on."""
    return "`" + plain(text).replace("`", "'") + "`"


def latex(text: str) -> str:
    """Escape what LaTeX would act on."""
    return "".join(LATEX.get(mark, mark) for mark in plain(text))


def cell(text: str) -> str:
    """Keep a spreadsheet from running a text as a formula: an apostrophe goes before it.

    Source: OWASP, "CSV Injection".
    """
    text = plain(text)
    return f"'{text}" if FORMULA.match(text) else text
