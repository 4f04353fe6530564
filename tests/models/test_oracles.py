"""Networks built for Dyck-(k,m), against the language: a few lines compute its stack and allowed symbols."""

import random

import pytest
import torch

from tseval.models.oracles import ORACLES, Oracle, build_oracle, read_stack, walk

EVERY = [(kind, code) for kind in ORACLES for code in ("one-hot", "log")]
SIZES = [(1, 1), (1, 4), (3, 1), (5, 4), (64, 5)]
LARGE = [(128, 5), (100, 12), (1000, 8)]


def alphabet(k):
    return tuple(f"{side}{i}" for side in "()" for i in range(1, k + 1))


def built(kind, k, m, code):
    oracle = Oracle(kind, k, m, code)
    return oracle, build_oracle(oracle, alphabet(k))


def brackets(k, m, length, seed=0):
    """Draw the symbols of a prefix, as indices in the alphabet; long ascents and descents are likely."""
    draw, stack, symbols = random.Random(seed), [], []
    rise = True
    for _ in range(length):
        rise = (rise if draw.random() < 0.7 else not rise) if 0 < len(stack) < m else not stack
        symbols.append(draw.randrange(k) if rise else k + stack[-1])
        stack.append(symbols[-1]) if rise else stack.pop()
    return symbols


def stacks(k, symbols):
    """Yield the stack before the first symbol and after each symbol."""
    stack = []
    yield []
    for symbol in symbols:
        if symbol < k:
            stack.append(symbol)
        else:
            assert stack.pop() == symbol - k
        yield list(stack)


def allowed(k, m, stack):
    """Return the word ids that may follow: `<eos>` is 0, and the alphabet starts at 2."""
    opening = range(2, 2 + k) if len(stack) < m else ()
    return {*opening, 2 + k + stack[-1] if stack else 0}


def assert_exact(k, m, symbols, probabilities):
    """Check that all allowed words have equal probabilities after every prefix."""
    expected = torch.zeros_like(probabilities)
    for shares, stack in zip(expected, stacks(k, symbols), strict=True):
        shares[list(allowed(k, m, stack))] = 1 / len(allowed(k, m, stack))
    torch.testing.assert_close(probabilities, expected, rtol=1e-4, atol=1e-12)


@torch.inference_mode()
def read(checkpoint, symbols):
    """Return probabilities of the next word after `<eos>` and after each symbol, by torch's own layer."""
    words = torch.tensor([0, *(2 + symbol for symbol in symbols)])[:, None]
    outputs, _ = checkpoint.model(words, checkpoint.model.initial_state(1))
    return checkpoint.model.logits(outputs)[:, 0].softmax(1)


@pytest.mark.parametrize(("kind", "code"), EVERY)
@pytest.mark.parametrize(("k", "m"), SIZES)
def test_what_may_follow_has_equal_shares_and_nothing_else_any(kind, code, k, m):
    _, checkpoint = built(kind, k, m, code)
    symbols = brackets(k, m, 400)
    assert {len(stack) for stack in stacks(k, symbols)} == set(range(m + 1))
    assert_exact(k, m, symbols, read(checkpoint, symbols))


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize(("k", "m"), LARGE)
def test_large_languages_are_known_as_well(kind, k, m):
    _, checkpoint = built(kind, k, m, "log")
    symbols = brackets(k, m, 600)
    assert_exact(k, m, symbols, read(checkpoint, symbols))


# Design: 2mk and mk units in the one-hot code, 6m⌈log2 k⌉ - 2m and 3m⌈log2 k⌉ - m in the log code.
@pytest.mark.parametrize(
    ("k", "m", "one_hot", "log"),
    [(2, 3, 6, 6), (8, 3, 24, 24), (32, 5, 160, 70), (128, 5, 640, 100), (5, 4, 20, 32), (64, 5, 320, 85)],
)
def test_hidden_sizes_are_those_of_the_paper(k, m, one_hot, log):
    for kind, factor in (("dyck-srn", 2), ("dyck-lstm", 1)):
        for code, size in (("one-hot", one_hot), ("log", log)):
            oracle, checkpoint = built(kind, k, m, code)
            assert checkpoint.model.sizes.hidden == oracle.hidden == factor * size
            assert checkpoint.model.top(checkpoint.model.initial_state(1)).shape == (1, factor * size)


@pytest.mark.parametrize(("kind", "code"), EVERY)
@pytest.mark.parametrize(("k", "m"), [(1, 3), (6, 4)])
@torch.inference_mode()
def test_the_stack_is_read_from_the_units_which_are_exactly_on_or_off(kind, code, k, m):
    oracle, checkpoint = built(kind, k, m, code)
    model, symbols = checkpoint.model, brackets(k, m, 300)
    state = model.initial_state(1)
    for word, stack in zip((-2, *symbols), stacks(k, symbols), strict=True):
        state = model.step(model.project(torch.tensor([word + 2])), state)
        assert read_stack(oracle, state) == stack
        on, off = (1.0, 0.0) if kind == "dyck-lstm" else (1.0, -1.0)
        assert set(state[-1].unique().tolist()) <= {on, off}


@pytest.mark.parametrize(("kind", "code"), EVERY)
@torch.inference_mode()
def test_eos_empties_the_stack_wherever_it_stands(kind, code):
    # If a text is read as one stream, the state continues across ends of strings.
    oracle, checkpoint = built(kind, 3, 4, code)
    model = checkpoint.model
    for word in (0, 1):  # <eos>, <unk>
        state = model.initial_state(1)
        for symbol in (0, 2, 3, 4, 4, word):
            state = model.step(model.project(torch.tensor([symbol])), state)
        assert read_stack(oracle, state) == []
        shares = model.logits(model.top(state))[0].softmax(0)
        assert shares.topk(4).indices.sort().values.tolist() == [0, 2, 3, 4]


def test_the_walk_shows_the_gates_of_the_construction():
    # By hand, m = 2: a push writes the slot above the top, a pop clears the top; only the new top is output.
    oracle, checkpoint = built("dyck-lstm", 2, 2, "log")
    steps = list(walk(oracle, checkpoint, ["(1", "(2", ")2", ")1"]))
    assert [step.units["input"] for step in steps] == ["00", "10", "01", "00", "00"]
    assert [step.units["forget"] for step in steps] == ["00", "11", "11", "10", "01"]
    assert [step.stack for step in steps] == [(), ("(1",), ("(1", "(2"), ("(1",), ()]
    # After the last pop, the gate of slot 2 opens, but the slot is empty.
    assert [step.units["output"] for step in steps[:4]] == ["00", "10", "01", "10"]
    assert steps[2].follows == {")2": pytest.approx(1)}
    assert steps[4].follows == {name: pytest.approx(1 / 3) for name in ("<eos>", "(1", "(2")}
