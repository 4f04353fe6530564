"""Find agreement examples in trees.

Source: Linzen, Dupoux & Goldberg 2016, section 2, on gold trees. Departures: auxiliaries and copulas that
agree count too; coordinated subjects are left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tseval.suites.agreement.english import opposite_form, with_capitals
from tseval.suites.agreement.examples import EXAMPLE_NUMBERS, NO_NOUN, Example
from tseval.suites.agreement.splitting import split_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tseval.suites.agreement.splitting import Shares
    from tseval.suites.agreement.treebank import Sentence, TaggedWord

SUBJECTS = ("nsubj", "nsubjpass")
AUXILIARIES = ("aux", "auxpass", "cop")

BEFORE = "verb before its subject"
COORDINATED = "coordinated subject"
DIFFERENT = "subject and verb differ in number"
TYPO = "subject or verb marked as a typo"
INVERTED = "another present auxiliary before the subject"
NUMBERLESS = "past or modal auxiliary before the verb"
NO_OPPOSITE = "no sure form in the other number"


@dataclass(slots=True)
class Forms:
    """The forms of the verbs of a treebank, from which the opposite of each is taken."""

    _seen: dict[tuple[str, ...], Counter[str]] = field(default_factory=dict)

    def add(self, words: Iterable[TaggedWord]) -> None:
        """Note the verbs of a sentence."""
        for word in words:
            if word.verb is not None and not word.typo:
                self._seen.setdefault((*word.paradigm, word.verb), Counter())[word.form.lower()] += 1

    def opposite(self, word: TaggedWord) -> tuple[str, str] | None:
        """Give the most frequent form that is like a verb in all but number; None if none is seen."""
        (other,) = (number for number in EXAMPLE_NUMBERS if number != word.verb)
        seen = self._seen.get((*word.paradigm, other))
        if not seen:
            return None
        form = min(seen, key=lambda one: (-seen[one], one))
        if form == word.form.lower():
            return None
        return with_capitals(form, word.form), "attested"


def find_examples(
    sentence: Sentence, source: str, shares: Shares, forms: Forms, left_out: Counter[str]
) -> Iterator[Example]:
    """Find the nouns that are subjects, and the verb that agrees with each.

    Args:
        sentence: A tree.
        source: Name of the treebank.
        shares: Of the splits.
        forms: Verbs of the treebank, for treebanks without Penn tags; English forms follow from rules.
        left_out: Reasons why a subject and its verb make no example; counted up.
    """
    words = sentence.words
    for position, subject in enumerate(words):
        if subject.noun is None or subject.relation.partition(":")[0] not in SUBJECTS:
            continue
        predicate = _predicate(words, subject)
        if not any(words[index].verb for index in predicate):
            continue
        verb, reason = _target(words, position, predicate)
        opposite = None if reason else _opposite(words[verb], sentence.penn, forms)
        if opposite is None:
            left_out[reason or NO_OPPOSITE] += 1
            continue
        yield _example(sentence, position, verb, opposite, (source, split_of(sentence.document, shares)))


def _opposite(verb: TaggedWord, penn: bool, forms: Forms) -> tuple[str, str] | None:
    """Give a verb's other form and how it was found: by the rules of English, or in the treebank."""
    assert verb.verb is not None
    return opposite_form(verb.form, verb.verb, verb.lemma) if penn else forms.opposite(verb)


def _predicate(words: Sequence[TaggedWord], subject: TaggedWord) -> list[int]:
    """List the words that may agree with a subject: its head, and the head's auxiliaries and copula."""
    head = subject.head
    return [
        index
        for index, word in enumerate(words)
        if index == head or (word.head == head and _role(word) in AUXILIARIES)
    ]


def _role(word: TaggedWord) -> str:
    return word.relation.partition(":")[0]


def _target(words: Sequence[TaggedWord], subject: int, predicate: Sequence[int]) -> tuple[int, str | None]:
    """Choose the verb that agrees with a subject, the first after it, or say why none does surely."""
    present = [index for index in predicate if words[index].verb]
    after = [index for index in present if index > subject]
    if not after:
        return present[0], BEFORE
    verb = after[0]
    problems = {
        COORDINATED: any(word.head == subject and _role(word) == "conj" for word in words),
        DIFFERENT: words[verb].verb != words[subject].noun,
        TYPO: words[verb].typo or words[subject].typo,
        INVERTED: any(index < subject and _role(words[index]) != "cop" for index in present),
        NUMBERLESS: any(index < verb and words[index].numberless for index in predicate),
    }
    return verb, next((reason for reason, holds in problems.items() if holds), None)


def _example(
    sentence: Sentence, subject: int, verb: int, opposite: tuple[str, str], about: tuple[str, str]
) -> Example:
    """Put an example together; `about` is its source and its split."""
    words, number = sentence.words, sentence.words[subject].noun
    assert number is not None
    between = [word.noun for word in words[subject + 1 : verb] if word.noun]
    attractors = sum(noun != number for noun in between)
    role = _role(words[verb])
    return Example(
        sentence=" ".join(word.form for word in words),
        subj_index=subject,
        verb_index=verb,
        subj_form=words[subject].form,
        verb_form=words[verb].form,
        number=number,
        opp_verb_form=opposite[0],
        n_intervening=len(between),
        n_attractors=attractors,
        n_non_attractors=len(between) - attractors,
        distance=verb - subject,
        last_intervening=between[-1] if between else NO_NOUN,
        source=about[0],
        sent_id=sentence.sent_id,
        split=about[1],
        opp_how=opposite[1],
        verb_role=role if words[subject].head != verb else "main",
        subj_deprel=words[subject].relation,
    )
