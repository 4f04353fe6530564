"""Forced choice: the meaning of an answer, and the verdict from two answers."""

import numpy as np
import pyarrow as pa
import pytest

from tseval.questions.answers import read_answer
from tseval.questions.contrast import Contrast
from tseval.questions.forced_choice import BETTER_FIRST, WORSE_FIRST, ForcedChoice, question_label
from tseval.questions.scored import ScoredSentences


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1), (" 2\n", 2), ("**2**", 2), ("1.", 1), ("2) The author laughs.", 2), ('"1"', 1), ("(2)", 2),
        ("1. The author laughs.", 1), ("", 0), ("The first one", 0), ("Sentence 1", 0), ("1 or 2", 0),
        ("1 and 2 are fine", 0), ("12", 0), ("1st", 0), ("1.5", 0), ("0", 0), ("3", 0), ("one", 0), ("²", 0),
        ("\x001", 0), ("2\x00", 2),
    ],
)  # fmt: skip
def test_an_answer_is_a_number_at_its_beginning_and_is_never_guessed(text, number):
    assert read_answer(text) == number


def decided(first, second):
    """Return the verdict on a pair from two answers: better sentence first, then better sentence second."""
    table = pa.table({"sentence": ["b\ufdd1w", "w\ufdd1b"], "seen": ["b\ufdd1w", "w\ufdd1b"],
                      "answer": [first, second]})  # fmt: skip
    rows = {question_label("b", "w"): np.array([0]), question_label("w", "b"): np.array([1])}
    choice = ForcedChoice((Contrast("b", "w"),))
    (one,) = choice.decide(ScoredSentences(table), rows, pa.table({}), "prompt")
    tie = bool(one.better[0] == one.worse[0])
    answers = [one.features[name][0].as_py() for name in (BETTER_FIRST, WORSE_FIRST)]
    return bool(one.correct[0]), tie, bool(one.undecidable[0]), answers


def test_a_pair_is_right_if_the_better_sentence_is_chosen_in_both_orders():
    assert decided("1", "2") == (True, False, False, [1, 2])
    assert decided("2", "1") == (False, False, False, [2, 1])


@pytest.mark.parametrize("number", [1, 2])
def test_a_pair_whose_answer_does_not_move_with_the_sentences_is_a_tie(number):
    correct, tie, undecidable, _ = decided(str(number), str(number))
    assert (correct, tie, undecidable) == (False, True, False)


def test_a_pair_with_an_answer_that_is_neither_is_undecidable_and_never_right():
    assert decided("1", "both")[2:] == (True, [1, None])
    assert decided("", "")[2:] == (True, [None, None])
