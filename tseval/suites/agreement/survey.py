"""The first pass over treebanks: collect forms and features, and count what rules need."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tseval.errors import SuiteError, suggest
from tseval.suites.agreement.conllu import read_trees
from tseval.suites.agreement.forms import SeenForms
from tseval.suites.agreement.request_reader import RELATION
from tseval.suites.agreement.requests import FORM, LEMMA, OWN, XPOS
from tseval.suites.agreement.word_list import WordList

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tseval.suites.agreement.phenomenon import Phenomenon
    from tseval.suites.agreement.requests import Word

_MANY = {FORM, LEMMA, XPOS}  # values with too many possibilities to list


@dataclass(slots=True)
class Survey:
    """The forms, features and relations of treebanks."""

    words: WordList | None  # for --strict
    seen: Mapping[str, SeenForms]  # for --lenient: one for each changed feature
    names: set[str] = field(default_factory=lambda: {*OWN})
    values: dict[str, set[str]] = field(default_factory=lambda: {RELATION: set()})

    def add(self, word: Word) -> None:
        """Add the features and the relation of a word."""
        self.names.update(word.values)
        for name, value in word.values.items():
            if name not in _MANY:
                self.values.setdefault(name, set()).add(value)
        self.values[RELATION] |= {word.relation, word.role}

    def lacks(self, phenomenon: Phenomenon) -> str | None:
        """Return what a phenomenon needs but no word has, with similar names; None if nothing is missing."""
        if missing := sorted(phenomenon.file.needs - self.names):
            named = " and ".join(map(repr, missing))
            plural = "s" * (len(missing) > 1)
            hints = "".join(
                f"\n  {suggest(name, self.names, 'Features in the treebanks')}" for name in missing
            )
            return (
                f"the request needs the feature{plural} {named}, but no word of the treebanks has "
                f"{'these features' if plural else 'this feature'}.{hints}"
            )
        problems = [self._lacking(request.pattern.values) for request in phenomenon.file.requests]
        if all(problems):
            return problems[0]
        for change in phenomenon.changes:
            values = self.values.get(change.feature, set())
            if change.value is not None and change.feature != LEMMA and change.value not in values:
                return _no_value(change.feature, [change.value], values, "the change")
        return None

    def _lacking(self, conditions: Sequence[tuple[str, frozenset[str]]]) -> str | None:
        for name, wanted in conditions:
            values = self.values.get(name, set())
            if name not in _MANY and not wanted & values:
                return _no_value(name, sorted(wanted), values, "the request")
        return None


def _no_value(name: str, wanted: Sequence[str], known: set[str], what: str) -> str:
    kind = "Relations" if name == RELATION else f"Values of {name}"
    return (
        f"{what} needs a word with {name}={'|'.join(wanted)}, but no word of the treebanks has it.\n"
        f"  {suggest(wanted[0], known, f'{kind} in the treebanks')}"
    )


def read_survey(files: Sequence[Path], wanted: Sequence[Phenomenon], strict: bool) -> Survey:
    """Read treebanks and collect what the phenomena need."""
    features = {phenomenon.feature for phenomenon in wanted}
    survey = Survey(
        WordList("treebank") if strict else None,
        {} if strict else {feature: SeenForms("treebank", feature) for feature in features},
    )
    in_corpus = [block for phenomenon in wanted for block in phenomenon.file.in_corpus(strict)]
    for block in in_corpus:
        block.forget()
    for path in files:
        empty = True
        for tree in read_trees(path):
            empty = False
            for word in tree.words:
                survey.add(word)
                for table in survey.seen.values():
                    table.add(word)
            if survey.words is not None:
                survey.words.add(tree)
            for block in in_corpus:
                block.survey(tree.words)
        if empty:
            raise SuiteError(
                f"{path}: the file has no sentences.\n  Give a treebank in CoNLL-U, with at least one "
                "sentence."
            )
    return survey
