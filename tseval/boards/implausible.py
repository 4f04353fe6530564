"""Evidence that no language model gives: constant, blind to context, or too good for its perplexity.

Each finding is a warning: a maintainer looks at the entry, and scores it again with its model. The limits
were set so that no honest entry of the boards that come with tseval comes near them
(docs/results/forgeries.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tseval.evidence.prefixes import mark_nodes, split_words
from tseval.evidence.restoring import readable
from tseval.runs.board_suite import numbered
from tseval.verifying.plausible import BY_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tseval.evidence.prefixes import Words
    from tseval.evidence.record import Evidence
    from tseval.runs.board_suite import SplitSuite
    from tseval.runs.manifest import Manifest

    _Rows = NDArray[np.int64]


LEAST_NUMBERS = 20  # with fewer, no statement is possible
LEAST_FOR_WORDS = 200
# In honest models, the word explains .74 to .97 of the variance of log-probabilities, and the word with
# the word before it at most .993.
UNIGRAM, BIGRAM, WITHOUT_WORDS = 0.995, 0.9999, 0.2
# In honest models, perplexity on the suite divided by the stated perplexity is 1.9 to 37.
LEAST_RATIO, MOST_RATIO = 1 / 20, 1_000
# A language model with a perplexity above 30 has at most .9 on a suite of many constructions.
MANY_ROWS, MANY_CONTRASTS, LOW_PERPLEXITY, HIGH_ACCURACY = 5, 1_000, 30, 0.97
UNINFORMED_ACCURACY = 0.8
LARGEST_PERPLEXITY = 1e12


@dataclass(frozen=True)
class Nodes:
    """The words to which the rows of evidence belong.

    Attributes:
        positions: Index of each row's word among the words of all sentences, (rows,).
        word: Number of the word, (rows,).
        pair: Number of the word with the word before it, (rows,).
    """

    positions: _Rows
    word: _Rows
    pair: _Rows


def nodes_of(evidence: Evidence, split: SplitSuite) -> Nodes | None:
    """Find the word of each row of evidence; None if rows are no words, or do not fit the suite."""
    if evidence.unit == "sentence":
        return None
    if evidence.too_long:
        return _find_nodes(evidence, split, split_words(readable(evidence, split.sentences)[0]))
    global _last  # noqa: PLW0603 - most entries of a board have the same nodes
    shape = evidence.unit, tuple(evidence.apart.items()), evidence.table.num_rows
    if _last is None or _last[0] is not split or _last[1] != shape:
        _last = split, shape, _find_nodes(evidence, split, split.words)
    return _last[2]


_last: tuple[SplitSuite, object, Nodes | None] | None = None


def _find_nodes(evidence: Evidence, split: SplitSuite, words: Words) -> Nodes | None:
    ids, pairs = split.numbered_words if words is split.words else numbered(words)
    is_node = np.ones(len(ids), dtype=np.bool_)
    if evidence.unit == "prefix":
        shared = words.shared.copy()
        for row, n_shared in evidence.apart.items():
            if 0 <= row < len(shared):
                shared[row] = n_shared
        is_node = mark_nodes(words, shared)
    positions = np.flatnonzero(is_node)
    if len(positions) != evidence.table.num_rows:
        return None
    return Nodes(positions, ids[positions], pairs[positions])


def implausible(manifest: Manifest, evidence: Evidence, split: SplitSuite, n_rows: int) -> list[str]:
    """Describe what is implausible in an entry, one sentence each. `n_rows` is the table's number of rows."""
    return [
        *_numbers(manifest, evidence, nodes_of(evidence, split)),
        *_accuracy(manifest, evidence, n_rows),
    ]


