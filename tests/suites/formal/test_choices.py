"""What is asked of a model within strings, and what is known of it, against a stack in plain Python."""

from collections import Counter
from math import sqrt

import numpy as np
import pytest

from tseval.questions.choices import Choices
from tseval.suites import formal, load_suite
from tseval.suites.formal.languages import parse_language


def choices_of(suite):
    """Every choice of a suite: its string, position, right symbols, wrong symbols, features."""
    (case,) = suite.cases
    strings = case.sentences["string"].to_pylist()
    asked = case.question
    symbols = asked.alternatives.symbols
    features = asked.features.to_pylist() if asked.features.num_columns else [{}] * len(asked.item)
    for row, position, question, known in zip(asked.item, asked.position, asked.which, features, strict=True):
        signs = asked.alternatives.signs[question]
        right, wrong = ({s for s, sign in zip(symbols, signs, strict=True) if sign == x} for x in (1, -1))
        yield strings[row].split(), position, right, wrong, known


def follow(string):
    """The stack before each symbol and before the end: the bracket, its position, its partner."""
    stack, found = [], []
    for position, symbol in enumerate([*string, "end"]):
        found.append(list(stack))
        if symbol[0] == "(":
            stack.append((symbol, position))
        elif symbol[0] == ")":
            assert stack.pop()[0][1:] == symbol[1:]
    assert found[-1] == []
    return found


def expected_choices(string, n_types, *, closing_only):
    """What should be asked within a string of brackets."""
    for position, stack in enumerate(follow(string)):
        if stack and not (closing_only and string[position][0] == "("):
            top, opened = stack[-1]
            inside = string[opened + 1 : position]
            right = {f"){top[1:]}"}
            known = {
                "position": position,
                "open": len(stack),
                "distance": len(inside),
                "attractors": sum(symbol[0] == "(" and symbol != top for symbol in inside),
            }
            yield string, position, right, {f"){i}" for i in range(1, n_types + 1)} - right, known


@pytest.mark.parametrize(
    ("spec", "n_types"),
    [("dyck(3,4,test=20000,train=1000)", 3), ("dyck(1,2,test=2000,train=1000)", 1),
     ("generalised_dyck(pairs=3,length=12,test=300,train=300)", 3)],
)  # fmt: skip
def test_every_choice_is_that_of_a_stack(spec, n_types, monkeypatch):
    monkeypatch.setattr(formal, "COUNTERS", 40)  # several slices of a block
    suite = load_suite(spec)
    strings = [text.split() for text in suite.cases[0].sentences["string"].to_pylist()]
    closing_only = spec.startswith("generalised")
    expected = [one for s in strings for one in expected_choices(s, n_types, closing_only=closing_only)]
    found = [
        (*one, {k: v for k, v in known.items() if k != "unseen_stack"}) for *one, known in choices_of(suite)
    ]
    assert found == expected
    assert len(found) == suite.n_contrasts


def test_a_stack_is_unseen_if_no_training_string_holds_it():
    spec = "generalised_dyck(pairs=2,length=12,train_depth=3,train=40,test=200)"
    language = parse_language(spec)
    training = [text.split() for block in language.draw("train") for text in block.texts(language.alphabet)]
    seen = {tuple(symbol for symbol, _ in stack) for string in training for stack in follow(string)}
    unseen = Counter()
    for string, position, _, _, known in choices_of(load_suite(spec)):
        stack = tuple(symbol for symbol, _ in follow(string)[position])
        assert known["unseen_stack"] == (stack not in seen)
        unseen[known["unseen_stack"]] += 1
    assert min(unseen[True], unseen[False]) > 20


def test_features_of_a_string_sum_up_those_of_its_choices():
    (case,) = load_suite("dyck(2,3,test=3000,train=500)").cases
    assert isinstance(case.question, Choices)
    for row, whole in enumerate(case.features.to_pylist()):
        own = [
            c
            for c, item in zip(case.question.features.to_pylist(), case.question.item, strict=True)
            if item == row
        ]
        assert whole == {
            "length": len(case.sentences["string"][row].as_py().split()),
            "depth": max(one["open"] for one in own),
            "max_distance": max(one["distance"] for one in own),
            "max_attractors": max(one["attractors"] for one in own),
            "unseen_stacks": sum(one["unseen_stack"] for one in own),
        }


