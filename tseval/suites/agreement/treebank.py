"""Find agreement examples in treebanks: subjects, and the verbs that agree with them.

Source: Linzen, Dupoux & Goldberg 2016, section 2, on gold trees. Departures: auxiliaries and copulas that
agree count too; coordinated subjects are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import SuiteError
from tseval.formats import numbered_lines
from tseval.suites.agreement.conllu import as_written, read_trees
from tseval.suites.agreement.english_verbs import opposite_form
from tseval.suites.agreement.examples import NO_NOUN, PLURAL, SINGULAR, Example
from tseval.suites.agreement.forms import with_capitals
from tseval.suites.agreement.requests import LEMMA, UPOS, XPOS, Word
from tseval.suites.agreement.splits import split_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tseval.suites.agreement.forms import SeenForms
    from tseval.suites.agreement.splits import Shares


NOUN_TAGS = {"NN": SINGULAR, "NNS": PLURAL}
VERB_TAGS = {"VBZ": SINGULAR, "VBP": PLURAL}
UD_NUMBERS = {"Sing": SINGULAR, "Plur": PLURAL}


@dataclass(frozen=True, slots=True)
class TaggedWord(Word):
    """A word of a tree with its number, from its Penn tag or its features."""

    noun: str | None  # number of a common noun
    verb: str | None  # number of a finite verb in the present tense, third person
    numberless: bool  # whether it is a finite verb without number: a past form or a modal


@dataclass(frozen=True, slots=True)
class Sentence:
    """A tree whose words have numbers."""

    words: Sequence[TaggedWord]
    name: str
    document: str
    penn: bool  # whether its words have Penn tags
    # Multiword tokens, such as *du* for *de le*: index of the first word, index after the last, and text.
    contracted: Sequence[tuple[int, int, str]] = ()


def read_treebank(path: Path) -> Iterator[Sentence]:
    """Read the sentences of a treebank. Number comes from Penn tags, or without them from `Number`."""
    penn = any(f"\t{tag}\t" in line for _, line in numbered_lines(path, rows=False) for tag in VERB_TAGS)
    if not penn and not any("Number=" in line for _, line in numbered_lines(path, rows=False)):
        raise SuiteError(
            f"{path}: the treebank does not say which words are singular or plural: column 5 has no Penn "
            "tags (VBZ, VBP), and column 6 has no feature Number.\n  Choose a treebank with Penn tags or "
            "with the feature Number."
        )
    for tree in read_trees(path):
        words = [_tagged(word, penn) for word in tree.words]
        yield Sentence(words, tree.name, tree.document, penn, tree.contracted())


def _tagged(word: Word, penn: bool) -> TaggedWord:
    values = word.values
    tag, pos = values.get(XPOS), values.get(UPOS)
    finite = values.get("VerbForm", "Fin") == "Fin" and pos in {"VERB", "AUX"}
    present = values.get("Tense") == "Pres" and values.get("Mood", "Ind") == "Ind"
    number = UD_NUMBERS.get(values.get("Number", ""))
    if penn:
        noun, verb, numberless = NOUN_TAGS.get(tag or ""), VERB_TAGS.get(tag or ""), tag in {"VBD", "MD"}
    else:
        noun = number if pos == "NOUN" else None
        verb = number if finite and present and values.get("Person", "3") == "3" else None
        numberless = finite and values.get("Tense") == "Past"
    return TaggedWord(values, word.head, word.relation, noun, verb, numberless)


SUBJECTS = ("nsubj", "nsubjpass")
AUXILIARIES = ("aux", "auxpass", "cop")

BEFORE = "verb before its subject"
COORDINATED = "coordinated subject"
DIFFERENT = "subject and verb differ in number"
TYPO = "subject or verb marked as a typo"
INVERTED = "another present auxiliary before the subject"
NUMBERLESS = "past or modal auxiliary before the verb"
CONTRACTED = "subject or verb written as one with another word"
NO_OPPOSITE = "no sure form in the other number"


def _attested(word: TaggedWord, forms: SeenForms) -> tuple[str, str] | None:
    """Return the most frequent form that differs from a verb only in number; None if there is none."""
    forms_by_number = {UD_NUMBERS.get(number): counted for number, counted in forms.of(word).items()}
    others = forms_by_number.get(PLURAL if word.verb == SINGULAR else SINGULAR)
    form = min(others, key=lambda candidate: (-others[candidate], candidate)) if others else None
    return None if form in {None, word.form.lower()} else (with_capitals(str(form), word.form), "attested")


def find_examples(
    sentence: Sentence, source: str, shares: Shares, forms: SeenForms, left_out: Counter[str]
) -> Iterator[Example]:
    """Yield an example for each subject noun and the verb that agrees with it.

    `forms` holds the verb forms of a treebank without Penn tags; English forms follow from rules. `left_out`
    counts the reasons why a subject and its verb make no example.
    """
    words = sentence.words
    for position, subject in enumerate(words):
        if subject.noun is None or subject.role not in SUBJECTS:
            continue
        # The words that may agree with a subject: its head, and auxiliaries and copula of the head.
        head = subject.head
        predicate = [
            index
            for index, word in enumerate(words)
            if index == head or (word.head == head and word.role in AUXILIARIES)
        ]
        if not any(words[index].verb for index in predicate):
            continue
        verb, reason = _target(words, position, predicate)
        verb_word, opposite = words[verb], None
        if reason is None and sentence.penn:
            opposite = opposite_form(verb_word.form, str(verb_word.verb), verb_word.values.get(LEMMA))
        elif reason is None:
            opposite = _attested(verb_word, forms)
        if reason is None and any(
            first <= at < end for first, end, _ in sentence.contracted for at in (position, verb)
        ):
            reason, opposite = CONTRACTED, None
        if opposite is None:
            left_out[reason or NO_OPPOSITE] += 1
            continue
        yield _example(sentence, position, verb, opposite, (source, split_of(sentence.document, shares)))


def _target(words: Sequence[TaggedWord], subject: int, predicate: Sequence[int]) -> tuple[int, str | None]:
    """Choose the first verb after a subject that agrees with it, and a reason if it is uncertain."""
    present = [index for index in predicate if words[index].verb]
    after = [index for index in present if index > subject]
    if not after:
        return present[0], BEFORE
    verb = after[0]
    problems = {
        COORDINATED: any(word.head == subject and word.role == "conj" for word in words),
        DIFFERENT: words[verb].verb != words[subject].noun,
        TYPO: "Yes" in {words[at].values.get("Typo") for at in (verb, subject)},
        INVERTED: any(index < subject and words[index].role != "cop" for index in present),
        NUMBERLESS: any(index < verb and words[index].numberless for index in predicate),
    }
    return verb, next((reason for reason, holds in problems.items() if holds), None)


def _example(
    sentence: Sentence, subject: int, verb: int, opposite: tuple[str, str], about: tuple[str, str]
) -> Example:
    words, number = sentence.words, sentence.words[subject].noun
    assert number is not None
    between = [word.noun for word in words[subject + 1 : verb] if word.noun]
    attractors = sum(noun != number for noun in between)
    role = words[verb].role
    written, places = as_written(sentence.words, sentence.contracted)
    return Example(
        sentence=" ".join(written),
        subj_index=places[subject],
        verb_index=places[verb],
        subj_form=words[subject].form,
        verb_form=words[verb].form,
        number=number,
        opp_verb_form=opposite[0],
        n_intervening=len(between),
        n_attractors=attractors,
        n_non_attractors=len(between) - attractors,
        distance=places[verb] - places[subject],
        last_intervening=between[-1] if between else NO_NOUN,
        source=about[0],
        sent_id=sentence.name,
        split=about[1],
        opp_how=opposite[1],
        verb_role=role if words[subject].head != verb else "main",
        subj_deprel=words[subject].relation,
    )
