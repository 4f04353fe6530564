"""The conformance kit on every adapter of tseval's own."""

import pytest
from own_models import CLASSIFIERS, HEAVY, NATIVE, OTHERS, open_own

from tseval.errors import ModelError
from tseval.testing import check_model

# Properties that say nothing about a kind of model; all others must hold.
NO_STATE = {"distribution"}
NO_WORDS = {"encoding", "sums", "prefixes", "unknown words", "distribution"}
NOT_APPLICABLE = {
    "classifier": {"prefixes", "distribution"},
    "hf": NO_STATE,
    "mlm": NO_STATE | {"prefixes"},
    "ngram": NO_STATE,
    "lm-eval": NO_WORDS,
}


@pytest.mark.parametrize(
    "name",
    [*NATIVE, *CLASSIFIERS, *OTHERS, *(pytest.param(name, marks=pytest.mark.slow) for name in HEAVY)],
)
def test_an_adapter_of_our_own_passes_the_kit(name, tmp_path):
    own = open_own(name, tmp_path)
    report = check_model(own.model, own.sentences)
    assert report.ok, str(report)
    skipped = {result.name for result in report.results if result.finding.verdict == "not applicable"}
    assert skipped == NOT_APPLICABLE.get(name.partition(" ")[0], set()), str(report)


def test_a_model_of_particular_sentences_must_be_given_some(tmp_path):
    own = open_own("classifier number", tmp_path)
    with pytest.raises(
        ModelError,
        match=r"(?s)sentences that end in <singular>.*\n  The checks need sentences .* --sentences FILE",
    ):
        check_model(own.model)
    with pytest.raises(ModelError) as refused:
        check_model(own.model, ["the authors laugh ."])
    assert "--sentences" not in str(refused.value)
