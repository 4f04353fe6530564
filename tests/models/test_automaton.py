"""The automaton of Dyck-(k,m), against the language, its stacks and drawn strings."""

import math
import re
from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from in_process import call, succeed

from tseval.adapters.oracle import open_oracle
from tseval.errors import ModelError
from tseval.models.oracles import IMPOSSIBLE
from tseval.suites.formal.languages import Dyck

NAMES = ["dyck-automaton", "dyck-second-order"]
LANGUAGES = [(1, 1), (1, 4), (2, 3), (5, 2)]


def following(model, text):
    """Return the probability of every word after a prefix."""
    state = model.start()
    for token in model.encode(pa.array([text])).tokens if text else ():
        state = model.advance(state, np.array([token]))
    words = model.automaton.vocabulary.words
    found = model.logprobs(state, np.zeros(len(words), int), np.arange(len(words)))
    return dict(zip(words, np.exp(found.astype(float)), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("k", "m"), LANGUAGES)
def test_just_what_may_follow_is_possible_and_all_of_it_adds_up_to_one(name, k, m):
    model, language = open_oracle(name, {"k": str(k), "m": str(m)}, "cpu"), Dyck(k, m)
    prefixes = 0
    for length in range(5 if k < 3 else 4):
        for symbols in product(language.alphabet, repeat=length):
            try:
                allowed = language.allowed(symbols)
            except ValueError:  # no string begins with this prefix
                shares = [*following(model, " ".join(symbols)).values()]
                assert shares == pytest.approx([1 / (2 + 2 * k)] * (2 + 2 * k))
                continue
            found = following(model, " ".join(symbols))
            assert {word for word, share in found.items() if share > 2 * math.exp(IMPOSSIBLE)} == allowed
            assert sum(found.values()) == pytest.approx(1)
            prefixes += 1
    assert prefixes > 4


def test_probabilities_are_the_shares_among_drawn_strings():
    """Count the symbols after every stack, with two bracket types and at most three open brackets."""
    language = Dyck(2, 3, train=60_000)
    model = open_oracle("dyck-automaton", {"k": "2", "m": "3"}, "cpu")
    counts: dict[str, Counter[str]] = {}
    for strings in language.draw("train"):
        for row, length in zip(strings.symbols, strings.lengths, strict=True):
            words = [language.alphabet[symbol] for symbol in row[:length]]
            for place in range(min(length, 4)):
                counts.setdefault(" ".join(words[:place]), Counter())[words[place]] += 1
    for prefix, own in counts.items():
        if (total := own.total()) < 500 or not prefix:
            continue
        found = following(model, prefix)
        found.pop("<eos>")  # strings that end here were not counted
        for word, share in found.items():
            near = pytest.approx(share / sum(found.values()), abs=5 * (0.25 / total) ** 0.5)
            assert own[word] / total == near


@pytest.mark.parametrize("name", NAMES)
def test_it_is_right_at_every_position_of_the_suite(name, tmp_path):
    spec = "dyck(k=3,m=3,test=900,train=400)"
    arguments = ("--model", f"oracle:{name}", "--model-args", "k=3,m=3", "--suite", spec)
    succeed("run", *arguments, "--out", tmp_path / "run")
    found = call("analyze", "formal", tmp_path / "run", "--format", "csv").stdout.splitlines()
    assert {line.split(",")[6] for line in found[1:]} == {"1.0"}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("automaton", {"k": "0", "m": "2"}, "k must be 1 or more, not 0"),
        (
            "automaton",
            {"k": "40", "m": "30"},
            "of the language Dyck-(40,30) has too many states, one for each possible stack. Lower k or m",
        ),
        ("automaton", {"k": "9" * 12, "m": "1"}, "too many states, one for each possible stack"),
        ("automaton", {"k": "2", "m": "2", "code": "log"}, "code: oracle:dyck-automaton has no argument"),
        ("lstm", {"k": "2"}, "m of the Dyck language is missing. Add --model-args k=4,m=3"),
        ("lstm", {"k": "two", "m": "3"}, "k must be a whole number, not 'two'"),
        ("lstm", {"k": "2", "m": "3", "types": "2"}, "--model-args types: oracle:dyck-lstm has no"),
        ("gru", {"k": "2", "m": "3"}, "Oracles: dyck-automaton, dyck-lstm, dyck-second-order, dyck-srn"),
    ],
)
def test_arguments_that_name_no_oracle_get_one_message(name, arguments, message):
    with pytest.raises(ModelError, match=re.escape(message)):
        open_oracle(f"dyck-{name}", arguments, "cpu")
