"""Read grammar, lexicon and suite files: text, YAML with line numbers, and the forms of words.

The files are untrusted. YAML is read as plain data (no tags, no aliases). Only `true`, `false`, numbers and
`null` are more than text, so that the determiner *no* stays a determiner.

A lexicon lists classes under parts of speech. Regular inflection is deliberately small (Marvin & Linzen
2018 need no more) and only for English: a noun adds `s`; a verb phrase is listed in the singular and its
first word drops its final `s`. All other forms are spelled out, in `irregular` or in the entry.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import yaml

from tseval.errors import GrammarError, suggest
from tseval.files import how_to_raise, limits, open_regular
from tseval.suites.inflection import plural_by_rule, right_plural
from tseval.suites.word_lists import not_english

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path


Read = TypeVar("Read")
YamlValue = str | int | float | bool | None | list["YamlValue"] | dict[str, "YamlValue"]
Keys = tuple[str | int, ...]

LARGEST_NUMBER = 10**15  # numbers in a grammar only count things; this bound fits every column type

_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
# An opening quote or bracket that is never closed: report the line where it opens.
_NEVER_CLOSED = (
    "while scanning a quoted scalar",
    "while parsing a flow sequence",
    "while parsing a flow mapping",
)
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")
_INT = re.compile(r"[-+]?\d{1,18}")
_FLOAT = re.compile(r"[-+]?(\d+\.\d*|\.\d+|\d+(\.\d*)?[eE][-+]?\d{1,2})")


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A YAML mapping that knows the line of every entry."""

    path: Path
    data: dict[str, YamlValue]
    lines: Mapping[Keys, int]  # path of keys to line in the file, counted from 1

    def line(self, *keys: str | int) -> int:
        """Return the line of an entry, or of the nearest enclosing entry."""
        while keys not in self.lines:
            keys = keys[:-1]
        return self.lines[keys]

    def error(self, message: str, *keys: str | int, fix: str | None = None) -> GrammarError:
        """Return an error with the line of an entry."""
        return GrammarError(message, self.path, self.line(*keys), fix)

    def check_keys(self, known: Collection[str]) -> None:
        """Refuse unknown keys."""
        for key in self.data:
            if key not in known:
                raise self.error(f"unknown key {key!r}.", key, fix=suggest(key, known, "Keys"))

    def text(self, key: str) -> str | None:
        """Return an optional text entry."""
        value = self.data.get(key)
        if value is not None and not isinstance(value, str):
            raise self.error(f"{key!r} must be text, not {describe(value)}.", key, fix="Put it in quotes.")
        return value

    def mapping(self, key: str) -> dict[str, YamlValue]:
        """Return an optional mapping; empty if absent."""
        value = self.data.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            fix = f"Write one 'name: value' per line, indented under '{key}:'."
            raise self.error(f"{key!r} must be a mapping, not {describe(value)}.", key, fix=fix)
        return value

    def part(self, key: str) -> YamlDocument:
        """Return the mapping under a key as a document."""
        lines = {keys[1:]: line for keys, line in self.lines.items() if keys[:1] == (key,)}
        return YamlDocument(self.path, self.mapping(key), lines)


def composed(name: str) -> str:
    """Return a name in Unicode's normal form NFC, the form in which names are compared.

    >>> composed("e\u0301te\u0301") == "\u00e9t\u00e9"
    True
    """
    return unicodedata.normalize("NFC", name)


def how_to_name(wrong: str) -> str:
    """Return advice on how to write a name, for the second line of a message.

    >>> how_to_name("my-slot"), how_to_name("1sg")
    ('Use letters of any script, digits and _, such as my_slot.', 'Begin with a letter, such as x_1sg.')
    """
    name = re.sub(r"\W+", "_", composed(wrong)).strip("_")
    if name[:1].isdigit():
        return f"Begin with a letter, such as x_{name}."
    name = f"{name}_1" if name == wrong or not name.isidentifier() else name
    return f"Use letters of any script, digits and _, such as {name}."


def describe(value: object) -> str:
    """Return the kind of a value in an author's words."""
    if value is None:
        return "empty"
    kinds = {str: "text", bool: "true or false", int: "a number", float: "a number", dict: "a mapping"}
    return kinds.get(type(value), "a list")