def _numbers(manifest: Manifest, evidence: Evidence, nodes: Nodes | None) -> Iterator[str]:
    """Check the numbers alone, then how they depend on words."""
    values = np.asarray(evidence.table["logprob"]).astype(np.float64)
    is_given = "task" in manifest.key.protocol  # a classifier: the words before its answer have 0
    scored = values[values != 0] if is_given else values
    if len(scored) < LEAST_NUMBERS:
        return
    limit = 2 * len(scored) ** 0.5
    distinct = np.unique(np.round(scored[: int(10 * limit)], 4))
    if len(distinct) <= limit:  # too few words for a statement about all
        distinct = np.unique(np.round(scored, 4))
    if len(distinct) == 1:
        yield f"each of its {len(scored):,} log-probabilities is {distinct[0]:.4g}"
        return
    if manifest.model.kind == "oracle":  # an ideal model of a formal language
        return
    knows_words = nodes is not None and not is_given and len(scored) >= LEAST_FOR_WORDS
    by_word = _explained(nodes.word, values) if nodes is not None and knows_words else 0.5
    if by_word >= UNIGRAM:
        yield (
            f"the word alone explains {_percent(by_word)} of its log-probabilities: they do not depend on "
            "the context, as in a unigram model"
        )
        return
    if len(distinct) <= limit:
        yield f"its {len(scored):,} log-probabilities have only {len(distinct):,} different values"
        return
    if nodes is None or not knows_words:
        return
    if manifest.model.kind != "ngram" and (by_pair := _explained(nodes.pair, values)) >= BIGRAM:
        yield (
            f"a word and the word before it explain {_percent(by_pair)} of its log-probabilities, as in a "
            "bigram model"
        )
    elif by_word < WITHOUT_WORDS and "right" not in evidence.table.column_names:
        yield (
            f"the word explains only {_percent(by_word)} of its log-probabilities: they look like random "
            "numbers"
        )


def _percent(share: float) -> str:
    return f"{max(0.0, share):.2%}"


def _explained(groups: _Rows, values: NDArray[np.float64]) -> float:
    """Return the share of variance between groups, over groups of at least two values; 0 without any."""
    size = np.bincount(groups)
    mean = np.bincount(groups, values) / np.maximum(size, 1)
    is_repeated = size[groups] > 1
    if is_repeated.sum() < LEAST_FOR_WORDS:
        return 0.5
    chosen = values[is_repeated]
    total = float(((chosen - chosen.mean()) ** 2).sum())
    return 1 - float(((chosen - mean[groups][is_repeated]) ** 2).sum()) / total if total else 1.0


def _accuracy(manifest: Manifest, evidence: Evidence, n_rows: int) -> Iterator[str]:
    """Compare accuracy and evidence with the perplexity that the entry states for its validation text."""
    perplexity = manifest.model.details.get("validation_perplexity")
    if not isinstance(perplexity, int | float) or isinstance(perplexity, bool):
        return
    if perplexity > LARGEST_PERPLEXITY:  # including a whole number that is too large for a float
        yield f"it states a perplexity above {LARGEST_PERPLEXITY:.0e}"
        return
    if not perplexity > 1:
        yield f"it states a perplexity of {perplexity:.4g}, but a perplexity is above 1"
        return
    counts = manifest.counts
    decided = counts.contrasts - counts.undecidable
    accuracy = counts.correct / decided if decided else 0.0
    size = manifest.model.details.get("vocabulary")
    if isinstance(size, int) and perplexity >= size and accuracy >= UNINFORMED_ACCURACY:
        yield (
            f"it is right on {accuracy:.1%} of the contrasts, but its stated perplexity of {perplexity:.4g} "
            f"is that of a model that guesses among its {size:,} words"
        )
    elif (
        manifest.model.kind in BY_WORDS
        and n_rows >= MANY_ROWS
        and decided >= MANY_CONTRASTS
        and perplexity > LOW_PERPLEXITY
        and accuracy >= HIGH_ACCURACY
    ):
        yield (
            f"it is right on {accuracy:.1%} of {decided:,} contrasts with a stated perplexity of "
            f"{perplexity:.4g}: language models with a perplexity above {LOW_PERPLEXITY} are right on about "
            "90% at most"
        )
    if evidence.unit == "sentence" or manifest.model.kind not in BY_WORDS:
        return
    values = np.asarray(evidence.table["logprob"]).astype(np.float64)
    if len(values) >= LEAST_FOR_WORDS:
        suite_perplexity = float(np.exp(min(-values.mean(), 700.0)))
        if not perplexity * LEAST_RATIO <= suite_perplexity <= perplexity * MOST_RATIO:
            yield (
                f"its perplexity on the suite is {suite_perplexity:.3g}, but it states {perplexity:.4g} on "
                "its validation text"
            )
