"""The level `plausible`: whether evidence can be the log-probabilities of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tseval.evidence.columns import flat_column, whole_column
from tseval.evidence.prefixes import Words, split_words
from tseval.items import number_contexts
from tseval.questions.choices import Asked
from tseval.questions.context_forms import ContextForms
from tseval.questions.inflection import CONTEXTS_AT_ONCE
from tseval.verdicts import forms_in, questions_in
from tseval.verifying.answers import check_answers
from tseval.verifying.levels import CheckFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tseval.verifying.claim import Claim
    from tseval.verifying.recomputed import Recomputed

    _Rows = NDArray[np.int64]


_NUMBERS = ("logprob", "pieces", "right", "wrong")  # columns of evidence
# The tolerance, for rounding, of the total probability after a prefix.
ABOVE_ONE = 1e-4
# Adapters whose words are made of pieces. The pieces of `laugh` also begin `laughs`, so sums may exceed 1.
PIECED = frozenset({"hf", "mlm", "lm-eval"})
# Adapters that read whole words from left to right, each with its own vocabulary entry.
BY_WORDS = frozenset({"native", "ngram"})
_OF_PIECES = {"pieces", "unscored"}
_MAY_BE_NOTHING = {"right", "wrong"}  # -inf if there is no right symbol, or no wrong one


def check_plausible(claim: Claim, again: Recomputed) -> str:
    """Check that evidence has the properties of probabilities."""
    if claim.key.score == "prompt":
        return check_answers(claim, again)
    evidence, kind = claim.evidence, claim.manifest.model.kind
    for name in [name for name in _NUMBERS if name in evidence.table.column_names]:
        values = pc.drop_null(evidence.table[name]).to_numpy()  # most words have no choice before them
        value = "a log-probability" if name == "logprob" else f"a log-probability in {name!r}"
        finite = np.isfinite(values) | (np.isneginf(values) if name in _MAY_BE_NOTHING else False)
        if not finite.all():
            raise CheckFailed(f"{value} is infinite or not a number")
        if values.max(initial=-1.0) > ABOVE_ONE:
            raise CheckFailed(f"{value} is {values.max()}, above 0")
    if forms_in(again.suite) is not None:
        _check_forms(again.scored, by_words=kind in BY_WORDS)
    summary = f"{evidence.table.num_rows:,} log-probabilities, none above 0"
    if evidence.unit == "sentence" and kind in BY_WORDS:
        raise CheckFailed(
            f"the evidence has one number for each sentence, but a model of kind {kind!r} "
            "gives one for each word"
        )
    sentences = whole_column(again.scored, "sentence")
    words = split_words(sentences)
    if kind not in BY_WORDS and evidence.unit != "sentence":
        _check_first_tokens(claim, again.scored, words)
    if evidence.unit != "prefix" and kind not in BY_WORDS:
        return f"{summary}; each {evidence.unit} has its own, and no two numbers depend on each other"
    seen = whole_column(again.scored, "seen")
    looks = (words if seen.equals(sentences) else split_words(seen)).texts.dictionary_encode()
    if kind in BY_WORDS:
        if of_pieces := sorted(_OF_PIECES & set(evidence.table.column_names)):
            raise CheckFailed(
                f"the evidence has a column {of_pieces[0]!r} about sub-word pieces, but a model of kind "
                f"{kind!r} reads whole words"
            )
        _check_looks(words, looks)
    most = _check_prefixes(claim, again, words, looks)
    return (
        summary
        if kind in PIECED
        else f"{summary}; the words after a prefix have a total probability of at most {most:.4f}"
    )


def _check_forms(scored: pa.Table, *, by_words: bool) -> None:
    """Check that the numbers of forms after a context have the properties of probabilities."""
    forms = ContextForms(scored)
    for start in range(0, scored.num_rows, CONTEXTS_AT_ONCE):
        rows = np.arange(start, min(start + CONTEXTS_AT_ONCE, scored.num_rows))
        logprobs, before = forms.logprobs(rows), forms.before(rows)
        is_known = ~np.isnan(logprobs)
        numbers, mass = logprobs[is_known], before[~np.isnan(before)]
        if not np.isfinite(numbers).all() or numbers.max(initial=-1.0) > ABOVE_ONE:
            raise CheckFailed("a log-probability in 'forms' is above 0, infinite or not a number")
        if mass.min(initial=0.0) < 0 or mass.max(initial=0.0) > 1 + ABOVE_ONE:
            raise CheckFailed("a probability in 'before' is not between 0 and 1")
        sums = np.exp(np.where(is_known, logprobs, -np.inf))
        if by_words and (total := sums.sum(axis=1)).max() > 1 + ABOVE_ONE:
            context = scored["sentence"][start + int(total.argmax())].as_py()
            raise CheckFailed(
                f"the forms after {context!r} have a total probability of {total.max():.4g}, which is above 1"
            )
        if np.nanmax(before + sums, initial=0.0) > 1 + ABOVE_ONE and by_words:
            raise CheckFailed(
                "the sum of a form's probability and its number in 'before' (the total probability of all "
                "more probable words) is above 1"
            )
        order = np.argsort(-np.where(is_known, logprobs, -np.inf), axis=1, kind="stable")
        rising = np.diff(np.take_along_axis(before, order, axis=1), axis=1)
        if np.nanmin(rising, initial=0.0) < -ABOVE_ONE:
            raise CheckFailed(
                "a probability in 'before' is larger for one form than for a less probable form"
            )


def _check_first_tokens(claim: Claim, scored: pa.Table, words: Words) -> None:
    """Check unscored first tokens against the protocol, and that equal first words have equal tokens."""
    unscored = claim.key.protocol.get("first_token") == "unscored"
    if unscored != ("unscored" in scored.column_names):
        raise CheckFailed(
            "the model leaves the first token of a sentence unscored, but the evidence has no column "
            "'unscored' with these tokens"
            if unscored
            else "the evidence has a column 'unscored', which is only for models that leave the first token "
            "of a sentence unscored, but this model scores it"
        )
    if not unscored:
        return
    tokens = whole_column(scored, "unscored").to_numpy()
    firsts = words.texts.take(pa.array(words.starts, pa.int64()))
    expected = _of_first(firsts.dictionary_encode().indices.to_numpy(), tokens)
    if (other := expected != tokens).any():
        index = int(other.argmax())
        text, first, second = firsts[index].as_py(), expected[index], tokens[index]
        raise CheckFailed(
            f"the first token of the word {text!r} is {first} in one sentence, but {second} in another"
        )


def _check_looks(words: Words, looks: pa.DictionaryArray) -> None:  # type: ignore[type-arg]
    """Raise an error if a word is read in two ways, which would make items undecidable."""
    texts = words.texts.dictionary_encode()
    word, look = (column.indices.to_numpy().astype(np.int64) for column in (texts, looks))
    expected = _of_first(word, look)
    if (other := expected != look).any():
        row = int(other.argmax())
        name = texts.dictionary[word[row]].as_py()
        first, second = (looks.dictionary[index].as_py() for index in (expected[row], look[row]))
        raise CheckFailed(
            f"the model reads the word {name!r} as {first!r} in one sentence, but as {second!r} in another"
        )


def _of_first(key: _Rows, values: _Rows) -> _Rows:
    """Return at every place the value of the first place with the same key, (places,)."""
    first = np.zeros(int(key.max(initial=0)) + 1, dtype=np.int64)
    first[key[::-1]] = values[::-1]
    return first[key]


def _check_prefixes(
    claim: Claim,
    again: Recomputed,
    words: Words,
    looks: pa.DictionaryArray,  # type: ignore[type-arg]
) -> float:
    """Compare the numbers of equal prefixes, and sum those of words after a prefix; return the highest."""
    scored = again.scored
    look = looks.indices.to_numpy().astype(np.int64)
    last = words.starts + words.lengths - 1
    if pieced := "pieces" in scored.column_names:  # a last word has other pieces, because a period follows
        look[last] += len(looks.dictionary)
    roots = np.zeros(len(words.lengths), dtype=np.int64)
    if again.suite.context is not None:  # a prefix has different numbers after different contexts
        roots, _ = number_contexts(whole_column(scored, "sentence"))
    node, before = _nodes(look, words, roots)
    first = np.zeros(int(node.max(initial=0)) + 1, dtype=np.int64)
    first[node[::-1]] = np.arange(len(node))[::-1]
    # Errors of 30 transformer layers add up: SmolLM2 differs by 1.3e-4 in a batch with other sentences.
    most = claim.last_bits * (4 if claim.manifest.model.kind in PIECED else 1)
    for name in ("words", "pieces") if pieced else ("words",):
        values = pc.list_flatten(scored[name]).to_numpy().astype(np.float64)
        deviations = np.abs(values - values[first[node]])
        if deviations.max(initial=0.0) > most:
            sentence = _sentence_with(scored, words, int(deviations.argmax()))
            raise CheckFailed(
                f"a prefix of {sentence!r} has two different log-probabilities, "
                f"{deviations.max():.3g} nats apart"
            )
    if isinstance(questions := questions_in(again.suite, whole_column(scored, "sentence")), Asked):
        _check_answers(scored, words, questions, before, most)
    if claim.manifest.model.kind in PIECED:
        return 0.0
    values = pc.list_flatten(scored["words"]).to_numpy().astype(np.float64)
    events = first[np.flatnonzero(np.bincount(node))]  # ten times as fast as np.unique
    if "task" in claim.key.protocol:  # a classifier: the answer is the last word, all other words are given
        is_given = np.ones(len(values), dtype=np.bool_)
        is_given[last] = False
        if values[is_given].any():
            sentence = _sentence_with(scored, words, int(np.flatnonzero(is_given & (values != 0))[0]))
            raise CheckFailed(
                f"in {sentence!r}, a word before the classifier's answer has a log-probability that is not "
                "0. Only the answer may have one, and it is the last word"
            )
        events = events[~is_given[events]]
    sums = np.bincount(before[events], weights=np.exp(values[events]))
    if sums.max(initial=0.0) > 1 + ABOVE_ONE:
        index = int(events[before[events] == int(sums.argmax())].min())
        row = int(np.searchsorted(words.starts, index, side="right")) - 1
        prefix = " ".join(_sentence_with(scored, words, index).split(" ")[: index - int(words.starts[row])])
        raise CheckFailed(
            f"the words after {prefix!r} have a total probability of {sums.max():.4g}, which is above 1"
        )
    return float(sums.max(initial=0.0))


def _check_answers(scored: pa.Table, words: Words, questions: Asked, before: _Rows, last_bits: float) -> None:
    """Check values of choices: one at every choice and nowhere else, and equal ones after equal prefixes."""
    is_tested = np.concatenate(questions.before) >= 0
    places = np.flatnonzero(is_tested)
    _, first, prefix = np.unique(before[places], return_index=True, return_inverse=True)
    answers = {}
    for name in ("right", "wrong"):
        column = flat_column(scored, name)
        if (astray := column.is_valid().to_numpy(zero_copy_only=False) != is_tested).any():
            sentence = _sentence_with(scored, words, int(astray.argmax()))
            raise CheckFailed(
                f"the column {name!r} must have a number at every word that the suite tests, and at no other "
                f"word, but this is not so in {sentence!r}"
            )
        answers[name] = values = column.to_numpy(zero_copy_only=False)[places]
        first_values = values[first][prefix]
        with np.errstate(invalid="ignore"):  # both values may be -inf
            deviations = np.where(values == first_values, 0.0, np.abs(values - first_values))
        if deviations.max(initial=0.0) > last_bits:
            sentence = _sentence_with(scored, words, int(places[deviations.argmax()]))
            raise CheckFailed(
                f"a prefix of {sentence!r} has two different numbers in the column {name!r}, "
                f"{deviations.max():.3g} nats apart"
            )
    if (share := questions.asks.share) is None:
        sums = np.exp(answers["right"]) + np.exp(answers["wrong"])
        if sums.max(initial=0.0) > 1 + ABOVE_ONE:
            raise CheckFailed(
                f"a right and a wrong symbol together have a probability of {sums.max():.4g}, above 1"
            )
    elif not np.allclose(answers["wrong"], np.log(share), rtol=0.0, atol=1e-9):
        raise CheckFailed(
            f"at every word that the suite tests, the value in the column 'wrong' must be "
            f"{np.log(share):.6g}, the logarithm of {share:g}. An answer is right if the right symbols have "
            "more than this share of the probability"
        )


def _nodes(look: _Rows, words: Words, roots: _Rows) -> tuple[_Rows, _Rows]:
    """Return the number of the prefix that ends with each word, and of the prefix before it, (words,).

    The prefix before a first word is the root of its sentence; other prefixes have larger numbers.
    """
    node, before = np.zeros_like(look), np.zeros_like(look)
    n_looks, n_nodes = int(look.max(initial=0)) + 1, int(roots.max(initial=0))
    reached = roots.copy()
    alive, depth = np.flatnonzero(words.lengths > 0), 0
    while len(alive):
        indices = words.starts[alive] + depth
        prefixes = pa.array(reached[alive] * n_looks + look[indices]).dictionary_encode()
        before[indices] = reached[alive]
        node[indices] = reached[alive] = prefixes.indices.to_numpy().astype(np.int64) + n_nodes + 1
        n_nodes += len(prefixes.dictionary)
        depth += 1
        alive = alive[words.lengths[alive] > depth]
    return node, before


def _sentence_with(scored: pa.Table, words: Words, at: int) -> str:
    """Return the sentence that contains a word."""
    row = int(np.searchsorted(words.starts, at, side="right")) - 1
    return str(scored["sentence"][row].as_py())
