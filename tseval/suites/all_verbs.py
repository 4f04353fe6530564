"""`SUITE:inflection`: compare all verbs of a list in the contexts of a suite (Newman et al. 2021)."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tseval.errors import SuiteError, counted
from tseval.items import suite_digest
from tseval.questions.inflection import NUMBER, SINGULAR, WORDS_BEFORE, Inflection
from tseval.suites.agreement.examples import PLURAL
from tseval.suites.data.critical import with_critical
from tseval.suites.inflection import AUXILIARIES, remove_s
from tseval.suites.opened import OpenedSuite
from tseval.suites.verb_lexicon import UNIMORPH, VerbLexicon, english_pairs, open_lexicon
from tseval.suites.views import INFLECTION, numbers_asked, pairs_of
from tseval.writing import MARKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tseval.items import Case, Suite
    from tseval.suites.opened import Selection
    from tseval.suites.views import Pair


# A case is about verbs only if the number of at least this share of its items follows from the verb forms.
MOST = 2 / 3
VALUE, OF_TREEBANKS = "value", {"Sing": SINGULAR, "Plur": PLURAL}
PAST = {("wasn't", "weren't")}


class InflectionSuite(OpenedSuite):
    """A suite that compares all verbs of a list in every context.

    `lexicon` is an argument of `open_lexicon`, or the rows of a list in a manifest.
    """

    def __init__(self, suite: OpenedSuite, lexicon: str | Path | Sequence[str] | None) -> None:
        self.suite = suite
        self.lexicon = lexicon

    def load(self, selection: Selection) -> Suite:
        """Load the suite and compare all verbs in every context."""
        return inflection_suite(self.suite.load(selection), self.lexicon, leave_out=not selection.cases)


def inflection_suite(
    suite: Suite, lexicon: str | Path | Sequence[str] | None = None, *, leave_out: bool = True
) -> Suite:
    """Return a suite that compares both forms of all verbs of a list after the words before its own verb.

    Args:
        suite: Its cases have one contrast of two sentences that differ in the number of a verb.
        lexicon: Path of a list of verbs, `unimorph:FILE`, rows of a list, or None for the English list.
        leave_out: Leave out cases that are not about the number of a verb, if there are other cases.

    Returns:
        The same items with one label, `context`. The features `right` and `wrong` are the forms of the
        suite's own verb. The feature `number` says which form is right. It comes from a feature of this name,
        from the number of the noun that the verb agrees with, or from the verb forms. `left_out` names the
        cases that are left out. `lexicon` holds the list.

    Raises:
        SuiteError: No case is about the number of a verb, or the list is unusable.
    """
    suite = with_critical(suite)
    pairs: dict[str, list[Pair]] = {}
    problems: list[SuiteError] = []
    contrasted = [case for case in suite.cases if len(case.contrasts) == 1] if leave_out else suite.cases
    for case in contrasted:
        with _kept(problems, leave_out):
            pairs[case.name] = list(pairs_of(case))
    contrasted = [case for case in contrasted if case.name in pairs]
    forms = {name: [_forms_of(pair) for pair in of_case] for name, of_case in pairs.items()}
    verbs = _opened(lexicon, [(case, forms[case.name]) for case in contrasted])
    verb_pairs = verbs.pairs | english_pairs() | frozenset(AUXILIARIES.items()) | PAST
    numbers: dict[str, list[str]] = {}
    for case in contrasted:
        with _kept(problems, leave_out):
            numbers[case.name] = _numbers(case, forms[case.name], verb_pairs)
    about_verbs = {name for name in numbers if _is_about_verbs(forms[name], numbers[name], verb_pairs)}
    if numbers and not about_verbs and lexicon is None:
        words = " and ".join(repr(form) for form in forms[min(numbers)][0])
        raise SuiteError(
            f"the sentences of the suite {suite.name!r} differ in words such as {words}, none of which is in "
            "the English list of verbs.\n  Name a list of words of the same kind: --lexicon FILE"
        )
    selected = [case for case in contrasted if case.name in (about_verbs or numbers)]
    if not selected:
        example = f" For example, {problems[0]}" if problems else ""
        raise SuiteError(
            f"the suite {suite.name!r} has no case in which two sentences differ in the number of a verb, "
            f"so :{INFLECTION} has nothing to compare.{example}\n"
            "  Use a suite about agreement, such as marvin_linzen."
        )
    notes = suite.notes
    if not about_verbs:
        notes += (
            f"none of the suite's own words is in the list {verbs.name}: check that they are of one kind",
        )
    for case in selected:
        if n_unsaid := numbers[case.name].count(""):
            notes += (
                f"case {case.name!r}: {counted(n_unsaid, 'item')} of {case.n_items:,} undecidable, because "
                "their words do not say whether the subject is singular or plural",
            )
    cases = tuple(
        _inflected(case, pairs[case.name], forms[case.name], numbers[case.name], verbs) for case in selected
    )
    names = {case.name for case in cases}
    return replace(
        suite,
        name=f"{suite.name}_{INFLECTION}",
        title=f"{suite.title}, all verbs",
        terminator=None,
        cases=cases,
        digest=suite_digest(None, cases),
        score="inflection",
        left_out=tuple(case.name for case in suite.cases if case.name not in names),
        lexicon=verbs.rows,
        notes=notes,
    )


@contextmanager
def _kept(problems: list[SuiteError], leave_out: bool) -> Iterator[None]:
    """Catch an error of a case and add it to `problems`, if cases may be left out."""
    try:
        yield
    except SuiteError as error:
        if not leave_out:
            raise
        problems.append(error)


def _opened(
    lexicon: str | Path | Sequence[str] | None, cases: Sequence[tuple[Case, Sequence[tuple[str, str]]]]
) -> VerbLexicon:
    """Open a list of verbs. Only a list of UniMorph needs the suite's own verbs."""
    if lexicon is not None and not isinstance(lexicon, str | Path):
        return VerbLexicon.from_rows(lexicon)
    published: list[tuple[str, str]] = []
    if str(lexicon).startswith(UNIMORPH):
        for case, forms in cases:
            try:
                numbers = _numbers(case, forms, frozenset())
            except SuiteError:
                continue
            published += {_in_order(pair, number) for pair, number in zip(forms, numbers, strict=True)}
    return open_lexicon(lexicon, published)


