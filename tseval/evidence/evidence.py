"""Evidence: what a run's numbers follow from, given the suite; enough to make every table of it again.

A causal model's evidence is one log-probability for each node of the prefix trie of the suite's sentences.
There is no sentence in it: the suite has them. Equal prefixes have one number: there is one place for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.errors import EvidenceError, counted, shown
from tseval.evidence.prefixes import Words, common, kept, split_words, spread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

Unit = Literal["prefix", "word", "sentence"]
# A causal model computes a prefix anew only where scoring was cut into shards. A model that does so in more
# sentences than this share has words that depend on what follows them.
MOST_APART = 0.02


@dataclass(frozen=True)
class Evidence:
    """Log-probabilities that follow from no others.

    Attributes:
        suite_digest: Of the suite whose sentences they belong to.
        unit: What one row stands for. `prefix`: a node of the prefix trie of the suite's distinct sentences,
            sorted by code point, in preorder. `word`: a word of them, where words depend on the whole
            sentence, or something is asked before them. `sentence`: a sentence, where no word is known.
        apart: Sentences whose shared prefix was computed once more, with another last bit: the row among the
            distinct sentences to the number of words that are still shared with the sentence before.
        table: `logprob` (nats; float32, float64 for sentences) and `seen`, the word or sentence as the
            model sees it, null where that is the suite's own; `right` and `wrong` (nats, float64) where
            something is asked before words; `pieces` (nats, float32) where words were corrected: what
            they were before, of which sentences are made; `unscored`, at first words, where the model leaves
            first tokens unscored.
    """

    suite_digest: str
    unit: Unit
    apart: Mapping[int, int]
    table: pa.Table

    def __repr__(self) -> str:
        return shown(self, self.suite_digest[:8], counted(self.table.num_rows, "row"))


def gather(scored: pa.Table, suite_digest: str) -> Evidence:
    """Keep of scored sentences what does not follow from the suite.

    Args:
        scored: All distinct sentences of a suite, sorted, as `sentences.parquet` of a run holds them.
        suite_digest: Of the suite.

    Raises:
        EvidenceError: The model saw sentences as other numbers of words than they have.
    """
    sentences = whole_column(scored, "sentence")
    values = flat_column(scored, "words")
    if values.null_count:
        logprob = whole_column(scored, "logprob")
        return Evidence(
            suite_digest, "sentence", {}, _table(logprob, whole_column(scored, "seen"), sentences)
        )
    words, seen = split_words(sentences), split_words(whole_column(scored, "seen"))
    if not np.array_equal(words.lengths, seen.lengths):
        row = int(np.flatnonzero(words.lengths != seen.lengths)[0])
        raise EvidenceError(
            f"the model sees {sentences[row].as_py()!r} as {seen.lengths[row]} words, and evidence is kept "
            f"word by word.\n  Its adapter should give one word for each of the {words.lengths[row]}."
        )
    table = _table(values, seen.texts, words.texts)
    if "pieces" in scored.column_names:
        table = table.append_column("pieces", flat_column(scored, "pieces"))
    if "right" in scored.column_names:
        for name in ("right", "wrong"):
            table = table.append_column(name, pc.list_flatten(scored[name]))
        return Evidence(suite_digest, "word", {}, table)
    look = seen.texts.dictionary_encode().indices.to_numpy().astype(np.int64)
    if "unscored" in scored.column_names:
        table, look = _with_first_tokens(
            table, look, words.starts, whole_column(scored, "unscored").to_numpy()
        )
    bits = values.to_numpy().view(np.uint32)
    shared = common(look << 32 | bits, words, words.shared)
    if "pieces" in table.column_names:
        shared = common(table["pieces"].to_numpy().view(np.uint32), words, shared)
    apart = np.flatnonzero(shared != words.shared)
    if len(apart) > MOST_APART * len(shared):
        return Evidence(suite_digest, "word", {}, table)
    exceptions = dict(zip(apart.tolist(), shared[apart].tolist(), strict=True))
    return Evidence(suite_digest, "prefix", exceptions, table.filter(pa.array(kept(words, shared))))


def scored_again(evidence: Evidence, sentences: pa.StringArray, words: Words | None = None) -> pa.Table:
    """Make scored sentences from evidence, bit for bit those that it was gathered from.

    Args:
        evidence: Of a run on a suite.
        sentences: The suite's distinct sentences, sorted (`tseval.verdicts.sentences_of`).
        words: Those of the sentences, where they are split already.

    Returns:
        `sentence`, `seen`, `logprob` (nats, float64), `words` (nats, float32), and `right`, `wrong`, `pieces`
        and `unscored` where there are such, as `sentences.parquet` holds them.

    Raises:
        EvidenceError: It has another number of rows than these sentences need, or other words in them.
    """
    if evidence.unit == "sentence":
        return _sentences_again(evidence, sentences)
    words = words or split_words(sentences)
    place = _places(evidence, words)
    table = evidence.table.take(pa.array(place, pa.int64()))
    _refuse_other_words(evidence)
    seen = pc.coalesce(whole_column(table, "seen"), words.texts)
    values = whole_column(table, "logprob")
    made_of = whole_column(table, "pieces") if "pieces" in table.column_names else values
    sums = np.add.reduceat(made_of.to_numpy().astype(np.float64), words.starts)
    offsets = pa.array(np.concatenate(([0], np.cumsum(words.lengths))), pa.int32())
    columns: dict[str, pa.Array] = {  # type: ignore[type-arg]
        "sentence": sentences,
        "seen": cast("pa.StringArray", pc.binary_join(pa.ListArray.from_arrays(offsets, seen), " ")),
        "logprob": pa.array(sums),
        "words": pa.ListArray.from_arrays(offsets, values),
    }
    for name in set(table.column_names) & {"right", "wrong", "pieces"}:
        columns[name] = pa.ListArray.from_arrays(offsets, whole_column(table, name))
    if "unscored" in table.column_names:
        columns["unscored"] = whole_column(table, "unscored").take(pa.array(words.starts, pa.int64()))
        if columns["unscored"].null_count:
            raise EvidenceError("does not say which first token was left unscored in every sentence")
    return pa.table(columns)


def _with_first_tokens(
    table: pa.Table, look: NDArray[np.int64], starts: NDArray[np.int64], tokens: NDArray[np.int64]
) -> tuple[pa.Table, NDArray[np.int64]]:
    """Keep the unscored first tokens, (sentences,); a first word with another one is another prefix."""
    look = look.copy()
    pairs = np.stack((look[starts], tokens), axis=1)
    look[starts] = look.max() + 1 + np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    column = np.zeros(len(look), dtype=np.int64)
    column[starts] = tokens
    nothing = np.ones(len(look), dtype=np.bool_)
    nothing[starts] = False
    return table.append_column("unscored", pa.array(column, pa.int64(), mask=nothing)), look


def _places(evidence: Evidence, words: Words) -> NDArray[np.int64]:
    """Find the row of evidence for every word."""
    if evidence.unit == "word":
        _refuse_other_size(evidence, len(words.texts))
        return np.arange(len(words.texts))
    shared = words.shared.copy()
    for row, depth in evidence.apart.items():
        if not 0 <= row < len(shared) or not 0 <= depth < shared[row]:
            raise EvidenceError(f"sentence {row} of the suite does not share more than {depth} words")
        shared[row] = depth
    _refuse_other_size(evidence, int((words.lengths - shared).sum()))
    return spread(words, shared)


def _sentences_again(evidence: Evidence, sentences: pa.StringArray) -> pa.Table:
    _refuse_other_size(evidence, len(sentences))
    lengths = split_words(sentences).lengths
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    nothing = pa.nulls(int(lengths.sum()), pa.float32())
    return pa.table(
        {
            "sentence": sentences,
            "seen": pc.coalesce(whole_column(evidence.table, "seen"), sentences),
            "logprob": whole_column(evidence.table, "logprob"),
            "words": pa.ListArray.from_arrays(offsets, nothing),
        }
    )


def _refuse_other_words(evidence: Evidence) -> None:
    """Refuse what would make more or fewer words of one."""
    seen = pc.drop_null(whole_column(evidence.table, "seen"))
    spaced = pc.not_equal(seen, pc.utf8_trim_whitespace(seen)).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero((split_words(seen).lengths != 1) | spaced)
    if len(wrong):
        raise EvidenceError(f"says that a word is seen as {seen[int(wrong[0])].as_py()[:60]!r}, not one word")


def _refuse_other_size(evidence: Evidence, needed: int) -> None:
    found = evidence.table.num_rows
    if found != needed:
        raise EvidenceError(
            f"holds {found:,} rows, one for each {evidence.unit}, but the suite needs {needed:,}: "
            "it is cut, or of another suite"
        )


def _table(logprob: pa.Array, seen: pa.StringArray, own: pa.StringArray) -> pa.Table:  # type: ignore[type-arg]
    """Lay evidence out; what the model sees is null where it is the suite's own."""
    same = pc.equal(seen, own)
    return pa.table({"logprob": logprob, "seen": pc.if_else(same, pa.scalar(None, pa.string()), seen)})


def whole_column(table: pa.Table, name: str) -> pa.StringArray:
    """Give a column of text in one piece."""
    return cast("pa.StringArray", table[name].combine_chunks())


def flat_column(table: pa.Table, name: str) -> pa.FloatArray:
    """Give the numbers of a column of lists end to end."""
    lists = cast("pa.ListArray[pa.FloatScalar]", table[name].combine_chunks())
    return cast("pa.FloatArray", lists.flatten())
