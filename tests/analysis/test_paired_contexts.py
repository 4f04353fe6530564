"""Factors of runs with paired items: contexts of two runs are one factor only if they are equal."""

import pandas as pd

from tseval.analysis.design import Factors

WORDS = ["a", "a", "b", "b"]


def run(contexts=None):
    frame = pd.DataFrame({"verb.entry": WORDS})
    return frame if contexts is None else frame.assign(**{"context.entry": list(contexts)})


def test_contexts_that_part_the_items_alike_are_one_factor_by_any_names():
    assert Factors.of_paired([run("0101"), run("7373")]).names == ("verb", "context")
    assert Factors.of_paired([run(), run("0101")]).names == ("verb", "context")
    assert Factors.of_paired([run(), run()]).names == ("verb",)


def test_contexts_that_part_the_items_otherwise_are_a_factor_of_their_own():
    factors = Factors.of_paired([run("0101"), run("0011"), run("0101"), run("2200")])
    assert factors.names == ("verb", "context", "context 2")
    assert factors.codes.tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]]