def _in_order(forms: tuple[str, str], number: str) -> tuple[str, str]:
    """Return the singular form and the plural form, given the right and the wrong one."""
    return forms if number == SINGULAR else (forms[1], forms[0])


def _numbers(case: Case, forms: Sequence[tuple[str, str]], known: frozenset[tuple[str, str]]) -> list[str]:
    """Return the number of every item's verb; empty if it is unknown.

    A feature of the case gives the number; in pairs of a treebank, the column `value` does. Otherwise the
    verb forms decide, if most of the case's verbs are known; the two forms may differ in tense (`is` and
    `weren't`). The third person of an unknown verb is then recognised by rule.
    """
    try:
        return numbers_asked(case, forms)
    except SuiteError:
        if VALUE in case.features.column_names:
            values = [str(value) for value in case.features[VALUE].to_pylist()]
            if OF_TREEBANKS.keys() >= set(values):
                return [OF_TREEBANKS[value] for value in values]
        singular, plural = ({pair[place] for pair in known} for place in (0, 1))
        numbers = [
            SINGULAR
            if right in singular and wrong in plural
            else PLURAL
            if right in plural and wrong in singular
            else ""
            for right, wrong in forms
        ]
        if sum(map(bool, numbers)) < MOST * len(numbers):
            raise
        return [
            number or (SINGULAR if remove_s(right) == wrong else PLURAL if remove_s(wrong) == right else "")
            for number, (right, wrong) in zip(numbers, forms, strict=True)
        ]


def _forms_of(pair: Pair) -> tuple[str, str]:
    """Return the right and the wrong form of an item's verb, without final marks that both have."""
    right, wrong = pair.forms
    while len(right) > 1 and len(wrong) > 1 and right[-1] == wrong[-1] and right[-1] in MARKS:
        right, wrong = right[:-1], wrong[:-1]
    return right, wrong


def _is_about_verbs(
    forms: Sequence[tuple[str, str]], numbers: Sequence[str], known: frozenset[tuple[str, str]]
) -> bool:
    """Return whether some item contrasts a known verb; anaphors and nouns are not verbs."""
    return any(_in_order(pair, number) in known for pair, number in zip(forms, numbers, strict=True))


def _inflected(
    case: Case,
    pairs: Sequence[Pair],
    forms: Sequence[tuple[str, str]],
    numbers: Sequence[str],
    verbs: VerbLexicon,
) -> Case:
    contexts = [" ".join(pair.better[: pair.critical]) for pair in pairs]
    right, wrong = zip(*forms, strict=True)
    added = {
        WORDS_BEFORE: pa.array(contexts, pa.string()), NUMBER: pa.array(numbers, pa.string()),
        "right": pa.array(right, pa.string()), "wrong": pa.array(wrong, pa.string()),
    }  # fmt: skip
    names = [name for name in case.features.column_names if name not in added]
    features: dict[str, Any] = {name: case.features[name] for name in names}
    return replace(
        case,
        question=Inflection(
            tuple((verb.sing, verb.plur) for verb in verbs.verbs),
            pa.array(right, pa.string()),
            pa.array(wrong, pa.string()),
        ),
        sentences=pa.table({WORDS_BEFORE: pa.array(contexts, pa.string())}),
        features=pa.table(features | added),
    )
