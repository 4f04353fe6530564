"""Views: other questions about the pairs of a suite, each as a new suite (`SUITE:METHOD`).

In papers on agreement, classifiers predict the number of a verb or judge a sentence, and models are tested
after every word. Here each question is a choice between two sentences with one prefix. So every model that
scores sentences can answer it, and every table can be made from the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tseval.errors import SuiteError, suggest
from tseval.items import POSITION, WORD, Feature, as_entries, suite_digest, take_rows
from tseval.questions import Contrast
from tseval.questions.pairs import ENDING, Pairs
from tseval.suites.agreement.examples import EXAMPLE_NUMBERS, PLURAL, SINGULAR
from tseval.suites.opened import OpenedSuite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tseval.items import Case, Suite
    from tseval.suites.opened import Selection


NUMBER = "number"
_OF_A_SLOT = f"_{NUMBER}"  # `subject_number`: grammars state the number of each noun


def numbers_asked(case: Case, forms: Sequence[tuple[str, str]]) -> list[str]:
    """Return the number, `sing` or `plur`, that the critical word of every item should have.

    A feature `number` states it. Otherwise it is the number of the noun that the word agrees with: the one
    feature such as `subject_number` that determines the right form. (The digest of a suite covers its
    features, so adding `number` to a published suite would change the suite.)
    """
    if NUMBER in case.features.column_names:
        stated: list[Any] = case.features[NUMBER].to_pylist()
        for value in dict.fromkeys(stated):
            if value not in EXAMPLE_NUMBERS:
                raise SuiteError(
                    f"case {case.name!r}: the feature {NUMBER!r} of an item has the value {value!r}.\n"
                    f"  Write {' or '.join(EXAMPLE_NUMBERS)}."
                )
        return stated
    candidates = {
        tuple(numbers)
        for name in case.features.column_names
        if name.endswith(_OF_A_SLOT)
        and _chosen_by(numbers := [str(value) for value in case.features[name].to_pylist()], forms)
    }
    if len(candidates) == 1:
        return list(candidates.pop())
    raise SuiteError(
        f"case {case.name!r} has no feature {NUMBER!r}, the number that the verb should have.\n"
        "  In a grammar, add under 'features': 'number: subject.number', naming the noun that the verb "
        f"agrees with;\n  in data, a column {NUMBER!r} of sing and plur. "
        f"{suggest(NUMBER, case.features.column_names, 'Features')}"
    )


def _chosen_by(numbers: Sequence[str], forms: Sequence[tuple[str, str]]) -> bool:
    """Return whether the numbers determine the right form: each form is right with one number only."""
    right: dict[tuple[str, str], str] = {}
    for (better, worse), number in zip(forms, numbers, strict=True):
        if number not in EXAMPLE_NUMBERS or right.setdefault((better, worse), number) != number:
            return False
    return all(right.get((worse, better)) != number for (better, worse), number in right.items())


RIGHT, WRONG = "right", "wrong"
SHOWN, ITEM = "shown", "item"
# The answers of a classifier: words that occur in no text.
NUMBER_WORDS = {SINGULAR: "<singular>", PLURAL: "<plural>"}
JUDGEMENTS = ("<grammatical>", "<ungrammatical>")


@dataclass(frozen=True, slots=True)
class Pair:
    """The two sentences of an item, and what is known about it."""

    better: list[str]  # words of the better sentence
    worse: list[str]
    critical: int  # position of the first word that differs, from 0
    number: str | None = None  # `sing` or `plur`, if the view needs it

    @property
    def forms(self) -> tuple[str, str]:
        """Return the words at the critical position, the better first."""
        return self.better[self.critical], self.worse[self.critical]

    @property
    def number_words(self) -> tuple[str, str]:
        """Return the right word for the number, then the wrong one."""
        singular, plural = NUMBER_WORDS.values()
        return (singular, plural) if self.number == SINGULAR else (plural, singular)


# A choice of the last word: the words before it, the right and the wrong word, and features.
LastWord = tuple[Sequence[str], tuple[str, str], tuple[Feature, ...]]


def _number(pair: Pair, _: bool) -> Iterator[LastWord]:
    yield pair.better[: pair.critical], pair.number_words, ()


def _judgement(pair: Pair, as_found: bool) -> Iterator[LastWord]:
    right, wrong = JUDGEMENTS if as_found else JUDGEMENTS[::-1]
    version = "grammatical" if as_found else "ungrammatical"
    yield pair.better if as_found else pair.worse, (right, wrong), (version,)


def _both(pair: Pair, _: bool) -> Iterator[LastWord]:
    for as_found in (True, False):
        yield from _judgement(pair, as_found)


def _profile(pair: Pair, _: bool) -> Iterator[LastWord]:
    words = pair.forms if pair.number is None else pair.number_words
    for length in range(1, pair.critical + 1):
        yield pair.better[:length], words, (length, pair.better[length - 1])


@dataclass(frozen=True, slots=True)
class View:
    """A method for any suite of pairs."""

    title: str  # name of the question
    ask: Callable[[Pair, bool], Iterator[LastWord]]  # makes the questions of an item; bool: a coin toss
    features: tuple[str, ...] = ()  # features that a question adds to those of its item
    needs_number: bool = False  # whether the case must state the number of the subject
    whole: bool = False  # whether sentences are whole, not only up to the critical word
    twice: bool = False  # whether each item has two questions
    by_coin: bool = False  # whether a coin toss chooses the question


VIEWS = {
    "number": View("number prediction", _number, needs_number=True),
    "judgement": View("grammaticality judgement", _judgement, (SHOWN,), whole=True, by_coin=True),
    "judgement_both": View(
        "grammaticality judgement of both sentences", _both, (SHOWN,), whole=True, twice=True
    ),
    "profile": View("verb form after each word", _profile, (POSITION, WORD)),
    "number_profile": View(
        "number prediction after each word", _profile, (POSITION, WORD), needs_number=True
    ),
}


# Not a view: it compares all verbs of a list in each context (`tseval.suites.all_verbs`).
INFLECTION = "inflection"
METHODS = (*VIEWS, INFLECTION)


def view_suite(suite: Suite, method: str, seed: int, leave_out: bool = False) -> Suite:
    """Return a suite with another question about every item.

    Args:
        suite: Its cases have one contrast of two labels. If no feature states the number of the verb, it is
            the number of the noun that determines the form of the critical word.
        method: One of `VIEWS`. `number`: singular or plural, after the words before the critical word (the
            first that differs). `judgement`: grammatical or not, after one whole sentence of the item;
            `judgement_both`: after each of the two. `profile`: the right or the wrong form, after every
            prefix of the sentence up to the critical word; `number_profile`: singular or plural, after each.
        seed: Seed for the sentence of each item that `judgement` shows.
        leave_out: Leave out cases that compare more than two sentences, if there are other cases.

    Returns:
        The same cases with the labels `right` and `wrong`; `left_out` names the cases that are left out.
        Items keep their numbers. In a profile an item has one row for each word before the critical word,
        with `judgement_both` two rows. `seed` is set only if it had an effect. New features replace features
        with the same name: `ending`, always 1; for judgements `shown` (`grammatical`, `ungrammatical`); in
        profiles `position` (number of words read) and `word` (the last of them).
    """
    pairs = [case for case in suite.cases if len(case.contrasts) == 1]
    viewed = pairs if leave_out and pairs else suite.cases
    cases = tuple(_view(case, VIEWS[method], suite.terminator, seed) for case in viewed)
    return replace(
        suite,
        name=f"{suite.name}_{method}",
        title=f"{suite.title}, {VIEWS[method].title}",
        terminator=None,
        cases=cases,
        digest=suite_digest(None, cases),
        score="ending",
        seed=seed if VIEWS[method].by_coin else None,
        left_out=tuple(
            case.name for case in suite.cases if all(case is not viewed_case for viewed_case in viewed)
        ),
    )


class ViewedSuite(OpenedSuite):
    """A suite with the question of a view about each item."""

    def __init__(self, suite: OpenedSuite, method: str) -> None:
        self.suite = suite
        self.method = method

    def load(self, selection: Selection) -> Suite:
        """Load the suite and apply the view to every item."""
        suite = self.suite.load(selection)
        return view_suite(suite, self.method, selection.seed, leave_out=not selection.cases)


def _view(case: Case, view: View, terminator: str | None, seed: int) -> Case:
    pairs = list(pairs_of(case, terminator, whole=view.whole))
    if view.needs_number:
        numbers = numbers_asked(case, [pair.forms for pair in pairs])
        pairs = [replace(pair, number=number) for pair, number in zip(pairs, numbers, strict=True)]
    items = case.index.to_pylist()
    choices = [
        (row, *question)
        for row, pair in enumerate(pairs)
        for question in view.ask(pair, _coin(seed, case.name, items[row]))
    ]
    rows = pa.array([row for row, *_ in choices], pa.int64())
    texts = {
        label: [" ".join([*prefix, words[place]]) for _, prefix, words, _ in choices]
        for place, label in enumerate((RIGHT, WRONG))
    }
    added: dict[str, Sequence[Any]] = {ENDING: [1] * len(choices)}
    added |= zip(view.features, zip(*(features for *_, features in choices), strict=True), strict=True)
    others = take_rows(case.features, rows).select([n for n in case.features.column_names if n not in added])
    features = dict(zip(others.column_names, others.columns, strict=True))
    entries = take_rows(case.entries, rows)
    if view.twice and not entries.num_columns:  # two questions about one pair are dependent
        entries = pa.table({ITEM: as_entries([str(index) for index in case.index.take(rows).to_pylist()])})
    return replace(
        case,
        question=Pairs((Contrast(RIGHT, WRONG),)),
        index=case.index.take(rows),
        sentences=pa.table({label: pa.array(column, pa.string()) for label, column in texts.items()}),
        features=pa.table(features | {name: pa.array(values) for name, values in added.items()}),
        entries=entries,
    )


def pairs_of(case: Case, terminator: str | None = None, *, whole: bool = False) -> Iterator[Pair]:
    """Yield the two sentences of every item, each with the terminator if they are shown whole.

    Raises:
        SuiteError: The case has no pairs, or the sentences of an item do not differ after their first word.
    """
    if len(case.contrasts) != 1:
        problem = "compares more than two sentences" if case.contrasts else "compares no two sentences"
        raise SuiteError(
            f"the case {case.name!r} {problem}, but this method needs pairs of sentences.\n  Choose other "
            "cases with --case."
        )
    (contrast,) = case.contrasts
    columns = (case.sentences[label].to_pylist() for label in (contrast.better, contrast.worse))
    for index, *texts in zip(case.index.to_pylist(), *columns, strict=True):
        better, worse = (str(text).split() for text in texts)
        positions = (
            position
            for position, (word, other_word) in enumerate(zip(better, worse, strict=False))
            if word != other_word
        )
        critical = next(positions, None)
        if critical is None or (critical == 0 and not whole):
            problem = "have no different words" if critical is None else "already differ in the first word"
            sentence = " ".join(better)
            raise SuiteError(
                f"case {case.name!r}, item {index}: this method needs two sentences that begin with the same "
                f"words and then differ in a word. These sentences {problem}. The better sentence is: "
                f"{sentence!r}.\n"
                "  Leave out that item, or choose other cases with --case."
            )
        if whole and terminator:
            better, worse = [*better, terminator], [*worse, terminator]
        yield Pair(better, worse, critical)


def _coin(seed: int, case: str, item: int | None) -> bool:
    """Toss a coin for an item; the result is the same on every machine and for any selection of items."""
    return bool(hashlib.sha256(f"{seed} {case} {item}".encode()).digest()[0] & 1)
