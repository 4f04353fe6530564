"""Scoring and answers on another device against the CPU, also if memory runs out at random."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from own_models import open_own
from second_device import NAME

from tseval.items import SuiteContexts
from tseval.models.cells import CELLS
from tseval.models.network import TASKS
from tseval.questions.choices import Asked, Asks
from tseval.scoring.in_context import scorer_in_context
from tseval.scoring.scorers import scorer_for
from tseval.testing.sentences import default_sentences
from tseval.writing import IN_CONTEXT

CELLS_AND_TASKS = [*(f"native {cell}" for cell in CELLS), *(f"classifier {task}" for task in TASKS)]
# With a packed tree, with the model's own head, and with one sentence per row.
CAUSAL = ["hf gpt2", "hf gemma2", "hf mamba"]
MASKED = ["mlm within_word_l2r", "mlm original"]
SIGNS = np.array([[1, -1, -1], [-1, 1, 1]], dtype=np.int8)


def slowest(names):
    return [pytest.param(name, marks=pytest.mark.slowest) for name in names]


def scored(own):
    """Return the log-probabilities of all words of a model's sentences, and the scorer."""
    scorer = scorer_for(own.model, words=True)
    table = scorer.score(pa.array(sorted(own.sentences or default_sentences()), pa.string()))
    return pc.list_flatten(table["words"]).to_numpy(), scorer


@pytest.mark.parametrize("name", [*CELLS_AND_TASKS, "oracle", *slowest(CAUSAL), *slowest(MASKED)])
def test_scores_are_those_of_the_cpu(tmp_path, device, tolerance, name):
    expected, here = scored(open_own(name, tmp_path))
    found, scorer = scored(open_own(name, tmp_path, str(device)))
    np.testing.assert_allclose(found, expected, atol=tolerance, rtol=0)
    assert len(set(found)) > 1, "nothing to compare"
    assert scorer.card.details["device"].startswith(device.type)
    assert scorer.warnings == here.warnings


def scored_in_context(own):
    """Return the log-probabilities of all words of a model's sentences after two texts."""
    texts = sorted(own.sentences or default_sentences())
    first, second, third, *_ = sorted(texts, key=len)
    contexts = SuiteContexts("text", 9, 0, 1, ((first, second), (third,)))
    marked = [f"{number}{IN_CONTEXT}{text}" for number in range(2) for text in texts]
    scorer = scorer_in_context(own.model, contexts, None, words=False)
    table = scorer.score(pa.array(sorted(marked), pa.string()))
    return pc.list_flatten(table["words"]).to_numpy()


@pytest.mark.parametrize("name", ["native lstm", "native drnn", "native urn", *slowest(CAUSAL)])
def test_scores_in_context_are_those_of_the_cpu(tmp_path, device, tolerance, name):
    expected = scored_in_context(open_own(name, tmp_path))
    found = scored_in_context(open_own(name, tmp_path, str(device)))
    np.testing.assert_allclose(found, expected, atol=tolerance, rtol=0)
    assert len(set(found)) > 1, "nothing to compare"


def answers(own):
    """Return a model's answers about the words of its sentences, (words, 2); NaN without a question."""
    strings = pa.array(sorted(own.sentences or default_sentences()), pa.string())
    alternatives = tuple(sorted({text.split()[0] for text in strings.to_pylist()})[:3])
    asked = [np.arange(len(text.split()), dtype=np.int32) % 3 - 1 for text in strings.to_pylist()]
    table = scorer_for(own.model).answer(strings, Asked(Asks(alternatives, SIGNS, None), asked))
    columns = (pc.list_flatten(table[side]) for side in ("right", "wrong"))
    return np.stack([column.to_numpy() for column in columns], axis=1)


@pytest.mark.slowest
@pytest.mark.parametrize("name", ["oracle", *(f"native {cell}" for cell in CELLS)])
def test_answers_are_those_of_the_cpu(tmp_path, device, tolerance, name):
    expected = answers(open_own(name, tmp_path))
    found = answers(open_own(name, tmp_path, str(device)))
    np.testing.assert_allclose(found, expected, atol=tolerance, rtol=0)
    assert np.isfinite(expected).any()


@pytest.mark.parametrize("name", ["native lstm", "native onlstm"])
def test_the_most_probable_words_are_those_of_the_cpu(tmp_path, device, name):
    found = []
    for where in ("cpu", str(device)):
        model = open_own(name, tmp_path, where).model
        state = model.advance(model.start(), np.array([3]))
        found.append(model.best_tokens(state).tolist())
    assert found[0] == found[1]


@pytest.mark.slowest
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["native lstm", "classifier number"])
def test_memory_that_runs_out_at_random_changes_no_score(tmp_path, machine, monkeypatch, name, seed):
    monkeypatch.setattr("tseval.scoring.trie.CONTEXTS_AT_ONCE", 20)
    own = open_own(name, tmp_path, NAME)
    expected, _ = scored(own)
    machine.run_short(seed, times=3, apart=60)
    found, scorer = scored(own)
    np.testing.assert_allclose(found, expected, atol=2e-5, rtol=0)
    assert not machine.shortages, "memory did not run out"
    assert len(scorer.warnings) == machine.n_emptied == 3
    assert all("out of memory with" in warning for warning in scorer.warnings)


@pytest.mark.slowest
def test_memory_that_runs_out_at_random_changes_no_answer(tmp_path, machine):
    own = open_own("native gru", tmp_path, NAME)
    expected = answers(own)
    machine.run_short(seed=1, times=3, apart=60)
    np.testing.assert_allclose(answers(own), expected, atol=2e-5, rtol=0)
    assert machine.n_emptied == 3
