"""The texts of contexts: drawn from suites, or cut from a text file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, counted, quoted_text, suggest
from tseval.suites.penn_tokens import spans
from tseval.writing import BOUNDARY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    import numpy as np
    from numpy.typing import NDArray

    from tseval.items import Case, Suite

    Text = tuple[str, ...]  # its sentences, in order


FEWEST = 5  # minimum number of different sentences from which a text of `same` or of a suite is made
GRAMMATICAL, UNGRAMMATICAL = "grammatical", "ungrammatical"


@dataclass(frozen=True, slots=True)
class Source:
    """The sentences of one case that a text may contain, by item."""

    case: Case
    labels: tuple[str, ...]  # the labels of the sentences that may be chosen
    terminator: str | None

    def sentence(self, row: int, random: Random) -> str:
        """Return a random sentence of an item, with its terminator."""
        label = self.labels[int(random.random() * len(self.labels))]
        text = str(self.case.sentences[label][row].as_py())
        return text if self.terminator is None else f"{text} {self.terminator}"


def sources_of(suite: Suite, label: str | None, named: str) -> list[Source]:
    """Return the cases of a suite with sentences that have a label, or that are better in some contrast.

    Args:
        suite: The suite.
        label: A label of its sentences, `grammatical` for better or `ungrammatical` for worse sentences.
        named: The source, as the user wrote it.

    Raises:
        SuiteError: No case has such sentences.
    """
    labels = {case.name: _labels_in(case, label) for case in suite.cases}
    sources = [Source(case, labels[case.name], suite.terminator) for case in suite.cases if labels[case.name]]
    if sources and sum(source.case.n_items for source in sources):
        return sources
    if not suite.n_items:
        raise SuiteError(f"--context {named}: the suite {suite.name} has no items.\n  Name another suite.")
    if label is None:
        raise SuiteError(
            f"--context {named}: the suite {suite.name} does not say which of its sentences are better, so "
            "tseval cannot choose sentences for the contexts.\n"
            f"  Choose sentences by their label, such as --context {named}#{suite.cases[0].labels[0]}."
        )
    all_labels = dict.fromkeys(name for case in suite.cases for name in case.labels)
    raise SuiteError(
        f"--context {named}: the suite {suite.name} has no sentences with the label {label!r}.\n"
        f"  {suggest(label, all_labels, 'Labels')}"
    )


def _labels_in(case: Case, label: str | None) -> tuple[str, ...]:
    if label in case.labels:
        return (label,)
    better = dict.fromkeys(contrast.better for contrast in case.contrasts)
    if label in (None, GRAMMATICAL):
        return tuple(better)
    if label == UNGRAMMATICAL:
        worse = dict.fromkeys(contrast.worse for contrast in case.contrasts)
        return tuple(name for name in worse if name not in better)
    return ()


def draw_text(
    choices: Sequence[tuple[Source, Sequence[int] | NDArray[np.int64]]], n_words: int, random: Random
) -> Text:
    """Return a text of exactly `n_words` words, from sentences that are drawn without replacement.

    The sentence that is drawn first comes last, so a longer text of the same `random` ends with the shorter
    text. Each case has the same chance, large or small. If all sentences are drawn, the draw starts again.
    The first sentence of the text is cut at its beginning to reach the exact length.

    Args:
        choices: Cases, each with the rows of items that may be drawn; at least one.
        n_words: Length of the text.
        random: The stream of the draw. Only `random()` is called, because Python guarantees its values.
    """
    sentences: list[str] = []
    n_remaining = n_words
    drawn: set[tuple[int, int]] = set()
    n_items = sum(len(rows) for _, rows in choices)
    while n_remaining > 0:
        at = int(random.random() * len(choices))
        source, rows = choices[at]
        row = int(random.random() * len(rows))
        if (at, row) in drawn:
            if len(drawn) == n_items:
                drawn.clear()
            continue
        drawn.add((at, row))
        text = source.sentence(int(rows[row]), random)
        length = len(text.split())
        sentences.append(
            text if length <= n_remaining else " ".join(text.replace(BOUNDARY, " ").split()[-n_remaining:])
        )
        n_remaining -= length
    return tuple(reversed(sentences))


def cut_texts(lines: Sequence[Sequence[str]], n_words: int, most: int, random: Random) -> list[Text]:
    """Cut stretches of `n_words` words from a text, each ending at a line end, and draw some of them.

    Stretches do not overlap.
    """
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    stretches: list[Text] = []
    end = len(lines)
    while end and starts[end] >= n_words:
        first = end - 1
        while starts[first] > starts[end] - n_words:
            first -= 1
        cut = starts[end] - n_words - starts[first]
        words = [lines[first][cut:], *lines[first + 1 : end]]
        stretches.append(tuple(" ".join(line) for line in words))
        end = first
    random.shuffle(stretches)
    return stretches[:most]


def words_of_lines(lines: Sequence[Sequence[str]], tokenise: bool) -> list[list[str]]:
    """Return the words of lines, or their Penn Treebank tokens."""
    if not tokenise:
        return [list(line) for line in lines]
    texts = (" ".join(line) for line in lines)
    return [[text[start:end] for start, end in spans(text, penn=True)] for text in texts]


def too_short(named: str, n_words: int, wanted: int, each: int, n_texts: int) -> SuiteError:
    """Make the error for a text file that is too short for the contexts."""
    if not n_words:
        return SuiteError(
            f"--context {named}: the file has no words, but --context-words asks for {wanted}.\n"
            "  Name a file with text, or write --context-words 0 for no context."
        )
    if n_texts:
        return SuiteError(
            f"--context {named}: the file has {counted(n_words, 'word')}, enough for {n_texts} contexts of "
            f"{wanted} words, but --contexts asks for {each}.\n"
            f"  Write --contexts {n_texts}, or name a longer file."
        )
    return SuiteError(
        f"--context {named}: the file has {counted(n_words, 'word')}, but --context-words asks for "
        f"{wanted}.\n  Write --context-words {n_words}, or name a longer file."
    )


def contains_item(named: str, case: str, item: int, sentence: str) -> SuiteError:
    """Make the error for an item that all possible contexts contain."""
    return SuiteError(
        f"--context {named}: the context contains the sentence {quoted_text(sentence, 60)}, which is item "
        f"{item} of the case {case!r}.\n"
        "  Name a source without this sentence, or choose other items with --case or --limit."
    )


def enough_sentences(source: Source, rows: NDArray[np.int64]) -> bool:
    """Return whether these items of a case have enough different sentences for a text."""
    seen: set[str] = set()
    for row in rows.tolist():
        seen |= {str(source.case.sentences[label][row].as_py()) for label in source.labels}
        if len(seen) >= FEWEST:
            return True
    return False
