"""The choice between the answers 1 and 2 by the probabilities of first tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tseval.questions.answers import read_answer

if TYPE_CHECKING:
    from collections.abc import Iterable


def answer_of(
    alternatives: Iterable[tuple[str, float]], text: str = ""
) -> tuple[str, tuple[float | None, float | None]]:
    """Return the more probable of the answers 1 and 2, and the log-probabilities of both, in nats.

    Tokens that differ only in spaces count as one answer. An answer that is not among the tokens is less
    probable than all of them, and has no log-probability. If neither is among them, or both are equally
    probable, there is no answer.

    Args:
        alternatives: First tokens, with their log-probabilities.
        text: The model's text, which is returned if there is no answer.
    """
    given: dict[str, list[float]] = {"1": [], "2": []}
    for token, logprob in alternatives:
        if (spelt := token.strip(" \t\n▁Ġ")) in given and np.isfinite(logprob):
            given[spelt].append(logprob)
    one, two = (float(np.logaddexp.reduce(logs)) if logs else None for logs in given.values())
    low = float("-inf")
    first, second = (low if one is None else one), (low if two is None else two)
    if first == second:
        return ("" if read_answer(text) else text), (one, two)
    return ("1" if first > second else "2"), (one, two)
