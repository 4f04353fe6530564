"""Models behind a wall: one number for a sentence is enough for verdicts, and no more is invented."""

from typing import Any

import pyarrow as pa
import pytest

import tseval
from tseval.errors import ModelError
from tseval.scoring.protocol import ModelCard
from tseval.scoring.scorers import scorer_for

SENTENCES = ["the author laughs .", "the authors near the guard laugh .", "the guard laughs ."]


class Totals:
    """A model behind a wall with a closed form: a sentence of n letters has probability exp(-n)."""

    def __init__(self):
        self.card = ModelCard("totals", "test", "0", {}, {})
        self.calls = []

    def sentence_logprobs(self, sentences):
        self.calls.append(list(sentences))
        return [-float(len(sentence)) for sentence in sentences]


def test_totals_are_enough_for_verdicts_but_not_for_single_words():
    model = Totals()
    suite = tseval.load_suite("marvin_linzen", cases=["simple_agrmt"])
    run = tseval.evaluate(model, suite)
    sentences = [sentence for call in model.calls for sentence in call]
    assert len(sentences) == len(set(sentences)) > 100
    # A verb in the plural is shorter: a longer better sentence loses.
    row: Any
    for row in run.verdicts.itertuples():
        assert row.correct == (row.better_score > row.worse_score)
        assert row.better_score == int(row.better_score) < 0
    assert 0 < run.verdicts["correct"].mean() < 1
    mean = tseval.evaluate(Totals(), suite, score="mean").verdicts
    assert mean["better_score"].iloc[0] == pytest.approx(run.verdicts["better_score"].iloc[0] / 4)
    with pytest.raises(ModelError, match="totals gives one number for a sentence, but --score critical"):
        tseval.evaluate(Totals(), suite, score="critical")


def test_words_of_a_total_are_absent_and_not_invented():
    rows = scorer_for(Totals()).score(pa.array(SENTENCES)).to_pylist()
    for row in rows:
        assert row["logprob"] == -len(row["sentence"])
        assert row["words"] == [None] * len(row["sentence"].split())


def test_a_wrong_number_of_totals_is_told():
    model = Totals()
    model.sentence_logprobs = lambda sentences: [0.0]
    with pytest.raises(ModelError, match="totals gave 1 scores for 3 sentences"):
        scorer_for(model).score(pa.array(SENTENCES))
    model.sentence_logprobs = lambda sentences: [float("nan")] * 3
    with pytest.raises(ModelError, match=r"nan of the sentence 'the author laughs \.': not finite"):
        scorer_for(model).score(pa.array(SENTENCES))
