"""Score a suite with a model: the path from sentences to a run.

The steps are: plan → score → judge → write.
"""

from tseval.evaluation.plan import Plan, make_plan, refuse_too_long, run_key
from tseval.evaluation.reading import as_given, as_read, holds_boundaries, refuse_cut_words, without_spaces
from tseval.evaluation.run import evaluate, refuse_other_clusters, run_plan

__all__ = [
    "Plan",
    "as_given",
    "as_read",
    "evaluate",
    "holds_boundaries",
    "make_plan",
    "refuse_cut_words",
    "refuse_other_clusters",
    "refuse_too_long",
    "run_key",
    "run_plan",
    "without_spaces",
]
