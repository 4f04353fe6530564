"""Parse a text into a file of trees, block by block, so that a kill costs one block and changes no byte.

While it grows, the file is called FILE.partial, and FILE.resume says how far it is. Blocks are parsed one by
one: what the parser computes together is the same however often it was stopped.
"""

from __future__ import annotations

import gzip
import json
import os
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import islice, takewhile
from typing import IO, TYPE_CHECKING

from tseval.errors import SuiteError, reason
from tseval.files import PARTIAL, beyond, limits, take_lock, write_whole
from tseval.formats import ContentError, checked, numbered_lines, read_json
from tseval.suites.parsing.trees import is_tree, to_conllu

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tseval.suites.parsing.parser import Parser
    from tseval.suites.parsing.text import Text
    from tseval.suites.parsing.trees import ParsedWord

BLOCK_LINES = 1000  # lines


@dataclass(slots=True)
class Parsed:
    """How far a text is parsed.

    Attributes:
        about: What the trees depend on, the comments at the head of the file.
        lines: Lines of the text that are done.
        size: Bytes of the partial file that hold their trees.
        sentences: Sentences written.
        words: Words in them.
        left_out: Sentences for which the parser gave no tree.
    """

    about: list[str]
    lines: int = 0
    size: int = 0
    sentences: int = 0
    words: int = 0
    left_out: int = 0


def check_trees_path(output: Path, resume: bool) -> None:
    """Refuse what cannot be written, or must not be overwritten, before anything is read.

    Raises:
        SuiteError: Says what to do.
    """
    if not output.name.endswith((".conllu", ".conllu.gz")):
        raise SuiteError(f"{output}: the name of a file of trees ends in .conllu or .conllu.gz")
    if not output.absolute().parent.is_dir():
        raise SuiteError(f"{output.parent}: no such folder")
    if output.exists() and not resume:
        raise SuiteError(f"{output}: exists already. Choose another -o, or remove it.")
    if _record(output).exists() and not resume:
        raise SuiteError(
            f"{output}: was begun and interrupted. Add --resume to go on with it, or remove "
            f"{_record(output)} to start over."
        )


def parse_text(
    text: Text, output: Path, parser: Parser, progress: Callable[[int, int], None] | None = None
) -> Parsed | None:
    """Write the trees of a text, or go on with it; a file that is complete is only looked at.

    A sentence for which the parser gives no tree is left out and counted.

    Args:
        text: What is parsed.
        output: Where to write, `.conllu` or `.conllu.gz`.
        parser: How.
        progress: Called with the lines done and their number.

    Returns:
        What was written; None where the file was complete already.

    Raises:
        SuiteError: What is there was made from another text, by another parser or otherwise; another process
            writes it; it cannot be written; or there is no tree at all.
        LimitError: A sentence is longer than what `tseval data agreement` reads.
    """
    about = _about(text, parser)
    if output.exists():
        _compare(output, about, _head(output))
        _record(output).unlink(missing_ok=True)
        return None
    with _written(output), _partial(output) as file:
        parsed = _take_up(output, about, file)
        rest = islice(text.lines(), parsed.lines, None)
        while block := list(islice(rest, BLOCK_LINES)):
            content = "".join(_trees(block, text, parser, parsed)).encode()
            # A block is a member of its own, without a time stamp: the same trees give the same bytes.
            file.write(gzip.compress(content, mtime=0) if output.suffix == ".gz" else content)
            file.flush()
            os.fsync(file.fileno())
            parsed.lines, parsed.size = parsed.lines + len(block), file.tell()
            write_whole(_record(output), json.dumps(asdict(parsed)).encode())
            if progress:
                progress(parsed.lines, text.n_lines)
    if not parsed.sentences:
        raise SuiteError(f"{text.path}: the parser gave no tree for any of its {parsed.left_out:,} sentences")
    with _written(output):
        _grown(output).replace(output)
        _record(output).unlink()
    return parsed


def _about(text: Text, parser: Parser) -> list[str]:
    form = "one sentence a line" if text.tokenised else "running text"
    return [
        f"generator = tseval {version('tseval')}",
        f"parser = {parser.name}",
        f"source = {text.name}, {form}, SHA-256 {text.sha256}",
    ]


def _trees(block: list[tuple[int, str]], text: Text, parser: Parser, parsed: Parsed) -> Iterator[str]:
    """Give the trees of some lines in CoNLL-U, and count them."""
    for number, sentences in parser.parse(block, text.tokenised):
        for n, words in enumerate(sentences, 1):
            if not is_tree([word.head for word in words]):
                parsed.left_out += 1
                continue
            # Up to the last hyphen it names the document: sentences of a line stay in one split.
            comments = [f"sent_id = {text.stem}-{number}-{n}", f"text = {_running(words)}"]
            if not parsed.sentences:
                comments = [*parsed.about, *comments]
            if len(words) + len(comments) > limits().sentence_words:
                raise beyond("sentence_words", f"{text.path}:{number}", "a sentence has more words than")
            parsed.sentences += 1
            parsed.words += len(words)
            yield to_conllu(words, comments)


def _running(words: list[ParsedWord]) -> str:
    return "".join(word.form if word.glued else f"{word.form} " for word in words).rstrip()


def _grown(output: Path) -> Path:
    return output.with_name(f"{output.name}{PARTIAL}")


def _record(output: Path) -> Path:
    return output.with_name(f"{output.name}.resume")


@contextmanager
def _partial(output: Path) -> Iterator[IO[bytes]]:
    """Open the file that grows, for this process alone."""
    held = take_lock(_grown(output))
    if held is None:
        raise SuiteError(
            f"{output}: is being written by another tseval.\n  Wait for it, or choose another -o."
        )
    with os.fdopen(held, "r+b") as file:
        yield file


def _take_up(output: Path, about: list[str], file: IO[bytes]) -> Parsed:
    """Say how far a parse was, and leave nothing in the file but what was complete then."""
    record = _record(output)
    parsed = Parsed(about)
    if record.exists():
        try:
            parsed = checked(read_json(record), Parsed)
        except ContentError as error:
            raise SuiteError(f"{record}: {error}.\n  Remove it to start over.") from None
        _compare(output, about, parsed.about)
        if not 0 <= parsed.size <= file.seek(0, os.SEEK_END) or parsed.lines < 0:
            raise SuiteError(
                f"{_grown(output)}: does not hold what {record.name} says.\n  Remove {record} to start over."
            )
    file.truncate(parsed.size)
    file.seek(parsed.size)
    return parsed


def _head(output: Path) -> list[str]:
    """Read the comments at the head of a file of trees."""
    lines = (line for _, line in numbered_lines(output, rows=False))
    return [line.removeprefix("# ") for line in takewhile(lambda line: line.startswith("# "), lines)]


def _compare(output: Path, about: list[str], found: list[str]) -> None:
    """Refuse to go on with what was made otherwise."""
    for line, other in zip(about, [*found, *[""] * len(about)], strict=False):
        if line != other:
            said = f"was begun with {other}," if other else "does not say what it was made from,"
            raise SuiteError(
                f"{output}: {said} and now it is {line}.\n"
                "  Give the same text, parser and options, or choose another -o."
            )


@contextmanager
def _written(output: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SuiteError(
            f"{output}: cannot be written: {reason(error)}.\n"
            "  What was parsed is kept: once it can be written, add --resume to go on."
        ) from None
