"""Words: lexicon files, their classes, and the two numbers of a word.

A lexicon lists classes under parts of speech. Regular inflection is deliberately small (Marvin & Linzen
2018 need no more): a noun adds `s`; a verb phrase is listed in the singular and its first word drops
its final `s`. Everything else is spelled out, in `irregular` or entry by entry.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tseval.errors import GrammarError, suggest
from tseval.suites.grammar.source import YamlDocument, YamlValue, describe, parse_yaml, read_grammar_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NUMBERS = ("sing", "plur")

# Adding or dropping a bare `s` gives no English word here: box, city, watches, goes, tries, has.
_NOUN_EXCEPTIONS = ("s", "x", "z", "ch", "sh", *(f"{letter}y" for letter in "bcdfghjklmnpqrstvwxz"))
_VERB_EXCEPTIONS = ("ss", "xes", "zes", "ches", "shes", "sses", "oes", "ies")


@dataclass(frozen=True, slots=True)
class Word:
    """An entry of the lexicon, with a number once it stands in a sentence.

    Attributes:
        lemma: How features name it: the entry as listed, or the first of its forms.
        forms: Form name to text; empty for a word that never changes.
        path: The lexicon file.
        line: The line of the entry.
        number: `sing`, `plur`, or None for a word that has no number of its own.
    """

    lemma: str
    forms: Mapping[str, str]
    path: Path
    line: int
    number: str | None = None

    def form(self, name: str) -> str:
        """Look up one form.

        Raises:
            GrammarError: The entry has no such form. A missing number points into the lexicon; any
                other name is more likely a slip in the grammar, whose line the caller adds.
        """
        if name in self.forms:
            return self.forms[name]
        message = f"{self.lemma!r} has no form {name!r}."
        if name not in NUMBERS:
            where = f"It is defined at {self.path}:{self.line}."
            raise GrammarError(message, fix=f"{suggest(name, self.forms, 'Forms')} {where}")
        raise GrammarError(
            message,
            self.path,
            self.line,
            "Regular are nouns that add a plain -s and verb phrases whose first word drops one: "
            "write {sing: ..., plur: ...} here, or add the word to 'irregular'.",
        )

    def inflected(self, number: str) -> Word:
        """Give the word a number.

        Raises:
            GrammarError: The entry has no form for it.
        """
        self.form(number)
        return replace(self, number=number)

    @property
    def text(self) -> str:
        """The word as it is printed."""
        if self.number is not None:
            return self.forms[self.number]
        if not self.forms:
            return self.lemma
        if "sing" in self.forms:
            return self.forms["sing"]
        raise GrammarError(
            f"{self.lemma!r} has several forms ({', '.join(self.forms)}).",
            fix=f"Say which one to print, for example {{{{ word.{next(iter(self.forms))} }}}}.",
        )


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The classes of one lexicon.

    Attributes:
        document: The file, or the part of a grammar.
        classes: Class name (`noun.animate`) to its words, in order.
        unused_irregular: Words of `irregular` that no class lists.
    """

    document: YamlDocument
    classes: Mapping[str, tuple[Word, ...]]
    unused_irregular: tuple[str, ...]


def load_lexicon(path: Path) -> Lexicon:
    """Read a lexicon file.

    Raises:
        GrammarError: The file is malformed; the message names the line.
    """
    return read_lexicon(parse_yaml(read_grammar_text(path), path, words=True))


def read_lexicon(document: YamlDocument) -> Lexicon:
    """Read the classes of a lexicon, in a file of its own or in the front matter of a grammar.

    Raises:
        GrammarError: It is malformed; the message names the line.
    """
    irregular = _irregular(document)
    classes: dict[str, tuple[Word, ...]] = {}
    used: set[str] = set()
    for part in document.data:
        if part == "irregular":
            continue
        for name, entries in document.mapping(part).items():
            if not isinstance(entries, list) or not entries:
                fix = f"Write '{name}: [word, ...]'."
                raise document.error(f"the class '{part}.{name}' lists no words.", part, name, fix=fix)
            classes[f"{part}.{name}"] = tuple(
                _word(document, (part, name, position), entry, irregular, used)
                for position, entry in enumerate(entries)
            )
    return Lexicon(document, classes, tuple(word for word in irregular if word not in used))


