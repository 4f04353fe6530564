"""Expand grammars to items, column by column and only for the chosen items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import GrammarError
from tseval.items import Case, Feature, as_entries
from tseval.questions.pairs import Pairs
from tseval.suites.grammar.experiment import as_question
from tseval.suites.grammar.marks import read_marks
from tseval.suites.grammar.source import Word
from tseval.suites.grammar.template import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tseval.questions import Contrast, Question
    from tseval.suites.grammar.grammar import Grammar
    from tseval.suites.grammar.marks import MarkedSentence
    from tseval.suites.grammar.slots import Binding

    ArrowColumn = pa.Array[Any]
    Render = Callable[[Mapping[str, Binding]], Feature]


MAX_ITEMS = 2_000_000
ITEMS_AT_ONCE = 1 << 16
LARGEST_INDEX = (1 << 63) - 1


def check_size(
    grammar: Grammar,
    n_wanted: int | None = None,
    fix: str = "Use --limit N or --sample N, or shorten the slots.",
) -> None:
    """Refuse too large an expansion before anything is rendered."""
    n_items = grammar.n_items
    if n_items > LARGEST_INDEX:
        raise grammar.document.error(
            "the grammar makes more than 9 quintillion items.", "slots", fix="Shorten the slots."
        )
    if n_items > MAX_ITEMS and n_wanted is None:
        raise grammar.document.error(
            f"the grammar makes {n_items:,} items, but a full expansion has at most {MAX_ITEMS:,}.",
            "slots",
            fix=fix,
        )


def expand(
    grammar: Grammar, contrasts: Sequence[Contrast], rows: Sequence[int], terminator: str | None = "."
) -> Case:
    """Expand the chosen items of a grammar, by their ascending positions in the full expansion.

    A grammar with predictions has no contrasts. The terminator is added to each sentence when it is scored.
    """
    index = np.arange(rows.start, rows.stop) if isinstance(rows, range) else np.array(rows, dtype=np.int64)
    block = _Block(grammar, index)
    sentences = {label: block.sentence(line) for label, line in grammar.sentences.items()}
    question: Question = Pairs(tuple(contrasts))
    if grammar.experiment is not None:
        marked = {label: block.marked(label, texts) for label, texts in sentences.items()}
        question = as_question(grammar.experiment, grammar.document, marked, terminator)
        sentences = {
            label: pa.array([sentence.text for sentence in sentences_of_label])
            for label, sentences_of_label in marked.items()
        }
    return Case(
        name=grammar.name,
        construction=grammar.construction,
        phenomenon=grammar.phenomenon,
        dependency=grammar.dependency,
        question=question,
        index=pa.array(index, type=pa.int64()),
        sentences=pa.table(sentences),
        features=pa.table(block.features()),
        entries=pa.table(block.entries()),
    )


def expand_blocks(
    grammar: Grammar, contrasts: Sequence[Contrast], rows: Sequence[int], terminator: str | None = "."
) -> Iterator[Case]:
    """Expand the chosen items in blocks, so that memory stays bounded for any number of items."""
    for start in range(0, len(rows), ITEMS_AT_ONCE):
        yield expand(grammar, contrasts, rows[start : start + ITEMS_AT_ONCE], terminator)


class _Block:
    def __init__(self, grammar: Grammar, index: NDArray[np.int64]):
        self._grammar, self._n_items = grammar, len(index)
        self._slots = {slot.name: slot for slot in grammar.slots}
        self._codes = grammar.codes(index)
        self._distinct: dict[tuple[str, ...], tuple[NDArray[np.int64], ArrowColumn]] = {}
        self._texts: dict[int, ArrowColumn] = {}
        next(iter(grammar.sentences.values()))[0].start_block()

    def sentence(self, line: Sequence[Code]) -> ArrowColumn:
        """Assemble one labelled line for all items."""
        columns = [self._text(code) for code in line]
        texts = columns[0]
        if len(columns) > 1:
            texts = pc.binary_join_element_wise(*columns, "")  # type: ignore[call-overload]
        # Leave one space between words and none around the sentence. Most texts need no change.
        if pc.any(pc.match_substring_regex(texts, r"^\s|\s\s|[\t\r\n\v\f]|\s$")).as_py():
            texts = pc.ascii_trim_whitespace(pc.replace_substring_regex(texts, r"\s+", " "))
        if pc.any(pc.equal(texts, pa.scalar(""))).as_py():
            fix = "Change the line so that every combination of words prints some text."
            raise GrammarError("the sentence of an item is empty.", self._grammar.path, line[0].line, fix)
        return texts

    def marked(self, label: str, texts: ArrowColumn) -> list[MarkedSentence]:
        """Parse the regions that the sentences of a condition mark."""
        assert self._grammar.experiment is not None
        regions, line = self._grammar.experiment.regions, self._grammar.sentences[label][0].line
        sentences: list[MarkedSentence] = []
        for text in map(str, texts.to_pylist()):
            try:
                sentence = read_marks(text, regions)
            except ValueError as error:
                fix = "Write a region as [critical at sunrise], and a region without words as [critical]."
                raise GrammarError(
                    f"{text!r}: {str(error).removesuffix('.')}.", self._grammar.path, line, fix
                ) from None
            if not sentence.text or (sentences and sentence.names != sentences[0].names):
                problem = "marks other regions than the first item" if sentence.text else "has no words"
                fix = "Mark the same regions in all items of a condition, each with words."
                raise GrammarError(f"{text!r} {problem}.", self._grammar.path, line, fix)
            sentences.append(sentence)
        return sentences

    def _text(self, code: Code) -> ArrowColumn:
        """Render a fragment for all items; labelled lines share the fragments that they have in common."""
        if id(code) not in self._texts:
            self._texts[id(code)] = self._column(code.slots, code.text)
        return self._texts[id(code)]

    def features(self) -> dict[str, ArrowColumn]:
        """Return the fillers and numbers of all slots, then the declared features."""
        columns: dict[str, ArrowColumn] = {}
        for name, slot in self._slots.items():
            columns[name] = self._column((name,), lambda binding: _lemma(*binding.values()))
            if slot.has_number:
                columns[f"{name}_number"] = self._column((name,), lambda binding: _number(*binding.values()))
        for name, code in self._grammar.features.items():
            if not isinstance(code, Code):
                columns[name] = pa.repeat(code, self._n_items)
                continue
            try:
                columns[name] = self._column(code.slots, code.value)
            except pa.ArrowException:
                fix = "Write an expression whose values are all text, all numbers, or all true or false."
                message = f"the feature {name!r} mixes text, numbers, or true and false."
                raise self._grammar.document.error(message, "features", name, fix=fix) from None
        return columns

    def entries(self) -> dict[str, ArrowColumn]:
        """Return the lexicon entries of every lexical factor, (items,) each."""
        columns: dict[str, ArrowColumn] = {}
        for name, factor in self._grammar.factors.items():
            if isinstance(factor, Code):
                values, indices = self._rendered(factor.slots, factor.entry)
            else:
                values, indices = self._rendered(
                    (factor.name,), lambda values_by_slot: str(_lemma(*values_by_slot.values()))
                )
            columns[name] = as_entries(values).take(indices)
        return columns

    def _column(self, names: tuple[str, ...], render: Render) -> ArrowColumn:
        """Return a column of values that depend on some slots, (items,)."""
        values, indices = self._rendered(names, render)
        column: ArrowColumn = pa.array(values).take(indices)
        return column

    def _rendered(self, names: tuple[str, ...], render: Render) -> tuple[list[Any], ArrowColumn]:
        """Render once for each distinct binding of some slots; return the values and each item's index."""
        if names not in self._distinct:
            self._distinct[names] = self._distinct_bindings(names)
        rows, inverse = self._distinct[names]
        slots = [self._slots[name] for name in names]
        codes = [self._codes[name][rows].tolist() for name in names]
        values = [
            render({slot.name: slot.binding(code) for slot, code in zip(slots, binding, strict=True)})
            for binding in (zip(*codes, strict=True) if names else [()] * len(rows))
        ]
        return values, inverse

    def _distinct_bindings(self, names: tuple[str, ...]) -> tuple[NDArray[np.int64], ArrowColumn]:
        """Return one row for each distinct binding of some slots, and the binding's index for every row."""
        combined = np.zeros(self._n_items, dtype=np.int64)
        for name in names:
            codes, size = self._codes[name], self._slots[name].n_bindings
            if size > self._n_items:
                # Renumber codes within the block, so that the product below fits into 64 bits.
                distinct, codes = np.unique(codes, return_inverse=True)
                size = len(distinct)
            combined = np.unique(combined, return_inverse=True)[1] * size + codes
        _, rows, inverse = np.unique(combined, return_index=True, return_inverse=True)
        return rows, pa.array(inverse)


def _lemma(binding: Binding) -> Feature:
    """Return the name of a filler in a feature column; several fillers are joined with commas."""
    if isinstance(binding, tuple):
        return ", ".join(str(_lemma(filler)) for filler in binding)
    return binding.lemma if isinstance(binding, Word) else binding


def _number(binding: Binding) -> str:
    if isinstance(binding, tuple):
        return ", ".join(_number(filler) for filler in binding)
    assert isinstance(binding, Word)
    assert binding.number is not None
    return binding.number
