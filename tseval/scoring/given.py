"""What a model gives, made sure of: numbers, as many as there should be, none of them above zero.

Adapters are written by others. Whatever comes instead of log-probabilities ends in one message that names the
model and the sentence, before anything is saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set, Sized
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow.compute as pc

from tseval.errors import ModelError, quoted_text
from tseval.scoring.protocol import Encoded

if TYPE_CHECKING:
    import pyarrow as pa

# How far above zero rounding may lift a log-probability, in nats: what `tseval check-model` allows as well.
ABOVE_ZERO = 1e-3
NO_LISTS = (str, bytes, bytearray, memoryview, Mapping, Set)  # though they have a length
USUAL = frozenset({float, int, np.float32, np.float64})


def given_list(given: object, who: str, what: str) -> list[object]:
    """Make a list of what should be one: a list, a tuple, an array of one dimension or more.

    Args:
        given: What the model gave.
        who: The model's name.
        what: What it was asked for, and of which sentence.

    Raises:
        ModelError: It is something else.
    """
    # A tensor may lie on a device or hang on a graph: whoever has one makes a list of it.
    is_tensor = type(given).__module__.partition(".")[0] == "torch"
    is_list = isinstance(given, Sized) and isinstance(given, Iterable) and not isinstance(given, NO_LISTS)
    if not is_list or is_tensor or (isinstance(given, np.ndarray) and given.ndim == 0):
        hint = "\n  Its method tolist() makes one." if is_tensor else ""
        raise ModelError(f"{who} gave {_kind(given)} instead of a list of {what}{hint}")
    return list(cast("Iterable[object]", given))


def as_numbers(given: object, who: str, what: str) -> np.ndarray:
    """Make an array of what should be a list of numbers of any numeric type, (n,) float64.

    Args:
        given: What the model gave.
        who: The model's name.
        what: What it was asked for, and of which sentence.

    Raises:
        ModelError: It is no list, or something in it is no number.
    """
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind in "iuf":
        return given.astype(np.float64)
    values = given_list(given, who, what)
    if not USUAL.issuperset(map(type, values)):
        for value in values:
            if not _is_number(value):
                raise ModelError(f"{who} gave {_kind(value)} among the {what}: give numbers")
    try:
        return np.array(values, dtype=np.float64).reshape(len(values))
    except (OverflowError, TypeError, ValueError):
        raise ModelError(f"{who} gave a number too large among the {what}") from None


def as_array(given: object, n: int, who: str, what: str) -> np.ndarray:
    """Make sure of an array of numbers, one for each of n words or tokens.

    Raises:
        ModelError: It is no such array, or of another length.
    """
    if not isinstance(given, np.ndarray):
        raise ModelError(f"{who} gave {_kind(given)} instead of an array of {what}")
    if given.dtype.kind not in "iuf" or given.shape != (n,):
        shape = f"of type {given.dtype} and shape {given.shape}"
        raise ModelError(f"{who} gave an array {shape} instead of {n} {what}")
    return given


def refuse_misencoded(encoded: object, sentences: pa.StringArray, who: str) -> None:
    """Refuse encoded sentences whose parts do not belong to the sentences, or to each other.

    Raises:
        ModelError: Says which, and names the first sentence.
    """
    what = f"{len(sentences)} sentences, the first {quoted_text(sentences[0].as_py())}"
    if not isinstance(encoded, Encoded):
        raise ModelError(f"{who} gave {_kind(encoded)} instead of an Encoded for {what}")
    counts = [len(encoded.seen), len(encoded.lengths), len(encoded.n_unknown)]
    if counts != [len(sentences)] * 3:
        raise ModelError(f"{who} encoded {min(counts)} or {max(counts)} sentences instead of {what}")
    n_words = int(encoded.lengths.sum())
    if encoded.pieces is not None and len(encoded.pieces) != n_words:
        raise ModelError(
            f"{who} gave the pieces of {len(encoded.pieces)} words instead of {n_words} in {what}"
        )
    n_tokens = n_words if encoded.pieces is None else int(encoded.pieces.sum())
    if len(encoded.tokens) != n_tokens:
        raise ModelError(f"{who} gave {len(encoded.tokens)} tokens instead of {n_tokens} in {what}")


def refuse_above_zero(scored: pa.Table, who: str) -> None:
    """Refuse scored sentences with a probability above 1.

    Raises:
        ModelError: Names the sentence.
    """
    words: Any = scored["words"].combine_chunks()
    values = words.flatten()
    known = values if values.null_count < len(values) else scored["logprob"]
    highest = pc.max(known).as_py()
    if highest is None or highest <= ABOVE_ZERO:
        return
    place = pc.index(known, pc.max(known)).as_py()
    row = place if known is not values else int(pc.list_parent_indices(words)[place].as_py())
    raise _above_zero(highest, scored["sentence"][row].as_py(), who)


def refuse_no_logprobs(logprobs: np.ndarray, counts: np.ndarray, sentences: pa.StringArray, who: str) -> None:
    """Refuse log-probabilities of tokens, (tokens,), that are not finite, or above zero.

    Args:
        logprobs: Of all tokens.
        counts: Number of tokens of each sentence.
        sentences: The sentences.
        who: The model's name.

    Raises:
        ModelError: Names the sentence.
    """
    wrong = np.flatnonzero(~((logprobs <= ABOVE_ZERO) & np.isfinite(logprobs)))
    if not len(wrong):
        return
    row = int(np.searchsorted(np.cumsum(counts), wrong[0], side="right"))
    value, sentence = float(logprobs[wrong[0]]), sentences[row].as_py()
    raise _above_zero(value, sentence, who) if np.isfinite(value) else not_finite(value, sentence, who)


def not_finite(value: float, sentence: str, who: str) -> ModelError:
    """Say that a log-probability is infinite, or no number."""
    return ModelError(
        f"{who} gave log-probability {value} of the sentence {quoted_text(sentence)}: not finite"
    )


def _above_zero(value: float, sentence: str, who: str) -> ModelError:
    return ModelError(
        f"{who} gave log-probability {value:.4g} in the sentence {quoted_text(sentence)}: above 0, "
        "a probability above 1.\n  Natural logarithms of probabilities are wanted: "
        "no logits, no surprisals, no probabilities. `tseval check-model` says more."
    )


def _is_number(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iuf"
    return isinstance(value, Real) and not isinstance(value, bool)


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