def read_grammar_text(path: Path) -> str:
    """Read a small UTF-8 file; line ends become newlines."""
    most = limits().grammar_bytes
    try:
        with open_regular(path) as file:
            raw = file.read(most + 1)
    except OSError as error:
        fix = "Check the name, the target of a link, and your right to read the file."
        raise GrammarError(f"cannot be read: {error.strerror}.", path, fix=fix) from None
    if len(raw) > most:
        fix = f"Split the file. {how_to_raise('grammar_bytes')}"
        raise GrammarError(f"the file is larger than {most:,} bytes.", path, fix=fix)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise GrammarError("the file is not UTF-8 text.", path, line, "Save it in UTF-8.") from None
    return text.replace("\r\n", "\n")


def parse_yaml(text: str, path: Path, first_line: int = 1, *, words: bool = False) -> YamlDocument:
    """Read a YAML mapping from untrusted text that begins at `first_line` of its file.

    With `words` every scalar is text, even `true` and `1984`: for lexicons.
    """
    padded = "\n" * (first_line - 1) + text
    try:
        root = yaml.compose(padded, Loader=_NoAliases)
        lines: dict[Keys, int] = {(): first_line}
        data = {} if root is None else _value(root, (), lines, words, path)
    except yaml.MarkedYAMLError as error:
        mark, problem = error.problem_mark or error.context_mark, error.problem
        if error.context in _NEVER_CLOSED:
            mark, problem = error.context_mark, f"{problem}, {error.context} that begins here"
        line = first_line if mark is None else mark.line + 1
        written = "".join(padded.split("\n")[line - 1 : line])
        if problem == _NO_COLON and line > first_line and written.count(": ") < 2:
            line -= 1  # YAML reads a line without a colon on into the next line
        raise GrammarError(f"not valid YAML: {problem}.", path, line, _YAML_FIX) from None
    except yaml.reader.ReaderError as error:
        line = padded.count("\n", 0, error.position) + 1
        message = "a control character, which YAML does not allow."
        raise GrammarError(message, path, line, "Delete it.") from None
    except RecursionError:
        raise GrammarError(
            "the YAML is nested too deeply.",
            path,
            first_line,
            "Write the file with fewer levels of indentation.",
        ) from None
    if not isinstance(data, dict):
        raise GrammarError(f"expected a mapping, found {describe(data)}.", path, first_line, _YAML_FIX)
    return YamlDocument(path, data, lines)


_NO_COLON = "mapping values are not allowed here"
_YAML_FIX = "Write one 'key: value' per line, indent with spaces, and quote text that holds ': ' or ' #'."


