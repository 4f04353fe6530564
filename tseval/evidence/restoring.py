"""Scored sentences restored from evidence, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import EvidenceError
from tseval.evidence.columns import whole_column
from tseval.evidence.prefixes import Words, find_nodes, join_words, list_offsets, split_words
from tseval.evidence.record import AFTER_SENTENCES
from tseval.questions.answers import ANSWER_COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tseval.evidence.record import Evidence


def readable(evidence: Evidence, sentences: pa.StringArray) -> tuple[pa.StringArray, pa.StringArray]:
    """Split the suite's distinct sentences into those that a model read and those that are too long.

    Raises:
        EvidenceError: A row of `too_long` does not exist, or all sentences are too long.
    """
    rows = np.asarray(evidence.too_long, dtype=np.int64)
    if len(rows) and (np.any(np.diff(rows, prepend=-1) < 1) or rows[-1] >= len(sentences)):
        raise EvidenceError(
            "the evidence has a list of sentences that are too long, but some of these are not in the suite, "
            "or are in another order"
        )
    if len(rows) == len(sentences) > 0:
        raise EvidenceError("the evidence states that every sentence is too long, so it has no scores")
    mask = np.ones(len(sentences), dtype=np.bool_)
    mask[rows] = False
    return sentences.filter(pa.array(mask)), sentences.filter(pa.array(~mask))


def scored_again(evidence: Evidence, sentences: pa.StringArray, words: Words | None = None) -> pa.Table:
    """Restore scored sentences from evidence, bit for bit.

    Args:
        evidence: The evidence of a run.
        sentences: The suite's distinct sentences, sorted (`tseval.verdicts.sentences_of`).
        words: The words of the sentences, if they are split already.

    Returns:
        The columns of `sentences.parquet`: `sentence`, `seen`, `logprob` (nats, float64), `words` (nats,
        float32), and `right`, `wrong`, `pieces`, `unscored`, `forms` and `before` if the evidence has them.

    Raises:
        EvidenceError: The number of rows does not match these sentences, or a value of `seen` is not a word.
    """
    if evidence.unit == "sentence":
        return _sentences_again(evidence, sentences)
    words = words or split_words(sentences)
    rows = _find_rows(evidence, words)
    of_words = [name for name in evidence.table.column_names if name not in AFTER_SENTENCES]
    table = evidence.table.select(of_words).take(pa.array(rows, pa.int64()))
    _refuse_other_words(evidence)
    seen = whole_column(table, "seen")
    knows_all = seen.null_count == len(seen)
    values = whole_column(table, "logprob")
    summands = whole_column(table, "pieces") if "pieces" in table.column_names else values
    sums = np.add.reduceat(summands.to_numpy().astype(np.float64), words.starts)
    offsets = list_offsets(words.lengths)
    columns: dict[str, pa.Array] = {  # type: ignore[type-arg]
        "sentence": sentences,
        "seen": words.joined if knows_all else join_words(pc.coalesce(seen, words.texts), words),
        "logprob": pa.array(sums),
        "words": pa.ListArray.from_arrays(offsets, values),
    }
    for name in set(table.column_names) & {"right", "wrong", "pieces"}:
        columns[name] = pa.ListArray.from_arrays(offsets, whole_column(table, name))
    if "unscored" in table.column_names:
        columns["unscored"] = whole_column(table, "unscored").take(pa.array(words.starts, pa.int64()))
        if columns["unscored"].null_count:
            raise EvidenceError(
                "the evidence has a column 'unscored', but in this column the first word of some sentences "
                "has no value"
            )
    last = pa.array(rows[words.starts + words.lengths - 1], pa.int64())
    for name in set(evidence.table.column_names) & set(AFTER_SENTENCES):
        columns[name] = evidence.table[name].take(last).combine_chunks()
        if columns[name].null_count:
            raise EvidenceError(
                f"the evidence has a column {name!r}, but in this column the last word of some sentences has "
                "no list of numbers"
            )
    return pa.table(columns)


def _find_rows(evidence: Evidence, words: Words) -> NDArray[np.int64]:
    """Return the row of evidence for every word."""
    if evidence.unit == "word":
        _refuse_other_size(evidence, len(words.texts))
        return np.arange(len(words.texts))
    shared = words.shared.copy()
    for row, depth in evidence.apart.items():
        if not 0 <= row < len(shared) or not 0 <= depth < shared[row]:
            raise EvidenceError(
                f"the evidence does not fit the suite: by the evidence, sentence {row} shares more than "
                f"{depth} first words with the sentence before it, but in the suite it does not"
            )
        shared[row] = depth
    _refuse_other_size(evidence, int((words.lengths - shared).sum()))
    key = tuple(evidence.apart.items())
    if key not in words.evidence_rows:  # most models of a board have equal keys: empty, or equal shards
        if len(words.evidence_rows) > 1:
            words.evidence_rows.popitem()
        words.evidence_rows[key] = find_nodes(words, shared)
    return words.evidence_rows[key]


def _sentences_again(evidence: Evidence, sentences: pa.StringArray) -> pa.Table:
    _refuse_other_size(evidence, len(sentences))
    lengths = split_words(sentences).lengths
    nulls = pa.nulls(int(lengths.sum()), pa.float32())
    table = pa.table(
        {
            "sentence": sentences,
            "seen": pc.coalesce(whole_column(evidence.table, "seen"), sentences),
            "logprob": whole_column(evidence.table, "logprob"),
            "words": pa.ListArray.from_arrays(list_offsets(lengths), nulls),
        }
    )
    for name in ANSWER_COLUMNS:
        if name in evidence.table.column_names:
            table = table.append_column(name, evidence.table[name])
    return table


def _refuse_other_words(evidence: Evidence) -> None:
    """Raise an error if a value of `seen` is not exactly one word."""
    seen = pc.drop_null(whole_column(evidence.table, "seen"))
    spaced = pc.not_equal(seen, pc.utf8_trim_whitespace(seen)).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero((split_words(seen).lengths != 1) | spaced)
    if len(wrong):
        raise EvidenceError(
            "according to the evidence, the model reads a word of the suite as "
            f"{seen[int(wrong[0])].as_py()[:60]!r}, but this text is not exactly one word"
        )


def _refuse_other_size(evidence: Evidence, needed: int) -> None:
    n_rows = evidence.table.num_rows
    if n_rows != needed:
        raise EvidenceError(
            f"the evidence has {n_rows:,} rows, but the suite needs {needed:,} (one for each "
            f"{evidence.unit}): the file is truncated or belongs to another suite"
        )
