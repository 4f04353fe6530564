"""Read trees from CoNLL-U files; error messages give the line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.files import beyond, limits
from tseval.formats import numbered_lines
from tseval.suites.agreement.forms import UNWRITTEN, is_elided
from tseval.suites.agreement.requests import FORM, LEMMA, UPOS, XPOS, Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from conllu import Token, TokenList


_COLUMNS = 10


@dataclass(frozen=True, slots=True)
class Tree:
    """A sentence of a treebank."""

    words: Sequence[Word]  # syntactic words: the parts of `don't` or `du`; no empty nodes
    # Written tokens: text, whether a space follows, and the words of the token (first, end).
    pieces: Sequence[tuple[str, bool, int, int]]
    name: str  # its sent_id, or its file and line
    document: str  # name of the document, or its sent_id up to the last `-`
    genre: str | None  # if the treebank states it

    def text(self, changed: int | None = None, form: str = "") -> str:
        """Return the sentence as written, with one word changed if given; no space follows *un'*."""
        parts = [
            (form + " " * (space and not is_elided(form)) if changed == first else text + " " * space)
            for text, space, first, _ in self.pieces
        ]
        return "".join(parts).strip()

    def tokens(self, changed: int | None = None, form: str = "") -> str:
        """Return the tokens with spaces between; a changed word must be a separate token."""
        written, places = as_written(self.words, self.contracted())
        if changed is not None:
            written[places[changed]] = "_".join(form.split())
        return " ".join(written)

    def contracted(self) -> list[tuple[int, int, str]]:
        """Return tokens whose text differs from their words, such as *don't*: first word, end, and text."""
        return [
            (first, end, text)
            for text, _, first, end in self.pieces
            if end - first > 1 and "".join(word.form for word in self.words[first:end]) != text
        ]

    def stands_alone(self, position: int) -> bool:
        """Check whether a word is written separately: not in *zum*, and not attached as *l'* in *l'eau*."""
        at = next((at for at, piece in enumerate(self.pieces) if piece[2:] == (position, position + 1)), None)
        if at is None:
            return False
        before = not self.pieces[at - 1][1] and self.pieces[at - 1][0][-1:].isalnum() if at else False
        after = self.pieces[at + 1][0] if at + 1 < len(self.pieces) and not self.pieces[at][1] else ""
        return not before and not after[:1].isalnum()


def as_written(
    words: Sequence[Word], contracted: Sequence[tuple[int, int, str]]
) -> tuple[list[str], list[int]]:
    """Return the written tokens of a sentence, and the index of the token of each syntactic word."""
    texts = {first: (end, text) for first, end, text in contracted}
    written: list[str] = []
    places: list[int] = []
    end = 0
    for at, word in enumerate(words):
        if at >= end:
            end, text = texts.get(at, (at + 1, word.form))
            written.append("_".join(text.split()))
        places.append(len(written) - 1)
    return written, places


def read_trees(path: Path) -> Iterator[Tree]:
    """Read the sentences of a CoNLL-U file; errors give the line."""
    document: str | None = None
    genre: str | None = None
    for line, block in _blocks(path):
        if not (tokens := _parse(path, line, block)):
            continue
        metadata = tokens.metadata
        if {"newdoc", "newdoc id"} & metadata.keys():
            document = metadata.get("newdoc id")
        genre = (
            metadata.get("genre")
            or metadata.get("newdoc genre")
            or (None if "newdoc id" in metadata else genre)
        )
        words = [token for token in tokens if isinstance(token["id"], int)]
        sent_id = metadata.get("sent_id")
        named = sent_id and (sent_id.rpartition("-")[0] or sent_id)
        yield Tree(
            words=[_word_of(token) for token in words],
            pieces=list(_pieces(tokens)),
            name=sent_id or f"{path.name}:{line}",
            document=document or named or " ".join(token["form"] for token in words),
            genre=genre,
        )


def _pieces(tokens: TokenList) -> Iterator[tuple[str, bool, int, int]]:
    """Yield the written tokens: single words, and multiword tokens."""
    end = 0
    for token in tokens:
        number = token["id"]
        space = (token["misc"] or {}).get("SpaceAfter") != "No"
        if isinstance(number, int):
            if number > end:
                yield token["form"], space, number - 1, number
        elif number[1] == "-":
            end = number[2]
            yield token["form"], space, number[0] - 1, number[2]


