"""Specifications of languages: valid ones, and the messages about invalid ones."""

from collections import Counter
from itertools import chain
from math import sqrt
from typing import Any

import numpy as np
import pytest

from tseval.errors import SuiteError
from tseval.questions.choices import Choices
from tseval.suites import load_suite
from tseval.suites.formal import stacks
from tseval.suites.formal.languages import CrossSerial, Dyck, GeneralisedDyck, parse_language


@pytest.mark.parametrize(
    ("spec", "language"),
    [
        ("dyck(k=4,m=3)", Dyck(4, 3)),
        ("dyck(4, 3)", Dyck(4, 3)),
        (" dyck ( 4 , m = 3, seed=2 ) ", Dyck(4, 3, seed=2)),
        ("generalised_dyck(pairs=5, length=20)", GeneralisedDyck()),
        ("generalised_dyck", GeneralisedDyck()),
        ("cross_serial(8)", CrossSerial(8, more=2)),
    ],
)
def test_a_specification_names_a_language(spec, language):
    assert parse_language(spec) == language


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("dick(4,3)", "no formal language 'dick'.\n  Did you mean 'dyck'?"),
        ("dyck(4)", "dyck(4): the language needs a value for m.\n  Write dyck(k, m, train=2000000,"),
        ("dyck(4,3,n=1)", "no setting 'n'.\n"),
        ("dyck(4,3,trian=1)", "Did you mean 'train'?"),
        ("dyck(4,3,k=4)", "the setting 'k' appears twice"),
        ("dyck(k=4,3)", "'3' has no name of a setting before it"),
        ("cross_serial(1,2,3,4,5,6,7)", "'7' has no name of a setting before it"),
        ("dyck(four,3)", "k must be a whole number, not 'four'"),
        ("dyck(0,3)", "k=0 is too small or too large.\n  Choose a value of k from 1 to 4,096."),
        ("dyck(4,3,seed=-1)", "seed=-1 is too small or too large"),
        ("generalised_dyck(length=7)", "length=7 is an odd number"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_reason(spec, said):
    with pytest.raises(SuiteError) as refusal:
        parse_language(spec)
    assert said in str(refusal.value)


def test_a_language_without_strings_left_for_the_test_is_refused():
    language = parse_language("generalised_dyck(pairs=2,length=4)")
    with pytest.raises(
        SuiteError,
        match=r"all strings of this language are training strings "
        r".train=102,400.",
    ):
        list(language.draw("test"))


# Sampled strings against the exact distributions of the papers' samplers.
def draw(language, split):
    """Return all strings of a split as lists of symbols."""
    return [text.split() for block in language.draw(split) for text in block.texts(language.alphabet)]


def depth_of(string):
    return max(accumulated for accumulated in np.cumsum([1 if s[0] == "(" else -1 for s in string]))


def assert_shares(values, shares):
    """Check shares of values against probabilities, within four standard deviations for this sample size."""
    values = np.asarray(values)
    for value, share in shares.items():
        deviation = sqrt(share * (1 - share) / len(values))
        assert np.mean(values == value) == pytest.approx(share, abs=4 * deviation), value


# Exact values, with the stop symbol counted; they do not depend on k.
LENGTHS = {
    (3, "train"): ({3: 0.25032, 5: 0.12516, 7: 0.09387, 9: 0.07823}, 12.8917), (3, "test"): ({}, 98.212),
    (5, "train"): ({3: 0.25033, 5: 0.12516, 7: 0.07823}, 20.7556), (5, "test"): ({}, 208.650),
}  # fmt: skip


@pytest.mark.parametrize(("m", "split"), LENGTHS)
@pytest.mark.parametrize("k", [2, 128])
def test_lengths_of_dyck_strings_have_the_exact_distribution(k, m, split):
    blocks = list(Dyck(k, m, train=1_000_000, test=1_000_000).draw(split))
    tokens = np.concatenate([block.lengths for block in blocks]) + 1
    shares, mean = LENGTHS[m, split]
    assert_shares(tokens, shares)
    assert tokens.mean() == pytest.approx(mean, abs=4 * tokens.std() / sqrt(len(tokens)))


def test_dyck_draws_each_symbol_as_the_paper_does():
    k, m = 3, 3
    after = {depth: [] for depth in range(m + 1)}
    for string in draw(Dyck(k, m, train=300_000), "train"):
        depth = 0
        for position, symbol in enumerate([*string, "end"]):
            if position:  # a stop symbol at the very start is discarded
                after[depth].append(symbol if symbol[0] in "(e" else "close")
            depth += {"(": 1, ")": -1, "e": 0}[symbol[0]]
    opening = dict.fromkeys(["(1", "(2", "(3"], 1 / 6)
    # Strings that are too long are drawn again; at this size, this does not change the shares visibly.
    assert_shares(after[0], {"end": 1 / 2, **opening})
    assert_shares(after[1], {"close": 1 / 2, **opening})
    assert_shares(after[2], {"close": 1 / 2, **opening})
    assert set(after[3]) == {"close"}


def test_every_dyck_test_string_is_longer_than_every_training_string():
    for m in (1, 2, 3, 5):
        language = Dyck(2, m, train=20_000, test=20_000)
        longest = max(map(len, draw(language, "train")))
        lengths = list(map(len, draw(language, "test")))
        assert longest < language.window("train")[1] < min(lengths)
        assert max(lengths) < 2 * language.window("train")[1]


# Distribution of the greatest depth in a walk of ten pairs.
DEPTHS = {1: 1 / 512, 2: 6433 / 65536, 3: 15727 / 65536, 4: 491 / 2048, 5: 1501 / 8192}
DEPTHS |= {6: 1001 / 8192, 7: 143 / 2048, 8: 33 / 1024, 9: 11 / 1024, 10: 1 / 512}


def test_depths_of_generalised_dyck_strings_have_the_exact_distribution():
    depths = list(map(depth_of, draw(GeneralisedDyck(test=30_000), "test")))
    assert_shares(depths, DEPTHS)
    assert np.mean(depths) == pytest.approx(4.38927, abs=4 * np.std(depths) / sqrt(len(depths)))


@pytest.mark.parametrize("deepest", [1, 3])
def test_training_strings_are_those_walks_that_stay_shallow(deepest):
    strings = draw(GeneralisedDyck(train_depth=deepest, train=20_000), "train")
    shallow = sum(DEPTHS[depth] for depth in range(1, deepest + 1))
    assert_shares(list(map(depth_of, strings)), {d: DEPTHS[d] / shallow for d in range(1, deepest + 1)})


def test_types_of_brackets_are_uniform():
    opened = [s for string in draw(GeneralisedDyck(train=10_000), "train") for s in string if s[0] == "("]
    assert_shares(opened, dict.fromkeys(["(1", "(2", "(3", "(4", "(5"], 1 / 5))


def test_no_test_string_is_a_training_string():
    language = GeneralisedDyck(pairs=2, length=8, train=300, test=1_000)
    strings = draw(language, "test")
    assert len(strings) == 1_000
    assert {*map(tuple, strings)} & {*map(tuple, draw(language, "train"))} == set()


def members(k):
    return ["a" * m + "b" * n + "c" * m + "d" * n for m in range(k) for n in range(k - m)]


@pytest.mark.parametrize(("split", "k", "size"), [("train", 8, 36), ("test", 10, 55)])
def test_cross_serial_strings_are_uniform_over_the_language(split, k, size):
    strings = ["".join(string) for string in draw(CrossSerial(8, train=50_000, test=50_000), split)]
    assert len(members(k)) == size
    assert set(strings) == set(members(k))
    assert_shares(strings, dict.fromkeys(members(k), 1 / size))


SPECS = ["dyck(2,3,train=20000,test=20000,{})", "generalised_dyck({})", "cross_serial(8,{})"]


@pytest.mark.parametrize("spec", SPECS)
def test_the_seed_and_the_split_alone_decide_the_strings(spec):
    def sets(seed):
        language: Any = parse_language(spec.format(f"seed={seed}"))
        splits = ("train", "valid", "test")
        return [[block.symbols.tobytes() for block in language.draw(split)] for split in splits]

    drawn = [*sets(0), *sets(1)]
    assert sets(0) == drawn[:3]
    assert len({tuple(one) for one in drawn}) == 6


# Brute force: all strings of a small language, found by rewriting, without a stack.


def nested(length, kinds, deepest):
    """Return all well-nested strings of brackets."""
    if length == 0:
        return [()]
    if deepest == 0:
        return []
    return [
        (f"({kind}", *inside, f"){kind}", *rest)
        for inner in range(0, length - 1, 2)
        for kind in range(1, kinds + 1)
        for inside in nested(inner, kinds, deepest - 1)
        for rest in nested(length - 2 - inner, kinds, deepest)
    ]


def continuations(strings):
    """Return the symbols that follow each prefix in a set of strings."""
    found = {}
    for string in strings:
        for n, symbol in enumerate([*string, "<eos>"]):
            found.setdefault(tuple(string[:n]), set()).add(symbol)
    return found


def test_the_allowed_symbols_of_dyck_are_those_of_all_its_strings():
    found = continuations(chain(*(nested(n, 2, 2) for n in (0, 2, 4, 6, 8))))
    language = Dyck(2, 2)
    inner = [prefix for prefix in found if len(prefix) <= 4]  # all their continuations end within 8
    assert [language.allowed(prefix) for prefix in inner] == [found[prefix] for prefix in inner]


def test_the_allowed_symbols_of_generalised_dyck_are_those_of_all_its_strings():
    found = continuations(nested(8, 2, 8))
    language = GeneralisedDyck(pairs=2, length=8)
    assert {prefix: language.allowed(prefix) for prefix in found} == found


def test_the_allowed_symbols_of_cross_serial_are_those_of_the_larger_language():
    found = continuations(members(10))
    language = CrossSerial(8)
    assert {prefix: language.allowed(prefix) for prefix in found} == found


@pytest.mark.parametrize(
    ("spec", "prefix"),
    [
        ("dyck(2,2)", ")1"),
        ("dyck(2,2)", "(1 )2"),
        ("dyck(2,2)", "(1 (1 (1"),
        ("dyck(2,2)", "(3"),
        ("generalised_dyck(length=4)", "(1 (1 (1"),
        ("cross_serial(2,more=0)", "a a"),
        ("cross_serial(8)", "a c c"),
        ("cross_serial(8)", "b a"),
        ("cross_serial(8)", "a b d"),
    ],
)
def test_what_no_string_begins_with_is_refused(spec, prefix):
    with pytest.raises(ValueError, match=r"symbol|open|closed|begins"):
        parse_language(spec).allowed(prefix.split())


# The questions within strings and their features, against a stack in plain Python.
def choices_of(suite):
    """Yield every choice of a suite: its string, position, right symbols, wrong symbols, features."""
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
    """Return the stack before each symbol and before the end: brackets with their positions."""
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
    """Yield the questions that should be asked within a string of brackets."""
    for position, stack in enumerate(follow(string)):
        if stack and not (closing_only and string[position][0] == "("):
            top, opened = stack[-1]
            inside = string[opened + 1 : position]
            right = {f"){top[1:]}"}
            known = {
                "position": position, "open": len(stack), "distance": len(inside),
                "attractors": sum(symbol[0] == "(" and symbol != top for symbol in inside),
            }  # fmt: skip
            yield string, position, right, {f"){i}" for i in range(1, n_types + 1)} - right, known


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "n_types"),
    [("dyck(3,4,test=20000,train=1000)", 3), ("dyck(1,2,test=2000,train=1000)", 1),
     ("generalised_dyck(pairs=3,length=12,test=300,train=300)", 3)],
)  # fmt: skip
def test_every_choice_is_that_of_a_stack(spec, n_types, monkeypatch):
    monkeypatch.setattr(stacks, "COUNTERS", 40)  # so that a block has several slices
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
        known = zip(case.question.features.to_pylist(), case.question.item, strict=True)
        own = [one for one, item in known if item == row]
        assert whole == {
            "length": len(case.sentences["string"][row].as_py().split()),
            "depth": max(one["open"] for one in own),
            "max_distance": max(one["distance"] for one in own),
            "max_attractors": max(one["attractors"] for one in own),
            "unseen_stacks": sum(one["unseen_stack"] for one in own),
        }


