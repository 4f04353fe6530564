"""Replace rare words of examples by Penn tags, as in the training data of Linzen et al. 2016.

Source: TalLinzen/rnn_agreement, collect_agreement.py, which made their table. Words are in lower case; the
10,000 most frequent words of the corpus stay, and every other word becomes its Penn tag. This includes
subject and verb: NN and NNS, VBZ and VBP show the number. The opposite of VBZ is VBP. Departure: if the verb
is frequent but its opposite is rare, the opposite is a tag too. Otherwise a model could recognise the wrong
form because it is unknown.
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
    """The number of frequent words that stay, and the texts in which they are counted."""

    n: int  # number of words
    texts: tuple[Path, ...] = ()  # texts with one sentence per line; empty to count in the treebanks


def frequent_words(files: Sequence[Path], frequent: Frequent) -> frozenset[str]:
    """Return the most frequent words, in lower case; ties are broken alphabetically."""
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
    """Return an example with tags for rare words; `kept` holds frequent words in lower case."""
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
