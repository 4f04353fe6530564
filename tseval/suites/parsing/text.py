"""Sentences to be parsed: lines of a text, or the words of a treebank, which are parsed anew."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.files import beyond, limits, open_regular, to_utf8
from tseval.formats import bare_name, numbered_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_GLUED = re.compile(r"[^\s.!?][.!?][\"')\]”’]*$")


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is to be parsed, looked through from beginning to end.

    Attributes:
        path: The file.
        tokenised: Whether a line is one sentence, with its words between spaces.
        sha256: Of the file.
        n_lines: Lines, or sentences of a treebank, that are not blank.
        n_glued: Those of them whose last word has its full stop on it.
    """

    path: Path
    tokenised: bool
    sha256: str
    n_lines: int
    n_glued: int

    @property
    def name(self) -> str:
        """The file's name, on one line."""
        return to_utf8("_".join(self.path.name.split())).decode()

    @property
    def stem(self) -> str:
        """The file's name without endings."""
        bare = self.name.removesuffix(".gz")
        return bare.rpartition(".")[0] or bare

    def lines(self) -> Iterator[tuple[int, str]]:
        """Give the lines that are not blank, with their numbers."""
        return _lines(self.path)


def open_source_text(path: Path, tokenised: bool) -> Text:
    """Read a text once, so that what is wrong with it is said before hours of parsing.

    Args:
        path: One sentence a line, or running text; or a treebank in CoNLL-U (`.conllu`), of which the words
            are taken and the trees left. Each may be compressed (`.gz`).
        tokenised: Whether a line is one sentence, with its words between spaces.

    Raises:
        SuiteError: It cannot be read, is not UTF-8, or holds nothing.
        LimitError: A line is longer than what is read of a sentence.
    """
    if _is_treebank(path) and not tokenised:
        raise SuiteError(f"{path}: the words of a treebank are known. Leave --untokenised out.")
    within, n_lines, n_glued = limits(), 0, 0
    for number, line in _lines(path):
        if len(line) > within.sentence_chars:
            raise beyond("sentence_chars", f"{path}:{number}", "the line has more characters than")
        if tokenised and len(line.split()) > within.sentence_words:
            raise beyond("sentence_words", f"{path}:{number}", "the sentence has more words than")
        n_lines += 1
        n_glued += tokenised and _GLUED.search(line) is not None
    if not n_lines:
        raise SuiteError(f"{path}: is empty")
    with open_regular(path) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return Text(path, tokenised, sha256, n_lines, n_glued)


def _is_treebank(path: Path) -> bool:
    return bare_name(path).endswith(".conllu")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    lines = numbered_lines(path, "text_bytes", rows=False)
    if _is_treebank(path):
        yield from _sentences(path, lines)
    else:
        yield from ((number, line) for number, line in lines if not line.isspace() and line)


def _sentences(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Give the words of each sentence of a treebank, with the sentence's number."""
    words: list[str] = []
    n_sentences = 0
    for number, line in lines:
        if line.strip() and not line.startswith("#"):
            cells = line.split("\t")
            if len(cells) < 2 or not cells[1].strip():
                raise SuiteError(f"{path}:{number}: no line of CoNLL-U: a word has ten columns")
            if cells[0].isdecimal():  # not 3-4, two words written as one, nor 3.1, a word that is not written
                words.append("_".join(cells[1].split()))
        elif not line.strip() and words:
            n_sentences += 1
            yield n_sentences, " ".join(words)
            words = []
    if words:
        yield n_sentences + 1, " ".join(words)