# Expected closing brackets to a string, by attractors: ten pairs of five types.
CLOSINGS = [5.83766, 1.52563, 0.81531, 0.54681, 0.40932, 0.32278, 0.25183, 0.17499, 0.09079, 0.02489]


def test_closing_brackets_have_as_many_attractors_as_expected():
    (case,) = load_suite("generalised_dyck(test=20000)").cases
    assert isinstance(case.question, Choices)
    counts = np.zeros((case.n_items, len(CLOSINGS)))
    np.add.at(counts, (case.question.item, case.question.features["attractors"].to_numpy()), 1)
    assert sum(CLOSINGS) == pytest.approx(10, abs=1e-4)
    for attractors, expected in enumerate(CLOSINGS):
        own = counts[:, attractors]
        assert own.mean() == pytest.approx(expected, abs=4 * own.std() / sqrt(len(own)))


def test_cross_serial_asks_after_every_prefix_what_a_longer_string_may_go_on_with():
    suite = load_suite("cross_serial(3,more=1,test=100)")
    members = ["a" * m + "b" * n + "c" * m + "d" * n for m in range(4) for n in range(4 - m)]
    found = list(choices_of(suite))
    for string, position, right, wrong, _ in found:
        prefix = "".join(string[:position])
        follows = {(m + ".")[position] for m in members if m.startswith(prefix)}
        assert {"." if symbol == "<eos>" else symbol for symbol in right} == follows
        assert right | wrong == {"a", "b", "c", "d", "<eos>"}
    strings = suite.cases[0].sentences["string"].to_pylist()
    assert len(found) == sum(len(string.split()) + 1 for string in strings)
    for string, known in zip(strings, suite.cases[0].features.to_pylist(), strict=True):
        m, n = string.split().count("a"), string.split().count("b")
        assert known == {"m": m, "n": n, "m_plus_n": m + n, "unseen_pattern": m + n >= 3}


def test_the_test_sets_have_the_published_sizes():
    (case,) = load_suite("dyck(2,3,train=1000)").cases
    tokens = [len(string.split()) + 1 for string in case.sentences["string"].to_pylist()]
    assert sum(tokens) - tokens[-1] < 300_000 <= sum(tokens)
    assert (
        load_suite("generalised_dyck(train=1000)").n_items == load_suite("cross_serial(8)").n_items == 5_120
    )


def test_a_limit_takes_the_first_strings_and_a_sample_any():
    spec = "dyck(2,3,test=20000,train=500)"
    whole = load_suite(spec)
    texts = whole.cases[0].sentences["string"].to_pylist()
    first, drawn = load_suite(spec, limit=7), load_suite(spec, sample=7, seed=1)
    assert whole.complete
    assert not first.complete
    assert first.cases[0].sentences["string"].to_pylist() == texts[:7]
    assert [texts[i] for i in drawn.cases[0].index.to_pylist()] == drawn.cases[0].sentences[
        "string"
    ].to_pylist()
    assert drawn.cases[0].index.to_pylist() != list(range(7))
    kept = [one for one in choices_of(whole) if one[0] in [text.split() for text in texts[:7]]]
    assert list(choices_of(first)) == kept


def test_the_digest_covers_the_strings_and_what_is_known_of_them():
    settings = ["train=2000", "train=40", "train=2000,seed=1", "train=2000,test=600"]
    digests = [load_suite(f"dyck(2,2,{one})", limit=30).digest for one in settings]
    assert digests[0] == load_suite("dyck(2,2,train=2000)", limit=30).digest
    # With 40 training tokens other stacks are unseen; 600 test tokens hold fewer than 30 strings.
    assert len(set(digests)) == 4