class _NoAliases(yaml.BaseLoader):
    """Compose nodes; refuse aliases, because a few of them can stand for billions of values."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases (*name) are not allowed", event.start_mark)
        return super().compose_node(parent, index)


def _value(node: yaml.Node, keys: Keys, lines: dict[Keys, int], words: bool, path: Path) -> YamlValue:
    """Convert a node to plain data and record the line of every key and list entry."""
    line = node.start_mark.line + 1
    kind = {yaml.ScalarNode: "str", yaml.SequenceNode: "seq", yaml.MappingNode: "map"}[type(node)]
    if node.tag != f"tag:yaml.org,2002:{kind}":
        raise GrammarError(f"the YAML tag {node.tag!r} is not allowed.", path, line, "Remove it.")
    if isinstance(node, yaml.ScalarNode):
        if _HALF_CHARACTER.search(node.value):
            raise GrammarError(
                "this text has half a character (a lone surrogate).", path, line, "Correct its \\u escape."
            )
        # The words of a lexicon stay as they are written. All other texts are names or contain names.
        text = node.value if words else composed(node.value)
        scalar = text if words or node.style is not None else _scalar(text)
        if isinstance(scalar, (int, float)) and abs(scalar) > LARGEST_NUMBER:
            raise GrammarError("a number is too large.", path, line, "Write a smaller number.")
        return scalar
    if isinstance(node, yaml.SequenceNode):
        values: list[YamlValue] = []
        for position, child in enumerate(node.value):
            lines[*keys, position] = child.start_mark.line + 1
            values.append(_value(child, (*keys, position), lines, words, path))
        return values
    mapping: dict[str, YamlValue] = {}
    for key_node, child in node.value:
        key, line = key_node.value, key_node.start_mark.line + 1
        if not isinstance(key, str):
            fix = "Write this value without {{ and }}. " + _YAML_FIX
            raise GrammarError("a key must be text.", path, line, fix)
        key = composed(key)
        if key in mapping:
            raise GrammarError(f"the key {key!r} appears twice.", path, line, "Keep one of them.")
        lines[*keys, key] = line
        mapping[key] = _value(child, (*keys, key), lines, words, path)
    return mapping


def _scalar(text: str) -> YamlValue:
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if _INT.fullmatch(text) else float(text) if _FLOAT.fullmatch(text) else text


NO_FORM = "∅"  # the name of an entry whose forms are all empty
NUMBERS = ("sing", "plur")
_OTHER_NAMES = {"sing": ("singular", "sg"), "plur": ("plural", "pl")}
ALL_NUMBERS = ("sing", "dual", "plur")  # the values that a grammar may list under `numbers`


@dataclass(frozen=True, slots=True)
class Word:
    """A lexicon entry; in a sentence, also its number."""

    lemma: str  # the name in features: its `lemma`, else the entry's text, else `sing`, else its first form
    forms: Mapping[str, str]  # by name; empty for a word that never changes
    path: Path  # the lexicon file
    line: int  # the line of the entry
    number: str | None = None  # number of a noun in a sentence; None if the word has none
    part: str | None = None  # part of speech, if only the English rule can give its plural

    def form(self, name: str) -> str:
        """Return one form of the word."""
        name = composed(name)
        if name in self.forms:
            return self.forms[name]
        message = f"{self.lemma!r} has no form {name!r}."
        if name not in NUMBERS:
            where = f"It is defined at {self.path}:{self.line}."
            if name in ("agree", "disagree", "match"):
                raise GrammarError(message, fix=f"{name!r} is a filter: {{{{ word | {name}(subject) }}}}.")
            raise GrammarError(message, fix=f"{suggest(name, self.forms, 'Forms')} {where}")
        if self.part is None:
            raise GrammarError(message, self.path, self.line, self._spelled_out(name))
        singular = self.lemma.removesuffix("s")
        if self.part == "noun" and singular != self.lemma and plural_by_rule("noun", singular) == self.lemma:
            fix = f"If it is a plural, list the singular: {singular}. If not, write {{sing: ..., plur: ...}}."
            raise GrammarError(message, self.path, self.line, fix)
        first = self.lemma if self.part == "noun" else self.lemma.partition(" ")[0]
        is_known = not_english(first) is None
        plural = right_plural(self.part, self.lemma) if is_known else None
        fix = (
            "The English rule adds -s to nouns and takes it from the first word of verb phrases. "
            f"To give the forms, write {{sing: {self.lemma}, plur: {plural or '...'}}} here, "
            "or add the word to 'irregular'."
        )
        if not is_known or (first[:1].isupper() and not first.isupper()):
            fix += " If it is not English, add the line 'language: german' with its language."
        raise GrammarError(message, self.path, self.line, fix)

    def _spelled_out(self, name: str) -> str:
        """Return advice on how to write a missing form of the entry."""
        if self.lemma == NO_FORM:
            return "All its forms are empty. Write 'name: word' for each: {sing: this, plur: these}."
        for other_name in _OTHER_NAMES.get(name, ()):
            if other_name in self.forms:
                return f"Rename {other_name!r} to {name!r}."
        forms_text = ", ".join(f"{form}: {text}" for form, text in self.forms.items())
        return (
            f"Write {{{forms_text}, {name}: ...}}."
            if forms_text
            else f"Write {{sing: {self.lemma}, plur: ...}}."
        )

    def inflected(self, number: str) -> Word:
        """Return the word in a number; refuse if it has no such form."""
        self.form(number)
        return replace(self, number=number)

    @property
    def text(self) -> str:
        """The text that the word prints."""
        if self.number is not None:
            return self.forms[self.number]
        if not self.forms:
            return self.lemma
        if "sing" in self.forms:
            return self.forms["sing"]
        raise GrammarError(
            f"{self.lemma!r} has several forms ({', '.join(self.forms)}).",
            fix=f"Write the form to print, for example {{{{ word.{next(iter(self.forms))} }}}}.",
        )


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The classes of one lexicon."""

    document: YamlDocument  # the file, or the lexicon in the front matter of a grammar
    classes: Mapping[str, tuple[Word, ...]]  # by name (`noun.animate`), words in order
    unused_irregular: tuple[str, ...]  # words under `irregular` that no class lists


def gathered(readers: Iterable[Callable[[], Read]]) -> list[Read]:
    """Call all readers and return their results; if some fail, the first error holds the others."""
    read: list[Read] = []
    errors: list[GrammarError] = []
    for reader in readers:
        try:
            read.append(reader())
        except GrammarError as error:
            errors += [error, *error.others]
    if errors:
        first, *others = errors
        first.others = tuple(others)
        raise first
    return read


def load_lexicon(path: Path, english: bool) -> Lexicon:
    """Read a lexicon file; words are inflected by rule only if `english`."""
    return read_lexicon(parse_yaml(read_grammar_text(path), path, words=True), english)


