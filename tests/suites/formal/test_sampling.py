"""Sampled strings against the exact distributions of the papers' samplers."""

from itertools import chain
from math import sqrt
from typing import Any

import numpy as np
import pytest

from tseval.suites.formal.languages import CrossSerial, Dyck, GeneralisedDyck, parse_language


def draw(language, split):
    """All strings of a split as text."""
    return [text.split() for block in language.draw(split) for text in block.texts(language.alphabet)]


def depth_of(string):
    return max(accumulated for accumulated in np.cumsum([1 if s[0] == "(" else -1 for s in string]))


def assert_shares(values, shares):
    """Hold shares of values to probabilities, within four standard deviations of a sample of this size."""
    values = np.asarray(values)
    for value, share in shares.items():
        deviation = sqrt(share * (1 - share) / len(values))
        assert np.mean(values == value) == pytest.approx(share, abs=4 * deviation), value


# Exact, with the stop symbol counted; they do not depend on k.
LENGTHS = {
    (3, "train"): ({3: 0.25032, 5: 0.12516, 7: 0.09387, 9: 0.07823}, 12.8917),
    (3, "test"): ({}, 98.212),
    (5, "train"): ({3: 0.25033, 5: 0.12516, 7: 0.07823}, 20.7556),
    (5, "test"): ({}, 208.650),
}


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
            if position:  # at the very start the end is thrown away
                after[depth].append(symbol if symbol[0] in "(e" else "close")
            depth += {"(": 1, ")": -1, "e": 0}[symbol[0]]
    opening = dict.fromkeys(["(1", "(2", "(3"], 1 / 6)
    # Strings that would be too long are drawn anew: at this size that moves no share visibly.
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


def test_sizes_of_dyck_sets_are_in_tokens():
    for split in ("train", "valid", "test"):
        strings = draw(Dyck(2, 3, train=5_000, valid=5_000, test=5_000), split)
        tokens = [len(string) + 1 for string in strings]
        assert sum(tokens) - tokens[-1] < 5_000 <= sum(tokens)


# Probability of the greatest depth of a walk of ten pairs.
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


# Brute force: all strings of a small language, found by rewriting, not by a stack.


def nested(length, kinds, deepest):
    """All well-nested strings of brackets."""
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
    """Symbols that follow each prefix in a set of strings."""
    found = {}
    for string in strings:
        for n, symbol in enumerate([*string, "<eos>"]):
            found.setdefault(tuple(string[:n]), set()).add(symbol)
    return found


def test_the_allowed_symbols_of_dyck_are_those_of_all_its_strings():
    found = continuations(chain(*(nested(n, 2, 2) for n in (0, 2, 4, 6, 8))))
    language = Dyck(2, 2)
    inner = [prefix for prefix in found if len(prefix) <= 4]  # all that may follow these ends within 8
    assert {prefix: language.allowed(prefix) for prefix in inner} == {
        prefix: found[prefix] for prefix in inner
    }


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
        ("dyck(2,2)", "x"),
        ("generalised_dyck(length=4)", "(1 (1 (1"),
        ("cross_serial(2,more=0)", "a a"),
        ("cross_serial(8)", "a c c"),
        ("cross_serial(8)", "b a"),
        ("cross_serial(8)", "a b d"),
        ("cross_serial(8)", "a x"),
    ],
)
def test_what_no_string_begins_with_is_refused(spec, prefix):
    with pytest.raises(ValueError, match=r"symbol|open|closed|begins"):
        parse_language(spec).allowed(prefix.split())


@pytest.mark.parametrize("spec", SPECS)
def test_no_symbol_of_an_alphabet_holds_a_space(spec):
    alphabet = parse_language(spec.format("seed=0")).alphabet
    assert " ".join(alphabet).split() == list(dict.fromkeys(alphabet))