def _irregular(document: YamlDocument) -> dict[str, str]:
    irregular: dict[str, str] = {}
    for singular, plural in document.mapping("irregular").items():
        if not isinstance(plural, str) or not plural.split():
            fix = "Write 'singular: plural', for example 'is: are'."
            message = f"the irregular plural of {singular!r} is {describe(plural or None)}."
            raise document.error(message, "irregular", singular, fix=fix)
        irregular[singular] = plural
    return irregular


def _word(
    document: YamlDocument,
    keys: tuple[str, str, int],
    entry: YamlValue,
    irregular: Mapping[str, str],
    used: set[str],
) -> Word:
    """Read one entry: a text that inflects by rule, or a mapping of its forms."""
    line = document.line(*keys)
    if isinstance(entry, str) and entry.split():
        lemma = " ".join(entry.split())
        return Word(lemma, _regular_forms(keys[0], lemma, irregular, used), document.path, line)
    if not isinstance(entry, dict) or not entry:
        fix = "Write the word, or its forms: {sing: child, plur: children}."
        message = f"a word is text or a mapping of forms, not {describe(entry or None)}."
        raise document.error(message, *keys, fix=fix)
    forms: dict[str, str] = {}
    for name, text in entry.items():
        if not isinstance(text, str) or not text.split():
            raise document.error(f"the form {name!r} must be text.", *keys, name, fix="Write the word.")
        if name in {"lemma", "number"} or not name.isidentifier() or name.startswith("_"):
            fix = "Use letters, digits and underscores; 'lemma' and 'number' are taken."
            raise document.error(f"{name!r} cannot name a form.", *keys, name, fix=fix)
        forms[name] = " ".join(text.split())
    return Word(next(iter(forms.values())), forms, document.path, line)


def _regular_forms(part: str, lemma: str, irregular: Mapping[str, str], used: set[str]) -> dict[str, str]:
    """Inflect by rule; a word the rules do not cover has its singular only."""
    if part == "noun":
        if lemma in irregular:
            used.add(lemma)
            return {"sing": lemma, "plur": irregular[lemma]}
        regular = not lemma.lower().endswith(_NOUN_EXCEPTIONS)
        return {"sing": lemma, "plur": f"{lemma}s"} if regular else {"sing": lemma}
    if part == "verb":
        first, space, rest = lemma.partition(" ")
        if first in irregular:
            used.add(first)
            return {"sing": lemma, "plur": irregular[first] + space + rest}
        regular = first.endswith("s") and len(first) > 3 and not first.endswith(_VERB_EXCEPTIONS)
        return {"sing": lemma, "plur": first[:-1] + space + rest} if regular else {"sing": lemma}
    return {}


def class_names(name: str) -> list[str]:
    """Name the classes that a slot takes its words from: `noun.animate`, or several joined by `+`."""
    return [part.strip() for part in name.split("+")]


def find_class(lexicon: Lexicon, name: str) -> tuple[Word, ...]:
    """Look up the words of a class, or of several one after the other (`noun.animate + noun.human`).

    Raises:
        GrammarError: No such class, or nouns beside other words; without a line, for the caller to add.
    """
    names = class_names(name)
    for each in names:
        if each not in lexicon.classes:
            raise GrammarError(
                f"the lexicon has no class {each!r}.", fix=suggest(each, lexicon.classes, "Classes")
            )
    if len({each.startswith("noun.") for each in names}) > 1:
        raise GrammarError(
            f"{name!r} mixes nouns, which have a number, with other words.", fix="Use two slots."
        )
    return tuple(word for each in names for word in lexicon.classes[each])
