"""Penn Treebank tokens, for word-level models: `can't help himself.` becomes `ca n't help himself .`."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

from tseval.questions.pairs import ENDING
from tseval.questions.regions import Regions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nltk.tokenize import NLTKWordTokenizer

    from tseval.items import Case


def spans(text: str, penn: bool) -> Iterator[tuple[int, int]]:
    """Yield the start and end of every word: Penn Treebank tokens, or strings between spaces.

    Double quotes stay as they are in running text; the Treebank writes them as `` and ''.
    """
    if not penn:
        yield from (match.span() for match in re.finditer(r"\S+", text))
        return
    yield from _tokenizer().span_tokenize(text)


@cache
def _tokenizer() -> NLTKWordTokenizer:
    from nltk.tokenize import NLTKWordTokenizer  # noqa: PLC0415 - slow to import

    return NLTKWordTokenizer()


def tokens(text: str) -> list[str]:
    """Split a text into Penn Treebank tokens."""
    return [text[start:end] for start, end in spans(text, penn=True)]


def tokenise_case(case: Case) -> Case:
    """Split punctuation and clitics off the words of a case; count its endings or regions in tokens."""
    if isinstance(case.question, Regions):
        return _tokenise_regions(case, case.question)
    before = {label: list(map(str, case.sentences[label].to_pylist())) for label in case.labels}
    sentences = {label: [" ".join(tokens(text)) for text in texts] for label, texts in before.items()}
    features = case.features
    if ENDING in features.column_names:
        pairs = zip(before[case.labels[0]], features[ENDING].to_numpy(), strict=True)
        lengths = [len(tokens(" ".join(text.split()[-length:]))) for text, length in pairs]
        at = features.column_names.index(ENDING)
        features = features.set_column(at, ENDING, pa.array(lengths, pa.int64()))
    tokenised = {label: pa.array(texts, pa.string()) for label, texts in sentences.items()}
    return replace(case, sentences=pa.table(tokenised), features=features)


def _tokenise_regions(case: Case, question: Regions) -> Case:
    """Tokenise each region separately, so that no token belongs to two regions."""
    sentences: dict[str, list[str]] = {}
    counts: dict[str, list[list[int]]] = {}
    for label in case.labels:
        pairs = zip(case.sentences[label].to_pylist(), question.regions_of(label), strict=True)
        cut = [list(_cut(str(text), lengths)) for text, lengths in pairs]
        sentences[label] = [" ".join(token for part in parts for token in part) for parts in cut]
        counts[label] = [[len(part) for part in parts] for parts in cut]
    lengths = pa.table({label: pa.array(c, pa.list_(pa.int64())) for label, c in counts.items()})
    return replace(
        case,
        sentences=pa.table({label: pa.array(texts, pa.string()) for label, texts in sentences.items()}),
        question=replace(question, lengths=lengths),
    )


def _cut(text: str, lengths: Sequence[int]) -> Iterator[list[str]]:
    words = text.split(" ")
    for length in lengths:
        yield tokens(" ".join(words[:length]))
        words = words[length:]
