"""Accuracy: counts, estimates, means over rows and ranks. Functions take and return DataFrames.

The digits printed under a table are truncated, so a mean must not be off by a rounding error: accuracies and
means are fractions of whole numbers throughout.
"""

from tseval.analysis.correctness import Correctness, estimate_means
from tseval.analysis.counts import COUNTS, N_HALF_KNOWN, count, decidable, exact_accuracy, no_accuracy, tally
from tseval.analysis.features import check_features, require_features, select
from tseval.analysis.means import Mean, cut, means, rank_rows
from tseval.analysis.ranks import Ranking, rank_models
from tseval.analysis.rows import ROW, SECTIONS, row_sets

__all__ = [
    "COUNTS",
    "N_HALF_KNOWN",
    "ROW",
    "SECTIONS",
    "Correctness",
    "Mean",
    "Ranking",
    "check_features",
    "count",
    "cut",
    "decidable",
    "estimate_means",
    "exact_accuracy",
    "means",
    "no_accuracy",
    "rank_models",
    "rank_rows",
    "require_features",
    "row_sets",
    "select",
    "tally",
]
