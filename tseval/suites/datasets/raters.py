"""Single ratings of sentences: their mean, and how sure it is."""

from __future__ import annotations

from math import nan, sqrt
from statistics import fmean, variance
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def standard_errors(ratings: Sequence[Mapping[str, float]]) -> list[float]:
    """Estimate the standard error of the mean rating of each sentence, as far as sentences are compared.

    It is s/√k for k ratings. Where the same people rated all sentences, what one of them gives more than the
    others on average is the same in every mean, so it is taken off before; s² is then, on average over
    sentences, the mean square of the interaction in a two-way analysis of variance. Where others rated each
    sentence it is no less noise than everything else, and stays.

    Args:
        ratings: Of each sentence: who rated it to the rating.

    Returns:
        (sentences,); not a number for a sentence with a single rating.

    Source: Shrout & Fleiss 1979, "Intraclass correlations: uses in assessing rater reliability",
    Psychological Bulletin 86(2): with 1 - mean(s.e.²) / variance of the means, case 1 and case 3.
    """
    people = list(ratings[0])
    values = [list(own.values()) for own in ratings]
    scale = 1.0
    if len(people) > 1 and len(ratings) > 1 and all(own.keys() == ratings[0].keys() for own in ratings):
        levels = [fmean(own[person] for own in ratings) for person in people]
        values = [
            [own[person] - level for person, level in zip(people, levels, strict=True)] for own in ratings
        ]
        scale = len(ratings) / (len(ratings) - 1)
    return [sqrt(scale * variance(own) / len(own)) if len(own) > 1 else nan for own in values]