# Expected closing brackets per string, by attractors: ten pairs of five types.


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
    for spec in ("generalised_dyck(train=1000)", "cross_serial(8)"):
        assert load_suite(spec).n_items == 5_120


def test_a_limit_takes_the_first_strings_and_a_sample_any():
    spec = "dyck(2,3,test=20000,train=500)"
    whole, first, drawn = load_suite(spec), load_suite(spec, limit=7), load_suite(spec, sample=7, seed=1)
    texts, own, others = (suite.cases[0].sentences["string"].to_pylist() for suite in (whole, first, drawn))
    assert own == texts[:7]
    assert others == [texts[i] for i in drawn.cases[0].index.to_pylist()] != own
    assert list(choices_of(first)) == [one for one in choices_of(whole) if " ".join(one[0]) in own]


def test_the_digest_covers_the_strings_and_what_is_known_of_them():
    settings = ["train=2000", "train=40", "train=2000,seed=1", "train=2000,test=600"]
    digests = [load_suite(f"dyck(2,2,{one})", limit=30).digest for one in settings]
    assert digests[0] == load_suite("dyck(2,2,train=2000)", limit=30).digest
    # With 40 training tokens, other stacks are unseen; 600 test tokens have fewer than 30 strings.
    assert len(set(digests)) == 4
