"""The scores by which sentences are compared."""

from __future__ import annotations

from typing import Literal, get_args

# sentence  the log-probability of a sentence, the sum over its words
# critical  the log-probability of the first word at which two sentences differ
# ending    the sum over the last words; the item's feature `ending` has their number
# regions   predictions of a case about the surprisals of regions
# choices   the probabilities of single symbols after prefixes
# mean      the sum over the words divided by their number
# inflection  the forms of all verbs of a list, after the words before the verb
# prompt    the answers of a model to the question which of two sentences is better, in both orders
Score = Literal["sentence", "critical", "ending", "regions", "choices", "mean", "inflection", "prompt"]
SCORES: tuple[Score, ...] = get_args(Score)
# Scores that need the log-probabilities of single words.
COMPARES_WORDS: frozenset[Score] = frozenset({"critical", "ending", "regions", "inflection"})
