"""Penn tags instead of rare words in examples, as in the training data of Linzen et al. 2016.

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
from tseval.suites.agreement.english_verbs import TAGS
from tseval.suites.agreement.requests import XPOS
from tseval.suites.agreement.treebank import read_treebank

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from tseval.suites.agreement.examples import Example
    from tseval.suites.agreement.treebank import Sentence


@dataclass(frozen=True, slots=True)
class Frequent:
    """Which words stay."""

    n: int  # the most frequent ones, so many
    texts: tuple[Path, ...] = ()  # counted in these, a sentence a line; none for the treebanks themselves


def frequent_words(files: Sequence[Path], frequent: Frequent) -> frozenset[str]:
    """Find the most frequent words, in lower case; among equally frequent ones the first by alphabet."""
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
    """Write an example of a sentence with tags instead of rare words; `kept` are in lower case."""
    if not sentence.penn:
        raise SuiteError(
            f"{example.source}: --frequent replaces rare words by Penn tags, but column 5 of this treebank "
            "has no Penn tags (VBZ, VBP).\n  Leave --frequent out."
        )
    words = []
    for word in sentence.words:
        form, tag = word.form.lower(), "_".join(word.values.get(XPOS, "").split())
        if form not in kept and not tag:
            raise SuiteError(
                f"{sentence.name}: --frequent replaces rare words by Penn tags, but the rare word "
                f"{quoted_text(word.form)} has no tag in column 5.\n  Write a tag in column 5, or leave "
                "--frequent out."
            )
        words.append(form if form in kept else tag)
    verb, opposite, origin = words[example.verb_index], example.opp_verb_form.lower(), example.opp_how
    if verb in TAGS or opposite not in kept:
        opposite, origin = TAGS[sentence.words[example.verb_index].values[XPOS]], "tag"
    assert example.subj_index is not None
    return replace(
        example,
        sentence=" ".join(words),
        subj_form=words[example.subj_index],
        verb_form=verb,
        opp_verb_form=opposite,
        opp_how=origin,
    )
