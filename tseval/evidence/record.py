"""The evidence of a run: the log-probabilities from which its scored sentences are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import EvidenceError, counted, one_line
from tseval.evidence.columns import flat_column, whole_column
from tseval.evidence.prefixes import count_shared, mark_nodes, split_words
from tseval.questions.answers import ANSWER, ANSWER_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tseval.evidence.prefixes import Words


Unit = Literal["prefix", "word", "sentence"]
# A causal model computes a prefix twice only if scoring was split into shards. If more sentences than this
# share have prefixes with two values, words depend on the words after them.
MOST_APART = 0.02
# Columns of lists, one per sentence: forms after it, and the total probability of more probable tokens.
AFTER_SENTENCES = ("forms", "before")


@dataclass(frozen=True)
class Evidence:
    """The log-probabilities from which all others are computed.

    Attributes:
        suite_digest: The digest of the suite whose sentences they belong to.
        unit: The unit of a row. `prefix`: a node of the prefix trie of the suite's distinct sentences, sorted
            by code point, in preorder. `word`: a word of these, if words depend on the whole sentence or if
            there are choices before them. `sentence`: a sentence, if no word has a log-probability.
        apart: Sentences whose shared prefix was computed twice, with different last bits: from the row among
            the distinct sentences to the number of words that are still shared with the sentence before.
        table: `logprob` (nats; float32, float64 for sentences) and `seen`, the word or sentence as the model
            reads it, null if it is the suite's. Optional: `right` and `wrong` (nats, float64) if there are
            choices before words; `pieces` (nats, float32), the values before a correction of words, which
            sum to the sentence scores; `unscored`, at first words, if the model leaves first tokens unscored;
            `forms` and `before`, at last words, if all verbs of a list are compared after a sentence; the
            columns of `tseval.questions.answers.ANSWER_COLUMNS` if sentences are prompts.
        too_long: Rows among the suite's distinct sentences, ascending, of those that the model cannot read;
            the table has only the others.
    """

    suite_digest: str
    unit: Unit
    apart: Mapping[int, int]
    table: pa.Table
    too_long: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return one_line(self, self.suite_digest[:8], counted(self.table.num_rows, "row"))


def gather(scored: pa.Table, suite_digest: str) -> Evidence:
    """Extract from scored sentences the numbers that cannot be computed from the suite.

    Args:
        scored: All distinct sentences of a suite, sorted, in the form of `sentences.parquet`.
        suite_digest: The digest of the suite.

    Raises:
        EvidenceError: The model's `seen` has another number of words than a sentence.
    """
    sentences = whole_column(scored, "sentence")
    values = flat_column(scored, "words")
    if values.null_count:
        table = _table(whole_column(scored, "logprob"), whole_column(scored, "seen"), sentences)
        for name in ANSWER_COLUMNS if ANSWER in scored.column_names else ():
            table = table.append_column(name, scored[name])
        return Evidence(suite_digest, "sentence", {}, table)
    words, seen = split_words(sentences), split_words(whole_column(scored, "seen"))
    if not np.array_equal(words.lengths, seen.lengths):
        row = int(np.flatnonzero(words.lengths != seen.lengths)[0])
        raise EvidenceError(
            f"the model sees {sentences[row].as_py()!r} as {seen.lengths[row]} words, but the sentence has "
            f"{words.lengths[row]} words.\n"
            "  Correct the method `seen` of the adapter: it must return one word for each word of the "
            "sentence."
        )
    table = _table(values, seen.texts, words.texts)
    if "pieces" in scored.column_names:
        table = table.append_column("pieces", flat_column(scored, "pieces"))
    for name in AFTER_SENTENCES:
        if name in scored.column_names:
            table = table.append_column(name, _at_last_words(scored[name], words))
    if "right" in scored.column_names:
        for name in ("right", "wrong"):
            table = table.append_column(name, pc.list_flatten(scored[name]))
        return Evidence(suite_digest, "word", {}, table)
    look = seen.texts.dictionary_encode().indices.to_numpy().astype(np.int64)
    if "unscored" in scored.column_names:
        tokens = whole_column(scored, "unscored").to_numpy()
        table, look = _with_first_tokens(table, look, words.starts, tokens)
    bits = values.to_numpy().view(np.uint32)
    shared = count_shared(look << 32 | bits, words, words.shared)
    if "pieces" in table.column_names:
        shared = count_shared(table["pieces"].to_numpy().view(np.uint32), words, shared)
    indices = np.flatnonzero(shared != words.shared)
    if len(indices) > MOST_APART * len(shared):
        return Evidence(suite_digest, "word", {}, table)
    exceptions = dict(zip(indices.tolist(), shared[indices].tolist(), strict=True))
    return Evidence(suite_digest, "prefix", exceptions, table.filter(pa.array(mark_nodes(words, shared))))


def _at_last_words(lists: pa.ChunkedArray[Any], words: Words) -> pa.ChunkedArray[Any]:
    """Put the lists of a sentence at its last word, whose node no earlier sentence has; null elsewhere."""
    sentence = np.zeros(len(words.texts), dtype=np.int64)
    is_missing = np.ones(len(words.texts), dtype=np.bool_)
    last = words.starts + words.lengths - 1
    sentence[last], is_missing[last] = np.arange(len(last)), False
    return lists.take(pa.array(sentence, pa.int64(), mask=is_missing))


def _with_first_tokens(
    table: pa.Table, look: NDArray[np.int64], starts: NDArray[np.int64], tokens: NDArray[np.int64]
) -> tuple[pa.Table, NDArray[np.int64]]:
    """Add unscored first tokens, (sentences,); with another token, an equal first word is another prefix."""
    look = look.copy()
    pairs = np.stack((look[starts], tokens), axis=1)
    look[starts] = look.max() + 1 + np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    column = np.zeros(len(look), dtype=np.int64)
    column[starts] = tokens
    is_missing = np.ones(len(look), dtype=np.bool_)
    is_missing[starts] = False
    return table.append_column("unscored", pa.array(column, pa.int64(), mask=is_missing)), look


def _table(logprob: pa.Array, seen: pa.StringArray, own: pa.StringArray) -> pa.Table:  # type: ignore[type-arg]
    """Return the table of evidence; `seen` is null if the model reads the suite's word or sentence."""
    is_same = pc.equal(seen, own)
    return pa.table({"logprob": logprob, "seen": pc.if_else(is_same, pa.scalar(None, pa.string()), seen)})
