"""Tries of distinct prefixes, their layout in rows for transformers, and tables of scored sentences.

A context is a prefix with a continuation. In preorder, the contexts below any context have consecutive
numbers: context k is a beginning of context j exactly if k ≤ j < end[k]. This gives the attention mask of a
row without a walk through the trie.

There are two layouts:

- `packed_batches`: rows of many contexts, each of which may attend only to its own beginnings;
- `path_batches`: whole paths as plain rows of equal length, for models that read a row from left to right.
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
    """Split sentences at white space; return the words and their number in each, (sentences,) int64."""
    words = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(sentences))
    return words, pc.list_value_length(words).to_numpy().astype(np.int64)


def pieces_of(encoded: Encoded) -> np.ndarray:
    """Return the number of tokens of each word, (words,) int64."""
    if encoded.pieces is not None:
        return encoded.pieces
    return np.ones(int(encoded.lengths.sum()), dtype=np.int64)


def sum_pieces(encoded: Encoded, logprobs: np.ndarray) -> np.ndarray:
    """Sum the log-probabilities of tokens, (tokens,), by word, (words,) float32."""
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
    """Collect the log-probabilities of words, (words,), in one row per sentence.

    Corrections are added to the words, but not to the sentence. Their sum concerns the end of its last word
    and the beginning of its first, which are not part of its probability. The column `pieces` has the words
    without corrections.
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
    """Make one row per sentence; `words`, (words,), is null if only the sums are known."""
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
    """The batch size that fits into memory; `unit` is the unit of the size, for warnings."""

    def __init__(self, at_once: int, unit: str) -> None:
        self.at_once, self.unit = at_once, unit
        self.shortages: list[str] = []  # one line for each time that memory ran out

    def whole(self, score: Callable[[int], T]) -> T:
        """Call a function with the batch size, and halve the size until the call fits into memory."""
        while True:
            try:
                return score(self.at_once)
            except (MemoryError, RuntimeError) as error:
                self._halve(self.at_once, error)

    def in_parts(self, n: int, part: Callable[[int, int], np.ndarray]) -> np.ndarray:
        """Call a function for parts [start, stop) of n that fit into memory, and join the results."""
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
        """Halve the size that failed, if memory ran out; raise other errors again."""
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
    # position in the level before of the prefix without its last word, ascending, (nodes,) int64
    parents: np.ndarray
    # Positions of prefixes with a continuation, ascending, (inner,) int64. Only these are contexts: the model
    # does not read the last word of a sentence unless another sentence continues there.
    inner: np.ndarray


@dataclass(frozen=True, slots=True)
class Trie:
    """Distinct prefixes of encoded sentences."""

    levels: tuple[Level, ...]  # prefixes of length 1, 2, ... up to the longest sentence
    paths: np.ndarray  # node of every word of every sentence, numbered over all levels, (words,) int64
    n_roots: int = 1  # number of texts before the sentences; 1 if there are none (the empty text)

    @property
    def n_contexts(self) -> int:
        """Number of distinct contexts, including the empty one; the model is advanced this many times."""
        return self.n_roots + sum(len(level.inner) for level in self.levels)


