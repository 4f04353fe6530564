"""Normalisation of log-probabilities, so that sentences of different lengths can be compared.

Let log P be the log-probability of a sentence, n its number of scored tokens, and log P_u the sum of the
unigram log-probabilities of these tokens, all in nats:

    tokens    log P / n
    alpha=A   log P / n^A                     SLLN-LP (Liu et al. 2024)
    penlp     log P / ((5 + n) / (5 + 1))^0.8 PenLP (Lau et al. 2020, after Wu et al. 2016)
    slor      (log P - log P_u) / n           SLOR (Pauls & Klein 2012; Lau, Clark & Lappin 2017)

    characters  log P / letters of the text, code points of Unicode  (acc_norm of lm-eval)
    bytes       log P / bytes of the text in UTF-8                   (acc_bytes of lm-eval)

The last two also work for continuations of a text: their log-probability given the text is divided by their
length. Division by the number of words is the score `mean`.

Source: the reference scripts, jhlau/acceptability-prediction-in-context, `compute_model_score.py`, and
sjtu-compling/ZhoBLiMP, `metrics.py`. Departure: none; both count the tokens that have a log-probability.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tseval.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    Sums = NDArray[np.float64]


NORMALISATIONS = ("tokens", "characters", "bytes", "slor", "penlp", "alpha=A")
# Lengths of the text itself, and the columns of scored sentences that hold them.
LENGTHS = {"characters": "n_characters", "bytes": "n_bytes"}
# Separates the score and its normalisation in the key of a run: `sentence/penlp`.
OVER = "/"
_ALPHA = re.compile(r"alpha=(\d+\.?\d*|\.\d+)")


@dataclass(frozen=True, slots=True)
class Unigrams:
    """Unigram log-probabilities of the tokens of a model, in nats.

    A token is a word as the model reads it; for a model of pieces, it is the piece's number in its
    vocabulary.
    """

    logprobs: Mapping[str, float]

    @property
    def digest(self) -> str:
        """SHA-256 of tokens and numbers, in hex."""
        lines = (f"{token}\t{value!r}\n" for token, value in sorted(self.logprobs.items()))
        return hashlib.sha256("".join(lines).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Normalised:
    """A score: the log-probability of a sentence, normalised."""

    by: str  # one of `NORMALISATIONS`; A of `alpha=A` is above 0, at most 1
    unigrams: Unigrams | None = None  # only for `slor`, which subtracts them
    of: Literal["sentence", "regions"] = "sentence"  # whole sentences, or continuations of a text

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", _checked(self.by))
        if self.of == "regions" and self.by not in LENGTHS:
            raise SuiteError(
                f"--normalise {self.by} works only with whole sentences, but this suite compares "
                "continuations of a text.\n"
                f"  Write --normalise {' or '.join(LENGTHS)}, or add --score sentence."
            )
        if (self.by == "slor") != (self.unigrams is not None):
            raise SuiteError(
                "--normalise slor needs the frequency of each token, which a model does not store.\n"
                "  Name a table of token counts: --unigrams FILE. docs/scoring.md describes the table."
                if self.by == "slor"
                else f"--unigrams names token counts, but --normalise {self.by} does not use them.\n"
                "  Leave out --unigrams, or write --normalise slor."
            )

    def __str__(self) -> str:
        """Return the name in the key of a run, such as `sentence/penlp`."""
        return f"{self.of}{OVER}{self.by}" + (f"@{self.unigrams.digest[:16]}" if self.unigrams else "")


def split_measure(measure: str) -> tuple[str, str | None]:
    """Split the score of a run into its score and its normalisation, None without normalisation.

    >>> split_measure("sentence/slor@0123456789abcdef")
    ('sentence', 'slor')
    """
    score, _, by = measure.partition(OVER)
    return score, by.partition("@")[0] or None


def _checked(by: str) -> str:
    """Return a normalisation in the form of signatures: `alpha=.50` is `alpha=0.5`."""
    match = _ALPHA.fullmatch(by)
    if match and 0 < float(match[1]) <= 1:
        return f"alpha={float(match[1])!r}"
    if by not in NORMALISATIONS[:-1]:
        raise SuiteError(
            f"--normalise {by}: there is no normalisation with this name.\n"
            f"  Write one of these after --normalise: none, words, {', '.join(NORMALISATIONS)}. In alpha=A, "
            "write a number above 0 and at most 1, such as alpha=0.5."
        )
    return by


def normalise(by: str, logprobs: Sums, n_tokens: NDArray[np.int64], unigrams: Sums | None) -> Sums:
    """Normalise the log-probabilities of sentences, (sentences,), by one of `NORMALISATIONS`.

    Log-probabilities and sums of unigrams (only for `slor`) are in nats, and sums over `n_tokens`.
    """
    if by == "slor":
        assert unigrams is not None
        return (logprobs - unigrams) / n_tokens
    if by == "penlp":
        return logprobs / ((5 + n_tokens) / (5 + 1)) ** 0.8
    alpha = 1.0 if by in {"tokens", *LENGTHS} else float(by.removeprefix("alpha="))
    return logprobs / n_tokens**alpha


def text_length(text: str, unit: str) -> int:
    """Count the characters of a text, code points of Unicode, or its bytes in UTF-8."""
    return len(text) if unit == "characters" else len(text.encode())
