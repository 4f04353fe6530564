"""Level plausible: whether evidence can be what any model gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.evidence import flat_column, split_words, whole_column
from tseval.verdicts import asked_in
from tseval.verifying.report import Wrong

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tseval.evidence import Words
    from tseval.questions.choices import Asked
    from tseval.verifying.claim import Claim
    from tseval.verifying.recompute import Again

    _Rows = NDArray[np.int64]

# How far the probabilities of what may follow a prefix may sum above 1, by rounding.
ABOVE_ONE = 1e-4
# Adapters whose words are made of pieces: the pieces of `laugh` begin `laughs` too, so words may exceed 1.
PIECED = frozenset({"hf", "mlm", "lm-eval"})
# Those that read word by word from the left, and look every word up alone.
BY_WORDS = frozenset({"native", "ngram"})
_NUMBERS = ("logprob", "pieces", "right", "wrong")
_OF_PIECES = {"pieces", "unscored"}
_MAY_BE_NOTHING = {"right", "wrong"}  # where no symbol is right, or none wrong


def check_plausible(claim: Claim, again: Again) -> str:
    """Hold evidence to what any probabilities must be.

    Raises:
        Wrong: One is above 0 or not finite, a prefix has two numbers, or what may follow it more than all.
    """
    evidence, kind = claim.evidence, claim.manifest.model.kind
    for name in [name for name in _NUMBERS if name in evidence.table.column_names]:
        values = pc.drop_null(evidence.table[name]).to_numpy()  # nothing is asked before most words
        what = "a log-probability" if name == "logprob" else f"a log-probability in {name!r}"
        finite = np.isfinite(values) | (np.isneginf(values) if name in _MAY_BE_NOTHING else False)
        if not finite.all():
            raise Wrong(f"{what} is not finite")
        if values.max(initial=-1.0) > ABOVE_ONE:
            raise Wrong(f"{what} is {values.max()}, above 0")
    said = f"{evidence.table.num_rows:,} log-probabilities, none above 0"
    if evidence.unit == "sentence" and kind in BY_WORDS:
        raise Wrong(f"there is one number for each sentence, but a model of kind {kind!r} gives words")
    words = split_words(whole_column(again.scored, "sentence"))
    if kind not in BY_WORDS and evidence.unit != "sentence":
        _check_first_tokens(claim, again.scored, words)
    if evidence.unit != "prefix" and kind not in BY_WORDS:
        return f"{said}; each {evidence.unit} has its own, and nothing ties them together"
    looks = split_words(whole_column(again.scored, "seen")).texts.dictionary_encode()
    if kind in BY_WORDS:
        if of_pieces := sorted(_OF_PIECES & set(evidence.table.column_names)):
            raise Wrong(
                f"there is a column {of_pieces[0]!r}, but words of a model of kind {kind!r} have no pieces"
            )
        _check_looks(words, looks)
    most = _check_prefixes(claim, again, words, looks)
    return said if kind in PIECED else f"{said}; what may follow a prefix has at most {most:.4f}"


def _check_first_tokens(claim: Claim, scored: pa.Table, words: Words) -> None:
    """Hold the first tokens that have no number to the protocol, and to first words: pieces end with a word.

    Those of two sentences that differ make an item undecidable.
    """
    unscored = claim.key.protocol.get("first_token") == "unscored"
    if unscored != ("unscored" in scored.column_names):
        raise Wrong(
            "the protocol leaves first tokens unscored, but there is no column 'unscored' that names them"
            if unscored
            else "there is a column 'unscored', but the protocol does not leave first tokens unscored"
        )
    if not unscored:
        return
    tokens = whole_column(scored, "unscored").to_numpy()
    firsts = words.texts.take(pa.array(words.starts, pa.int64()))
    expected = _of_first(firsts.dictionary_encode().indices.to_numpy(), tokens)
    if (other := expected != tokens).any():
        at = int(other.argmax())
        text, one, two = firsts[at].as_py(), expected[at], tokens[at]
        raise Wrong(f"the first token of the word {text!r} is {one} here, {two} there")


def _check_looks(words: Words, looks: pa.DictionaryArray) -> None:  # type: ignore[type-arg]
    """Refuse one word that is seen as two: unknown here and known there, it makes items undecidable."""
    texts = words.texts.dictionary_encode()
    word, look = (one.indices.to_numpy().astype(np.int64) for one in (texts, looks))
    expected = _of_first(word, look)
    if (other := expected != look).any():
        at = int(other.argmax())
        name, one, two = (
            texts.dictionary[word[at]],
            looks.dictionary[expected[at]],
            looks.dictionary[look[at]],
        )
        raise Wrong(f"the model sees {name.as_py()!r} as {one.as_py()!r} here, as {two.as_py()!r} there")


def _of_first(key: _Rows, values: _Rows) -> _Rows:
    """Give, at every place, the value that stands at the first place with the same key, (places,)."""
    first = np.zeros(int(key.max(initial=0)) + 1, dtype=np.int64)
    first[key[::-1]] = values[::-1]
    return first[key]


def _check_prefixes(
    claim: Claim,
    again: Again,
    words: Words,
    looks: pa.DictionaryArray,  # type: ignore[type-arg]
) -> float:
    """Compare the numbers of each prefix, and sum those of what may follow it; give the largest sum.

    What looks alike to the model is one prefix.
    """
    scored = again.scored
    look = looks.indices.to_numpy().astype(np.int64)
    last = words.starts + words.lengths - 1
    if pieced := "pieces" in scored.column_names:  # what follows a last word with a period is not asked
        look[last] += len(looks.dictionary)
    node, before = _nodes(look, words)
    first = np.zeros(int(node.max(initial=0)) + 1, dtype=np.int64)
    first[node[::-1]] = np.arange(len(node))[::-1]
    for name in ("words", "pieces") if pieced else ("words",):
        values = pc.list_flatten(scored[name]).to_numpy().astype(np.float64)
        apart = np.abs(values - values[first[node]])
        if apart.max(initial=0.0) > claim.last_bits:
            sentence = _sentence_with(scored, words, int(apart.argmax()))
            raise Wrong(f"a prefix of {sentence!r} has two numbers, {apart.max():.3g} nats apart")
    if (asked := asked_in(again.suite, whole_column(scored, "sentence"))) is not None:
        _check_answers(scored, words, asked, before, claim.last_bits)
    if claim.manifest.model.kind in PIECED:
        return 0.0
    values = pc.list_flatten(scored["words"]).to_numpy().astype(np.float64)
    events = first[1:]
    if "task" in claim.key.protocol:  # a classifier: the answers stand last, and words before them are given
        given = np.ones(len(values), dtype=np.bool_)
        given[last] = False
        if values[given].any():
            sentence = _sentence_with(scored, words, int(np.flatnonzero(given & (values != 0))[0]))
            raise Wrong(f"a word of {sentence!r} that is no answer has a log-probability other than 0")
        events = events[~given[events]]
    sums = np.bincount(before[events], weights=np.exp(values[events]))
    if sums.max(initial=0.0) > 1 + ABOVE_ONE:
        at = int(events[before[events] == int(sums.argmax())].min())
        row = int(np.searchsorted(words.starts, at, side="right")) - 1
        prefix = " ".join(_sentence_with(scored, words, at).split(" ")[: at - int(words.starts[row])])
        raise Wrong(f"what may follow {prefix!r} has {sums.max():.4g} of all probability")
    return float(sums.max(initial=0.0))


def _check_answers(scored: pa.Table, words: Words, asked: Asked, before: _Rows, last_bits: float) -> None:
    """Hold what was answered inside sentences to what was asked there, and to each other after one prefix.

    Raises:
        Wrong: An answer is missing or is to nothing, two after one prefix differ, or one cannot be.
    """
    here = np.concatenate(asked.before) >= 0
    places = np.flatnonzero(here)
    _, first, prefix = np.unique(before[places], return_index=True, return_inverse=True)
    answers = {}
    for name in ("right", "wrong"):
        column = flat_column(scored, name)
        if (astray := column.is_valid().to_numpy(zero_copy_only=False) != here).any():
            sentence = _sentence_with(scored, words, int(astray.argmax()))
            raise Wrong(f"{name!r} should hold a number where the suite asks, and only there: {sentence!r}")
        answers[name] = values = column.to_numpy(zero_copy_only=False)[places]
        others = values[first][prefix]
        with np.errstate(invalid="ignore"):  # where both are no probability at all
            apart = np.where(values == others, 0.0, np.abs(values - others))
        if apart.max(initial=0.0) > last_bits:
            sentence = _sentence_with(scored, words, int(places[apart.argmax()]))
            raise Wrong(f"a prefix of {sentence!r} has two answers, {apart.max():.3g} nats apart in {name!r}")
    if (share := asked.asks.share) is None:
        both = np.exp(answers["right"]) + np.exp(answers["wrong"])
        if both.max(initial=0.0) > 1 + ABOVE_ONE:
            raise Wrong(f"a right and a wrong symbol have {both.max():.4g} of all probability")
    elif not np.allclose(answers["wrong"], np.log(share), rtol=0.0, atol=1e-9):
        raise Wrong(f"'wrong' should be the least share, {np.log(share):.6g} nats, wherever the suite asks")


def _nodes(look: _Rows, words: Words) -> tuple[_Rows, _Rows]:
    """Give the number, from 1, of the prefix that each word ends, and of that before it or 0, (words,)."""
    node, before = np.zeros_like(look), np.zeros_like(look)
    n_looks, n_nodes = int(look.max(initial=0)) + 1, 0
    reached = np.zeros(len(words.lengths), dtype=np.int64)
    alive, depth = np.flatnonzero(words.lengths > 0), 0
    while len(alive):
        here = words.starts[alive] + depth
        found = pa.array(reached[alive] * n_looks + look[here]).dictionary_encode()
        before[here] = reached[alive]
        node[here] = reached[alive] = found.indices.to_numpy().astype(np.int64) + n_nodes + 1
        n_nodes += len(found.dictionary)
        depth += 1
        alive = alive[words.lengths[alive] > depth]
    return node, before


def _sentence_with(scored: pa.Table, words: Words, at: int) -> str:
    """Give the sentence of a word."""
    row = int(np.searchsorted(words.starts, at, side="right")) - 1
    return str(scored["sentence"][row].as_py())
