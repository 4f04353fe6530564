"""Rare words as their parts of speech, as in the training data of Linzen et al. 2016.

Source: TalLinzen/rnn_agreement, collect_agreement.py, by which their table was made: words are in lower
case, the 10,000 most frequent ones of the corpus stay, every other one becomes its Penn tag, subject and verb
too: NN and NNS, VBZ and VBP tell the number. The other form of VBZ is VBP. Departure: so it is where the verb
stays and its other form is rare, which else would be known as the wrong one by being unknown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, quoted_text
from tseval.formats import numbered_lines
from tseval.suites.agreement.english import TAGS
from tseval.suites.agreement.treebank import read_treebank

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from tseval.suites.agreement.examples import Example
    from tseval.suites.agreement.treebank import Sentence


@dataclass(frozen=True, slots=True)
class Frequent:
    """Which words stay.

    Attributes:
        n: The most frequent ones, so many.
        texts: What they are counted in, one sentence a line, with spaces between its words; none for the
            treebanks themselves.
    """

    n: int
    texts: tuple[Path, ...] = ()


def frequent_words(files: Sequence[Path], frequent: Frequent) -> frozenset[str]:
    """Find the most frequent words, in lower case; among equally frequent ones the first by alphabet.

    Raises:
        SuiteError: A file cannot be read, or a text holds nothing.
    """
    counts: Counter[str] = Counter()
    for text in frequent.texts:
        before = counts.total()
        for _, line in numbered_lines(text, "text_bytes", rows=False):
            counts.update(line.lower().split())
        if counts.total() == before:
            raise SuiteError(f"{text}: is empty")
    if not frequent.texts:
        for file in files:
            for sentence in read_treebank(file):
                counts.update(word.form.lower() for word in sentence.words)
    return frozenset(sorted(counts, key=lambda word: (-counts[word], word))[: frequent.n])


def with_tags(example: Example, sentence: Sentence, kept: Collection[str]) -> Example:
    """Write an example with tags in place of rare words.

    Args:
        example: Of this sentence.
        sentence: Its tree.
        kept: Words that stay, in lower case.

    Raises:
        SuiteError: The treebank has no Penn tags, or a rare word has none.
    """
    if not sentence.penn:
        raise SuiteError(
            f"{example.source}: has no Penn tags (VBZ, VBP) in column 5, which stand in for rare words.\n"
            "  Leave --frequent out."
        )
    words = list(_written(sentence, kept))
    verb, opposite, how = words[example.verb_index], example.opp_verb_form.lower(), example.opp_how
    if verb in TAGS or opposite not in kept:
        tag = sentence.words[example.verb_index].tag
        assert tag is not None
        opposite, how = TAGS[tag], "tag"
    assert example.subj_index is not None
    return replace(
        example,
        sentence=" ".join(words),
        subj_form=words[example.subj_index],
        verb_form=verb,
        opp_verb_form=opposite,
        opp_how=how,
    )


def _written(sentence: Sentence, kept: Collection[str]) -> Iterator[str]:
    for word in sentence.words:
        form = word.form.lower()
        if form in kept:
            yield form
        elif word.tag is None:
            raise SuiteError(
                f"{sentence.sent_id}: {quoted_text(word.form)} is rare, and has no tag in column 5 to "
                "stand in for it.\n  Leave --frequent out."
            )
        else:
            yield word.tag
