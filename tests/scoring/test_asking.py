"""Questions after prefixes against the model's own forward pass, string by string."""

from math import log

import numpy as np
import pyarrow as pa
import pytest
import torch

from tseval.errors import ModelError
from tseval.questions.choices import Asked, Asks
from tseval.scoring import scorers
from tseval.scoring.protocol import ModelCard
from tseval.scoring.scorers import scorer_for

WORDS = ["a", "b", "c", "d", "e"]
STRINGS = pa.array(sorted(["a b a c <eos>", "a b a a <eos>", "a b <eos>", "<eos>", "c c c c c c d <eos>"]))
SIGNS = np.array([[1, -1, -1, 0], [0, 1, 1, -1], [-1, -1, 1, 1]], dtype=np.int8)
ALTERNATIVES = ("a", "b", "d", "<eos>")


def asked_after(prefix):
    """Any rule that looks at the prefix alone; after some prefixes nothing is asked."""
    return (len(prefix) * 7 + prefix.count("a")) % 4 - 1


def ask_all(native, share=None, strings=STRINGS):
    asked = [
        np.array([asked_after(words[:n]) for n in range(len(words))], dtype=np.int32)
        for words in (string.split() for string in strings.to_pylist())
    ]
    return scorer_for(native).answer(strings, Asked(Asks(ALTERNATIVES, SIGNS, share), asked)).to_pylist()


def next_words(native, prefix):
    """Probability of every next word, from one plain forward pass."""
    ids = native.vocabulary.ids()
    tokens = torch.tensor([ids[word] for word in ["<eos>", *prefix]])[:, None]
    with torch.inference_mode():
        outputs, _ = native.model(tokens, native.model.initial_state(1))
        table = native.model.logits(outputs[-1, 0]).double().softmax(-1)
    return {word: table[ids[word]].item() for word in native.vocabulary.words}


@pytest.mark.parametrize("share", [None, 0.8])
@pytest.mark.parametrize("arch", ["lstm", "urn"])
def test_answers_are_those_of_the_models_own_probabilities(make_model, arch, share):
    sizes = {"embedding": 28, "hidden": 8, "layers": 1} if arch == "urn" else {}
    native = make_model(WORDS, arch, **sizes)
    n_asked = 0
    for row in ask_all(native, share):
        words = row["sentence"].split()
        for n, word in enumerate(words):
            table = next_words(native, words[:n])
            assert row["words"][n] == pytest.approx(log(table[word]), abs=1e-5)
            question = asked_after(words[:n])
            if question < 0:
                assert row["right"][n] is row["wrong"][n] is None
                continue
            n_asked += 1
            right, wrong = (
                [table[s] for s, sign in zip(ALTERNATIVES, SIGNS[question], strict=True) if sign == x]
                for x in (1, -1)
            )
            scores = log(max(right)), log(max(wrong))
            if share:
                scores = log(sum(right) / sum(right + wrong)), log(share)
            assert (row["right"][n], row["wrong"][n]) == pytest.approx(scores, abs=1e-5)
    assert n_asked > 10


def test_small_blocks_and_little_memory_change_no_answer(make_model, monkeypatch):
    native = make_model(WORDS)
    whole = ask_all(native)
    monkeypatch.setattr(scorers, "ALTERNATIVES", 8)
    monkeypatch.setattr(scorers, "STATE_BYTES", 4 * native.row_bytes)
    for one, other in zip(whole, ask_all(native), strict=True):
        for name in ("words", "right", "wrong"):
            assert one[name] == pytest.approx(other[name], abs=1e-6)


def test_each_prefix_is_computed_once(make_model):
    native = make_model(WORDS)
    scorer = scorer_for(native)
    asked = [np.zeros(len(string.split()), dtype=np.int32) for string in STRINGS.to_pylist()]
    scorer.answer(STRINGS, Asked(Asks(ALTERNATIVES, SIGNS, None), asked))
    prefixes = {tuple(s.split()[:n]) for s in STRINGS.to_pylist() for n in range(len(s.split()))}
    assert scorer.n_contexts == len(prefixes)


def test_a_share_of_exactly_the_least_is_not_more():
    # Four to one: the right symbol has 0.8 of both.
    asked = Asks(("x", "y"), np.array([[1, -1]], dtype=np.int8), 0.8)
    right, wrong = asked.compare(np.zeros(3, dtype=np.int64), np.log([[0.4, 0.1], [0.41, 0.1], [0.39, 0.1]]))
    assert list(right > wrong) == [False, True, False]
    assert np.exp(wrong) == pytest.approx([0.8] * 3)


def test_equal_probabilities_are_a_tie():
    asked = Asks(("x", "y", "z"), np.array([[1, -1, -1]], dtype=np.int8), None)
    right, wrong = asked.compare(np.zeros(1, dtype=np.int64), np.log([[0.2, 0.2, 0.1]]))
    assert right[0] == wrong[0]


def test_a_model_that_does_not_know_a_symbol_is_refused(make_model):
    with pytest.raises(ModelError, match=r"lstm does not know the symbols b, d, so .*\n  Take a model that"):
        ask_all(make_model(["a", "c"]), strings=pa.array(["a"]))


def test_an_answer_that_is_not_finite_names_its_string(make_model):
    native = make_model(WORDS)
    with torch.no_grad():
        native.model.output.bias[native.vocabulary.ids()["a"]] = float("inf")
    with pytest.raises(ModelError, match=r"nan of the sentence|choose within '.* <eos>': not finite"):
        ask_all(native)


def test_a_model_that_scores_sentences_only_is_refused():
    class Uniform:
        card = ModelCard("uniform", "test", "0" * 64, {}, {})

        def word_logprobs(self, sentences):
            return [[-1.0] * len(sentence.split()) for sentence in sentences]

    with pytest.raises(
        ModelError, match=r"cannot say how probable several words are.*\n  Take a recurrent model"
    ):
        ask_all(Uniform())
