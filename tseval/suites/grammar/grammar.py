"""Read and check grammar files: front matter, lexical factors and labelled sentences. Nothing is expanded.

A lexical factor is a place of the sentence whose word varies and is shared by several items. Items with the
same verb tend to be right or wrong together, so they are not independent. By default every slot that is
filled from the lexicon is a factor with the slot's name. Slots with a list of values are conditions.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tseval.errors import GrammarError, suggest
from tseval.items import NOT_FEATURES, Feature
from tseval.questions import Contrast
from tseval.suites.grammar.draw import Draw, codes_of_draw, read_draw, read_where
from tseval.suites.grammar.experiment import EXPERIMENT_KEYS, Experiment, read_experiment
from tseval.suites.grammar.slots import Slot, numbers_of, read_slots, slot_codes
from tseval.suites.grammar.source import (
    Lexicon,
    YamlDocument,
    composed,
    describe,
    gathered,
    how_to_name,
    load_lexicon,
    parse_yaml,
    read_grammar_text,
    read_lexicon,
)
from tseval.suites.grammar.template import Sentences
from tseval.writing import language_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tseval.suites.grammar.conditions import Conditions
    from tseval.suites.grammar.template import Code


ENGLISH = "english"


def read_factors(
    document: YamlDocument, slots: Sequence[Slot], sentences: Sentences
) -> dict[str, Code | Slot]:
    """Read `factors` from a grammar's front matter. If there is none, use the slots of the lexicon."""
    if "factors" not in document.data:
        return {slot.name: slot for slot in slots if slot.class_name is not None}
    by_name = {slot.name: slot for slot in slots}
    factors: dict[str, Code | Slot] = {}
    for name, source in document.mapping("factors").items():
        if not name.isidentifier() or name.startswith("_"):
            fix = how_to_name(name)
            raise document.error(f"a factor cannot be called {name!r}.", "factors", name, fix=fix)
        if not isinstance(source, str):
            fix = "Name a slot, or write an expression that gives a word, such as 'nouns | last'."
            raise document.error(f"the factor {name!r} is {describe(source)}.", "factors", name, fix=fix)
        slot = by_name.get(source)
        if slot is not None and slot.is_numeric:
            message = f"the factor {name!r} names the slot {slot.name!r}, but this slot has no words."
            raise document.error(
                message,
                "factors",
                name,
                fix="Delete this factor: a slot without words is a condition, not a lexical factor.",
            )
        factors[name] = slot or sentences.expression(source, document.line("factors", name))
    return factors


GRAMMAR_KEYS = (
    *("construction", "phenomenon", "dependency", "source", "lexicon", "language", "numbers", "where"),
    *("slots", "draw", "features", "factors", "contrasts", *EXPERIMENT_KEYS, "expect"),
)
_DEPENDENCIES = ("short", "long")
_MAX_BODY = 1 << 16
_FENCE = "---"


