"""Names and numbers for loggers, counted by hand from a suite of three rows."""

import pytest
import torch
from small import make_case, make_suite
from torch import nn

import tseval

PAIRS = [("the author laughs", "the author laugh"), ("the pilots laugh", "the pilots laughs")]
WORDS = ["the", "author", "pilots", "laughs", "laugh", ".", "<eos>", "smile"]


class Fixed(nn.Module):
    """A model that prefers later words of its list and almost ignores the word before."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(len(WORDS), len(WORDS))

    def forward(self, ids):
        return torch.arange(float(len(WORDS))) + 1e-3 * self.table(ids)


def evaluated(*cases):
    return tseval.evaluate((Fixed(), WORDS), make_suite(*cases))


def test_the_mean_counts_each_row_once_and_each_phenomenon_its_rows():
    # The model prefers `laugh` to `laughs`: the first pair is wrong, the second correct.
    run = evaluated(
        make_case("a", PAIRS, phenomenon="Agreement", construction="Simple"),
        make_case("b", PAIRS[1:], phenomenon="Agreement", construction="In a PP!"),
        make_case("c", PAIRS[:1], phenomenon="Polarity", construction="Simple"),
    )
    name = f"tseval/{run.manifest.key.suite}"
    assert run.means() == {
        f"{name}/mean": pytest.approx((0.5 + 1 + 0) / 3),
        f"{name}/agreement": 0.75,
        f"{name}/polarity": 0.0,
        f"{name}/agreement/simple": 0.5,
        f"{name}/agreement/in_a_pp": 1.0,
        f"{name}/polarity/simple": 0.0,
    }
    assert run.mean() == run.means()[f"{name}/mean"]
    assert all(type(value) is float for value in run.means().values())


def test_a_row_that_decides_nothing_has_no_number_and_neither_has_a_mean_over_it():
    unknown = [("the author sleeps", "the author sleep")]
    run = evaluated(
        make_case("a", PAIRS, phenomenon="Agreement", construction="Simple"),
        make_case("b", unknown, phenomenon="Polarity", construction="Simple"),
    )
    name = f"tseval/{run.manifest.key.suite}"
    assert run.means() == {f"{name}/agreement": 0.5, f"{name}/agreement/simple": 0.5}
    assert run.mean() is None


def test_rows_whose_names_differ_in_marks_alone_keep_different_names():
    run = evaluated(
        make_case("a", PAIRS[:1], phenomenon="Agreement", construction="Simple"),
        make_case("b", PAIRS[1:], phenomenon="Agreement", construction="Simple?"),
    )
    name = f"tseval/{run.manifest.key.suite}/agreement"
    assert {key: value for key, value in run.means().items() if key.count("/") == 3} == {
        f"{name}/simple": 0.0,
        f"{name}/simple_2": 1.0,
    }
