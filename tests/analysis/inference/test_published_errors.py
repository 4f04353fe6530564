"""Standard errors of a published LSTM on Marvin & Linzen, against those that another program worked out.

That was statsmodels 0.15: `cov_cluster` of a regression on a constant, with its correction G / (G - 1), for
every set of the three factors, added with the signs of Cameron, Gelbach & Miller (2011).
"""

from pathlib import Path

import numpy as np

from tseval.analysis.design import Design, Factors, estimate
from tseval.boards import entry_runs

LSTM = Path(__file__).parents[3] / "leaderboards/zoo-wide/entries/lstm"
# Clustered by these three: accuracy, standard error, and what the items are worth.
FACTORS = ("subject", "verb", "embedded")
EXPECTED = {
    "Simple": (140, 0.957, 0.0411, 24),
    "In an object RC": (22_400, 0.876, 0.0305, 117),
    "Across an object RC": (22_400, 0.651, 0.0282, 285),
    "Across a PP": (22_400, 0.834, 0.0493, 57),
}


def test_the_errors_of_a_published_lstm_are_those_worked_out_apart():
    (run,) = entry_runs([LSTM])
    verdicts = run.verdicts[run.verdicts["phenomenon"] == "Subject-verb agreement"]
    factors = Factors.of_verdicts(verdicts)
    three = factors.keep([factors.names.index(name) for name in FACTORS])
    for construction, (n_items, accuracy, se, worth) in EXPECTED.items():
        chosen = (verdicts["construction"] == construction).to_numpy()
        own = verdicts[chosen]
        found = estimate(
            own["correct"].to_numpy(bool), ~own["undecidable"].to_numpy(bool), Design.of(three.take(chosen))
        )
        assert found.n_items == n_items
        assert (round(found.value, 3), round(found.se, 4), np.rint(found.n_eff)) == (accuracy, se, worth)
