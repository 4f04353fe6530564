"""Log-probabilities of sentences of unequal lengths, made comparable.

With log P the log-probability of a sentence, n the number of tokens that it is a sum over, and log P_u the
sum of the unigram log-probabilities of these tokens, all in nats:

    tokens    log P / n
    alpha=A   log P / n^A                     SLLN-LP (Liu et al. 2024)
    penlp     log P / ((5 + n) / (5 + 1))^0.8 PenLP (Lau et al. 2020, after Wu et al. 2016)
    slor      (log P - log P_u) / n           SLOR (Pauls & Klein 2012; Lau, Clark & Lappin 2017)

    characters  log P / letters of the text, code points of Unicode  (acc_norm of lm-eval)
    bytes       log P / bytes of the text in UTF-8                   (acc_bytes of lm-eval)

The last two are also for continuations of a text, whose log-probability given that text is divided by their
own length. Division by the number of words is the score `mean`.

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
# Between the score and what it is normalised by, in the key of a run: `sentence/penlp`.
OVER = "/"
_ALPHA = re.compile(r"alpha=(\d+\.?\d*|\.\d+)")


@dataclass(frozen=True, slots=True)
class Unigrams:
    """Unigram log-probabilities of the tokens of a model, in nats.

    A token is a word as the model sees it; of a model of pieces, the piece's number in its vocabulary.
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
    unigrams: Unigrams | None = None  # what `slor` subtracts; else None
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
        """Name the score as in the key of a run: `sentence/penlp`."""
        return f"{self.of}{OVER}{self.by}" + (f"@{self.unigrams.digest[:16]}" if self.unigrams else "")


def split_measure(measure: str) -> tuple[str, str | None]:
    """Take the score of a run apart: what is compared, and what it is normalised by, None for nothing.

    >>> split_measure("sentence/slor@0123456789abcdef")
    ('sentence', 'slor')
    """
    score, _, by = measure.partition(OVER)
    return score, by.partition("@")[0] or None


def _checked(by: str) -> str:
    """Return a normalisation as signatures name it: `alpha=.50` is `alpha=0.5`."""
    match = _ALPHA.fullmatch(by)
    if match and 0 < float(match[1]) <= 1:
        return f"alpha={float(match[1])!r}"
    if by not in NORMALISATIONS[:-1]:
        raise SuiteError(
            f"--normalise {by}: there is no normalisation with this name.\n"
            f"  Choose none, words, {', '.join(NORMALISATIONS)}. A is a number above 0 and at most 1, such "
            "as alpha=0.5."
        )
    return by


def normalise(by: str, logprobs: Sums, n_tokens: NDArray[np.int64], unigrams: Sums | None) -> Sums:
    """Normalise the log-probabilities of sentences, (sentences,), as `Normalised.by` has it.

    Log-probabilities and sums of unigrams (for `slor` alone) are in nats, and sums over `n_tokens`.
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
