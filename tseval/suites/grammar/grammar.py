"""Grammar files: front matter and labelled sentences, read and checked but not yet expanded."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import GrammarError, suggest
from tseval.items import RESERVED_NAMES, Feature
from tseval.questions import Contrast
from tseval.suites.grammar.draw import Draw, drawn_codes, read_draw
from tseval.suites.grammar.experiment import EXPERIMENT_KEYS, Experiment, read_experiment
from tseval.suites.grammar.factors import read_factors
from tseval.suites.grammar.lexicon import Lexicon, load_lexicon, read_lexicon
from tseval.suites.grammar.slots import Slot, read_slots, slot_codes
from tseval.suites.grammar.source import YamlDocument, YamlValue, describe, parse_yaml, read_grammar_text
from tseval.suites.grammar.template import Sentences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tseval.suites.grammar.code import Code

_ROW_KEYS = ("construction", "phenomenon", "dependency")
GRAMMAR_KEYS = (
    *_ROW_KEYS,
    "source",
    "lexicon",
    "slots",
    "draw",
    "features",
    "factors",
    "contrasts",
    *EXPERIMENT_KEYS,
    "expect",
)
_DEPENDENCIES = ("short", "long")
_MAX_BODY = 1 << 16
_FENCE = "---"


@dataclass(frozen=True, slots=True)
class Grammar:
    """One case: its slots, its sentences with their labels, and its features.

    Attributes:
        path: The grammar file.
        name: Case id, the file's stem.
        construction: For example `Across an object RC`.
        phenomenon: For example `Subject-verb agreement`.
        dependency: `short`, `long` or None.
        source: Reference, or None.
        lexicon: The lexicon it draws on, or None.
        slots: What varies, leftmost slowest.
        draw: Which part of all combinations is taken, or None for all.
        sentences: Label to fragments, in order.
        features: Name of each declared feature to its code, or to its value where that is fixed.
        factors: Name of each lexical factor to the slot that it is, or to its code.
        contrasts: The contrasts it declares, or None.
        experiment: What it predicts of regions; None where whole sentences are compared.
        expect: What it says of itself: `items`, and labels with the first item's sentences.
        document: The front matter, for messages.
    """

    path: Path
    name: str
    construction: str
    phenomenon: str
    dependency: str | None
    source: str | None
    lexicon: Lexicon | None
    slots: tuple[Slot, ...]
    draw: Draw | None
    sentences: Mapping[str, Sequence[Code]]
    features: Mapping[str, Code | Feature]
    factors: Mapping[str, Code | Slot]
    contrasts: tuple[Contrast, ...] | None
    experiment: Experiment | None
    expect: Mapping[str, str | int]
    document: YamlDocument

    @property
    def n_items(self) -> int:
        """Number of items of the full expansion, known before anything is rendered."""
        if self.draw is not None:
            return self.draw.n_items
        return math.prod(slot.size for slot in self.slots)

    def codes(self, rows: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Tell which value every slot has in the given items, as codes for `Slot.binding`, (items,) each.

        Raises:
            GrammarError: There are fewer different items than are to be drawn.
        """
        if self.draw is None:
            return slot_codes(self.slots, rows)
        drawn = drawn_codes(self.slots, self.draw, self.document)
        return {name: codes[rows] for name, codes in drawn.items()}

    @property
    def labels(self) -> tuple[str, ...]:
        """Sentence labels, in order."""
        return tuple(self.sentences)


def load_grammar(path: Path, lexicons: dict[Path, Lexicon] | None = None) -> Grammar:
    """Read and check a grammar file; nothing is rendered yet.

    Args:
        path: The `.jinja` file.
        lexicons: Lexicons already read, by path; shared by the grammars of a suite.

    Raises:
        GrammarError: Whatever is wrong with it, with file, line and fix.
    """
    front, body, body_line = _split_front_matter(path)
    document = parse_yaml(front, path, 2)
    document.check_keys(GRAMMAR_KEYS)
    lexicon = _lexicon(document, front, {} if lexicons is None else lexicons)
    slots = read_slots(document, lexicon)
    sentences = Sentences(body, path, body_line, [slot.name for slot in slots])
    _check_names(document, slots, sentences)
    return Grammar(
        path=path,
        name=path.stem,
        construction=_required(document, "construction"),
        phenomenon=_required(document, "phenomenon"),
        dependency=_dependency(document),
        source=document.text("source"),
        lexicon=lexicon,
        slots=slots,
        draw=read_draw(document, slots, sentences),
        sentences=sentences.fragments(),
        features=_features(document, sentences),
        factors=read_factors(document, slots, sentences),
        contrasts=read_contrasts(document, tuple(sentences.labels)),
        experiment=read_experiment(document, tuple(sentences.labels)),
        expect=_expect(document, tuple(sentences.labels)),
        document=document,
    )


