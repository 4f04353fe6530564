"""Undecidable predictions: both sides look alike to the model, region by region."""

import numpy as np
import pytest

from tseval.adapters import open_model
from tseval.evaluation import evaluate
from tseval.scoring.surprisal import word_surprisals
from tseval.suites import load_suite

HEAD = """---
construction: NPZ
phenomenon: Garden paths
lexicon:
  noun: {{who: [author]}}
  event:
    a:
      - {{tr: blicketed, intr: wugged, verb: laughed}}
      - {{tr: saw, intr: slept, verb: fell}}
slots:
  who: {{class: noun.who, number: sing}}
  event: event.a
regions: [np, critical]
predictions:
{predictions}
---
trans_nocomma: when the {{{{ who }}}} {{{{ event.tr }}}} [np the dog] [critical {{{{ event.verb }}}}]
trans_comma: when the {{{{ who }}}} {{{{ event.tr }}}} , [np the dog] [critical {{{{ event.verb }}}}]
intrans_nocomma: when the {{{{ who }}}} {{{{ event.intr }}}} [np the dog] [critical {{{{ event.verb }}}}]
intrans_comma: when the {{{{ who }}}} {{{{ event.intr }}}} , [np the dog] [critical {{{{ event.verb }}}}]
"""
EFFECT = "(trans_nocomma.{0} - trans_comma.{0}) > (intrans_nocomma.{0} - intrans_comma.{0})"


def verdicts(tmp_path, *predictions):
    """Return the verdicts on both items by prediction; the model knows neither verb of the first item."""
    text = HEAD.format(predictions="\n".join(f"  p{n}: '{one}'" for n, one in enumerate(predictions)))
    (tmp_path / "npz.jinja").write_text(text)
    run = evaluate(open_model("bundled:lstm"), load_suite(tmp_path / "npz.jinja"))
    found = run.verdicts
    return {
        str(name): (rows["undecidable"].tolist(), rows["better_score"] - rows["worse_score"])
        for name, rows in found.groupby("contrast", observed=True)
    }


def test_an_interaction_of_conditions_that_look_alike_is_undecidable(tmp_path):
    found = verdicts(tmp_path, "intrans_nocomma.critical < trans_nocomma.critical", EFFECT.format("critical"))
    undecidable = {name: marks for name, (marks, _) in found.items()}
    assert undecidable == {name: [True, False] for name in ("p0", "p1", "all predictions")}
    # The effect over the decided item: the surprisal of one word in four sentences.
    texts = [
        f"when the author {verb} {comma}the dog fell" for verb in ("saw", "slept") for comma in ("", ", ")
    ]
    words = [sentence[-1].surprisal or 0.0 for sentence in word_surprisals(open_model("bundled:lstm"), texts)]
    effect = (words[0] - words[1]) - (words[2] - words[3])
    assert np.asarray(found["p1"][1])[1] == pytest.approx(effect, abs=1e-4)


@pytest.mark.parametrize(
    ("formula", "undecidable"),
    [
        # Different regions of sentences that look alike are not equal.
        ("trans_nocomma.np > intrans_nocomma.critical", [True, False]),
        (
            "trans_nocomma.np - trans_comma.critical > intrans_nocomma.critical - intrans_comma.np",
            [True, False],
        ),
        ("trans_nocomma.np + trans_comma.np > intrans_comma.np + intrans_nocomma.np", [True, False]),
        ("trans_nocomma.np + trans_comma.np > intrans_comma.np + intrans_comma.np", [False, False]),
        # A known statement may decide the whole formula.
        ("[trans_nocomma.np > intrans_nocomma.np] & [trans_comma.* > 0]", [True, False]),
        ("[trans_nocomma.np > intrans_nocomma.np] & [trans_comma.* < 0]", [False, False]),
        ("[trans_nocomma.np > intrans_nocomma.np] | [trans_comma.* > 0]", [False, False]),
        ("[trans_nocomma.np > intrans_nocomma.np] | [trans_comma.* < 0]", [True, False]),
        ("trans_nocomma.np > trans_nocomma.critical", [False, False]),
    ],
)  # fmt: skip
def test_what_is_made_of_the_same_regions_is_undecidable(tmp_path, formula, undecidable):
    assert verdicts(tmp_path, formula)["p0"][0] == undecidable