def _blocks(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each sentence, and the number of its first line; each sentence counts as a row."""
    block: list[str] = []
    n_sentences, first, bounds = 0, 1, limits()
    for number, line in numbered_lines(path, rows=False):
        if line.strip():
            if not block:
                first, n_sentences = number, n_sentences + 1
                if n_sentences > bounds.rows:
                    raise beyond("rows", path, "the file has too many sentences")
            block.append(line)
            if len(block) > bounds.sentence_words:
                raise beyond("sentence_words", f"{path}:{first}", "the sentence has too many lines")
        elif block:
            yield first, block
            block = []
    if block:
        yield first, block


def _parse(path: Path, first: int, block: Sequence[str]) -> TokenList:
    """Parse one sentence; an error gives the invalid line."""
    try:
        from conllu import parse_token_and_metadata  # noqa: PLC0415 - an optional dependency
        from conllu.exceptions import ParseException  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise SuiteError('reading treebanks needs conllu: pip install "tseval[conllu]"') from None
    written = 0  # number of the last word of the latest multiword token
    for number, line in enumerate(block, first):
        written = _check_columns(f"{path}:{number}", line, written)
    try:
        tokens = parse_token_and_metadata("\n".join(block))
    except (ParseException, ValueError):  # Python refuses to read a number with thousands of digits
        tokens = None
    for number, line in enumerate(block, first) if tokens is None else ():
        try:
            parse_token_and_metadata(line)
        except ParseException as error:
            raise SuiteError(f"{path}:{number}: no CoNLL-U: {error}") from None
        except ValueError:
            raise SuiteError(
                f"{path}:{number}: a number of this sentence has too many digits for CoNLL-U.\n  Correct "
                "the number in column 1 or 7."
            ) from None
    assert tokens is not None
    _check_tree(path, [number for number, line in enumerate(block, first) if line[0] != "#"], tokens)
    return tokens


def _check_columns(place: str, line: str, written: int) -> int:
    """Check the columns of a line; return the number of the last word of the latest multiword token.

    Words inside a multiword token may have the form `_`, as in UD Turkish IMST: the token has the text.
    """
    if line.startswith("#"):
        return written
    cells = line.split("\t")
    if len(cells) != _COLUMNS:
        raise SuiteError(
            f"{place}: this line has {len(cells)} columns, but a line of CoNLL-U has {_COLUMNS}.\n"
            f"  Write {_COLUMNS} columns for each word, with tabs between them."
        )
    features = [feature.partition("=")[0] for feature in cells[5].split("|")] if cells[5] != "_" else []
    if repeated := next((name for name in features if features.count(name) > 1), None):
        raise SuiteError(
            f"{place}: the feature {repeated!r} appears twice in column 6.\n  Write the feature once. A "
            f"feature with two values is written {repeated}=VALUE,VALUE."
        )
    inside = cells[0].isdecimal() and len(cells[0]) < 10 and int(cells[0]) <= written
    word = cells[0].isdecimal() and not inside and cells[3] not in {"PUNCT", "SYM", "X", "_"}
    if cells[1] == UNWRITTEN and (word or "-" in cells[0]):
        raise SuiteError(
            f"{place}: this line has _ in column 2, where the word must be. Some treebanks are published "
            "without their words.\n  Download the treebank with its words, or write the form in column 2."
        )
    if empty := [n for n, cell in enumerate(cells, 1) if not cell.strip()]:
        raise SuiteError(
            f"{place}: column {empty[0]} of this line is empty.\n  Write the value, or _ if the value is "
            "unknown."
        )
    last = cells[0].partition("-")[2]
    return int(last) if last.isdecimal() and len(last) < 10 else written


def _check_tree(path: Path, lines: Sequence[int], tokens: TokenList) -> None:
    """Refuse words that are not numbered from 1, invalid heads, several roots, and cycles."""
    words = [(line, token) for line, token in zip(lines, tokens, strict=True) if isinstance(token["id"], int)]
    for expected, (line, token) in enumerate(words, 1):
        if token["id"] != expected:
            raise SuiteError(
                f"{path}:{line}: the line has word {token['id']}, but word {expected} comes next.\n"
                "  Write 1, 2, 3, ... for the words of the sentence in column 1."
            )
        head = token["head"]
        if head is None or not 0 <= head <= len(words):
            raise SuiteError(
                f"{path}:{line}: the head of {token['form']!r} is {'_' if head is None else head}, but must "
                f"be 0 or the number of a word, 1 to {len(words)}.\n  Correct the head in column 7."
            )
    roots = [(line, token) for line, token in words if token["head"] == 0]
    if len(roots) > 1:
        line, token = roots[1]
        raise SuiteError(
            f"{path}:{line}: the sentence has two roots: both {token['form']!r} (this line) and "
            f"{roots[0][1]['form']!r} (an earlier line) have head 0.\n"
            "  Correct the head in column 7, or split the sentence in two."
        )
    reachable, heads = {0}, [0, *(token["head"] for _, token in words)]
    for line, token in words:
        above, at = set[int](), token["id"]
        while at not in reachable:
            if at in above:
                raise SuiteError(
                    f"{path}:{line}: the heads form a cycle: from the word {token['form']!r}, head by "
                    "head, one comes back to this word.\n"
                    "  Correct the heads in column 7."
                )
            above.add(at)
            at = heads[at]
        reachable |= above


def _word_of(token: Token) -> Word:
    values = {FORM: token["form"], UPOS: token["upos"], **(token["feats"] or {})}
    values |= {name: token[name] for name in (LEMMA, XPOS) if token[name] not in {None, "_"}}
    head = token["head"]
    return Word(
        {name: value for name, value in values.items() if value is not None},
        head - 1 if head else None,
        token["deprel"] or "",
    )