def read_contrasts(document: YamlDocument, labels: tuple[str, ...] | None) -> tuple[Contrast, ...] | None:
    """Read `contrasts`, a list of `better > worse`; None where there is none.

    Args:
        document: Front matter or suite file.
        labels: The labels that exist, where they are known.

    Raises:
        GrammarError: Not such a list, an unknown label, or a contrast that stands twice.
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
            raise document.error(f"{entry!r} is not a contrast.", "contrasts", position, fix=fix)
        for side in sides:
            if labels is not None and side not in labels:
                fix = suggest(side, labels, "Labels")
                raise document.error(f"no sentence is labelled {side!r}.", "contrasts", position, fix=fix)
        contrast = Contrast(*sides)
        if contrast in contrasts:
            message = f"the contrast '{contrast}' stands twice."
            raise document.error(message, "contrasts", position, fix="Keep one of them.")
        contrasts.append(contrast)
    return tuple(contrasts)


def _split_front_matter(path: Path) -> tuple[str, str, int]:
    """Split a grammar file into front matter, body, and the line on which the body begins."""
    text = read_grammar_text(path)
    if len(text) > _MAX_BODY:
        raise GrammarError(f"the grammar is longer than {_MAX_BODY:,} characters.", path, fix="Split it.")
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        fix = "Begin with '---', the settings, and '---' again; the sentences follow."
        raise GrammarError("a grammar begins with front matter.", path, 1, fix)
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() == _FENCE:
            return "\n".join(lines[1 : number - 1]), "\n".join(lines[number:]), number + 1
    raise GrammarError("the front matter does not end.", path, 1, "Close it with a line '---'.")


def _lexicon(document: YamlDocument, front: str, lexicons: dict[Path, Lexicon]) -> Lexicon | None:
    if isinstance(document.data.get("lexicon"), dict):
        # Read again: in a lexicon, every scalar is a word.
        return read_lexicon(parse_yaml(front, document.path, 2, words=True).part("lexicon"))
    name = document.text("lexicon")
    if name is None:
        return None
    path = document.path.parent / name
    # A grammar from a stranger must not make us read (and quote in messages) other files.
    if path.parent != document.path.parent or path.suffix != ".yaml":
        fix = "Name a .yaml file beside the grammar, such as lexicon.yaml."
        raise document.error(f"{name!r} cannot be a lexicon.", "lexicon", fix=fix)
    if not os.path.lexists(path):
        raise document.error(
            f"there is no lexicon {name!r}.", "lexicon", fix="It must lie beside the grammar."
        )
    if path not in lexicons:
        lexicons[path] = load_lexicon(path)
    return lexicons[path]


def _required(document: YamlDocument, key: str) -> str:
    value = document.text(key)
    if not value:
        raise document.error(f"the front matter lacks {key!r}.", key, fix=f"Add '{key}: ...'.")
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
    """Labels and features become columns side by side: each name is free and used once."""
    columns = dict.fromkeys(RESERVED_NAMES, "a column of every table")
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
            raise document.error(
                f"a feature cannot be called {name!r}.", *("features", name), fix="Use letters, digits and _."
            )
    for name, what, line in names:
        if name in columns:
            raise GrammarError(f"{what} has the name of {columns[name]}.", document.path, line, "Rename it.")
        columns[name] = what


def _expect(document: YamlDocument, labels: tuple[str, ...]) -> dict[str, str | int]:
    known = ("items", *labels)
    expect: dict[str, str | int] = {}
    for key, value in document.mapping("expect").items():
        if key not in known:
            raise document.error(
                f"'expect' names {key!r}.", "expect", key, fix=suggest(key, known, "It may hold")
            )
        _expected(document, key, value, expect)
    return expect


def _expected(document: YamlDocument, key: str, value: YamlValue, expect: dict[str, str | int]) -> None:
    wanted = int if key == "items" else str
    if not isinstance(value, wanted) or isinstance(value, bool):
        fix = "Write a whole number." if key == "items" else "Write the first item's sentence."
        raise document.error(f"'expect: {key}' is {describe(value)}.", "expect", key, fix=fix)
    expect[key] = value
