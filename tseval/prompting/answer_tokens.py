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
    logprobs: dict[str, list[float]] = {"1": [], "2": []}
    for token, logprob in alternatives:
        if (spelt := token.strip(" \t\n▁Ġ")) in logprobs and np.isfinite(logprob):
            logprobs[spelt].append(logprob)
    logprob_1, logprob_2 = (float(np.logaddexp.reduce(logs)) if logs else None for logs in logprobs.values())
    low = float("-inf")
    first, second = (low if logprob_1 is None else logprob_1), (low if logprob_2 is None else logprob_2)
    if first == second:
        return ("" if read_answer(text) else text), (logprob_1, logprob_2)
    return ("1" if first > second else "2"), (logprob_1, logprob_2)