@dataclass(frozen=True, slots=True)
class Grammar:
    """A grammar, which makes one case: its slots, its labelled sentences and its features."""

    path: Path
    name: str  # id of the case, the stem of the file name
    construction: str
    phenomenon: str
    dependency: str | None  # `short`, `long` or None
    source: str | None  # reference
    lexicon: Lexicon | None
    slots: tuple[Slot, ...]  # the first varies slowest
    draw: Draw | None  # the draw of items; None if it has no `draw`
    sentences: Mapping[str, Sequence[Code]]  # label to fragments, in order
    features: Mapping[str, Code | Feature]  # declared features: code, or a constant value
    factors: Mapping[str, Code | Slot]  # lexical factors: slots, or code
    contrasts: tuple[Contrast, ...] | None  # the grammar's own contrasts
    experiment: Experiment | None  # its predictions about regions; None if it compares whole sentences
    expect: Mapping[str, str | int]  # self-test: `items`, and labels with the first item's sentences
    document: YamlDocument  # the front matter
    conditions: Conditions = field(compare=False)  # the conditions in its code, with their outcomes so far
    # Positions of the items among all combinations; None if all are items.
    where: NDArray[np.int64] | None = field(default=None, compare=False)

    @property
    def n_items(self) -> int:
        """Number of items of the full expansion, known before anything is rendered."""
        if self.draw is not None:
            return self.draw.n_items
        if self.where is not None:
            return len(self.where)
        return math.prod(slot.size for slot in self.slots)

    def codes(self, rows: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Return the value of every slot in the given items, as codes for `Slot.binding`, (items,) each."""
        if self.draw is None:
            return slot_codes(self.slots, rows if self.where is None else self.where[rows])
        drawn = codes_of_draw(self.slots, self.draw, self.document)
        return {name: codes[rows] for name, codes in drawn.items()}

    @property
    def labels(self) -> tuple[str, ...]:
        """Sentence labels, in order."""
        return tuple(self.sentences)


def load_grammar(path: Path, lexicons: dict[Path, Lexicon] | None = None, language: str = ENGLISH) -> Grammar:
    """Read and check a grammar file; nothing is rendered yet.

    `lexicons` holds the lexicons that are already read, by path; the grammars of a suite share them.
    `language` is the suite's language; the grammar may state another. English words are inflected by rule.
    """
    front, body, body_line = _split_front_matter(path)
    document = parse_yaml(front, path, 2)
    document.check_keys(GRAMMAR_KEYS)
    english = language_of(document.text("language") or language) == ENGLISH
    lexicon = _lexicon(document, front, {} if lexicons is None else lexicons, english)
    slots = read_slots(document, lexicon)
    sentences = Sentences(body, path, body_line, slots, lexicon, numbers_of(document))
    _check_names(document, slots, sentences)
    labels = tuple(sentences.labels)
    parts: dict[str, Callable[[], Any]] = {
        "construction": partial(_required, document, "construction"),
        "phenomenon": partial(_required, document, "phenomenon"),
        "dependency": partial(_dependency, document),
        "source": partial(document.text, "source"),
        "draw": partial(read_draw, document, slots, sentences),
        "where": partial(read_where, document, slots, sentences),
        "sentences": sentences.fragments,
        "features": partial(_features, document, sentences),
        "factors": partial(read_factors, document, slots, sentences),
        "contrasts": partial(read_contrasts, document, labels),
        "experiment": partial(read_experiment, document, labels),
        "expect": partial(_expect, document, labels),
    }
    read = dict(zip(parts, gathered(parts.values()), strict=True))
    return Grammar(
        path=path, name=composed(path.stem), lexicon=lexicon, slots=slots, document=document,
        conditions=sentences.conditions, **read,
    )  # fmt: skip


def read_contrasts(document: YamlDocument, labels: tuple[str, ...] | None) -> tuple[Contrast, ...] | None:
    """Read `contrasts` of front matter or a suite file, a list of `better > worse`; None if there is none.

    If `labels` is given, the contrasts may use only these labels.
    """
    entries = document.data.get("contrasts")
    if entries is None:
        return None
    fix = "Write a list such as [grammatical > ungrammatical]."
    if not isinstance(entries, list) or not entries:
        raise document.error(f"'contrasts' is {describe(entries)}.", "contrasts", fix=fix)
    contrasts: list[Contrast] = []
    for position, entry in enumerate(entries):
        sides = [side.strip() for side in str(entry).split(">")]
        if len(sides) != 2 or not all(sides) or sides[0] == sides[1]:
            if len(sides) > 2 and all(sides):
                pairs = ", ".join(f"{better} > {worse}" for better, worse in pairwise(sides))
                fix = f"Write each pair: [{pairs}]."
            raise document.error(f"{entry!r} is not a contrast.", "contrasts", position, fix=fix)
        for side in sides:
            if labels is not None and side not in labels:
                fix = suggest(side, labels, "Labels")
                raise document.error(f"no sentence is labelled {side!r}.", "contrasts", position, fix=fix)
        contrast = Contrast(*sides)
        if Contrast(contrast.worse, contrast.better) in contrasts:
            message = f"'{contrast}' is the reverse of another contrast, so both cannot be right."
            raise document.error(
                message,
                "contrasts",
                position,
                fix="Keep the contrast that you mean.",
            )
        if (way := _way(contrasts, contrast.worse, contrast.better)) is not None:
            message = f"'{contrast}' contradicts {' and '.join(repr(str(step)) for step in way)}."
            raise document.error(
                message,
                "contrasts",
                position,
                fix="Keep the contrasts that you mean.",
            )
        if contrast in contrasts:
            message = f"the contrast '{contrast}' appears twice."
            raise document.error(message, "contrasts", position, fix="Keep one of them.")
        contrasts.append(contrast)
    return tuple(contrasts)


def _way(contrasts: Sequence[Contrast], better: str, worse: str) -> list[Contrast] | None:
    """Find a chain of contrasts by which one label is better than another; None if there is none."""
    for contrast in contrasts:
        if contrast.better == better:
            rest = [other for other in contrasts if other != contrast]
            onwards = [] if contrast.worse == worse else _way(rest, contrast.worse, worse)
            if onwards is not None:
                return [contrast, *onwards]
    return None


def _split_front_matter(path: Path) -> tuple[str, str, int]:
    """Split a grammar file into its front matter, its body, and the first line number of the body."""
    text = read_grammar_text(path)
    if len(text) > _MAX_BODY:
        raise GrammarError(
            f"the grammar is longer than {_MAX_BODY:,} characters.",
            path,
            fix="Split the grammar into two files.",
        )
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        fix = "Write a line '---', the settings, a line '---', and then the sentences."
        raise GrammarError(
            "the grammar does not begin with front matter (settings between two lines '---').", path, 1, fix
        )
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() == _FENCE:
            return "\n".join(lines[1 : number - 1]), "\n".join(lines[number:]), number + 1
    raise GrammarError(
        "the front matter (the settings between two lines '---') has no second line '---'.",
        path,
        1,
        "Add a line '---' after the settings.",
    )


def _lexicon(
    document: YamlDocument, front: str, lexicons: dict[Path, Lexicon], english: bool
) -> Lexicon | None:
    if isinstance(document.data.get("lexicon"), dict):
        # Parse the front matter once more: in a lexicon, every scalar is a word.
        return read_lexicon(parse_yaml(front, document.path, 2, words=True).part("lexicon"), english)
    name = document.text("lexicon")
    if name is None:
        return None
    path = document.path.parent / name
    # An untrusted grammar must not make tseval read other files and quote them in messages.
    if path.parent != document.path.parent or path.suffix != ".yaml":
        fix = "Name a .yaml file in the folder of the grammar, such as lexicon.yaml."
        raise document.error(
            f"the lexicon {name!r} is not a .yaml file in the folder of the grammar.", "lexicon", fix=fix
        )
    if not os.path.lexists(path):
        fix = "Put this file into the folder of the grammar."
        raise document.error(f"the lexicon file {name!r} does not exist.", "lexicon", fix=fix)
    if path not in lexicons:
        lexicons[path] = load_lexicon(path, english)
    return lexicons[path]


def _required(document: YamlDocument, key: str) -> str:
    value = document.text(key)
    if not value:
        raise document.error(
            f"the front matter does not have the key {key!r}.", key, fix=f"Add '{key}: ...'."
        )
    return value


def _dependency(document: YamlDocument) -> str | None:
    value = document.text("dependency")
    if value is not None and value not in _DEPENDENCIES:
        raise document.error(f"'dependency' is {value!r}.", "dependency", fix="Write short or long.")
    return value


def _features(document: YamlDocument, sentences: Sentences) -> dict[str, Code | Feature]:
    features: dict[str, Code | Feature] = {}
    for name, value in document.mapping("features").items():
        if isinstance(value, str):
            features[name] = sentences.expression(value, document.line("features", name))
        elif isinstance(value, (int, float)):
            features[name] = value
        else:
            fix = "Write a number, true, false, or an expression."
            raise document.error(f"the feature {name!r} is {describe(value)}.", "features", name, fix=fix)
    return features


def _check_names(document: YamlDocument, slots: tuple[Slot, ...], sentences: Sentences) -> None:
    """Check that each name is free and used once: labels and features become columns of one table."""
    columns = dict.fromkeys(NOT_FEATURES, "a column of every table")
    names: list[tuple[str, str, int]] = [
        (label, f"the label {label!r}", line) for label, line in sentences.labels.items()
    ]
    for slot in slots:
        line = document.line("slots", slot.name)
        names.append((slot.name, f"the slot {slot.name!r}", line))
        if slot.has_number:
            names.append((f"{slot.name}_number", f"the number of slot {slot.name!r}", line))
    for name in document.mapping("features"):
        names.append((name, f"the feature {name!r}", document.line("features", name)))
        if not name.isidentifier() or name.startswith("_"):
            fix = how_to_name(name)
            raise document.error(f"a feature cannot be called {name!r}.", "features", name, fix=fix)
    for name, description, line in names:
        if name in columns:
            raise GrammarError(
                f"{description} has the same name as {columns[name]}.", document.path, line, "Rename it."
            )
        columns[name] = description


def _expect(document: YamlDocument, labels: tuple[str, ...]) -> dict[str, str | int]:
    options = ("items", *labels)
    expect: dict[str, str | int] = {}
    for key, value in document.mapping("expect").items():
        if key not in options:
            fix = suggest(key, options, "Known options")
            raise document.error(f"'expect' names {key!r}.", "expect", key, fix=fix)
        wanted = int if key == "items" else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            fix = "Write a whole number." if key == "items" else "Write the first item's sentence."
            raise document.error(f"'expect: {key}' is {describe(value)}.", "expect", key, fix=fix)
        expect[key] = value
    return expect
