"""Log-probabilities of sentences of unequal lengths, made comparable.

With log P the log-probability of a sentence, n the number of tokens that it is a sum over, and log P_u the
sum of the unigram log-probabilities of these tokens, all in nats:

    tokens    log P / n
    alpha=A   log P / n^A                     SLLN-LP (Liu et al. 2024)
    penlp     log P / ((5 + n) / (5 + 1))^0.8 PenLP (Lau et al. 2020, after Wu et al. 2016)
    slor      (log P - log P_u) / n           SLOR (Pauls & Klein 2012; Lau, Clark & Lappin 2017)

Division by the number of words is the score `mean`.

Source: the reference scripts, jhlau/acceptability-prediction-in-context, `compute_model_score.py`, and
sjtu-compling/ZhoBLiMP, `metrics.py`. Departure: none; both count the tokens that have a log-probability.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tseval.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    _Sums = NDArray[np.float64]

NORMALISATIONS = ("tokens", "slor", "penlp", "alpha=A")
# Between the score and what it is normalised by, in the key of a run: `sentence/penlp`.
OVER = "/"
_ALPHA = re.compile(r"alpha=(\d+\.?\d*|\.\d+)")


@dataclass(frozen=True, slots=True)
class Unigrams:
    """Unigram log-probabilities of the tokens of a model.

    Attributes:
        logprobs: In nats, by the token: a word as the model sees it; of a model of pieces, the piece's number
            in its vocabulary, in decimal.
    """

    logprobs: Mapping[str, float]

    @property
    def digest(self) -> str:
        """SHA-256 of tokens and numbers, in hex."""
        lines = (f"{token}\t{value!r}\n" for token, value in sorted(self.logprobs.items()))
        return hashlib.sha256("".join(lines).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Normalised:
    """A score: the log-probability of a sentence, normalised.

    Attributes:
        by: `tokens`, `slor`, `penlp` or `alpha=A` with A above 0, at most 1.
        unigrams: What `slor` subtracts; else None.
    """

    by: str
    unigrams: Unigrams | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", _checked(self.by))
        if (self.by == "slor") != (self.unigrams is not None):
            raise SuiteError(
                "slor needs unigram log-probabilities: checkpoints hold words without their counts.\n"
                "  Give a table of them with --unigrams FILE (docs/scoring.md)."
                if self.by == "slor"
                else f"{self.by} needs no unigram log-probabilities.\n  Leave out --unigrams."
            )

    def __str__(self) -> str:
        """Name the score as in the key of a run: `sentence/penlp`."""
        return f"sentence{OVER}{self.by}" + (f"@{self.unigrams.digest[:16]}" if self.unigrams else "")


def split_measure(measure: str) -> tuple[str, str | None]:
    """Take the score of a run apart: what is compared, and what it is normalised by, None for nothing.

    >>> split_measure("sentence/slor@0123456789abcdef")
    ('sentence', 'slor')
    """
    score, _, by = measure.partition(OVER)
    return score, by.partition("@")[0] or None


def _checked(by: str) -> str:
    """Give a normalisation as signatures name it: `alpha=.50` is `alpha=0.5`.

    Raises:
        SuiteError: It is none.
    """
    found = _ALPHA.fullmatch(by)
    if found and 0 < float(found[1]) <= 1:
        return f"alpha={float(found[1])!r}"
    if by not in NORMALISATIONS[:-1]:
        raise SuiteError(
            f"{by!r} is no normalisation.\n"
            f"  There are none, words, {', '.join(NORMALISATIONS)}; A is above 0, at most 1."
        )
    return by


def normalise(by: str, logprobs: _Sums, n_tokens: NDArray[np.int64], unigrams: _Sums | None) -> _Sums:
    """Normalise the log-probabilities of sentences, (sentences,).

    Args:
        by: As `Normalised.by` has it.
        logprobs: In nats, (sentences,).
        n_tokens: How many tokens each is a sum over, (sentences,).
        unigrams: Sums of the unigram log-probabilities of these, in nats, (sentences,); for `slor` alone.
    """
    if by == "slor":
        assert unigrams is not None
        return (logprobs - unigrams) / n_tokens
    if by == "penlp":
        return logprobs / ((5 + n_tokens) / (5 + 1)) ** 0.8
    alpha = 1.0 if by == "tokens" else float(by.removeprefix("alpha="))
    return logprobs / n_tokens**alpha