def read_lexicon(document: YamlDocument, english: bool) -> Lexicon:
    """Read the classes of a lexicon, from a lexicon file or from the front matter of a grammar."""
    irregular = _irregular(document)
    classes: dict[str, tuple[Word, ...]] = {}
    used: set[str] = set()
    for part in document.data:
        if part == "irregular":
            continue
        for name, entries in document.mapping(part).items():
            if not isinstance(entries, list) or not entries:
                fix = f"Write '{name}: [word, ...]'."
                if get_close_matches(part, ["irregular"]):
                    fix = "Did you mean 'irregular:'?"
                raise document.error(f"the class '{part}.{name}' lists no words.", part, name, fix=fix)
            read = partial(_word, document, irregular=irregular, used=used, english=english)
            words = [partial(read, (part, name, position), entry) for position, entry in enumerate(entries)]
            classes[f"{part}.{name}"] = tuple(gathered(words))
            _refuse_namesakes(document, f"{part}.{name}", classes[f"{part}.{name}"])
    return Lexicon(document, classes, tuple(word for word in irregular if word not in used))


def _refuse_namesakes(document: YamlDocument, class_name: str, words: Iterable[Word]) -> None:
    """Refuse two entries with one name, because the name identifies the items that share a word."""
    lines: dict[str, int] = {}
    for word in words:
        name = composed(word.lemma)
        if name in lines:
            message = (
                f"two entries of the class {class_name!r} are called {word.lemma!r}, "
                f"on lines {lines[name]} and {word.line}."
            )
            fix = "Delete one, or name each: {lemma: ..., sing: ..., plur: ...}."
            raise GrammarError(message, document.path, word.line, fix)
        lines[name] = word.line


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
    english: bool,
) -> Word:
    """Read one entry: a text that is inflected by rule, or a mapping of its forms."""
    line = document.line(*keys)
    if isinstance(entry, str) and entry.split():
        lemma = " ".join(entry.split())
        part = keys[0] if keys[0] in {"noun", "verb"} else None
        if part is None:
            return Word(lemma, {}, document.path, line)
        first, space, rest = (lemma, "", "") if part == "noun" else lemma.partition(" ")
        if (listed := composed(first)) in irregular:
            used.add(listed)
            return Word(lemma, {"sing": lemma, "plur": irregular[listed] + space + rest}, document.path, line)
        plural = plural_by_rule(part, lemma) if english else None
        forms = {"sing": lemma} if plural is None else {"sing": lemma, "plur": plural}
        return Word(lemma, forms, document.path, line, part=part if english else None)
    if not isinstance(entry, dict) or not entry:
        fix = "Write the word, or its forms: {sing: child, plur: children}."
        if isinstance(entry, str):
            fix = "For a word that prints nothing, write {form: ''}, and print its form."
        message = f"a word is text or a mapping of forms, not {describe(entry or None)}."
        raise document.error(message, *keys, fix=fix)
    forms = {}
    for name, text in entry.items():
        if not isinstance(text, str):
            fix = "Write the word, or '' for a form that prints nothing."
            raise document.error(f"the form {name!r} must be text.", *keys, name, fix=fix)
        if name == "number" or not name.isidentifier() or name.startswith("_"):
            raise document.error(f"{name!r} cannot name a form.", *keys, name, fix=how_to_name(name))
        forms[name] = " ".join(text.split())
    named = forms.pop("lemma", None)
    if named == "" or not forms:
        message = "'lemma' is empty." if named == "" else "the entry has a 'lemma' and no form."
        raise document.error(message, *keys, fix="Write {lemma: ..., sing: ..., plur: ...}.")
    lemma = named or forms.get("sing") or next(filter(None, forms.values()), NO_FORM)
    return Word(lemma, forms, document.path, line)


def class_names(name: str) -> list[str]:
    """Return the classes that a slot takes its words from: `noun.animate`, or several joined by `+`."""
    return [part.strip() for part in name.split("+")]


def find_class(lexicon: Lexicon, name: str) -> tuple[Word, ...]:
    """Return the words of a class, or of several classes in order (`noun.animate + noun.human`)."""
    names = class_names(name)
    for each in names:
        if each not in lexicon.classes:
            fix = suggest(each, lexicon.classes, "Classes")
            if "," in each:
                fix = f"Write {each.replace(',', ' +')}." if "." in each else f"Write a list: [{each}]."
            raise GrammarError(f"the lexicon has no class {each!r}.", fix=fix)
    if len({each.startswith("noun.") for each in names}) > 1:
        message = f"{name!r} mixes nouns, which have a number, with other words."
        raise GrammarError(message, fix="Make two classes and two slots.")
    return tuple(word for each in names for word in lexicon.classes[each])