def build_trie(
    tokens: np.ndarray, lengths: np.ndarray, shared: bool = True, roots: np.ndarray | None = None
) -> Trie:
    """Build the trie of encoded sentences without a Python loop over words or sentences.

    Every level is one sort of the pairs (parent, word). Two sentences share a prefix exactly if they share
    the prefix before it and continue with the same word.

    Args:
        tokens: Concatenated word ids of all sentences, (words,) int64.
        lengths: Words of each sentence, (sentences,) int64, each at least 1.
        shared: Whether sentences share common prefixes; otherwise, each has its own nodes.
        roots: Number of the text before each sentence, (sentences,), from 0 without gaps; the parents in the
            first level are these. None if all sentences follow the same text.
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
        indices = starts[alive] + depth
        keys, position = np.unique(node[alive] * base + tokens[indices], return_inverse=True)
        node[alive] = position
        paths[indices] = position + n_nodes
        n_nodes += len(keys)
        depth += 1
        alive = alive[lengths[alive] > depth]
        levels.append(Level(tokens=keys % base, parents=keys // base, inner=np.unique(node[alive])))
    return Trie(tuple(levels), paths, n_roots)


def trie_of_contexts(
    tokens: np.ndarray, counts: np.ndarray, *, shared: bool = True
) -> tuple[Trie, np.ndarray]:
    """Build a trie with a node after every context, so that the model reads each context to its end.

    Returns:
        The trie, and for each context the node after it, numbered over all levels, (contexts,).
    """
    stops = np.cumsum(counts)
    trie = build_trie(np.insert(tokens, stops, 0), counts + 1, shared)
    return trie, trie.paths[np.cumsum(counts + 1) - 1]


# Rows advanced together: enough for fast matrix products, few enough for a CPU's cache.
CONTEXTS_AT_ONCE, CONTEXTS_ON_ACCELERATOR = 1_000, 16_384


@dataclass(frozen=True, slots=True)
class Visit:
    """Some contexts of one length, and the words after them."""

    state: PrefixState  # the model's state after each context, one row per context
    # context of each following word, ascending, (words,); every context has a word
    rows: np.ndarray
    nodes: slice  # nodes of these words in the trie, numbered over all levels
    tokens: np.ndarray  # ids of the words, (words,)


def visit(
    model: RecurrentModel, trie: Trie, block: int | None = None, start: PrefixState | None = None
) -> Iterator[Visit]:
    """Yield all contexts with the model's states: the empty context first, then level by level.

    `block` contexts are advanced at a time, or a number that suits the device. Sentences follow the rows of
    `start`, or the start symbol.
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
            new_state = model.advance(take(state, parent_row[level.parents[inner]]), level.tokens[inner])
            # Positions in the level become rows of this block: children of its first inner node get row 0.
            rows = np.searchsorted(inner, following.parents[children])
            nodes = slice(n_nodes + children.start, n_nodes + children.stop)
            yield Visit(new_state, rows, nodes, following.tokens[children])
            states.append(new_state)
        state = tuple(torch.cat(tensors) for tensors in zip(*states, strict=True))
        parent_row = np.zeros(len(level.tokens), dtype=np.int64)
        parent_row[level.inner] = np.arange(len(level.inner))
        n_nodes += len(following.tokens)


def node_logprobs(model: RecurrentModel, trie: Trie, start: PrefixState | None = None) -> np.ndarray:
    """Compute the log-probability of every node given its context, (nodes,) float32, in nats."""
    parts = [_given_after(model, v.state, v.rows, v.tokens) for v in visit(model, trie, start=start)]
    if all(isinstance(part, Tensor) for part in parts):  # copied once: a GPU would wait after every visit
        logprobs: np.ndarray = torch.cat(cast("list[Tensor]", parts)).cpu().numpy()
        return logprobs
    return np.concatenate([_fetched(part) for part in parts])


def logprobs_after(
    model: RecurrentModel, state: PrefixState, rows: np.ndarray, tokens: np.ndarray
) -> np.ndarray:
    """Compute the log-probabilities of words after contexts, (words,) float32, in nats."""
    return _fetched(_given_after(model, state, rows, tokens))


def _given_after(
    model: RecurrentModel, state: PrefixState, rows: np.ndarray, tokens: np.ndarray
) -> np.ndarray | Tensor:
    """Get log-probabilities of words from a model, and check them; a tensor stays on its device."""
    logprobs = model.logprobs(state, rows, tokens)
    if isinstance(logprobs, Tensor) and logprobs.shape == (len(tokens),) and logprobs.is_floating_point():
        return logprobs
    return as_array(logprobs, len(tokens), model.card.name, "log-probabilities of words after their contexts")


def _fetched(given: np.ndarray | Tensor) -> np.ndarray:
    array: np.ndarray = given.cpu().numpy() if isinstance(given, Tensor) else given
    return array


