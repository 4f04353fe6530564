"""Standard errors of the bundled LSTM on Marvin & Linzen, against those that another program worked out.

That was statsmodels 0.15: `cov_cluster` of a regression on a constant, with its correction G / (G - 1), for
every set of the three factors, added with the signs of Cameron, Gelbach & Miller (2011).
"""

import numpy as np
import pytest
from in_process import call

from tseval.analysis.inference.design import Design
from tseval.analysis.inference.estimates import estimate
from tseval.analysis.inference.factors import Factors
from tseval.runs import read_run

# Clustered by these three: accuracy, standard error, and what the items are worth.
FACTORS = ("subject", "verb", "embedded")
EXPECTED = {
    "Simple": (140, 0.957, 0.0411, 24),
    "In an object RC": (22_400, 0.869, 0.0312, 117),
    "Across an object RC": (22_400, 0.651, 0.0276, 299),
    "Across a PP": (22_400, 0.838, 0.0493, 56),
}
CASES = ("simple_agrmt", "obj_rel_within_anim", "obj_rel_within_inanim", "obj_rel_across_anim",
         "obj_rel_across_inanim", "prep_anim", "prep_inanim")  # fmt: skip


@pytest.mark.slow
def test_the_errors_of_the_bundled_lstm_are_those_worked_out_apart(tmp_path):
    cases = (word for case in CASES for word in ("--case", case))
    done = call("run", "--model", "bundled:lstm", *cases, "--quiet", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    verdicts = read_run(tmp_path / "run").verdicts
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
