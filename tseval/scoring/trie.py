"""Distinct prefixes as a trie, and packed for a transformer; scored sentences as rows.

A context is a prefix that is continued. In preorder, each followed by all that it begins, the
contexts below any one of them are a contiguous range of numbers: context k is a beginning of context j
exactly if k ≤ j < end[k]. That gives the attention mask of a row without walking the trie.

Two layouts:

- `packed_batches`: rows of many contexts, each of which may attend to its own beginnings only;
- `path_batches`: whole paths, as plain rows of equal length, for models that read a row from left to right.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from tseval.errors import ModelError
from tseval.scoring.devices import empty_caches, on_device, out_of_memory
from tseval.scoring.protocol import Encoded, as_array, not_finite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tseval.scoring.protocol import PrefixState, RecurrentModel


def refuse_empty(sentences: pa.StringArray) -> None:
    """Refuse sentences without words."""
    if pc.min(pc.utf8_length(pc.utf8_trim_whitespace(sentences))).as_py() == 0:
        raise ModelError(
            "one of the sentences has no words. Remove this sentence, or write at least one word"
        )


def words_and_lengths(sentences: pa.StringArray) -> tuple[Any, np.ndarray]:
    """Split sentences at white space: the words of each, and how many it has, (sentences,) int64."""
    words = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(sentences))
    return words, pc.list_value_length(words).to_numpy().astype(np.int64)


def pieces_of(encoded: Encoded) -> np.ndarray:
    """Return the number of tokens of each word, (words,) int64."""
    if encoded.pieces is not None:
        return encoded.pieces
    return np.ones(int(encoded.lengths.sum()), dtype=np.int64)


def sum_pieces(encoded: Encoded, logprobs: np.ndarray) -> np.ndarray:
    """Sum the log-probabilities of tokens, (tokens,), to those of words, (words,) float32."""
    if encoded.pieces is None:
        return logprobs
    word_of = np.repeat(np.arange(len(encoded.pieces)), encoded.pieces)
    return np.bincount(word_of, weights=logprobs, minlength=len(encoded.pieces)).astype(np.float32)


def rows_of_words(
    sentences: pa.StringArray,
    encoded: Encoded,
    words: np.ndarray,
    who: str,
    corrections: np.ndarray | None = None,
) -> pa.Table:
    """Gather word log-probabilities, (words,), into one row per sentence.

    Corrections are added to the words, and not to the sentence: they add up to how its last word ends and its
    first one begins, which is no part of its probability. What they were added to stands beside the words, as
    `pieces`.
    """
    ends = np.cumsum(encoded.lengths)
    sums = np.add.reduceat(words.astype(np.float64), ends - encoded.lengths) if len(words) else np.empty(0)
    if corrections is None:
        return rows_of_sums(sentences, encoded, pa.array(words, pa.float32()), sums, who)
    corrected = (words + corrections).astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(corrected))
    if len(wrong):
        row = int(np.searchsorted(ends, wrong[0], side="right"))
        raise not_finite(float(corrected[wrong[0]]), sentences[row].as_py(), who)
    table = rows_of_sums(sentences, encoded, pa.array(corrected, pa.float32()), sums, who)
    pieces = pa.ListArray.from_arrays(_offsets(encoded), pa.array(words, pa.float32()))
    return table.append_column("pieces", pieces)


def _offsets(encoded: Encoded) -> pa.Int32Array:
    return pa.array(np.concatenate(([0], np.cumsum(encoded.lengths))), pa.int32())


def rows_of_sums(
    sentences: pa.StringArray, encoded: Encoded, words: pa.FloatArray, sums: np.ndarray, who: str
) -> pa.Table:
    """Lay out one row per sentence; `words`, (words,), are null where only the sums are known."""
    if not np.isfinite(sums).all():
        row = int(np.flatnonzero(~np.isfinite(sums))[0])
        raise not_finite(float(sums[row]), sentences[row].as_py(), who)
    return pa.table(
        {
            "sentence": sentences,
            "seen": encoded.seen,
            "logprob": pa.array(sums, pa.float64()),
            "words": pa.ListArray.from_arrays(_offsets(encoded), words),
            "n_unknown": pa.array(encoded.n_unknown, pa.int32()),
        }
    )


def with_unscored(table: pa.Table, encoded: Encoded) -> pa.Table:
    """Add the column `unscored`: the first token of each sentence, for a model that leaves it unscored."""
    counts = encoded.token_counts
    return table.append_column("unscored", pa.array(encoded.tokens[np.cumsum(counts) - counts], pa.int64()))


T = TypeVar("T")


class Memory:
    """Remembers the size of batch that fitted; `unit` is what is counted, for the warnings."""

    def __init__(self, at_once: int, unit: str) -> None:
        self.at_once, self.unit = at_once, unit
        self.shortages: list[str] = []  # a line for each time that memory did not suffice

    def whole(self, score: Callable[[int], T]) -> T:
        """Call a function with the size of its batches, until they are small enough."""
        while True:
            try:
                return score(self.at_once)
            except (MemoryError, RuntimeError) as error:
                self._halve(self.at_once, error)

    def in_parts(self, n: int, part: Callable[[int, int], np.ndarray]) -> np.ndarray:
        """Join what a function gives for parts [start, stop) of n, each small enough."""
        pieces: list[np.ndarray] = []
        start = 0
        while start < n:
            stop = min(start + self.at_once, n)
            try:
                pieces.append(part(start, stop))
            except (MemoryError, RuntimeError) as error:
                self._halve(stop - start, error)
            else:
                start = stop
        return np.concatenate(pieces)

    def _halve(self, tried: int, error: MemoryError | RuntimeError) -> None:
        """Go on with half of what was tried, if it was memory that did not suffice."""
        if not out_of_memory(error):
            raise error
        if tried == 1:
            raise ModelError(
                "the device has not enough memory to score even one sentence. Choose another "
                "--device, such as --device cpu"
            )
        self.at_once = tried // 2
        empty_caches()
        self.shortages.append(
            f"out of memory with {tried} {self.unit} at once; continued with {self.at_once}"
        )


@dataclass(frozen=True, slots=True)
class Level:
    """All distinct prefixes of one length."""

    tokens: np.ndarray  # last word of each prefix, (nodes,) int64
    # position of the prefix without its last word in the level before, ascending, (nodes,) int64
    parents: np.ndarray
    # Positions of the prefixes that go on, ascending, (inner,) int64. Only these are contexts: the model
    # never reads the last word of a sentence that no other sentence continues.
    inner: np.ndarray


@dataclass(frozen=True, slots=True)
class Trie:
    """Distinct prefixes of encoded sentences."""

    levels: tuple[Level, ...]  # prefixes of length 1, 2, ... up to the longest sentence
    paths: np.ndarray  # node of every word of every sentence, counted through all levels, (words,) int64
    n_roots: int = 1  # texts that sentences stand behind; one, the empty one, where there are none

    @property
    def n_contexts(self) -> int:
        """Number of distinct contexts, the empty one included: how often a model must be advanced."""
        return self.n_roots + sum(len(level.inner) for level in self.levels)


def build_trie(
    tokens: np.ndarray, lengths: np.ndarray, shared: bool = True, roots: np.ndarray | None = None
) -> Trie:
    """Build the trie of encoded sentences without a Python loop over words or sentences.

    Every level is one sort of the pairs (parent, word): two sentences share a prefix exactly if they
    shared the prefix before and go on with the same word.

    Args:
        tokens: Word ids of all sentences one after the other, (words,) int64.
        lengths: Words of each sentence, (sentences,) int64, each at least 1.
        shared: Whether sentences share the prefixes that they have in common; if not, each has its own.
        roots: The text that each sentence stands behind, as numbers from 0 of which each occurs,
            (sentences,); parents in the first level are these. None where all stand behind the same.
    """
    starts = np.concatenate(([0], np.cumsum(lengths)))[:-1]
    base = int(tokens.max()) + 1 if len(tokens) else 1
    paths = np.empty(len(tokens), dtype=np.int64)
    node = np.zeros(len(lengths), dtype=np.int64) if shared else np.arange(len(lengths))
    n_roots = 1
    if roots is not None:
        node, n_roots = roots.copy(), int(roots.max()) + 1
    alive = np.arange(len(lengths))
    levels: list[Level] = []
    n_nodes, depth = 0, 0
    while len(alive):
        here = starts[alive] + depth
        keys, position = np.unique(node[alive] * base + tokens[here], return_inverse=True)
        node[alive] = position
        paths[here] = position + n_nodes
        n_nodes += len(keys)
        depth += 1
        alive = alive[lengths[alive] > depth]
        levels.append(Level(tokens=keys % base, parents=keys // base, inner=np.unique(node[alive])))
    return Trie(tuple(levels), paths, n_roots)


def trie_of_contexts(
    tokens: np.ndarray, counts: np.ndarray, *, shared: bool = True
) -> tuple[Trie, np.ndarray]:
    """Build a trie that has a node behind every context, so that a model is advanced to the end of each.

    Returns:
        The trie, and for each context the node of what follows it, counted through all levels, (contexts,).
    """
    stops = np.cumsum(counts)
    trie = build_trie(np.insert(tokens, stops, 0), counts + 1, shared)
    return trie, trie.paths[np.cumsum(counts + 1) - 1]


# Rows advanced together: enough for full speed of a matrix product, few enough to stay in a CPU's cache.
CONTEXTS_AT_ONCE, CONTEXTS_ON_ACCELERATOR = 1_000, 16_384


@dataclass(frozen=True, slots=True)
class Visit:
    """Some contexts of one length, and the words that follow them."""

    state: PrefixState  # the model's state after each context, one row a context
    # which context each following word belongs to, ascending; every context has one, (words,)
    rows: np.ndarray
    nodes: slice  # nodes of the trie that the words are, counted through all levels
    tokens: np.ndarray  # ids of the words, (words,)


def visit(
    model: RecurrentModel, trie: Trie, block: int | None = None, start: PrefixState | None = None
) -> Iterator[Visit]:
    """Go through all contexts, the empty one first, then level by level.

    So many are advanced at a time as `block` says, or as suit the device of the states. Sentences stand
    behind the rows of `start`, or behind the start symbol.
    """
    state = model.start() if start is None else start
    at_once = CONTEXTS_AT_ONCE if state[0].device.type == "cpu" else CONTEXTS_ON_ACCELERATOR
    first = trie.levels[0]
    n_nodes = len(first.tokens)
    yield Visit(state, first.parents, slice(0, n_nodes), first.tokens)
    parent_row = np.arange(trie.n_roots)  # row of `state` that holds a node of the level before
    for level, following in zip(trie.levels, trie.levels[1:], strict=False):
        states: list[PrefixState] = []
        for inner, children in _blocks(level, following, block or at_once):
            here = model.advance(take(state, parent_row[level.parents[inner]]), level.tokens[inner])
            # Positions in the level become rows of this block: children of the first inner node are row 0.
            rows = np.searchsorted(inner, following.parents[children])
            nodes = slice(n_nodes + children.start, n_nodes + children.stop)
            yield Visit(here, rows, nodes, following.tokens[children])
            states.append(here)
        state = tuple(torch.cat(tensors) for tensors in zip(*states, strict=True))
        parent_row = np.zeros(len(level.tokens), dtype=np.int64)
        parent_row[level.inner] = np.arange(len(level.inner))
        n_nodes += len(following.tokens)


def node_logprobs(model: RecurrentModel, trie: Trie, start: PrefixState | None = None) -> np.ndarray:
    """Compute the log-probability of every node given its context, (nodes,) float32, in nats."""
    found = [_given_after(model, v.state, v.rows, v.tokens) for v in visit(model, trie, start=start)]
    if all(isinstance(one, Tensor) for one in found):  # fetched once: a GPU would wait for every next visit
        logprobs: np.ndarray = torch.cat(cast("list[Tensor]", found)).cpu().numpy()
        return logprobs
    return np.concatenate([_fetched(one) for one in found])


def logprobs_after(
    model: RecurrentModel, state: PrefixState, rows: np.ndarray, tokens: np.ndarray
) -> np.ndarray:
    """Compute the log-probabilities of words after contexts, (words,) float32, in nats."""
    return _fetched(_given_after(model, state, rows, tokens))


def _given_after(
    model: RecurrentModel, state: PrefixState, rows: np.ndarray, tokens: np.ndarray
) -> np.ndarray | Tensor:
    """Let a model give log-probabilities of words, and make sure of them; a tensor stays where it is."""
    given = model.logprobs(state, rows, tokens)
    if isinstance(given, Tensor) and given.shape == (len(tokens),) and given.is_floating_point():
        return given
    return as_array(given, len(tokens), model.card.name, "log-probabilities of words after their contexts")


def _fetched(given: np.ndarray | Tensor) -> np.ndarray:
    array: np.ndarray = given.cpu().numpy() if isinstance(given, Tensor) else given
    return array


def take(state: PrefixState, rows: np.ndarray) -> PrefixState:
    """Gather the rows of a state."""
    index = on_device(rows, state[0].device)
    return tuple(tensor[index] for tensor in state)


def _blocks(level: Level, following: Level, block: int) -> Iterator[tuple[np.ndarray, slice]]:
    """Cut a level into blocks: positions of inner nodes, and the slice of their children."""
    for start in range(0, len(level.inner), block):
        inner = level.inner[start : start + block]
        first, last = np.searchsorted(following.parents, [inner[0], inner[-1] + 1])
        yield inner, slice(int(first), int(last))


PADDING = -1


@dataclass(frozen=True, slots=True)
class Contexts:
    """The contexts of a trie in preorder, and the tokens that follow them."""

    tokens: np.ndarray  # last token of each context, (contexts,) int64
    parents: np.ndarray  # number of the context without its last token, -1 for a first one, (contexts,) int64
    depths: np.ndarray  # tokens before the last one: its position, (contexts,) int64
    ends: np.ndarray  # number after the last context that it begins, (contexts,) int64
    followed: np.ndarray  # context that each target follows, ascending, (targets,) int64
    targets: np.ndarray  # token that follows, (targets,) int64
    nodes: np.ndarray  # node of the trie that the target is, (targets,) int64

    def targets_of(self, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find what follows some contexts, each once.

        Returns:
            For each target its position in `contexts`, ascending, and its position in `targets`.
        """
        first = np.searchsorted(self.followed, contexts)
        counts = np.searchsorted(self.followed, contexts, side="right") - first
        which = np.repeat(np.arange(len(contexts)), counts)
        return which, np.arange(len(which)) + np.repeat(first - (np.cumsum(counts) - counts), counts)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows to be read at once."""

    contexts: np.ndarray  # number of the context at each place, `PADDING` for none, (rows, width) int64
    asked: np.ndarray  # where the output is needed: every context is asked for once, (rows, width) bool


def contexts_of(trie: Trie, start: int | None) -> Contexts:
    """Bring the contexts of a trie into preorder.

    A `start` that stands before every sentence is the first context; without one first tokens follow nothing,
    and are no targets.
    """
    levels, base = trie.levels, 0 if start is None else 1
    # Position of each inner node's parent among the inner nodes of the level before.
    above = [levels[0].parents[levels[0].inner]]
    above += [np.searchsorted(before.inner, level.parents[level.inner]) for before, level in pairwise(levels)]
    numbers, ends = _preorder(above, base)
    total = base + sum(len(level.inner) for level in levels)
    tokens, parents, depths, last = (np.zeros(total, dtype=np.int64) for _ in range(4))
    if start is not None:
        tokens[0], parents[0], last[0] = start, -1, total
    for depth, (level, number, end) in enumerate(zip(levels, numbers, ends, strict=True)):
        tokens[number], depths[number], last[number] = level.tokens[level.inner], depth + base, end
        parents[number] = numbers[depth - 1][above[depth]] if depth else base - 1
    # Every node but a first one without a start symbol is a target: it follows the context above it.
    follow = [np.full(len(levels[0].tokens), base - 1)]
    follow += [
        number[np.searchsorted(before.inner, level.parents)]
        for before, level, number in zip(levels, levels[1:], numbers, strict=False)
    ]
    followed = np.concatenate(follow)
    order = np.argsort(followed, kind="stable")
    order = order[followed[order] >= 0]
    targets = np.concatenate([level.tokens for level in levels])
    return Contexts(tokens, parents, depths, last, followed[order], targets[order], order)


def _preorder(above: list[np.ndarray], base: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the numbers of each level's nodes in preorder, and those after their last descendants."""
    sizes = [np.ones(len(parents), dtype=np.int64) for parents in above]
    for depth in range(len(above) - 1, 0, -1):
        np.add.at(sizes[depth - 1], above[depth], sizes[depth])
    numbers: list[np.ndarray] = []
    for depth, (parents, size) in enumerate(zip(above, sizes, strict=True)):
        before = np.cumsum(size) - size
        if depth == 0:
            numbers.append(base + before)
            continue
        eldest = np.searchsorted(parents, parents)  # first child of the same parent
        numbers.append(numbers[-1][parents] + 1 + before - before[eldest])
    return numbers, [number + size for number, size in zip(numbers, sizes, strict=True)]


