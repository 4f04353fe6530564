"""How many tokens the score of a sentence is a sum over, and how probable these are by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tseval.errors import ModelError, shortened

if TYPE_CHECKING:
    from tseval.questions.scored import Normalised
    from tseval.scoring.scorers.scorer import Scorer

_SHOWN = 5


def lengths_of(scorer: Scorer, sentences: pa.StringArray, normalised: Normalised) -> pa.Table:
    """Count the tokens of sentences that have a log-probability.

    Args:
        scorer: Of the model.
        sentences: What it reads.
        normalised: What is needed; unigrams for `slor`.

    Returns:
        One row per sentence: `n_tokens`, at least 1, and, where there are unigrams, `unigram_logprob`, the
        sum over these tokens (nats, float64).

    Raises:
        ModelError: The model says nothing of tokens, or the unigrams lack one of its tokens.
    """
    encoded = scorer.encoded(sentences)
    counts = encoded.token_counts
    # A first token that nothing stands before has no log-probability, so that the sum is over the others.
    skipped = int(scorer.card.protocol.get("first_token") == "unscored")
    columns: dict[str, pa.Array[Any]] = {"n_tokens": pa.array(np.maximum(counts - skipped, 1), pa.int32())}
    if normalised.unigrams is not None:
        known, tokens = normalised.unigrams.logprobs, scorer.token_keys(encoded)
        if missing := dict.fromkeys(token for token in tokens if token not in known):
            more = f" and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else ""
            named = ", ".join(repr(shortened(token, 40)) for token in list(missing)[:_SHOWN])
            raise ModelError(
                f"the unigrams lack tokens of {scorer.card.name}: {named}{more}.\n"
                "  Give every token of the sentences a line, <unk> as well (docs/scoring.md)."
            )
        values = np.array([known[token] for token in tokens])
        starts = np.cumsum(counts) - counts
        if skipped:
            values[starts] = 0.0
        columns["unigram_logprob"] = pa.array(np.add.reduceat(values, starts), pa.float64())
    return pa.table(columns)