def take(state: PrefixState, rows: np.ndarray) -> PrefixState:
    """Select rows of a state."""
    index = on_device(rows, state[0].device)
    return tuple(tensor[index] for tensor in state)


def _blocks(level: Level, following: Level, block: int) -> Iterator[tuple[np.ndarray, slice]]:
    """Split a level into blocks: positions of inner nodes, and the slice of their children."""
    for start in range(0, len(level.inner), block):
        inner = level.inner[start : start + block]
        first, last = np.searchsorted(following.parents, [inner[0], inner[-1] + 1])
        yield inner, slice(int(first), int(last))


PADDING = -1


@dataclass(frozen=True, slots=True)
class Contexts:
    """The contexts of a trie in preorder, and the tokens after them."""

    tokens: np.ndarray  # last token of each context, (contexts,) int64
    parents: np.ndarray  # number of the context without its last token, -1 if it has none, (contexts,) int64
    depths: np.ndarray  # position of the last token, (contexts,) int64
    ends: np.ndarray  # number after the last context that begins with this one, (contexts,) int64
    followed: np.ndarray  # context before each target, ascending, (targets,) int64
    targets: np.ndarray  # the tokens after contexts, (targets,) int64
    nodes: np.ndarray  # node of each target in the trie, (targets,) int64

    def targets_of(self, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the targets after some distinct contexts.

        Returns:
            For each target, the position of its context in `contexts`, ascending, and its own in `targets`.
        """
        first = np.searchsorted(self.followed, contexts)
        counts = np.searchsorted(self.followed, contexts, side="right") - first
        context_numbers = np.repeat(np.arange(len(contexts)), counts)
        return context_numbers, np.arange(len(context_numbers)) + np.repeat(
            first - (np.cumsum(counts) - counts), counts
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that are read at once."""

    contexts: np.ndarray  # number of the context at each place, `PADDING` for none, (rows, width) int64
    asked: np.ndarray  # where the output is needed; exactly once for every context, (rows, width) bool


def contexts_of(trie: Trie, start: int | None) -> Contexts:
    """Arrange the contexts of a trie in preorder.

    If there is a `start` token before every sentence, it is the first context. Otherwise, first tokens have
    no context and are no targets.
    """
    levels, base = trie.levels, 0 if start is None else 1
    # Position of the parent of each inner node among the inner nodes of the level before.
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
    # Every node is a target after the context above it, except first nodes without a start symbol.
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
    """Return the preorder numbers of each level's nodes, and the numbers after their last descendants."""
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
    """Split the preorder into rows; each begins with the path to its first context.

    So each row contains all beginnings of its contexts, to which they may attend. A row has `width` contexts,
    but at least twice the longest path. A batch has `batch_tokens` contexts, but at least one row.
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
        batch = rows[first : first + at_once]
        table = np.full((len(batch), max(map(len, batch))), PADDING)
        for line, row in zip(table, batch, strict=True):
            line[: len(row)] = row
        yield Batch(table, table >= np.array(starts[first : first + at_once])[:, None])


def attends(contexts: Contexts, batch: Batch, device: torch.device) -> Tensor:
    """Return the attention mask: each position of a row may attend to its beginnings and itself.

    (rows, width, width) bool, on the device: row, from, to. Padding attends only to itself.
    """
    numbers = on_device(batch.contexts, device)
    ends = on_device(np.where(batch.contexts == PADDING, PADDING, contexts.ends[batch.contexts]), device)
    rows, columns = numbers[:, :, None], numbers[:, None, :]
    is_visible = (columns <= rows) & (rows < ends[:, None, :])
    return is_visible | torch.eye(numbers.shape[1], dtype=torch.bool, device=device)


def path_batches(contexts: Contexts, batch_tokens: int) -> Iterator[Batch]:
    """Yield the path to every last context as a row; a batch has rows of one length, and no padding.

    A batch has `batch_tokens` contexts, but at least one row.
    """
    last = np.flatnonzero(contexts.ends == np.arange(len(contexts.ends)) + 1)
    # The output of a context is taken from the first path that contains it.
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