def packed_batches(contexts: Contexts, width: int, batch_tokens: int) -> Iterator[Batch]:
    """Cut the preorder into rows, each begun by the path to its first context.

    Everything a context may attend to, its beginnings, then stands in its row: on the path or behind it. A
    row is `width` contexts, at least twice the longest path; a batch `batch_tokens`, at least one row.
    """
    if not len(contexts.tokens):
        return
    width = max(width, 2 * (int(contexts.depths.max()) + 1))
    rows: list[np.ndarray] = []
    starts: list[int] = []
    start = 0
    while start < len(contexts.tokens):
        path: list[int] = []
        parent = int(contexts.parents[start])
        while parent >= 0:
            path.append(parent)
            parent = int(contexts.parents[parent])
        stop = min(len(contexts.tokens), start + width - len(path))
        rows.append(np.concatenate((path[::-1], np.arange(start, stop))).astype(np.int64))
        starts.append(start)
        start = stop
    at_once = max(1, batch_tokens // width)
    for first in range(0, len(rows), at_once):
        some = rows[first : first + at_once]
        table = np.full((len(some), max(map(len, some))), PADDING)
        for line, row in zip(table, some, strict=True):
            line[: len(row)] = row
        yield Batch(table, table >= np.array(starts[first : first + at_once])[:, None])


def attends(contexts: Contexts, batch: Batch, device: torch.device) -> Tensor:
    """Tell which places each place of a row may attend to: its beginnings and itself.

    (rows, width, width) bool, on the device: row, from, to. Padding attends to itself alone.
    """
    numbers = on_device(batch.contexts, device)
    ends = on_device(np.where(batch.contexts == PADDING, PADDING, contexts.ends[batch.contexts]), device)
    here, there = numbers[:, :, None], numbers[:, None, :]
    seen = (there <= here) & (here < ends[:, None, :])
    return seen | torch.eye(numbers.shape[1], dtype=torch.bool, device=device)


def path_batches(contexts: Contexts, batch_tokens: int) -> Iterator[Batch]:
    """Yield the path to every last context as a row; a batch holds rows of one length, and no padding.

    It is `batch_tokens` contexts, at least one row.
    """
    last = np.flatnonzero(contexts.ends == np.arange(len(contexts.ends)) + 1)
    # A context is asked for in the first path that holds it.
    questions_in = last[np.searchsorted(last, np.arange(len(contexts.ends)))]
    for depth in np.unique(contexts.depths[last]):
        ends = last[contexts.depths[last] == depth]
        at_once = max(1, batch_tokens // (int(depth) + 1))
        for first in range(0, len(ends), at_once):
            column = ends[first : first + at_once]
            columns = [column]
            for _ in range(int(depth)):
                columns.append(contexts.parents[columns[-1]])
            rows = np.stack(columns[::-1], axis=1)
            yield Batch(rows, questions_in[rows] == column[:, None])
