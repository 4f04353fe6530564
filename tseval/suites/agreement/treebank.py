"""Read dependency treebanks in CoNLL-U: sentences of words, whatever tags mark number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.files import beyond, limits
from tseval.formats import numbered_lines
from tseval.suites.agreement.examples import PLURAL, SINGULAR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from conllu import Token, TokenList

NOUN_TAGS = {"NN": SINGULAR, "NNS": PLURAL}
VERB_TAGS = {"VBZ": SINGULAR, "VBP": PLURAL}
UD_NUMBERS = {"Sing": SINGULAR, "Plur": PLURAL}
_COLUMNS = 10


@dataclass(frozen=True, slots=True)
class TaggedWord:
    """A word of a tree.

    Attributes:
        form: As written; white space inside it is `_`.
        lemma: Its base form, or None.
        tag: In the treebank's own tag set (Penn's where its sentence says so), or None.
        head: Position of its head in the sentence, from 0; None for the root.
        relation: To its head, with subtype (`nsubj:pass`).
        noun: Number of a common noun, else None.
        verb: Number of a finite verb in the present tense, third person, else None.
        numberless: Whether it is finite and shows no number: a past form or a modal.
        typo: Whether the treebank marks it as one.
        paradigm: What it shares with its other number: lemma, part of speech and all features but number.
    """

    form: str
    lemma: str | None
    tag: str | None
    head: int | None
    relation: str
    noun: str | None
    verb: str | None
    numberless: bool
    typo: bool
    paradigm: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A tree.

    Attributes:
        words: The syntactic words: of `don't` or `du` the parts, and nothing that is not written.
        sent_id: Its name; where it has none, the file and its line.
        document: What it is a part of: the document's name, or what comes before the last `-` of its own.
        penn: Whether its words have Penn tags.
    """

    words: Sequence[TaggedWord]
    sent_id: str
    document: str
    penn: bool


def read_treebank(path: Path) -> Iterator[Sentence]:
    """Read the sentences of a treebank. Penn tags tell number; where there are none, `Number` does.

    Raises:
        SuiteError: `conllu` is not installed; a line is malformed, or a head is no word of its sentence, with
            file and line; there are neither Penn tags nor numbers.
    """
    penn = any(f"\t{tag}\t" in line for _, line in numbered_lines(path, rows=False) for tag in VERB_TAGS)
    if not penn and not any("Number=" in line for _, line in numbered_lines(path, rows=False)):
        raise SuiteError(
            f"{path}: nothing says which words are singular: there are no Penn tags (VBZ, VBP) in column 5 "
            "and no Number in column 6.\n  Agreement needs a treebank with one of them."
        )
    document: str | None = None
    for line, block in _blocks(path):
        tokens = _parse(path, line, block)
        if not tokens:
            continue
        about = tokens.metadata
        if {"newdoc", "newdoc id"} & about.keys():
            document = about.get("newdoc id")
        sent_id = about.get("sent_id")
        words = [token for token in tokens if isinstance(token["id"], int)]
        yield Sentence(
            words=[_word(token, penn) for token in words],
            sent_id=sent_id or f"{path.name}:{line}",
            document=document or _document_of(sent_id) or " ".join(token["form"] for token in words),
            penn=penn,
        )


def _document_of(sent_id: str | None) -> str | None:
    return None if sent_id is None else sent_id.rpartition("-")[0] or sent_id


def _blocks(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Give the lines of each sentence, and the number of the first one.

    Sentences are what is counted as rows: lines are not kept, and a text of ten million words has as many.
    """
    block: list[str] = []
    n_sentences, first, within = 0, 1, limits()
    for number, line in numbered_lines(path, rows=False):
        if line.strip():
            if not block:
                first, n_sentences = number, n_sentences + 1
                if n_sentences > within.rows:
                    raise beyond("rows", path, "has more sentences than")
            block.append(line)
            if len(block) > within.sentence_words:
                raise beyond("sentence_words", f"{path}:{first}", "the sentence has more lines than")
        elif block:
            yield first, block
            block = []
    if block:
        yield first, block


def _parse(path: Path, first: int, block: Sequence[str]) -> TokenList:
    """Parse one sentence; a line that cannot be is named."""
    try:
        from conllu import parse_token_and_metadata  # noqa: PLC0415 - an optional dependency
        from conllu.exceptions import ParseException  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise SuiteError('reading treebanks needs conllu: pip install "tseval[conllu]"') from None
    for number, line in enumerate(block, first):
        _check_columns(f"{path}:{number}", line)
    try:
        tokens = parse_token_and_metadata("\n".join(block))
    except (ParseException, ValueError):  # Python reads no number of thousands of digits
        tokens = None
    for number, line in enumerate(block, first) if tokens is None else ():
        try:
            parse_token_and_metadata(line)
        except ParseException as error:
            raise SuiteError(f"{path}:{number}: no CoNLL-U: {error}") from None
        except ValueError:
            raise SuiteError(f"{path}:{number}: no CoNLL-U: a number is too long") from None
    assert tokens is not None
    _check_tree(path, [number for number, line in enumerate(block, first) if line[0] != "#"], tokens)
    return tokens


def _check_columns(place: str, line: str) -> None:
    cells = line.split("\t")
    if line.startswith("#"):
        return
    if len(cells) != _COLUMNS:
        raise SuiteError(
            f"{place}: {len(cells)} columns, but a word in CoNLL-U has {_COLUMNS}, with tabs between"
        )
    if empty := [n for n, cell in enumerate(cells, 1) if not cell.strip()]:
        raise SuiteError(f"{place}: column {empty[0]} is empty; what is not known is _ in CoNLL-U")


def _check_tree(path: Path, lines: Sequence[int], tokens: TokenList) -> None:
    """Refuse words that are not numbered from 1, and heads that are no words."""
    words = [(line, token) for line, token in zip(lines, tokens, strict=True) if isinstance(token["id"], int)]
    for expected, (line, token) in enumerate(words, 1):
        if token["id"] != expected:
            raise SuiteError(f"{path}:{line}: word {token['id']} stands where word {expected} should")
        head = token["head"]
        if head is None or not 0 <= head <= len(words):
            raise SuiteError(
                f"{path}:{line}: the head of {token['form']!r} is {'_' if head is None else head}, "
                f"but the words are 1 to {len(words)}"
            )


def _word(token: Token, penn: bool) -> TaggedWord:
    features: dict[str, str | None] = token["feats"] or {}
    tag, pos = token["xpos"], token["upos"]
    finite = features.get("VerbForm", "Fin") == "Fin" and pos in {"VERB", "AUX"}
    present = features.get("Tense") == "Pres" and features.get("Mood", "Ind") == "Ind"
    number = UD_NUMBERS.get(features.get("Number") or "")
    if penn:
        noun, verb, numberless = NOUN_TAGS.get(tag), VERB_TAGS.get(tag), tag in {"VBD", "MD"}
    else:
        noun = number if pos == "NOUN" else None
        verb = number if finite and present and features.get("Person", "3") == "3" else None
        numberless = finite and features.get("Tense") == "Past"
    rest = sorted(f"{name}={value}" for name, value in features.items() if name != "Number")
    return TaggedWord(
        form="_".join(token["form"].split()),
        lemma=None if token["lemma"] == "_" else token["lemma"],
        tag="_".join(tag.split()) if tag and tag != "_" else None,
        head=token["head"] - 1 if token["head"] else None,
        relation=token["deprel"],
        noun=noun,
        verb=verb,
        numberless=numberless,
        typo=features.get("Typo") == "Yes",
        paradigm=(token["lemma"], pos, *rest),
    )
