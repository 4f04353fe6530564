"""What a model says of itself is looked at before anything is scored, not when it cannot be written."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tseval.adapters import open_model
from tseval.errors import ModelError
from tseval.evaluation import evaluate
from tseval.suites import load_suite


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"details": {"path": Path("a")}}, "details['path'] is a "),
        ({"details": {"loss": np.float32(1)}}, "details['loss'] is a float32"),
        ({"protocol": {"start": Path("a")}}, "protocol['start'] is a "),
        (
            {"protocol": {"fingerprint": "x"}},
            "card.protocol has 'fingerprint', which every run has of its own",
        ),
        ({"fingerprint": ""}, "card.fingerprint is ''"),
        ({"fingerprint": Path("a")}, "card.fingerprint is "),
    ],
)
def test_a_card_that_no_manifest_can_hold_is_refused_before_scoring(tmp_path, changed, said):
    model = open_model("bundled:lstm")
    model.card = replace(model.card, **changed)
    suite = load_suite("marvin_linzen", cases="simple_agrmt", limit=1)
    with pytest.raises(ModelError) as error:
        evaluate(model, suite, out=tmp_path / "run")
    assert said in str(error.value)
    assert not (tmp_path / "run").exists()
